//! A generic async resource pool: first come, first served, and nothing lost.
#![forbid(unsafe_code)]

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
