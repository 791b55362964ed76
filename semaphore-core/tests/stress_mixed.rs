//! A million mixed operations on a multi-thread runtime, after which every permit is accounted for.
//!
//! `FAIR_STRESS_OPERATIONS` sets another number, for runs under a sanitizer or valgrind.
#![cfg(not(any(fair_loom, fair_shuttle)))]

use semaphore_core::{Fairness, OwnedLease, Reservation, Semaphore};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

const TASKS: u64 = 16;
const CAPACITY: usize = 6;
const CEILING: usize = 12;

fn operations() -> u64 {
    std::env::var("FAIR_STRESS_OPERATIONS").map_or(1_000_000, |text| text.parse().expect("a number"))
}

/// A small generator of its own: the storm needs speed and a printed seed, not quality.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }
}

struct Storm {
    semaphore: Arc<Semaphore>,
    /// Permits that live leases of the tasks stand for, by the tasks' own count.
    in_use: AtomicUsize,
    done: AtomicU64,
}

impl Storm {
    fn enter(&self, permits: usize) {
        let now = self.in_use.fetch_add(permits, Ordering::SeqCst) + permits;
        // A shrink lets holders stay, so only the ceiling bounds what is in use at once.
        assert!(now <= CEILING, "{now} in use");
    }

    fn leave(&self, permits: usize) {
        self.in_use.fetch_sub(permits, Ordering::SeqCst);
    }

    async fn hold(&self, mut lease: OwnedLease, dice: &mut Dice) {
        let permits = lease.permits();
        self.enter(permits);
        match dice.roll(4) {
            0 => tokio::task::yield_now().await,
            1 => {
                let part = lease.split(permits / 2).expect("half of it");
                tokio::task::yield_now().await;
                lease.merge(part).expect("the same semaphore");
            }
            2 => {
                // The halves go home apart.
                let part = lease.split(permits / 2).expect("half of it");
                self.leave(permits / 2);
                part.release();
                self.leave(permits - permits / 2);
                return drop(lease);
            }
            _ => {}
        }
        self.leave(permits);
        lease.release();
    }
}

/// Polls at most `polls` times and drops the future wherever it stands then.
async fn leave_early<F: Future>(mut future: Pin<Box<F>>, mut polls: u64) -> Option<F::Output> {
    std::future::poll_fn(move |context| {
        if polls == 0 {
            return Poll::Ready(None);
        }
        polls -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
        }
    })
    .await
}

async fn task(storm: Arc<Storm>, mut dice: Dice, operations: u64) {
    let own = || Arc::clone(&storm.semaphore);
    let mut slot = Reservation::new(own()).revocable(Duration::from_micros(50));
    for _ in 0..operations {
        storm.done.fetch_add(1, Ordering::Relaxed);
        let permits = 1 + dice.roll(3) as usize;
        let lease = match dice.roll(16) {
            0..=3 => own().acquire_owned().await.ok(),
            4..=5 => own().acquire_many_owned(permits).await.ok(),
            6..=8 => {
                let future = Box::pin(own().acquire_many_owned(permits));
                leave_early(future, dice.roll(3)).await.and_then(Result::ok)
            }
            #[cfg(feature = "time")]
            9 => own().acquire_many_timeout_owned(permits, Duration::from_micros(dice.roll(300))).await.ok(),
            10 => own().try_acquire_many_owned(permits).ok(),
            11 => {
                let ready = {
                    let (slot, polls) = (&mut slot, dice.roll(3));
                    leave_early(Box::pin(std::future::poll_fn(|context| slot.poll_reserve(context))), polls)
                        .await
                };
                match ready {
                    Some(Ok(())) if dice.roll(2) == 0 => slot.take(),
                    // Under barging a woken reservation that nobody polls delays the queue by design.
                    _ if dice.roll(2) == 0 || storm.semaphore.fairness() == Fairness::Barging => {
                        slot.cancel();
                        None
                    }
                    _ => None,
                }
            }
            12 => {
                drop(storm.semaphore.drain_permits());
                None
            }
            13 => {
                storm.semaphore.poke();
                storm.semaphore.reap(std::time::Instant::now());
                None
            }
            14 => {
                let seen = storm.semaphore.snapshot();
                assert!(
                    seen.available + seen.held + seen.reserved + seen.granted == seen.capacity + seen.debt
                );
                None
            }
            _ => {
                // The aborted task's acquire is dropped wherever its thread stands.
                let aborted = tokio::spawn(own().acquire_many_owned(permits));
                tokio::task::yield_now().await;
                aborted.abort();
                aborted.await.ok().and_then(Result::ok)
            }
        };
        if let Some(lease) = lease {
            storm.hold(lease, &mut dice).await;
        }
    }
}

fn storm(fairness: Fairness) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_time().build().unwrap();
    let semaphore = Semaphore::builder(CAPACITY).ceiling(CEILING).fairness(fairness).build().unwrap();
    let storm = Arc::new(Storm {
        semaphore: Arc::new(semaphore),
        in_use: AtomicUsize::new(0),
        done: AtomicU64::new(0),
    });
    runtime.block_on(async {
        // Drives revocations and changes the size while every task of the storm may be waiting.
        let reaper = {
            let storm = Arc::clone(&storm);
            tokio::spawn(async move {
                let mut dice = Dice(7);
                loop {
                    storm.semaphore.reap(std::time::Instant::now());
                    let size = 1 + dice.roll(CEILING as u64) as usize;
                    storm.semaphore.resize(size).expect("under the ceiling");
                    tokio::task::yield_now().await;
                }
            })
        };
        let tasks: Vec<_> = (0..TASKS)
            .map(|seed| {
                let dice = Dice(0x9E37_79B9_7F4A_7C15 ^ (seed + 1).wrapping_mul(0xD134_2543_DE82_EF95));
                tokio::spawn(task(Arc::clone(&storm), dice, operations() / 2 / TASKS))
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        reaper.abort();
        let _ = reaper.await;
        // The end: close with a few in the queue, then everything comes home.
        storm.semaphore.resize(1).unwrap();
        let held = Arc::clone(&storm.semaphore).acquire_owned().await.unwrap();
        let late: Vec<_> =
            (0..8).map(|_| tokio::spawn(Arc::clone(&storm.semaphore).acquire_owned())).collect();
        while storm.semaphore.queue_len() < 8 {
            tokio::task::yield_now().await;
        }
        storm.semaphore.close();
        for task in late {
            assert!(task.await.unwrap().is_err());
        }
        held.release();
        storm.semaphore.drained().await;
    });
    drop(runtime);
    assert_eq!(storm.done.load(Ordering::Relaxed), operations() / 2 / TASKS * TASKS);
    let seen = storm.semaphore.snapshot();
    assert_eq!(
        (seen.available, seen.held, seen.reserved, seen.granted, seen.waiters, seen.debt, seen.capacity),
        (1, 0, 0, 0, 0, 0, 1),
        "{seen:?}"
    );
    assert_eq!(Arc::strong_count(&storm.semaphore), 1, "no lease, future or seat keeps a handle");
}

#[test]
fn half_a_million_mixed_operations_in_order_end_with_every_permit_at_home() {
    storm(Fairness::Fifo);
}

#[test]
fn half_a_million_mixed_operations_barging_end_with_every_permit_at_home() {
    storm(Fairness::Barging);
}
