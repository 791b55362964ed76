//! Threads in the same line as tasks.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Waker};
use std::time::Duration;

use semaphore_core::{AcquireError, Interrupt, Semaphore};

/// Spins until as many wait as should; the wait has an end because the other thread is on its way.
fn until_waiting(semaphore: &Semaphore, waiters: usize) {
    while semaphore.queue_len() != waiters {
        std::thread::yield_now();
    }
}

#[test]
fn a_thread_behind_a_task_is_served_after_it() {
    let semaphore = Semaphore::new(1);
    let held = semaphore.try_acquire().unwrap();
    let mut task = pin!(semaphore.acquire());
    let mut cx = Context::from_waker(Waker::noop());
    assert!(task.as_mut().poll(&mut cx).is_pending());
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| semaphore.blocking_acquire().map(|lease| lease.permits()));
        until_waiting(&semaphore, 2);
        drop(held);
        until_waiting(&semaphore, 1);
        assert!(!thread.is_finished());
        assert!(task.as_mut().poll(&mut cx).is_ready());
        assert_eq!(thread.join().unwrap(), Ok(1));
    });
    assert_eq!(semaphore.available_permits(), 1);
}

#[test]
fn an_interrupt_ends_the_wait_and_owns_nothing() {
    let semaphore = Arc::new(Semaphore::new(2));
    let held = semaphore.try_acquire().unwrap();
    let interrupt = Interrupt::new();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| semaphore.blocking_acquire_interruptible(2, &interrupt).map(drop));
        until_waiting(&semaphore, 1);
        interrupt.fire();
        assert!(matches!(waiting.join().unwrap(), Err(AcquireError::Interrupted { .. })));
    });
    assert_eq!((semaphore.queue_len(), semaphore.snapshot().held), (0, 1));
    assert_eq!(semaphore.stats().cancelled, 1);
    let error = semaphore.clone().blocking_acquire_interruptible_owned(1, &interrupt).unwrap_err();
    assert!(matches!(error, AcquireError::Interrupted { .. }), "fired stays fired");
    drop(held);
    assert_eq!(semaphore.available_permits(), 2);
}

#[test]
fn a_timeout_that_is_zero_makes_one_attempt_and_one_that_passes_leaves_the_line() {
    let semaphore = Arc::new(Semaphore::new(1));
    let lease = semaphore.blocking_acquire_timeout(Duration::ZERO).unwrap();
    assert!(matches!(
        semaphore.blocking_acquire_timeout(Duration::ZERO),
        Err(AcquireError::TimedOut { waited: Duration::ZERO, .. })
    ));
    assert_eq!(semaphore.stats().enqueued, 0);
    let error = semaphore.clone().blocking_acquire_timeout_owned(Duration::from_micros(1)).unwrap_err();
    assert!(matches!(error, AcquireError::TimedOut { .. }));
    assert_eq!((semaphore.queue_len(), semaphore.stats().timed_out), (0, 1));
    assert!(semaphore.blocking_acquire_many_timeout(2, Duration::MAX).is_err(), "too large");
    drop(lease);
    assert!(semaphore.blocking_acquire_timeout(Duration::MAX).is_ok());
}

#[test]
fn close_wakes_a_blocked_thread() {
    let semaphore = Semaphore::new(1);
    let _held = semaphore.try_acquire().unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| semaphore.blocking_acquire().map(drop));
        until_waiting(&semaphore, 1);
        semaphore.close();
        assert!(matches!(waiting.join().unwrap(), Err(AcquireError::Closed { .. })));
    });
}

#[test]
fn four_threads_and_one_permit_exclude_each_other() {
    let semaphore = Semaphore::new(1);
    let inside = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..2000 {
                    let lease = semaphore.blocking_acquire().unwrap();
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    inside.fetch_sub(1, Ordering::SeqCst);
                    drop(lease);
                }
            });
        }
    });
    assert_eq!(semaphore.available_permits(), 1);
}
