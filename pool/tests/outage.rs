//! Creates that fail: few attempts, quick news for the callers, quick recovery.

mod support;

use std::time::Duration;

use lease_pool::testing::{Act, Stage};
use lease_pool::{CreateError, CreateState, GetError, HookError, Pooled};
use support::{assert_books, assert_quiet, ms, scripted, settle};
use tokio::time::{Instant, advance, sleep};

#[tokio::test(start_paused = true)]
async fn a_thousand_callers_make_three_attempts_and_then_one_per_backoff_step() {
    let (script, builder) = scripted(10);
    script.always(Stage::Create, Act::Fail);
    let pool = builder.backoff(ms(50), ms(400)).build().unwrap();
    let started = Instant::now();
    let tasks: Vec<_> = (0..1000)
        .map(|_| {
            let pool = pool.clone();
            tokio::spawn(async move { (pool.get().await.map(drop), Instant::now()) })
        })
        .collect();
    let mut ends = Vec::new();
    for task in tasks {
        let (result, at) = task.await.unwrap();
        match result.unwrap_err() {
            GetError::Unavailable { last: CreateError::Failed(cause), .. } => {
                assert_eq!(cause.stage(), Stage::Create);
            }
            other => panic!("{other:?}"),
        }
        ends.push(at);
    }
    assert_eq!(script.calls(Stage::Create), 3);
    ends.dedup();
    assert_eq!(ends.len(), 1, "all learn it in the same turn");
    assert!(ends[0] - started <= ms(50 + 100 + 2), "two steps of backoff at most");
    assert_eq!(pool.snapshot().create_state, CreateState::Open);

    let before = script.calls(Stage::Create);
    for _ in 0..1000 {
        let asked = Instant::now();
        assert!(matches!(pool.get().await.unwrap_err(), GetError::Unavailable { .. }));
        assert_eq!(Instant::now(), asked, "a new caller fails at once");
    }
    assert_eq!(script.calls(Stage::Create), before, "no caller starts an attempt");
    sleep(Duration::from_secs(4)).await;
    let probes = script.calls(Stage::Create) - before;
    assert!((5..=80).contains(&probes), "full jitter up to 400 ms over 4 s, callers or not: {probes}");
    assert!(script.max_running(Stage::Create) <= 2);
}

#[tokio::test(start_paused = true)]
async fn service_is_back_within_one_backoff_step() {
    let (script, builder) = scripted(4);
    script.always(Stage::Create, Act::Fail);
    let pool = builder.backoff(ms(50), ms(400)).build().unwrap();
    assert!(pool.get().await.is_err());
    sleep(Duration::from_secs(3)).await;
    script.always(Stage::Create, Act::Ok);
    let back = Instant::now();
    sleep(ms(401)).await;
    assert_eq!(pool.snapshot().create_state, CreateState::Healthy);
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(pool.get().await.unwrap());
    }
    assert!(back.elapsed() <= ms(402));
    assert_books(&pool, 4);
}

