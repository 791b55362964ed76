//! Releases, and the choice whom to serve: one critical section each.

use crate::Semaphore;
use crate::atomic::{Guard, Ordering};
use crate::extension::{Extension, bump};
use crate::list::{Entry, Signal, kind, stage};
use crate::semaphore::Queue;
use crate::wake::{Batch, Foreign, One, Wakers, wake_last};
use crate::watch::Watching;
use crate::word::{self, BARGING, CLOSED, OBSERVED, SLOW, WATCH, free};

/// One waiter among the unclaimed grants; its permits are added below.
pub(crate) const ONE_GRANT: u64 = 1 << 32;

impl Semaphore {
    /// Gives permits back: one read-modify-write when nobody waits.
    #[inline]
    pub(crate) fn give_back(&self, permits: u32) {
        if permits == 0 {
            return;
        }
        // A read that shows SLOW may go straight to the lock. One that does not proves nothing: the add tells.
        if self.word.glance() & SLOW == 0 {
            let before = self.word.add(word::of(permits as i64));
            if before & (SLOW | WATCH) == 0 {
                return;
            }
            self.look_after(0);
        } else {
            self.look_after(permits);
        }
    }

    #[inline(never)]
    pub(crate) fn look_after(&self, permits: u32) {
        let now = self.time();
        self.dispatch(self.lock(), permits, now);
    }

    /// The semaphore's clock, read before the lock; 0 without a name or an observer.
    #[inline]
    pub(crate) fn time(&self) -> u64 {
        if self.word.glance() & OBSERVED == 0 { 0 } else { self.extension().now() }
    }

