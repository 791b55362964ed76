//! Cancelling: in every place of the queue, before and after the grant, alone and against a release.
#![cfg(not(any(fair_loom, fair_shuttle)))]

mod support;

use semaphore_core::Fairness;
use support::scene::with_clock;
use support::setup::{BOTH, FIFO};
use support::wakers::counting;
use support::{Scene, Setup, Waiter, each_form, each_setup};

/// A queue whose head wants more than is free: W1 wants 5 of 3, the others what they are given.
fn behind_a_large_head<'s>(scene: &mut Scene<'s>, others: &[usize]) -> Vec<Waiter<'s>> {
    let mut queue = vec![scene.queue(5)];
    queue.extend(others.iter().map(|&permits| scene.queue(permits)));
    scene.free_up(3);
    scene.expect(3, &[], queue.len());
    queue
}

#[test]
fn a_large_head_that_leaves_lets_the_small_one_behind_it_in() {
    with_clock(|_| {
        each_form(BOTH, |setup| {
            let semaphore = setup.semaphore(0, 8);
            let mut scene = Scene::start(setup, &semaphore, 0);
            let mut queue = behind_a_large_head(&mut scene, &[1]);
            drop(queue.remove(0));
            let small = queue.remove(0);
            assert!(small.woken());
            scene.expect(2, &[1], 0);
            let held = small.claim();
            scene.expect(2, &[], 0);
            held.release();
            scene.finish();
        });
    });
}

#[test]
fn a_head_that_leaves_lets_in_all_that_fit_and_no_more() {
    with_clock(|_| {
        each_form(BOTH, |setup| {
            let semaphore = setup.semaphore(0, 8);
            let mut scene = Scene::start(setup, &semaphore, 0);
            let mut queue = behind_a_large_head(&mut scene, &[1, 2, 1, 1]);
            drop(queue.remove(0));
            scene.expect(0, &[1, 2], 2);
            assert_eq!(queue.iter().map(Waiter::woken).collect::<Vec<_>>(), [true, true, false, false]);
            let served: Vec<_> = queue.drain(..2).map(Waiter::claim).collect();
            scene.expect(0, &[], 2);
            drop(served);
            scene.expect(1, &[1, 1], 0);
            drop(queue);
            scene.expect(3, &[], 0);
            scene.finish();
        });
    });
}

#[test]
fn two_large_heads_that_leave_one_after_the_other_let_the_third_in() {
    each_form_in_a_clock(BOTH, |setup| {
        let semaphore = setup.semaphore(0, 8);
        let mut scene = Scene::start(setup, &semaphore, 0);
        let mut queue = behind_a_large_head(&mut scene, &[6, 3]);
        drop(queue.remove(0));
        scene.expect(3, &[], 2);
        assert!(queue.iter().all(|waiter| !waiter.woken()));
        drop(queue.remove(0));
        scene.expect(0, &[3], 0);
        queue.remove(0).claim().release();
        scene.finish();
    });
}

#[test]
fn a_middle_waiter_that_leaves_wakes_nobody() {
    each_form_in_a_clock(BOTH, |setup| {
        let semaphore = setup.semaphore(0, 8);
        let mut scene = Scene::start(setup, &semaphore, 0);
        let mut queue = behind_a_large_head(&mut scene, &[1, 2, 1]);
        drop(queue.remove(2));
        scene.expect(3, &[], 3);
        drop(queue.remove(1));
        scene.expect(3, &[], 2);
        assert!(queue.iter().all(|waiter| !waiter.woken()));
        drop(queue.remove(0));
        scene.expect(2, &[1], 0);
        drop(queue);
        scene.finish();
    });
}

#[test]
fn the_last_waiter_that_leaves_opens_the_fast_path_again() {
    each_form_in_a_clock(BOTH, |setup| {
        for length in 1..4 {
            let semaphore = setup.semaphore(0, 8);
            let mut scene = Scene::start(setup, &semaphore, 0);
            let mut queue = behind_a_large_head(&mut scene, &vec![4; length - 1]);
            // From the tail, so that the head goes last and nobody is served on the way.
            while let Some(last) = queue.pop() {
                if setup.is_fifo() {
                    assert!(semaphore.try_acquire().is_err(), "a waiter is queued");
                }
                drop(last);
            }
            scene.expect(3, &[], 0);
            drop(semaphore.try_acquire_many(3).expect("nobody waits"));
            scene.take(3).release();
            scene.finish();
        }
    });
}

#[test]
fn cancelling_a_waiter_that_was_only_queued_passes_nothing_on() {
    each_form_in_a_clock(BOTH, |setup| {
        for gone in 0..4 {
            let semaphore = setup.semaphore(0, 8);
            let mut scene = Scene::start(setup, &semaphore, 0);
            let mut queue: Vec<_> = (0..4).map(|_| scene.queue(1)).collect();
            drop(queue.remove(gone));
            assert!(queue.iter().all(|waiter| !waiter.woken()), "cancelled at {gone}");
            scene.expect(0, &[], 3);
            scene.free_up(1);
            assert_eq!(queue.iter().map(Waiter::woken).collect::<Vec<_>>(), [true, false, false]);
            scene.expect(0, &[1], 2);
            drop(queue);
            scene.finish();
        }
    });
}

#[test]
fn an_unpolled_acquire_does_nothing_when_dropped() {
    each_form_in_a_clock(BOTH, |setup| {
        let semaphore = setup.semaphore(0, 8);
        let mut scene = Scene::start(setup, &semaphore, 0);
        let queued = scene.queue(1);
        for permits in [0, 1, 2, 9, usize::MAX] {
            drop(scene.waiter(permits));
        }
        scene.expect(0, &[], 1);
        assert!(!queued.woken());
        scene.free_up(1);
        queued.claim().release();
        scene.finish();
    });
}

