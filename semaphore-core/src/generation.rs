//! Reserved and unused permits, counted in generations so that revoking them needs no list and no clock.
//!
//! Each counter holds the number of its generation above the permits reserved in it. A reservation adds to the
//! open generation; `take` and drop subtract, and learn from the number that the generation was revoked.

use std::time::{Duration, Instant};

use crate::atomic::{AtomicU32, AtomicU64, Lock, Ordering};

#[derive(Debug)]
pub(crate) struct Generations {
    open: AtomicU32,
    counters: [AtomicU64; 2],
    /// Reserved by reservations that are not revocable.
    firm: AtomicU64,
    /// Longest time to live asked for, in nanoseconds; 0 while nobody reserves revocably.
    ttl: AtomicU64,
    /// When the closed generation may be revoked.
    pub(crate) due: Lock<Option<Instant>>,
}

const PERMITS: u64 = u32::MAX as u64;

fn pack(generation: u32, permits: u64) -> u64 {
    (generation as u64) << 32 | permits
}

impl Generations {
    pub(crate) fn new() -> Self {
        Self {
            open: AtomicU32::new(0),
            counters: [AtomicU64::new(pack(0, 0)), AtomicU64::new(pack(1, 0))],
            firm: AtomicU64::new(0),
            ttl: AtomicU64::new(0),
            due: Lock::new(None),
        }
    }

    pub(crate) fn ask_ttl(&self, ttl: Duration) {
        let ttl = u64::try_from(ttl.as_nanos()).unwrap_or(u64::MAX).max(1);
        self.ttl.fetch_max(ttl, Ordering::Relaxed);
    }

    pub(crate) fn ttl(&self) -> Option<Duration> {
        let ttl = self.ttl.load(Ordering::Relaxed);
        (ttl != 0).then(|| Duration::from_nanos(ttl))
    }

    #[inline]
    fn counter(&self, generation: u32) -> &AtomicU64 {
        &self.counters[generation as usize & 1]
    }

    /// Adds to the open generation and returns its number. `None` when it was closed and revoked in the same
    /// breath: the permits are somebody else's then.
    #[inline]
    pub(crate) fn reserve(&self, permits: u32) -> Option<u32> {
        loop {
            let generation = self.open.load(Ordering::Acquire);
            let counter = self.counter(generation);
            let seen = counter.load(Ordering::Relaxed);
            // Closed and revoked since the load of `open`: look again.
            if (seen >> 32) as u32 != generation
                || counter
                    .compare_exchange(seen, seen + permits as u64, Ordering::AcqRel, Ordering::Relaxed)
                    .is_err()
            {
                continue;
            }
            // Closed in between: it would be revoked before its time.
            if self.open.load(Ordering::Acquire) == generation {
                return Some(generation);
            }
            if !self.remove(generation, permits) {
                return None;
            }
        }
    }

    /// Takes permits out of a generation; false when it was revoked and they are somebody else's.
    #[inline]
    pub(crate) fn remove(&self, generation: u32, permits: u32) -> bool {
        let counter = self.counter(generation);
        let mut seen = counter.load(Ordering::Relaxed);
        while (seen >> 32) as u32 == generation {
            let next = seen - permits as u64;
            match counter.compare_exchange(seen, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    #[inline]
    pub(crate) fn is_live(&self, generation: u32) -> bool {
        (self.counter(generation).load(Ordering::Acquire) >> 32) as u32 == generation
    }

    #[inline]
    pub(crate) fn reserve_firmly(&self, permits: u32) {
        self.firm.fetch_add(permits as u64, Ordering::AcqRel);
    }

    #[inline]
    pub(crate) fn remove_firm(&self, permits: u32) {
        self.firm.fetch_sub(permits as u64, Ordering::AcqRel);
    }

    /// Opens the next generation. The closed one must have been revoked before.
    pub(crate) fn close(&self) {
        self.open.fetch_add(1, Ordering::AcqRel);
    }

    /// Revokes the closed generation and returns what it still counted.
    pub(crate) fn revoke(&self) -> u32 {
        let closed = self.open.load(Ordering::Acquire).wrapping_sub(1);
        let next = pack(closed.wrapping_add(2), 0);
        (self.counter(closed).swap(next, Ordering::AcqRel) & PERMITS) as u32
    }

    /// The counters as they are, for a reader that compares two readings.
    pub(crate) fn reading(&self) -> (u64, u64, u64) {
        let load = |counter: &AtomicU64| counter.load(Ordering::Acquire);
        (load(&self.counters[0]), load(&self.counters[1]), load(&self.firm))
    }

    pub(crate) fn permits((one, two, firm): (u64, u64, u64)) -> u64 {
        (one & PERMITS) + (two & PERMITS) + firm
    }
}
