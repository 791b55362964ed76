//! What `build()` refuses, and how it says so.
#![cfg(all(feature = "http", feature = "time"))]
#![forbid(unsafe_code)]

use std::{sync::Arc, time::Duration};

use semaphore_core::Semaphore;
use tower_limit_fair::{BuildError, ConcurrencyLimitLayer, HoldUntil, Mode};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_limit_is_needed_and_within_range() {
    let builder = ConcurrencyLimitLayer::builder;
    assert!(matches!(builder().build(), Err(BuildError::NoLimit { .. })));
    for limit in [0, Semaphore::MAX_PERMITS + 1, usize::MAX] {
        let error = builder().limit(limit).name("numbers").build().unwrap_err();
        assert!(matches!(error, BuildError::LimitOutOfRange { limit: asked, .. } if asked == limit));
        assert!(error.to_string().contains(&format!("limit `numbers`: {limit} is not within")), "{error}");
    }
    assert!(builder().limit(Semaphore::MAX_PERMITS).build().is_ok());
    let error = builder().limit(4).max_limit(3).build().unwrap_err();
    assert!(matches!(error, BuildError::MaxLimitOutOfRange { limit: 4, max_limit: 3, .. }));
}

#[test]
fn wait_refuses_every_option_that_rejects() {
    let builder = || ConcurrencyLimitLayer::builder().limit(4);
    let refused = [
        (builder().queue(8).build().unwrap_err(), "queue"),
        (builder().queue_timeout(SECOND).build().unwrap_err(), "queue_timeout"),
        (builder().mode(Mode::Shed).build().unwrap_err(), "mode"),
    ];
    for (error, option) in refused {
        assert!(
            matches!(error, BuildError::CannotReject { option: named, .. } if named == option),
            "{error}"
        );
    }
    let semaphore = Arc::new(Semaphore::new(4));
    let error = ConcurrencyLimitLayer::builder().semaphore(semaphore).build().unwrap_err();
    assert!(matches!(error, BuildError::CannotReject { option: "semaphore", .. }));
    let error = builder().mode(Mode::Deferred).weight(|_: &()| 1).build().unwrap_err();
    assert!(matches!(error, BuildError::CannotReject { option: "weight", .. }));
}

#[test]
fn reserve_refuses_what_looks_at_the_request() {
    let builder = || ConcurrencyLimitLayer::builder().limit(4).fail();
    let exempt = builder().exempt(|_: &()| true).build().unwrap_err();
    assert!(matches!(exempt, BuildError::NeedsRequest { option: "exempt", .. }));
    let weight = builder().weight(|_: &()| 1).build().unwrap_err();
    assert!(matches!(weight, BuildError::NeedsRequest { option: "weight", .. }));
    assert!(builder().mode(Mode::Shed).weight(|_: &()| 1).exempt(|_: &()| true).build().is_ok());
}

#[test]
fn options_without_an_effect_are_refused() {
    let shed = || ConcurrencyLimitLayer::builder().limit(4).mode(Mode::Shed).fail();
    assert!(matches!(shed().queue(1).build(), Err(BuildError::NeverQueues { option: "queue", .. })));
    assert!(matches!(
        shed().queue_timeout(SECOND).build(),
        Err(BuildError::NeverQueues { option: "queue_timeout", .. })
    ));
    let head = ConcurrencyLimitLayer::server_builder(4).hold(HoldUntil::Head).max_hold(SECOND).build();
    assert!(matches!(head, Err(BuildError::HoldsHeadOnly { .. })));
    for error in [
        ConcurrencyLimitLayer::server_builder(4).max_hold(Duration::ZERO).build().unwrap_err(),
        ConcurrencyLimitLayer::server_builder(4).queue_timeout(Duration::ZERO).build().unwrap_err(),
        ConcurrencyLimitLayer::server_builder(4).reservation_ttl(Duration::ZERO).build().unwrap_err(),
    ] {
        assert!(matches!(error, BuildError::ZeroDuration { .. }), "{error}");
    }
}

#[test]
fn the_owner_of_a_shared_semaphore_decides() {
    let shared = || ConcurrencyLimitLayer::builder().semaphore(Arc::new(Semaphore::new(4))).fail();
    assert!(matches!(shared().limit(4).build(), Err(BuildError::SharedSemaphore { option: "limit", .. })));
    assert!(matches!(shared().name("x").build(), Err(BuildError::SharedSemaphore { option: "name", .. })));
    assert!(matches!(shared().queue(1).build(), Err(BuildError::SharedSemaphore { option: "queue", .. })));
    assert!(shared().build().is_ok());
}

#[test]
fn a_name_is_taken_while_a_shared_limit_lives_and_limits_per_service_may_repeat_it() {
    let named = || ConcurrencyLimitLayer::builder().limit(4).name("taken").build();
    let first = named().unwrap();
    assert!(matches!(named(), Err(BuildError::NameInUse { name, .. }) if name == "taken"));
    let clone = first.clone();
    drop(first);
    assert!(named().is_err(), "a clone keeps it");
    drop(clone);
    let layer = named().unwrap().per_service();
    let services = (tower_layer::Layer::layer(&layer, ()), tower_layer::Layer::layer(&layer, ()));
    assert_eq!(services.0.handle().name(), Some("taken"));
    assert!(named().is_ok());
}

#[test]
#[should_panic(expected = "0 is not within 1 and")]
fn server_panics_on_zero() {
    let _ = ConcurrencyLimitLayer::server(0);
}