    /// Adds `incoming` permits and serves whoever can be served now, then wakes them without the lock.
    #[inline]
    pub(crate) fn dispatch<'a>(&'a self, mut queue: Guard<'a, Queue>, incoming: u32, now: u64) {
        let mut one = One::default();
        let more = self.serve(&mut queue, incoming, now, &mut one);
        if more || self.word.glance() & WATCH != 0 {
            return self.dispatch_many(queue, one, now);
        }
        drop(queue);
        if let Some(waker) = one.waker {
            wake_last(waker);
        }
    }

    #[cold]
    #[inline(never)]
    fn dispatch_many<'a>(&'a self, mut queue: Guard<'a, Queue>, mut one: One, now: u64) {
        let mut foreign = Foreign::default();
        let mut batch = Batch::new();
        batch.put(one.waker.take());
        loop {
            let more = self.serve(&mut queue, 0, now, &mut batch);
            let drained = self.take_drained(&queue);
            drop(queue);
            // The rest of the permits is in the word and SLOW is still set: foreign code may call us.
            batch.wake(&mut foreign);
            drained.into_iter().for_each(|waker| foreign.wake(waker));
            if !more {
                break;
            }
            queue = self.lock();
        }
        foreign.finish();
    }

    fn take_drained(&self, queue: &Queue) -> Vec<std::task::Waker> {
        let word = self.word.load();
        match self.attachment.get() {
            Some(extension) if word & WATCH != 0 && free(word) == queue.capacity as i64 => {
                self.word.lower(WATCH);
                extension.watchers.take(Watching::Drained)
            }
            _ => Vec::new(),
        }
    }

    /// Serves from the head while `wakers` has room; true when it stopped for want of room.
    #[inline]
    fn serve(&self, queue: &mut Queue, incoming: u32, now: u64, wakers: &mut impl Wakers) -> bool {
        let word = self.word.load();
        if word & (BARGING | CLOSED) != 0 {
            return self.serve_rarely(queue, incoming, now, wakers);
        }
        let before = free(word);
        let mut left = before + incoming as i64;
        let mut more = false;
        while let Some(head) = queue.list.front() {
            if left < head.permits as i64 && head.permits <= self.ceiling_of(queue) {
                break;
            }
            if wakers.is_full() {
                more = true;
                break;
            }
            if left < head.permits as i64 {
                wakers.put(self.refuse_head(queue, head, stage::TOO_LARGE));
            } else {
                left -= head.permits as i64;
                wakers.put(self.grant_head(queue, head, word, now));
            }
        }
        self.settle(queue, word, left - before);
        more
    }

    /// Writes what serving changed into the word, in one read-modify-write or none.
    fn settle(&self, queue: &Queue, word: isize, change: i64) {
        let mut change = word::of(change);
        if word & SLOW != 0 && queue.len == 0 {
            change -= SLOW;
        }
        if change != 0 {
            self.word.add(change);
        }
    }

    fn forget_waiter(queue: &mut Queue, permits: u32) {
        queue.len -= 1;
        queue.asked -= permits as u64;
    }

    #[inline]
    fn grant_head(&self, queue: &mut Queue, head: Entry, word: isize, now: u64) -> Option<std::task::Waker> {
        Self::forget_waiter(queue, head.permits);
        let grants = &self.attachment.grants;
        if head.kind & kind::REVOCABLE != 0 {
            // Generations are closed under this lock, so this one is open until we are done.
            let generation = self.attachment.get().and_then(|e| e.generations.reserve(head.permits));
            if let Some(generation) = generation {
                // Counted as reserved from now on, so that it can be revoked without finding the node.
                grants.fetch_add(ONE_GRANT, Ordering::Relaxed);
                return queue.list.settle_front(stage::GRANTED, Signal::Note(generation as u64));
            }
        }
        grants.fetch_add(ONE_GRANT + head.permits as u64, Ordering::Relaxed);
        if word & OBSERVED != 0 {
            if let Some(extension) = self.attachment.get() {
                let mut second = extension.second.lock();
                return queue.list.move_front(&mut second, stage::LISTED, Signal::Note(now));
            }
        }
        queue.list.settle_front(stage::GRANTED, Signal::EMPTY)
    }

    fn refuse_head(&self, queue: &mut Queue, head: Entry, stage: u8) -> Option<std::task::Waker> {
        Self::forget_waiter(queue, head.permits);
        // Closing and lowering the ceiling make the extension before they lock.
        if let Some(Extension { tally, .. }) = self.attachment.get() {
            bump(if stage == stage::CLOSED { &tally.closed_queued } else { &tally.rejected_queued }, 1);
        }
        let ceiling = self.ceiling_of(queue);
        queue.list.settle_front(stage, Signal::Note(ceiling as u64))
    }

    /// Serving when closed, which refuses everybody, or barging, which wakes without granting.
    #[cold]
    fn serve_rarely(&self, queue: &mut Queue, incoming: u32, now: u64, wakers: &mut impl Wakers) -> bool {
        let _ = now;
        if incoming != 0 {
            self.word.add(word::of(incoming as i64));
        }
        let word = self.word.load();
        let closed = word & CLOSED != 0;
        let Some(extension) = self.attachment.get() else {
            return false;
        };
        let mut second = extension.second.lock();
        let mut spoken = extension.spoken.load(Ordering::Relaxed);
        let mut more = false;
        // Woken waiters were ahead of those that wait.
        if closed && word & BARGING != 0 {
            while let Some(head) = second.front() {
                if wakers.is_full() {
                    more = true;
                    break;
                }
                spoken -= head.permits as u64;
                Self::forget_waiter(queue, head.permits);
                bump(&extension.tally.closed_queued, 1);
                wakers.put(second.settle_front(stage::CLOSED, Signal::EMPTY));
            }
        }
        while let Some(head) = queue.list.front() {
            let fits = free(word) - spoken as i64 >= head.permits as i64;
            let too_large = head.permits > self.ceiling_of(queue);
            if !closed && !fits && !too_large {
                break;
            }
            if wakers.is_full() {
                more = true;
                break;
            }
            if closed {
                wakers.put(self.refuse_head(queue, head, stage::CLOSED));
            } else if !fits {
                wakers.put(self.refuse_head(queue, head, stage::TOO_LARGE));
            } else {
                spoken += head.permits as u64;
                wakers.put(queue.list.move_front(&mut second, stage::NOTIFIED, Signal::EMPTY));
            }
        }
        extension.spoken.store(spoken, Ordering::Relaxed);
        self.settle(queue, word, 0);
        more
    }

    /// Fails every queued acquire and every later one with `Closed`. Nothing re-opens the semaphore.
    ///
    /// Leases that are out stay valid and count when they come home; a grant that was made before stays a grant.
    /// Together with [`drained`](Self::drained) it ends a service in good order. Closing again does nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// let semaphore = semaphore_core::Semaphore::new(2);
    /// let lease = semaphore.try_acquire().unwrap();
    /// semaphore.close();
    /// assert!(semaphore.try_acquire().is_err());
    /// lease.release();
    /// assert_eq!(semaphore.available_permits(), 2);
    /// ```
    pub fn close(&self) {
        let extension = self.extension();
        let now = self.time();
        let queue = self.lock();
        if self.word.raise(CLOSED) & CLOSED != 0 {
            return;
        }
        let closed = extension.watchers.take(Watching::Closed);
        let mut foreign = Foreign::default();
        foreign.call(|| self.dispatch(queue, 0, now));
        closed.into_iter().for_each(|waker| foreign.wake(waker));
        foreign.finish();
    }
}
