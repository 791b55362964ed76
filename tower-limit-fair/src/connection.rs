use std::{
    fmt,
    future::poll_fn,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use pin_project::pin_project;
use semaphore_core::{OwnedLease, Reservation, Semaphore};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bounds the number of open connections of an accept loop.
///
/// The place is taken before `accept`, so that connections above the limit stay in the backlog of the kernel, and it comes
/// back when the `LimitedIo` is dropped, whatever ended the connection.
///
/// # What a clone shares
///
/// The limit: several accept loops can share one.
///
/// # Fairness
///
/// Accept loops that share the limit take places in the order they asked.
///
/// # Examples
///
/// ```no_run
/// use tower_limit_fair::ConnectionLimit;
///
/// # async fn serve(listener: tokio::net::TcpListener) -> std::io::Result<()> {
/// let connections = ConnectionLimit::new(1024);
/// loop {
///     let (io, _peer) = connections.accept(&listener).await?;
///     tokio::spawn(async move {
///         // hyper_util::rt::TokioIo::new(io), and a hyper connection on it …
///         drop(io);
///     });
/// }
/// # }
/// ```
#[derive(Clone)]
pub struct ConnectionLimit {
    semaphore: Arc<Semaphore>,
}

impl ConnectionLimit {
    /// At most `limit` open connections.
    ///
    /// # Panics
    ///
    /// With a limit of 0 or above `Semaphore::MAX_PERMITS`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tower_limit_fair::ConnectionLimit;
    /// assert_eq!(ConnectionLimit::new(1024).open(), 0);
    /// ```
    pub fn new(limit: usize) -> Self {
        ConnectionLimit::with_semaphore(Arc::new(Semaphore::new(limit)))
    }

    /// Counts connections in this semaphore, which others may share.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use tower_limit_fair::ConnectionLimit;
    /// let semaphore = Arc::new(semaphore_core::Semaphore::new(1024));
    /// let connections = ConnectionLimit::with_semaphore(semaphore);
    /// ```
    pub fn with_semaphore(semaphore: Arc<Semaphore>) -> Self {
        ConnectionLimit { semaphore }
    }

    /// The semaphore: to resize, close or watch it.
    pub fn semaphore(&self) -> &Arc<Semaphore> {
        &self.semaphore
    }

    /// Open connections.
    pub fn open(&self) -> usize {
        self.semaphore.snapshot().held
    }

    /// Waits for a place, then for a connection.
    ///
    /// # Errors
    ///
    /// Those of the listener, and `NotConnected` once the semaphore is closed.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it gives the place back and loses no connection.
    #[cfg(feature = "hyper")]
    pub async fn accept(
        &self,
        listener: &tokio::net::TcpListener,
    ) -> io::Result<(LimitedIo<tokio::net::TcpStream>, std::net::SocketAddr)> {
        let place = self.place().await?;
        let (io, peer) = listener.accept().await?;
        Ok((place.put(io), peer))
    }

    /// Waits for a place and puts it on what `connect` gives: for listeners of another kind.
    ///
    /// # Errors
    ///
    /// Those of `connect`, and `NotConnected` once the semaphore is closed.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use tower_limit_fair::ConnectionLimit;
    /// # async fn accept(unix: tokio::net::UnixListener) -> std::io::Result<()> {
    /// let connections = ConnectionLimit::new(64);
    /// let io = connections.accept_with(async || unix.accept().await.map(|(io, _)| io)).await?;
    /// # Ok(()) }
    /// ```
    pub async fn accept_with<I>(
        &self,
        connect: impl AsyncFnOnce() -> io::Result<I>,
    ) -> io::Result<LimitedIo<I>> {
        let place = self.place().await?;
        Ok(place.put(connect().await?))
    }

    /// Reserves a place: it counts as an open connection only once one has come.
    pub(crate) async fn place(&self) -> io::Result<Place> {
        let mut slot = Reservation::new(Arc::clone(&self.semaphore));
        match poll_fn(|cx| slot.poll_reserve(cx)).await {
            Ok(()) => Ok(Place { slot }),
            Err(error) => Err(io::Error::new(io::ErrorKind::NotConnected, error)),
        }
    }
}

/// A place for a connection that is still to come.
pub(crate) struct Place {
    slot: Reservation,
}

impl Place {
    pub(crate) fn put<I>(mut self, io: I) -> LimitedIo<I> {
        LimitedIo { io, place: self.slot.take() }
    }
}

impl fmt::Debug for ConnectionLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionLimit").field("semaphore", &self.semaphore).finish()
    }
}

/// A connection that keeps its place among the open ones until it is dropped.
///
/// Reads and writes pass through: tokio's traits, and hyper's with the feature `hyper`.
///
/// # Examples
///
/// ```
/// use tower_limit_fair::LimitedIo;
///
/// fn peer(io: &LimitedIo<tokio::net::TcpStream>) -> std::io::Result<std::net::SocketAddr> {
///     io.get_ref().peer_addr()
/// }
/// ```
#[pin_project]
#[derive(Debug)]
pub struct LimitedIo<I> {
    #[pin]
    io: I,
    /// Always there: a reservation that cannot be revoked gives its lease.
    place: Option<OwnedLease>,
}

impl<I> LimitedIo<I> {
    /// The connection itself.
    pub fn get_ref(&self) -> &I {
        &self.io
    }

    /// The connection itself, to change it.
    pub fn get_mut(&mut self) -> &mut I {
        &mut self.io
    }

    /// The connection and its place, which is free again when it is dropped.
    pub fn into_parts(self) -> (I, Option<OwnedLease>) {
        (self.io, self.place)
    }
}

impl<I: AsyncRead> AsyncRead for LimitedIo<I> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.project().io.poll_read(cx, buf)
    }
}

impl<I: AsyncWrite> AsyncWrite for LimitedIo<I> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.project().io.poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().io.poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().io.poll_shutdown(cx)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.project().io.poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}

#[cfg(feature = "hyper")]
impl<I: hyper::rt::Read> hyper::rt::Read for LimitedIo<I> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: hyper::rt::ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        self.project().io.poll_read(cx, buf)
    }
}

#[cfg(feature = "hyper")]
impl<I: hyper::rt::Write> hyper::rt::Write for LimitedIo<I> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.project().io.poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().io.poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().io.poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.project().io.poll_write_vectored(cx, bufs)
    }
}
