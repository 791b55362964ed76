//! Order and progress: who is first, who may pass whom, and what a large head leaves to the others.
#![cfg(not(any(fair_loom, fair_shuttle)))]

mod support;

use semaphore_core::{AcquireError, Fairness, Semaphore, TryAcquireError};
use std::sync::Arc;
use support::scene::with_clock;
use support::setup::{BARGING, BOTH, FIFO};
use support::wakers::counting;
use support::{Scene, Waiter, each_form, each_setup};

#[test]
fn waiters_are_served_in_the_order_of_their_first_poll() {
    with_clock(|_| {
        each_form(BOTH, |setup| {
            let semaphore = setup.semaphore(0, 8);
            let mut scene = Scene::start(setup, &semaphore, 0);
            // Made in one order, polled in another: the poll counts.
            let mut waiters: Vec<_> = (0..5).map(|_| scene.waiter(1)).collect();
            for at in [3, 0, 4, 1, 2] {
                waiters[at].stay();
            }
            for (turn, at) in [3, 0, 4, 1, 2].into_iter().enumerate() {
                scene.free_up(1);
                assert!(waiters[at].woken(), "turn {turn} belongs to {at}");
                assert_eq!(waiters.iter().filter(|waiter| waiter.woken()).count(), turn + 1);
            }
            drop(waiters);
            scene.finish();
        });
    });
}

#[test]
fn a_task_without_cooperative_budget_that_polls_first_is_first() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let semaphore = Arc::new(Semaphore::new(1));
        let lease = semaphore.acquire().await.unwrap();
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        for _ in 0..10_000 {
            sender.send(()).unwrap();
        }
        // The first task draws its budget down to nothing, then asks.
        let order = Arc::new(std::sync::Mutex::new(Vec::new()));
        let (own, list) = (Arc::clone(&semaphore), Arc::clone(&order));
        let first = tokio::spawn(async move {
            let mut acquire = Box::pin(own.acquire_owned());
            std::future::poll_fn(|context| {
                while receiver.poll_recv(context).is_ready() {}
                acquire.as_mut().poll(context)
            })
            .await
            .map(|_lease| list.lock().unwrap().push("exhausted"))
            .unwrap();
        });
        let (own, list) = (Arc::clone(&semaphore), Arc::clone(&order));
        let second = tokio::spawn(async move {
            let _lease = own.acquire_owned().await.unwrap();
            list.lock().unwrap().push("fresh");
        });
        while semaphore.queue_len() < 2 {
            tokio::task::yield_now().await;
        }
        lease.release();
        first.await.unwrap();
        second.await.unwrap();
        assert_eq!(*order.lock().unwrap(), ["exhausted", "fresh"]);
    });
}

#[test]
fn a_holder_that_releases_and_asks_again_does_not_pass_a_waiter() {
    with_clock(|_| {
        each_form(FIFO, |setup| {
            let semaphore = setup.semaphore(1, 8);
            let scene = Scene::start(setup, &semaphore, 1);
            let mut holder = scene.take(1);
            for _ in 0..4 {
                let waiter = scene.queue(1);
                holder.release();
                assert!(semaphore.try_acquire().is_err());
                let again = scene.queue(1);
                scene.expect(0, &[1], 1);
                waiter.claim().release();
                holder = again.claim();
            }
            holder.release();
            scene.finish();
        });
    });
}

#[test]
fn a_stream_of_small_requests_does_not_pass_a_large_head() {
    with_clock(|_| {
        each_form(FIFO, |setup| {
            let semaphore = setup.semaphore(0, 8);
            let mut scene = Scene::start(setup, &semaphore, 0);
            let large = scene.queue(4);
            let mut stream = Vec::new();
            for free in 1..4 {
                scene.free_up(1);
                stream.push(scene.queue(1));
                assert!(matches!(
                    semaphore.try_acquire(),
                    Err(TryAcquireError::NoPermits { requested: 1, available, .. }) if available == free
                ));
                scene.expect(free, &[], 1 + stream.len());
            }
            scene.free_up(1);
            scene.expect(0, &[4], 3);
            assert!(stream.iter().all(|waiter| !waiter.woken()));
            large.claim().release();
            scene.expect(1, &[1, 1, 1], 0);
            drop(stream);
            scene.finish();
        });
    });
}

