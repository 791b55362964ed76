//! From expiry to the end: lifetimes, silent peers, guards dropped anywhere, drain.

mod support;

use std::time::Duration;

use lease_pool::manager::CloseReason;
use lease_pool::testing::{Act, Stage};
use lease_pool::{CancelSafety, OnUnwind, Pooled, TryGetError};
use support::{assert_quiet, ms, poll_once, scripted, settle};
use tokio::time::{Instant, advance, sleep};

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn a_silent_check_is_bounded_and_the_next_resource_is_tried_in_the_same_deadline() {
    let (script, builder) = scripted(2);
    let pool = builder.check_timeout(ms(50)).build().unwrap();
    pool.warm_up(2, ms(100)).await;
    advance(Duration::from_secs(2)).await;
    script.next(Stage::Check, Act::Never);
    let asked = Instant::now();
    let guard = pool.get_timeout(ms(100)).await.unwrap();
    assert!(asked.elapsed() >= ms(50) && asked.elapsed() <= ms(52), "{:?}", asked.elapsed());
    assert_eq!(script.calls(Stage::Check), 2);
    drop(guard);
    settle().await;
    assert_eq!(pool.stats().closed(CloseReason::CheckFailed), 1);
    assert_quiet(&pool);
}

#[tokio::test(start_paused = true)]
async fn a_silent_reset_or_close_is_bounded_and_its_place_comes_back() {
    let (script, builder) = scripted(1);
    let pool = builder.reset_timeout(ms(50)).close_timeout(ms(30)).build().unwrap();
    script.always(Stage::Reset, Act::Never);
    script.always(Stage::Close, Act::Never);
    let guard = pool.get().await.unwrap();
    guard.set_used(true);
    drop(guard);
    assert_eq!(pool.snapshot().resetting, 1);
    let asked = Instant::now();
    let guard = pool.get().await.unwrap();
    let took = asked.elapsed();
    assert!(took >= ms(80) && took <= ms(83), "{took:?}");
    assert_eq!((guard.number(), script.live()), (2, 1));
    assert_eq!(pool.stats().closed(CloseReason::ResetFailed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_reset_is_over_before_the_next_caller_gets_the_resource() {
    let (script, builder) = scripted(1);
    script.always(Stage::Reset, Act::After(ms(20)));
    let pool = builder.build().unwrap();
    let guard = pool.get().await.unwrap();
    guard.set_used(true);
    drop(guard);
    assert_eq!(pool.try_get().unwrap_err(), TryGetError::Empty);
    let asked = Instant::now();
    let guard = pool.get().await.unwrap();
    assert!(asked.elapsed() >= ms(20));
    assert_eq!((guard.number(), script.calls(Stage::Reset), script.calls(Stage::Create)), (1, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn lifetimes_do_not_end_together() {
    let (script, builder) = scripted(50);
    let life = 100 * MINUTE;
    let pool = builder.lifetime(life).idle_timeout(None).build().unwrap();
    pool.warm_up(50, MINUTE).await;
    assert_eq!(pool.snapshot().idle, 50);
    let born = Instant::now();
    let mut ended_by = Vec::new();
    let step = life / 1000;
    while born.elapsed() < life {
        sleep(step).await;
        ended_by.push(50 - script.live());
    }
    assert_eq!(*ended_by.last().unwrap(), 50, "none outlives it");
    assert_eq!(ended_by[790], 0, "none ends more than 20 % early");
    for window in ended_by.windows(11) {
        assert!(window[10] - window[0] <= 5, "a tenth in 1 % of the lifetime: {window:?}");
    }
    assert_eq!(pool.stats().closed(CloseReason::MaxLifetime), 50);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_handed_out_past_its_lifetime() {
    let (_, builder) = scripted(1);
    let pool = builder.lifetime(ms(100)).build().unwrap();
    let guard = pool.get().await.unwrap();
    assert_eq!(guard.number(), 1);
    sleep(ms(99)).await;
    drop(guard);
    sleep(ms(1)).await;
    assert_eq!(pool.get().await.unwrap().number(), 2);
}

/// No housekeeper runs here, so the age is judged at the checkout alone.
#[tokio::test(start_paused = true)]
async fn a_checkout_judges_the_age_by_itself() {
    let (script, builder) = scripted(2);
    let pool = builder.lifetime(MINUTE).check_if_idle(2 * MINUTE).build().unwrap();
    pool.add(script.make()).unwrap();
    advance(MINUTE - ms(1)).await;
    pool.add(script.make()).unwrap();
    advance(ms(1)).await;
    assert_eq!(pool.try_get().unwrap().number(), 2);
    advance(MINUTE - ms(1)).await;
    assert_eq!(pool.try_get().unwrap_err(), TryGetError::Empty, "both are past their lifetime");
    assert_eq!(pool.stats().closed(CloseReason::MaxLifetime), 2);
}

#[tokio::test(start_paused = true)]
async fn a_successor_is_ready_before_its_predecessor_retires() {
    let (script, builder) = scripted(5);
    script.always(Stage::Create, Act::After(ms(10)));
    let pool = builder.lifetime(MINUTE).idle_timeout(None).min_idle(2).build().unwrap();
    drop(pool.get().await.unwrap());
    sleep(ms(100)).await;
    for _ in 0..6000 {
        assert!(pool.snapshot().idle >= 2, "{:?}", pool.snapshot());
        sleep(ms(50)).await;
    }
    assert!(script.calls(Stage::Create) >= 10, "five lifetimes have passed");
    assert!(script.max_live() <= 5);
}

#[tokio::test(start_paused = true)]
async fn the_idle_timeout_stops_at_min_idle_and_does_not_rebuild_what_it_closed() {
    let (script, builder) = scripted(10);
    let pool = builder.min_idle(2).idle_timeout(MINUTE).lifetime(None).build().unwrap();
    pool.warm_up(10, MINUTE).await;
    let warm = Instant::now();
    sleep(MINUTE - ms(1)).await;
    assert_eq!(pool.snapshot().idle, 10, "not before its time");
    sleep(ms(2)).await;
    settle().await;
    assert_eq!(pool.snapshot().idle, 2, "{:?}", warm.elapsed());
    let creates = script.calls(Stage::Create);
    sleep(60 * MINUTE).await;
    assert_eq!((pool.snapshot().idle, script.calls(Stage::Create)), (2, creates));
}

#[tokio::test(start_paused = true)]
async fn the_keepalive_checks_idle_resources_one_at_a_time() {
    let (script, builder) = scripted(4);
    script.always(Stage::Check, Act::After(ms(10)));
    let pool = builder.keepalive(MINUTE).idle_timeout(None).lifetime(None).build().unwrap();
    pool.warm_up(4, MINUTE).await;
    sleep(MINUTE - ms(1)).await;
    assert_eq!(script.calls(Stage::Check), 0);
    sleep(ms(60)).await;
    assert_eq!((script.calls(Stage::Check), script.max_running(Stage::Check)), (4, 1));
    script.next(Stage::Check, Act::Fail);
    sleep(MINUTE + ms(100)).await;
    assert_eq!(pool.snapshot().live(), 3, "the one that failed is gone");
    assert_eq!(pool.stats().closed(CloseReason::CheckFailed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_broken_resource_makes_the_others_due_for_a_check() {
    let (script, builder) = scripted(3);
    let pool = builder.build().unwrap();
    let one = pool.get().await.unwrap();
    let two = pool.get().await.unwrap();
    advance(ms(1)).await;
    one.set_broken(true);
    drop(one);
    drop(two);
    assert_eq!(pool.try_get().unwrap_err(), TryGetError::NeedsCheck);
    drop(pool.get().await.unwrap());
    assert_eq!(script.calls(Stage::Check), 1);
    assert!(pool.try_get().is_ok(), "verified since");
}

#[tokio::test(start_paused = true)]
async fn invalidation_at_once_bars_the_hand_out_and_spread_bars_each_at_its_own_instant() {
    let (script, builder) = scripted(4);
    let pool = builder.build().unwrap();
    pool.warm_up(4, MINUTE).await;
    let held = pool.get().await.unwrap();
    pool.invalidate_all(Duration::ZERO);
    let fresh = pool.get().await.unwrap();
    assert!(fresh.number() > 4);
    assert_eq!(Pooled::meta(&fresh).generation(), 1);
    drop(held);
    settle().await;
    assert_eq!(script.live(), 1, "the one that was out ended when it came home");
    drop(fresh);

    pool.warm_up(4, MINUTE).await;
    pool.invalidate_all(4 * MINUTE);
    let mut left = Vec::new();
    for _ in 0..4 {
        sleep(MINUTE - ms(1)).await;
        settle().await;
        left.push(script.live());
        sleep(ms(1)).await;
    }
    assert_eq!(left, [4, 3, 2, 1]);
    settle().await;
    assert_eq!(script.live(), 0);
    assert_eq!(pool.stats().closed(CloseReason::Invalidated), 8);
}

#[tokio::test(start_paused = true)]
async fn leaks_are_reported_once_per_checkout() {
    let (_, builder) = scripted(2);
    let pool = builder.leak_warning_after(MINUTE).build().unwrap();
    let held = pool.get().await.unwrap();
    sleep(MINUTE - ms(1)).await;
    assert_eq!(pool.stats().leak_warnings, 0);
    sleep(ms(2)).await;
    assert_eq!(pool.stats().leak_warnings, 1);
    sleep(10 * MINUTE).await;
    assert_eq!(pool.stats().leak_warnings, 1);
    drop(held);
    let _again = pool.get().await.unwrap();
    sleep(3 * MINUTE).await;
    assert_eq!(pool.stats().leak_warnings, 2);
}

#[test]
fn a_guard_may_be_dropped_on_a_plain_thread_and_after_its_runtime() {
    let (script, builder) = scripted(2);
    let pool = builder.build().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (one, two) = runtime.block_on(async { (pool.get().await.unwrap(), pool.get().await.unwrap()) });
    std::thread::spawn(move || drop(one)).join().unwrap();
    assert_eq!(pool.snapshot().idle, 1);
    drop(runtime);
    drop(two);
    assert_eq!((pool.snapshot().idle, script.live()), (2, 2));
    drop(pool);
    assert_eq!(script.live(), 0, "without a runtime the resources are dropped with the pool");
}

#[test]
fn a_pool_lives_on_over_several_runtimes() {
    let (script, builder) = scripted(1);
    let pool = builder.build().unwrap();
    for round in 0..3 {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let guard = pool.get().await.unwrap();
            guard.set_used(true);
            drop(guard);
            // The reset is still to come when this runtime ends.
            script.always(Stage::Reset, if round < 2 { Act::Never } else { Act::Ok });
            settle().await;
        });
        drop(runtime);
        script.always(Stage::Reset, Act::Ok);
    }
    assert_eq!(script.calls(Stage::Create), 1);
}

#[test]
fn a_waiter_whose_housekeeper_lost_its_runtime_starts_it_on_its_own() {
    let (script, builder) = scripted(1);
    let first = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let pool = builder.build().unwrap();
    script.always(Stage::Create, Act::Gated);
    let second = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut early = Box::pin(pool.get());
    {
        let _entered = first.enter();
        assert!(poll_once(early.as_mut()).is_pending());
    }
    drop(first);
    script.open(Stage::Create, 5);
    let guard = second.block_on(early).unwrap();
    assert_eq!(pool.snapshot().leased, 1);
    drop(guard);
}

#[tokio::test(start_paused = true)]
async fn a_guard_dropped_by_a_panic_follows_on_unwind() {
    for (choice, expected) in [
        (OnUnwind::Recheck, Err(TryGetError::NeedsCheck)),
        (OnUnwind::Discard, Err(TryGetError::Empty)),
        (OnUnwind::Return, Ok(())),
    ] {
        let (_, builder) = scripted(1);
        let pool = builder.on_unwind(choice).build().unwrap();
        let guard = pool.get().await.unwrap();
        let task = tokio::spawn(async move {
            let _guard = guard;
            std::panic::resume_unwind(Box::new("on purpose"));
        });
        assert!(task.await.is_err());
        settle().await;
        assert_eq!(pool.try_get().map(drop), expected, "{choice:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn drain_ends_at_its_deadline_and_names_the_holder() {
    let (script, builder) = scripted(3);
    let pool = builder.build().unwrap();
    pool.warm_up(3, MINUTE).await;
    let held = pool.get().await.unwrap();
    let line = line!() - 1;
    let asked = Instant::now();
    let report = pool.drain(ms(100)).await.unwrap_err();
    assert!(asked.elapsed() >= ms(100) && asked.elapsed() <= ms(101));
    assert_eq!((report.alive, report.closed, report.holders.len()), (1, 2, 1));
    assert_eq!(report.holders[0].place.unwrap().line(), line);
    assert!(pool.get().await.unwrap_err().is_closed());
    let waiting = tokio::spawn({
        let pool = pool.clone();
        async move { pool.drain(MINUTE).await }
    });
    sleep(ms(10)).await;
    drop(held);
    let report = waiting.await.unwrap().unwrap();
    assert_eq!((report.alive, script.live()), (0, 0));
    sleep(MINUTE).await;
    assert_eq!(script.live(), 0);
}

#[tokio::test(start_paused = true)]
async fn drain_waits_for_a_create_under_way_and_closes_what_it_made() {
    let (script, builder) = scripted(2);
    script.always(Stage::Create, Act::After(ms(50)));
    let pool = builder.build().unwrap();
    let waiter = tokio::spawn({
        let pool = pool.clone();
        async move { pool.get().await.map(drop) }
    });
    sleep(ms(10)).await;
    let report = pool.drain(MINUTE).await.unwrap();
    assert!(waiter.await.unwrap().unwrap_err().is_closed());
    assert_eq!((report.alive, script.live(), script.calls(Stage::Create)), (0, 0, 1));
    assert_eq!(pool.stats().closed(CloseReason::Shutdown), 1);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_was_granted_before_the_close_is_reported_and_may_still_claim() {
    for claims in [true, false] {
        let (script, builder) = scripted(2);
        let pool = builder.build().unwrap();
        pool.warm_up(2, MINUTE).await;
        let held = [pool.get().await.unwrap(), pool.get().await.unwrap()];
        let mut granted = Box::pin(pool.get());
        assert!(poll_once(granted.as_mut()).is_pending());
        drop(held);
        let report = pool.drain(ms(50)).await.unwrap_err();
        assert_eq!((report.unclaimed, report.alive, report.closed), (1, 1, 1));
        if claims {
            let guard = granted.await.unwrap();
            assert_eq!((pool.snapshot().leased, script.live()), (1, 1));
            drop(guard);
        } else {
            drop(granted);
        }
        assert!(pool.drain(ms(100)).await.is_ok());
        assert_eq!(script.live(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_cut_off_reset_under_discard_closes_the_resource() {
    let (script, builder) = scripted(1);
    script.set_cancel_safety(CancelSafety::Discard);
    let pool = builder.build().unwrap();
    let guard = pool.get().await.unwrap();
    guard.set_dirty(true);
    drop(guard);
    settle().await;
    assert_eq!((script.live(), pool.stats().closed(CloseReason::CutOff)), (0, 1));
}
