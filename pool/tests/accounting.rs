//! Places and counts: nothing above the maximum, nothing lost, whatever user code does.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lease_pool::manager::{self, CloseReason};
use lease_pool::testing::{Act, Stage, conformance};
use lease_pool::{AddError, BuildError, DynPool, GetError, Pause, Pool, Pooled, ResizeError, TryGetError};
use proptest::prelude::*;
use support::{assert_books, assert_quiet, ms, scripted, settle};
use tokio::time::{advance, sleep};

#[tokio::test(start_paused = true)]
async fn panicking_user_code_costs_only_its_own_resource() {
    let (script, builder) = scripted(3);
    let pool = builder
        .after_return(|resource, _| {
            if resource.number() == 2 {
                std::panic::resume_unwind(Box::new("in after_return"));
            }
        })
        .before_close(|_, _, _| std::panic::resume_unwind(Box::new("in before_close")))
        .build()
        .unwrap();
    let held = [pool.get().await.unwrap(), pool.get().await.unwrap(), pool.get().await.unwrap()];
    held[0].set_panics(true);
    drop(held);
    settle().await;
    assert_eq!((pool.snapshot().idle, script.live()), (1, 1));
    assert_eq!(pool.stats().closed(CloseReason::Panicked), 2);
    script.next(Stage::Check, Act::Panic);
    advance(Duration::from_secs(2)).await;
    drop(pool.get().await.unwrap());
    settle().await;
    assert_eq!(pool.stats().closed(CloseReason::Panicked), 3);
    assert_quiet(&pool);
    assert!(script.max_live() <= 3);
}

#[tokio::test(start_paused = true)]
async fn a_shrink_falls_monotonically_and_starts_no_create() {
    let (script, builder) = scripted(16);
    let pool = builder.build().unwrap();
    let mut held = Vec::new();
    for _ in 0..16 {
        held.push(pool.get().await.unwrap());
    }
    pool.resize(4).unwrap();
    assert_eq!(pool.snapshot().excess, 12);
    let creates = script.calls(Stage::Create);
    let waiter = tokio::spawn({
        let pool = pool.clone();
        async move { pool.get().await.map(drop) }
    });
    settle().await;
    let mut last = 16;
    while held.len() > 4 {
        held.pop();
        settle().await;
        let live = pool.snapshot().live();
        assert!(live < last && !waiter.is_finished(), "{live}");
        last = live;
    }
    held.pop();
    assert!(waiter.await.unwrap().is_ok());
    assert_eq!((pool.snapshot().live(), script.calls(Stage::Create)), (4, creates));
    pool.resize(16).unwrap();
    for _ in 0..13 {
        held.push(pool.get().await.unwrap());
    }
    assert!(script.max_live() <= 16);
    held.truncate(1);
    pool.resize(1).unwrap();
    settle().await;
    assert_eq!((pool.snapshot().live(), script.live()), (1, 1), "idle ones go at once");
    assert!(matches!(pool.resize(0), Err(ResizeError::Max { max: 0, .. })));
}

