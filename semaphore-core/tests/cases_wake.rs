//! Wake-ups: each permit that comes free reaches somebody, through the waker of the last poll.
#![cfg(not(any(fair_loom, fair_shuttle)))]

mod support;

use std::task::Poll;
use support::scene::with_clock;
use support::setup::{BOTH, FIFO};
use support::wakers::counting;
use support::{Scene, Start, Waiter, each_form, each_setup};

fn woken(queue: &[Waiter<'_>]) -> Vec<bool> {
    queue.iter().map(Waiter::woken).collect()
}

#[test]
fn two_releases_before_the_first_waiter_runs_wake_two() {
    with_clock(|_| {
        each_form(BOTH, |setup| {
            let semaphore = setup.semaphore(0, 8);
            let mut scene = Scene::start(setup, &semaphore, 0);
            let queue: Vec<_> = (0..3).map(|_| scene.queue(1)).collect();
            scene.free_up(1);
            scene.expect(0, &[1], 2);
            scene.free_up(1);
            scene.expect(0, &[1, 1], 1);
            assert_eq!(woken(&queue), [true, true, false]);
            let held: Vec<_> = queue.into_iter().take(2).map(Waiter::claim).collect();
            drop(held);
            scene.finish();
        });
    });
}

#[test]
fn one_release_of_n_wakes_as_many_as_it_can_serve() {
    with_clock(|_| {
        each_form(BOTH, |setup| {
            for permits in 1..=6 {
                let semaphore = setup.semaphore(0, 8);
                let mut scene = Scene::start(setup, &semaphore, 0);
                let queue: Vec<_> = (0..5).map(|_| scene.queue(1)).collect();
                scene.free_up(permits);
                let served = permits.min(5);
                scene.expect(permits - served, &vec![1; served], 5 - served);
                assert_eq!(woken(&queue), (0..5).map(|at| at < served).collect::<Vec<_>>());
                drop(queue);
                scene.finish();
            }
        });
    });
}

#[test]
fn a_release_beyond_one_batch_of_wakers_still_reaches_everybody() {
    with_clock(|_| {
        each_form(BOTH, |setup| {
            let semaphore = setup.semaphore(0, 300);
            let mut scene = Scene::start(setup, &semaphore, 0);
            let queue: Vec<_> = (0..257).map(|_| scene.queue(1)).collect();
            scene.free_up(300);
            assert!(queue.iter().all(|waiter| waiter.wakes() == 1));
            scene.expect(43, &[1; 257], 0);
            let held: Vec<_> = queue.into_iter().map(Waiter::claim).collect();
            drop(held);
            scene.finish();
        });
    });
}

#[test]
fn growth_wakes_as_many_as_it_can_serve() {
    each_setup(BOTH, |setup| {
        for by_resize in [false, true] {
            let semaphore = setup.semaphore(0, 8);
            let scene = Scene::start(setup, &semaphore, 0);
            if setup.start == Start::OthersHold {
                semaphore.set_ceiling(12).expect("above the capacity");
            }
            let queue: Vec<_> = [1, 2, 1].map(|permits| scene.queue(permits)).into();
            let grow = |by: usize| match by_resize {
                true => semaphore.resize(semaphore.capacity() + by).expect("under the ceiling"),
                false => semaphore.add_permits(by).expect("under the ceiling"),
            };
            grow(3);
            scene.expect(0, &[1, 2], 1);
            assert_eq!(woken(&queue), [true, true, false]);
            grow(1);
            scene.expect(0, &[1, 2, 1], 0);
            let held: Vec<_> = queue.into_iter().map(Waiter::claim).collect();
            drop(held);
            scene.finish();
        }
    });
}

#[test]
fn debt_is_repaid_before_any_waiter_and_waiters_before_newcomers() {
    with_clock(|_| {
        each_form(FIFO, |mut setup| {
            setup.start = Start::OthersHold;
            let semaphore = setup.semaphore(0, 6);
            let mut scene = Scene::start(setup, &semaphore, 0);
            let waiter = scene.queue(1);
            semaphore.resize(4).expect("a shrink below what is held");
            assert_eq!(semaphore.snapshot().debt, 2);
            for debt in [1, 0] {
                scene.free_up(1);
                assert_eq!(semaphore.snapshot().debt, debt);
                scene.expect(0, &[], 1);
                assert!(!waiter.woken(), "debt {debt} comes first");
            }
            scene.free_up(1);
            scene.expect(0, &[1], 0);
            assert!(semaphore.try_acquire().is_err(), "the waiter owns it");
            waiter.claim().release();
            scene.finish();
        });
    });
}

#[test]
fn a_large_release_repays_the_debt_and_serves_with_the_rest() {
    each_setup(BOTH, |mut setup| {
        setup.start = Start::OthersHold;
        let semaphore = setup.semaphore(0, 8);
        let mut scene = Scene::start(setup, &semaphore, 0);
        let queue: Vec<_> = [1, 2].map(|permits| scene.queue(permits)).into();
        semaphore.reduce_permits(3).expect("a shrink below what is held");
        scene.free_up(6);
        assert_eq!(semaphore.snapshot().debt, 0);
        scene.expect(0, &[1, 2], 0);
        drop(queue);
        scene.finish();
    });
}

#[test]
fn the_waker_of_the_last_poll_is_the_one_that_is_woken() {
    with_clock(|_| {
        each_form(BOTH, |setup| {
            let semaphore = setup.semaphore(0, 8);
            let mut scene = Scene::start(setup, &semaphore, 0);
            // At the head, in the middle and at the tail.
            let mut queue: Vec<_> = (0..3).map(|_| scene.queue(1)).collect();
            let (counters, wakers): (Vec<_>, Vec<_>) = (0..3).map(|_| counting()).unzip();
            for (waiter, waker) in queue.iter_mut().zip(&wakers) {
                assert!(waiter.poll_with(waker).is_pending());
            }
            scene.free_up(3);
            assert_eq!(woken(&queue), [false; 3], "the first wakers are out of date");
            assert!(counters.iter().all(|counter| counter.count() == 1));
            drop(queue);
            scene.finish();
        });
    });
}

#[test]
fn going_back_to_the_first_waker_counts_too() {
    with_clock(|_| {
        each_form(BOTH, |setup| {
            let semaphore = setup.semaphore(0, 8);
            let mut scene = Scene::start(setup, &semaphore, 0);
            let mut waiter = scene.queue(1);
            let (counter, waker) = counting();
            for _ in 0..3 {
                assert!(waiter.poll_with(&waker).is_pending());
                waiter.stay();
            }
            scene.free_up(1);
            assert_eq!((waiter.wakes(), counter.count()), (1, 0));
            waiter.claim().release();
            scene.finish();
        });
    });
}

#[test]
fn polling_again_with_another_waker_after_the_grant_is_ready() {
    with_clock(|_| {
        each_form(BOTH, |setup| {
            let semaphore = setup.semaphore(0, 8);
            let mut scene = Scene::start(setup, &semaphore, 0);
            let mut waiter = scene.queue(2);
            scene.free_up(2);
            let (_, waker) = counting();
            let Poll::Ready(Ok(held)) = waiter.poll_with(&waker) else { panic!("granted") };
            assert_eq!(held.permits(), 2);
            drop(held);
            scene.finish();
        });
    });
}

#[test]
fn no_waker_outlives_its_waiter() {
    use std::sync::Arc;
    use support::wakers::{Hooks, hooked};
    with_clock(|_| {
        each_form(BOTH, |setup| {
            let semaphore = setup.semaphore(0, 8);
            let mut scene = Scene::start(setup, &semaphore, 0);
            let hooks = Arc::new(Hooks::default());
            let waker = hooked(&hooks);
            let [mut queued, mut granted, mut swapped] = [1, 1, 1].map(|permits| scene.waiter(permits));
            assert!(granted.poll_with(&waker).is_pending());
            assert!(queued.poll_with(&waker).is_pending());
            assert!(swapped.poll_with(&waker).is_pending());
            swapped.stay();
            scene.free_up(1);
            granted.claim().release();
            drop((queued, swapped));
            assert_eq!(hooks.alive(), 1, "only the test's own waker is left");
            assert_eq!(hooks.wakes(), if setup.is_fifo() { 2 } else { hooks.wakes() });
            scene.finish();
        });
    });
}

#[test]
fn poke_wakes_every_waiter_and_changes_nothing_else() {
    with_clock(|_| {
        each_form(BOTH, |setup| {
            let semaphore = setup.semaphore(0, 8);
            let mut scene = Scene::start(setup, &semaphore, 0);
            let mut queue: Vec<_> = (0..40).map(|_| scene.queue(1)).collect();
            semaphore.poke();
            assert!(queue.iter().all(|waiter| waiter.wakes() == 1));
            scene.expect(0, &[], 40);
            for waiter in &mut queue {
                waiter.stay();
            }
            scene.free_up(2);
            assert_eq!(queue.iter().map(Waiter::wakes).sum::<usize>(), 42);
            assert!(queue[..2].iter().all(|waiter| waiter.wakes() == 2), "order is kept");
            drop(queue);
            scene.finish();
        });
    });
}

#[test]
fn a_poked_waiter_that_is_granted_before_it_polls_has_its_lease() {
    each_setup(BOTH, |setup| {
        let semaphore = setup.semaphore(0, 8);
        let mut scene = Scene::start(setup, &semaphore, 0);
        let [first, second] = [scene.queue(1), scene.queue(1)];
        semaphore.poke();
        semaphore.poke();
        scene.free_up(1);
        first.claim().release();
        second.claim().release();
        scene.finish();
    });
}
