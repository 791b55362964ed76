//! Why a caller got no resource.

use std::error::Error;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use super::CreateError;
use crate::manager::ResourceId;
use crate::snapshot::Snapshot;

/// Why [`Pool::get`](crate::Pool::get) failed.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
/// use lease_pool::{GetError, Phase, Pool, manager};
/// use std::time::Duration;
///
/// let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) })).max(1).build().unwrap();
/// let held = pool.get().await.unwrap();
/// match pool.get_timeout(Duration::from_millis(20)).await.unwrap_err() {
///     GetError::Timeout { phase, holders, .. } => {
///         assert_eq!(phase, Phase::Queued);
///         assert_eq!(holders.total(), 1);
///     }
///     other => panic!("{other}"),
/// }
/// # drop(held);
/// # }
/// ```
#[non_exhaustive]
pub enum GetError<E> {
    /// The deadline has passed.
    Timeout {
        /// What the caller was waiting for.
        phase: Phase,
        /// How long it waited.
        waited: Duration,
        /// The pool at that moment.
        snapshot: Box<Snapshot>,
        /// Who holds the resources.
        holders: Holders,
        /// The last failure, if the last create failed.
        last_create_error: Option<Box<CreateError<E>>>,
    },
    /// A create failed in a way that trying again cannot mend, and no resource is alive.
    Create(CreateError<E>),
    /// Creates keep failing and no resource is alive.
    Unavailable {
        /// When the pool tries again.
        retry_in: Duration,
        /// The last failure.
        last: CreateError<E>,
    },
    /// `max_waiters` callers are queued already.
    QueueFull,
    /// Everybody who holds a resource waits for another one.
    WouldDeadlock {
        /// Who holds the resources.
        holders: Holders,
    },
    /// The pool is paused and told its callers to fail.
    Paused,
    /// The pool is closed.
    Closed,
    /// The caller has to wait, and there is no tokio runtime to run the pool's housekeeper on.
    NoRuntime,
    /// `blocking_get` was called on a thread that drives a tokio runtime and must not block.
    InsideRuntime,
}

impl<E> GetError<E> {
    /// The deadline has passed.
    ///
    /// ```
    /// use lease_pool::GetError;
    /// assert!(!GetError::<std::io::Error>::Closed.is_timeout());
    /// ```
    pub fn is_timeout(&self) -> bool {
        matches!(self, GetError::Timeout { .. })
    }

    /// The pool is closed.
    ///
    /// ```
    /// use lease_pool::GetError;
    /// assert!(GetError::<std::io::Error>::Closed.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        matches!(self, GetError::Closed)
    }
}

impl<E: fmt::Debug> fmt::Debug for GetError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GetError::Timeout { phase, waited, snapshot, holders, last_create_error } => f
                .debug_struct("Timeout")
                .field("phase", phase)
                .field("waited", waited)
                .field("snapshot", snapshot)
                .field("holders", holders)
                .field("last_create_error", last_create_error)
                .finish(),
            GetError::Create(cause) => f.debug_tuple("Create").field(cause).finish(),
            GetError::Unavailable { retry_in, last } => {
                f.debug_struct("Unavailable").field("retry_in", retry_in).field("last", last).finish()
            }
            GetError::QueueFull => f.write_str("QueueFull"),
            GetError::WouldDeadlock { holders } => {
                f.debug_struct("WouldDeadlock").field("holders", holders).finish()
            }
            GetError::Paused => f.write_str("Paused"),
            GetError::Closed => f.write_str("Closed"),
            GetError::NoRuntime => f.write_str("NoRuntime"),
            GetError::InsideRuntime => f.write_str("InsideRuntime"),
        }
    }
}

impl<E: fmt::Display> fmt::Display for GetError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GetError::Timeout { phase, waited, snapshot, holders, last_create_error } => {
                let name = snapshot.name.as_deref().unwrap_or("the pool");
                write!(
                    f,
                    "{name} had no resource within {waited:?} ({phase}): {} of {} in use, {} waiting",
                    snapshot.leased, snapshot.max, snapshot.waiters
                )?;
                if holders.total() > 0 {
                    write!(f, "; held by {holders}")?;
                }
                match last_create_error {
                    Some(cause) => write!(f, "; last failure: {cause}"),
                    None => Ok(()),
                }
            }
            GetError::Create(cause) => write!(f, "no resource is alive and {cause}"),
            GetError::Unavailable { retry_in, last } => {
                write!(f, "no resource is alive, next attempt in {retry_in:?}: {last}")
            }
            GetError::QueueFull => f.write_str("the queue of the pool is full"),
            GetError::WouldDeadlock { holders } => {
                write!(f, "every holder of a resource waits for another one: {holders}")
            }
            GetError::Paused => f.write_str("the pool is paused"),
            GetError::Closed => f.write_str("the pool is closed"),
            GetError::NoRuntime => f.write_str(
                "the caller has to wait and there is no tokio runtime: give the builder a runtime handle",
            ),
            GetError::InsideRuntime => {
                f.write_str("blocking_get would block a thread of the tokio runtime: use get instead")
            }
        }
    }
}

impl<E: Error + 'static> Error for GetError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            GetError::Create(cause) | GetError::Unavailable { last: cause, .. } => cause.source(),
            GetError::Timeout { last_create_error: Some(cause), .. } => cause.source(),
            _ => None,
        }
    }
}

/// What a caller was waiting for when its deadline passed.
///
/// ```
/// assert_eq!(lease_pool::Phase::Checking.to_string(), "while its resource was checked");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// A return: all resources were with other callers.
    Queued,
    /// A create.
    Creating,
    /// The check or the `before_checkout` hook of the resource it had been given.
    Checking,
    /// The reset of a returned resource.
    Reset,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Phase::Queued => "queued",
            Phase::Creating => "while a resource was created",
            Phase::Checking => "while its resource was checked",
            Phase::Reset => "while a resource was reset",
        })
    }
}

/// One resource in use, and who took it.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use lease_pool::{Pool, manager};
/// let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) })).build().unwrap();
/// let held = pool.get().await.unwrap();
/// let holder = &pool.holders()[0];
/// assert!(holder.place.unwrap().file().ends_with(".rs"));
/// # drop(held);
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// The resource.
    pub id: ResourceId,
    /// The line that asked for it.
    pub place: Option<&'static Location<'static>>,
    /// How long it has been out.
    pub age: Duration,
    /// The tokio task that took it, `None` outside of tasks.
    pub task: Option<tokio::task::Id>,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some(place) => write!(f, "{place} for {:?}", self.age),
            None => write!(f, "unknown place for {:?}", self.age),
        }
    }
}

/// The oldest holders, at most [`Holders::LISTED`], and how many there are.
///
/// ```
/// assert_eq!(lease_pool::Holders::LISTED, 16);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holders {
    pub(crate) oldest: Arc<[Holder]>,
    pub(crate) total: usize,
}

impl Holders {
    /// How many holders are listed at most.
    pub const LISTED: usize = 16;

    /// The holders that have had their resource longest, oldest first.
    pub fn oldest(&self) -> &[Holder] {
        &self.oldest
    }

    /// How many holders there are.
    pub fn total(&self) -> usize {
        self.total
    }
}

impl fmt::Display for Holders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, holder) in self.oldest.iter().enumerate() {
            let comma = if position == 0 { "" } else { ", " };
            write!(f, "{comma}{holder}")?;
        }
        match self.total - self.oldest.len() {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}
