//! Acquires for threads: the same futures, polled by a parked thread.

use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use crate::atomic::Lock;
use crate::{Acquire, AcquireError, AcquireOwned, Lease, OwnedLease, Semaphore, TryAcquireError};

/// Wakes the thread that made it.
struct Parked {
    thread: Thread,
    woken: AtomicBool,
}

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.woken.swap(true, Ordering::AcqRel) {
            self.thread.unpark();
        }
    }
}

thread_local! {
    // One per thread, so that waiting allocates nothing.
    static PARKED: Arc<Parked> =
        Arc::new(Parked { thread: std::thread::current(), woken: AtomicBool::new(false) });
}

/// Ends a blocking acquire from another thread; a clone is the same handle.
///
/// Once fired it stays fired, for acquires to come as well.
///
/// # What a clone shares
///
/// Everything: firing one fires all.
///
/// # Examples
///
/// ```
/// use semaphore_core::{AcquireError, Interrupt, Semaphore};
///
/// let semaphore = Semaphore::new(1);
/// let held = semaphore.try_acquire().unwrap();
/// let interrupt = Interrupt::new();
/// std::thread::scope(|scope| {
///     let waiting = scope.spawn(|| semaphore.blocking_acquire_interruptible(1, &interrupt).map(drop));
///     interrupt.fire();
///     assert!(matches!(waiting.join().unwrap(), Err(AcquireError::Interrupted { .. })));
/// });
/// # drop(held);
/// ```
#[derive(Clone, Default)]
pub struct Interrupt(Arc<Fire>);

#[derive(Default)]
struct Fire {
    fired: AtomicBool,
    threads: Threads,
}

struct Threads(Lock<Vec<Arc<Parked>>>);

impl Default for Threads {
    fn default() -> Self {
        Self(Lock::new(Vec::new()))
    }
}

impl Interrupt {
    /// A handle that has not been fired.
    ///
    /// ```
    /// assert!(!semaphore_core::Interrupt::new().is_fired());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends every acquire that waits with this handle, now and from now on.
    ///
    /// See the example of [`Interrupt`].
    pub fn fire(&self) {
        self.0.fired.store(true, Ordering::SeqCst);
        for thread in self.0.threads.0.lock().iter() {
            thread.wake_by_ref();
        }
    }

    /// Whether it was fired.
    ///
    /// ```
    /// let interrupt = semaphore_core::Interrupt::new();
    /// interrupt.clone().fire();
    /// assert!(interrupt.is_fired());
    /// ```
    pub fn is_fired(&self) -> bool {
        self.0.fired.load(Ordering::SeqCst)
    }

    fn watch(&self, parked: &Arc<Parked>) -> Watched<'_> {
        self.0.threads.0.lock().push(parked.clone());
        Watched { interrupt: self, parked: parked.clone() }
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interrupt").field("fired", &self.is_fired()).finish()
    }
}

/// A thread's entry in an interrupt, removed on drop.
struct Watched<'a> {
    interrupt: &'a Interrupt,
    parked: Arc<Parked>,
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        let mut threads = self.interrupt.0.threads.0.lock();
        if let Some(at) = threads.iter().position(|thread| Arc::ptr_eq(thread, &self.parked)) {
            threads.swap_remove(at);
        }
    }
}

/// An acquire future that can leave the queue.
trait Waiting: Future<Output = Result<Self::Lease, AcquireError>> {
    type Lease;
    fn time_out(self: Pin<&mut Self>) -> bool;
    /// Leaves as a dropped future does. False when a grant or a refusal came first.
    fn give_up(self: Pin<&mut Self>) -> bool;
}

impl<'a> Waiting for Acquire<'a> {
    type Lease = Lease<'a>;

    fn time_out(self: Pin<&mut Self>) -> bool {
        Acquire::time_out(self)
    }

    fn give_up(self: Pin<&mut Self>) -> bool {
        Acquire::withdraw(self)
    }
}

impl Waiting for AcquireOwned {
    type Lease = OwnedLease;

    fn time_out(self: Pin<&mut Self>) -> bool {
        AcquireOwned::time_out(self)
    }

    fn give_up(self: Pin<&mut Self>) -> bool {
        AcquireOwned::withdraw(self)
    }
}

/// Until when, and what else may end the wait.
#[derive(Clone, Copy, Default)]
struct Patience<'a> {
    wait: Option<Duration>,
    interrupt: Option<&'a Interrupt>,
}

