//! What a plain semaphore does without: options, counters, watchers, generations and seats.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

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
        }
    }
}

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
}

/// The options of an extension; the default is what a plain semaphore has.
pub(crate) struct Options {
    pub(crate) name: Option<Name>,
    pub(crate) fairness: Fairness,
    pub(crate) max_waiters: usize,
    pub(crate) ceiling: u32,
    pub(crate) observer: Option<Arc<dyn Observer>>,
}

impl Default for Options {
    fn default() -> Self {
        Self { name: None, fairness: Fairness::Fifo, max_waiters: usize::MAX, ceiling: 0, observer: None }
    }
}

impl Extension {
    pub(crate) fn new(options: Options) -> Box<Self> {
        let watched = options.name.is_some() || options.observer.is_some();
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

impl fmt::Debug for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extension")
            .field("name", &self.name)
            .field("fairness", &self.fairness)
            .finish_non_exhaustive()
    }
}
