//! What the pool tells a manager with each call.

use std::fmt;
use std::panic::Location;
use std::time::Duration;

use tokio::time::Instant;

/// The number of a resource, unique within its pool and never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceId(pub(crate) u64);

impl ResourceId {
    /// The number itself, counted from 1.
    ///
    /// ```no_run
    /// # fn f(id: lease_pool::manager::ResourceId) {
    /// assert!(id.get() >= 1);
    /// # }
    /// ```
    pub fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// What the pool remembers about one resource.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use lease_pool::{Pool, Pooled, manager};
/// let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(7) })).build().unwrap();
/// let seven = pool.get().await.unwrap();
/// assert_eq!(Pooled::meta(&seven).uses(), 1);
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Meta {
    pub(crate) id: ResourceId,
    pub(crate) generation: u64,
    pub(crate) created: Instant,
    pub(crate) verified: Instant,
    pub(crate) last_used: Instant,
    pub(crate) uses: u64,
    pub(crate) place: Option<&'static Location<'static>>,
}

impl Meta {
    /// The number of the resource.
    pub fn id(&self) -> ResourceId {
        self.id
    }

    /// How often the pool had been invalidated when this resource was made.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// When it was created, by tokio's clock.
    pub fn created(&self) -> Instant {
        self.created
    }

    /// When a create or a check last succeeded on it.
    pub fn last_verified(&self) -> Instant {
        self.verified
    }

    /// When it was last returned; its creation if it never was.
    pub fn last_used(&self) -> Instant {
        self.last_used
    }

    /// How many checkouts it has served, the present one included.
    pub fn uses(&self) -> u64 {
        self.uses
    }

    /// The line that asked for it last.
    pub fn checked_out_at(&self) -> Option<&'static Location<'static>> {
        self.place
    }
}

/// Passed to [`Manager::create`](crate::Manager::create).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CreateContext<'a> {
    /// The name of the pool.
    pub pool: Option<&'a str>,
    /// The number the resource will have.
    pub id: ResourceId,
    /// How many creates have failed in a row before this one.
    pub failures: u32,
    /// How long the pool waits for this create before it drops it.
    pub timeout: Duration,
}

/// Passed to [`Manager::check`](crate::Manager::check).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CheckContext<'a> {
    /// The name of the pool.
    pub pool: Option<&'a str>,
    /// What the pool knows about the resource.
    pub meta: &'a Meta,
    /// Why it is checked.
    pub reason: CheckReason,
    /// How long the pool waits for this check before it drops it.
    pub timeout: Duration,
}

/// Why a resource is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CheckReason {
    /// It was idle for longer than `check_if_idle_for`.
    Idle,
    /// A use, check, reset or hook of it was cut off.
    CutOff,
    /// Another resource was found broken after this one was last verified.
    Suspect,
    /// The keepalive interval has passed.
    Keepalive,
}

/// Passed to [`Manager::reset`](crate::Manager::reset).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ResetContext<'a> {
    /// The name of the pool.
    pub pool: Option<&'a str>,
    /// What the pool knows about the resource.
    pub meta: &'a Meta,
    /// How long the pool waits for this reset before it drops it.
    pub timeout: Duration,
}

/// Passed to [`Manager::close`](crate::Manager::close).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CloseContext<'a> {
    /// The name of the pool.
    pub pool: Option<&'a str>,
    /// What the pool knows about the resource.
    pub meta: &'a Meta,
    /// Why it is closed.
    pub reason: CloseReason,
    /// How long the pool waits for this close before it drops it.
    pub timeout: Duration,
}

/// Why a resource left the pool; the `reason` label of `fair_pool_closed_total`.
///
/// ```
/// use lease_pool::manager::CloseReason;
/// assert_eq!(CloseReason::MaxLifetime.as_str(), "max_lifetime");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CloseReason {
    /// `is_broken` said so.
    Broken,
    /// A check failed, timed out, or a `before_checkout` hook refused it.
    CheckFailed,
    /// A reset failed or timed out.
    ResetFailed,
    /// A use, check or reset was cut off and the manager's cancel safety is `Discard`.
    CutOff,
    /// User code panicked on it.
    Panicked,
    /// `Pooled::discard`, `retain`, or a panic under `OnUnwind::Discard`.
    Discarded,
    /// It was older than the lifetime.
    MaxLifetime,
    /// It was idle for longer than the idle timeout.
    IdleTimeout,
    /// `invalidate_all` came after its creation.
    Invalidated,
    /// The pool was made smaller.
    Resized,
    /// It was created although nothing needed it any more.
    Surplus,
    /// `Pooled::detach` took it out.
    Detached,
    /// The pool was closed or drained.
    Shutdown,
}

impl CloseReason {
    /// Every reason, in the order of the metric's label values.
    pub const ALL: [CloseReason; 13] = [
        CloseReason::Broken,
        CloseReason::CheckFailed,
        CloseReason::ResetFailed,
        CloseReason::CutOff,
        CloseReason::Panicked,
        CloseReason::Discarded,
        CloseReason::MaxLifetime,
        CloseReason::IdleTimeout,
        CloseReason::Invalidated,
        CloseReason::Resized,
        CloseReason::Surplus,
        CloseReason::Detached,
        CloseReason::Shutdown,
    ];

    /// The word used in metrics and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            CloseReason::Broken => "broken",
            CloseReason::CheckFailed => "check_failed",
            CloseReason::ResetFailed => "reset_failed",
            CloseReason::CutOff => "cut_off",
            CloseReason::Panicked => "panicked",
            CloseReason::Discarded => "discarded",
            CloseReason::MaxLifetime => "max_lifetime",
            CloseReason::IdleTimeout => "idle_timeout",
            CloseReason::Invalidated => "invalidated",
            CloseReason::Resized => "resized",
            CloseReason::Surplus => "surplus",
            CloseReason::Detached => "detached",
            CloseReason::Shutdown => "shutdown",
        }
    }
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
