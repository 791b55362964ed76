//! Callers that give up: nothing healthy is lost, no work is done twice.

mod support;

use std::time::Duration;

use lease_pool::testing::{Act, Stage};
use lease_pool::{CancelSafety, Pooled, TryGetError};
use support::{assert_books, assert_quiet, ms, poll_once, scripted, settle};
use tokio::time::{Instant, advance, sleep, timeout};

#[tokio::test(start_paused = true)]
async fn a_create_survives_the_callers_that_wanted_it() {
    let (script, builder) = scripted(10);
    script.always(Stage::Create, Act::After(ms(50)));
    let pool = builder.build().unwrap();
    let mut served_at = None;
    for attempt in 1..=40 {
        match timeout(ms(20), pool.get()).await {
            Ok(got) => {
                drop(got.unwrap());
                served_at.get_or_insert(attempt);
            }
            Err(_) => settle().await,
        }
    }
    assert_eq!(served_at, Some(3), "50 ms are over in the third try of 20 ms");
    assert_eq!(script.calls(Stage::Create), 1);
    assert_quiet(&pool);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_check_destroys_no_healthy_resource() {
    for safety in [CancelSafety::Safe, CancelSafety::CheckFirst] {
        let (script, builder) = scripted(4);
        script.set_cancel_safety(safety);
        let pool = builder.build().unwrap();
        pool.warm_up(4, ms(100)).await;
        script.always(Stage::Check, Act::After(ms(20)));
        advance(Duration::from_secs(2)).await;
        let gets: Vec<_> = (0..4)
            .map(|_| {
                let pool = pool.clone();
                tokio::spawn(async move { timeout(ms(5), pool.get()).await.is_err() })
            })
            .collect();
        for get in gets {
            assert!(get.await.unwrap(), "the check takes longer than the caller waits");
        }
        assert_eq!(pool.snapshot().idle, 4, "{safety:?}");
        assert_eq!((script.live(), script.cut_off(Stage::Check)), (4, 4));
        assert_quiet(&pool);
        let again = pool.get().await.unwrap();
        assert_eq!((script.calls(Stage::Create), script.live()), (4, 4));
        drop(again);
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_check_closes_the_resource_under_discard() {
    let (script, builder) = scripted(1);
    script.set_cancel_safety(CancelSafety::Discard);
    let pool = builder.build().unwrap();
    drop(pool.get().await.unwrap());
    script.always(Stage::Check, Act::After(ms(20)));
    advance(Duration::from_secs(2)).await;
    assert!(timeout(ms(5), pool.get()).await.is_err());
    settle().await;
    assert_eq!((pool.snapshot().live(), script.live()), (0, 0));
    script.always(Stage::Check, Act::Ok);
    drop(pool.get().await.unwrap());
    assert_quiet(&pool);
}

#[tokio::test(start_paused = true)]
async fn a_grant_to_a_dropped_caller_goes_to_the_next() {
    let (_, builder) = scripted(1);
    let pool = builder.build().unwrap();
    let held = pool.get().await.unwrap();
    let mut first = Box::pin(pool.get());
    let mut second = Box::pin(pool.get());
    assert!(poll_once(first.as_mut()).is_pending());
    assert!(poll_once(second.as_mut()).is_pending());
    drop(held);
    assert_eq!(pool.snapshot().granted, 1);
    drop(first);
    let served = second.await.unwrap();
    assert_books(&pool, 1);
    drop(served);
    assert_quiet(&pool);
}

#[tokio::test(start_paused = true)]
async fn a_grant_in_the_instant_of_the_deadline_is_delivered_or_passed_on() {
    let (_, builder) = scripted(1);
    let pool = builder.build().unwrap();
    let held = pool.get().await.unwrap();
    let late = tokio::spawn({
        let pool = pool.clone();
        async move { pool.get_timeout(ms(30)).await.map(drop).is_ok() }
    });
    let patient = tokio::spawn({
        let pool = pool.clone();
        async move { pool.get_timeout(ms(60)).await.map(drop).is_ok() }
    });
    sleep(ms(30)).await;
    drop(held);
    let (late, patient) = (late.await.unwrap(), patient.await.unwrap());
    assert!(patient, "whatever became of the first (served: {late}), the second is served");
    assert_quiet(&pool);
    assert_eq!(pool.snapshot().idle, 1);
}

#[tokio::test(start_paused = true)]
async fn a_granted_get_that_nobody_polls_is_revoked_and_keeps_its_place() {
    let (_, builder) = scripted(1);
    let pool = builder.build().unwrap();
    let held = pool.get().await.unwrap();
    let mut sleepy = Box::pin(pool.get());
    assert!(poll_once(sleepy.as_mut()).is_pending());
    let awake = tokio::spawn({
        let pool = pool.clone();
        async move { (pool.get().await.unwrap(), Instant::now()) }
    });
    settle().await;
    let third = tokio::spawn({
        let pool = pool.clone();
        async move { drop(pool.get().await.unwrap()) }
    });
    settle().await;
    let granted = Instant::now();
    drop(held);
    let (guard, served) = awake.await.unwrap();
    let waited = served - granted;
    assert!(waited >= ms(100) && waited <= ms(210), "{waited:?}");
    assert!(poll_once(sleepy.as_mut()).is_pending(), "it queues again");
    settle().await;
    drop(guard);
    assert!(poll_once(sleepy.as_mut()).is_ready(), "in front of the third, by its ticket");
    third.await.unwrap();
    assert_quiet(&pool);
}

#[tokio::test(start_paused = true)]
async fn gauges_are_zero_after_a_storm_of_cancels() {
    let (script, builder) = scripted(3);
    script.always(Stage::Create, Act::After(ms(7)));
    script.always(Stage::Check, Act::After(ms(3)));
    let pool = builder.check_if_idle(Duration::ZERO).build().unwrap();
    let end = Instant::now() + Duration::from_secs(2);
    let workers: Vec<_> = (0..20_u64)
        .map(|worker| {
            let pool = pool.clone();
            tokio::spawn(async move {
                let mut round = worker;
                while Instant::now() < end {
                    round = round.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    if let Ok(got) = timeout(ms(round >> 60), pool.get()).await {
                        let guard = got.unwrap();
                        if round & 1 == 0 {
                            sleep(ms(1)).await;
                        }
                        if round & 0xf00 == 0 {
                            Pooled::discard(guard);
                        }
                    } else {
                        tokio::task::yield_now().await;
                        sleep(Duration::from_micros(100)).await;
                    }
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await.unwrap();
    }
    sleep(ms(50)).await;
    assert_quiet(&pool);
    let now = pool.snapshot();
    assert_eq!(now.idle, script.live());
    assert!(script.max_live() <= 3);
    let totals = pool.stats();
    assert!(totals.cancelled > 100, "{totals:?}");
    assert_eq!(totals.created, totals.closed_total() + now.live() as u64);
}

#[tokio::test(start_paused = true)]
async fn gauges_are_zero_after_cancelled_waits() {
    let (_, builder) = scripted(1);
    let pool = builder.build().unwrap();
    let held = pool.get().await.unwrap();
    for _ in 0..5 {
        assert!(timeout(ms(5), pool.get()).await.is_err());
        assert_eq!(pool.snapshot().waiters, 0);
    }
    assert_eq!(pool.stats().cancelled, 5);
    drop(held);
    assert_quiet(&pool);
}

#[tokio::test(start_paused = true)]
async fn a_cut_off_use_is_checked_before_the_next_caller_gets_it() {
    let (script, builder) = scripted(1);
    let pool = builder.build().unwrap();
    let guard = pool.get().await.unwrap();
    guard.set_dirty(true);
    drop(guard);
    assert_eq!(pool.try_get().unwrap_err(), TryGetError::NeedsCheck);
    drop(pool.get().await.unwrap());
    assert_eq!(script.calls(Stage::Check), 1);
    assert!(pool.try_get().is_ok(), "the check cleared it");
}

#[tokio::test(start_paused = true)]
async fn with_marks_a_use_that_does_not_complete() {
    let (script, builder) = scripted(1);
    let pool = builder.build().unwrap();
    assert_eq!(pool.with(|r| Box::pin(async { r.number() })).await.unwrap(), 1);
    assert!(pool.try_get().is_ok(), "a use that completes leaves it clean");
    let use_it = pool.with(|_| Box::pin(sleep(ms(50))));
    assert!(timeout(ms(5), use_it).await.is_err());
    assert_eq!(pool.try_get().unwrap_err(), TryGetError::NeedsCheck);
    script.set_cancel_safety(CancelSafety::Discard);
    let use_it = pool.with(|_| Box::pin(sleep(ms(50))));
    assert!(timeout(ms(5), use_it).await.is_err());
    settle().await;
    assert_eq!(script.live(), 0);
    assert_quiet(&pool);
}
