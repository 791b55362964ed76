//! A bounded first-in first-out queue whose waiters stand in line on both sides.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use crate::atomic::Lock;
use crate::wake::Foreign;
use crate::word::{self, SLOW, WATCH, free};
use crate::{BuildError, Lease, Semaphore, TryAcquireError};

/// Why an item was not pushed; it comes back inside.
///
/// # Examples
///
/// ```
/// use semaphore_core::{BoundedQueue, PushError};
///
/// let queue = BoundedQueue::new(1).unwrap();
/// queue.try_push("first").unwrap();
/// assert_eq!(queue.try_push("second"), Err(PushError::Full("second")));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PushError<T> {
    /// No room now, or others wait for it already.
    Full(T),
    /// The queue takes no more items.
    Closed(T),
    /// The time was up before there was room.
    TimedOut(T),
}

impl<T> PushError<T> {
    /// The item that was not pushed.
    ///
    /// ```
    /// assert_eq!(semaphore_core::PushError::Full(7).into_item(), 7);
    /// ```
    pub fn into_item(self) -> T {
        match self {
            Self::Full(item) | Self::Closed(item) | Self::TimedOut(item) => item,
        }
    }
}

impl<T> fmt::Debug for PushError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full(..)",
            Self::Closed(_) => "Closed(..)",
            Self::TimedOut(_) => "TimedOut(..)",
        })
    }
}

impl<T> fmt::Display for PushError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "the queue is full",
            Self::Closed(_) => "the queue is closed",
            Self::TimedOut(_) => "timed out waiting for room in the queue",
        })
    }
}

impl<T> std::error::Error for PushError<T> {}

/// Why no item was popped.
///
/// # Examples
///
/// ```
/// use semaphore_core::{BoundedQueue, PopError};
///
/// let queue = BoundedQueue::<Option<u8>>::new(1).unwrap();
/// assert_eq!(queue.try_pop(), Err(PopError::Empty));
/// queue.try_push(None).unwrap();
/// assert_eq!(queue.try_pop(), Ok(None));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PopError {
    /// No item now, or others wait for it already.
    Empty,
    /// The queue is closed and every item was popped.
    Closed,
    /// The time was up before there was an item.
    TimedOut,
}

impl fmt::Display for PopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the queue is empty",
            Self::Closed => "the queue is closed and empty",
            Self::TimedOut => "timed out waiting for an item",
        })
    }
}

impl std::error::Error for PopError {}

/// What one lock guards: the items from head to tail.
struct Ring<T> {
    items: VecDeque<T>,
    closed: bool,
}

/// A bounded queue for many producers and many consumers.
///
/// # Fairness
///
/// Producers wait for room in the order of their first poll, consumers for items likewise; nobody passes, tries
/// included.
///
/// # Cancel safety
///
/// A push that is dropped while it waits keeps its item out of the queue (and drops it); a pop that is dropped
/// takes nothing. Whoever must not lose the item to a cancel uses [`reserve`](Self::reserve).
///
/// # How it works
///
/// The items stand in a ring of fixed capacity: the head is the oldest, the tail the newest, and the live slots run
/// from the head for `count` places, wrapping around. Always `0 <= count <= capacity`. One semaphore counts the
/// free slots and one the items. A push takes effect when it puts its item behind the tail, a pop when it takes
/// the head, both under the lock of the ring, which is held for that step only: `try_push` does not wait for
/// *room*, but may wait an instant for the lock. Nothing foreign runs under it.
///
/// # Examples
///
/// ```
/// use semaphore_core::{BoundedQueue, PushError};
///
/// let queue = BoundedQueue::new(3).unwrap();
/// queue.try_push(10).unwrap();
/// queue.try_push(20).unwrap();
/// assert_eq!(queue.try_pop(), Ok(10));
/// queue.try_push(30).unwrap();
/// queue.try_push(40).unwrap();
/// assert_eq!(queue.snapshot(), [20, 30, 40]);
/// assert_eq!(queue.try_push(50), Err(PushError::Full(50)));
/// ```
pub struct BoundedQueue<T> {
    ring: Lock<Ring<T>>,
    /// Free slots.
    room: Semaphore,
    /// Items that nobody was promised.
    stock: Semaphore,
    capacity: usize,
}

