//! Acquires that may wait, as named futures, and tries that do not.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::lease::Holding;
use crate::place::{Place, clamp};
use crate::word::{self, BARGING, CLOSED, OBSERVED, SLOW, free};
use crate::{AcquireError, Lease, OwnedLease, Rejoin, Semaphore, Ticket, TryAcquireError};

pin_project! {
    /// Future of [`Semaphore::acquire`] and its kin.
    ///
    /// # Cancel safety
    ///
    /// Dropping it before its first poll does nothing. Dropped while queued it leaves the queue, which serves
    /// whoever can be served now; dropped with a grant that it has not seen, the grant is passed on. Polled again
    /// after it has completed it stays pending.
    #[must_use = "futures do nothing unless polled"]
    pub struct Acquire<'a> {
        #[pin]
        place: Place<&'a Semaphore>,
    }
}

pin_project! {
    /// Future of [`Semaphore::acquire_owned`] and its kin.
    ///
    /// # Cancel safety
    ///
    /// As [`Acquire`].
    #[must_use = "futures do nothing unless polled"]
    pub struct AcquireOwned {
        #[pin]
        place: Place<Arc<Semaphore>>,
    }
}

/// Future of [`Semaphore::acquire_front`].
pub type AcquireFront<'a> = Acquire<'a>;

/// Future of [`Semaphore::acquire_front_owned`].
pub type AcquireFrontOwned = AcquireOwned;

macro_rules! acquire_future {
    ($name:ident $(<$life:lifetime>)?, $lease:ident $(<$lease_life:lifetime>)?, $make:literal) => {
        impl $(<$life>)? Future for $name $(<$life>)? {
            type Output = Result<$lease $(<$lease_life>)?, AcquireError>;

            #[inline]
            fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
                let mut place = self.project().place;
                match place.as_mut().take_free() {
                    Some(holding) => Poll::Ready(Ok($lease(holding))),
                    None => place.step(cx).map_ok($lease),
                }
            }
        }

        impl $(<$life>)? $name $(<$life>)? {
            /// The place in the order of arrival, from the first poll that had to queue.
            ///
            /// ```
            /// # use std::{future::Future, pin::pin, sync::Arc, task::{Context, Waker}};
            /// # let semaphore = Arc::new(semaphore_core::Semaphore::new(1));
            /// # let held = semaphore.try_acquire().unwrap();
            #[doc = concat!("let mut waiter = pin!(", $make, ");")]
            /// assert_eq!(waiter.ticket(), None);
            /// assert!(waiter.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            /// assert!(waiter.ticket().is_some());
            /// ```
            pub fn ticket(&self) -> Option<Ticket> {
                self.place.ticket()
            }

            /// Leaves the queue and counts as timed out, for a driver with one timer for many waiters.
            ///
            /// True when it left; the future then stays pending. False when there is nothing to leave: it was not
            /// queued, or a grant or refusal came first, which the next poll delivers.
            ///
            /// ```
            /// # use std::{future::Future, pin::pin, sync::Arc, task::{Context, Waker}};
            /// # let semaphore = Arc::new(semaphore_core::Semaphore::new(1));
            /// # let held = semaphore.try_acquire().unwrap();
            #[doc = concat!("let mut waiter = pin!(", $make, ");")]
            /// assert!(waiter.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            /// assert!(waiter.as_mut().time_out());
            /// assert_eq!(semaphore.stats().timed_out, 1);
            /// ```
            pub fn time_out(self: Pin<&mut Self>) -> bool {
                self.project().place.time_out()
            }

            /// Leaves the queue as a drop does, unless a grant or a refusal came first.
            pub(crate) fn withdraw(self: Pin<&mut Self>) -> bool {
                self.project().place.withdraw()
            }
        }

        impl $(<$life>)? fmt::Debug for $name $(<$life>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("ticket", &self.ticket()).finish_non_exhaustive()
            }
        }
    };
}

acquire_future!(Acquire<'a>, Lease<'a>, "semaphore.acquire()");
acquire_future!(AcquireOwned, OwnedLease, "semaphore.clone().acquire_owned()");