#[test]
fn a_grant_that_nobody_polled_goes_to_the_next_in_line() {
    each_form_in_a_clock(BOTH, |setup| {
        for permits in 1..4 {
            let semaphore = setup.semaphore(0, 8);
            let mut scene = Scene::start(setup, &semaphore, 0);
            let mut queue: Vec<_> = (0..3).map(|_| scene.queue(permits)).collect();
            scene.free_up(permits);
            scene.expect(0, &[permits], 2);
            drop(queue.remove(0));
            assert_eq!(queue.iter().map(Waiter::woken).collect::<Vec<_>>(), [true, false]);
            scene.expect(0, &[permits], 1);
            drop(queue.remove(0));
            scene.expect(0, &[permits], 0);
            let held = queue.remove(0).claim();
            scene.expect(0, &[], 0);
            held.release();
            scene.expect(permits, &[], 0);
            scene.finish();
        }
    });
}

#[test]
fn a_grant_in_the_middle_of_several_goes_to_the_head_that_still_waits() {
    each_form_in_a_clock(FIFO, |setup| {
        for gone in 0..3 {
            let semaphore = setup.semaphore(0, 8);
            let mut scene = Scene::start(setup, &semaphore, 0);
            let mut queue: Vec<_> = (0..5).map(|_| scene.queue(1)).collect();
            scene.free_up(3);
            scene.expect(0, &[1, 1, 1], 2);
            drop(queue.remove(gone));
            scene.expect(0, &[1, 1, 1], 1);
            let woken: Vec<_> = queue.iter().map(Waiter::woken).collect();
            assert_eq!(woken, [true, true, true, false], "granted at {gone} left");
            drop(queue);
            scene.finish();
        }
    });
}

#[test]
fn a_large_grant_dropped_reaches_several_small_ones() {
    each_form_in_a_clock(BOTH, |setup| {
        let semaphore = setup.semaphore(0, 8);
        let mut scene = Scene::start(setup, &semaphore, 0);
        let large = scene.queue(5);
        let small: Vec<_> = [2, 2, 1, 1].map(|permits| scene.queue(permits)).into();
        scene.free_up(5);
        scene.expect(0, &[5], 4);
        drop(large);
        scene.expect(0, &[2, 2, 1], 1);
        assert_eq!(small.iter().map(Waiter::woken).collect::<Vec<_>>(), [true, true, true, false]);
        drop(small);
        scene.finish();
    });
}

#[test]
fn small_grants_dropped_add_up_for_a_large_head() {
    each_form_in_a_clock(FIFO, |setup| {
        let semaphore = setup.semaphore(0, 8);
        let mut scene = Scene::start(setup, &semaphore, 0);
        let mut small: Vec<_> = [1, 2, 1].map(|permits| scene.queue(permits)).into();
        let large = scene.queue(4);
        scene.free_up(4);
        scene.expect(0, &[1, 2, 1], 1);
        drop(small.remove(1));
        scene.expect(2, &[1, 1], 1);
        drop(small.remove(1));
        scene.expect(3, &[1], 1);
        assert!(!large.woken());
        drop(small);
        scene.expect(0, &[4], 0);
        large.claim().release();
        scene.finish();
    });
}

#[test]
fn a_large_waiter_that_leaves_keeps_none_of_what_came_meanwhile() {
    each_form_in_a_clock(BOTH, |setup| {
        let semaphore = setup.semaphore(0, 8);
        let mut scene = Scene::start(setup, &semaphore, 0);
        let mut large = scene.queue(7);
        let next = scene.queue(6);
        for free in 1..=6 {
            scene.free_up(1);
            large.stay();
            scene.expect(free, &[], 2);
        }
        drop(large);
        scene.expect(0, &[6], 0);
        next.claim().release();
        scene.expect(6, &[], 0);
        scene.finish();
    });
}

#[test]
fn a_cancelled_waiter_is_never_chosen_by_a_later_release() {
    each_form_in_a_clock(BOTH, |setup| {
        let semaphore = setup.semaphore(0, 8);
        let mut scene = Scene::start(setup, &semaphore, 0);
        let mut queue: Vec<_> = (0..6).map(|_| Some(scene.queue(1))).collect();
        // Every second one goes; each release must reach a live one.
        for gone in [0, 2, 4] {
            queue[gone] = None;
        }
        for (released, live) in [1, 3, 5].into_iter().enumerate() {
            scene.free_up(1);
            assert!(queue[live].as_ref().unwrap().woken(), "release {released}");
            let held = queue[live].take().unwrap().claim();
            held.forget();
        }
        scene.expect(0, &[], 0);
    });
}

#[test]
fn a_repoll_after_cancels_around_it_keeps_its_place() {
    each_setup(BOTH, |setup| {
        let semaphore = setup.semaphore(0, 8);
        let mut scene = Scene::start(setup, &semaphore, 0);
        let mut queue: Vec<_> = (0..5).map(|_| scene.queue(1)).collect();
        let last = queue.pop().unwrap();
        let mut middle = queue.remove(2);
        middle.stay();
        drop(queue);
        let (_, other) = counting();
        assert!(middle.poll_with(&other).is_pending());
        middle.stay();
        scene.free_up(1);
        assert!(middle.woken() && !last.woken());
        scene.expect(0, &[1], 1);
        drop((middle, last));
        scene.finish();
    });
}

fn each_form_in_a_clock(fairness: &[Fairness], case: impl FnMut(Setup)) {
    with_clock(|_| each_form(fairness, case));
}
