//! A request that waits for its own limit is reported and, where possible, rejected.
#![cfg(feature = "time")]
#![forbid(unsafe_code)]

mod support;

use std::{sync::Arc, time::Duration};

use semaphore_core::Semaphore;
use support::{Boom, Task};
use tower::{BoxError, ServiceExt, service_fn};
use tower_layer::Layer;
use tower_limit_fair::{ConcurrencyLimitLayer, LimitError, Mode, Reason};

fn reason(error: &BoxError) -> Option<Reason> {
    let mut error: &(dyn std::error::Error + 'static) = &**error;
    loop {
        if let Some(rejected) = error.downcast_ref::<tower_limit_fair::Rejected>() {
            return Some(rejected.reason);
        }
        error = error.source()?;
    }
}

async fn nested(mode: Mode) -> (Option<Reason>, u64) {
    let semaphore = Arc::new(Semaphore::new(1));
    let layer =
        ConcurrencyLimitLayer::builder().semaphore(Arc::clone(&semaphore)).mode(mode).fail().build().unwrap();
    let client = layer.layer(service_fn(|n: u32| async move { Ok::<_, Boom>(n) }));
    let route = layer.layer(service_fn(move |n: u32| {
        let client = client.clone();
        async move { client.oneshot(n).await.map_err(|error: LimitError<Boom>| BoxError::from(error)) }
    }));
    let answer =
        tokio::time::timeout(Duration::from_secs(30), route.oneshot(1)).await.expect("hangs silently");
    let reason = match answer {
        Err(LimitError::Inner(error)) => reason(&error),
        other => panic!("{other:?}"),
    };
    assert_eq!(semaphore.available_permits(), 1);
    (reason, layer.handle().stats().reentrant)
}

#[tokio::test(start_paused = true)]
async fn an_inner_client_of_the_same_core_is_rejected_as_reentrant_in_deferred_mode() {
    assert_eq!(nested(Mode::Deferred).await, (Some(Reason::Reentrant), 1));
}

#[tokio::test(start_paused = true)]
async fn an_inner_client_of_the_same_core_is_rejected_as_reentrant_in_reserve_mode() {
    assert_eq!(nested(Mode::Reserve).await, (Some(Reason::Reentrant), 1));
}

#[tokio::test(start_paused = true)]
async fn one_layer_twice_in_a_stack_is_rejected_as_reentrant() {
    for mode in [Mode::Reserve, Mode::Deferred] {
        let layer = ConcurrencyLimitLayer::builder().limit(1).mode(mode).fail().build().unwrap();
        let twice = layer.layer(layer.layer(service_fn(|n: u32| async move { Ok::<_, Boom>(n) })));
        let answer =
            tokio::time::timeout(Duration::from_secs(30), twice.oneshot(1)).await.expect("hangs silently");
        match answer {
            Err(LimitError::Inner(LimitError::Rejected(rejected))) => {
                assert_eq!(rejected.reason, Reason::Reentrant)
            }
            other => panic!("{mode:?}: {other:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn another_limit_between_the_two_does_not_hide_it() {
    let outer = ConcurrencyLimitLayer::builder().limit(1).mode(Mode::Deferred).fail().build().unwrap();
    let middle = ConcurrencyLimitLayer::new(1);
    let leaf = outer.layer(service_fn(|n: u32| async move { Ok::<_, Boom>(n) }));
    let service = outer.layer(middle.layer(leaf));
    match tokio::time::timeout(Duration::from_secs(30), service.oneshot(1)).await.expect("hangs silently") {
        Err(LimitError::Inner(LimitError::Rejected(rejected))) => {
            assert_eq!(rejected.reason, Reason::Reentrant)
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn with_a_free_permit_and_for_a_different_limit_nothing_is_reported() {
    let (a, b) = (ConcurrencyLimitLayer::new(2), ConcurrencyLimitLayer::new(1));
    let service = a.layer(b.layer(a.layer(service_fn(|n: u32| async move { Ok::<_, Boom>(n) }))));
    assert_eq!(service.oneshot(7).await, Ok(7));
    assert_eq!((a.handle().stats().reentrant, b.handle().stats().reentrant), (0, 0));
}

#[tokio::test]
async fn a_request_that_waits_outside_of_its_own_limit_is_not_reported() {
    let layer = ConcurrencyLimitLayer::builder().limit(1).mode(Mode::Deferred).fail().build().unwrap();
    let script = support::Script::new();
    let mut service = layer.layer(script.service());
    let task = Task::new();
    let mut first = Box::pin(tower::Service::call(&mut service, "first"));
    let mut second = Box::pin(tower::Service::call(&mut service, "second"));
    assert_pending!(task.poll_future(&mut first));
    assert_pending!(task.poll_future(&mut second));
    assert_eq!(layer.handle().stats().reentrant, 0);
}
