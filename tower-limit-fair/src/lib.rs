//! A fair concurrency limit for Tower: a bounded number of requests at a time, served in order, with nothing lost.
//!
//! ```
//! use axum::{Router, routing::get};
//! use tower_limit_fair::ConcurrencyLimitLayer;
//!
//! // 64 requests at a time, 256 more wait for at most 1 s, the rest get a 503 with Retry-After.
//! let layer = ConcurrencyLimitLayer::server(64);
//! let limit = layer.handle();
//! let app: Router = Router::new().route("/", get(|| async { "hello" })).layer(layer);
//! assert_eq!((limit.limit(), limit.in_flight(), limit.queued()), (64, 0, 0));
//! ```
//!
//! | | `tower::limit::ConcurrencyLimit` | here |
//! |---|---|---|
//! | one limit for | each `.layer()` call | the layer value: routes, connections, clones (`per_service()` for the opposite) |
//! | order | the semaphore's | strict arrival order, also over re-polls |
//! | an idle ready clone | keeps its permit | loses it after the reservation ttl when others wait, and stands in front |
//! | overload | waits for ever, or `LoadShed` around it | a bounded queue with a timeout; an error, an HTTP response or a gRPC status |
//! | the permit ends | with the response head | with the body, trailers, error or drop; or at the head, as you choose |
//! | `call` without `poll_ready` | panics | runs or waits |
//! | resize, close, drain | no | by a `Limit` handle |
//! | allocation per request | in the queue, once per clone | none once warm |
//!
//! `new` is the drop-in for tower's limiter, `server` what a server wants, `builder` everything else. Read on in `guide`:
//! fairness, cancel safety, overload and sizing, HTTP/2 streams.
//!
//! # Features
//!
//! | feature | what it adds |
//! |---|---|
//! | `http` (default) | the HTTP policy, bodies that carry the lease, `server` |
//! | `time` (default) | reservation ttl, queue timeout and `max_hold`, on tokio's clock |
//! | `metrics` (default) | export through the `metrics` crate |
//! | `tracing` | events of queueing and rejection, and the WARN for nested waits |
//! | `grpc` | the gRPC policy with `RetryInfo`, for tonic |
//! | `axum` | `LimitedListener` for `axum::serve` |
//! | `hyper` | `ConnectionLimit` for an accept loop of hyper |
//! | `load`, `builder` | `tower::load::Load` passes through; methods for `tower::ServiceBuilder` |
//!
//! # What we do not do
//!
//! No priorities, no limits per client, no adaptive limit: `Limit::set_limit` is where those can be built on.
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
pub mod guide;
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
