use std::fmt;
use std::io;
use std::sync::Arc;

use http_body::Body;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use super::{Connection, Error};
use crate::Manager;
use crate::manager::{
    BoxFuture, CancelSafety, CheckContext, CloseContext, CreateContext, ErrorClass, ResetContext,
};

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

type Connect = dyn Fn(String) -> BoxFuture<'static, io::Result<Box<dyn Stream>>> + Send + Sync;

/// Connects, checks, resets and closes the HTTP/1 connections of an [`HttpPool`](super::HttpPool).
///
/// `B` is the body of the requests.
///
/// ```
/// use lease_pool::{Pool, http::HttpManager};
/// let manager = HttpManager::<String>::new("localhost:8080");
/// let pool = Pool::builder(manager).max(32).build().unwrap();
/// ```
pub struct HttpManager<B> {
    authority: Arc<str>,
    connect: Arc<Connect>,
    body: std::marker::PhantomData<fn(B)>,
}

impl<B> Clone for HttpManager<B> {
    fn clone(&self) -> Self {
        HttpManager {
            authority: Arc::clone(&self.authority),
            connect: Arc::clone(&self.connect),
            body: std::marker::PhantomData,
        }
    }
}

impl<B> fmt::Debug for HttpManager<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpManager").field("authority", &self.authority).finish_non_exhaustive()
    }
}

impl<B> HttpManager<B> {
    /// Connects by TCP to this authority, a host and a port.
    ///
    /// ```
    /// let manager = lease_pool::http::HttpManager::<String>::new("localhost:8080");
    /// ```
    pub fn new(authority: impl Into<Arc<str>>) -> Self {
        HttpManager::with_connector(authority, |authority| async move {
            let stream = TcpStream::connect(authority).await?;
            stream.set_nodelay(true)?;
            Ok(stream)
        })
    }

    /// Connects by a closure, which gets the authority: for TLS, Unix sockets or tests.
    ///
    /// ```
    /// use tokio::net::TcpStream;
    /// let manager = lease_pool::http::HttpManager::<String>::with_connector("api.internal", |_authority| {
    ///     TcpStream::connect("127.0.0.1:8080")
    /// });
    /// ```
    pub fn with_connector<C, F, S>(authority: impl Into<Arc<str>>, connector: C) -> Self
    where
        C: Fn(String) -> F + Send + Sync + 'static,
        F: Future<Output = io::Result<S>> + Send + 'static,
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let connect = move |authority: String| -> BoxFuture<'static, io::Result<Box<dyn Stream>>> {
            let connecting = connector(authority);
            Box::pin(async move { Ok(Box::new(connecting.await?) as Box<dyn Stream>) })
        };
        HttpManager {
            authority: authority.into(),
            connect: Arc::new(connect),
            body: std::marker::PhantomData,
        }
    }
}

impl<B> Manager for HttpManager<B>
where
    B: Body + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Resource = Connection<B>;
    type Error = Error;

    async fn create(&self, _ctx: CreateContext<'_>) -> Result<Connection<B>, Error> {
        let authority = self.authority.to_string();
        let stream =
            (self.connect)(authority.clone()).await.map_err(|source| Error::Connect { authority, source })?;
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        // Its error also ends the exchange under way, which is where it is read.
        let task = tokio::spawn(async move { drop(connection.await) });
        Ok(Connection::new(sender, task))
    }

    /// HTTP/1 has no question without consequences; that it would take a request is all there is to learn.
    async fn check(&self, connection: &mut Connection<B>, _ctx: CheckContext<'_>) -> Result<(), Error> {
        connection.settle().await
    }

    async fn reset(&self, connection: &mut Connection<B>, _ctx: ResetContext<'_>) -> Result<(), Error> {
        connection.settle().await
    }

    fn needs_reset(&self, connection: &Connection<B>) -> bool {
        connection.has_leftover() || !connection.is_ready()
    }

    fn is_dirty(&self, connection: &Connection<B>) -> bool {
        connection.has_leftover()
    }

    fn is_broken(&self, connection: &Connection<B>) -> bool {
        connection.is_closed() || connection.is_unanswered()
    }

    async fn close(&self, connection: Connection<B>, _ctx: CloseContext<'_>) {
        connection.end().await;
    }

    fn classify(&self, _error: &Error) -> ErrorClass {
        ErrorClass::Transient
    }

    /// Nothing is left half done once the reset has read the rest of the body.
    fn cancel_safety(&self) -> CancelSafety {
        CancelSafety::Safe
    }
}
