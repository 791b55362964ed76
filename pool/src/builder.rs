//! How a pool is configured.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use semaphore_core::Semaphore;
use tokio::runtime::Handle;

use crate::engine::IdleOrder;
use crate::erased::DynManager;
use crate::error::{BuildError, HookError};
use crate::hooks::Hooks;
use crate::hub::Hub;
use crate::manager::{BoxFuture, CloseReason, Manager, Meta};
use crate::options::{NestedGet, OnUnwind, Options};
use crate::pool::Pool;

/// Sets the options of a [`Pool`].
///
/// `build` connects nothing and needs no runtime, so a pool may live in a `static`:
///
/// ```
/// use lease_pool::{Pool, manager};
/// use std::time::Duration;
///
/// let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) }))
///     .name("orders")
///     .max(16)
///     .min_idle(2)
///     .acquire_timeout(Duration::from_secs(3))
///     .build()
///     .unwrap();
/// assert_eq!(pool.snapshot().max, 16);
/// ```
#[must_use = "a builder does nothing before `build`"]
pub struct Builder<M: Manager> {
    manager: M,
    pub(crate) options: Options,
    hooks: Hooks<M::Resource>,
}

impl<M: Manager> fmt::Debug for Builder<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("options", &self.options).finish_non_exhaustive()
    }
}

