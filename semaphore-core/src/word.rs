//! The one atomic word: a signed count of free permits above six bits of flags.

use crate::atomic::{AtomicIsize, Ordering};

/// Nothing is granted any more. Never cleared.
pub(crate) const CLOSED: isize = 1;
/// Somebody is queued. Set together with a look at the count, cleared by whoever empties the queue (I3).
pub(crate) const SLOW: isize = 1 << 1;
/// A `drained` future waits. Only releases look at it.
pub(crate) const WATCH: isize = 1 << 2;
/// Named or observed: acquires count themselves.
pub(crate) const OBSERVED: isize = 1 << 3;
/// The semaphore serves `Fairness::Barging`. Never changes.
pub(crate) const BARGING: isize = 1 << 4;

const SHIFT: u32 = 6;

/// The most permits that fit the word with room for the same amount of debt.
pub(crate) const MAX: u32 = if isize::BITS >= 64 { u32::MAX >> 1 } else { (1 << 24) - 1 };

/// The free permits in `word`; negative while a shrink has not been repaid.
#[inline(always)]
pub(crate) fn free(word: isize) -> i64 {
    (word >> SHIFT) as i64
}

#[inline(always)]
pub(crate) const fn of(permits: i64) -> isize {
    (permits as isize) << SHIFT
}

/// All flags change under the queue's lock only; the count changes anywhere.
#[derive(Debug)]
pub(crate) struct Word(AtomicIsize);

impl Word {
    #[cfg(not(any(fair_loom, fair_shuttle)))]
    pub(crate) const fn new(permits: u32, flags: isize) -> Self {
        Self(AtomicIsize::new(of(permits as i64) | flags))
    }

    #[cfg(any(fair_loom, fair_shuttle))]
    pub(crate) fn new(permits: u32, flags: isize) -> Self {
        Self(AtomicIsize::new(of(permits as i64) | flags))
    }

    /// Acquire, because whoever reads a count may hand its permits on.
    #[inline(always)]
    pub(crate) fn load(&self) -> isize {
        self.0.load(Ordering::Acquire)
    }

    /// For a first look that a read-modify-write or the lock confirms.
    #[inline(always)]
    pub(crate) fn glance(&self) -> isize {
        self.0.load(Ordering::Relaxed)
    }

    /// The uncontended acquire: one compare-and-swap, refused when a flag asks for care. Returns the word that
    /// decided, either way; `OBSERVED` in it asks the caller to count.
    #[inline(always)]
    pub(crate) fn take(&self, permits: u32) -> Result<isize, isize> {
        let need = of(permits as i64);
        let mut word = self.glance();
        loop {
            // The flags left are small and positive, so comparing whole words compares the counts.
            if word & (CLOSED | SLOW) != 0 || word < need {
                return Err(word);
            }
            match self.0.compare_exchange_weak(word, word - need, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Ok(word),
                Err(seen) => word = seen,
            }
        }
    }

    /// One attempt to go from `word` to `next`; the word seen otherwise.
    #[inline(always)]
    pub(crate) fn swap(&self, word: isize, next: isize) -> Result<isize, isize> {
        self.0.compare_exchange_weak(word, next, Ordering::AcqRel, Ordering::Acquire)
    }

    /// Adds to the count, returns the word before. Also removes permits and flags when `change` says so.
    #[inline(always)]
    pub(crate) fn add(&self, change: isize) -> isize {
        self.0.fetch_add(change, Ordering::AcqRel)
    }

    pub(crate) fn raise(&self, flag: isize) -> isize {
        self.0.fetch_or(flag, Ordering::AcqRel)
    }

    pub(crate) fn lower(&self, flag: isize) -> isize {
        self.0.fetch_and(!flag, Ordering::AcqRel)
    }
}
