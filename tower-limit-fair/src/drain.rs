use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use crate::{CannotReject, gate::Gate};

/// Says what happens to the requests that are not running yet when a limit drains.
///
/// # Examples
///
/// With axum's graceful shutdown, the queue ends before the connections do:
///
/// ```no_run
/// # use tower_limit_fair::{DrainPolicy, Limit};
/// async fn shutdown(limit: Limit) {
///     // … after the signal:
///     let _ = limit.drain(DrainPolicy::RejectQueued).await;
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DrainPolicy {
    /// Everything is served, newcomers too: only waits for a moment without work. The one policy that never rejects.
    FinishAll,
    /// Running and queued requests finish, newcomers are rejected.
    FinishQueued,
    /// Running requests finish, queued ones and newcomers are rejected.
    RejectQueued,
}

/// The future of `Limit::drain`: ready when nothing holds, reserves or waits for a lease.
///
/// A lease reserved by an idle `poll_ready` counts as held until its service is used or dropped.
///
/// # Examples
///
/// ```
/// # use tower_limit_fair::{ConcurrencyLimitLayer, DrainPolicy};
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let limit = ConcurrencyLimitLayer::new(4).handle();
/// let refused = limit.drain(DrainPolicy::RejectQueued).await;
/// assert!(refused.is_err(), "the `Wait` policy cannot reject");
/// # }
/// ```
#[must_use = "the drain has begun; await it to know when the work is over"]
pub struct Drain {
    gate: Arc<Gate>,
    refused: Option<CannotReject>,
    drained: Option<Pin<Box<dyn Future<Output = ()> + Send + Sync>>>,
}

impl Drain {
    pub(crate) fn waiting(gate: &Arc<Gate>) -> Self {
        let semaphore = Arc::clone(&gate.semaphore);
        let drained = Box::pin(async move {
            loop {
                semaphore.drained().await;
                if !semaphore.has_waiters() {
                    return;
                }
            }
        });
        Drain { gate: Arc::clone(gate), refused: None, drained: Some(drained) }
    }

    pub(crate) fn refused(gate: &Arc<Gate>, refused: CannotReject) -> Self {
        Drain { gate: Arc::clone(gate), refused: Some(refused), drained: None }
    }
}

impl Future for Drain {
    type Output = Result<(), CannotReject>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(refused) = self.refused.take() {
            return Poll::Ready(Err(refused));
        }
        match &mut self.drained {
            Some(drained) => drained.as_mut().poll(cx).map(Ok),
            None => Poll::Pending,
        }
    }
}

impl fmt::Debug for Drain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drain")
            .field("in_flight", &self.gate.semaphore.snapshot().held)
            .field("queued", &self.gate.semaphore.queue_len())
            .field("refused", &self.refused)
            .finish()
    }
}
