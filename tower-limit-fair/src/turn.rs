//! One place in the queue: of a service in `poll_ready`, or of a response future.

use std::{
    sync::Arc,
    task::{Context, Poll},
};

use semaphore_core::{OwnedLease, Reservation};

use crate::{
    Reason,
    gate::{Gate, Phase, Refusal},
};

/// A slot of the semaphore and what belongs to the wait in it. A service hands it on to its response future when
/// `call` finds the lease revoked or the slot still queued, so that the place is kept.
pub(crate) struct Turn {
    slot: Reservation,
    /// The last poll left it in the queue.
    waits: bool,
    /// The last poll reserved, and nobody took it since.
    reserved: bool,
    #[cfg(feature = "time")]
    deadline: Option<tokio::time::Instant>,
}

impl Turn {
    #[inline]
    pub(crate) fn new(gate: &Gate) -> Self {
        Turn {
            slot: gate.slot(),
            waits: false,
            reserved: false,
            #[cfg(feature = "time")]
            deadline: None,
        }
    }

    /// Ready when the slot holds the permits, or with the reason why it never will.
    #[inline]
    pub(crate) fn poll(
        &mut self,
        gate: &Arc<Gate>,
        permits: usize,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Refusal>> {
        match self.slot.poll_reserve_many(cx, permits) {
            Poll::Ready(Ok(())) => {
                self.waits = false;
                self.reserved = true;
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(error)) => {
                self.waits = false;
                Poll::Ready(Err(error.into()))
            }
            Poll::Pending => self.poll_wait(gate),
        }
    }

    /// The slot is queued: the first time it asks to be driven, later it looks whether it still has to wait.
    #[cold]
    fn poll_wait(&mut self, gate: &Arc<Gate>) -> Poll<Result<(), Refusal>> {
        let first = !std::mem::replace(&mut self.waits, true);
        let refusal = if first { self.begin(gate) } else { self.go_on(gate) };
        match refusal {
            None => Poll::Pending,
            Some(refusal) => {
                self.waits = false;
                match refusal {
                    Refusal::TimedOut(_) => self.slot.time_out(),
                    _ => self.slot.cancel(),
                }
                Poll::Ready(Err(refusal))
            }
        }
    }

    fn begin(&mut self, gate: &Arc<Gate>) -> Option<Refusal> {
        if gate.is_reentrant() && gate.rejects {
            return Some(Refusal::Because(Reason::Reentrant));
        }
        #[cfg(feature = "tracing")]
        tracing::trace!(limit = gate.name_str(), position = gate.semaphore.queue_len(), "queued");
        #[cfg(feature = "time")]
        match crate::reaper::watch(gate, self.slot.ticket()) {
            Ok(deadline) => self.deadline = deadline,
            Err(crate::reaper::NoRuntime) if gate.rejects => {
                return Some(Refusal::Because(Reason::NoRuntime));
            }
            // The one panic of `Wait`, documented there.
            Err(crate::reaper::NoRuntime) => panic!(
                "a request has to wait for its concurrency limit outside a tokio runtime, where its timeouts cannot run: \
                 enter a runtime, or build the limit with `reservation_ttl(None)`"
            ),
        }
        // A drain may have begun between the check at the arrival and the enqueue.
        self.go_on(gate)
    }

    fn go_on(&mut self, gate: &Arc<Gate>) -> Option<Refusal> {
        if gate.phase() == Phase::RejectQueued {
            return Some(Refusal::Because(Reason::Draining));
        }
        #[cfg(feature = "time")]
        if let Some(deadline) = self.deadline {
            let now = tokio::time::Instant::now();
            if now >= deadline {
                let waited = gate.queue_timeout.unwrap_or_default() + now.duration_since(deadline);
                return Some(Refusal::TimedOut(waited));
            }
        }
        // Starts the reaper again if its runtime is gone. Without a runtime here the place is kept: another poll may have one.
        #[cfg(feature = "time")]
        crate::reaper::keep_watch(gate);
        None
    }

    /// The lease, if the slot holds one that was not revoked.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<OwnedLease> {
        let lease = self.slot.take();
        if lease.is_some() {
            self.reserved = false;
        }
        lease
    }

    /// Whether a poll of the slot would go on from where it stands: queued, or revoked and due in front.
    pub(crate) fn has_place(&self) -> bool {
        self.reserved || self.slot.is_queued()
    }

    /// Gives back whatever the slot has.
    pub(crate) fn cancel(&mut self) {
        self.waits = false;
        self.reserved = false;
        self.slot.cancel();
    }

    #[inline]
    pub(crate) fn is_reserved(&self) -> bool {
        self.slot.is_reserved()
    }

    #[inline]
    pub(crate) fn is_queued(&self) -> bool {
        self.slot.is_queued()
    }
}
