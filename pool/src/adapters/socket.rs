use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;

/// A socket whose shutdown ends when the server has ended its side.
///
/// That is the proof that the server has let go of a closed connection, and that it has acted on a request
/// which it answers by closing.
///
/// ```
/// use tokio::io::{AsyncRead, AsyncWrite};
/// fn is_a_stream<S: AsyncRead + AsyncWrite>() {}
/// is_a_stream::<lease_pool::postgres::Socket>();
/// ```
#[derive(Debug)]
#[allow(unreachable_pub, reason = "only the PostgreSQL adapter shows it, to TLS connectors")]
pub struct Socket {
    stream: Stream,
    write_side: WriteSide,
}

#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriteSide {
    Open,
    ShutDown,
}

impl From<TcpStream> for Socket {
    fn from(stream: TcpStream) -> Self {
        Socket { stream: Stream::Tcp(stream), write_side: WriteSide::Open }
    }
}

#[cfg(unix)]
impl From<UnixStream> for Socket {
    fn from(stream: UnixStream) -> Self {
        Socket { stream: Stream::Unix(stream), write_side: WriteSide::Open }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Tcp(stream) => Pin::new(stream).poll_read(cx, buffer),
            #[cfg(unix)]
            Stream::Unix(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            #[cfg(unix)]
            Stream::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            #[cfg(unix)]
            Stream::Unix(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.write_side == WriteSide::Open {
            ready!(match &mut self.stream {
                Stream::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
                #[cfg(unix)]
                Stream::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
            })?;
            self.write_side = WriteSide::ShutDown;
        }
        let mut storage = [0; 512];
        loop {
            let mut rest = ReadBuf::new(&mut storage);
            match ready!(self.as_mut().poll_read(cx, &mut rest)) {
                Ok(()) if !rest.filled().is_empty() => {}
                // A reset is an end as well.
                Ok(()) | Err(_) => return Poll::Ready(Ok(())),
            }
        }
    }
}