#[tokio::test(start_paused = true)]
async fn a_create_that_finishes_into_an_excess_is_closed() {
    let (script, builder) = scripted(4);
    let pool = builder.create_concurrency(2).build().unwrap();
    let held = [pool.get().await.unwrap(), pool.get().await.unwrap()];
    script.always(Stage::Create, Act::Gated);
    let waiter = tokio::spawn({
        let pool = pool.clone();
        async move { pool.get().await.map(drop) }
    });
    settle().await;
    assert_eq!(pool.snapshot().creating, 1);
    pool.resize(2).unwrap();
    script.open(Stage::Create, 1);
    settle().await;
    assert_eq!((pool.snapshot().live(), script.live()), (2, 2));
    assert!(!waiter.is_finished());
    drop(held);
    assert!(waiter.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_resource_whose_drop_looks_at_its_pool_does_not_deadlock() {
    struct Nosy(Arc<std::sync::OnceLock<DynPool<Nosy>>>, Arc<AtomicUsize>);
    impl Drop for Nosy {
        fn drop(&mut self) {
            if let Some(pool) = self.0.get() {
                let _ = pool.snapshot();
                let _ = pool.try_get();
                self.1.fetch_add(1, Ordering::SeqCst);
            }
        }
    }
    let (cell, dropped) = (Arc::new(std::sync::OnceLock::new()), Arc::new(AtomicUsize::new(0)));
    let manager = {
        let (cell, dropped) = (Arc::clone(&cell), Arc::clone(&dropped));
        manager::from_fn(move || {
            let nosy = Nosy(Arc::clone(&cell), Arc::clone(&dropped));
            async { Ok::<_, std::io::Error>(nosy) }
        })
    };
    let pool = Pool::builder(manager).max(2).erase().build().unwrap();
    cell.set(pool.clone()).ok().unwrap();
    Pooled::discard(pool.get().await.unwrap());
    settle().await;
    drop(Pooled::detach(pool.get().await.unwrap()));
    drop(pool.get().await.unwrap());
    pool.drain(ms(100)).await.unwrap();
    assert_eq!(dropped.load(Ordering::SeqCst), 3);
}

#[tokio::test(start_paused = true)]
async fn pause_parks_what_comes_home_and_resume_hands_it_out_in_order() {
    let (script, builder) = scripted(3);
    let pool = builder.build().unwrap();
    pool.warm_up(2, ms(100)).await;
    let held = pool.get().await.unwrap();
    pool.pause(Pause::Wait);
    assert_eq!(pool.try_get().unwrap_err(), TryGetError::Paused);
    let waiters: Vec<_> = (0..3)
        .map(|_| {
            let pool = pool.clone();
            tokio::spawn(async move { pool.get_timeout(Duration::from_secs(20)).await.map(drop) })
        })
        .collect();
    assert!(pool.get_timeout(ms(50)).await.unwrap_err().is_timeout(), "under its own deadline");
    let home = tokio::spawn({
        let pool = pool.clone();
        async move { pool.paused().await }
    });
    settle().await;
    assert!(!home.is_finished());
    drop(held);
    home.await.unwrap();
    sleep(Duration::from_secs(1)).await;
    assert_eq!((pool.snapshot().waiters, pool.snapshot().idle, script.calls(Stage::Create)), (3, 2, 2));
    pool.resume();
    for waiter in waiters {
        assert!(waiter.await.unwrap().is_ok());
    }
    assert_quiet(&pool);

    pool.pause(Pause::Wait);
    let waiter = tokio::spawn({
        let pool = pool.clone();
        async move { pool.get().await.map(drop) }
    });
    settle().await;
    pool.pause(Pause::Fail);
    assert!(matches!(waiter.await.unwrap().unwrap_err(), GetError::Paused));
    assert!(matches!(pool.get().await.unwrap_err(), GetError::Paused));
    pool.resize(1).unwrap();
    settle().await;
    assert_eq!(script.live(), 1, "a shrink works while paused");
    assert!(pool.drain(ms(100)).await.is_ok(), "and so does a drain");
}

#[tokio::test(start_paused = true)]
async fn a_create_that_finishes_during_a_pause_waits_for_the_resume() {
    let (script, builder) = scripted(1);
    script.always(Stage::Create, Act::After(ms(10)));
    let pool = builder.build().unwrap();
    let waiter = tokio::spawn({
        let pool = pool.clone();
        async move { pool.get().await.map(drop) }
    });
    sleep(ms(5)).await;
    pool.pause(Pause::Wait);
    sleep(ms(50)).await;
    assert_eq!((pool.snapshot().idle, pool.snapshot().waiters), (1, 1));
    pool.resume();
    assert!(waiter.await.unwrap().is_ok());
    assert_quiet(&pool);
}

#[tokio::test(start_paused = true)]
async fn added_resources_need_a_vacant_slot() {
    let (script, builder) = scripted(2);
    let pool = builder.build().unwrap();
    pool.add(script.make()).unwrap();
    let held = pool.get().await.unwrap();
    pool.add(script.make()).unwrap();
    let refused = pool.add(script.make()).unwrap_err();
    assert!(matches!(refused, AddError::Full(_)));
    drop(refused);
    let other = pool.try_get().unwrap();
    assert_eq!((script.calls(Stage::Create), pool.stats().added), (0, 2));
    drop((held, other));
    assert_eq!(pool.retain(|resource, _| resource.number() == 1), 1);
    settle().await;
    assert_eq!((pool.snapshot().idle, script.live()), (1, 1));
    pool.close();
    assert!(matches!(pool.add(script.make()).unwrap_err(), AddError::Closed(_)));
}

#[test]
fn options_out_of_range_are_named() {
    let build = |builder: lease_pool::Builder<_>| builder.build().map(drop).unwrap_err();
    let (_, builder) = scripted(0);
    assert!(matches!(build(builder), BuildError::Max { max: 0, .. }));
    let (_, builder) = scripted(usize::MAX);
    assert!(build(builder).to_string().contains("18446744073709551615"));
    let (_, builder) = scripted(1);
    assert!(build(builder.create_concurrency(0)).to_string().contains("create_concurrency"));
    let (_, builder) = scripted(1);
    let error = build(builder.name("pool of zero").check_timeout(Duration::ZERO));
    assert_eq!(error.to_string(), "pool pool of zero: check_timeout is zero");
    let (_, builder) = scripted(1);
    assert!(matches!(build(builder.backoff(ms(2), ms(1))), BuildError::Backoff { .. }));
    let (_, one) = scripted(1);
    let (_, two) = scripted(1);
    let first = one.name("taken").build().unwrap();
    assert!(matches!(build(two.name("taken")), BuildError::NameTaken { .. }));
    drop(first);
    let (_, three) = scripted(1);
    assert!(three.name("taken").build().is_ok(), "free again with the last handle");
}

#[tokio::test(start_paused = true)]
async fn a_thread_may_wait_and_a_runtime_thread_is_refused() {
    let (_, builder) = scripted(1);
    let pool = builder.build().unwrap();
    assert!(matches!(pool.blocking_get(ms(1)).unwrap_err(), GetError::InsideRuntime));
    let other = pool.clone();
    let error = std::thread::spawn(move || other.blocking_get(ms(1)).map(drop)).join().unwrap().unwrap_err();
    assert!(matches!(error, GetError::NoRuntime), "no housekeeper yet: {error}");
    drop(pool.get().await.unwrap());
    let other = pool.clone();
    assert!(std::thread::spawn(move || other.blocking_get(ms(1)).map(drop)).join().unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn the_scripted_manager_conforms_in_every_mood() {
    for (stage, act) in [
        (Stage::Create, Act::After(ms(5))),
        (Stage::Check, Act::After(ms(5))),
        (Stage::Close, Act::Never),
        (Stage::Reset, Act::Ok),
    ] {
        let script = lease_pool::testing::Scripted::new();
        script.always(stage, act);
        let report = conformance(script.clone()).await.unwrap();
        assert!(report.cancels > 0, "{stage:?} {act:?}");
        assert!(script.max_live() <= 3 + 1, "at most one more outside, detached");
        assert_eq!(script.live(), 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_walk_of_resizes_overshoots(sizes in prop::collection::vec(1..17_usize, 1..12)) {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let (script, builder) = scripted(16);
            script.always(Stage::Create, Act::After(ms(3)));
            let pool = builder.create_concurrency(4).build().unwrap();
            let mut largest = 16;
            let mut held = Vec::new();
            for size in sizes {
                let before = pool.snapshot().live();
                pool.resize(size).unwrap();
                let creates = script.calls(Stage::Create);
                for _ in 0..3 {
                    if let Ok(guard) = pool.get_timeout(ms(2)).await {
                        held.push(guard);
                    }
                }
                let now = pool.snapshot();
                if now.excess > 0 {
                    assert!(now.live() <= before.max(size), "{now:?}");
                    assert_eq!(script.calls(Stage::Create), creates, "no create while above the maximum");
                }
                held.truncate(held.len() / 2 + 1);
                largest = largest.max(size);
                assert_books(&pool, held.len());
            }
            held.clear();
            sleep(ms(100)).await;
            assert_quiet(&pool);
            assert!(script.max_live() <= largest);
            assert!(pool.snapshot().live() <= pool.snapshot().max);
        });
    }
}
