//! All that can be seen from outside, compared after every step.

use super::acquiring::Held;
use super::driver::Driver;
use super::reference::State;
use std::collections::BTreeSet;

impl Driver<'_> {
    pub(crate) fn compare(&mut self) {
        self.ring();
        let (seen, expected) = (self.semaphore.snapshot(), &self.reference);
        assert_eq!(
            (seen.available, seen.debt, seen.held, seen.reserved, seen.granted),
            (expected.available(), expected.debt(), expected.held, expected.reserved, expected.granted()),
            "(available, debt, held, reserved, granted)"
        );
        assert_eq!(
            (seen.capacity, seen.ceiling, seen.waiters, seen.requested, seen.closed),
            (expected.capacity, expected.ceiling, expected.waiters(), expected.requested(), expected.closed),
            "(capacity, ceiling, waiters, requested, closed)"
        );
        assert_eq!(
            seen.available + seen.held + seen.reserved + seen.granted,
            seen.capacity + seen.debt,
            "conservation"
        );
        let owned: usize = self.leases.iter().map(|lease| lease.permits).sum();
        let shown: usize = self
            .leases
            .iter()
            .map(|lease| match &lease.held {
                Held::Borrowed(lease) => lease.permits(),
                Held::Owned(lease) => lease.permits(),
            })
            .sum();
        assert_eq!((seen.held, shown), (owned, owned), "held is what the run holds");
        let order: Vec<_> = self.semaphore.waiters(usize::MAX).iter().map(|waiter| waiter.permits).collect();
        assert_eq!(order, expected.needs_in_order(), "the order of the queue");
        assert_eq!(self.semaphore.available_permits(), expected.available());
        assert_eq!(self.semaphore.queue_len(), expected.waiters());
        assert_eq!(self.semaphore.has_waiters(), expected.waiters() > 0);
        assert_eq!(self.semaphore.is_closed(), expected.closed);
        self.acquires.iter().for_each(|one| one.bell.check("a waiter"));
        self.slots.iter().for_each(|slot| slot.bell.check("a reservation"));
        self.compare_stats();
    }

    /// Whoever was granted or refused in this step has to be told, once.
    fn ring(&mut self) {
        let woken: BTreeSet<_> = self.reference.take_woken().into_iter().collect();
        self.acquires.iter_mut().filter(|one| woken.contains(&one.id)).for_each(|one| one.bell.ring());
        let slots = self.slots.iter_mut().filter(|slot| slot.id().is_some_and(|id| woken.contains(&id)));
        slots.for_each(|slot| slot.bell.ring());
    }

    /// Counters never go down, and every acquire that queued is waiting, unclaimed or counted once.
    fn compare_stats(&mut self) {
        let (before, now) = (self.stats, self.semaphore.stats());
        for (name, before, now) in [
            ("enqueued", before.enqueued, now.enqueued),
            ("queued", before.queued, now.queued),
            ("cancelled", before.cancelled, now.cancelled),
            ("timed_out", before.timed_out, now.timed_out),
            ("rejected", before.rejected, now.rejected),
            ("closed", before.closed, now.closed),
            ("rejected_queued", before.rejected_queued, now.rejected_queued),
            ("closed_queued", before.closed_queued, now.closed_queued),
            ("revoked", before.revoked, now.revoked),
        ] {
            assert!(now >= before, "{name} went from {before} to {now}");
        }
        self.stats = now;
        let ended = now.queued + now.cancelled + now.timed_out + now.closed_queued + now.rejected_queued;
        // A refusal may count when it is made or when it is seen.
        let refused = |id| matches!(self.reference.state(id), Some(State::Closed | State::TooLarge));
        let ids =
            self.acquires.iter().map(|one| one.id).chain(self.slots.iter().filter_map(|slot| slot.id()));
        let (mut open, mut unseen) = (self.slots.iter().filter(|slot| slot.is_unseen()).count() as u64, 0);
        for id in ids {
            match self.reference.state(id) {
                Some(_) if refused(id) => unseen += 1,
                Some(_) => open += 1,
                None => {}
            }
        }
        assert!(
            (ended + open..=ended + open + unseen).contains(&now.enqueued),
            "{open} open and {unseen} unseen refusals beside {now:?}"
        );
    }

    /// Drops everything that is left; then all permits are at home.
    pub(crate) fn finish(mut self) {
        for one in std::mem::take(&mut self.acquires) {
            if self.reference.state(one.id).is_some() {
                self.reference.cancel(one.id);
            }
            drop(one);
        }
        while !self.leases.is_empty() {
            self.release(0, true);
        }
        let mut slots = std::mem::take(&mut self.slots);
        slots.iter_mut().for_each(|slot| slot.cancel(&mut self, false));
        slots.clear();
        self.compare();
        let seen = self.semaphore.snapshot();
        assert_eq!((seen.held, seen.granted, seen.reserved, seen.waiters, seen.debt), (0, 0, 0, 0, 0));
        assert_eq!(seen.available, seen.capacity);
    }
}
