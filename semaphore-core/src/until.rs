//! Acquires with a deadline, on tokio's timers.

use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::lease::Holding;
use crate::place::Place;
use crate::{AcquireError, Lease, OwnedLease, Rejoin, Semaphore, Ticket};

/// How long to wait, counted from the moment the acquire has to queue, or until when.
#[derive(Clone, Copy, Debug)]
enum Limit {
    After(Duration),
    At(Instant),
}

impl Limit {
    fn deadline(self, now: Instant) -> Instant {
        match self {
            Limit::At(instant) => instant,
            // Too far to be said is as good as for ever.
            Limit::After(wait) => {
                now.checked_add(wait).unwrap_or_else(|| now + Duration::from_secs(86_400 * 365 * 30))
            }
        }
    }
}

pin_project! {
    struct Timed<S: Deref<Target = Semaphore>> {
        #[pin]
        place: Place<S>,
        limit: Limit,
        // Armed when it queues, gone when it ends.
        #[pin]
        sleep: Option<Sleep>,
        since: Option<Instant>,
    }
}

impl<S: Deref<Target = Semaphore>> Timed<S> {
    fn new(place: Place<S>, limit: Limit) -> Self {
        Self { place, limit, sleep: None, since: None }
    }

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<Holding<S>, AcquireError>> {
        let mut this = self.project();
        if this.place.is_untouched() {
            if let Some(holding) = this.place.as_mut().take_free() {
                return Poll::Ready(Ok(holding));
            }
            let now = Instant::now();
            let deadline = this.limit.deadline(now);
            if deadline <= now {
                let name = this.place.home().and_then(Semaphore::name);
                return Poll::Ready(match this.place.attempt_once() {
                    Ok(Some(holding)) => Ok(holding),
                    Ok(None) => Err(AcquireError::TimedOut { name, waited: Duration::ZERO }),
                    Err(error) => Err(error),
                });
            }
            *this.since = Some(now);
            let polled = this.place.as_mut().step(cx);
            if polled.is_ready() {
                return polled;
            }
            this.sleep.set(Some(sleep_until(deadline)));
        } else {
            let polled = this.place.as_mut().step(cx);
            if polled.is_ready() {
                this.sleep.set(None);
                return polled;
            }
        }
        let expired = match this.sleep.as_mut().as_pin_mut() {
            Some(sleep) => sleep.poll(cx).is_ready(),
            None => false,
        };
        if !expired {
            return Poll::Pending;
        }
        this.sleep.set(None);
        let name = this.place.home().and_then(Semaphore::name);
        if this.place.as_mut().time_out() {
            let waited = this.since.map_or(Duration::ZERO, |since| since.elapsed());
            return Poll::Ready(Err(AcquireError::TimedOut { name, waited }));
        }
        // A grant or a refusal was first.
        this.place.step(cx)
    }
}

macro_rules! timed_future {
    ($(#[$doc:meta])* $name:ident $(<$life:lifetime>)?, $home:ty, $lease:ident $(<$lease_life:lifetime>)?, $make:literal) => {
        pin_project! {
            $(#[$doc])*
            ///
            /// # Cancel safety
            ///
            /// As [`Acquire`](crate::Acquire); its timer goes with it.
            #[must_use = "futures do nothing unless polled"]
            pub struct $name $(<$life>)? {
                #[pin]
                timed: Timed<$home>,
            }
        }

        impl $(<$life>)? Future for $name $(<$life>)? {
            type Output = Result<$lease $(<$lease_life>)?, AcquireError>;

            #[inline]
            fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
                self.project().timed.poll(cx).map_ok($lease)
            }
        }

        impl $(<$life>)? $name $(<$life>)? {
            /// The place in the order of arrival, from the first poll that had to queue.
            ///
            /// ```
            /// # use std::{sync::Arc, time::Duration};
            /// # let semaphore = Arc::new(semaphore_core::Semaphore::new(1));
            #[doc = concat!("let waiter = ", $make, ";")]
            /// assert_eq!(waiter.ticket(), None);
            /// ```
            pub fn ticket(&self) -> Option<Ticket> {
                self.timed.place.ticket()
            }
        }

        impl $(<$life>)? fmt::Debug for $name $(<$life>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("limit", &self.timed.limit).finish_non_exhaustive()
            }
        }
    };
}

timed_future! {
    /// Future of [`Semaphore::acquire_timeout`] and [`Semaphore::acquire_until`].
    AcquireUntil<'a>, &'a Semaphore, Lease<'a>, "semaphore.acquire_timeout(Duration::from_secs(1))"
}

timed_future! {
    /// Future of [`Semaphore::acquire_timeout_owned`] and [`Semaphore::acquire_until_owned`].
    AcquireUntilOwned, Arc<Semaphore>, OwnedLease, "semaphore.acquire_timeout_owned(Duration::from_secs(1))"
}