impl<T> BoundedQueue<T> {
    /// A queue for at most `capacity` items; the space is reserved now.
    ///
    /// # Errors
    ///
    /// [`BuildError::Capacity`] for 0, and for more than
    /// [`Semaphore::MAX_PERMITS`] or than memory can hold.
    ///
    /// # Examples
    ///
    /// ```
    /// use semaphore_core::BoundedQueue;
    /// assert!(BoundedQueue::<u8>::new(0).is_err());
    /// assert_eq!(BoundedQueue::<u8>::new(4).unwrap().capacity(), 4);
    /// ```
    pub fn new(capacity: usize) -> Result<Self, BuildError> {
        let refused = || BuildError::Capacity { requested: capacity, max: Semaphore::MAX_PERMITS };
        let room = Semaphore::try_new(capacity).map_err(|_| refused())?;
        let stock = Semaphore::try_new(capacity).map_err(|_| refused())?;
        let mut items = VecDeque::new();
        items.try_reserve_exact(capacity).map_err(|_| refused())?;
        // Every item is out to begin with.
        let _ = stock.word.take(capacity as u32);
        Ok(Self { ring: Lock::new(Ring { items, closed: false }), room, stock, capacity })
    }

    /// Puts an item behind the tail if there is room that nobody waits for.
    ///
    /// # Errors
    ///
    /// [`PushError::Full`] and [`PushError::Closed`], with the item.
    ///
    /// See the example of [`BoundedQueue`].
    pub fn try_push(&self, item: T) -> Result<(), PushError<T>> {
        match self.room.try_acquire() {
            Ok(slot) => self.put(slot, item),
            Err(TryAcquireError::Closed { .. }) => Err(PushError::Closed(item)),
            Err(_) => Err(PushError::Full(item)),
        }
    }

    /// Waits in line for room and puts the item behind the tail.
    ///
    /// # Errors
    ///
    /// [`PushError::Closed`], with the item.
    ///
    /// # Examples
    ///
    /// ```
    /// # use semaphore_core::BoundedQueue;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let queue = BoundedQueue::new(1).unwrap();
    /// queue.push(1).await.unwrap();
    /// assert_eq!(queue.pop().await, Ok(1));
    /// # }
    /// ```
    pub async fn push(&self, item: T) -> Result<(), PushError<T>> {
        match self.room.acquire().await {
            Ok(slot) => self.put(slot, item),
            Err(_) => Err(PushError::Closed(item)),
        }
    }

