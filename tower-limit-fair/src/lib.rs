//! A fair concurrency limit for Tower: a bounded number of requests at a time, served in order, with nothing lost.
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod build_error;
mod builder;
mod calling;
mod counts;
mod deferred_clone;
mod drain;
mod error;
mod future;
mod gate;
mod layer;
mod limit;
mod mode;
mod name;
mod policy;
mod rejected;
mod rule;
mod running;
mod seat;
mod service;
mod spec;
mod stats;
mod streams;
mod turn;
mod validation;
mod waiting;
mod within;

#[cfg(feature = "http")]
mod body;
#[cfg(feature = "http")]
mod http_builder;
#[cfg(feature = "http")]
mod lease_handle;
#[cfg(all(feature = "http", feature = "time"))]
mod max_hold;
#[cfg(feature = "time")]
mod reaper;

#[cfg(any(feature = "axum", feature = "hyper"))]
mod connection;
#[cfg(feature = "axum")]
mod listener;
#[cfg(feature = "load")]
mod load;
#[cfg(feature = "metrics")]
pub mod metrics;
#[cfg(feature = "grpc")]
mod named_service;
#[cfg(feature = "metrics")]
mod publishing;
#[cfg(feature = "builder")]
mod service_builder;

pub use build_error::BuildError;
pub use builder::Builder;
pub use calling::{AfterAdmission, Calling, Direct};
pub use deferred_clone::{DeferredCall, DeferredClone};
pub use drain::{Drain, DrainPolicy};
pub use error::{CannotReject, LimitError, SetLimitError};
pub use future::ResponseFuture;
pub use layer::{ConcurrencyLimitLayer, PerServiceLayer};
pub use limit::Limit;
pub use mode::{HoldUntil, Mode};
pub use policy::{Answer, Fail, Policy, Prepare, Wait};
pub use rejected::{Reason, Rejected};
pub use rule::{AnyRequest, ForRequest, Rule, RuleOptions};
pub use service::ConcurrencyLimit;
pub use stats::{LimitSnapshot, LimitStats};
pub use streams::max_concurrent_streams;

#[cfg(feature = "http")]
pub use body::LimitedBody;
#[cfg(any(feature = "axum", feature = "hyper"))]
pub use connection::{ConnectionLimit, LimitedIo};
#[cfg(feature = "http")]
pub use lease_handle::LeaseHandle;
#[cfg(feature = "axum")]
pub use listener::LimitedListener;
#[cfg(feature = "grpc")]
pub use policy::Grpc;
#[cfg(feature = "http")]
pub use policy::{Http, MapRejection, TooManyRequests, Unavailable};
#[cfg(feature = "builder")]
pub use service_builder::ServiceBuilderExt;
