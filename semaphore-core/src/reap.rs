//! Driving revocable reservations, with the caller's clock and on the caller's timer.

use std::time::{Duration, Instant};

use crate::Semaphore;
use crate::extension::bump;

impl Semaphore {
    /// Takes back reservations that others have waited for long enough.
    ///
    /// While somebody waits the first call closes the open generation of reservations; one time to live later a
    /// call revokes it and hands out what it still counts. So a reservation is revoked no earlier than its time to
    /// live after it was made, and no later than twice that after somebody starts to wait, provided that this is
    /// called when it asks to be.
    ///
    /// `now` is a reading of the caller's clock. The answer is when to call again: `None` when nobody waits or no
    /// revocable reservation was ever made, in which case the next acquire that queues should call.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::{sync::Arc, task::{Context, Waker}, time::{Duration, Instant}};
    /// use semaphore_core::{Reservation, Semaphore};
    ///
    /// let ttl = Duration::from_millis(100);
    /// let semaphore = Arc::new(Semaphore::new(1));
    /// let mut idle = Reservation::new(semaphore.clone()).revocable(ttl);
    /// let mut busy = idle.clone();
    /// let mut cx = Context::from_waker(Waker::noop());
    /// assert!(idle.poll_reserve(&mut cx).is_ready());
    /// assert!(busy.poll_reserve(&mut cx).is_pending());
    ///
    /// let start = Instant::now();
    /// assert_eq!(semaphore.reap(start), Some(start + ttl));
    /// semaphore.reap(start + ttl);
    /// assert!(busy.poll_reserve(&mut cx).is_ready());
    /// assert!(idle.take().is_none());
    /// ```
    pub fn reap(&self, now: Instant) -> Option<Instant> {
        let extension = self.attachment.get()?;
        let generations = &extension.generations;
        let ttl = generations.ttl()?;
        let time = self.time();
        let mut due = generations.due.lock();
        let queue = self.lock();
        if queue.len == 0 {
            return None;
        }
        let next = |from: Instant| from.checked_add(ttl).unwrap_or(from + Duration::from_secs(1 << 30));
        match *due {
            Some(at) if now < at => return Some(at),
            None => {
                generations.close();
                *due = Some(next(now));
                return *due;
            }
            Some(_) => {}
        }
        let revoked = generations.revoke();
        // What was reserved since is the next to go, if somebody still waits then.
        generations.close();
        *due = Some(next(now));
        let again = *due;
        drop(due);
        bump(&extension.tally.revoked, revoked as u64);
        self.dispatch(queue, revoked, time);
        if self.has_waiters() { again } else { None }
    }
}
