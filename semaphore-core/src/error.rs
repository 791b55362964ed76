//! Errors, by hand: each says which semaphore, which numbers, and what can be done.

use std::fmt;
use std::time::Duration;

use crate::Name;

/// Writes `semaphore "name"` or `semaphore`.
struct Which<'a>(&'a Option<Name>);

impl fmt::Display for Which<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(name) => write!(f, "semaphore {name:?}"),
            None => f.write_str("semaphore"),
        }
    }
}

/// Why an acquire that may wait ended without a lease.
///
/// When several reasons hold at once the first of `Closed`, `TooLarge`, `QueueFull` is reported.
///
/// # Examples
///
/// ```
/// use semaphore_core::{AcquireError, Semaphore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let semaphore = Semaphore::new_named("uploads", 2);
/// match semaphore.acquire_many(3).await {
///     Err(AcquireError::TooLarge { requested, ceiling, .. }) => assert_eq!((requested, ceiling), (3, 2)),
///     other => panic!("{other:?}"),
/// }
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AcquireError {
    /// The semaphore is closed, or was closed while this acquire waited.
    #[non_exhaustive]
    Closed {
        /// Name of the semaphore.
        name: Option<Name>,
    },
    /// More permits were asked for than there can ever be.
    #[non_exhaustive]
    TooLarge {
        /// Name of the semaphore.
        name: Option<Name>,
        /// Permits asked for.
        requested: usize,
        /// The most permits there can be.
        ceiling: usize,
    },
    /// The queue holds `max_waiters` already.
    #[non_exhaustive]
    QueueFull {
        /// Name of the semaphore.
        name: Option<Name>,
        /// The most waiters the queue takes.
        max_waiters: usize,
    },
    /// The deadline passed before the permits were granted.
    #[non_exhaustive]
    TimedOut {
        /// Name of the semaphore.
        name: Option<Name>,
        /// Time spent in the queue; zero when the deadline had passed on entry.
        waited: Duration,
    },
    /// The [`Interrupt`](crate::Interrupt) of a blocking acquire was fired.
    #[non_exhaustive]
    Interrupted {
        /// Name of the semaphore.
        name: Option<Name>,
    },
    /// The rejoin token comes from another semaphore.
    #[non_exhaustive]
    Foreign {
        /// Name of the semaphore that was asked.
        name: Option<Name>,
    },
}

impl AcquireError {
    /// Name of the semaphore, when it has one.
    ///
    /// ```
    /// # use semaphore_core::Semaphore;
    /// let semaphore = Semaphore::new_named("uploads", 1);
    /// semaphore.close();
    /// let error = semaphore.blocking_acquire().unwrap_err();
    /// assert_eq!(error.name().unwrap(), "uploads");
    /// ```
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Closed { name }
            | Self::TooLarge { name, .. }
            | Self::QueueFull { name, .. }
            | Self::TimedOut { name, .. }
            | Self::Interrupted { name }
            | Self::Foreign { name } => name.as_deref(),
        }
    }
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed { name } => write!(f, "{} is closed", Which(name)),
            Self::TooLarge { name, requested, ceiling } => {
                write!(f, "{} can never have {requested} permits, its ceiling is {ceiling}", Which(name))
            }
            Self::QueueFull { name, max_waiters } => {
                write!(f, "the queue of {} is full with {max_waiters} waiters", Which(name))
            }
            Self::TimedOut { name, waited } => {
                write!(f, "timed out waiting for {} after {waited:?}", Which(name))
            }
            Self::Interrupted { name } => write!(f, "interrupted while waiting for {}", Which(name)),
            Self::Foreign { name } => write!(f, "the rejoin token was not given out by this {}", Which(name)),
        }
    }
}

impl std::error::Error for AcquireError {}

/// Why a try, which never waits, got nothing.
///
/// # Examples
///
/// ```
/// use semaphore_core::{Semaphore, TryAcquireError};
///
/// let semaphore = Semaphore::new(1);
/// let held = semaphore.try_acquire().unwrap();
/// assert!(matches!(
///     semaphore.try_acquire(),
///     Err(TryAcquireError::NoPermits { requested: 1, available: 0, .. })
/// ));
/// # drop(held);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TryAcquireError {
    /// The semaphore is closed.
    #[non_exhaustive]
    Closed {
        /// Name of the semaphore.
        name: Option<Name>,
    },
    /// More permits were asked for than there can ever be.
    #[non_exhaustive]
    TooLarge {
        /// Name of the semaphore.
        name: Option<Name>,
        /// Permits asked for.
        requested: usize,
        /// The most permits there can be.
        ceiling: usize,
    },
    /// Too few permits are free, or somebody waits for them already.
    #[non_exhaustive]
    NoPermits {
        /// Name of the semaphore.
        name: Option<Name>,
        /// Permits asked for.
        requested: usize,
        /// Permits free at that moment; may exceed `requested` when waiters have precedence.
        available: usize,
    },
}

impl fmt::Display for TryAcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed { name } => write!(f, "{} is closed", Which(name)),
            Self::TooLarge { name, requested, ceiling } => {
                write!(f, "{} can never have {requested} permits, its ceiling is {ceiling}", Which(name))
            }
            Self::NoPermits { name, requested, available } if available < requested => {
                write!(f, "{} has {available} free permits, {requested} were asked for", Which(name))
            }
            Self::NoPermits { name, .. } => write!(f, "the free permits of {} go to its queue", Which(name)),
        }
    }
}

