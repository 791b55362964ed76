use std::{future, io, sync::Arc};

use axum::serve::Listener;
use semaphore_core::Semaphore;

use crate::connection::{ConnectionLimit, LimitedIo};

/// Bounds the number of open connections of `axum::serve`.
///
/// The place is taken before `accept`, so that connections above the limit stay in the backlog of the kernel; it comes back
/// when the connection ends, whatever ended it. Once the semaphore is closed, nothing is accepted any more.
///
/// For `ConnectInfo<SocketAddr>` put axum's `ListenerExt::tap_io` around it: axum then knows the address type.
///
/// # Examples
///
/// ```no_run
/// use tower_limit_fair::{ConcurrencyLimitLayer, LimitedListener};
///
/// # async fn serve() -> std::io::Result<()> {
/// let app: axum::Router = axum::Router::new().layer(ConcurrencyLimitLayer::server(64));
/// let tcp = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
/// axum::serve(LimitedListener::new(tcp, 1024), app).await
/// # }
/// ```
#[derive(Debug)]
pub struct LimitedListener<L> {
    listener: L,
    connections: ConnectionLimit,
}

impl<L> LimitedListener<L> {
    /// At most `limit` open connections.
    ///
    /// # Panics
    ///
    /// With a limit of 0 or above `Semaphore::MAX_PERMITS`.
    pub fn new(listener: L, limit: usize) -> Self {
        LimitedListener { listener, connections: ConnectionLimit::new(limit) }
    }

    /// Counts connections in this semaphore, which others may share.
    pub fn with_semaphore(listener: L, semaphore: Arc<Semaphore>) -> Self {
        LimitedListener { listener, connections: ConnectionLimit::with_semaphore(semaphore) }
    }

    /// A handle that outlives the server: to watch or resize the number of connections.
    pub fn connections(&self) -> ConnectionLimit {
        self.connections.clone()
    }
}

impl<L: Listener> Listener for LimitedListener<L> {
    type Io = LimitedIo<L::Io>;
    type Addr = L::Addr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        // axum's listeners never fail; a closed semaphore is an end without a successor.
        let Ok(place) = self.connections.place().await else { return future::pending().await };
        let (io, addr) = self.listener.accept().await;
        (place.put(io), addr)
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}
