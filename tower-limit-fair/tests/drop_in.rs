//! What users of tower's own limiter rely on holds for `ConcurrencyLimitLayer::new`.
#![forbid(unsafe_code)]

mod support;

use support::{Boom, Script, Spawned};
use tower_layer::Layer;
use tower_limit_fair::{ConcurrencyLimit, ConcurrencyLimitLayer};
use tower_service::Service;

type Limited = Spawned<ConcurrencyLimit<support::Scripted>>;

fn limited(limit: usize) -> (Limited, Script) {
    let script = Script::new();
    (Spawned::new(ConcurrencyLimitLayer::new(limit).layer(script.service())), script)
}

#[tokio::test]
async fn two_requests_run_at_limit_two_and_a_third_waits_for_the_first_end() {
    let (mut service, script) = limited(2);
    assert_ready_ok!(service.poll_ready());
    let first = tokio::spawn(service.service.call("first"));
    assert_ready_ok!(service.poll_ready());
    let second = tokio::spawn(service.service.call("second"));
    assert_pending!(service.poll_ready());
    tokio::task::yield_now().await;
    assert!(!service.is_woken());
    assert_eq!(script.started(), ["first", "second"]);

    script.answer(Ok("one"));
    assert_eq!(first.await.unwrap(), Ok("one".to_owned()));
    assert!(service.is_woken());
    assert_ready_ok!(service.poll_ready());
    let third = tokio::spawn(service.service.call("third"));
    assert_pending!(service.poll_ready());
    script.answer(Ok("two"));
    assert_eq!(second.await.unwrap(), Ok("two".to_owned()));
    tokio::task::yield_now().await;
    script.answer(Ok("three"));
    assert_eq!(third.await.unwrap(), Ok("three".to_owned()));
    assert_eq!(script.peak(), 2);
}

#[tokio::test]
async fn the_waiter_is_woken_once_per_end_without_being_polled_in_between() {
    let (mut service, script) = limited(2);
    assert_ready_ok!(service.poll_ready());
    let mut first = Box::pin(service.service.call("first"));
    assert_ready_ok!(service.poll_ready());
    let mut second = Box::pin(service.service.call("second"));
    assert_pending!(service.poll_ready());
    let task = support::Task::new();
    assert_pending!(task.poll_future(&mut first));
    assert_pending!(task.poll_future(&mut second));

    script.answer(Ok("one"));
    assert!(!service.is_woken(), "an answer that nobody has polled ends nothing");
    assert_ready_ok!(task.poll_future(&mut first));
    assert!(service.is_woken());
    assert_ready_ok!(service.poll_ready());
    let _third = service.service.call("third");
    assert_pending!(service.poll_ready());
    script.answer(Ok("two"));
    assert_ready_ok!(task.poll_future(&mut second));
    assert!(service.is_woken());
}

#[tokio::test]
async fn a_limit_of_zero_lets_nobody_in() {
    let (mut service, _) = limited(0);
    assert_pending!(service.poll_ready());
    service.service.handle().set_limit(1).unwrap();
    assert!(service.is_woken());
    assert_ready_ok!(service.poll_ready());
}

#[tokio::test]
async fn capacity_reserved_by_one_clone_is_not_there_for_another() {
    let (mut a, script) = limited(1);
    let mut b = a.clone();
    assert_ready_ok!(a.poll_ready());
    assert_pending!(b.poll_ready());
    let request = tokio::spawn(a.service.call("hello"));
    tokio::task::yield_now().await;
    script.answer(Ok("world"));
    assert_pending!(b.poll_ready());
    request.await.unwrap().unwrap();
    assert!(b.is_woken());
    assert_ready_ok!(b.poll_ready());
}

#[tokio::test]
async fn dropping_a_ready_service_frees_its_capacity() {
    let (mut a, _script) = limited(1);
    let mut b = a.clone();
    assert_ready_ok!(a.poll_ready());
    assert_pending!(b.poll_ready());
    drop(a);
    assert!(b.is_woken());
    assert_ready_ok!(b.poll_ready());
}

#[tokio::test]
async fn an_error_response_frees_the_capacity() {
    let (mut a, script) = limited(1);
    let mut b = a.clone();
    assert_ready_ok!(a.poll_ready());
    let request = tokio::spawn(a.service.call("hello"));
    tokio::task::yield_now().await;
    script.answer(Err(Boom));
    assert_eq!(request.await.unwrap(), Err(Boom));
    assert_ready_ok!(b.poll_ready());
}

#[tokio::test]
async fn dropping_a_response_future_frees_the_capacity() {
    let (mut a, _script) = limited(1);
    let mut b = a.clone();
    assert_ready_ok!(a.poll_ready());
    let request = a.service.call("hello");
    assert_pending!(b.poll_ready());
    drop(request);
    assert!(b.is_woken());
    assert_ready_ok!(b.poll_ready());
}

#[tokio::test]
async fn waiters_are_woken_one_by_one_in_their_order() {
    let (mut a, _script) = limited(1);
    let (mut b, mut c) = (a.clone(), a.clone());
    assert_ready_ok!(a.poll_ready());
    assert_pending!(b.poll_ready());
    assert_pending!(c.poll_ready());
    drop(a);
    assert!(b.is_woken());
    assert!(!c.is_woken());
    drop(b);
    assert!(c.is_woken());
}
