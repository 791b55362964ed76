//! Foreign code: wakers that call back, wakers that panic, and releases in the middle of an unwinding.
#![cfg(not(any(fair_loom, fair_shuttle)))]

mod support;

use semaphore_core::Semaphore;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use support::scene::with_clock;
use support::setup::BOTH;
use support::wakers::{Hooks, counting, hooked};
use support::{Form, Scene, Setup, Start, Waiter, each_form};

/// What foreign code does to the semaphore behind our back; each call goes one level deep only.
fn meddle(semaphore: &Arc<Semaphore>, busy: &AtomicBool, calls: &AtomicUsize, closes: bool) {
    if busy.swap(true, Ordering::SeqCst) {
        return;
    }
    calls.fetch_add(1, Ordering::SeqCst);
    drop(semaphore.try_acquire());
    drop(semaphore.drain_permits());
    drop(Arc::clone(semaphore).try_acquire_owned());
    let (_, waker) = counting();
    let mut acquire = Box::pin(semaphore.acquire());
    drop(acquire.as_mut().poll(&mut std::task::Context::from_waker(&waker)));
    drop(acquire);
    let seen = semaphore.snapshot();
    assert_eq!(seen.available + seen.held + seen.reserved + seen.granted, seen.capacity + seen.debt);
    let _ = (semaphore.stats(), semaphore.waiters(4), format!("{semaphore:?}"));
    semaphore.poke();
    if semaphore.resize(semaphore.capacity() + 1).is_ok() {
        semaphore.reduce_permits(1).expect("just added");
    }
    if closes {
        semaphore.close();
    }
    busy.store(false, Ordering::SeqCst);
}

#[derive(Clone, Copy, Debug)]
enum Touch {
    Wake,
    Clone,
    Drop,
}

fn meddling(touch: Touch, semaphore: &Arc<Semaphore>, calls: &Arc<AtomicUsize>, closes: bool) -> Arc<Hooks> {
    let (semaphore, calls, busy) = (Arc::clone(semaphore), Arc::clone(calls), AtomicBool::new(false));
    let hook = move || meddle(&semaphore, &busy, &calls, closes);
    Arc::new(match touch {
        Touch::Wake => Hooks::waking(hook),
        Touch::Clone => Hooks::cloning(hook),
        Touch::Drop => Hooks::dropping(hook),
    })
}

type Action<'a> = &'a dyn for<'s> Fn(&mut Scene<'s>, &mut Waiter<'s>);

/// Runs `action` on a queue of three whose wakers call back, and checks that everything is at home afterwards.
fn called_back(setup: Setup, touch: Touch, closes: bool, action: Action<'_>) {
    let semaphore = setup.semaphore(0, 6);
    let calls = Arc::new(AtomicUsize::new(0));
    let hooks = meddling(touch, &semaphore, &calls, closes);
    {
        let waker = hooked(&hooks);
        let mut scene = Scene::start(setup, &semaphore, 0);
        let mut queue: Vec<_> = [1, 2, 1].map(|permits| scene.waiter(permits)).into();
        for waiter in &mut queue {
            let _ = waiter.poll_with(&waker);
        }
        action(&mut scene, &mut queue[0]);
        drop(queue);
        drop(waker);
        assert!(calls.load(Ordering::SeqCst) > 0, "the hook of {touch:?} never ran");
        let seen = semaphore.snapshot();
        assert_eq!((seen.held, seen.granted, seen.waiters), (scene.held(), 0, 0), "{seen:?}");
        scene.finish();
    }
    assert_eq!(hooks.alive(), 0);
}

fn every_touch(action: Action<'_>) {
    with_clock(|_| {
        each_form(BOTH, |setup| {
            for touch in [Touch::Wake, Touch::Clone, Touch::Drop] {
                for closes in [false, true] {
                    called_back(setup, touch, closes, action);
                }
            }
        });
    });
}

#[test]
fn a_waker_may_call_back_from_a_release() {
    every_touch(&|scene, _| {
        for _ in 0..4 {
            scene.free_up(1);
        }
    });
}

#[test]
fn a_waker_may_call_back_from_close() {
    every_touch(&|scene, _| scene.semaphore.close());
}

#[test]
fn a_waker_may_call_back_from_a_cancel() {
    every_touch(&|scene, first| {
        let replacement = scene.waiter(3);
        scene.free_up(2);
        drop(std::mem::replace(first, replacement));
    });
}

#[test]
fn a_waker_may_call_back_from_a_resize() {
    every_touch(&|scene, _| {
        let capacity = scene.semaphore.capacity();
        if scene.setup.start == Start::Ceiling {
            scene.semaphore.resize(3).expect("under the ceiling");
        } else {
            scene.semaphore.resize(capacity + 3).expect("nothing is in the way");
        }
    });
}

#[test]
fn a_waker_may_call_back_from_a_repoll_that_replaces_it() {
    every_touch(&|scene, first| {
        // A hook that closed the semaphore has ended it already.
        if !first.has_ended() {
            let (_, other) = counting();
            let _ = first.poll_with(&other);
        }
        scene.free_up(1);
    });
}

#[test]
fn a_waker_may_call_back_from_a_poke() {
    every_touch(&|scene, _| scene.semaphore.poke());
}

