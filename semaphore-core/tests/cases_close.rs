//! Close, the last handle, `drained`, and arguments at the edge of their range.
#![cfg(not(any(fair_loom, fair_shuttle)))]

mod support;

use semaphore_core::{AcquireError, BuildError, ResizeError, Semaphore, TryAcquireError};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use support::scene::with_clock;
use support::setup::BOTH;
use support::wakers::counting;
use support::{Form, Scene, Start, Waiter, each_form, each_setup};

#[test]
fn close_fails_every_waiter_and_later_releases_add_up() {
    with_clock(|_| {
        each_form(BOTH, |setup| {
            let semaphore = setup.semaphore(2, 8);
            let mut scene = Scene::start(setup, &semaphore, 2);
            let held = scene.take(2);
            let queue: Vec<_> = [3, 1, 2].map(|permits| scene.queue(permits)).into();
            semaphore.close();
            assert!(semaphore.is_closed() && semaphore.snapshot().closed);
            assert!(queue.iter().all(Waiter::woken));
            scene.expect(0, &[], 0);
            scene.free_up(1);
            held.release();
            scene.expect(3, &[], 0);
            for waiter in queue {
                assert!(matches!(waiter.fail(), AcquireError::Closed { .. }));
            }
            scene.expect(3, &[], 0);
            scene.finish();
        });
    });
}

#[test]
fn a_grant_made_before_the_close_is_still_a_lease() {
    with_clock(|_| {
        each_form(&[semaphore_core::Fairness::Fifo], |setup| {
            let semaphore = setup.semaphore(0, 8);
            let mut scene = Scene::start(setup, &semaphore, 0);
            let [granted, dropped, queued] = [scene.queue(2), scene.queue(1), scene.queue(1)];
            scene.free_up(3);
            semaphore.close();
            scene.expect(0, &[2, 1], 0);
            let held = granted.claim();
            scene.expect(0, &[1], 0);
            assert!(matches!(queued.fail(), AcquireError::Closed { .. }));
            drop(dropped);
            scene.expect(1, &[], 0);
            held.release();
            scene.expect(3, &[], 0);
            scene.finish();
        });
    });
}

#[test]
fn a_waiter_that_is_dropped_after_the_close_leaves_nothing_behind() {
    with_clock(|_| {
        each_form(BOTH, |setup| {
            let semaphore = setup.semaphore(0, 8);
            let mut scene = Scene::start(setup, &semaphore, 0);
            let queue: Vec<_> = (0..4).map(|_| scene.queue(1)).collect();
            semaphore.close();
            drop(queue);
            scene.free_up(2);
            scene.expect(2, &[], 0);
            scene.finish();
        });
    });
}

#[test]
fn everything_fails_with_closed_after_the_close_whatever_else_is_wrong() {
    with_clock(|_| {
        each_form(BOTH, |setup| {
            let semaphore = setup.semaphore(4, 8);
            let scene = Scene::start(setup, &semaphore, 4);
            semaphore.close();
            semaphore.close();
            for permits in [0, 1, 4, 5, 9, usize::MAX] {
                let error = scene.waiter(permits).fail();
                assert!(matches!(error, AcquireError::Closed { .. }), "{permits}: {error:?}");
                assert!(matches!(semaphore.try_acquire_many(permits), Err(TryAcquireError::Closed { .. })));
            }
            scene.expect(4, &[], 0);
            scene.finish();
        });
    });
}