impl std::error::Error for TryAcquireError {}

/// Why a semaphore or a queue cannot be built from these numbers.
///
/// # Examples
///
/// ```
/// use semaphore_core::{BuildError, Semaphore};
///
/// assert!(matches!(Semaphore::try_new(0), Err(BuildError::NoPermits { .. })));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// No permits, and no ceiling that would let some come later.
    #[non_exhaustive]
    NoPermits {
        /// Name of the semaphore.
        name: Option<Name>,
    },
    /// More than [`MAX_PERMITS`](crate::Semaphore::MAX_PERMITS).
    #[non_exhaustive]
    TooManyPermits {
        /// Name of the semaphore.
        name: Option<Name>,
        /// Permits or ceiling asked for.
        requested: usize,
        /// The limit.
        max: usize,
    },
    /// The ceiling is zero or below the permits to start with.
    #[non_exhaustive]
    CeilingTooLow {
        /// Name of the semaphore.
        name: Option<Name>,
        /// Ceiling asked for.
        ceiling: usize,
        /// Permits to start with.
        permits: usize,
    },
    /// A bounded queue cannot have this capacity.
    #[non_exhaustive]
    Capacity {
        /// Capacity asked for.
        requested: usize,
        /// The largest capacity.
        max: usize,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPermits { name } => write!(f, "{} needs at least one permit", Which(name)),
            Self::TooManyPermits { name, requested, max } => {
                write!(f, "{} cannot have {requested} permits, the most is {max}", Which(name))
            }
            Self::CeilingTooLow { name, ceiling, permits } => {
                write!(f, "the ceiling {ceiling} of {} is zero or below its {permits} permits", Which(name))
            }
            Self::Capacity { requested, max } => {
                write!(f, "a queue cannot have capacity {requested}, it must be from 1 to {max}")
            }
        }
    }
}

impl std::error::Error for BuildError {}

/// Why a change of capacity or ceiling was refused. Nothing has changed then.
///
/// # Examples
///
/// ```
/// use semaphore_core::{ResizeError, Semaphore};
///
/// let semaphore = Semaphore::builder(2).ceiling(4).build().unwrap();
/// assert!(matches!(
///     semaphore.add_permits(3),
///     Err(ResizeError::AboveCeiling { requested: 5, ceiling: 4, .. })
/// ));
/// assert_eq!(semaphore.capacity(), 2);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResizeError {
    /// The capacity would exceed an explicit ceiling, or
    /// [`MAX_PERMITS`](crate::Semaphore::MAX_PERMITS) where there is none.
    #[non_exhaustive]
    AboveCeiling {
        /// Name of the semaphore.
        name: Option<Name>,
        /// The capacity that would have resulted.
        requested: usize,
        /// The ceiling.
        ceiling: usize,
    },
    /// The capacity would become zero, which needs an explicit ceiling.
    #[non_exhaustive]
    Zero {
        /// Name of the semaphore.
        name: Option<Name>,
    },
    /// More permits were to be removed than there are.
    #[non_exhaustive]
    BelowZero {
        /// Name of the semaphore.
        name: Option<Name>,
        /// Permits to be removed.
        requested: usize,
        /// The capacity.
        capacity: usize,
    },
    /// The new ceiling is zero or below the capacity.
    #[non_exhaustive]
    CeilingTooLow {
        /// Name of the semaphore.
        name: Option<Name>,
        /// Ceiling asked for.
        ceiling: usize,
        /// The capacity.
        capacity: usize,
    },
}

impl fmt::Display for ResizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AboveCeiling { name, requested, ceiling } => {
                write!(f, "{} cannot grow to {requested} permits, its ceiling is {ceiling}", Which(name))
            }
            Self::Zero { name } => {
                write!(f, "{} has no explicit ceiling and therefore keeps at least one permit", Which(name))
            }
            Self::BelowZero { name, requested, capacity } => {
                write!(f, "cannot remove {requested} of the {capacity} permits of {}", Which(name))
            }
            Self::CeilingTooLow { name, ceiling, capacity } => {
                write!(f, "the ceiling {ceiling} of {} is zero or below its {capacity} permits", Which(name))
            }
        }
    }
}

impl std::error::Error for ResizeError {}

/// A merge of leases of two different semaphores, refused; holds the lease that was to be merged in.
///
/// # Examples
///
/// ```
/// use semaphore_core::Semaphore;
///
/// let (one, other) = (Semaphore::new(1), Semaphore::new(1));
/// let mut lease = one.try_acquire().unwrap();
/// let error = lease.merge(other.try_acquire().unwrap()).unwrap_err();
/// assert_eq!(other.available_permits(), 0);
/// error.into_lease().release();
/// assert_eq!(other.available_permits(), 1);
/// ```
pub struct MergeError<L> {
    pub(crate) lease: L,
}

impl<L> MergeError<L> {
    /// The lease that was not merged.
    ///
    /// See the example of [`MergeError`].
    pub fn into_lease(self) -> L {
        self.lease
    }
}

impl<L> fmt::Debug for MergeError<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MergeError").finish_non_exhaustive()
    }
}

impl<L> fmt::Display for MergeError<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the leases belong to different semaphores")
    }
}

impl<L> std::error::Error for MergeError<L> {}
