//! Order and progress of callers.

mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lease_pool::testing::{Act, Stage};
use lease_pool::{GetError, Phase, Pooled};
use support::{assert_books, assert_quiet, ms, poll_once, scripted, settle};
use tokio::time::{Instant, advance, sleep};

#[tokio::test(start_paused = true)]
async fn a_return_serves_the_head_although_its_own_create_runs() {
    let (script, builder) = scripted(2);
    let pool = builder.build().unwrap();
    let held = pool.get().await.unwrap();
    script.always(Stage::Create, Act::After(ms(500)));
    let started = Instant::now();
    let waiter = tokio::spawn({
        let pool = pool.clone();
        async move { (pool.get().await.unwrap(), Instant::now()) }
    });
    sleep(ms(5)).await;
    assert_eq!(pool.snapshot().creating, 1);
    drop(held);
    let (guard, served) = waiter.await.unwrap();
    assert_eq!(served - started, ms(5));
    sleep(ms(600)).await;
    assert_eq!(pool.snapshot().idle, 1, "what its create made lands in idle");
    drop(guard);
}

#[tokio::test(start_paused = true)]
async fn a_spike_is_served_by_returns_not_by_creates() {
    let (script, builder) = scripted(50);
    script.always(Stage::Create, Act::Ok);
    let pool = builder.build().unwrap();
    pool.warm_up(5, Duration::from_secs(1)).await;
    script.always(Stage::Create, Act::After(ms(150)));
    let before = script.calls(Stage::Create);
    let started = Instant::now();
    let tasks: Vec<_> = (0..50)
        .map(|_| {
            let pool = pool.clone();
            tokio::spawn(async move {
                let guard = pool.get().await.unwrap();
                sleep(ms(2)).await;
                drop(guard);
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let took = started.elapsed();
    assert!(took <= ms(24), "ideal are 20 ms: {took:?}");
    assert!(script.calls(Stage::Create) - before <= 2, "at most the create concurrency");
}

#[tokio::test(start_paused = true)]
async fn callers_in_a_closed_loop_are_served_alike() {
    const TASKS: usize = 64;
    const SIZE: usize = 8;
    let (_, builder) = scripted(SIZE);
    let pool = builder.build().unwrap();
    pool.warm_up(SIZE, Duration::from_secs(1)).await;
    let end = Instant::now() + Duration::from_secs(1);
    let worst = Arc::new(Mutex::new(Duration::ZERO));
    let tasks: Vec<_> = (0..TASKS)
        .map(|_| {
            let (pool, worst) = (pool.clone(), Arc::clone(&worst));
            tokio::spawn(async move {
                let mut served = 0_u32;
                while Instant::now() < end {
                    let asked = Instant::now();
                    let guard = pool.get().await.unwrap();
                    let waited = asked.elapsed();
                    {
                        let mut worst = worst.lock().unwrap();
                        *worst = waited.max(*worst);
                    }
                    sleep(ms(1)).await;
                    drop(guard);
                    served += 1;
                }
                served
            })
        })
        .collect();
    let mut served = Vec::new();
    for task in tasks {
        served.push(task.await.unwrap());
    }
    let (least, most) = (served.iter().min().unwrap(), served.iter().max().unwrap());
    assert!(most - least <= 1, "{least} to {most}");
    let sum: f64 = served.iter().map(|n| f64::from(*n)).sum();
    let squares: f64 = served.iter().map(|n| f64::from(*n).powi(2)).sum();
    assert!(sum * sum / (TASKS as f64 * squares) >= 0.999);
    let round = ms((TASKS / SIZE) as u64);
    let worst = *worst.lock().unwrap();
    assert!(worst <= 2 * round, "{worst:?}");
}

#[tokio::test(start_paused = true)]
async fn callers_are_served_in_the_order_of_arrival() {
    let (_, builder) = scripted(1);
    let pool = builder.build().unwrap();
    let held = pool.get().await.unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let tasks: Vec<_> = (0..20)
        .map(|number| {
            let (pool, order) = (pool.clone(), Arc::clone(&order));
            tokio::spawn(async move {
                let guard = pool.get().await.unwrap();
                order.lock().unwrap().push(number);
                tokio::task::yield_now().await;
                drop(guard);
            })
        })
        .collect();
    settle().await;
    drop(held);
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(*order.lock().unwrap(), (0..20).collect::<Vec<_>>());
}

/// Every way in which a place becomes free serves the head of the queue.
#[tokio::test(start_paused = true)]
async fn every_edge_that_frees_a_place_serves_the_head() {
    type Edge = fn(&lease_pool::Pool<lease_pool::testing::Scripted>, Pooled<lease_pool::testing::Scripted>);
    let edges: [(&str, Edge); 7] = [
        ("return", |_, guard| drop(guard)),
        ("discard", |_, guard| Pooled::discard(guard)),
        ("detach", |_, guard| drop(Pooled::detach(guard))),
        ("broken", |_, guard| guard.set_broken(true)),
        ("panicking predicate", |_, guard| guard.set_panics(true)),
        ("invalidated", |pool, _guard| pool.invalidate_all(Duration::ZERO)),
        ("grown", |pool, guard| {
            pool.resize(2).unwrap();
            std::mem::forget(guard);
        }),
    ];
    for (name, edge) in edges {
        let (_, builder) = scripted(1);
        let pool = builder.build().unwrap();
        let held = pool.get().await.unwrap();
        let waiter = tokio::spawn({
            let pool = pool.clone();
            async move { pool.get_timeout(ms(500)).await.map(drop) }
        });
        settle().await;
        assert_eq!(pool.snapshot().waiters, 1);
        edge(&pool, held);
        assert!(waiter.await.unwrap().is_ok(), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_expired_resource_makes_room_for_the_head() {
    let (script, builder) = scripted(1);
    let pool = builder.lifetime(ms(100)).build().unwrap();
    let held = pool.get().await.unwrap();
    let waiter = tokio::spawn({
        let pool = pool.clone();
        async move { pool.get().await.map(|guard| guard.number()) }
    });
    sleep(ms(150)).await;
    drop(held);
    assert_eq!(waiter.await.unwrap().unwrap(), 2, "the old one is over, the head gets a new one");
    assert_eq!(script.calls(Stage::Create), 2);
}

#[tokio::test(start_paused = true)]
async fn a_failed_create_is_followed_by_another_for_the_head() {
    let (script, builder) = scripted(1);
    script.next(Stage::Create, Act::Fail);
    script.next(Stage::Create, Act::Panic);
    let pool = builder.build().unwrap();
    let guard = pool.get().await.unwrap();
    assert_eq!(script.calls(Stage::Create), 3);
    assert_books(&pool, 1);
    drop(guard);
}

#[tokio::test(start_paused = true)]
async fn one_deadline_covers_queue_create_and_check() {
    let (script, builder) = scripted(1);
    let pool = builder.build().unwrap();
    let held = pool.get().await.unwrap();
    script.always(Stage::Check, Act::After(ms(60)));
    held.set_dirty(true);
    let started = Instant::now();
    let waiter = tokio::spawn({
        let pool = pool.clone();
        async move { (pool.get_timeout(ms(100)).await, Instant::now()) }
    });
    sleep(ms(60)).await;
    drop(held);
    let (result, ended) = waiter.await.unwrap();
    match result.unwrap_err() {
        GetError::Timeout { phase, waited, .. } => {
            assert_eq!(phase, Phase::Checking);
            assert_eq!(waited, ended - started);
        }
        other => panic!("{other}"),
    }
    assert!(ended - started >= ms(100) && ended - started <= ms(101), "{:?}", ended - started);
    assert_quiet(&pool);
    assert_eq!(pool.snapshot().idle, 1, "the resource was not at fault");
}

#[tokio::test(start_paused = true)]
async fn a_timeout_names_its_phase_and_the_holders() {
    let (script, builder) = scripted(20);
    let pool = builder.build().unwrap();
    script.always(Stage::Create, Act::Never);
    match pool.get_timeout(ms(20)).await.unwrap_err() {
        GetError::Timeout { phase: Phase::Creating, holders, snapshot, .. } => {
            assert_eq!((holders.total(), snapshot.creating), (0, 1));
        }
        other => panic!("{other:?}"),
    }
    let (_, builder) = scripted(20);
    let pool = builder.build().unwrap();
    let mut held = Vec::new();
    for _ in 0..20 {
        held.push(pool.get().await.unwrap());
        advance(ms(1)).await;
    }
    let line = line!() + 1;
    let error = pool.get_timeout(ms(20)).await.unwrap_err();
    match &error {
        GetError::Timeout { phase: Phase::Queued, waited, holders, .. } => {
            assert!(*waited >= ms(20) && *waited <= ms(21));
            assert_eq!((holders.total(), holders.oldest().len()), (20, 16));
            let ages: Vec<_> = holders.oldest().iter().map(|holder| holder.age).collect();
            assert!(ages.is_sorted_by(|a, b| a >= b), "oldest first");
            assert!(holders.oldest()[0].place.unwrap().line() < line);
        }
        other => panic!("{other:?}"),
    }
    assert!(error.to_string().contains("waiting.rs"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_deadline_in_the_past_makes_one_fair_attempt_and_never_queues() {
    let (script, builder) = scripted(1);
    let pool = builder.build().unwrap();
    assert!(pool.get_timeout(Duration::ZERO).await.unwrap_err().is_timeout());
    let held = pool.get().await.unwrap();
    let mut late = Box::pin(pool.get_timeout(Duration::ZERO));
    assert!(poll_once(late.as_mut()).is_ready());
    drop(held);
    assert!(pool.get_timeout(Duration::ZERO).await.is_ok(), "an idle resource needs no time");
    assert_eq!(script.calls(Stage::Create), 1);
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_refuses_newcomers_but_nobody_who_returns_to_it() {
    let (script, builder) = scripted(3);
    let pool = builder.max_waiters(1).build().unwrap();
    pool.warm_up(3, ms(100)).await;
    advance(Duration::from_secs(2)).await;
    // Three callers find their resources broken and come back while the queue is full.
    script.always(Stage::Check, Act::FailAfter(ms(5)));
    script.always(Stage::Create, Act::After(ms(20)));
    let order = Arc::new(Mutex::new(Vec::new()));
    let tasks: Vec<_> = (0..3)
        .map(|number| {
            let (pool, order) = (pool.clone(), Arc::clone(&order));
            tokio::spawn(async move {
                let guard = pool.get().await.unwrap();
                order.lock().unwrap().push(number);
                sleep(ms(1)).await;
                drop(guard);
            })
        })
        .collect();
    sleep(ms(10)).await;
    assert_eq!(pool.snapshot().waiters, 3);
    assert!(matches!(pool.get().await.unwrap_err(), GetError::QueueFull));
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(*order.lock().unwrap(), [0, 1, 2]);
    sleep(ms(30)).await;
    assert_quiet(&pool);
}

/// Checks that fail in the reverse order of arrival do not turn the callers round.
#[tokio::test(start_paused = true)]
async fn failed_checks_in_reverse_order_re_enter_by_ticket() {
    for callers in [2_u64, 3] {
        let (script, builder) = scripted(callers as usize);
        let pool = builder.build().unwrap();
        pool.warm_up(callers as usize, ms(100)).await;
        advance(Duration::from_secs(2)).await;
        for caller in 0..callers {
            script.next(Stage::Check, Act::FailAfter(ms(10 * (callers - caller))));
        }
        script.always(Stage::Create, Act::Gated);
        let order = Arc::new(Mutex::new(Vec::new()));
        let tasks: Vec<_> = (0..callers)
            .map(|number| {
                let (pool, order) = (pool.clone(), Arc::clone(&order));
                tokio::spawn(async move {
                    let guard = pool.get().await.unwrap();
                    order.lock().unwrap().push(number);
                    std::mem::forget(guard);
                })
            })
            .collect();
        sleep(ms(100)).await;
        for _ in 0..callers {
            script.open(Stage::Create, 1);
            settle().await;
        }
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*order.lock().unwrap(), (0..callers).collect::<Vec<_>>());
    }
}
