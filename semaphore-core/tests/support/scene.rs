//! A semaphore with the leases of a test around it, and one assertion for all its numbers.

use super::clock::Clock;
use super::{Held, Setup, Start, Waiter};
use semaphore_core::{OwnedLease, Semaphore};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

/// The permits of a case and everybody who can own one.
pub(crate) struct Scene<'s> {
    pub(crate) semaphore: &'s Arc<Semaphore>,
    pub(crate) setup: Setup,
    /// What others hold in the background.
    others: Vec<OwnedLease>,
    /// The sum over the `Held` that are alive.
    pub(crate) tally: Rc<Cell<usize>>,
}

impl<'s> Scene<'s> {
    /// Takes what is not to be free: `semaphore` comes from `setup.semaphore(free, most)`.
    pub(crate) fn start(setup: Setup, semaphore: &'s Arc<Semaphore>, free: usize) -> Self {
        let mut scene = Self { semaphore, setup, others: Vec::new(), tally: Rc::default() };
        if setup.start == Start::OthersHold {
            let taken = semaphore.available_permits() - free;
            scene.others.push(Arc::clone(semaphore).try_acquire_many_owned(taken).expect("all are free"));
        }
        scene.expect(free, &[], 0);
        scene
    }

    /// Makes `permits` more free in one step: a release by the others, or growth under the ceiling.
    pub(crate) fn free_up(&mut self, permits: usize) {
        match self.setup.start {
            Start::OthersHold => {
                let part = self.others[0].split(permits).expect("others hold enough");
                part.release();
            }
            Start::Ceiling => self.semaphore.add_permits(permits).expect("the ceiling allows it"),
        }
    }

    /// An acquire that nobody has polled yet.
    pub(crate) fn waiter(&self, permits: usize) -> Waiter<'s> {
        Waiter::new(self.semaphore, permits, self.setup.form, &self.tally)
    }

    /// An acquire that has to queue.
    #[track_caller]
    pub(crate) fn queue(&self, permits: usize) -> Waiter<'s> {
        let mut waiter = self.waiter(permits);
        waiter.stay();
        waiter
    }

    /// An acquire that is served at its first poll.
    #[track_caller]
    pub(crate) fn take(&self, permits: usize) -> Held<'s> {
        self.waiter(permits).claim()
    }

    /// What the test holds, the others included.
    pub(crate) fn held(&self) -> usize {
        self.tally.get() + self.others.iter().map(OwnedLease::permits).sum::<usize>()
    }

    /// Asserts every number: `free` permits that nobody was promised, the needs of the waiters that were `chosen`
    /// and not polled since, and how many are `waiting` unchosen. Under Barging a chosen waiter was only woken: it
    /// is still linked and its permits are still in the count.
    #[track_caller]
    pub(crate) fn expect(&self, free: usize, chosen: &[usize], waiting: usize) {
        let promised = chosen.iter().sum::<usize>();
        let (available, granted, waiters) = if self.setup.is_fifo() {
            (free, promised, waiting)
        } else {
            (free + promised, 0, waiting + chosen.len())
        };
        let seen = self.semaphore.snapshot();
        assert_eq!(
            (seen.available, seen.held, seen.granted, seen.waiters),
            (available, self.held(), granted, waiters),
            "(available, held, granted, waiters) of {seen:?}"
        );
        assert_eq!(seen.reserved, 0, "reserved in {seen:?}");
        assert_eq!(
            seen.available + seen.held + seen.reserved + seen.granted,
            seen.capacity + seen.debt,
            "conservation in {seen:?}"
        );
        assert_eq!(self.semaphore.available_permits(), available);
        assert_eq!(self.semaphore.queue_len(), waiters);
        assert_eq!(self.semaphore.has_waiters(), waiters > 0);
    }

    /// Gives the others' permits back and asserts that every permit is home, nobody waits and the fast path is
    /// open again.
    #[track_caller]
    pub(crate) fn finish(mut self) {
        self.others.clear();
        let all = self.semaphore.snapshot().capacity;
        self.expect(all, &[], 0);
        if !self.semaphore.is_closed() {
            let mut whole = self.waiter(all);
            let polled = whole.poll();
            assert!(matches!(polled, Poll::Ready(Ok(_))), "all permits at once, not {polled:?}");
        }
    }
}

/// Runs `case` inside a paused clock, so that the deadline forms have timers.
pub(crate) fn with_clock(case: impl FnOnce(&Clock)) {
    let clock = Clock::paused();
    let _entered = clock.enter();
    case(&clock);
}
