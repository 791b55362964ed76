//! The service that is limited, and the limits around it.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll, Waker};

use tower::limit::ConcurrencyLimit as TowerLimit;
use tower::load_shed::LoadShed;
use tower::{Layer, Service};
use tower_limit_fair::{ConcurrencyLimit, ConcurrencyLimitLayer, Fail, Mode};
use tower_resilience_bulkhead::{Bulkhead, BulkheadLayer};

use crate::poll;

/// Answers with the request, at once.
#[derive(Debug, Clone, Copy)]
pub struct Echo;

impl Service<u64> for Echo {
    type Response = u64;
    type Error = Infallible;
    type Future = Ready<Result<u64, Infallible>>;

    #[inline]
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    #[inline]
    fn call(&mut self, request: u64) -> Self::Future {
        ready(Ok(request))
    }
}

/// Ours as it comes: a revocable reservation in `poll_ready`.
pub fn ours<S>(limit: usize, service: S) -> ConcurrencyLimit<S> {
    ConcurrencyLimitLayer::new(limit).layer(service)
}

/// Ours with admission inside the response future.
pub fn deferred<S>(limit: usize, service: S) -> ConcurrencyLimit<S> {
    let builder = ConcurrencyLimitLayer::builder().limit(limit).mode(Mode::Deferred);
    builder.build().expect("valid options").layer(service)
}

/// Ours that rejects what it cannot serve at once.
pub fn shedding<S>(limit: usize, service: S) -> ConcurrencyLimit<S, Fail> {
    let builder = ConcurrencyLimitLayer::builder().limit(limit).mode(Mode::Shed).fail();
    builder.build().expect("valid options").layer(service)
}

/// tower's limiter.
pub fn tower_limit<S>(limit: usize, service: S) -> TowerLimit<S> {
    TowerLimit::new(service, limit)
}

/// tower's limiter with LoadShed in front of it.
pub fn tower_shed<S>(limit: usize, service: S) -> LoadShed<TowerLimit<S>> {
    LoadShed::new(TowerLimit::new(service, limit))
}

/// The bulkhead that waits in `poll_ready`, as tower's limiter does.
pub(super) fn bulkhead<S>(limit: usize, service: S) -> Bulkhead<S> {
    let builder = BulkheadLayer::builder().max_concurrent_calls(limit).backpressure();
    builder.build().expect("valid options").layer(service)
}

/// The bulkhead that rejects when it is full.
pub(super) fn rejecting_bulkhead<S>(limit: usize, service: S) -> Bulkhead<S> {
    let builder = BulkheadLayer::builder().max_concurrent_calls(limit).reject_when_full();
    builder.build().expect("valid options").layer(service)
}

/// One ready + call, polled by hand; nothing may have to wait.
///
/// # Panics
/// When something has to wait or the service is not ready.
#[inline]
pub fn request<S: Service<u64>>(service: &mut S) -> Result<S::Response, S::Error> {
    match service.poll_ready(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(())) => poll::ready(service.call(7)),
        Poll::Ready(Err(error)) => Err(error),
        Poll::Pending => panic!("the service was not ready"),
    }
}