#[test]
fn no_form_of_try_passes_a_waiter() {
    with_clock(|_| {
        each_form(FIFO, |setup| {
            let semaphore = setup.semaphore(3, 8);
            let scene = Scene::start(setup, &semaphore, 3);
            let head = scene.queue(4);
            assert!(semaphore.try_acquire().is_err());
            assert!(semaphore.try_acquire_many(2).is_err());
            assert!(Arc::clone(&semaphore).try_acquire_owned().is_err());
            assert!(Arc::clone(&semaphore).try_acquire_many_owned(3).is_err());
            assert!(semaphore.drain_permits().is_none());
            scene.expect(3, &[], 1);
            drop(head);
            assert_eq!(semaphore.drain_permits().map(|lease| lease.permits()), Some(3));
            scene.finish();
        });
    });
}

#[test]
fn a_barger_may_take_what_is_free_and_the_waiter_keeps_its_place() {
    with_clock(|_| {
        each_form(BARGING, |setup| {
            let semaphore = setup.semaphore(0, 8);
            let mut scene = Scene::start(setup, &semaphore, 0);
            let [mut first, second] = [scene.queue(1), scene.queue(1)];
            scene.free_up(1);
            scene.expect(0, &[1], 1);
            let barger = semaphore.try_acquire().expect("newcomers may pass");
            assert_eq!((semaphore.available_permits(), semaphore.queue_len()), (0, 2));
            first.stay();
            assert_eq!(semaphore.queue_len(), 2);
            barger.release();
            assert!(!second.woken(), "the first in line is asked first");
            first.claim().release();
            second.claim().release();
            scene.finish();
        });
    });
}

#[test]
fn a_woken_waiter_that_leaves_passes_the_wake_on_under_barging() {
    with_clock(|_| {
        each_form(BARGING, |setup| {
            let semaphore = setup.semaphore(0, 8);
            let mut scene = Scene::start(setup, &semaphore, 0);
            let mut queue: Vec<_> = (0..3).map(|_| scene.queue(1)).collect();
            scene.free_up(1);
            for _ in 0..2 {
                drop(queue.remove(0));
                assert!(queue[0].woken());
                scene.expect(0, &[1], queue.len() - 1);
            }
            queue.remove(0).claim().release();
            scene.finish();
        });
    });
}

#[test]
fn the_same_schedule_ends_differently_in_the_two_modes() {
    for (fairness, newcomer_gets_in) in [(Fairness::Fifo, false), (Fairness::Barging, true)] {
        let semaphore = Semaphore::builder(2).fairness(fairness).build().unwrap();
        assert_eq!(semaphore.fairness(), fairness);
        let lease = semaphore.try_acquire_many(2).unwrap();
        let mut waiter = Box::pin(semaphore.acquire_many(2));
        let (counter, waker) = counting();
        let mut context = std::task::Context::from_waker(&waker);
        assert!(waiter.as_mut().poll(&mut context).is_pending());
        lease.release();
        assert_eq!(counter.count(), 1, "woken in both");
        assert_eq!(semaphore.try_acquire().is_ok(), newcomer_gets_in, "{fairness:?}");
        assert!(waiter.as_mut().poll(&mut context).is_ready(), "the newcomer is gone again");
    }
}

#[test]
fn a_large_head_leaves_the_count_of_free_permits_true() {
    with_clock(|_| {
        each_form(BOTH, |setup| {
            let semaphore = setup.semaphore(5, 8);
            let scene = Scene::start(setup, &semaphore, 5);
            let mut head = scene.queue(7);
            for _ in 0..3 {
                head.stay();
                scene.expect(5, &[], 1);
                assert_eq!(semaphore.available_permits(), 5);
            }
            drop(head);
            scene.finish();
        });
    });
}

