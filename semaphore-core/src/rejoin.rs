//! The right to stand at the front again.

use crate::{Semaphore, Ticket};

/// Permits lost through no fault of the holder, and the place in the order of arrival they were had for.
///
/// Comes from a revoked [`Reservation`](crate::Reservation) or from
/// [`OwnedLease::forfeit`](crate::OwnedLease::forfeit), and is used up by
/// [`Semaphore::acquire_front`] of the same semaphore. Not `Clone`: one place per permit lost.
///
/// # Examples
///
/// See [`OwnedLease::forfeit`](crate::OwnedLease::forfeit).
#[derive(Debug)]
#[must_use = "a rejoin token that is not used gives the place up"]
pub struct Rejoin {
    /// Address of the semaphore, to be compared and never followed.
    pub(crate) home: usize,
    pub(crate) permits: u32,
    pub(crate) order: u64,
}

impl Rejoin {
    pub(crate) fn is_of(&self, semaphore: &Semaphore) -> bool {
        self.home == std::ptr::from_ref(semaphore) as usize
    }

    /// The number of permits to be had again.
    ///
    /// See the example of [`OwnedLease::forfeit`](crate::OwnedLease::forfeit).
    pub fn permits(&self) -> usize {
        self.permits as usize
    }

    /// The ticket of the acquire that lost them; `None` when it had not queued, which puts it first.
    ///
    /// See the example of [`OwnedLease::forfeit`](crate::OwnedLease::forfeit).
    pub fn ticket(&self) -> Option<Ticket> {
        (self.order != 0).then_some(Ticket(self.order))
    }
}