#[tokio::test(start_paused = true)]
async fn nobody_fails_while_any_resource_is_alive() {
    let (script, builder) = scripted(10);
    let pool = builder.build().unwrap();
    let mut held = Vec::new();
    for _ in 0..8 {
        held.push(pool.get().await.unwrap());
    }
    script.always(Stage::Create, Act::Fail);
    let waiter = tokio::spawn({
        let pool = pool.clone();
        async move { pool.get().await.map(drop) }
    });
    sleep(Duration::from_secs(5)).await;
    assert_eq!(pool.snapshot().create_state, CreateState::Open);
    assert!(!waiter.is_finished());
    match pool.get_timeout(ms(10)).await.unwrap_err() {
        GetError::Timeout { last_create_error: Some(cause), .. } => {
            assert!(matches!(*cause, CreateError::Failed(_)));
        }
        other => panic!("{other:?}"),
    }
    held.pop();
    assert!(waiter.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn the_loss_of_the_last_resource_during_an_outage_fails_the_waiters() {
    let (script, builder) = scripted(2);
    let pool = builder.build().unwrap();
    let held = pool.get().await.unwrap();
    script.always(Stage::Create, Act::Fail);
    let waiter = tokio::spawn({
        let pool = pool.clone();
        async move { pool.get().await.map(drop) }
    });
    sleep(Duration::from_secs(5)).await;
    assert!(!waiter.is_finished());
    Pooled::discard(held);
    let lost = Instant::now();
    assert!(matches!(waiter.await.unwrap().unwrap_err(), GetError::Unavailable { .. }));
    assert_eq!(Instant::now(), lost);
}

#[tokio::test(start_paused = true)]
async fn a_fatal_error_reaches_the_waiters_at_once() {
    let (script, builder) = scripted(4);
    script.always(Stage::Create, Act::Fatal);
    let pool = builder.build().unwrap();
    let started = Instant::now();
    match pool.get().await.unwrap_err() {
        GetError::Create(CreateError::Failed(cause)) => assert_eq!(cause.stage(), Stage::Create),
        other => panic!("{other:?}"),
    }
    assert_eq!(started.elapsed(), Duration::ZERO);
    assert_eq!(script.calls(Stage::Create), 1);
}

#[tokio::test(start_paused = true)]
async fn a_create_that_panics_or_hangs_or_is_refused_is_a_failed_create() {
    let (script, builder) = scripted(2);
    let pool = builder.create_timeout(ms(100)).backoff(ms(10), ms(10)).build().unwrap();
    script.always(Stage::Create, Act::Panic);
    assert!(matches!(
        pool.get().await.unwrap_err(),
        GetError::Unavailable { last: CreateError::Panicked, .. }
    ));
    script.always(Stage::Create, Act::Never);
    let asked = Instant::now();
    while !matches!(pool.get().await.unwrap_err(), GetError::Unavailable { last: CreateError::TimedOut, .. })
    {
        sleep(ms(10)).await;
        assert!(asked.elapsed() < Duration::from_secs(1));
    }
    script.always(Stage::Create, Act::Ok);
    sleep(ms(200)).await;
    assert!(pool.get().await.is_ok());

    let (script, builder) = scripted(2);
    let pool =
        builder.after_create(|_, _| Box::pin(async { Err(HookError::new("too old")) })).build().unwrap();
    match pool.get().await.unwrap_err() {
        GetError::Unavailable { last: CreateError::Hook(cause), .. } => {
            assert_eq!(cause.to_string(), "too old");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(script.live(), 0, "what was refused is closed");
    assert_quiet(&pool);
}

#[tokio::test(start_paused = true)]
async fn a_cold_start_opens_at_most_the_cap_at_once_and_uses_the_cap() {
    let (script, builder) = scripted(50);
    script.always(Stage::Create, Act::After(ms(10)));
    let pool = builder.create_concurrency(4).build().unwrap();
    let started = Instant::now();
    let tasks: Vec<_> = (0..200)
        .map(|_| {
            let pool = pool.clone();
            tokio::spawn(async move {
                let guard = pool.get().await.unwrap();
                sleep(Duration::from_secs(1)).await;
                drop(guard);
            })
        })
        .collect();
    sleep(ms(125)).await;
    assert_eq!(script.max_running(Stage::Create), 4);
    assert_eq!(pool.snapshot().leased, 48, "four at a time, not one by one");
    for task in tasks {
        task.await.unwrap();
    }
    assert!(started.elapsed() < Duration::from_secs(5));
    assert_eq!(script.max_live(), 50);
    assert_quiet(&pool);
}

#[tokio::test(start_paused = true)]
async fn the_refill_of_min_idle_goes_on_after_any_number_of_failures() {
    let (script, builder) = scripted(5);
    script.always(Stage::Create, Act::Fail);
    let pool = builder.min_idle(3).backoff(ms(10), ms(50)).build().unwrap();
    assert!(pool.get().await.is_err());
    sleep(Duration::from_secs(10)).await;
    let attempts = script.calls(Stage::Create);
    assert!(attempts > 100, "{attempts}");
    script.always(Stage::Create, Act::Ok);
    sleep(ms(60)).await;
    assert_eq!(pool.snapshot().idle, 3, "without any caller");
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_refuses_every_checkout_does_not_spin() {
    let (script, builder) = scripted(2);
    let pool =
        builder.before_checkout(|_, _| Box::pin(async { Err(HookError::new("never")) })).build().unwrap();
    assert!(pool.get_timeout(Duration::from_secs(5)).await.is_err());
    let creates = script.calls(Stage::Create);
    assert!(creates < 1000, "{creates}");
    settle().await;
    assert_quiet(&pool);
}

#[tokio::test(start_paused = true)]
async fn warm_up_tells_how_many_are_ready_and_the_first_error() {
    let (script, builder) = scripted(6);
    let pool = builder.build().unwrap();
    let warm = pool.warm_up(4, Duration::from_secs(1)).await;
    assert_eq!((warm.ready, warm.first_error.is_none()), (4, true));
    script.next(Stage::Create, Act::Fail);
    let warm = pool.warm_up(100, Duration::from_secs(1)).await;
    assert_eq!(warm.ready, 6, "at most the maximum");
    assert!(matches!(warm.first_error, Some(CreateError::Failed(_))));
    advance(ms(1)).await;
    assert_eq!(pool.snapshot().idle, 6);
}
