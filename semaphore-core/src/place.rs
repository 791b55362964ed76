//! A semaphore and a node of its queue: the future behind every acquire.

use std::ops::Deref;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;

use crate::event::Happening;
use crate::lease::Holding;
use crate::leaving::Leaving;
use crate::list::{Node, kind, stage};
use crate::waiting::UNMEASURED;
use crate::word;
use crate::{AcquireError, Rejoin, Semaphore, Ticket};

pin_project! {
    /// The node is linked in the queue of `home` and nowhere else, and leaves it before it is dropped (I1).
    pub(crate) struct Place<S: Deref<Target = Semaphore>> {
        // `None` once the acquire has ended.
        home: Option<S>,
        #[pin]
        node: Node,
    }

    impl<S: Deref<Target = Semaphore>> PinnedDrop for Place<S> {
        #[inline(always)]
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            if let Some(home) = this.home.as_deref() {
                home.leave(this.node.as_ref(), Leaving::Cancelled);
            }
        }
    }
}

impl<S: Deref<Target = Semaphore>> Place<S> {
    #[inline]
    pub(crate) fn new(home: S, permits: usize) -> Self {
        let node = Node::new(clamp(permits), kind::ORDINARY);
        if permits > word::MAX as usize {
            // Never queues, so the field is free to keep the number for the error.
            node.set_order(permits as u64);
        }
        Self { home: Some(home), node }
    }

    pub(crate) fn rejoining(home: S, rejoin: Rejoin) -> Self {
        let foreign = if rejoin.is_of(&home) { 0 } else { kind::FOREIGN };
        let node = Node::new(rejoin.permits, kind::REJOINS | foreign);
        node.set_order(rejoin.order);
        Self { home: Some(home), node }
    }

    /// What is left when the fast path has been tried.
    #[inline(never)]
    pub(crate) fn step(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<Holding<S>, AcquireError>> {
        let this = self.project();
        let node = this.node.as_ref();
        let Some(home) = this.home.as_deref() else {
            return Poll::Pending;
        };
        let waited = if home.claim_plainly(node) {
            UNMEASURED
        } else {
            let stepped = if node.stage() == stage::IDLE { home.join(node, cx) } else { home.step(node, cx) };
            match stepped {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(waited)) => waited,
                Poll::Ready(Err(error)) => {
                    *this.home = None;
                    return Poll::Ready(Err(error));
                }
            }
        };
        let Some(home) = this.home.take() else {
            return Poll::Pending;
        };
        let holding = Holding::timed(home, node.permits(), node.order());
        if waited != UNMEASURED {
            // After the lease exists: a panicking observer drops it, and the permits go home.
            holding.home().tell(Happening::Granted, node.permits() as usize, Duration::from_nanos(waited));
        }
        Poll::Ready(Ok(holding))
    }

    /// The fast path: permits that are free and nobody waits for, before the first poll.
    #[inline(always)]
    pub(crate) fn take_free(self: Pin<&mut Self>) -> Option<Holding<S>> {
        let this = self.project();
        let node = this.node.as_ref();
        if node.stage() != stage::IDLE || node.is(kind::REJOINS) {
            return None;
        }
        let permits = node.permits();
        let home = this.home.as_deref()?;
        let since = home.note_taken(home.word.take(permits).ok()?);
        node.set_stage(stage::SPENT);
        this.home.take().map(|home| Holding::new(home, permits, 0, since))
    }

    /// One fair attempt that never queues; `Ok(None)` when permits are missing. Only before the first poll.
    #[cfg(feature = "time")]
    pub(crate) fn attempt_once(self: Pin<&mut Self>) -> Result<Option<Holding<S>>, AcquireError> {
        let this = self.project();
        let node = this.node.as_ref();
        let Some(home) = this.home.take() else {
            return Ok(None);
        };
        let taken = home.attempt_once(node)?;
        Ok(taken.then(|| Holding::timed(home, node.permits(), 0)))
    }

    /// Leaves the queue because the time is up. False when a grant or a refusal came first: poll once more.
    pub(crate) fn time_out(self: Pin<&mut Self>) -> bool {
        let this = self.project();
        this.home.as_deref().is_some_and(|home| home.leave(this.node.as_ref(), Leaving::TimedOut))
    }

    /// Leaves the queue for another reason; a grant stays as for a deadline.
    pub(crate) fn withdraw(self: Pin<&mut Self>) -> bool {
        let this = self.project();
        this.home.as_deref().is_some_and(|home| home.leave(this.node.as_ref(), Leaving::Withdrawn))
    }

    #[cfg(feature = "time")]
    pub(crate) fn home(&self) -> Option<&Semaphore> {
        self.home.as_deref()
    }

    #[cfg(feature = "time")]
    pub(crate) fn is_untouched(&self) -> bool {
        self.node.stage() == stage::IDLE
    }

    pub(crate) fn ticket(&self) -> Option<Ticket> {
        let queued = !matches!(self.node.stage(), stage::IDLE) && self.node.permits() <= word::MAX;
        (queued && self.node.order() != 0).then(|| Ticket(self.node.order()))
    }
}

/// What a node can say of a request that is larger than any ceiling.
pub(crate) fn clamp(permits: usize) -> u32 {
    if permits > word::MAX as usize { word::MAX + 1 } else { permits as u32 }
}
