//! One consistent view of a pool, and its running totals.

use std::sync::Arc;
use std::time::Duration;

use crate::engine::{CreateState, SlotState};
use crate::hub::{Hub, State};
use crate::manager::{CloseReason, Manager};

/// The pool at one moment; all resource counts are taken under one lock.
///
/// ```
/// use lease_pool::{Pool, manager};
/// let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) })).max(4).build().unwrap();
/// let now = pool.snapshot();
/// assert_eq!((now.max, now.live(), now.waiters), (4, 0, 0));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The name of the pool.
    pub name: Option<Arc<str>>,
    /// The most resources there may be.
    pub max: usize,
    /// How many idle resources there should be.
    pub min_idle: usize,
    /// Slots with nothing in them.
    pub vacant: usize,
    /// Creates under way.
    pub creating: usize,
    /// Resources that wait for a caller.
    pub idle: usize,
    /// Resources that are being checked.
    pub checking: usize,
    /// Resources with a caller.
    pub leased: usize,
    /// Resources that are being reset after a return.
    pub resetting: usize,
    /// Resources that are being closed.
    pub closing: usize,
    /// Live resources above the maximum after a shrink.
    pub excess: usize,
    /// Callers in the queue.
    pub waiters: usize,
    /// Callers that have been given a resource and have not looked yet.
    pub granted: usize,
    /// Where creating stands.
    pub create_state: CreateState,
    /// Creates that failed in a row.
    pub create_failures: u32,
    /// How long until the next attempt to create, after a failed one.
    pub retry_in: Option<Duration>,
    /// The pool is paused.
    pub paused: bool,
    /// The pool is closed.
    pub closed: bool,
}

impl Snapshot {
    /// Resources that exist: idle, checking, leased and resetting.
    pub fn live(&self) -> usize {
        self.idle + self.checking + self.leased + self.resetting
    }

    /// Resources that are not idle: checking, leased and resetting.
    pub fn used(&self) -> usize {
        self.checking + self.leased + self.resetting
    }
}

/// Running totals since the pool was built; they never go down.
///
/// `checkouts` of every kind add up to the gets that were polled at least once and are over.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use lease_pool::{Pool, manager};
/// let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) })).build().unwrap();
/// drop(pool.get().await.unwrap());
/// drop(pool.get().await.unwrap());
/// let totals = pool.stats();
/// assert_eq!((totals.created, totals.ok, totals.immediate), (1, 1, 1));
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Gets served at once: no queue, no create, no check.
    pub immediate: u64,
    /// Gets served after a queue, a create or a check.
    pub ok: u64,
    /// Gets that failed because of a create, a pause, a close or a deadlock.
    pub error: u64,
    /// Gets dropped before they were done.
    pub cancelled: u64,
    /// Gets whose deadline passed.
    pub timed_out: u64,
    /// Gets that found the queue full, and failed tries.
    pub rejected: u64,
    /// Creates that succeeded.
    pub created: u64,
    /// Creates that failed, timed out, panicked or were refused by the hook.
    pub create_errors: u64,
    /// Creates cut off by the end of their runtime.
    pub create_cancelled: u64,
    /// Closes that timed out, panicked or lost their runtime: the peer may still think it is connected.
    pub closed_unconfirmed: u64,
    /// Foreign resources taken in by `add`.
    pub added: u64,
    /// Resources past their leak warning age.
    pub leak_warnings: u64,
    /// Deadlocks of nested gets that were found.
    pub nested_gets: u64,
    pub(crate) closed: [u64; CloseReason::ALL.len()],
}

impl Stats {
    /// Resources that left the pool for this reason.
    ///
    /// ```
    /// use lease_pool::{Pool, manager::{self, CloseReason}};
    /// # let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) })).build().unwrap();
    /// assert_eq!(pool.stats().closed(CloseReason::Broken), 0);
    /// ```
    pub fn closed(&self, reason: CloseReason) -> u64 {
        self.closed[reason as usize]
    }

    /// Resources that left the pool for any reason.
    pub fn closed_total(&self) -> u64 {
        self.closed.iter().sum()
    }
}

impl<M: Manager> Hub<M> {
    pub(crate) fn snapshot_of(&self, state: &State<M>) -> Snapshot {
        let counts = state.engine.counts();
        let queue = self.semaphore.snapshot();
        Snapshot {
            name: self.options.name.clone(),
            max: state.engine.limits().max,
            min_idle: state.engine.limits().min_idle,
            vacant: state.engine.limits().max.saturating_sub(counts.occupied()),
            creating: counts.of(SlotState::Creating),
            idle: counts.of(SlotState::Idle),
            checking: counts.of(SlotState::Checking),
            leased: counts.of(SlotState::Leased),
            resetting: counts.of(SlotState::Resetting),
            closing: counts.of(SlotState::Closing),
            excess: state.engine.excess(),
            waiters: queue.waiters,
            // The queue is one of revocable reservations: what they were granted counts as reserved.
            granted: queue.granted + queue.reserved,
            create_state: state.engine.create_state(),
            create_failures: state.engine.failures(),
            retry_in: state.retry_at.map(|_| self.retry_in(state)),
            paused: state.engine.is_paused(),
            closed: state.engine.is_closed(),
        }
    }

    /// How long until the next attempt to create, zero if it may start now.
    pub(crate) fn retry_in(&self, state: &State<M>) -> Duration {
        let now = tokio::time::Instant::now();
        state.retry_at.map_or(Duration::ZERO, |at| at.saturating_duration_since(now))
    }
}