impl Semaphore {
    fn block_on<F: Waiting>(&self, future: F, patience: Patience<'_>) -> Result<F::Lease, AcquireError> {
        let mut future = pin!(future);
        let fired = || patience.interrupt.is_some_and(Interrupt::is_fired);
        if fired() {
            return Err(AcquireError::Interrupted { name: self.name() });
        }
        // A thread that is being torn down has no slot any more and gets a fresh one.
        let parked = PARKED.try_with(Arc::clone).unwrap_or_else(|_| {
            Arc::new(Parked { thread: std::thread::current(), woken: AtomicBool::new(false) })
        });
        let waker = Waker::from(parked.clone());
        let mut cx = Context::from_waker(&waker);
        parked.woken.store(false, Ordering::Release);
        if let Poll::Ready(result) = future.as_mut().poll(&mut cx) {
            return result;
        }
        let start = Instant::now();
        let deadline = patience.wait.map(|wait| start.checked_add(wait));
        let _watched = patience.interrupt.map(|interrupt| interrupt.watch(&parked));
        loop {
            // After the registration: a handle fired before it is seen here, one fired later wakes us.
            if fired() && future.as_mut().give_up() {
                return Err(AcquireError::Interrupted { name: self.name() });
            }
            let left = match deadline {
                Some(Some(deadline)) => Some(deadline.saturating_duration_since(Instant::now())),
                _ => None,
            };
            if left == Some(Duration::ZERO) && future.as_mut().time_out() {
                return Err(AcquireError::TimedOut { name: self.name(), waited: start.elapsed() });
            }
            if !parked.woken.swap(false, Ordering::AcqRel) {
                match left {
                    Some(Duration::ZERO) => {}
                    Some(left) => std::thread::park_timeout(left),
                    None => std::thread::park(),
                }
                parked.woken.store(false, Ordering::Release);
            }
            if let Poll::Ready(result) = future.as_mut().poll(&mut cx) {
                return result;
            }
        }
    }

    /// What a failed attempt is called when the deadline had passed on entry.
    fn expired(&self, error: TryAcquireError) -> AcquireError {
        match error {
            TryAcquireError::Closed { name } => AcquireError::Closed { name },
            TryAcquireError::TooLarge { name, requested, ceiling } => {
                AcquireError::TooLarge { name, requested, ceiling }
            }
            TryAcquireError::NoPermits { name, .. } => {
                AcquireError::TimedOut { name, waited: Duration::ZERO }
            }
        }
    }

