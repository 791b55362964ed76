//! A generic async resource pool.
#![forbid(unsafe_code)]

pub mod manager;

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

pub use manager::{CancelSafety, ErrorClass, Manager};
