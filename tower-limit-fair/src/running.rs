use std::{fmt, sync::Arc};

use semaphore_core::OwnedLease;

use crate::{counts::Outcome, gate::Gate};

/// A request that runs: its lease, and the gate if its end is counted or its hold limited.
///
/// Dropped before `end`, it counts as cancelled while running.
pub struct Running {
    lease: Option<OwnedLease>,
    /// Who keeps the lease, if it is not here.
    #[cfg(feature = "http")]
    keeper: Option<Keeper>,
    /// `None` spares unnamed limits two atomic steps per request.
    gate: Option<Arc<Gate>>,
    identity: usize,
}

/// Where a lease is kept that is not with its request alone.
#[cfg(feature = "http")]
#[allow(dead_code, reason = "kept to be dropped")]
enum Keeper {
    /// Shared with the handler.
    Handle(crate::LeaseHandle),
    /// With the gate, which frees it after `max_hold`.
    #[cfg(feature = "time")]
    Limited(crate::max_hold::Limited),
}

impl Running {
    #[inline]
    pub(crate) fn new(gate: &Arc<Gate>, lease: OwnedLease) -> Self {
        let kept = gate.counts_all() || gate.limits_hold();
        Running {
            lease: Some(lease),
            #[cfg(feature = "http")]
            keeper: None,
            gate: kept.then(|| Arc::clone(gate)),
            identity: gate.identity(),
        }
    }

    #[inline]
    pub(crate) fn exempt() -> Self {
        Running {
            lease: None,
            #[cfg(feature = "http")]
            keeper: None,
            gate: None,
            identity: 0,
        }
    }

    /// The same, which leaves an empty one behind.
    #[inline]
    pub(crate) fn take(&mut self) -> Self {
        Running {
            lease: self.lease.take(),
            #[cfg(feature = "http")]
            keeper: self.keeper.take(),
            gate: self.gate.take(),
            identity: self.identity,
        }
    }

    /// The limit that the inner service is polled inside of; 0 for none.
    #[inline]
    pub(crate) fn identity(&self) -> usize {
        self.identity
    }

    /// Puts the lease into the handle, which from then on keeps it too.
    #[cfg(feature = "http")]
    pub(crate) fn share(&mut self, handle: crate::LeaseHandle) {
        if let Some(lease) = self.lease.take() {
            handle.fill(lease);
            self.keeper = Some(Keeper::Handle(handle));
        }
    }

    /// The head is out and the body goes on: from here `max_hold` counts.
    #[cfg(all(feature = "http", feature = "time"))]
    pub(crate) fn begin_body(mut self) -> Self {
        use crate::max_hold::{Kept, Limited};

        if let Some((gate, holds)) = self.gate.as_ref().and_then(|gate| Some((gate, gate.max_hold.as_ref()?)))
        {
            let kept = match (self.lease.take(), self.keeper.take()) {
                (Some(lease), _) => Kept::Lease(lease),
                (None, Some(Keeper::Handle(handle))) => Kept::Handle(handle),
                (None, keeper) => {
                    self.keeper = keeper;
                    return self;
                }
            };
            self.keeper = Some(Keeper::Limited(Limited::new(gate, holds, kept)));
        }
        self
    }

    /// Ends the request: frees the lease and counts the outcome.
    #[inline]
    pub(crate) fn end(mut self, outcome: Outcome) {
        if let Some(gate) = self.gate.take() {
            count(&gate, outcome);
        }
    }
}

fn count(gate: &Gate, outcome: Outcome) {
    if gate.counts_all() {
        gate.count(outcome);
    }
}

impl Drop for Running {
    #[inline]
    fn drop(&mut self) {
        if let Some(gate) = &self.gate {
            count(gate, Outcome::CancelledRunning);
        }
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").finish_non_exhaustive()
    }
}
