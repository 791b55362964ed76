//! A resource pool that serves its callers in order and loses nothing.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use lease_pool::{Pool, manager};
//!
//! // How to make one; `Manager` also checks, resets and closes.
//! let connect = manager::from_fn(|| async { Ok::<_, std::io::Error>(String::from("connection")) });
//! let pool = Pool::builder(connect).max(8).build()?;
//!
//! let connection = pool.get().await?; // waits in line, at most 30 s
//! assert_eq!(*connection, "connection");
//! drop(connection); // back in the pool, to the next in line
//! # Ok(())
//! # }
//! ```
//!
//! | when | lease-pool | the usual pool |
//! |---|---|---|
//! | a resource comes back while my own connect is slow | I get it: callers wait on the pool, not on their connect | I wait for my connect |
//! | I give up while connecting | the connect goes on and serves the next | it is thrown away, and the next starts over |
//! | I give up while my resource is checked | the resource stays | the resource is lost |
//! | the server is down | one attempt per backoff step; callers learn the cause in the same turn | one attempt per caller, or a timeout that hides the cause |
//! | a peer accepts and never answers | bounded, the next resource is tried within my deadline | I wait for ever, or its place is gone |
//! | I time out | the error says what I waited for and who holds everything | "timed out" |
//! | all holders wait for another resource | found and named | everybody waits |
//! | a guard is dropped on a thread, in a panic, after its runtime | it comes home | a panic, or a lost place |
//! | a thousand callers, eight resources | strict order: first come, first served | some starve |
//!
//! # Where to go from here
//!
//! * [`Manager`]: what the pool has to know about your resource, or [`manager::from_fn`] for the small case.
//! * [`Builder`]: every option and its default. [`Pool`]: everything you can ask of a pool.
//! * Coming from [deadpool](guide::from_deadpool), [bb8](guide::from_bb8), [sqlx](guide::from_sqlx) or
//!   [HikariCP](guide::from_hikari): call by call.
//! * [Sizing](guide::sizing), [cancel safety](guide::cancel_safety), [the design](guide::design).
//! * [`testing`]: a scripted manager for your tests, and a check-up for a manager of your own.
//!
//! # Features
//!
//! | feature | what it adds |
//! |---|---|
//! | `metrics` (default) | named pools export through the `metrics` crate |
//! | `tracing` | the span `pool.get`, warnings of leaks and nested gets |
//! | `serde` | `PoolConfig`: options from files and the environment |
//! | `sqlite`, `postgres`, `redis`, `hyper`, `make_service` | ready managers |
#![forbid(unsafe_code)]

mod actor;
mod builder;
#[cfg(feature = "serde")]
mod config;
mod deadline;
#[doc(hidden)]
pub mod engine;
mod entry;
mod erased;
mod error;
mod get;
pub mod guide;
mod hooks;
mod hub;
mod in_hand;
mod jitter;
mod keeper;
pub mod manager;
#[cfg(feature = "metrics")]
pub mod metrics;
mod nested;
mod options;
mod pause;
mod pool;
mod pooled;
#[cfg(feature = "metrics")]
mod publish;
#[cfg(not(feature = "metrics"))]
mod publish_nothing;
mod registry;
mod snapshot;
mod tally;
pub mod testing;
mod trace;

#[cfg(any(
    feature = "sqlite",
    feature = "postgres",
    feature = "redis",
    feature = "hyper",
    feature = "make_service"
))]
mod adapters;

#[cfg(any(
    feature = "sqlite",
    feature = "postgres",
    feature = "redis",
    feature = "hyper",
    feature = "make_service"
))]
#[allow(unused_imports, reason = "which names there are depends on the features")]
pub use adapters::*;

#[cfg(feature = "metrics")]
pub(crate) use metrics::Meters;
#[cfg(not(feature = "metrics"))]
pub(crate) use publish_nothing::Meters;

pub use builder::Builder;
#[cfg(feature = "serde")]
pub use config::{ConfigError, PoolConfig};
pub use deadline::Deadline;
pub use engine::{CreateState, IdleOrder};
pub use erased::{DynError, DynManager, DynPool};
pub use error::{
    AddError, BuildError, CreateError, GetError, Holder, Holders, HookError, Phase, ResizeError, TryGetError,
};
pub use get::Get;
pub use manager::{CancelSafety, ErrorClass, Manager};
pub use options::{NestedGet, OnUnwind};
pub use pause::Pause;
pub use pool::{DrainReport, Pool, WarmUp};
pub use pooled::Pooled;
pub use snapshot::{Snapshot, Stats};
