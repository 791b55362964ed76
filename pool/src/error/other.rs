//! Errors of everything but `get`.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Why [`Pool::try_get`](crate::Pool::try_get) has no resource to give.
///
/// ```
/// # fn main() {
/// use lease_pool::{Pool, TryGetError, manager};
/// let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) })).build().unwrap();
/// assert_eq!(pool.try_get().unwrap_err(), TryGetError::Empty);
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TryGetError {
    /// No resource is idle.
    Empty,
    /// The idle resource is due for a check, which needs `get`.
    NeedsCheck,
    /// Others wait already, and nobody passes them.
    Waiters,
    /// The pool is paused.
    Paused,
    /// The pool is closed.
    Closed,
}

impl fmt::Display for TryGetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TryGetError::Empty => "no resource is idle",
            TryGetError::NeedsCheck => "the idle resource is due for a check",
            TryGetError::Waiters => "others wait already",
            TryGetError::Paused => "the pool is paused",
            TryGetError::Closed => "the pool is closed",
        })
    }
}

impl Error for TryGetError {}

/// Why [`Pool::add`](crate::Pool::add) did not take a resource; it is in the error.
///
/// ```
/// use lease_pool::{Pool, manager};
/// let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(1) })).max(1).build().unwrap();
/// pool.add(2).unwrap();
/// assert_eq!(pool.add(3).unwrap_err().into_resource(), 3);
/// ```
#[non_exhaustive]
pub enum AddError<R> {
    /// Every slot is taken.
    Full(R),
    /// The pool is closed.
    Closed(R),
}

impl<R> AddError<R> {
    /// The resource that was not taken.
    pub fn into_resource(self) -> R {
        match self {
            AddError::Full(resource) | AddError::Closed(resource) => resource,
        }
    }
}

impl<R> fmt::Debug for AddError<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AddError::Full(_) => "Full",
            AddError::Closed(_) => "Closed",
        })
    }
}

impl<R> fmt::Display for AddError<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AddError::Full(_) => "every slot of the pool is taken",
            AddError::Closed(_) => "the pool is closed",
        })
    }
}

impl<R> Error for AddError<R> {}

/// Why [`Builder::build`](crate::Builder::build) refuses its options.
///
/// ```
/// use lease_pool::{BuildError, Pool, manager};
/// let builder = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) }));
/// assert!(matches!(builder.max(2).min_idle(3).build(), Err(BuildError::MinIdle { min_idle: 3, max: 2, .. })));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// `max` is 0 or more than a semaphore can count.
    #[non_exhaustive]
    Max {
        /// The name of the pool.
        name: Option<Arc<str>>,
        /// What was asked for.
        max: usize,
        /// The most there can be.
        limit: usize,
    },
    /// `min_idle` is above `max`.
    #[non_exhaustive]
    MinIdle {
        /// The name of the pool.
        name: Option<Arc<str>>,
        /// What was asked for.
        min_idle: usize,
        /// The pool's maximum.
        max: usize,
    },
    /// An option is zero that must not be.
    #[non_exhaustive]
    Zero {
        /// The name of the pool.
        name: Option<Arc<str>>,
        /// The option.
        option: &'static str,
    },
    /// The shortest backoff is above the longest.
    #[non_exhaustive]
    Backoff {
        /// The name of the pool.
        name: Option<Arc<str>>,
        /// The shortest.
        min: Duration,
        /// The longest.
        max: Duration,
    },
    /// A living pool has this name already, so their metrics could not be told apart.
    #[non_exhaustive]
    NameTaken {
        /// The name.
        name: Arc<str>,
    },
}

struct Named<'a>(&'a Option<Arc<str>>);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(name) => write!(f, "pool {name}"),
            None => f.write_str("pool"),
        }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Max { name, max, limit } => {
                write!(f, "{}: max is {max}, it has to be 1 to {limit}", Named(name))
            }
            BuildError::MinIdle { name, min_idle, max } => {
                write!(f, "{}: min_idle is {min_idle}, above the maximum of {max}", Named(name))
            }
            BuildError::Zero { name, option } => write!(f, "{}: {option} is zero", Named(name)),
            BuildError::Backoff { name, min, max } => {
                write!(f, "{}: the shortest backoff {min:?} is above the longest {max:?}", Named(name))
            }
            BuildError::NameTaken { name } => write!(f, "pool {name}: a living pool has this name"),
        }
    }
}

impl Error for BuildError {}

/// Why [`Pool::resize`](crate::Pool::resize) changed nothing.
///
/// ```
/// use lease_pool::{Pool, ResizeError, manager};
/// let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) })).build().unwrap();
/// assert!(matches!(pool.resize(0), Err(ResizeError::Max { max: 0, .. })));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResizeError {
    /// `max` is 0 or more than a semaphore can count.
    #[non_exhaustive]
    Max {
        /// What was asked for.
        max: usize,
        /// The most there can be.
        limit: usize,
    },
}

impl fmt::Display for ResizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResizeError::Max { max, limit } => write!(f, "max is {max}, it has to be 1 to {limit}"),
        }
    }
}

impl Error for ResizeError {}
