//! Random schedules of tasks that leave early: before the first poll, in the queue, after the grant.
#![cfg(fair_shuttle)]

use semaphore_core::{Fairness, Reservation, Semaphore};
use shuttle::future::block_on;
use shuttle::rand::{Rng, thread_rng};
use shuttle::thread;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

const SCHEDULES: usize = 2_000;
const CAPACITY: usize = 3;

/// Runs `scenario` under random and under priority schedules.
fn schedules(scenario: impl Fn() + Send + Sync + Clone + 'static) {
    shuttle::check_random(scenario.clone(), SCHEDULES);
    shuttle::check_pct(scenario, SCHEDULES, 3);
}

/// Polls `future` at most `polls` times, yielding between polls, then drops it.
fn poll_and_leave<F: Future>(future: F, polls: usize) -> Option<F::Output> {
    let mut future = Box::pin(future);
    let mut left = polls;
    block_on(std::future::poll_fn(move |context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => {
                // Polls on without a wake, as a `select!` loop does.
                context.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }))
}

fn all_home(semaphore: &Semaphore, capacity: usize) {
    let seen = semaphore.snapshot();
    assert_eq!(
        (seen.available, seen.held, seen.reserved, seen.granted, seen.waiters),
        (capacity, 0, 0, 0, 0),
        "{seen:?}"
    );
    if !seen.closed {
        drop(semaphore.try_acquire_many(capacity).expect("the fast path is open"));
    }
}

