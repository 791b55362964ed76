//! Running totals, stepped without the lock.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::manager::CloseReason;
use crate::snapshot::Stats;

/// How a get that was polled came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Ok,
    Error,
    Cancelled,
    TimedOut,
    Rejected,
}

#[cfg(feature = "tracing")]
impl Outcome {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Error => "error",
            Outcome::Cancelled => "cancelled",
            Outcome::TimedOut => "timed_out",
            Outcome::Rejected => "rejected",
        }
    }
}

/// How a create came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Created {
    Ok,
    Error,
    Cancelled,
}

#[derive(Debug, Default)]
pub(crate) struct Tally {
    checkouts: [AtomicU64; 5],
    creates: [AtomicU64; 3],
    closed: [AtomicU64; CloseReason::ALL.len()],
    closed_unconfirmed: AtomicU64,
    added: AtomicU64,
    leak_warnings: AtomicU64,
    nested_gets: AtomicU64,
}

fn step(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

impl Tally {
    pub(crate) fn new() -> Self {
        Tally::default()
    }

    pub(crate) fn checkout(&self, outcome: Outcome) {
        step(&self.checkouts[outcome as usize]);
    }

    /// A failed try.
    pub(crate) fn rejected(&self) {
        step(&self.checkouts[Outcome::Rejected as usize]);
    }

    pub(crate) fn create(&self, outcome: Created) {
        step(&self.creates[outcome as usize]);
    }

    pub(crate) fn closed(&self, reason: CloseReason) {
        step(&self.closed[reason as usize]);
    }

    /// A close was cut off: the peer may still be there.
    pub(crate) fn closed_unconfirmed(&self) {
        step(&self.closed_unconfirmed);
    }

    pub(crate) fn added(&self) {
        step(&self.added);
    }

    pub(crate) fn leak_warning(&self) {
        step(&self.leak_warnings);
    }

    pub(crate) fn nested_get(&self) {
        step(&self.nested_gets);
    }

    pub(crate) fn totals(&self, immediate: u64) -> Stats {
        let checkouts = |outcome: Outcome| read(&self.checkouts[outcome as usize]);
        let creates = |outcome: Created| read(&self.creates[outcome as usize]);
        Stats {
            immediate,
            ok: checkouts(Outcome::Ok),
            error: checkouts(Outcome::Error),
            cancelled: checkouts(Outcome::Cancelled),
            timed_out: checkouts(Outcome::TimedOut),
            rejected: checkouts(Outcome::Rejected),
            created: creates(Created::Ok),
            create_errors: creates(Created::Error),
            create_cancelled: creates(Created::Cancelled),
            closed_unconfirmed: read(&self.closed_unconfirmed),
            added: read(&self.added),
            leak_warnings: read(&self.leak_warnings),
            nested_gets: read(&self.nested_gets),
            closed: std::array::from_fn(|reason| read(&self.closed[reason])),
        }
    }
}
