//! Readiness holds a lease, keeps its place, and can be taken back.
#![forbid(unsafe_code)]

mod support;

use std::{task::Poll, time::Duration};

use support::{Boom, Readiness, Script, Spawned, Task};
use tower_layer::Layer;
use tower_limit_fair::{ConcurrencyLimit, ConcurrencyLimitLayer, Limit};
use tower_service::Service;

type Limited = Spawned<ConcurrencyLimit<support::Scripted>>;

const TTL: Duration = Duration::from_millis(100);

fn limited(limit: usize) -> (Limited, Script, Limit) {
    let script = Script::new();
    let layer = ConcurrencyLimitLayer::new(limit);
    (Spawned::new(layer.layer(script.service())), script, layer.handle())
}

/// Lets the paused clock pass and the reaper run.
async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_ready_clone_loses_its_lease_after_the_ttl_and_within_twice_the_ttl() {
    let (mut a, script, limit) = limited(1);
    let mut b = a.clone();
    assert_ready_ok!(a.poll_ready());
    pass(TTL * 10).await;
    assert_eq!(limit.snapshot().reserved, 1, "nobody waits, so nothing is taken back");

    assert_pending!(b.poll_ready());
    pass(TTL - Duration::from_millis(2)).await;
    assert!(!b.is_woken(), "taken back before the ttl");
    pass(TTL + Duration::from_millis(2)).await;
    assert!(b.is_woken(), "not taken back within twice the ttl");
    assert_ready_ok!(b.poll_ready());
    assert_eq!(limit.stats().reservations_revoked, 1);

    // The late call neither fails nor panics: it stands in front and runs after b.
    let mut late = Box::pin(a.service.call("late"));
    let mut c = b.clone();
    let task = Task::new();
    assert_pending!(task.poll_future(&mut late));
    assert_pending!(c.poll_ready());
    assert_eq!(script.started(), [""; 0]);
    let mut request = Box::pin(b.service.call("b"));
    assert_pending!(task.poll_future(&mut request));
    script.answer(Ok("done"));
    assert_ready_ok!(task.poll_future(&mut request));
    assert!(!c.is_woken(), "the revoked one goes before a newcomer");
    assert_pending!(task.poll_future(&mut late));
    assert_eq!(script.started(), ["b", "late"]);
    script.answer(Ok("done"));
    assert_ready_ok!(task.poll_future(&mut late));
    assert!(c.is_woken());
}