    /// Waits in line for room and keeps it, for an item that must not be lost to a cancel.
    ///
    /// # Errors
    ///
    /// [`PopError::Closed`] once the queue takes no more items.
    ///
    /// # Examples
    ///
    /// ```
    /// # use semaphore_core::BoundedQueue;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let queue = BoundedQueue::new(1).unwrap();
    /// let slot = queue.reserve().await.unwrap();
    /// assert!(queue.try_push(0).is_err());
    /// slot.push(1).unwrap();
    /// assert_eq!(queue.try_pop(), Ok(1));
    /// # }
    /// ```
    pub async fn reserve(&self) -> Result<Slot<'_, T>, PopError> {
        match self.room.acquire().await {
            Ok(slot) => Ok(Slot { queue: self, slot }),
            Err(_) => Err(PopError::Closed),
        }
    }

    /// The slot turns into an item: room taken for good, stock added under the ring's lock.
    fn put(&self, slot: Lease<'_>, item: T) -> Result<(), PushError<T>> {
        let mut ring = self.ring.lock();
        if ring.closed {
            drop(ring);
            return Err(PushError::Closed(item));
        }
        ring.items.push_back(item);
        // In the same critical section, so that whoever sees the item can take it; waking comes after.
        let before = self.stock.word.add(word::of(1));
        drop(ring);
        slot.0.hand_over();
        if before & (SLOW | WATCH) != 0 {
            self.stock.look_after(0);
        }
        Ok(())
    }

    /// Takes the head if there is an item that nobody waits for.
    ///
    /// # Errors
    ///
    /// [`PopError::Empty`], and [`PopError::Closed`] once the queue is closed and empty.
    ///
    /// See the example of [`BoundedQueue`].
    pub fn try_pop(&self) -> Result<T, PopError> {
        match self.stock.try_acquire() {
            Ok(promise) => self.take(promise),
            Err(TryAcquireError::Closed { .. }) => self.take_rest(),
            Err(_) => Err(PopError::Empty),
        }
    }

    /// Waits in line for an item and takes the head.
    ///
    /// # Errors
    ///
    /// [`PopError::Closed`] once the queue is closed and empty.
    ///
    /// See the example of [`push`](Self::push).
    pub async fn pop(&self) -> Result<T, PopError> {
        match self.stock.acquire().await {
            Ok(promise) => self.take(promise),
            Err(_) => self.take_rest(),
        }
    }

    /// The promise of an item is redeemed, and its slot is free.
    fn take(&self, promise: Lease<'_>) -> Result<T, PopError> {
        let item = self.ring.lock().items.pop_front();
        promise.0.hand_over();
        // Every promise stands for an item in the ring.
        let item = item.ok_or(PopError::Empty)?;
        self.room.give_back(1);
        Ok(item)
    }

    /// After close: what is left and not promised to an earlier pop.
    fn take_rest(&self) -> Result<T, PopError> {
        let item = {
            let mut ring = self.ring.lock();
            if self.stock.take_past_close(1) { ring.items.pop_front() } else { None }
        };
        item.ok_or(PopError::Closed)
    }

    /// Refuses new items from now on; the rest can be popped, then everybody is told `Closed`.
    ///
    /// Who waits for room gets the item back. A slot that was reserved before gives its item back too.
    ///
    /// # Examples
    ///
    /// ```
    /// use semaphore_core::{BoundedQueue, PopError, PushError};
    ///
    /// let queue = BoundedQueue::new(2).unwrap();
    /// queue.try_push(1).unwrap();
    /// queue.close();
    /// assert_eq!(queue.try_push(2), Err(PushError::Closed(2)));
    /// assert_eq!(queue.try_pop(), Ok(1));
    /// assert_eq!(queue.try_pop(), Err(PopError::Closed));
    /// ```
    pub fn close(&self) {
        self.ring.lock().closed = true;
        let mut foreign = Foreign::default();
        foreign.call(|| self.room.close());
        foreign.call(|| self.stock.close());
        foreign.finish();
    }

    /// Whether it was closed.
    ///
    /// ```
    /// assert!(!semaphore_core::BoundedQueue::<u8>::new(1).unwrap().is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        self.ring.lock().closed
    }

    /// Takes every item that is not promised to a waiting pop, oldest first.
    ///
    /// ```
    /// let queue = semaphore_core::BoundedQueue::new(3).unwrap();
    /// queue.try_push(1).unwrap();
    /// queue.try_push(2).unwrap();
    /// assert_eq!(queue.drain(), [1, 2]);
    /// ```
    pub fn drain(&self) -> Vec<T> {
        let mut items = Vec::with_capacity(self.len());
        let mut ring = self.ring.lock();
        let mut wanted = items.capacity();
        while wanted > 0 && self.stock.take_past_close(1) {
            items.extend(ring.items.pop_front());
            wanted -= 1;
        }
        drop(ring);
        self.room.give_back(items.len() as u32);
        items
    }

    /// The number of items, those promised to a waiting pop included.
    ///
    /// ```
    /// assert_eq!(semaphore_core::BoundedQueue::<u8>::new(2).unwrap().len(), 0);
    /// ```
    pub fn len(&self) -> usize {
        self.ring.lock().items.len()
    }

    /// Whether there is no item.
    ///
    /// ```
    /// assert!(semaphore_core::BoundedQueue::<u8>::new(2).unwrap().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether every slot holds an item.
    ///
    /// ```
    /// assert!(!semaphore_core::BoundedQueue::<u8>::new(2).unwrap().is_full());
    /// ```
    pub fn is_full(&self) -> bool {
        self.len() == self.capacity
    }

    /// The most items it holds.
    ///
    /// ```
    /// assert_eq!(semaphore_core::BoundedQueue::<u8>::new(2).unwrap().capacity(), 2);
    /// ```
    pub fn capacity(&self) -> usize {
        self.capacity
    }
}

impl<T: Copy> BoundedQueue<T> {
    /// Copies of the items, oldest first. Space is reserved before the lock is taken.
    ///
    /// See the example of [`BoundedQueue`].
    pub fn snapshot(&self) -> Vec<T> {
        self.copied(|item| *item)
    }
}

impl<U> BoundedQueue<Arc<U>> {
    /// Handles on the items, oldest first. The items themselves are not cloned.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// let queue = semaphore_core::BoundedQueue::new(2).unwrap();
    /// queue.try_push(Arc::new("a")).unwrap();
    /// assert_eq!(*queue.snapshot_shared()[0], "a");
    /// ```
    pub fn snapshot_shared(&self) -> Vec<Arc<U>> {
        self.copied(Arc::clone)
    }
}

