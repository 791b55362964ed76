//! The options of a pool and their defaults.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;

use crate::engine::IdleOrder;

/// How long a grant may lie unclaimed while others wait.
pub(crate) const CLAIM_WITHIN: Duration = Duration::from_millis(100);

/// What happens to a resource whose guard is dropped by a panic.
///
/// ```
/// assert_eq!(lease_pool::OnUnwind::default(), lease_pool::OnUnwind::Recheck);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnUnwind {
    /// It is checked before its next use.
    #[default]
    Recheck,
    /// It is closed.
    Discard,
    /// It goes back like any other.
    Return,
}

/// What the pool does about tasks that hold all resources and wait for more.
///
/// ```
/// assert_eq!(lease_pool::NestedGet::default(), lease_pool::NestedGet::Warn);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum NestedGet {
    /// Nothing: they wait for their deadline.
    Allow,
    /// It is counted in [`Stats::nested_gets`](crate::Stats::nested_gets) and, with the feature `tracing`, logged once per place.
    #[default]
    Warn,
    /// One of them fails with [`GetError::WouldDeadlock`](crate::GetError::WouldDeadlock). For code that never
    /// drives several gets of one task at once (`join!`, `select!`), which looks the same.
    Deny,
}

/// Everything that the builder decides, except the hooks.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) name: Option<Arc<str>>,
    pub(crate) max: usize,
    pub(crate) min_idle: usize,
    pub(crate) acquire_timeout: Option<Duration>,
    pub(crate) create_timeout: Duration,
    pub(crate) check_timeout: Duration,
    pub(crate) reset_timeout: Duration,
    pub(crate) close_timeout: Duration,
    pub(crate) max_waiters: Option<usize>,
    pub(crate) create_concurrency: usize,
    pub(crate) lifetime: Option<Duration>,
    pub(crate) idle_timeout: Option<Duration>,
    pub(crate) check_if_idle: Option<Duration>,
    pub(crate) keepalive: Option<Duration>,
    pub(crate) backoff_min: Duration,
    pub(crate) backoff_max: Duration,
    pub(crate) idle_order: IdleOrder,
    pub(crate) on_unwind: OnUnwind,
    pub(crate) nested_get: NestedGet,
    pub(crate) leak_warning_after: Option<Duration>,
    pub(crate) lease_time: bool,
    pub(crate) runtime: Option<Handle>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            name: None,
            max: 10,
            min_idle: 0,
            acquire_timeout: Some(Duration::from_secs(30)),
            create_timeout: Duration::from_secs(10),
            check_timeout: Duration::from_secs(5),
            reset_timeout: Duration::from_secs(5),
            close_timeout: Duration::from_secs(5),
            max_waiters: None,
            create_concurrency: 2,
            lifetime: Some(Duration::from_secs(30 * 60)),
            idle_timeout: Some(Duration::from_secs(10 * 60)),
            check_if_idle: Some(Duration::from_secs(1)),
            keepalive: None,
            backoff_min: Duration::from_millis(50),
            backoff_max: Duration::from_secs(5),
            idle_order: IdleOrder::Lifo,
            on_unwind: OnUnwind::Recheck,
            nested_get: NestedGet::Warn,
            leak_warning_after: None,
            lease_time: false,
            runtime: None,
        }
    }
}
