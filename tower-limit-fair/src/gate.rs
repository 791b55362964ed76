//! What all services of one limit share.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use semaphore_core::{AcquireError, OwnedLease, Reservation, Semaphore, TryAcquireError};

use crate::{
    Mode, Reason, Rejected,
    counts::{Counts, Outcome},
    name::NameGuard,
    within,
};

/// Whether the limit takes requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Phase {
    Open = 0,
    /// New requests are rejected, queued ones are served.
    FinishQueued = 1,
    /// New and queued requests are rejected.
    RejectQueued = 2,
}

pub(crate) struct Gate {
    pub(crate) semaphore: Arc<Semaphore>,
    pub(crate) name: Option<NameGuard>,
    pub(crate) mode: Mode,
    pub(crate) rejects: bool,
    pub(crate) reservation_ttl: Option<Duration>,
    #[cfg(feature = "time")]
    pub(crate) queue_timeout: Option<Duration>,
    pub(crate) max_waiters: Option<usize>,
    #[cfg(all(feature = "http", feature = "time"))]
    pub(crate) max_hold: Option<crate::max_hold::MaxHold>,
    pub(crate) counts: Counts,
    phase: AtomicU8,
    /// Nanoseconds that the queue lately took per request; 0 while unknown.
    pub(crate) pace: AtomicU64,
    #[cfg(feature = "time")]
    pub(crate) reaper: crate::reaper::Reaper,
    #[cfg(feature = "metrics")]
    pub(crate) instruments: crate::metrics::Instruments,
}

/// What a gate is made from.
#[cfg_attr(not(all(feature = "http", feature = "time")), allow(dead_code, reason = "the reaper's options"))]
pub(crate) struct GateParts {
    pub(crate) semaphore: Arc<Semaphore>,
    pub(crate) name: Option<NameGuard>,
    pub(crate) mode: Mode,
    pub(crate) rejects: bool,
    pub(crate) reservation_ttl: Option<Duration>,
    pub(crate) queue_timeout: Option<Duration>,
    pub(crate) max_waiters: Option<usize>,
    pub(crate) max_hold: Option<Duration>,
}

impl Gate {
    pub(crate) fn new(parts: GateParts) -> Arc<Self> {
        let gate = Arc::new(Gate {
            semaphore: parts.semaphore,
            name: parts.name,
            mode: parts.mode,
            rejects: parts.rejects,
            reservation_ttl: parts.reservation_ttl,
            #[cfg(feature = "time")]
            queue_timeout: parts.queue_timeout,
            max_waiters: parts.max_waiters,
            #[cfg(all(feature = "http", feature = "time"))]
            max_hold: parts.max_hold.map(crate::max_hold::MaxHold::new),
            counts: Counts::default(),
            phase: AtomicU8::new(Phase::Open as u8),
            pace: AtomicU64::new(0),
            #[cfg(feature = "time")]
            reaper: crate::reaper::Reaper::default(),
            #[cfg(feature = "metrics")]
            instruments: crate::metrics::Instruments::default(),
        });
        #[cfg(feature = "metrics")]
        gate.bind_metrics();
        gate
    }

    /// Whether the gate counts every request, and not only the rare ends.
    #[inline]
    pub(crate) fn counts_all(&self) -> bool {
        self.name.is_some()
    }

    /// The identity that nested waits are recognised by: one per semaphore, however many layers share it.
    #[inline]
    pub(crate) fn identity(&self) -> usize {
        Arc::as_ptr(&self.semaphore) as usize
    }

    #[inline]
    pub(crate) fn phase(&self) -> Phase {
        match self.phase.load(Relaxed) {
            0 => Phase::Open,
            1 => Phase::FinishQueued,
            _ => Phase::RejectQueued,
        }
    }

    /// Goes on to a later phase, never back, and wakes the queue so that it sees it.
    pub(crate) fn enter(&self, phase: Phase) {
        self.phase.fetch_max(phase as u8, Relaxed);
        if phase == Phase::RejectQueued {
            self.semaphore.poke();
        }
    }

    /// An empty slot in this gate's queue.
    #[inline]
    pub(crate) fn slot(&self) -> Reservation {
        let slot = Reservation::new(Arc::clone(&self.semaphore));
        match self.reservation_ttl {
            Some(ttl) => slot.revocable(ttl),
            None => slot,
        }
    }

    /// One attempt that never waits and never passes a waiter.
    #[inline]
    pub(crate) fn attempt(&self, permits: usize) -> Result<OwnedLease, Refusal> {
        self.semaphore.try_lease(permits).map_err(|error| match error {
            TryAcquireError::Closed { .. } => Refusal::Because(Reason::Closed),
            TryAcquireError::TooLarge { .. } => Refusal::Because(Reason::TooLarge),
            _ => Refusal::NoPermits,
        })
    }

