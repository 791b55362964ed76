//! Looking in: one consistent view, counters, and who waits.

use std::time::Duration;

use crate::atomic::Ordering;
use crate::generation::Generations;
use crate::list::Entry;
use crate::word::{BARGING, CLOSED, OBSERVED, SLOW, free};
use crate::{Semaphore, Ticket};

/// One consistent view of a semaphore, from [`Semaphore::snapshot`].
///
/// At every moment `available + held + reserved + granted = capacity + debt`.
///
/// # Examples
///
/// ```
/// let semaphore = semaphore_core::Semaphore::new(3);
/// let _lease = semaphore.try_acquire().unwrap();
/// let view = semaphore.snapshot();
/// assert_eq!((view.capacity, view.available, view.held), (3, 2, 1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// Permits there are.
    pub capacity: usize,
    /// The most permits there can ever be.
    pub ceiling: usize,
    /// Free permits.
    pub available: usize,
    /// Permits removed while they were held, to be repaid by the next releases.
    pub debt: usize,
    /// Permits held by leases.
    pub held: usize,
    /// Permits reserved and not yet taken, those granted to revocable reservations included.
    pub reserved: usize,
    /// Permits granted to waiters that have not claimed them yet.
    pub granted: usize,
    /// Waiters that were granted and have not claimed, those with revocable reservations included.
    pub unclaimed: usize,
    /// Acquires in the queue.
    pub waiters: usize,
    /// Permits that the queue asks for.
    pub requested: usize,
    /// Whether it is closed.
    pub closed: bool,
    /// Age of the oldest unclaimed grant; `None` without one, and without a name or an observer.
    pub oldest_grant: Option<Duration>,
    /// Time that the first waiter has waited; `None` without one, and without a name or an observer.
    pub oldest_waiter: Option<Duration>,
}

/// Counters that only grow, from [`Semaphore::stats`].
///
/// A waiter is counted when it claims or leaves, so that
/// `enqueued = queued + cancelled + timed_out + rejected_queued + closed_queued + waiters + unclaimed`.
///
/// # Examples
///
/// ```
/// let semaphore = semaphore_core::Semaphore::new_named("db", 1);
/// let _lease = semaphore.try_acquire().unwrap();
/// assert!(semaphore.try_acquire().is_err());
/// let stats = semaphore.stats();
/// assert_eq!((stats.immediate, stats.rejected), (Some(1), 1));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Acquires that had to queue; one that rejoins after a loss and has to queue again counts again.
    pub enqueued: u64,
    /// Acquires that queued and got their permits.
    pub queued: u64,
    /// Acquires dropped while queued or granted.
    pub cancelled: u64,
    /// Acquires whose deadline passed in the queue.
    pub timed_out: u64,
    /// Refused without queueing: too large, queue full, deadline passed on entry, and failed tries. Failed tries
    /// count with a name or an observer only; they are too cheap otherwise.
    pub rejected: u64,
    /// Refused without queueing because the semaphore was closed.
    pub closed: u64,
    /// Refused in the queue as larger than a lowered ceiling.
    pub rejected_queued: u64,
    /// Refused in the queue by close.
    pub closed_queued: u64,
    /// Permits of reservations that were revoked.
    pub revoked: u64,
    /// Leases held longer than [`Builder::warn_lease_after`](crate::Builder::warn_lease_after) allows.
    pub overdue: u64,
    /// Acquires that did not have to queue; `None` without a name or an observer.
    pub immediate: Option<u64>,
    /// Time in the queue of all acquires counted in `queued`; `None` without a name or an observer.
    pub total_wait: Option<Duration>,
}

/// One acquire in the queue, from [`Semaphore::waiters`].
///
/// See the example there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaiterInfo {
    /// Place in the order of arrival.
    pub ticket: Ticket,
    /// Permits it asks for.
    pub permits: usize,
    /// Time in the queue; `None` without a name or an observer.
    pub waited: Option<Duration>,
}

impl Semaphore {
    /// One consistent view of the whole state.
    ///
    /// # Examples
    ///
    /// See [`Snapshot`].
    pub fn snapshot(&self) -> Snapshot {
        let extension = self.extension_if_made();
        let now = self.time();
        let queue = self.lock();
        let reading = |_: ()| extension.map_or((0, 0, 0), |extension| extension.generations.reading());
        let mut reserved = reading(());
        // Reservations come and go without the lock: the word belongs to two equal readings around it. Under a storm
        // of them the last try has to do; then the permits that just moved show as held.
        let mut word = self.word.load();
        for _ in 0..64 {
            let again = reading(());
            if again == reserved {
                break;
            }
            reserved = again;
            word = self.word.load();
        }
        let grants = self.attachment.grants.load(Ordering::Relaxed);
        let granted = grants & u32::MAX as u64;
        let (capacity, free) = (queue.capacity as i64, free(word));
        let reserved = Generations::permits(reserved) as i64;
        let held = (capacity - free - reserved - granted as i64).max(0);
        let age = |at: u64| Duration::from_nanos(now.saturating_sub(at));
        let observed = word & OBSERVED != 0;
        let second = extension.map(|extension| extension.second.lock());
        let oldest = |entry: Option<Entry>| entry.filter(|_| observed).map(|entry| age(entry.since));
        let notified = second.as_ref().filter(|_| word & BARGING != 0).and_then(|second| second.front());
        let oldest_waiter = oldest(queue.list.front()).max(oldest(notified));
        Snapshot {
            capacity: queue.capacity as usize,
            ceiling: self.ceiling_of(&queue) as usize,
            available: free.max(0) as usize,
            debt: (-free).max(0) as usize,
            held: held as usize,
            reserved: reserved as usize,
            granted: granted as usize,
            unclaimed: (grants >> 32) as usize,
            waiters: queue.len as usize,
            requested: queue.asked as usize,
            closed: word & CLOSED != 0,
            oldest_grant: second.and_then(|second| second.front_granted_at()).map(age),
            oldest_waiter,
        }
    }