impl Semaphore {
    /// Waits in line for one permit.
    ///
    /// The first poll takes a free permit or joins the queue. A loop of acquires that never wait does not yield
    /// to the runtime; where that matters, add `tokio::task::yield_now().await` (or `consume_budget`) to it.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future at any point loses no permit; the place in the queue is given up.
    ///
    /// # Errors
    ///
    /// [`AcquireError::Closed`], and with options `QueueFull`.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let semaphore = semaphore_core::Semaphore::new(1);
    /// let lease = semaphore.acquire().await.unwrap();
    /// assert_eq!(semaphore.available_permits(), 0);
    /// # drop(lease);
    /// # }
    /// ```
    #[inline]
    pub fn acquire(&self) -> Acquire<'_> {
        self.acquire_many(1)
    }

    /// Waits in line for `permits` permits at once.
    ///
    /// Free permits stay free while it waits for the rest. Zero permits are had at once unless the semaphore is
    /// closed.
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire), and [`AcquireError::TooLarge`] above the ceiling.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let semaphore = semaphore_core::Semaphore::new(4);
    /// let lease = semaphore.acquire_many(3).await.unwrap();
    /// assert_eq!(lease.permits(), 3);
    /// # }
    /// ```
    #[inline]
    pub fn acquire_many(&self, permits: usize) -> Acquire<'_> {
        Acquire { place: Place::new(self, permits) }
    }

    /// [`acquire`](Self::acquire) with a lease that keeps the semaphore alive and can move anywhere.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let semaphore = Arc::new(semaphore_core::Semaphore::new(1));
    /// let lease = semaphore.clone().acquire_owned().await.unwrap();
    /// tokio::spawn(async move { drop(lease) }).await.unwrap();
    /// # }
    /// ```
    #[inline]
    pub fn acquire_owned(self: Arc<Self>) -> AcquireOwned {
        self.acquire_many_owned(1)
    }

    /// [`acquire_many`](Self::acquire_many) with a lease that keeps the semaphore alive.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let semaphore = Arc::new(semaphore_core::Semaphore::new(3));
    /// assert_eq!(semaphore.acquire_many_owned(2).await.unwrap().permits(), 2);
    /// # }
    /// ```
    #[inline]
    pub fn acquire_many_owned(self: Arc<Self>, permits: usize) -> AcquireOwned {
        AcquireOwned { place: Place::new(self, permits) }
    }

    /// Waits ahead of ordinary waiters, at the place that the ticket of `rejoin` gives among its like.
    ///
    /// The only exception to strict order, bounded by one per permit lost. It is exempt from `max_waiters` and
    /// counts as a continuation of the acquire that lost its permits.
    ///
    /// # Errors
    ///
    /// As [`acquire_many`](Self::acquire_many) without `QueueFull`, and [`AcquireError::Foreign`] for the token
    /// of another semaphore.
    ///
    /// # Examples
    ///
    /// See [`OwnedLease::forfeit`].
    pub fn acquire_front(&self, rejoin: Rejoin) -> AcquireFront<'_> {
        Acquire { place: Place::rejoining(self, rejoin) }
    }

    /// [`acquire_front`](Self::acquire_front) with a lease that keeps the semaphore alive.
    ///
    /// See the example of [`OwnedLease::forfeit`].
    pub fn acquire_front_owned(self: Arc<Self>, rejoin: Rejoin) -> AcquireFrontOwned {
        AcquireOwned { place: Place::rejoining(self, rejoin) }
    }

    /// Takes one permit if it is free and nobody waits for it.
    ///
    /// # Errors
    ///
    /// [`TryAcquireError::NoPermits`] and [`TryAcquireError::Closed`].
    ///
    /// # Examples
    ///
    /// ```
    /// let semaphore = semaphore_core::Semaphore::new(1);
    /// let lease = semaphore.try_acquire().unwrap();
    /// assert!(semaphore.try_acquire().is_err());
    /// # drop(lease);
    /// ```
    #[inline]
    pub fn try_acquire(&self) -> Result<Lease<'_>, TryAcquireError> {
        self.try_acquire_many(1)
    }

    /// Takes `permits` permits if they are free and nobody waits for them.
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Self::try_acquire), and [`TryAcquireError::TooLarge`] above the ceiling.
    ///
    /// ```
    /// let semaphore = semaphore_core::Semaphore::new(3);
    /// assert!(semaphore.try_acquire_many(2).is_ok());
    /// ```
    #[inline]
    pub fn try_acquire_many(&self, permits: usize) -> Result<Lease<'_>, TryAcquireError> {
        let need = clamp(permits);
        match self.word.take(need) {
            Ok(word) => {
                let since = self.note_taken(word);
                return Ok(Lease(Holding::new(self, need, 0, since)));
            }
            Err(word) => self.try_again(word, need, permits)?,
        }
        Ok(Lease(Holding::timed(self, need, 0)))
    }

    /// [`try_acquire`](Self::try_acquire) with a lease that keeps the semaphore alive.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// let semaphore = Arc::new(semaphore_core::Semaphore::new(1));
    /// assert!(semaphore.try_acquire_owned().is_ok());
    /// ```
    #[inline]
    pub fn try_acquire_owned(self: Arc<Self>) -> Result<OwnedLease, TryAcquireError> {
        self.try_acquire_many_owned(1)
    }

    /// [`try_acquire_many`](Self::try_acquire_many) with a lease that keeps the semaphore alive.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// let semaphore = Arc::new(semaphore_core::Semaphore::new(3));
    /// assert_eq!(semaphore.try_acquire_many_owned(2).unwrap().permits(), 2);
    /// ```
    #[inline]
    pub fn try_acquire_many_owned(self: Arc<Self>, permits: usize) -> Result<OwnedLease, TryAcquireError> {
        let need = clamp(permits);
        match self.word.take(need) {
            Ok(word) => {
                let since = self.note_taken(word);
                return Ok(OwnedLease(Holding::new(self, need, 0, since)));
            }
            Err(word) => self.try_again(word, need, permits)?,
        }
        Ok(OwnedLease(Holding::timed(self, need, 0)))
    }

    /// [`try_acquire_many_owned`](Self::try_acquire_many_owned) that counts a reference only if it succeeds.
    ///
    /// # Errors
    ///
    /// As [`try_acquire_many`](Self::try_acquire_many).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// let semaphore = Arc::new(semaphore_core::Semaphore::new(1));
    /// let lease = semaphore.try_lease(1).unwrap();
    /// assert!(semaphore.try_lease(1).is_err());
    /// # drop(lease);
    /// ```
    #[inline]
    pub fn try_lease(self: &Arc<Self>, permits: usize) -> Result<OwnedLease, TryAcquireError> {
        let need = clamp(permits);
        match self.word.take(need) {
            Ok(word) => {
                let since = self.note_taken(word);
                return Ok(OwnedLease(Holding::new(self.clone(), need, 0, since)));
            }
            Err(word) => self.try_again(word, need, permits)?,
        }
        Ok(OwnedLease(Holding::timed(self.clone(), need, 0)))
    }

    /// The common refusal: one permit, of a plain semaphore that has none or a queue. Nothing to count or to name.
    #[inline(always)]
    fn try_again(&self, word: isize, need: u32, requested: usize) -> Result<(), TryAcquireError> {
        if need == 1 && word & (CLOSED | OBSERVED | BARGING) == 0 {
            let available = free(word).max(0) as usize;
            return Err(TryAcquireError::NoPermits { name: None, requested, available });
        }
        self.try_take(need, requested)
    }

    /// The try past the fast path: flags are set or permits are missing.
    #[inline(never)]
    fn try_take(&self, need: u32, requested: usize) -> Result<(), TryAcquireError> {
        let mut word = self.word.load();
        if word & OBSERVED != 0 {
            self.extension();
        }
        loop {
            if word & CLOSED != 0 {
                self.count_closed(requested);
                return Err(TryAcquireError::Closed { name: self.error_name() });
            }
            let first = word & SLOW == 0 || word & BARGING != 0;
            if need != 0 && (!first || free(word) < need as i64) {
                break;
            }
            match self.word.swap(word, word - word::of(need as i64)) {
                Ok(_) => {
                    self.count_immediate();
                    return Ok(());
                }
                Err(seen) => word = seen,
            }
        }
        if word & OBSERVED != 0 {
            self.count_rejected(requested);
        }
        // The ceiling is never 0, so a single permit is never too large.
        if need > 1 {
            let ceiling = self.ceiling_of(&self.lock());
            if need > ceiling {
                let (name, ceiling) = (self.error_name(), ceiling as usize);
                return Err(TryAcquireError::TooLarge { name, requested, ceiling });
            }
        }
        let available = free(word).max(0) as usize;
        Err(TryAcquireError::NoPermits { name: self.error_name(), requested, available })
    }

    /// Takes whatever is free now.
    ///
    /// `None` when nothing is free, when somebody is queued, and when the semaphore is closed.
    ///
    /// # Examples
    ///
    /// ```
    /// let semaphore = semaphore_core::Semaphore::new(3);
    /// let one = semaphore.try_acquire().unwrap();
    /// assert_eq!(semaphore.drain_permits().unwrap().permits(), 2);
    /// # drop(one);
    /// ```
    pub fn drain_permits(&self) -> Option<Lease<'_>> {
        self.take_all().map(|all| Lease(Holding::timed(self, all, 0)))
    }

    /// [`drain_permits`](Self::drain_permits) with a lease that keeps the semaphore alive.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// let semaphore = Arc::new(semaphore_core::Semaphore::new(3));
    /// assert_eq!(semaphore.drain_permits_owned().unwrap().permits(), 3);
    /// ```
    pub fn drain_permits_owned(self: &Arc<Self>) -> Option<OwnedLease> {
        self.take_all().map(|all| OwnedLease(Holding::timed(self.clone(), all, 0)))
    }

    fn take_all(&self) -> Option<u32> {
        let mut word = self.word.load();
        loop {
            if word & (CLOSED | SLOW) != 0 || free(word) <= 0 {
                return None;
            }
            let all = free(word);
            match self.word.swap(word, word - word::of(all)) {
                Ok(_) => {
                    self.count_immediate();
                    return Some(all as u32);
                }
                Err(seen) => word = seen,
            }
        }
    }
}
