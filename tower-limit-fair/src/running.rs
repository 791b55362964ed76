use std::sync::Arc;

use semaphore_core::OwnedLease;

use crate::{counts::Outcome, gate::Gate, hold::Held};

/// A request that runs: its lease, and the gate if its end is counted.
///
/// Dropped before `end`, it counts as cancelled while running.
pub(crate) struct Running {
    #[allow(dead_code, reason = "kept to be dropped")]
    held: Held,
    /// `None` spares unnamed limits two atomic steps per request.
    gate: Option<Arc<Gate>>,
    counted: bool,
    identity: usize,
}

impl Running {
    #[inline]
    pub(crate) fn new(gate: &Arc<Gate>, lease: OwnedLease) -> Self {
        let counted = gate.counts_all();
        let kept = counted || gate.limits_hold();
        Running {
            held: Held::Lease(lease),
            gate: kept.then(|| Arc::clone(gate)),
            counted,
            identity: gate.identity(),
        }
    }

    pub(crate) fn exempt() -> Self {
        Running { held: Held::Nothing, gate: None, counted: false, identity: 0 }
    }

    /// The limit that the inner service is polled inside of; 0 for none.
    #[inline]
    pub(crate) fn identity(&self) -> usize {
        self.identity
    }

    /// Puts the lease into the handle, which from then on keeps it too.
    #[cfg(feature = "http")]
    pub(crate) fn share(&mut self, handle: crate::LeaseHandle) {
        self.held.share(handle);
    }

    /// The head is out and the body goes on: from here `max_hold` counts.
    #[cfg(all(feature = "http", feature = "time"))]
    pub(crate) fn begin_body(mut self) -> Self {
        if let Some(gate) = &self.gate {
            if let Some(holds) = &gate.max_hold {
                self.held.limit(gate, holds);
            }
        }
        self
    }

    /// Ends the request: frees the lease and counts the outcome.
    #[inline]
    pub(crate) fn end(mut self, outcome: Outcome) {
        if self.counted {
            self.counted = false;
            if let Some(gate) = &self.gate {
                gate.count(outcome);
            }
        }
    }
}

impl Drop for Running {
    #[inline]
    fn drop(&mut self) {
        if self.counted {
            if let Some(gate) = &self.gate {
                gate.count(Outcome::CancelledRunning);
            }
        }
    }
}