impl Semaphore {
    /// Waits in line for one permit, at most for `wait`.
    ///
    /// When a permit is free there is neither a timer nor a look at the clock; the time counts from the moment it
    /// has to queue. A grant made before the deadline is delivered even if it is seen later. With a zero `wait` it
    /// makes one fair attempt and never queues.
    ///
    /// # Errors
    ///
    /// [`AcquireError::TimedOut`], and those of [`acquire`](Self::acquire).
    ///
    /// # Panics
    ///
    /// When it has to queue outside a tokio runtime with a timer.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use semaphore_core::{AcquireError, Semaphore};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let semaphore = Semaphore::new(1);
    /// let held = semaphore.acquire().await.unwrap();
    /// let error = semaphore.acquire_timeout(Duration::from_secs(1)).await.unwrap_err();
    /// assert!(matches!(error, AcquireError::TimedOut { .. }));
    /// # drop(held);
    /// # }
    /// ```
    pub fn acquire_timeout(&self, wait: Duration) -> AcquireUntil<'_> {
        self.acquire_many_timeout(1, wait)
    }

    /// [`acquire_timeout`](Self::acquire_timeout) for `permits` permits.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let semaphore = semaphore_core::Semaphore::new(2);
    /// assert!(semaphore.acquire_many_timeout(2, Duration::from_secs(1)).await.is_ok());
    /// # }
    /// ```
    pub fn acquire_many_timeout(&self, permits: usize, wait: Duration) -> AcquireUntil<'_> {
        AcquireUntil { timed: Timed::new(Place::new(self, permits), Limit::After(wait)) }
    }

    /// Waits in line for one permit, at most until `deadline`.
    ///
    /// When the deadline has passed already it makes one fair attempt and never queues.
    ///
    /// # Errors
    ///
    /// As [`acquire_timeout`](Self::acquire_timeout).
    ///
    /// # Panics
    ///
    /// As [`acquire_timeout`](Self::acquire_timeout).
    ///
    /// ```
    /// # use tokio::time::{Duration, Instant};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let semaphore = semaphore_core::Semaphore::new(1);
    /// let deadline = Instant::now() + Duration::from_secs(1);
    /// assert!(semaphore.acquire_until(deadline).await.is_ok());
    /// # }
    /// ```
    pub fn acquire_until(&self, deadline: Instant) -> AcquireUntil<'_> {
        self.acquire_many_until(1, deadline)
    }

    /// [`acquire_until`](Self::acquire_until) for `permits` permits.
    ///
    /// ```
    /// # use tokio::time::Instant;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let semaphore = semaphore_core::Semaphore::new(2);
    /// assert!(semaphore.acquire_many_until(2, Instant::now()).await.is_ok());
    /// # }
    /// ```
    pub fn acquire_many_until(&self, permits: usize, deadline: Instant) -> AcquireUntil<'_> {
        AcquireUntil { timed: Timed::new(Place::new(self, permits), Limit::At(deadline)) }
    }

    /// [`acquire_timeout`](Self::acquire_timeout) with a lease that keeps the semaphore alive.
    ///
    /// ```
    /// # use std::{sync::Arc, time::Duration};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let semaphore = Arc::new(semaphore_core::Semaphore::new(1));
    /// assert!(semaphore.acquire_timeout_owned(Duration::from_secs(1)).await.is_ok());
    /// # }
    /// ```
    pub fn acquire_timeout_owned(self: Arc<Self>, wait: Duration) -> AcquireUntilOwned {
        self.acquire_many_timeout_owned(1, wait)
    }

    /// [`acquire_many_timeout`](Self::acquire_many_timeout) with a lease that keeps the semaphore alive.
    ///
    /// ```
    /// # use std::{sync::Arc, time::Duration};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let semaphore = Arc::new(semaphore_core::Semaphore::new(2));
    /// assert!(semaphore.acquire_many_timeout_owned(2, Duration::from_secs(1)).await.is_ok());
    /// # }
    /// ```
    pub fn acquire_many_timeout_owned(self: Arc<Self>, permits: usize, wait: Duration) -> AcquireUntilOwned {
        AcquireUntilOwned { timed: Timed::new(Place::new(self, permits), Limit::After(wait)) }
    }

    /// [`acquire_until`](Self::acquire_until) with a lease that keeps the semaphore alive.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use tokio::time::Instant;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let semaphore = Arc::new(semaphore_core::Semaphore::new(1));
    /// assert!(semaphore.acquire_until_owned(Instant::now()).await.is_ok());
    /// # }
    /// ```
    pub fn acquire_until_owned(self: Arc<Self>, deadline: Instant) -> AcquireUntilOwned {
        self.acquire_many_until_owned(1, deadline)
    }

    /// [`acquire_many_until`](Self::acquire_many_until) with a lease that keeps the semaphore alive.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use tokio::time::Instant;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let semaphore = Arc::new(semaphore_core::Semaphore::new(2));
    /// assert!(semaphore.acquire_many_until_owned(2, Instant::now()).await.is_ok());
    /// # }
    /// ```
    pub fn acquire_many_until_owned(self: Arc<Self>, permits: usize, deadline: Instant) -> AcquireUntilOwned {
        AcquireUntilOwned { timed: Timed::new(Place::new(self, permits), Limit::At(deadline)) }
    }

    /// [`acquire_front`](Self::acquire_front), at most until `deadline`.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use tokio::time::Instant;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let semaphore = Arc::new(semaphore_core::Semaphore::new(2));
    /// let rejoin = semaphore.clone().try_acquire_owned().unwrap().forfeit();
    /// assert!(semaphore.acquire_front_until(rejoin, Instant::now()).await.is_ok());
    /// # }
    /// ```
    pub fn acquire_front_until(&self, rejoin: Rejoin, deadline: Instant) -> AcquireUntil<'_> {
        AcquireUntil { timed: Timed::new(Place::rejoining(self, rejoin), Limit::At(deadline)) }
    }

    /// [`acquire_front_owned`](Self::acquire_front_owned), at most until `deadline`.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use tokio::time::Instant;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let semaphore = Arc::new(semaphore_core::Semaphore::new(2));
    /// let rejoin = semaphore.clone().try_acquire_owned().unwrap().forfeit();
    /// assert!(semaphore.acquire_front_until_owned(rejoin, Instant::now()).await.is_ok());
    /// # }
    /// ```
    pub fn acquire_front_until_owned(
        self: Arc<Self>,
        rejoin: Rejoin,
        deadline: Instant,
    ) -> AcquireUntilOwned {
        AcquireUntilOwned { timed: Timed::new(Place::rejoining(self, rejoin), Limit::At(deadline)) }
    }
}
