//! What a plain semaphore does without: options, counters, watchers, generations and seats.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::atomic::{AtomicU32, AtomicU64, Lock, Ordering};
use crate::generation::Generations;
use crate::list::List;
use crate::slab::Slab;
use crate::watch::Watchers;
use crate::{Fairness, Name, Observer};

/// Monotonic counters; most are written under the queue's lock.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) cancelled: AtomicU64,
    pub(crate) timed_out: AtomicU64,
    pub(crate) rejected: AtomicU64,
    pub(crate) closed: AtomicU64,
    pub(crate) rejected_queued: AtomicU64,
    pub(crate) closed_queued: AtomicU64,
    pub(crate) revoked: AtomicU64,
    pub(crate) immediate: AtomicU64,
    pub(crate) waited: AtomicU64,
    pub(crate) overdue: AtomicU64,
    /// Rejoiners that had to queue: each counts as queued once more.
    pub(crate) rejoined: AtomicU64,
    /// Tickets drawn without queueing.
    pub(crate) stamped: AtomicU64,
}

impl Tally {
    fn new() -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            cancelled: zero(),
            timed_out: zero(),
            rejected: zero(),
            closed: zero(),
            rejected_queued: zero(),
            closed_queued: zero(),
            revoked: zero(),
            immediate: zero(),
            waited: zero(),
            overdue: zero(),
            rejoined: zero(),
            stamped: zero(),
        }
    }
}

#[inline(always)]
pub(crate) fn bump(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}

/// Without an explicit value the ceiling is the capacity plus what was forgotten.
#[derive(Debug)]
pub(crate) struct Ceiling {
    /// 0 when there is none.
    pub(crate) explicit: AtomicU32,
    pub(crate) forgotten: AtomicU32,
}

impl Ceiling {
    /// Permits added make good what was forgotten before they raise the ceiling.
    pub(crate) fn regain(&self, permits: u32) {
        let left = self.forgotten.load(Ordering::Relaxed).saturating_sub(permits);
        self.forgotten.store(left, Ordering::Relaxed);
    }
}

pub(crate) struct Extension {
    pub(crate) name: Option<Name>,
    pub(crate) fairness: Fairness,
    pub(crate) max_waiters: usize,
    pub(crate) ceiling: Ceiling,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    /// Zero of the semaphore's clock; `None` when nobody asks for times.
    pub(crate) epoch: Option<Instant>,
    pub(crate) tally: Tally,
    /// Granted and not yet claimed (named), or notified (barging). Locked after the queue only.
    pub(crate) second: Lock<List>,
    /// Permits that notified waiters may take (barging). Under the queue's lock.
    pub(crate) spoken: AtomicU64,
    pub(crate) watchers: Watchers,
    pub(crate) generations: Generations,
    pub(crate) slab: Slab,
    /// Whether leases note when they were taken, and the age from which they are overdue (`MAX`: never).
    pub(crate) lease_time: bool,
    pub(crate) overdue_after: Duration,
    #[cfg(feature = "metrics")]
    pub(crate) instruments: crate::metrics::Instruments,
}

/// The options of an extension; the default is what a plain semaphore has.
pub(crate) struct Options {
    pub(crate) name: Option<Name>,
    pub(crate) fairness: Fairness,
    pub(crate) max_waiters: usize,
    pub(crate) ceiling: u32,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    pub(crate) lease_time: bool,
    pub(crate) overdue_after: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            name: None,
            fairness: Fairness::Fifo,
            max_waiters: usize::MAX,
            ceiling: 0,
            observer: None,
            lease_time: false,
            overdue_after: Duration::MAX,
        }
    }
}

impl Options {
    /// Whether anybody asks for times and counts.
    pub(crate) fn is_observed(&self) -> bool {
        self.name.is_some() || self.observer.is_some() || self.lease_time
    }
}

/// Lease times are kept in ticks of 100 microseconds, so that a lease has room for them.
const TICK: u64 = 100_000;

impl Extension {
    pub(crate) fn new(options: Options) -> Box<Self> {
        let watched = options.is_observed();
        Box::new(Self {
            name: options.name,
            fairness: options.fairness,
            max_waiters: options.max_waiters,
            ceiling: Ceiling { explicit: AtomicU32::new(options.ceiling), forgotten: AtomicU32::new(0) },
            observer: options.observer,
            epoch: watched.then(crate::clock::now),
            tally: Tally::new(),
            second: Lock::new(List::new()),
            spoken: AtomicU64::new(0),
            watchers: Watchers::new(),
            generations: Generations::new(),
            slab: Slab::new(),
            lease_time: options.lease_time,
            overdue_after: options.overdue_after,
            #[cfg(feature = "metrics")]
            instruments: crate::metrics::Instruments::new(),
        })
    }

    /// Nanoseconds on the semaphore's clock; 0 when it has none.
    pub(crate) fn now(&self) -> u64 {
        self.epoch.map_or(0, |epoch| {
            let elapsed = crate::clock::now().saturating_duration_since(epoch);
            u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
        })
    }
}

impl Extension {
    /// The tick at which a lease starts; 0 means that nobody wants to know.
    #[cold]
    pub(crate) fn lease_starts(&self) -> u32 {
        if self.lease_time { self.tick() } else { 0 }
    }

    fn tick(&self) -> u32 {
        ((self.now() / TICK) as u32).max(1)
    }

    /// A recorder is foreign code: its panic is no reason to lose a grant.
    #[cfg(feature = "metrics")]
    pub(crate) fn record(&self, how: crate::metrics::Waited, wait: Duration) {
        let mut foreign = crate::wake::Foreign::default();
        foreign.call(|| self.instruments.waited(how, wait));
        foreign.discard();
    }

    /// A lease that started at `tick` ends. Returns its time when it is overdue.
    #[cold]
    pub(crate) fn lease_ends(&self, tick: u32) -> Option<Duration> {
        let ticks = self.tick().wrapping_sub(tick) as u64;
        let time = Duration::from_nanos(ticks * TICK);
        #[cfg(feature = "metrics")]
        {
            let mut foreign = crate::wake::Foreign::default();
            foreign.call(|| self.instruments.held(time));
            foreign.discard();
        }
        if time <= self.overdue_after {
            return None;
        }
        bump(&self.tally.overdue, 1);
        Some(time)
    }
}

impl fmt::Debug for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extension")
            .field("name", &self.name)
            .field("fairness", &self.fairness)
            .finish_non_exhaustive()
    }
}