    /// Blocks the thread until it gets one permit in line.
    ///
    /// Async waiters and blocked threads stand in one queue. Never call it on a thread that drives futures.
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire).
    ///
    /// # Examples
    ///
    /// ```
    /// let semaphore = semaphore_core::Semaphore::new(1);
    /// std::thread::scope(|scope| {
    ///     for _ in 0..2 {
    ///         scope.spawn(|| semaphore.blocking_acquire().unwrap().release());
    ///     }
    /// });
    /// ```
    pub fn blocking_acquire(&self) -> Result<Lease<'_>, AcquireError> {
        self.blocking_acquire_many(1)
    }

    /// Blocks the thread until it gets `permits` permits in line.
    ///
    /// # Errors
    ///
    /// As [`acquire_many`](Self::acquire_many).
    ///
    /// ```
    /// let semaphore = semaphore_core::Semaphore::new(2);
    /// assert_eq!(semaphore.blocking_acquire_many(2).unwrap().permits(), 2);
    /// ```
    pub fn blocking_acquire_many(&self, permits: usize) -> Result<Lease<'_>, AcquireError> {
        self.block_on(self.acquire_many(permits), Patience::default())
    }

    /// [`blocking_acquire`](Self::blocking_acquire) with a lease that keeps the semaphore alive.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// let semaphore = Arc::new(semaphore_core::Semaphore::new(1));
    /// assert!(semaphore.blocking_acquire_owned().is_ok());
    /// ```
    pub fn blocking_acquire_owned(self: Arc<Self>) -> Result<OwnedLease, AcquireError> {
        self.blocking_acquire_many_owned(1)
    }

    /// [`blocking_acquire_many`](Self::blocking_acquire_many) with a lease that keeps the semaphore alive.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// let semaphore = Arc::new(semaphore_core::Semaphore::new(2));
    /// assert_eq!(semaphore.blocking_acquire_many_owned(2).unwrap().permits(), 2);
    /// ```
    pub fn blocking_acquire_many_owned(self: Arc<Self>, permits: usize) -> Result<OwnedLease, AcquireError> {
        let semaphore = self.clone();
        semaphore.block_on(self.acquire_many_owned(permits), Patience::default())
    }

    /// [`blocking_acquire`](Self::blocking_acquire), at most for `wait`.
    ///
    /// # Errors
    ///
    /// [`AcquireError::TimedOut`], and those of [`acquire`](Self::acquire).
    ///
    /// ```
    /// # use std::time::Duration;
    /// let semaphore = semaphore_core::Semaphore::new(1);
    /// let held = semaphore.try_acquire().unwrap();
    /// assert!(semaphore.blocking_acquire_timeout(Duration::ZERO).is_err());
    /// # drop(held);
    /// ```
    pub fn blocking_acquire_timeout(&self, wait: Duration) -> Result<Lease<'_>, AcquireError> {
        self.blocking_acquire_many_timeout(1, wait)
    }

    /// [`blocking_acquire_many`](Self::blocking_acquire_many), at most for `wait`.
    ///
    /// # Errors
    ///
    /// [`AcquireError::TimedOut`], and those of [`acquire_many`](Self::acquire_many).
    ///
    /// ```
    /// # use std::time::Duration;
    /// let semaphore = semaphore_core::Semaphore::new(2);
    /// assert!(semaphore.blocking_acquire_many_timeout(2, Duration::from_secs(1)).is_ok());
    /// ```
    pub fn blocking_acquire_many_timeout(
        &self,
        permits: usize,
        wait: Duration,
    ) -> Result<Lease<'_>, AcquireError> {
        if wait.is_zero() {
            return self.try_acquire_many(permits).map_err(|error| self.expired(error));
        }
        self.block_on(self.acquire_many(permits), Patience { wait: Some(wait), interrupt: None })
    }

    /// [`blocking_acquire_timeout`](Self::blocking_acquire_timeout) with a lease that keeps the semaphore alive.
    ///
    /// ```
    /// # use std::{sync::Arc, time::Duration};
    /// let semaphore = Arc::new(semaphore_core::Semaphore::new(1));
    /// assert!(semaphore.blocking_acquire_timeout_owned(Duration::from_secs(1)).is_ok());
    /// ```
    pub fn blocking_acquire_timeout_owned(
        self: Arc<Self>,
        wait: Duration,
    ) -> Result<OwnedLease, AcquireError> {
        self.blocking_acquire_many_timeout_owned(1, wait)
    }

    /// [`blocking_acquire_many_timeout`](Self::blocking_acquire_many_timeout) with a lease that keeps the
    /// semaphore alive.
    ///
    /// ```
    /// # use std::{sync::Arc, time::Duration};
    /// let semaphore = Arc::new(semaphore_core::Semaphore::new(2));
    /// assert!(semaphore.blocking_acquire_many_timeout_owned(2, Duration::from_secs(1)).is_ok());
    /// ```
    pub fn blocking_acquire_many_timeout_owned(
        self: Arc<Self>,
        permits: usize,
        wait: Duration,
    ) -> Result<OwnedLease, AcquireError> {
        let semaphore = self.clone();
        if wait.is_zero() {
            return self.try_acquire_many_owned(permits).map_err(|error| semaphore.expired(error));
        }
        let patience = Patience { wait: Some(wait), interrupt: None };
        semaphore.block_on(self.acquire_many_owned(permits), patience)
    }

    /// Blocks until it gets `permits` permits in line, or until `interrupt` is fired.
    ///
    /// An interrupted acquire owns nothing; a grant made before is delivered.
    ///
    /// # Errors
    ///
    /// [`AcquireError::Interrupted`], and those of [`acquire_many`](Self::acquire_many).
    ///
    /// # Examples
    ///
    /// See [`Interrupt`].
    pub fn blocking_acquire_interruptible(
        &self,
        permits: usize,
        interrupt: &Interrupt,
    ) -> Result<Lease<'_>, AcquireError> {
        let patience = Patience { wait: None, interrupt: Some(interrupt) };
        self.block_on(self.acquire_many(permits), patience)
    }

    /// [`blocking_acquire_interruptible`](Self::blocking_acquire_interruptible) with a lease that keeps the
    /// semaphore alive.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use semaphore_core::{Interrupt, Semaphore};
    /// let semaphore = Arc::new(Semaphore::new(1));
    /// assert!(semaphore.blocking_acquire_interruptible_owned(1, &Interrupt::new()).is_ok());
    /// ```
    pub fn blocking_acquire_interruptible_owned(
        self: Arc<Self>,
        permits: usize,
        interrupt: &Interrupt,
    ) -> Result<OwnedLease, AcquireError> {
        let semaphore = self.clone();
        let patience = Patience { wait: None, interrupt: Some(interrupt) };
        semaphore.block_on(self.acquire_many_owned(permits), patience)
    }
}