/// A hundred waiters on one semaphore; the wakers at `panicking` panic when they are woken.
fn hundred_wakers(setup: Setup, panicking: &[usize], act: impl FnOnce(&mut Scene<'_>), survives: bool) {
    let semaphore = setup.semaphore(0, 100);
    let mut scene = Scene::start(setup, &semaphore, 0);
    let hooks: Vec<_> = (0..100)
        .map(|at| {
            let panics = panicking.contains(&at);
            Arc::new(Hooks::waking(move || assert!(!panics, "waker {at} panics on purpose")))
        })
        .collect();
    let mut queue: Vec<_> = (0..100).map(|_| scene.waiter(1)).collect();
    for (waiter, hooks) in queue.iter_mut().zip(&hooks) {
        assert!(waiter.poll_with(&hooked(hooks)).is_pending());
    }
    let caught = catch_unwind(AssertUnwindSafe(|| act(&mut scene)));
    assert_eq!(caught.is_ok(), survives);
    if let Err(payload) = caught {
        let message = payload.downcast_ref::<String>().expect("the message of the waker").clone();
        assert!(
            message.contains(&format!("waker {} panics", panicking[0])),
            "the first panic, not {message}"
        );
    }
    assert!(hooks.iter().all(|hooks| hooks.wakes() == 1), "everybody was woken once");
    scene.expect(0, &[1; 100], 0);
    let held: Vec<_> = queue.into_iter().map(Waiter::claim).collect();
    scene.expect(0, &[], 0);
    drop(held);
    scene.finish();
    assert!(hooks.iter().all(|hooks| hooks.alive() == 0));
}

/// Every form but those whose timer owns the waker too.
const PLAIN: [Form; 3] = [Form::Borrowed, Form::Owned, Form::Reserved];

fn plain_setups(mut case: impl FnMut(Setup)) {
    for &fairness in BOTH {
        for start in [Start::OthersHold, Start::Ceiling] {
            for form in PLAIN {
                case(Setup { start, fairness, form });
            }
        }
    }
}

#[test]
fn one_waker_of_a_hundred_that_panics_hurts_nobody_else() {
    plain_setups(|setup| {
        for at in [0, 1, 31, 32, 50, 99] {
            hundred_wakers(setup, &[at], |scene| scene.free_up(100), false);
        }
    });
}

#[test]
fn the_first_of_several_panics_is_the_one_that_surfaces() {
    plain_setups(|setup| {
        hundred_wakers(setup, &[0, 1], |scene| scene.free_up(100), false);
        hundred_wakers(setup, &[7, 40, 99], |scene| scene.free_up(100), false);
        hundred_wakers(setup, &(0..100).collect::<Vec<_>>(), |scene| scene.free_up(100), false);
    });
}

#[test]
fn panicking_wakers_inside_an_unwinding_are_swallowed() {
    struct Releases<'a, 's>(&'a mut Scene<'s>);
    impl Drop for Releases<'_, '_> {
        fn drop(&mut self) {
            self.0.free_up(100);
        }
    }
    plain_setups(|setup| {
        hundred_wakers(
            setup,
            &[0, 50],
            |scene| {
                let caught = catch_unwind(AssertUnwindSafe(|| {
                    let _releases = Releases(scene);
                    panic!("the unwinding itself");
                }));
                assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"the unwinding itself"));
            },
            true,
        );
    });
}

#[test]
fn close_reaches_everybody_past_a_panicking_waker() {
    plain_setups(|setup| {
        let semaphore = setup.semaphore(0, 100);
        let scene = Scene::start(setup, &semaphore, 0);
        let hooks: Vec<_> = (0..100)
            .map(|at| Arc::new(Hooks::waking(move || assert!(at % 10 != 0, "waker {at} panics on purpose"))))
            .collect();
        let mut queue: Vec<_> = (0..100).map(|_| scene.waiter(1)).collect();
        for (waiter, hooks) in queue.iter_mut().zip(&hooks) {
            assert!(waiter.poll_with(&hooked(hooks)).is_pending());
        }
        assert!(catch_unwind(AssertUnwindSafe(|| semaphore.close())).is_err());
        assert!(semaphore.is_closed());
        assert!(hooks.iter().all(|hooks| hooks.wakes() == 1));
        for waiter in queue {
            waiter.fail();
        }
        scene.expect(0, &[], 0);
        scene.finish();
    });
}

#[test]
fn a_waker_that_panics_when_cloned_or_dropped_leaves_the_count_true() {
    plain_setups(|setup| {
        for cloning in [true, false] {
            let semaphore = setup.semaphore(0, 6);
            let mut scene = Scene::start(setup, &semaphore, 0);
            let armed = Arc::new(AtomicBool::new(cloning));
            let trigger = Arc::clone(&armed);
            let hook = move || assert!(!trigger.swap(false, Ordering::SeqCst), "on purpose");
            let hooks = Arc::new(if cloning { Hooks::cloning(hook) } else { Hooks::dropping(hook) });
            let waker = hooked(&hooks);
            let mut waiter = scene.waiter(1);
            let behind = catch_unwind(AssertUnwindSafe(|| {
                let _ = waiter.poll_with(&waker);
                armed.store(true, Ordering::SeqCst);
                // Replacing or dropping the waker in the node runs the hook.
                let (_, other) = counting();
                let _ = waiter.poll_with(&other);
            }));
            assert!(behind.is_err(), "the hook ran");
            armed.store(false, Ordering::SeqCst);
            drop(waiter);
            scene.expect(0, &[], 0);
            let next = scene.queue(1);
            scene.free_up(1);
            next.claim().release();
            scene.finish();
        }
    });
}
