//! A multiplexed connection together with its task and its socket, so that its end can be seen.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use ::redis::aio::MultiplexedConnection;
use ::redis::{AsyncConnectionConfig, ConnectionAddr, ConnectionInfo};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::Error;
use crate::adapters::socket::Socket;

pub(super) struct Link {
    pub(super) connection: MultiplexedConnection,
    task: JoinHandle<()>,
    socket: SharedSocket,
}

impl Link {
    pub(super) async fn open(info: &ConnectionInfo) -> Result<Self, Error> {
        let socket = connect(info).await?;
        // Timeouts are the adapter's: a blocking command must have none.
        let config = AsyncConnectionConfig::new().set_response_timeout(None).set_connection_timeout(None);
        let (connection, driver) =
            MultiplexedConnection::new_with_config(info.redis_settings(), socket.clone(), config).await?;
        Ok(Link { connection, task: tokio::spawn(driver), socket })
    }

    /// Whether the task has seen the end of the socket.
    pub(super) fn has_ended(&self) -> bool {
        self.task.is_finished()
    }

    /// Ends it, at the server as well: returns when the server has closed its side.
    ///
    /// The server notices the end of ours even while a command of it blocks, so nothing needs to be said first.
    pub(super) async fn end(self) {
        let Link { connection, task, mut socket } = self;
        task.abort();
        // Its answers must not be read by two.
        let _ = task.await;
        drop(connection);
        let _ = socket.shutdown().await;
    }
}

async fn connect(info: &ConnectionInfo) -> Result<SharedSocket, Error> {
    let address = info.addr();
    let opened: io::Result<Socket> = match address {
        ConnectionAddr::Tcp(host, port) => open_tcp(host, *port).await.map(Socket::from),
        #[cfg(unix)]
        ConnectionAddr::Unix(path) => tokio::net::UnixStream::connect(path).await.map(Socket::from),
        _ => return Err(Error::Unsupported { address: address.to_string() }),
    };
    match opened {
        Ok(socket) => Ok(SharedSocket(Arc::new(Mutex::new(socket)))),
        Err(source) => Err(Error::Connect { address: address.to_string(), source }),
    }
}

async fn open_tcp(host: &str, port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect((host, port)).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Used by the task until it is aborted, then by `end`; the lock is never waited for.
#[derive(Clone, Debug)]
struct SharedSocket(Arc<Mutex<Socket>>);

impl SharedSocket {
    fn with<T>(&self, poll: impl FnOnce(Pin<&mut Socket>) -> T) -> T {
        poll(Pin::new(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl AsyncRead for SharedSocket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.with(|socket| socket.poll_read(cx, buffer))
    }
}

impl AsyncWrite for SharedSocket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.with(|socket| socket.poll_write(cx, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with(|socket| socket.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with(|socket| socket.poll_shutdown(cx))
    }
}