#[test]
fn an_impossible_request_fails_at_once_and_blocks_nobody() {
    with_clock(|_| {
        each_form(BOTH, |setup| {
            for requested in [9, 10, Semaphore::MAX_PERMITS, Semaphore::MAX_PERMITS + 1, usize::MAX] {
                let semaphore = setup.semaphore(1, 8);
                let scene = Scene::start(setup, &semaphore, 1);
                let failed = scene.waiter(requested).fail();
                assert!(
                    matches!(failed, AcquireError::TooLarge { requested: asked, ceiling: 8, .. } if asked == requested),
                    "{failed:?}"
                );
                assert!(matches!(
                    semaphore.try_acquire_many(requested),
                    Err(TryAcquireError::TooLarge { ceiling: 8, .. })
                ));
                scene.expect(1, &[], 0);
                // The same with somebody in the queue.
                let waiter = scene.queue(2);
                assert!(matches!(scene.waiter(requested).fail(), AcquireError::TooLarge { .. }));
                scene.expect(1, &[], 1);
                drop(waiter);
                scene.finish();
            }
        });
    });
}

#[test]
fn a_queued_request_above_a_lowered_ceiling_fails_at_the_head_and_the_next_is_served() {
    with_clock(|_| {
        each_form(BOTH, |mut setup| {
            setup.start = support::Start::OthersHold;
            let semaphore = setup.semaphore(0, 8);
            let mut scene = Scene::start(setup, &semaphore, 0);
            let [first, mut large, last] = [2, 7, 1].map(|permits| scene.queue(permits));
            semaphore.resize(6).expect("a shrink");
            large.stay();
            scene.free_up(2);
            assert!(!first.woken(), "that repaid the debt");
            scene.free_up(2);
            first.claim().forget();
            assert!(large.woken(), "it reached the head");
            assert!(matches!(large.fail(), AcquireError::TooLarge { requested: 7, .. }));
            scene.free_up(1);
            last.claim().release();
            scene.finish();
        });
    });
}

#[test]
fn a_grant_that_its_task_never_polls_shows_with_its_age() {
    let semaphore = Semaphore::new_named("store", 1);
    let lease = semaphore.try_acquire().unwrap();
    let (_, waker) = counting();
    let mut context = std::task::Context::from_waker(&waker);
    let mut first = Box::pin(semaphore.acquire());
    let mut second = Box::pin(semaphore.acquire());
    assert!(first.as_mut().poll(&mut context).is_pending());
    assert!(second.as_mut().poll(&mut context).is_pending());
    assert_eq!(semaphore.snapshot().oldest_grant, None);
    lease.release();
    // From here the task polls the second only.
    assert!(second.as_mut().poll(&mut context).is_pending());
    let seen = semaphore.snapshot();
    assert_eq!((seen.granted, seen.waiters), (1, 1));
    let age = seen.oldest_grant.expect("a named semaphore keeps ages");
    assert!(semaphore.snapshot().oldest_grant.unwrap() >= age);
    assert!(seen.oldest_waiter.is_some());
    drop(first);
    assert!(second.as_mut().poll(&mut context).is_ready());
    let seen = semaphore.snapshot();
    assert_eq!((seen.oldest_grant, seen.oldest_waiter), (None, None));
}

#[test]
fn the_list_of_waiters_shows_order_and_needs() {
    each_setup(FIFO, |setup| {
        let semaphore = setup.semaphore(0, 8);
        let mut scene = Scene::start(setup, &semaphore, 0);
        let mut queue: Vec<Waiter<'_>> = [3, 1, 2].map(|permits| scene.queue(permits)).into();
        let permits = |most| semaphore.waiters(most).iter().map(|waiter| waiter.permits).collect::<Vec<_>>();
        assert_eq!(permits(10), [3, 1, 2]);
        assert_eq!(permits(2), [3, 1]);
        assert_eq!(permits(0), [0; 0]);
        assert_eq!(semaphore.snapshot().requested, 6);
        drop(queue.remove(1));
        assert_eq!((permits(10), semaphore.snapshot().requested), (vec![3, 2], 5));
        scene.free_up(3);
        assert_eq!((permits(10), semaphore.snapshot().requested), (vec![2], 2));
        drop(queue);
        scene.finish();
    });
}