    /// Whether a request could be admitted at once, as far as one look can tell. Spares a vain attempt, which the
    /// semaphore would count as an acquire of its own.
    #[inline]
    pub(crate) fn looks_free(&self, permits: usize) -> bool {
        self.semaphore.available_permits() >= permits && !self.semaphore.has_waiters()
    }

    /// Why a request could not wait either, if so.
    pub(crate) fn cannot_wait(&self, permits: usize) -> Option<Reason> {
        if self.semaphore.is_closed() {
            return Some(Reason::Closed);
        }
        if permits > 1 && permits > self.semaphore.snapshot().ceiling {
            return Some(Reason::TooLarge);
        }
        self.queue_is_full().then_some(Reason::QueueFull)
    }

    /// Whether a request that has to wait now would find the queue full.
    fn queue_is_full(&self) -> bool {
        self.max_waiters.is_some_and(|most| self.semaphore.queue_len() >= most)
    }

    /// Makes the rejection, with the numbers of this moment, and counts it.
    #[cold]
    pub(crate) fn reject(&self, reason: Reason, waited: Option<Duration>) -> Rejected {
        self.counts.rejected(reason);
        let limit = self.semaphore.capacity();
        let in_flight = limit.saturating_sub(self.semaphore.available_permits());
        let queued = if self.semaphore.has_waiters() { self.semaphore.queue_len() } else { 0 };
        let pace = self.pace.load(Relaxed);
        let backlog = Duration::from_nanos(pace.saturating_mul(queued as u64 + 1));
        #[cfg(feature = "tracing")]
        tracing::debug!(
            limit = self.name_str(),
            reason = reason.as_str(),
            in_flight,
            queued,
            ?waited,
            "rejected"
        );
        Rejected { reason, limit, in_flight, queued, waited, backlog }
    }

    #[cfg(feature = "tracing")]
    pub(crate) fn name_str(&self) -> &str {
        self.name.as_ref().map_or("unnamed", |name| name.as_str())
    }

    /// Whether waiting here means to wait for a lease of one's own caller; tells it once per limit.
    pub(crate) fn is_reentrant(&self) -> bool {
        if !within::contains(self.identity()) {
            return false;
        }
        if self.counts.reentrant() {
            #[cfg(feature = "tracing")]
            tracing::warn!(
                limit = self.name_str(),
                "a request waits for the limit that its own caller holds a lease of: it can wait for ever"
            );
        }
        true
    }

    pub(crate) fn count(&self, outcome: Outcome) {
        self.counts.ended(outcome);
    }

    /// Whether bodies keep their leases for a bounded time only.
    #[inline]
    pub(crate) fn limits_hold(&self) -> bool {
        #[cfg(all(feature = "http", feature = "time"))]
        return self.max_hold.is_some();
        #[cfg(not(all(feature = "http", feature = "time")))]
        return false;
    }

    /// Drives what needs a clock; see `Limit::reap`.
    pub(crate) fn reap(&self, now: Instant) -> Option<Instant> {
        let reservations = self.reservation_ttl.and_then(|_| self.semaphore.reap(now));
        match (reservations, self.reap_holds(now)) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    #[cfg(all(feature = "http", feature = "time"))]
    fn reap_holds(&self, now: Instant) -> Option<Instant> {
        let (freed, next) = self.max_hold.as_ref()?.reap(now);
        self.counts.overdue.fetch_add(freed as u64, Relaxed);
        next
    }

    #[cfg(not(all(feature = "http", feature = "time")))]
    fn reap_holds(&self, _: Instant) -> Option<Instant> {
        None
    }
}

/// Why an attempt or a wait ended without a lease.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Refusal {
    /// Everything is in use just now.
    NoPermits,
    Because(Reason),
    TimedOut(Duration),
}

impl Refusal {
    /// The rejection's reason and wait; without a permit, a limit that does not queue sheds.
    pub(crate) fn parts(self) -> (Reason, Option<Duration>) {
        match self {
            Refusal::NoPermits => (Reason::Shed, None),
            Refusal::Because(reason) => (reason, None),
            Refusal::TimedOut(waited) => (Reason::QueueTimeout, Some(waited)),
        }
    }
}

impl From<AcquireError> for Refusal {
    fn from(error: AcquireError) -> Self {
        match error {
            AcquireError::TooLarge { .. } => Refusal::Because(Reason::TooLarge),
            AcquireError::QueueFull { .. } => Refusal::Because(Reason::QueueFull),
            AcquireError::TimedOut { waited, .. } => Refusal::TimedOut(waited),
            _ => Refusal::Because(Reason::Closed),
        }
    }
}
