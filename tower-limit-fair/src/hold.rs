//! Where the lease of a running request is kept.

use semaphore_core::OwnedLease;

/// Frees the lease with its own drop, whichever way it is kept.
#[allow(dead_code, reason = "kept to be dropped")]
pub(crate) enum Held {
    Nothing,
    Lease(OwnedLease),
    /// Shared with the handler.
    #[cfg(feature = "http")]
    Handle(crate::LeaseHandle),
    /// Kept by the gate, which frees it after `max_hold`.
    #[cfg(all(feature = "http", feature = "time"))]
    Limited(crate::max_hold::Limited),
}

#[cfg(feature = "http")]
impl Held {
    /// Shares the lease with the handle's other owners.
    pub(crate) fn share(&mut self, handle: crate::LeaseHandle) {
        *self = match std::mem::replace(self, Held::Nothing) {
            Held::Lease(lease) => {
                handle.fill(lease);
                Held::Handle(handle)
            }
            other => other,
        };
    }

    /// Gives the lease to the gate of this `max_hold`.
    #[cfg(feature = "time")]
    pub(crate) fn limit(
        &mut self,
        gate: &std::sync::Arc<crate::gate::Gate>,
        holds: &crate::max_hold::MaxHold,
    ) {
        use crate::max_hold::{Kept, Limited};

        let kept = match std::mem::replace(self, Held::Nothing) {
            Held::Lease(lease) => Kept::Lease(lease),
            Held::Handle(handle) => Kept::Handle(handle),
            other => {
                *self = other;
                return;
            }
        };
        *self = Held::Limited(Limited::new(gate, holds, kept));
    }
}