    /// Counters that only grow.
    ///
    /// # Metrics
    ///
    /// These are the numbers behind `fair_semaphore_acquires_total` and `fair_semaphore_enqueued_total`.
    ///
    /// # Examples
    ///
    /// See [`Stats`].
    pub fn stats(&self) -> Stats {
        let extension = self.extension_if_made();
        let queue = self.lock();
        let (mut cancelled, mut timed_out) = self.attachment.tally();
        let mut stats = Stats { enqueued: queue.tickets, ..Stats::default() };
        if let Some(extension) = extension {
            let tally = &extension.tally;
            let read = |counter: &crate::atomic::AtomicU64| counter.load(Ordering::Relaxed);
            cancelled += read(&tally.cancelled);
            timed_out += read(&tally.timed_out);
            stats.enqueued += read(&tally.rejoined);
            stats.enqueued -= read(&tally.stamped);
            stats.rejected = read(&tally.rejected);
            stats.closed = read(&tally.closed);
            stats.rejected_queued = read(&tally.rejected_queued);
            stats.closed_queued = read(&tally.closed_queued);
            stats.revoked = read(&tally.revoked);
            stats.revoked = read(&tally.revoked);
            stats.overdue = read(&tally.overdue);
            stats.immediate = extension.epoch.map(|_| read(&tally.immediate));
            stats.total_wait = extension.epoch.map(|_| Duration::from_nanos(read(&tally.waited)));
        }
        (stats.cancelled, stats.timed_out) = (cancelled, timed_out);
        let unclaimed = self.attachment.grants.load(Ordering::Relaxed) >> 32;
        let gone = cancelled + timed_out + stats.rejected_queued + stats.closed_queued;
        stats.queued = stats.enqueued.saturating_sub(gone + queue.len as u64 + unclaimed);
        stats
    }

    /// The first `max` acquires in the queue, in order.
    ///
    /// Space is reserved before the lock is taken, and nothing is copied beyond `max`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::{future::Future, pin::pin, task::{Context, Waker}};
    /// let semaphore = semaphore_core::Semaphore::new(1);
    /// let held = semaphore.try_acquire().unwrap();
    /// let mut waiter = pin!(semaphore.acquire());
    /// assert!(waiter.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    /// let waiters = semaphore.waiters(10);
    /// assert_eq!(waiters.len(), 1);
    /// assert_eq!(waiters[0].permits, 1);
    /// # drop(held);
    /// ```
    pub fn waiters(&self, max: usize) -> Vec<WaiterInfo> {
        let extension = self.extension_if_made();
        let now = self.time();
        let mut waiters = Vec::with_capacity(max.min(self.queue_len()));
        let room = waiters.capacity().min(max);
        let info = |entry: Entry| WaiterInfo {
            ticket: Ticket(entry.order),
            permits: entry.permits as usize,
            waited: (self.word.glance() & OBSERVED != 0)
                .then(|| Duration::from_nanos(now.saturating_sub(entry.since))),
        };
        let queue = self.lock();
        if let Some(extension) = extension.filter(|_| self.word.glance() & BARGING != 0) {
            // Woken waiters keep their place; the two lists are each in order.
            let second = extension.second.lock();
            let mut woken = second.entries().peekable();
            let mut waiting = queue.list.entries().peekable();
            while waiters.len() < room {
                let woken_first = match (woken.peek(), waiting.peek()) {
                    (Some(woken), Some(waiting)) => woken.key() < waiting.key(),
                    (Some(_), None) => true,
                    (None, Some(_)) => false,
                    (None, None) => break,
                };
                waiters.extend(if woken_first { woken.next() } else { waiting.next() }.map(info));
            }
        } else {
            waiters.extend(queue.list.entries().take(room).map(info));
        }
        waiters
    }

    /// The number of free permits, those that waiters have precedence for included.
    ///
    /// ```
    /// assert_eq!(semaphore_core::Semaphore::new(3).available_permits(), 3);
    /// ```
    pub fn available_permits(&self) -> usize {
        free(self.word.load()).max(0) as usize
    }

    /// The number of acquires in the queue.
    ///
    /// ```
    /// assert_eq!(semaphore_core::Semaphore::new(3).queue_len(), 0);
    /// ```
    pub fn queue_len(&self) -> usize {
        if self.has_waiters() { self.lock().len as usize } else { 0 }
    }

    /// Whether anybody is queued.
    ///
    /// ```
    /// assert!(!semaphore_core::Semaphore::new(3).has_waiters());
    /// ```
    pub fn has_waiters(&self) -> bool {
        self.word.load() & SLOW != 0
    }
}
