//! Permits that the pool itself takes, parks and adds.

use std::sync::Arc;

use semaphore_core::OwnedLease;

use super::{Hub, State};
use crate::engine::Landed;
use crate::entry::Entry;
use crate::manager::{CloseReason, Manager};

impl<M: Manager> Hub<M> {
    /// A permit for an idle resource that the pool itself wants, `None` if all of them are promised.
    pub(crate) fn permit_for_housekeeping(self: &Arc<Self>) -> Option<Permit> {
        let mut state = self.lock();
        if state.pause.is_none() {
            drop(state);
            return self.semaphore.try_lease(1).ok().map(Permit::Lease);
        }
        if state.unissued > 0 {
            state.unissued -= 1;
            return Some(Permit::Unissued);
        }
        let mut parked = state.parked.take()?;
        if parked.permits() <= 1 {
            return Some(Permit::Lease(parked));
        }
        let one = parked.split(1);
        state.parked = Some(parked);
        one.map(Permit::Lease)
    }

    /// Puts an idle resource back that was only looked at.
    pub(crate) fn settle_looked_at(&self, entry: Box<Entry<M>>, permit: Permit) {
        match permit {
            Permit::Lease(lease) => self.settle_at(entry, lease, true),
            Permit::Unissued => {
                let mut state = self.lock();
                state.engine.end_background();
                let slot = entry.slot;
                match state.engine.settle_coldest(slot, entry) {
                    Landed::Idle => {
                        drop(state);
                        self.return_permit(Permit::Unissued);
                    }
                    Landed::Excess(entry) => {
                        let closed = state.engine.is_closed();
                        let reason = if closed { CloseReason::Shutdown } else { CloseReason::Resized };
                        self.tally.closed(reason);
                        state.to_close.push_back((entry, reason));
                        let debts = self.settle_debts(&mut state);
                        drop(state);
                        debts.pay(self);
                        self.bury_orphans();
                    }
                }
            }
        }
    }

    /// Gives such a permit back unused.
    pub(crate) fn return_permit(&self, permit: Permit) {
        let mut state = self.lock();
        let unused = match permit {
            Permit::Lease(lease) if state.pause.is_some() => park(&mut state, lease),
            Permit::Lease(lease) => Some(lease),
            Permit::Unissued if state.pause.is_some() => {
                state.unissued += 1;
                None
            }
            Permit::Unissued => {
                drop(state);
                return self.issue(1);
            }
        };
        drop(state);
        drop(unused);
    }

    /// Adds permits for resources that are idle already, which serves the head of the queue.
    pub(crate) fn issue(&self, permits: usize) {
        if permits > 0 && self.semaphore.add_permits(permits).is_err() {
            // The ceiling follows every growth of the maximum before a create can start (E1).
            debug_assert!(false, "{permits} permits above the ceiling");
        }
    }
}

/// A permit taken by the pool itself.
pub(crate) enum Permit {
    Lease(OwnedLease),
    /// Its resource was made during a pause and had no permit yet.
    Unissued,
}

impl Permit {
    pub(crate) fn forget(self) {
        if let Permit::Lease(lease) = self {
            lease.forget();
        }
    }
}

/// Keeps a permit that came home during a pause.
pub(crate) fn park<M: Manager>(state: &mut State<M>, lease: OwnedLease) -> Option<OwnedLease> {
    match &mut state.parked {
        None => {
            state.parked = Some(lease);
            None
        }
        Some(parked) => parked.merge(lease).err().map(|refused| refused.into_lease()),
    }
}