macro_rules! option {
    ($(#[$doc:meta])* $name:ident: $field:ident, $type:ty) => {
        $(#[$doc])*
        pub fn $name(mut self, $name: $type) -> Self {
            self.options.$field = $name;
            self
        }
    };
    ($(#[$doc:meta])* $name:ident: $field:ident, into $type:ty) => {
        $(#[$doc])*
        pub fn $name(mut self, $name: impl Into<$type>) -> Self {
            self.options.$field = $name.into();
            self
        }
    };
}

impl<M: Manager> Builder<M> {
    pub(crate) fn new(manager: M) -> Self {
        Builder { manager, options: Options::default(), hooks: Hooks::default() }
    }

    /// Hides the type of the manager: the pool will be a [`DynPool`](crate::DynPool).
    ///
    /// ```
    /// use lease_pool::{DynPool, Pool, manager};
    /// let builder = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(1_u8) }));
    /// let pool: DynPool<u8> = builder.erase().build().unwrap();
    /// # drop(pool);
    /// ```
    pub fn erase(self) -> Builder<DynManager<M::Resource>> {
        Builder { manager: DynManager::new(self.manager), options: self.options, hooks: self.hooks }
    }

    /// Names the pool in metrics, errors and logs. Without a name there are no metrics.
    ///
    /// ```
    /// # use lease_pool::{Pool, manager};
    /// # let builder = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) }));
    /// let pool = builder.name("orders").build().unwrap();
    /// assert_eq!(pool.name(), Some("orders"));
    /// ```
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.options.name = Some(name.into());
        self
    }

    option! {
        /// The most resources there may be (10).
        ///
        /// ```
        /// # use lease_pool::{Pool, manager};
        /// # let builder = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) }));
        /// assert_eq!(builder.max(3).build().unwrap().snapshot().max, 3);
        /// ```
        max: max, usize
    }
    option! {
        /// How many idle resources the pool keeps ready (0). Filled by the housekeeper, from the first get on.
        ///
        /// ```
        /// # use lease_pool::{Pool, manager};
        /// # let builder = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) }));
        /// assert_eq!(builder.min_idle(2).build().unwrap().snapshot().min_idle, 2);
        /// ```
        min_idle: min_idle, usize
    }
    option! {
        /// One deadline over queue, create and check of a `get` (30 s); `None` waits for ever.
        ///
        /// ```
        /// # use lease_pool::{Pool, manager};
        /// # use std::time::Duration;
        /// # let builder = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) }));
        /// # let _ =
        /// builder.acquire_timeout(Duration::from_secs(2)).acquire_timeout(None);
        /// ```
        acquire_timeout: acquire_timeout, into Option<Duration>
    }
    option! {
        /// How long one create may take, `after_create` included (10 s).
        ///
        /// ```
        /// # use lease_pool::{Pool, manager};
        /// # let builder = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) }));
        /// # let _ =
        /// builder.create_timeout(std::time::Duration::from_secs(3));
        /// ```
        create_timeout: create_timeout, Duration
    }
    option! {
        /// How long one check, and one `before_checkout` hook, may take (5 s).
        ///
        /// ```
        /// # use lease_pool::{Pool, manager};
        /// # let builder = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) }));
        /// # let _ =
        /// builder.check_timeout(std::time::Duration::from_millis(500));
        /// ```
        check_timeout: check_timeout, Duration
    }
    option! {
        /// How long one reset may take (5 s).
        ///
        /// ```
        /// # use lease_pool::{Pool, manager};
        /// # let builder = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) }));
        /// # let _ =
        /// builder.reset_timeout(std::time::Duration::from_secs(1));
        /// ```
        reset_timeout: reset_timeout, Duration
    }
    option! {
        /// How long one close may take before the resource is dropped (5 s).
        ///
        /// ```
        /// # use lease_pool::{Pool, manager};
        /// # let builder = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) }));
        /// # let _ =
        /// builder.close_timeout(std::time::Duration::from_secs(1));
        /// ```
        close_timeout: close_timeout, Duration
    }
    option! {
        /// The most callers that may wait at once; `None`, the default, sets no limit.
        ///
        /// A caller that comes back to the queue through no fault of its own is not refused.
        ///
        /// ```
        /// # use lease_pool::{Pool, manager};
        /// # let builder = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) }));
        /// # let _ =
        /// builder.max_waiters(64);
        /// ```
        max_waiters: max_waiters, into Option<usize>
    }
    option! {
        /// The most creates at once (2).
        ///
        /// ```
        /// # use lease_pool::{Pool, manager};
        /// # let builder = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) }));
        /// # let _ =
        /// builder.create_concurrency(4);
        /// ```
        create_concurrency: create_concurrency, usize
    }
    option! {
        /// The longest life of a resource (30 min); each ends up to 20 % earlier, spread evenly.
        ///
        /// ```
        /// # use lease_pool::{Pool, manager};
        /// # let builder = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) }));
        /// # let _ =
        /// builder.lifetime(std::time::Duration::from_secs(3600)).lifetime(None);
        /// ```
        lifetime: lifetime, into Option<Duration>
    }
    option! {
        /// How long a resource may be idle before it is closed, never going below `min_idle` (10 min).
        ///
        /// ```
        /// # use lease_pool::{Pool, manager};
        /// # let builder = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) }));
        /// # let _ =
        /// builder.idle_timeout(std::time::Duration::from_secs(60)).idle_timeout(None);
        /// ```
        idle_timeout: idle_timeout, into Option<Duration>
    }
    option! {
        /// Checks a resource at checkout if it was idle for longer than this (1 s); `None` never does.
        ///
        /// ```
        /// # use lease_pool::{Pool, manager};
        /// # let builder = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) }));
        /// # let _ =
        /// builder.check_if_idle(std::time::Duration::ZERO).check_if_idle(None);
        /// ```
        check_if_idle: check_if_idle, into Option<Duration>
    }
    option! {
        /// Checks idle resources in the background when their last proof of life is this old (off).
        ///
        /// ```
        /// # use lease_pool::{Pool, manager};
        /// # let builder = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) }));
        /// # let _ =
        /// builder.keepalive(std::time::Duration::from_secs(120));
        /// ```
        keepalive: keepalive, into Option<Duration>
    }
    option! {
        /// Which idle resource is handed out next (the last returned).
        ///
        /// ```
        /// # use lease_pool::{Pool, IdleOrder, manager};
        /// # let builder = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) }));
        /// # let _ =
        /// builder.idle_order(IdleOrder::Fifo);
        /// ```
        idle_order: idle_order, IdleOrder
    }
    option! {
        /// What happens to a resource whose guard is dropped by a panic (it is checked before its next use).
        ///
        /// ```
        /// # use lease_pool::{Pool, OnUnwind, manager};
        /// # let builder = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) }));
        /// # let _ =
        /// builder.on_unwind(OnUnwind::Discard);
        /// ```
        on_unwind: on_unwind, OnUnwind
    }
    option! {
        /// What to do about tasks that hold all resources and wait for more (warn).
        ///
        /// ```
        /// # use lease_pool::{Pool, NestedGet, manager};
        /// # let builder = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) }));
        /// # let _ =
        /// builder.nested_get(NestedGet::Deny);
        /// ```
        nested_get: nested_get, NestedGet
    }
    option! {
        /// Reports a resource that is out for longer than this, once per checkout (off).
        ///
        /// It is counted in [`Stats::leak_warnings`](crate::Stats::leak_warnings); with the feature `tracing`
        /// there is a WARN with the line that asked for it.
        ///
        /// ```
        /// # use lease_pool::{Pool, manager};
        /// # let builder = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) }));
        /// # let _ =
        /// builder.leak_warning_after(std::time::Duration::from_secs(60));
        /// ```
        leak_warning_after: leak_warning_after, into Option<Duration>
    }
    option! {
        /// Runs the housekeeper here; without it, on the runtime of the first get.
        ///
        /// ```
        /// # #[tokio::main(flavor = "current_thread")] async fn main() {
        /// # use lease_pool::{Pool, manager};
        /// # let builder = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) }));
        /// # let _ =
        /// builder.runtime(tokio::runtime::Handle::current());
        /// # }
        /// ```
        runtime: runtime, into Option<Handle>
    }

    /// Exports how long resources are out, as `fair_semaphore_lease_seconds` (off: two clock reads per use).
    ///
    /// Needs a name.
    ///
    /// ```
    /// # use lease_pool::{Pool, manager};
    /// # let builder = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) }));
    /// # let _ =
    /// builder.name("timed").lease_time();
    /// ```
    pub fn lease_time(mut self) -> Self {
        self.options.lease_time = true;
        self
    }

    /// The shortest and longest pause after a failed create (50 ms, 5 s), doubled by each failure, full jitter.
    ///
    /// ```
    /// # use lease_pool::{Pool, manager};
    /// # use std::time::Duration;
    /// # let builder = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) }));
    /// # let _ =
    /// builder.backoff(Duration::from_millis(10), Duration::from_secs(1));
    /// ```
    pub fn backoff(mut self, min: Duration, max: Duration) -> Self {
        self.options.backoff_min = min;
        self.options.backoff_max = max;
        self
    }
}

mod finish;
mod hooks;
