//! Leases: the owned proof of permits. One implementation behind the borrowed and the owned form.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::{MergeError, Rejoin, Semaphore, Ticket};

/// Permits and the semaphore they go home to. Fields drop after the release, so an owner outlives it (I8).
pub(crate) struct Holding<S: Deref<Target = Semaphore>> {
    home: S,
    permits: u32,
    /// Tick at which it was taken; 0 where nobody measures.
    since: u32,
    /// Ticket of the acquire; 0 when it did not queue.
    order: u64,
}

impl<S: Deref<Target = Semaphore>> Holding<S> {
    #[inline(always)]
    pub(crate) fn new(home: S, permits: u32, order: u64, since: u32) -> Self {
        Self { home, permits, since, order }
    }

    /// A lease whose time counts from now, if anybody wants to know.
    #[inline]
    pub(crate) fn timed(home: S, permits: u32, order: u64) -> Self {
        let since = home.lease_starts();
        Self { home, permits, since, order }
    }

    /// Ends the lease without giving its permits back: they live on as something else.
    pub(crate) fn hand_over(mut self) {
        self.permits = 0;
    }

    pub(crate) fn home(&self) -> &Semaphore {
        &self.home
    }

    fn split(&mut self, permits: usize) -> Option<Self>
    where
        S: Clone,
    {
        let permits = u32::try_from(permits).ok().filter(|permits| *permits <= self.permits)?;
        self.permits -= permits;
        Some(Self { home: self.home.clone(), permits, since: self.since, order: self.order })
    }

    /// No overflow: both are parts of what the semaphore can hold at most.
    fn merge(&mut self, mut other: Self) -> Result<(), Self> {
        if !self.home.is(&other.home) {
            return Err(other);
        }
        self.permits += std::mem::take(&mut other.permits);
        other.since = 0;
        Ok(())
    }

    fn forget(mut self) -> u32 {
        let permits = std::mem::take(&mut self.permits);
        self.home.forget_permits(permits);
        permits
    }
}

impl<S: Deref<Target = Semaphore>> Drop for Holding<S> {
    #[inline]
    fn drop(&mut self) {
        if self.since != 0 {
            self.home.lease_ends(self.since);
        }
        self.home.give_back(self.permits);
    }
}

impl<S: Deref<Target = Semaphore>> fmt::Debug for Holding<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").field("permits", &self.permits).finish_non_exhaustive()
    }
}

