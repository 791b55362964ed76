//! Threads that block: served in the same line as tasks, with a deadline, and stopped from outside.
#![cfg(not(any(fair_loom, fair_shuttle)))]

mod support;

use semaphore_core::{AcquireError, Fairness, Interrupt, Semaphore};
use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};
use support::setup::BOTH;
use support::wakers::counting;

/// Waits until `count` are in the queue: a state, not a time.
fn until_queued(semaphore: &Semaphore, count: usize) {
    while semaphore.queue_len() != count {
        thread::yield_now();
    }
}

fn semaphore(fairness: Fairness) -> Arc<Semaphore> {
    Arc::new(Semaphore::builder(2).fairness(fairness).build().unwrap())
}

#[test]
fn a_blocked_thread_is_served_by_the_next_release() {
    for &fairness in BOTH {
        let semaphore = semaphore(fairness);
        let held = Arc::clone(&semaphore).try_acquire_many_owned(2).unwrap();
        let own = Arc::clone(&semaphore);
        let blocked = thread::spawn(move || own.blocking_acquire_many_owned(2).unwrap().permits());
        until_queued(&semaphore, 1);
        held.release();
        assert_eq!(blocked.join().unwrap(), 2);
        assert_eq!(semaphore.available_permits(), 2);
    }
}

#[test]
fn threads_and_tasks_stand_in_one_line() {
    let semaphore = semaphore(Fairness::Fifo);
    let held = Arc::clone(&semaphore).try_acquire_many_owned(2).unwrap();
    let (counter, waker) = counting();
    let mut task = Box::pin(semaphore.acquire_many(2));
    assert!(task.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    let own = Arc::clone(&semaphore);
    let blocked = thread::spawn(move || drop(own.blocking_acquire().unwrap()));
    until_queued(&semaphore, 2);
    held.release();
    assert_eq!((counter.count(), semaphore.queue_len()), (1, 1), "the task came first");
    let Poll::Ready(Ok(lease)) = task.as_mut().poll(&mut Context::from_waker(&waker)) else {
        panic!("granted")
    };
    drop(lease);
    blocked.join().unwrap();
    assert_eq!(semaphore.available_permits(), 2);
}

#[test]
fn a_blocked_thread_gives_up_at_its_deadline_and_owns_nothing() {
    for &fairness in BOTH {
        let semaphore = semaphore(fairness);
        let held = semaphore.try_acquire_many(2).unwrap();
        let wait = Duration::from_millis(20);
        let from = Instant::now();
        let error = semaphore.blocking_acquire_timeout(wait).unwrap_err();
        assert!(matches!(error, AcquireError::TimedOut { .. }), "{error:?}");
        assert!(from.elapsed() >= wait, "not before its deadline");
        let seen = semaphore.snapshot();
        assert_eq!((seen.waiters, seen.held, seen.granted), (0, 2, 0));
        drop(held);
        // No time at all is one attempt.
        assert!(semaphore.blocking_acquire_many_timeout(2, Duration::ZERO).is_ok());
    }
}

#[test]
fn an_interrupted_acquire_owns_nothing_and_leaves_the_queue() {
    for &fairness in BOTH {
        let semaphore = semaphore(fairness);
        let held = Arc::clone(&semaphore).try_acquire_many_owned(2).unwrap();
        let interrupt = Interrupt::new();
        let (own, theirs) = (Arc::clone(&semaphore), interrupt.clone());
        let blocked = thread::spawn(move || own.blocking_acquire_interruptible(1, &theirs).map(drop));
        until_queued(&semaphore, 1);
        interrupt.fire();
        let error = blocked.join().unwrap().unwrap_err();
        assert!(matches!(error, AcquireError::Interrupted { .. }), "{error:?}");
        let seen = semaphore.snapshot();
        assert_eq!((seen.waiters, seen.held, seen.granted), (0, 2, 0));
        held.release();
        assert_eq!(semaphore.available_permits(), 2);
    }
}

#[test]
fn an_interrupt_against_a_release_never_loses_a_permit() {
    for &fairness in BOTH {
        let semaphore = semaphore(fairness);
        for _ in 0..300 {
            let held = Arc::clone(&semaphore).try_acquire_many_owned(2).unwrap();
            let interrupt = Interrupt::new();
            let (own, theirs) = (Arc::clone(&semaphore), interrupt.clone());
            let blocked = thread::spawn(move || own.blocking_acquire_interruptible(2, &theirs).map(drop));
            until_queued(&semaphore, 1);
            let firing = thread::spawn(move || interrupt.fire());
            held.release();
            firing.join().unwrap();
            if let Err(error) = blocked.join().unwrap() {
                assert!(matches!(error, AcquireError::Interrupted { .. }), "{error:?}");
            }
            let seen = semaphore.snapshot();
            assert_eq!((seen.available, seen.held, seen.granted, seen.waiters), (2, 0, 0, 0));
        }
    }
}

#[test]
fn close_frees_every_blocked_thread() {
    for &fairness in BOTH {
        let semaphore = semaphore(fairness);
        let held = semaphore.try_acquire_many(2).unwrap();
        let blocked: Vec<_> = (0..4)
            .map(|_| {
                let own = Arc::clone(&semaphore);
                thread::spawn(move || own.blocking_acquire().map(drop))
            })
            .collect();
        until_queued(&semaphore, 4);
        semaphore.close();
        for thread in blocked {
            assert!(matches!(thread.join().unwrap(), Err(AcquireError::Closed { .. })));
        }
        drop(held);
    }
}
