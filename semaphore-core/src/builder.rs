//! Options of a semaphore, checked when it is built.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::extension::Options;
use crate::{BuildError, Fairness, Name, Observer, Semaphore};

/// Collects the options of a [`Semaphore`].
///
/// # Examples
///
/// ```
/// use semaphore_core::{Fairness, Semaphore};
///
/// let semaphore = Semaphore::builder(4)
///     .name("uploads")
///     .fairness(Fairness::Fifo)
///     .max_waiters(100)
///     .ceiling(16)
///     .build()?;
/// assert_eq!(semaphore.snapshot().ceiling, 16);
/// # Ok::<(), semaphore_core::BuildError>(())
/// ```
#[must_use = "a builder does nothing until `build`"]
pub struct Builder {
    permits: usize,
    ceiling: Option<usize>,
    options: Options,
}

impl Builder {
    pub(crate) fn new(permits: usize) -> Self {
        Self { permits, ceiling: None, options: Options::default() }
    }

    /// Gives it a name, which appears in errors and labels metrics, and makes it keep times and counts.
    ///
    /// ```
    /// let semaphore = semaphore_core::Semaphore::builder(1).name("db").build().unwrap();
    /// assert_eq!(semaphore.name().unwrap(), "db");
    /// ```
    pub fn name(mut self, name: impl Into<Name>) -> Self {
        self.options.name = Some(name.into());
        self
    }

    /// Chooses the fairness mode; [`Fairness::Fifo`] otherwise.
    ///
    /// See the example of [`Fairness`].
    pub fn fairness(mut self, fairness: Fairness) -> Self {
        self.options.fairness = fairness;
        self
    }

    /// Bounds the queue: with `max_waiters` in it a further acquire is `QueueFull`. 0 means that nobody waits.
    ///
    /// ```
    /// let semaphore = semaphore_core::Semaphore::builder(1).max_waiters(0).build().unwrap();
    /// let held = semaphore.try_acquire().unwrap();
    /// assert!(semaphore.blocking_acquire().is_err());
    /// # drop(held);
    /// ```
    pub fn max_waiters(mut self, max_waiters: usize) -> Self {
        self.options.max_waiters = max_waiters;
        self
    }

    /// Sets the most permits there can ever be; a request above it fails, one above the capacity waits.
    ///
    /// ```
    /// let semaphore = semaphore_core::Semaphore::builder(0).ceiling(2).build().unwrap();
    /// assert_eq!(semaphore.capacity(), 0);
    /// ```
    pub fn ceiling(mut self, ceiling: usize) -> Self {
        self.ceiling = Some(ceiling);
        self
    }

    /// Has `observer` told of the turning points of waiters.
    ///
    /// See the example of [`Observer`].
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.options.observer = Some(Arc::new(observer));
        self
    }

    /// Measures how long leases are held: two looks at the clock for each.
    ///
    /// Feeds `fair_semaphore_lease_seconds`, to a tenth of a millisecond.
    ///
    /// ```
    /// let semaphore = semaphore_core::Semaphore::builder(1).name("db").lease_time().build().unwrap();
    /// assert_eq!(semaphore.stats().overdue, 0);
    /// ```
    pub fn lease_time(mut self) -> Self {
        self.options.lease_time = true;
        self
    }

    /// Counts leases held longer than `age` as overdue when they come home; implies
    /// [`lease_time`](Self::lease_time). With the feature `tracing` each is a warning too.
    ///
    /// ```
    /// # use std::time::Duration;
    /// let age = Duration::from_secs(60);
    /// let semaphore = semaphore_core::Semaphore::builder(1).warn_lease_after(age).build().unwrap();
    /// drop(semaphore.try_acquire().unwrap());
    /// assert_eq!(semaphore.stats().overdue, 0);
    /// ```
    pub fn warn_lease_after(mut self, age: Duration) -> Self {
        self.options.overdue_after = age;
        self.lease_time()
    }

    /// Builds the semaphore.
    ///
    /// # Errors
    ///
    /// [`BuildError::NoPermits`] for zero permits without a ceiling, `TooManyPermits` above
    /// [`Semaphore::MAX_PERMITS`], `CeilingTooLow` for a ceiling of zero or below the permits.
    ///
    /// ```
    /// assert!(semaphore_core::Semaphore::builder(3).ceiling(2).build().is_err());
    /// ```
    pub fn build(self) -> Result<Semaphore, BuildError> {
        let Self { permits, ceiling, mut options } = self;
        let name = || options.name.clone();
        let most = ceiling.unwrap_or(permits).max(permits);
        if most > Semaphore::MAX_PERMITS {
            let max = Semaphore::MAX_PERMITS;
            return Err(BuildError::TooManyPermits { name: name(), requested: most, max });
        }
        match ceiling {
            Some(ceiling) if ceiling == 0 || ceiling < permits => {
                return Err(BuildError::CeilingTooLow { name: name(), ceiling, permits });
            }
            None if permits == 0 => return Err(BuildError::NoPermits { name: name() }),
            _ => {}
        }
        options.ceiling = ceiling.unwrap_or(0) as u32;
        let semaphore = Semaphore::from_options(permits as u32, options);
        #[cfg(feature = "metrics")]
        semaphore.bind_metrics();
        Ok(semaphore)
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("permits", &self.permits)
            .field("ceiling", &self.ceiling)
            .field("name", &self.options.name)
            .field("fairness", &self.options.fairness)
            .finish_non_exhaustive()
    }
}
