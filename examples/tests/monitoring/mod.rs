//! What the tests of `examples/monitoring` share. Each test binary uses a part of it.
#![allow(dead_code)]

pub(crate) mod catalogue;
pub(crate) mod dashboard;
pub(crate) mod exported;
pub(crate) mod http;
pub(crate) mod programs;
pub(crate) mod promql;
pub(crate) mod rules;
pub(crate) mod running;
pub(crate) mod specified;
