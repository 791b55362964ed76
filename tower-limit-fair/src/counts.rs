use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::Reason;

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Completed,
    Failed,
    CancelledQueued,
    CancelledRunning,
    Exempt,
}

/// The monotonic counters of one limit.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    ended: [AtomicU64; 5],
    rejected: [AtomicU64; Reason::ALL.len()],
    pub(crate) abandoned: AtomicU64,
    pub(crate) overdue: AtomicU64,
    reentrant: AtomicU64,
    told_reentrant: AtomicBool,
}

impl Counts {
    #[inline]
    pub(crate) fn ended(&self, outcome: Outcome) {
        self.ended[outcome as usize].fetch_add(1, Relaxed);
    }

    pub(crate) fn rejected(&self, reason: Reason) {
        self.rejected[reason as usize].fetch_add(1, Relaxed);
    }

    /// Counts one, and says whether it was the first.
    pub(crate) fn reentrant(&self) -> bool {
        self.reentrant.fetch_add(1, Relaxed);
        !self.told_reentrant.swap(true, Relaxed)
    }

    pub(crate) fn of(&self, outcome: Outcome) -> u64 {
        self.ended[outcome as usize].load(Relaxed)
    }

    pub(crate) fn rejected_for(&self, reason: Reason) -> u64 {
        self.rejected[reason as usize].load(Relaxed)
    }

    pub(crate) fn reentrants(&self) -> u64 {
        self.reentrant.load(Relaxed)
    }
}
