use std::sync::atomic::Ordering::Relaxed;

use crate::{
    Reason,
    counts::Outcome,
    gate::{Gate, Phase},
};

/// The gauges of a limit, seen in one moment.
///
/// # Examples
///
/// ```
/// # use tower_limit_fair::ConcurrencyLimitLayer;
/// let snapshot = ConcurrencyLimitLayer::server(4).handle().snapshot();
/// assert_eq!(snapshot.available, 4);
/// assert!(!snapshot.draining);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LimitSnapshot {
    /// The limit, in permits.
    pub limit: usize,
    /// Permits held by requests.
    pub in_flight: usize,
    /// Permits reserved by `poll_ready` and not yet used by `call`.
    pub reserved: usize,
    /// Permits granted to waiters that were not polled since.
    pub unclaimed: usize,
    /// Permits that are free.
    pub available: usize,
    /// Permits in use above the limit, after it was lowered.
    pub excess: usize,
    /// Requests and services that wait.
    pub queued: usize,
    /// A rejecting drain has begun.
    pub draining: bool,
    /// The limit is closed.
    pub closed: bool,
}

impl LimitSnapshot {
    pub(crate) fn of(gate: &Gate) -> Self {
        let core = gate.semaphore.snapshot();
        LimitSnapshot {
            limit: core.capacity,
            in_flight: core.held,
            reserved: core.reserved,
            unclaimed: core.granted,
            available: core.available,
            excess: core.debt,
            queued: core.waiters,
            draining: gate.phase() != Phase::Open,
            closed: core.closed,
        }
    }
}

/// The counters of a limit since it was built. They never fall.
///
/// Every request that was offered is in exactly one of completed, failed, rejected, cancelled while queued, cancelled
/// while running and exempt, or is still queued or in flight. The common ends (`Option`) are counted for named limits
/// only, so that an unnamed one pays nothing for them; the rare ones always.
///
/// # Examples
///
/// ```
/// # use tower_limit_fair::ConcurrencyLimitLayer;
/// let stats = ConcurrencyLimitLayer::server(4).handle().stats();
/// assert_eq!((stats.cancelled_queued, stats.completed), (0, None));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LimitStats {
    /// Requests whose lease ended with their response. `None` for an unnamed limit.
    pub completed: Option<u64>,
    /// Requests that ended with an error of the inner service or of the body, or in a panic. `None` for an unnamed limit.
    pub failed: Option<u64>,
    /// Requests dropped while they ran or while their body was being sent. `None` for an unnamed limit.
    pub cancelled_running: Option<u64>,
    /// Waits that were dropped in the queue.
    pub cancelled_queued: u64,
    /// Requests that the `exempt` predicate let pass without a lease.
    pub exempt: u64,
    /// Reservations taken back after the ttl, because others waited.
    pub reservations_revoked: u64,
    /// Reservations dropped without a `call`.
    pub reservations_abandoned: u64,
    /// Leases freed by `max_hold` while their body was still being sent.
    pub overdue: u64,
    /// Waits for a lease from inside a request that holds one of the same limit.
    pub reentrant: u64,
    rejected: [u64; Reason::ALL.len()],
}

impl LimitStats {
    pub(crate) fn of(gate: &Gate) -> Self {
        let counts = &gate.counts;
        let named = |outcome| gate.counts_all().then(|| counts.of(outcome));
        LimitStats {
            completed: named(Outcome::Completed),
            failed: named(Outcome::Failed),
            cancelled_running: named(Outcome::CancelledRunning),
            cancelled_queued: counts.of(Outcome::CancelledQueued),
            exempt: counts.of(Outcome::Exempt),
            reservations_revoked: gate.semaphore.stats().revoked,
            reservations_abandoned: counts.abandoned.load(Relaxed),
            overdue: counts.overdue.load(Relaxed),
            reentrant: counts.reentrants(),
            rejected: Reason::ALL.map(|reason| counts.rejected_for(reason)),
        }
    }

    /// Requests rejected for this reason.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tower_limit_fair::{ConcurrencyLimitLayer, Reason};
    /// let stats = ConcurrencyLimitLayer::server(4).handle().stats();
    /// assert_eq!(stats.rejected(Reason::QueueTimeout), 0);
    /// ```
    pub fn rejected(&self, reason: Reason) -> u64 {
        self.rejected[reason as usize]
    }

    /// Requests rejected for any reason.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tower_limit_fair::ConcurrencyLimitLayer;
    /// assert_eq!(ConcurrencyLimitLayer::server(4).handle().stats().rejected_total(), 0);
    /// ```
    pub fn rejected_total(&self) -> u64 {
        self.rejected.iter().sum()
    }
}
