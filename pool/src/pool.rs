//! The pool's handle.

mod control;
mod drain;
mod hold;
mod wait;

use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

pub use drain::DrainReport;
pub use wait::WarmUp;

use crate::builder::Builder;
use crate::deadline::Deadline;
use crate::error::{BuildError, TryGetError};
use crate::get::{Get, Patience};
use crate::hub::Hub;
use crate::manager::Manager;
use crate::pooled::Pooled;
use crate::registry;

/// A pool of resources, handed out in the order of arrival.
///
/// # What a clone shares
///
/// Everything: a clone is another handle of the same pool. When the last handle is dropped the pool closes;
/// resources that are out are closed when they come home.
///
/// # Fairness
///
/// Strictly first come, first served, whoever's demand started a create. A caller that loses its place through
/// no fault of its own (its resource failed the check, or it did not look at its grant in time) stands again
/// where it stood.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use lease_pool::{Pool, manager};
///
/// let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(String::from("resource")) }))
///     .max(4)
///     .build()
///     .unwrap();
/// let resource = pool.get().await.unwrap();
/// assert_eq!(*resource, "resource");
/// # }
/// ```
pub struct Pool<M: Manager> {
    handle: Arc<Handle<M>>,
}

/// Closes the pool when the last clone of it goes.
struct Handle<M: Manager> {
    hub: Arc<Hub<M>>,
}

impl<M: Manager> Drop for Handle<M> {
    fn drop(&mut self) {
        self.hub.close();
        registry::leave(self.hub.name());
    }
}

impl<M: Manager> Clone for Pool<M> {
    fn clone(&self) -> Self {
        Pool { handle: Arc::clone(&self.handle) }
    }
}

impl<M: Manager> fmt::Debug for Pool<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pool").field(&self.snapshot()).finish()
    }
}

impl<M: Manager> Pool<M> {
    /// Starts the configuration of a pool.
    ///
    /// ```
    /// use lease_pool::{Pool, manager};
    /// let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) })).build().unwrap();
    /// assert_eq!(pool.snapshot().max, 10);
    /// ```
    pub fn builder(manager: M) -> Builder<M> {
        Builder::new(manager)
    }

    pub(crate) fn of(hub: Arc<Hub<M>>) -> Result<Self, BuildError> {
        registry::enter(hub.name())?;
        hub.bind_metrics();
        Ok(Pool { handle: Arc::new(Handle { hub }) })
    }

    pub(crate) fn hub(&self) -> &Arc<Hub<M>> {
        &self.handle.hub
    }

    /// Waits for a resource, at most for the pool's acquire timeout.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future at any point loses no resource: a queued caller leaves the queue, a grant goes to the
    /// next caller, a create goes on for others, and a resource whose check is cut off follows the manager's
    /// [`cancel_safety`](Manager::cancel_safety).
    ///
    /// # Errors
    ///
    /// [`GetError`](crate::GetError) says what the caller was waiting for and who holds the resources.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # use lease_pool::{Pool, manager};
    /// # let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(1) })).build().unwrap();
    /// assert_eq!(*pool.get().await.unwrap(), 1);
    /// # }
    /// ```
    #[track_caller]
    pub fn get(&self) -> Get<'_, M> {
        Get::new(self.hub(), Patience::Default, Location::caller())
    }

    /// Waits for a resource, at most this long.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # use lease_pool::{Pool, manager};
    /// # let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(1) })).build().unwrap();
    /// assert!(pool.get_timeout(std::time::Duration::from_secs(1)).await.is_ok());
    /// # }
    /// ```
    #[track_caller]
    pub fn get_timeout(&self, timeout: Duration) -> Get<'_, M> {
        Get::new(self.hub(), Patience::Until(Deadline::from(timeout)), Location::caller())
    }

    /// Waits for a resource until this instant of tokio's clock.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # use lease_pool::{Pool, manager};
    /// # let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(1) })).build().unwrap();
    /// let soon = tokio::time::Instant::now() + std::time::Duration::from_secs(1);
    /// assert!(pool.get_until(soon).await.is_ok());
    /// # }
    /// ```
    #[track_caller]
    pub fn get_until(&self, deadline: Instant) -> Get<'_, M> {
        Get::new(self.hub(), Patience::Until(Deadline::from(deadline)), Location::caller())
    }

    /// Takes an idle resource that needs no check, or says why there is none. Starts nothing.
    ///
    /// ```
    /// use lease_pool::{Pool, TryGetError, manager};
    /// let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(1) })).build().unwrap();
    /// assert_eq!(pool.try_get().unwrap_err(), TryGetError::Empty);
    /// pool.add(2).unwrap();
    /// assert_eq!(*pool.try_get().unwrap(), 2);
    /// ```
    #[track_caller]
    pub fn try_get(&self) -> Result<Pooled<M>, TryGetError> {
        self.hub().try_get(Location::caller())
    }

    /// The name given to the builder.
    ///
    /// ```
    /// # use lease_pool::{Pool, manager};
    /// # let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(1) })).build().unwrap();
    /// assert_eq!(pool.name(), None);
    /// ```
    pub fn name(&self) -> Option<&str> {
        self.hub().name()
    }

    /// The manager given to the builder.
    ///
    /// ```
    /// # use lease_pool::{Pool, Manager, manager};
    /// # let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(1) })).build().unwrap();
    /// assert!(!pool.manager().is_broken(&1));
    /// ```
    pub fn manager(&self) -> &M {
        &self.hub().manager
    }

    /// One consistent view of the pool.
    ///
    /// ```
    /// # use lease_pool::{Pool, manager};
    /// # let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(1) })).build().unwrap();
    /// assert_eq!(pool.snapshot().vacant, 10);
    /// ```
    pub fn snapshot(&self) -> crate::Snapshot {
        self.hub().snapshot_of(&self.hub().lock())
    }

    /// The running totals.
    ///
    /// ```
    /// # use lease_pool::{Pool, manager};
    /// # let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(1) })).build().unwrap();
    /// assert_eq!(pool.stats().created, 0);
    /// ```
    pub fn stats(&self) -> crate::Stats {
        self.hub().stats()
    }
}