impl<T> BoundedQueue<T> {
    /// `copy` runs under the lock, so only copies that run no foreign code come here.
    fn copied(&self, copy: impl Fn(&T) -> T) -> Vec<T> {
        let mut items = Vec::new();
        loop {
            items.reserve(self.len());
            let ring = self.ring.lock();
            if ring.items.len() <= items.capacity() {
                items.extend(ring.items.iter().map(&copy));
                return items;
            }
        }
    }
}

#[cfg(feature = "time")]
impl<T> BoundedQueue<T> {
    /// [`push`](Self::push), at most for `wait`.
    ///
    /// # Errors
    ///
    /// [`PushError::TimedOut`] and [`PushError::Closed`], with the item.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use semaphore_core::{BoundedQueue, PushError};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let queue = BoundedQueue::new(1).unwrap();
    /// queue.try_push(1).unwrap();
    /// assert_eq!(queue.push_timeout(2, Duration::from_secs(1)).await, Err(PushError::TimedOut(2)));
    /// # }
    /// ```
    pub async fn push_timeout(&self, item: T, wait: std::time::Duration) -> Result<(), PushError<T>> {
        match self.room.acquire_timeout(wait).await {
            Ok(slot) => self.put(slot, item),
            Err(crate::AcquireError::TimedOut { .. }) => Err(PushError::TimedOut(item)),
            Err(_) => Err(PushError::Closed(item)),
        }
    }

    /// [`pop`](Self::pop), at most for `wait`.
    ///
    /// # Errors
    ///
    /// [`PopError::TimedOut`] and [`PopError::Closed`].
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use semaphore_core::{BoundedQueue, PopError};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let queue = BoundedQueue::<u8>::new(1).unwrap();
    /// assert_eq!(queue.pop_timeout(Duration::from_secs(1)).await, Err(PopError::TimedOut));
    /// # }
    /// ```
    pub async fn pop_timeout(&self, wait: std::time::Duration) -> Result<T, PopError> {
        match self.stock.acquire_timeout(wait).await {
            Ok(promise) => self.take(promise),
            Err(crate::AcquireError::TimedOut { .. }) => Err(PopError::TimedOut),
            Err(_) => self.take_rest(),
        }
    }

    /// [`reserve`](Self::reserve), at most for `wait`.
    ///
    /// # Errors
    ///
    /// [`PopError::TimedOut`] and [`PopError::Closed`].
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use semaphore_core::BoundedQueue;
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let queue = BoundedQueue::<u8>::new(1).unwrap();
    /// let slot = queue.reserve_timeout(Duration::from_secs(1)).await.unwrap();
    /// assert!(queue.reserve_timeout(Duration::from_secs(1)).await.is_err());
    /// # drop(slot);
    /// # }
    /// ```
    pub async fn reserve_timeout(&self, wait: std::time::Duration) -> Result<Slot<'_, T>, PopError> {
        match self.room.acquire_timeout(wait).await {
            Ok(slot) => Ok(Slot { queue: self, slot }),
            Err(crate::AcquireError::TimedOut { .. }) => Err(PopError::TimedOut),
            Err(_) => Err(PopError::Closed),
        }
    }
}

impl<T> fmt::Debug for BoundedQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the items: their `Debug` is foreign code.
        let (len, closed) = {
            let ring = self.ring.lock();
            (ring.items.len(), ring.closed)
        };
        f.debug_struct("BoundedQueue")
            .field("len", &len)
            .field("capacity", &self.capacity)
            .field("closed", &closed)
            .finish()
    }
}

/// Room for one item; given back when it is dropped.
///
/// See the example of [`BoundedQueue::reserve`].
#[must_use = "a slot that is not used is given back at once"]
pub struct Slot<'a, T> {
    queue: &'a BoundedQueue<T>,
    slot: Lease<'a>,
}

impl<T> Slot<'_, T> {
    /// Puts the item behind the tail, without a wait.
    ///
    /// # Errors
    ///
    /// [`PushError::Closed`], with the item, when the queue was closed since.
    ///
    /// See the example of [`BoundedQueue::reserve`].
    pub fn push(self, item: T) -> Result<(), PushError<T>> {
        self.queue.put(self.slot, item)
    }
}

impl<T> fmt::Debug for Slot<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot").finish_non_exhaustive()
    }
}

impl Semaphore {
    /// Takes free permits whether the semaphore is closed or has a queue.
    fn take_past_close(&self, permits: u32) -> bool {
        let mut word = self.word.load();
        while free(word) >= permits as i64 {
            match self.word.swap(word, word - word::of(permits as i64)) {
                Ok(_) => return true,
                Err(seen) => word = seen,
            }
        }
        false
    }
}