#[tokio::test(start_paused = true)]
async fn fifo_holds_before_the_ttl_and_ready_services_in_use_lose_nothing() {
    let (mut a, _script, limit) = limited(1);
    let (mut b, mut c) = (a.clone(), a.clone());
    assert_ready_ok!(a.poll_ready());
    assert_pending!(b.poll_ready());
    assert_pending!(c.poll_ready());
    pass(TTL / 2).await;
    let mut request = Box::pin(a.service.call("a"));
    let task = Task::new();
    assert_pending!(task.poll_future(&mut request));
    pass(TTL * 20).await;
    assert!(!b.is_woken(), "a lease that a request uses is never taken back");
    assert_eq!(limit.stats().reservations_revoked, 0);
    drop(request);
    assert!(b.is_woken());
    assert!(!c.is_woken());
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_nobody_polls_goes_to_the_next_waiter_after_the_ttl() {
    let (mut a, _script, _limit) = limited(1);
    let (mut gone, mut c) = (a.clone(), a.clone());
    assert_ready_ok!(a.poll_ready());
    assert_pending!(gone.poll_ready());
    assert_pending!(c.poll_ready());
    drop(a);
    assert!(gone.is_woken());
    // Its task went another way and keeps the service.
    pass(TTL - Duration::from_millis(2)).await;
    assert!(!c.is_woken());
    pass(TTL + Duration::from_millis(2)).await;
    assert!(c.is_woken());
    assert_ready_ok!(c.poll_ready());
    // It comes back to its place in front.
    let mut d = c.clone();
    assert_pending!(gone.poll_ready());
    assert_pending!(d.poll_ready());
    drop(c);
    assert!(gone.is_woken());
    assert!(!d.is_woken());
}

#[tokio::test(start_paused = true)]
async fn a_revoked_service_that_asks_again_stands_before_newcomers() {
    let (mut a, _script, _limit) = limited(1);
    let (mut b, mut c) = (a.clone(), a.clone());
    assert_ready_ok!(a.poll_ready());
    assert_pending!(b.poll_ready());
    assert_pending!(c.poll_ready());
    pass(TTL * 2).await;
    assert_ready_ok!(b.poll_ready());
    assert_pending!(a.poll_ready());
    drop(b);
    assert!(a.is_woken(), "the revoked one goes before a waiter that came after it");
    assert!(!c.is_woken());
}

#[tokio::test]
async fn repeated_ready_takes_one_lease() {
    let (mut a, _script, limit) = limited(2);
    for _ in 0..10 {
        assert_ready_ok!(a.poll_ready());
    }
    assert_eq!((limit.snapshot().reserved, limit.snapshot().available), (1, 1));
}

#[tokio::test]
async fn repeated_polls_keep_one_place() {
    let (mut a, _script, limit) = limited(1);
    let (mut b, mut c) = (a.clone(), a.clone());
    assert_ready_ok!(a.poll_ready());
    assert_pending!(b.poll_ready());
    assert_pending!(c.poll_ready());
    for _ in 0..5 {
        assert_pending!(b.poll_ready());
    }
    assert_eq!(limit.queued(), 2);
    drop(a);
    assert!(b.is_woken() && !c.is_woken());
}

#[tokio::test]
async fn the_inner_service_is_polled_every_time_and_the_queue_joined_whatever_it_says() {
    let (mut a, script, limit) = limited(1);
    let mut b = a.clone();
    assert_ready_ok!(a.poll_ready());
    assert_eq!(script.ready_polls(), 1);
    script.set(Readiness::Pending);
    assert_pending!(b.poll_ready());
    assert_eq!((script.ready_polls(), limit.queued()), (2, 1));
    assert_pending!(a.poll_ready());
    assert_eq!((script.ready_polls(), limit.snapshot().reserved), (3, 1), "the lease is kept meanwhile");
    script.set(Readiness::Ready);
    assert_pending!(b.poll_ready());
    assert_eq!(script.ready_polls(), 4, "polled although there is no lease");
    drop(a);
    assert_ready_ok!(b.poll_ready());
}

#[tokio::test]
async fn an_error_of_the_inner_readiness_gives_the_lease_back_first() {
    let (mut a, script, limit) = limited(1);
    let mut b = a.clone();
    assert_ready_ok!(a.poll_ready());
    assert_pending!(b.poll_ready());
    script.set(Readiness::Broken);
    assert!(matches!(a.poll_ready(), Poll::Ready(Err(Boom))));
    assert!(b.is_woken(), "the lease went on");
    assert!(matches!(b.poll_ready(), Poll::Ready(Err(Boom))));
    assert_eq!((limit.snapshot().reserved, limit.snapshot().available, limit.queued()), (0, 1, 0));
}

#[tokio::test]
async fn call_without_ready_runs_at_once_if_a_permit_is_free_and_waits_otherwise() {
    let (mut a, script, limit) = limited(1);
    let task = Task::new();
    let mut first = Box::pin(a.service.call("first"));
    assert_pending!(task.poll_future(&mut first));
    let mut second = Box::pin(a.service.call("second"));
    assert_pending!(task.poll_future(&mut second));
    assert_eq!((script.started(), limit.in_flight(), limit.queued()), (vec!["first".to_owned()], 1, 1));
    script.answer(Ok("done"));
    assert_ready_ok!(task.poll_future(&mut first));
    assert_pending!(task.poll_future(&mut second));
    assert_eq!(script.started(), ["first", "second"]);
    drop(second);
    assert_eq!((limit.in_flight(), limit.snapshot().available), (0, 1));
}

#[tokio::test]
async fn call_after_pending_keeps_the_place_that_poll_ready_took() {
    let (mut a, script, _limit) = limited(1);
    let (mut b, mut c) = (a.clone(), a.clone());
    assert_ready_ok!(a.poll_ready());
    assert_pending!(b.poll_ready());
    assert_pending!(c.poll_ready());
    let task = Task::new();
    let mut request = Box::pin(b.service.call("b"));
    assert_pending!(task.poll_future(&mut request));
    drop(a);
    assert!(!c.is_woken());
    assert_pending!(task.poll_future(&mut request));
    assert_eq!(script.started(), ["b"]);
}

#[tokio::test]
async fn every_drop_is_counted_with_its_stage_and_frees_once() {
    let layer = ConcurrencyLimitLayer::builder().limit(1).name("drops").build().unwrap();
    let limit = layer.handle();
    let script = Script::new();
    let mut a = Spawned::new(layer.layer(script.service()));
    let mut b = a.clone();
    assert_ready_ok!(a.poll_ready());
    assert_pending!(b.poll_ready());
    drop(b);
    assert_eq!(limit.stats().cancelled_queued, 1);
    let request = a.service.call("running");
    drop(request);
    assert_eq!(limit.stats().cancelled_running, Some(1));
    assert_ready_ok!(a.poll_ready());
    drop(a);
    assert_eq!(limit.stats().reservations_abandoned, 1);
    let snapshot = limit.snapshot();
    assert_eq!((snapshot.available, snapshot.in_flight, snapshot.reserved, snapshot.queued), (1, 0, 0, 0));
}

#[tokio::test]
async fn a_panic_in_the_inner_future_frees_the_lease() {
    let (mut a, _script, limit) = limited(1);
    assert_ready_ok!(a.poll_ready());
    let mut request = Box::pin(a.service.call("panic"));
    let caught =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| Task::new().poll_future(&mut request)));
    assert!(caught.is_err());
    assert_eq!(
        (limit.in_flight(), limit.snapshot().available),
        (0, 1),
        "freed although the wreck is still here"
    );
}

