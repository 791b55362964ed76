//! What a run does with waiters that leave and with leases.

use super::acquiring::Held;
use super::driver::{Driver, Lease, pick};
use super::reference::{Outcome, State};
use semaphore_core::TryAcquireError;
use std::sync::Arc;

impl<'s> Driver<'s> {
    pub(crate) fn drop_waiter(&mut self, waiter: usize) {
        let Some(at) = pick(waiter, self.acquires.len()) else { return };
        let one = self.acquires.swap_remove(at);
        if self.reference.state(one.id).is_some() {
            self.reference.cancel(one.id);
        }
        drop(one.form);
        one.bell.check("a dropped waiter");
    }

    pub(crate) fn time_out(&mut self, waiter: usize) {
        let Some(at) = pick(waiter, self.acquires.len()) else { return };
        let one = &mut self.acquires[at];
        let Some(left) = one.time_out() else { return };
        let queued = self.reference.state(one.id) == Some(State::Queued);
        assert_eq!(left, queued, "only a queued waiter leaves");
        if left {
            one.left = true;
            self.reference.cancel(one.id);
        }
    }

    pub(crate) fn try_acquire(&mut self, permits: usize, owned: bool) {
        let tried = match owned {
            true => Arc::clone(self.semaphore).try_acquire_many_owned(permits).map(Held::Owned),
            false => self.semaphore.try_acquire_many(permits).map(Held::Borrowed),
        };
        let free = self.reference.available();
        match (self.reference.try_acquire(permits), tried) {
            (Outcome::Served, Ok(held)) => self.leases.push(Lease { held, permits, ticket: 0 }),
            (Outcome::Closed, Err(TryAcquireError::Closed { .. })) => {}
            (Outcome::TooLarge, Err(TryAcquireError::TooLarge { requested, ceiling, .. })) => {
                assert_eq!((requested, ceiling), (permits, self.reference.ceiling));
            }
            (Outcome::Waits, Err(TryAcquireError::NoPermits { requested, available, .. })) => {
                assert_eq!((requested, available), (permits, free));
            }
            (expected, tried) => panic!("{expected:?} was due, not {tried:?}"),
        }
    }

    pub(crate) fn drain(&mut self) {
        // Nothing at all and a lease of nothing are the same thing here.
        let expected = self.reference.drain().filter(|permits| *permits > 0);
        let drained = self.semaphore.drain_permits().filter(|lease| lease.permits() > 0);
        assert_eq!(drained.as_ref().map(|lease| lease.permits()), expected, "drain_permits");
        if let (Some(lease), Some(permits)) = (drained, expected) {
            self.leases.push(Lease { held: Held::Borrowed(lease), permits, ticket: 0 });
        }
    }

    pub(crate) fn release(&mut self, lease: usize, by_drop: bool) {
        let Some(at) = pick(lease, self.leases.len()) else { return };
        let lease = self.leases.swap_remove(at);
        match lease.held {
            held if by_drop => drop(held),
            Held::Borrowed(lease) => lease.release(),
            Held::Owned(lease) => lease.release(),
        }
        self.reference.release(lease.permits);
    }

    pub(crate) fn forget(&mut self, lease: usize) {
        let Some(at) = pick(lease, self.leases.len()) else { return };
        let lease = self.leases.swap_remove(at);
        match lease.held {
            Held::Borrowed(lease) => lease.forget(),
            Held::Owned(lease) => lease.forget(),
        }
        self.reference.forget(lease.permits);
    }

    pub(crate) fn split(&mut self, lease: usize, permits: usize) {
        let Some(at) = pick(lease, self.leases.len()) else { return };
        let lease = &mut self.leases[at];
        let part = match &mut lease.held {
            Held::Borrowed(lease) => lease.split(permits).map(Held::Borrowed),
            Held::Owned(lease) => lease.split(permits).map(Held::Owned),
        };
        assert_eq!(part.is_some(), permits <= lease.permits, "split({permits}) of {}", lease.permits);
        if let Some(held) = part {
            lease.permits -= permits;
            let ticket = lease.ticket;
            self.leases.push(Lease { held, permits, ticket });
        }
    }

    pub(crate) fn merge(&mut self, lease: usize, other: usize) {
        let (Some(at), true) = (pick(lease, self.leases.len()), self.leases.len() > 1) else { return };
        let mut lease = self.leases.swap_remove(at);
        let from = pick(other, self.leases.len()).expect("one is left");
        let other = self.leases.swap_remove(from);
        let (held, merged) = match (lease.held, other.held) {
            (Held::Borrowed(mut one), Held::Borrowed(two)) => {
                one.merge(two).expect("the same semaphore");
                (Held::Borrowed(one), None)
            }
            (Held::Owned(mut one), Held::Owned(two)) => {
                one.merge(two).expect("the same semaphore");
                (Held::Owned(one), None)
            }
            (one, two) => (one, Some(two)),
        };
        match merged {
            None => lease.permits += other.permits,
            Some(held) => self.leases.push(Lease { held, ..other }),
        }
        self.leases.push(Lease { held, ..lease });
    }

    pub(crate) fn forfeit(&mut self, lease: usize) {
        let Some(at) = pick(lease, self.leases.len()) else { return };
        if matches!(self.leases[at].held, Held::Borrowed(_)) {
            return;
        }
        let Lease { held: Held::Owned(lease), permits, ticket } = self.leases.swap_remove(at) else { return };
        let token = lease.forfeit();
        assert_eq!((token.permits(), token.ticket().is_some()), (permits, ticket != 0));
        self.reference.forget(permits);
        self.tokens.push((token, ticket));
    }
}
