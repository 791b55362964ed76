//! Which uses of a connection are running, and since when one is cut off.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::time::Instant;

#[derive(Debug, Default)]
pub(super) struct Uses {
    in_flight: AtomicUsize,
    unsettled_since: Mutex<Option<Instant>>,
}

impl Uses {
    /// Counts one use from here to `finish`; a drop before that is a use cut off.
    pub(super) fn start(&self) -> Use<'_> {
        self.in_flight.fetch_add(1, Ordering::AcqRel);
        Use { uses: self, ending: Ending::CutOff }
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Acquire)
    }

    /// Since when it is unknown whether the server still works for a use that nobody awaits.
    pub(super) fn unsettled_since(&self) -> Option<Instant> {
        *self.unsettled_since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn mark_unsettled(&self) {
        let mut since = self.unsettled_since.lock().unwrap_or_else(PoisonError::into_inner);
        since.get_or_insert_with(Instant::now);
    }

    pub(super) fn mark_settled(&self) {
        *self.unsettled_since.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    CutOff,
    Answered,
}

#[derive(Debug)]
pub(super) struct Use<'a> {
    uses: &'a Uses,
    ending: Ending,
}

impl Use<'_> {
    pub(super) fn finish(mut self) {
        self.ending = Ending::Answered;
    }
}

impl Drop for Use<'_> {
    fn drop(&mut self) {
        if self.ending == Ending::CutOff {
            self.uses.mark_unsettled();
        }
        self.uses.in_flight.fetch_sub(1, Ordering::AcqRel);
    }
}