fn early_drops(fairness: Fairness) {
    schedules(move || {
        let semaphore = Arc::new(Semaphore::builder(CAPACITY).fairness(fairness).build().unwrap());
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let semaphore = Arc::clone(&semaphore);
                thread::spawn(move || {
                    for _ in 0..3 {
                        let permits = thread_rng().gen_range(1..=CAPACITY);
                        let polls = thread_rng().gen_range(0..4);
                        let lease = match thread_rng().gen_range(0..3) {
                            0 => Some(block_on(Arc::clone(&semaphore).acquire_many_owned(permits)).unwrap()),
                            _ => poll_and_leave(Arc::clone(&semaphore).acquire_many_owned(permits), polls)
                                .map(Result::unwrap),
                        };
                        if let Some(mut lease) = lease {
                            let part = lease.split(thread_rng().gen_range(0..=permits)).unwrap();
                            thread::yield_now();
                            drop(lease);
                            part.release();
                        }
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        all_home(&semaphore, CAPACITY);
    });
}

#[test]
fn early_drops_lose_nothing_in_order() {
    early_drops(Fairness::Fifo);
}

#[test]
fn early_drops_lose_nothing_when_barging() {
    early_drops(Fairness::Barging);
}

#[test]
fn nobody_ever_sees_more_in_use_than_there_is() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    for fairness in [Fairness::Fifo, Fairness::Barging] {
        schedules(move || {
            let semaphore = Arc::new(Semaphore::builder(CAPACITY).fairness(fairness).build().unwrap());
            let in_use = Arc::new(AtomicUsize::new(0));
            let threads: Vec<_> = [1, 2, 3, 1]
                .into_iter()
                .map(|permits| {
                    let (semaphore, in_use) = (Arc::clone(&semaphore), Arc::clone(&in_use));
                    thread::spawn(move || {
                        for _ in 0..2 {
                            let lease = block_on(semaphore.acquire_many(permits)).unwrap();
                            let now = in_use.fetch_add(permits, Ordering::SeqCst) + permits;
                            assert!(now <= CAPACITY, "{now} in use");
                            thread::yield_now();
                            in_use.fetch_sub(permits, Ordering::SeqCst);
                            drop(lease);
                        }
                    })
                })
                .collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            all_home(&semaphore, CAPACITY);
        });
    }
}

#[test]
fn close_in_the_middle_of_everything_adds_up() {
    for fairness in [Fairness::Fifo, Fairness::Barging] {
        schedules(move || {
            let semaphore = Arc::new(Semaphore::builder(CAPACITY).fairness(fairness).build().unwrap());
            let mut threads: Vec<_> = (0..4)
                .map(|_| {
                    let semaphore = Arc::clone(&semaphore);
                    thread::spawn(move || {
                        let permits = thread_rng().gen_range(1..=CAPACITY);
                        while let Ok(lease) = block_on(semaphore.acquire_many(permits)) {
                            thread::yield_now();
                            drop(lease);
                            drop(poll_and_leave(semaphore.acquire_many(1), 1));
                        }
                    })
                })
                .collect();
            let closer = Arc::clone(&semaphore);
            threads.push(thread::spawn(move || closer.close()));
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            all_home(&semaphore, CAPACITY);
        });
    }
}

#[test]
fn changes_of_size_among_early_drops_add_up() {
    schedules(|| {
        let semaphore = Arc::new(Semaphore::builder(CAPACITY).ceiling(6).build().unwrap());
        let mut threads: Vec<_> = (0..3)
            .map(|_| {
                let semaphore = Arc::clone(&semaphore);
                thread::spawn(move || {
                    for _ in 0..3 {
                        let polls = thread_rng().gen_range(0..4);
                        drop(poll_and_leave(semaphore.acquire_many(thread_rng().gen_range(1..=2)), polls));
                    }
                })
            })
            .collect();
        let sizes = Arc::clone(&semaphore);
        threads.push(thread::spawn(move || {
            for size in [1, 5, 2, 6, CAPACITY] {
                sizes.resize(size).unwrap();
                thread::yield_now();
            }
        }));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        all_home(&semaphore, CAPACITY);
    });
}

#[test]
fn reservations_that_are_revoked_or_dropped_lose_nothing() {
    const TTL: Duration = Duration::from_millis(100);
    schedules(|| {
        let semaphore = Arc::new(Semaphore::new(2));
        let mut threads: Vec<_> = (0..3)
            .map(|_| {
                let semaphore = Arc::clone(&semaphore);
                thread::spawn(move || {
                    let mut slot = Reservation::new(semaphore).revocable(TTL);
                    for _ in 0..2 {
                        let polls = thread_rng().gen_range(0..3);
                        let ready = {
                            let slot = &mut slot;
                            poll_and_leave(std::future::poll_fn(|context| slot.poll_reserve(context)), polls)
                        };
                        thread::yield_now();
                        match ready {
                            Some(result) => {
                                result.unwrap();
                                if thread_rng().gen_bool(0.5) {
                                    drop(slot.take());
                                }
                            }
                            None if thread_rng().gen_bool(0.5) => slot.cancel(),
                            None => {}
                        }
                    }
                })
            })
            .collect();
        let reaps = Arc::clone(&semaphore);
        threads.push(thread::spawn(move || {
            let mut now = Instant::now();
            for _ in 0..4 {
                now = reaps.reap(now).unwrap_or(now + TTL);
                thread::yield_now();
            }
        }));
        let waits = Arc::clone(&semaphore);
        threads.push(thread::spawn(move || drop(poll_and_leave(waits.acquire_many(2), 5))));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        all_home(&semaphore, 2);
    });
}

/// Pinned, so that the future is dropped on another thread than the one that polled it.
#[test]
fn a_future_may_be_dropped_on_another_thread_than_it_was_polled_on() {
    schedules(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let held = Arc::clone(&semaphore).try_acquire_owned().unwrap();
        let mut futures: Vec<Pin<Box<semaphore_core::AcquireOwned>>> =
            (0..3).map(|_| Box::pin(Arc::clone(&semaphore).acquire_owned())).collect();
        block_on(std::future::poll_fn(|context| {
            for future in &mut futures {
                assert!(future.as_mut().poll(context).is_pending());
            }
            Poll::Ready(())
        }));
        let last = futures.pop().unwrap();
        let threads: Vec<_> = futures.into_iter().map(|future| thread::spawn(move || drop(future))).collect();
        held.release();
        drop(block_on(last).unwrap());
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        all_home(&semaphore, 1);
    });
}
