//! Waking waiters without granting anything.

use std::task::Waker;

use crate::list::List;
use crate::wake::Foreign;
use crate::word::BARGING;
use crate::{Semaphore, Ticket};

impl Semaphore {
    /// Wakes every queued waiter so that its task looks around; grants nothing.
    ///
    /// Order, permits and counters stay as they are. Legal from `Drop`.
    ///
    /// # Examples
    ///
    /// ```
    /// let semaphore = semaphore_core::Semaphore::new(1);
    /// semaphore.poke();
    /// ```
    pub fn poke(&self) {
        self.wake_through(u64::MAX);
    }

    /// Wakes the queued waiters whose tickets are not after `last`; grants nothing.
    ///
    /// For a driver that keeps the deadlines of many waiters in one timer.
    ///
    /// ```
    /// # use std::{future::Future, pin::pin, task::{Context, Waker}};
    /// # let semaphore = semaphore_core::Semaphore::new(1);
    /// # let held = semaphore.try_acquire().unwrap();
    /// let mut waiter = pin!(semaphore.acquire());
    /// assert!(waiter.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    /// semaphore.poke_through(waiter.ticket().unwrap());
    /// ```
    pub fn poke_through(&self, last: Ticket) {
        self.wake_through(last.0);
    }

    fn wake_through(&self, last: u64) {
        let mut foreign = Foreign::default();
        loop {
            // Reserved before the lock; a queue that grew meanwhile takes another round.
            let mut wakers = Vec::with_capacity(self.queue_len());
            let complete = self.take_wakers(&mut wakers, last);
            wakers.into_iter().for_each(|waker| foreign.wake(waker));
            if complete {
                break;
            }
        }
        foreign.finish();
    }

    /// A waker that is taken is woken soon, and its task leaves a new one: no wake-up is lost in between.
    fn take_wakers(&self, wakers: &mut Vec<Waker>, last: u64) -> bool {
        let take =
            |list: &mut List, wakers: &mut Vec<Waker>| list.take_wakers(wakers, |entry| entry.order <= last);
        let mut queue = self.lock();
        let woken = match self.attachment.get() {
            Some(extension) if self.word.glance() & BARGING != 0 => {
                take(&mut extension.second.lock(), wakers)
            }
            _ => true,
        };
        take(&mut queue.list, wakers) && woken
    }
}