#[test]
#[should_panic(expected = "outside a tokio runtime")]
fn a_first_wait_outside_a_runtime_panics_under_wait() {
    let (mut a, _script, _limit) = limited(1);
    let mut b = a.clone();
    assert_ready_ok!(a.poll_ready());
    let _ = b.poll_ready();
}

#[test]
fn without_a_ttl_no_runtime_is_needed() {
    let script = Script::new();
    let layer = ConcurrencyLimitLayer::builder().limit(1).reservation_ttl(None).build().unwrap();
    let mut a = Spawned::new(layer.layer(script.service()));
    let mut b = a.clone();
    assert_ready_ok!(a.poll_ready());
    assert_pending!(b.poll_ready());
    drop(a);
    assert!(b.is_woken());
    assert_ready_ok!(b.poll_ready());
}

#[test]
fn a_reaper_whose_runtime_is_gone_is_started_again_by_the_next_poll() {
    let (mut a, _script, limit) = limited(1);
    let mut b = a.clone();
    let first =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    first.block_on(async {
        assert_ready_ok!(a.poll_ready());
        assert_pending!(b.poll_ready());
        tokio::task::yield_now().await;
    });
    drop(first);
    assert!(b.is_woken(), "the end of the reaper's runtime wakes the waiters");
    let second =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    second.block_on(async {
        assert_pending!(b.poll_ready());
        pass(TTL * 2).await;
        assert_ready_ok!(b.poll_ready());
    });
    assert_eq!(limit.stats().reservations_revoked, 1);
}