type Named = (&'static str, fn(&Arc<Semaphore>));

/// Everything that can be done to a semaphore without waiting.
const OPERATIONS: [Named; 14] = [
    ("try_acquire", |semaphore| drop(semaphore.try_acquire())),
    ("try_acquire_many", |semaphore| drop(semaphore.try_acquire_many(2))),
    ("owned", |semaphore| drop(Arc::clone(semaphore).try_acquire_owned())),
    ("drain_permits", |semaphore| drop(semaphore.drain_permits())),
    ("forget", |semaphore| drop(semaphore.try_acquire().map(|lease| lease.forget()))),
    ("forfeit", |semaphore| drop(Arc::clone(semaphore).try_acquire_owned().map(|lease| lease.forfeit()))),
    ("add_permits", |semaphore| drop(semaphore.add_permits(1))),
    ("reduce_permits", |semaphore| drop(semaphore.reduce_permits(1))),
    ("resize", |semaphore| drop(semaphore.resize(5))),
    ("set_ceiling", |semaphore| drop(semaphore.set_ceiling(9))),
    ("poke", |semaphore| semaphore.poke()),
    ("reap", |semaphore| {
        let _ = semaphore.reap(std::time::Instant::now());
    }),
    ("polled acquire", |semaphore| {
        let (_, waker) = counting();
        let mut acquire = Box::pin(semaphore.acquire_many(4));
        let _ = acquire.as_mut().poll(&mut Context::from_waker(&waker));
    }),
    ("drained", |semaphore| {
        let (_, waker) = counting();
        let mut drained = Box::pin(semaphore.drained());
        let _ = drained.as_mut().poll(&mut Context::from_waker(&waker));
    }),
];

#[test]
fn no_pair_of_operations_opens_a_closed_semaphore() {
    each_setup(BOTH, |setup| {
        for (first, one) in OPERATIONS {
            for (second, two) in OPERATIONS {
                for close_at in 0..3 {
                    let semaphore = setup.semaphore(4, 8);
                    let held = semaphore.try_acquire().unwrap();
                    for (at, operation) in [Some(one), Some(two), None].into_iter().enumerate() {
                        if at == close_at {
                            semaphore.close();
                        }
                        if let Some(operation) = operation {
                            operation(&semaphore);
                        }
                        assert_eq!(
                            semaphore.is_closed(),
                            at >= close_at,
                            "{first}, {second}, close at {close_at}"
                        );
                    }
                    held.release();
                    assert!(semaphore.is_closed() && semaphore.snapshot().closed, "{first}, {second}");
                    assert!(matches!(semaphore.try_acquire(), Err(TryAcquireError::Closed { .. })));
                    assert_eq!(semaphore.snapshot().held, 0);
                }
            }
        }
    });
}

#[test]
fn closed_resolves_at_the_close_and_at_once_afterwards() {
    each_setup(BOTH, |setup| {
        let semaphore = setup.semaphore(1, 2);
        let (counter, waker) = counting();
        let mut context = Context::from_waker(&waker);
        let (mut one, mut two) = (Box::pin(semaphore.closed()), Box::pin(semaphore.closed()));
        assert!(one.as_mut().poll(&mut context).is_pending());
        assert!(two.as_mut().poll(&mut context).is_pending());
        drop(one);
        semaphore.close();
        assert!(counter.count() >= 1);
        assert!(two.as_mut().poll(&mut context).is_ready());
        assert!(Box::pin(semaphore.closed()).as_mut().poll(&mut context).is_ready());
    });
}

#[test]
fn drained_completes_when_the_last_permits_come_home_through_a_cancel() {
    with_clock(|_| {
        each_form(BOTH, |mut setup| {
            setup.start = Start::OthersHold;
            for close_first in [false, true] {
                let semaphore = setup.semaphore(2, 2);
                let scene = Scene::start(setup, &semaphore, 2);
                let held = scene.take(2);
                let waiter = scene.queue(2);
                let (counter, waker) = counting();
                let mut context = Context::from_waker(&waker);
                let mut drained = Box::pin(semaphore.drained());
                assert!(drained.as_mut().poll(&mut context).is_pending());
                held.release();
                if setup.is_fifo() {
                    assert!(drained.as_mut().poll(&mut context).is_pending(), "granted is not home");
                    if close_first {
                        semaphore.close();
                        assert!(drained.as_mut().poll(&mut context).is_pending(), "still granted");
                    }
                    drop(waiter);
                } else {
                    drop(waiter);
                }
                assert!(counter.count() >= 1);
                assert!(drained.as_mut().poll(&mut context).is_ready());
                assert!(Box::pin(semaphore.drained()).as_mut().poll(&mut context).is_ready());
                scene.finish();
            }
        });
    });
}

#[test]
fn drained_completes_for_forgotten_and_for_merged_permits() {
    let semaphore = Semaphore::new(4);
    let (counter, waker) = counting();
    let mut context = Context::from_waker(&waker);
    let mut first = semaphore.try_acquire_many(2).unwrap();
    let second = semaphore.try_acquire().unwrap();
    let mut drained = [Box::pin(semaphore.drained()), Box::pin(semaphore.drained())];
    for future in &mut drained {
        assert!(future.as_mut().poll(&mut context).is_pending());
    }
    first.merge(second).unwrap();
    first.split(1).unwrap().release();
    assert!(drained.iter_mut().all(|future| future.as_mut().poll(&mut context).is_pending()));
    first.forget();
    assert!(counter.count() >= 1);
    assert!(drained.iter_mut().all(|future| future.as_mut().poll(&mut context).is_ready()));
}

#[test]
fn an_owned_lease_may_be_the_last_owner_of_its_semaphore() {
    let semaphore = Arc::new(Semaphore::new(2));
    let weak = Arc::downgrade(&semaphore);
    let mut lease = Arc::clone(&semaphore).try_acquire_many_owned(2).unwrap();
    let part = lease.split(1).unwrap();
    drop(semaphore);
    assert!(weak.upgrade().is_some());
    drop(lease);
    assert!(weak.upgrade().is_some());
    drop(part);
    assert!(weak.upgrade().is_none());
}

type Waiting = Pin<Box<dyn Future<Output = ()> + Send>>;

#[test]
fn the_hand_off_target_may_drop_the_last_owner_from_inside_the_release() {
    use support::wakers::{Hooks, hooked};
    for form in [Form::Owned, Form::Reserved] {
        let semaphore = Arc::new(Semaphore::new(1));
        let weak = Arc::downgrade(&semaphore);
        let lease = Arc::clone(&semaphore).try_acquire_owned().unwrap();
        let slot: Arc<Mutex<Option<Waiting>>> = Arc::default();
        let own = Arc::clone(&semaphore);
        let mut future: Waiting = if form == Form::Owned {
            Box::pin(async move { drop(own.acquire_owned().await) })
        } else {
            let mut reservation = semaphore_core::Reservation::new(own);
            Box::pin(
                async move { drop(std::future::poll_fn(|context| reservation.poll_reserve(context)).await) },
            )
        };
        let (target, alive) = (Arc::clone(&slot), weak.clone());
        // Runs and drops the waiter, lease and all, in the middle of the release that wakes it.
        let hooks = Arc::new(Hooks::waking(move || {
            if let Some(mut future) = target.lock().unwrap().take() {
                let (_, waker) = counting();
                assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
                drop(future);
                assert_eq!(alive.strong_count(), 1, "the lease that releases keeps it until it is done");
            }
        }));
        let waker = hooked(&hooks);
        assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        *slot.lock().unwrap() = Some(future);
        drop(semaphore);
        lease.release();
        assert_eq!(hooks.wakes(), 1);
        assert!(slot.lock().unwrap().is_none());
        assert!(weak.upgrade().is_none(), "nobody owns it any more");
    }
}

#[test]
fn constructors_refuse_what_is_out_of_range() {
    let most = Semaphore::MAX_PERMITS;
    assert!(catch_unwind(|| Semaphore::new(0)).is_err());
    for too_many in [most + 1, usize::MAX] {
        assert!(catch_unwind(|| Semaphore::new(too_many)).is_err());
        assert!(catch_unwind(|| Semaphore::new_named("gate", too_many)).is_err());
        assert!(catch_unwind(|| Semaphore::empty(too_many)).is_err());
        assert!(Semaphore::try_new(too_many).is_err());
        assert!(Semaphore::builder(too_many).build().is_err());
        assert!(Semaphore::builder(1).ceiling(too_many).build().is_err());
    }
    assert!(catch_unwind(|| Semaphore::new_named("gate", 0)).is_err());
    assert!(catch_unwind(|| Semaphore::empty(0)).is_err());
    assert!(matches!(Semaphore::try_new(0), Err(BuildError::NoPermits { .. })));
    assert!(Semaphore::builder(0).build().is_err());
    assert!(Semaphore::builder(4).ceiling(3).build().is_err(), "a ceiling below the permits");
    assert_eq!(Semaphore::builder(0).ceiling(3).build().unwrap().available_permits(), 0);
    assert_eq!(Semaphore::new(most).available_permits(), most);
    assert_eq!(Semaphore::try_new(most).unwrap().capacity(), most);
    let empty = Semaphore::empty(most);
    assert_eq!((empty.capacity(), empty.snapshot().ceiling), (0, most));
    empty.add_permits(most).unwrap();
    assert_eq!(empty.try_acquire_many(most).unwrap().permits(), most);
}

#[test]
fn sizes_out_of_range_are_errors_that_change_nothing() {
    each_setup(BOTH, |setup| {
        let semaphore = setup.semaphore(3, 6);
        let scene = Scene::start(setup, &semaphore, 3);
        let before = format!("{:?}", semaphore.snapshot());
        let most = Semaphore::MAX_PERMITS;
        type Call = fn(&Semaphore, usize) -> Result<(), ResizeError>;
        let calls: [(&str, Call, &[usize]); 4] = [
            ("add_permits", Semaphore::add_permits, &[most, most + 1, usize::MAX]),
            ("reduce_permits", Semaphore::reduce_permits, &[7, most, most + 1, usize::MAX]),
            ("resize", Semaphore::resize, &[most + 1, usize::MAX]),
            ("set_ceiling", Semaphore::set_ceiling, &[0, most + 1, usize::MAX]),
        ];
        for (name, call, arguments) in calls {
            for &argument in arguments {
                let result = catch_unwind(AssertUnwindSafe(|| call(&semaphore, argument)));
                let error = result.expect("an error, not a panic").expect_err(name);
                assert!(!error.to_string().is_empty());
                assert_eq!(format!("{:?}", semaphore.snapshot()), before, "{name}({argument})");
            }
        }
        if setup.start == Start::Ceiling {
            assert!(matches!(semaphore.resize(7), Err(ResizeError::AboveCeiling { .. })));
            assert!(matches!(semaphore.add_permits(4), Err(ResizeError::AboveCeiling { .. })));
        } else {
            assert!(semaphore.resize(0).is_err() && semaphore.reduce_permits(6).is_err());
        }
        for call in [Semaphore::add_permits as Call, Semaphore::reduce_permits] {
            call(&semaphore, 0).expect("nothing to do");
        }
        assert_eq!(format!("{:?}", semaphore.snapshot()), before);
        scene.finish();
    });
}

#[test]
fn a_full_queue_refuses_without_side_effects() {
    each_setup(BOTH, |setup| {
        for most in 0..3 {
            let semaphore =
                Arc::new(Semaphore::builder(1).fairness(setup.fairness).max_waiters(most).build().unwrap());
            let mut scene =
                Scene::start(setup, &semaphore, if setup.start == Start::Ceiling { 1 } else { 0 });
            let holder = (setup.start == Start::Ceiling).then(|| scene.take(1));
            let queue: Vec<_> = (0..most).map(|_| scene.queue(1)).collect();
            for form in [Form::Borrowed, Form::Owned, Form::Reserved] {
                scene.setup.form = form;
                let error = scene.waiter(1).fail();
                assert!(matches!(error, AcquireError::QueueFull { max_waiters, .. } if max_waiters == most));
            }
            assert!(matches!(scene.waiter(2).fail(), AcquireError::TooLarge { .. }), "said before QueueFull");
            scene.expect(0, &[], most);
            drop(queue);
            if most > 0 {
                drop(scene.queue(1));
            }
            drop(holder);
            scene.finish();
        }
    });
}

#[test]
fn futures_and_leases_are_what_they_are_documented_to_be() {
    fn shared<T: Send + Sync>() {}
    fn movable<T: Unpin>() {}
    shared::<Semaphore>();
    shared::<semaphore_core::Acquire<'static>>();
    shared::<semaphore_core::AcquireOwned>();
    shared::<semaphore_core::Lease<'static>>();
    shared::<semaphore_core::OwnedLease>();
    shared::<semaphore_core::Reservation>();
    shared::<semaphore_core::Closed<'static>>();
    shared::<semaphore_core::Drained<'static>>();
    #[cfg(feature = "time")]
    shared::<(semaphore_core::AcquireUntil<'static>, semaphore_core::AcquireUntilOwned)>();
    movable::<semaphore_core::Reservation>();
    movable::<semaphore_core::OwnedLease>();

    // A blanket method loses against an inherent one: `false` is what a type without `Unpin` answers.
    struct Asked<T>(std::marker::PhantomData<T>);
    trait Fallback {
        fn is_unpin(&self) -> bool {
            false
        }
    }
    impl<T> Fallback for Asked<T> {}
    impl<T: Unpin> Asked<T> {
        fn is_unpin(&self) -> bool {
            true
        }
    }
    assert!(Asked::<semaphore_core::OwnedLease>(std::marker::PhantomData).is_unpin(), "the question works");
    assert!(!Asked::<semaphore_core::Acquire<'static>>(std::marker::PhantomData).is_unpin());
    assert!(!Asked::<semaphore_core::AcquireOwned>(std::marker::PhantomData).is_unpin());
}

#[test]
fn errors_carry_the_name_and_the_numbers() {
    let semaphore = Semaphore::builder(2).name("printers").max_waiters(0).build().unwrap();
    let lease = semaphore.try_acquire_many(2).unwrap();
    let (_, waker) = counting();
    let mut context = Context::from_waker(&waker);
    let Poll::Ready(Err(full)) = Box::pin(semaphore.acquire()).as_mut().poll(&mut context) else {
        panic!("full")
    };
    let Poll::Ready(Err(large)) = Box::pin(semaphore.acquire_many(77)).as_mut().poll(&mut context) else {
        panic!("too large")
    };
    let none = semaphore.try_acquire().unwrap_err();
    semaphore.close();
    let closed = semaphore.try_acquire().unwrap_err();
    for text in [full.to_string(), large.to_string(), none.to_string(), closed.to_string()] {
        assert!(text.contains("printers"), "{text}");
    }
    assert!(large.to_string().contains("77") && large.to_string().contains('2'), "{large}");
    drop(lease);
}