macro_rules! lease {
    ($(#[$doc:meta])* $name:ident $(<$life:lifetime>)?, $home:ty, $acquire:literal) => {
        $(#[$doc])*
        #[must_use = "a lease that is not kept gives its permits back at once"]
        pub struct $name $(<$life>)? (pub(crate) Holding<$home>);

        impl $(<$life>)? $name $(<$life>)? {
            /// The number of permits it holds; 0 is possible after a split.
            ///
            /// ```
            /// # use std::sync::Arc;
            /// # let semaphore = Arc::new(semaphore_core::Semaphore::new(3));
            #[doc = concat!("let lease = ", $acquire, ".unwrap();")]
            /// assert_eq!(lease.permits(), 3);
            /// ```
            pub fn permits(&self) -> usize {
                self.0.permits as usize
            }

            /// The semaphore the permits go home to.
            ///
            /// ```
            /// # use std::sync::Arc;
            /// # let semaphore = Arc::new(semaphore_core::Semaphore::new(3));
            #[doc = concat!("let lease = ", $acquire, ".unwrap();")]
            /// assert_eq!(lease.semaphore().available_permits(), 0);
            /// ```
            pub fn semaphore(&self) -> &$home {
                &self.0.home
            }

            /// The ticket under which its acquire queued; `None` when it did not have to.
            ///
            /// ```
            /// # use std::sync::Arc;
            /// # let semaphore = Arc::new(semaphore_core::Semaphore::new(3));
            #[doc = concat!("let lease = ", $acquire, ".unwrap();")]
            /// assert_eq!(lease.ticket(), None);
            /// ```
            pub fn ticket(&self) -> Option<Ticket> {
                (self.0.order != 0).then_some(Ticket(self.0.order))
            }

            /// Moves `permits` of its permits into another lease.
            ///
            /// Zero and all are fine; for more than it holds the answer is `None` and nothing changes.
            ///
            /// ```
            /// # use std::sync::Arc;
            /// # let semaphore = Arc::new(semaphore_core::Semaphore::new(3));
            #[doc = concat!("let mut lease = ", $acquire, ".unwrap();")]
            /// let one = lease.split(1).unwrap();
            /// assert_eq!((lease.permits(), one.permits()), (2, 1));
            /// assert!(lease.split(3).is_none());
            /// ```
            pub fn split(&mut self, permits: usize) -> Option<Self> {
                self.0.split(permits).map(Self)
            }

            /// Takes the permits of `other` in.
            ///
            /// # Errors
            ///
            /// [`MergeError`], which holds `other`, when it belongs to another semaphore.
            ///
            /// ```
            /// # use std::sync::Arc;
            /// # let semaphore = Arc::new(semaphore_core::Semaphore::new(3));
            #[doc = concat!("let mut lease = ", $acquire, ".unwrap();")]
            /// let one = lease.split(1).unwrap();
            /// lease.merge(one).unwrap();
            /// assert_eq!(lease.permits(), 3);
            /// ```
            pub fn merge(&mut self, other: Self) -> Result<(), MergeError<Self>> {
                self.0.merge(other.0).map_err(|lease| MergeError { lease: Self(lease) })
            }

            /// Gives the permits back, as dropping it does. By move, so it cannot be done twice.
            ///
            /// ```
            /// # use std::sync::Arc;
            /// # let semaphore = Arc::new(semaphore_core::Semaphore::new(3));
            #[doc = concat!("let lease = ", $acquire, ".unwrap();")]
            /// lease.release();
            /// assert_eq!(semaphore.available_permits(), 3);
            /// ```
            ///
            /// ```compile_fail,E0382
            /// # use std::sync::Arc;
            /// # let semaphore = Arc::new(semaphore_core::Semaphore::new(3));
            #[doc = concat!("let lease = ", $acquire, ".unwrap();")]
            /// lease.release();
            /// lease.release();
            /// ```
            pub fn release(self) {
                drop(self);
            }

            /// Takes the permits out of the semaphore for good: its capacity shrinks, its ceiling stays.
            ///
            /// While a shrink is still owed, the permits pay that debt first.
            ///
            /// ```
            /// # use std::sync::Arc;
            /// # let semaphore = Arc::new(semaphore_core::Semaphore::new(3));
            #[doc = concat!("let lease = ", $acquire, ".unwrap();")]
            /// lease.forget();
            /// assert_eq!(semaphore.capacity(), 0);
            /// ```
            pub fn forget(self) {
                self.0.forget();
            }
        }

        impl $(<$life>)? fmt::Debug for $name $(<$life>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("permits", &self.permits()).finish_non_exhaustive()
            }
        }
    };
}

lease! {
    /// Permits of a borrowed semaphore; they go home when it is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// let semaphore = semaphore_core::Semaphore::new(2);
    /// {
    ///     let _lease = semaphore.try_acquire().unwrap();
    ///     assert_eq!(semaphore.available_permits(), 1);
    /// }
    /// assert_eq!(semaphore.available_permits(), 2);
    /// ```
    Lease<'a>, &'a Semaphore, "semaphore.try_acquire_many(3)"
}

lease! {
    /// Permits of a shared semaphore, which it keeps alive; they go home when it is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use semaphore_core::Semaphore;
    ///
    /// let semaphore = Arc::new(Semaphore::new(2));
    /// let lease = semaphore.clone().try_acquire_owned().unwrap();
    /// std::thread::spawn(move || drop(lease)).join().unwrap();
    /// assert_eq!(semaphore.available_permits(), 2);
    /// ```
    OwnedLease, Arc<Semaphore>, "semaphore.clone().try_acquire_many_owned(3)"
}

impl OwnedLease {
    /// Gives a lease that was had without queueing its place in the order of arrival, as of now.
    ///
    /// For a holder that may have to [`forfeit`](Self::forfeit) later: without a ticket it would stand before all
    /// that have one, in no order among its like. A lease that has a ticket keeps it.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::sync::Arc;
    /// let semaphore = Arc::new(semaphore_core::Semaphore::new(2));
    /// let mut first = semaphore.clone().try_acquire_owned().unwrap();
    /// let mut second = semaphore.clone().try_acquire_owned().unwrap();
    /// assert!(first.stamp() < second.stamp());
    /// assert_eq!(Some(first.stamp()), first.ticket());
    /// ```
    pub fn stamp(&mut self) -> Ticket {
        if self.0.order == 0 {
            self.0.order = self.0.home.draw_ticket();
        }
        Ticket(self.0.order)
    }

    /// Gives the permits up as [`forget`](Self::forget) does and returns the right to ask for as many at the
    /// front of the queue, where the ticket of this lease belongs.
    ///
    /// For a holder that found what the permits stand for broken, through no fault of its own.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use semaphore_core::Semaphore;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let semaphore = Arc::new(Semaphore::empty(1));
    /// semaphore.add_permits(1).unwrap();
    /// let lease = semaphore.clone().acquire_owned().await.unwrap();
    /// let rejoin = lease.forfeit();
    /// assert_eq!(semaphore.capacity(), 0);
    /// semaphore.add_permits(1).unwrap();
    /// let again = semaphore.clone().acquire_front_owned(rejoin).await.unwrap();
    /// assert_eq!(again.permits(), 1);
    /// # }
    /// ```
    pub fn forfeit(self) -> Rejoin {
        let (home, order) = (Arc::as_ptr(&self.0.home) as usize, self.0.order);
        let permits = self.0.forget();
        Rejoin { home, permits, order }
    }
}
