//! Cancels by the hundred thousand: flat memory, flat queue, and the same outcome whoever wins the race.
#![cfg(not(any(fair_loom, fair_shuttle)))]

mod support;

use semaphore_core::{Fairness, Semaphore};
use std::future::Future;
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll};
use support::wakers::counting;

#[test]
fn a_million_waiters_that_come_and_go_behind_a_live_one_leave_the_queue_flat() {
    for fairness in [Fairness::Fifo, Fairness::Barging] {
        let semaphore = Semaphore::builder(1).fairness(fairness).build().unwrap();
        let held = semaphore.try_acquire().unwrap();
        let (counter, waker) = counting();
        let mut context = Context::from_waker(&waker);
        let mut live = Box::pin(semaphore.acquire());
        assert!(live.as_mut().poll(&mut context).is_pending());
        for round in 0..500_000 {
            let mut brief = std::pin::pin!(semaphore.acquire());
            assert!(brief.as_mut().poll(&mut context).is_pending());
            if round % 100_000 == 0 {
                assert_eq!((semaphore.queue_len(), semaphore.snapshot().requested), (2, 2));
            }
        }
        assert_eq!((semaphore.queue_len(), counter.count()), (1, 0));
        held.release();
        assert!(matches!(live.as_mut().poll(&mut context), Poll::Ready(Ok(_))));
    }
}

/// Two threads meet at a barrier each round; whatever wins, one permit exists afterwards.
fn races(rounds: usize, race: impl Fn(&Arc<Semaphore>, &Barrier)) {
    let semaphore = Arc::new(Semaphore::new(1));
    let barrier = Barrier::new(2);
    for round in 0..rounds {
        race(&semaphore, &barrier);
        let seen = semaphore.snapshot();
        assert_eq!((seen.available, seen.held, seen.granted, seen.waiters), (1, 0, 0, 0), "round {round}");
    }
}

#[test]
fn the_cancel_of_the_head_against_the_release_never_loses_the_permit() {
    races(3_000, |semaphore, barrier| {
        let held = Arc::clone(semaphore).try_acquire_owned().unwrap();
        let (_, waker) = counting();
        let (counter, second_waker) = counting();
        let mut first = Box::pin(Arc::clone(semaphore).acquire_owned());
        let mut second = Box::pin(Arc::clone(semaphore).acquire_owned());
        assert!(first.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert!(second.as_mut().poll(&mut Context::from_waker(&second_waker)).is_pending());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                barrier.wait();
                drop(first);
            });
            barrier.wait();
            held.release();
        });
        assert_eq!(counter.count(), 1);
        let polled = second.as_mut().poll(&mut Context::from_waker(&second_waker));
        assert!(matches!(polled, Poll::Ready(Ok(_))));
    });
}

#[test]
fn the_poll_of_the_head_against_the_release_never_misses_its_wake() {
    races(3_000, |semaphore, barrier| {
        let held = Arc::clone(semaphore).try_acquire_owned().unwrap();
        let (_, waker) = counting();
        let (counter, fresh) = counting();
        let mut waiter = Box::pin(Arc::clone(semaphore).acquire_owned());
        assert!(waiter.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        let polled = std::thread::scope(|scope| {
            let polling = scope.spawn(|| {
                barrier.wait();
                waiter.as_mut().poll(&mut Context::from_waker(&fresh)).map(|lease| lease.unwrap().permits())
            });
            barrier.wait();
            held.release();
            polling.join().unwrap()
        });
        if polled.is_pending() {
            assert_eq!(counter.count(), 1, "the waker of the last poll");
            assert!(waiter.as_mut().poll(&mut Context::from_waker(&fresh)).is_ready());
        }
    });
}

/// S27 for the sanitizers: the waiter that is handed the permit is the last owner of the semaphore.
#[test]
fn the_last_owner_goes_while_the_release_still_runs() {
    for _ in 0..3_000 {
        let semaphore = Arc::new(Semaphore::new(1));
        let weak = Arc::downgrade(&semaphore);
        let held = Arc::clone(&semaphore).try_acquire_owned().unwrap();
        let (_, waker) = counting();
        let mut waiter = Box::pin(semaphore.acquire_owned());
        assert!(waiter.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                loop {
                    if let Poll::Ready(lease) = waiter.as_mut().poll(&mut Context::from_waker(&waker)) {
                        drop(lease);
                        drop(waiter);
                        break;
                    }
                    std::thread::yield_now();
                }
            });
            held.release();
        });
        assert_eq!(weak.strong_count(), 0);
    }
}
