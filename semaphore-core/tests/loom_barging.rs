//! Every interleaving of the barging mode: notified waiters against bargers, cancels and deadlines.
#![cfg(fair_loom)]

#[path = "support/explore.rs"]
mod explore;

use explore::{Queued, all_home, block_on, explore, hold, spawn};
use semaphore_core::{AcquireError, Fairness, Semaphore};
use std::sync::Arc;

fn barging(permits: usize) -> Arc<Semaphore> {
    Arc::new(Semaphore::builder(permits).fairness(Fairness::Barging).build().unwrap())
}

#[test]
fn a_notified_waiter_meets_a_barger() {
    explore(|| {
        let semaphore = barging(1);
        let held = hold(&semaphore, 1);
        let waits = Arc::clone(&semaphore);
        let waiting = spawn(move || drop(block_on(waits.acquire()).unwrap()));
        let barges = Arc::clone(&semaphore);
        let barging = spawn(move || drop(barges.try_acquire()));
        held.release();
        waiting.join().unwrap();
        barging.join().unwrap();
        all_home(&semaphore, 1);
    });
}

#[test]
fn two_waiters_and_a_barger_all_come_through() {
    explore(|| {
        let semaphore = barging(1);
        let held = hold(&semaphore, 1);
        let waits = Arc::clone(&semaphore);
        let waiting = spawn(move || drop(block_on(waits.acquire()).unwrap()));
        held.release();
        drop(block_on(semaphore.acquire()).unwrap());
        waiting.join().unwrap();
        all_home(&semaphore, 1);
    });
}

#[test]
fn the_cancel_of_a_notified_waiter_wakes_the_next() {
    explore(|| {
        let semaphore = barging(1);
        let held = hold(&semaphore, 1);
        let (first, second) = (Queued::new(&semaphore, 1), Queued::new(&semaphore, 1));
        let cancelling = spawn(move || drop(first));
        held.release();
        cancelling.join().unwrap();
        drop(second.claim());
        all_home(&semaphore, 1);
    });
}

#[test]
fn the_deadline_of_a_notified_waiter_wakes_the_next() {
    explore(|| {
        let semaphore = barging(1);
        let held = hold(&semaphore, 1);
        let (mut first, second) = (Queued::new(&semaphore, 1), Queued::new(&semaphore, 1));
        // A woken waiter has no grant: it leaves.
        let expiring = spawn(move || assert!(first.time_out().is_none()));
        held.release();
        expiring.join().unwrap();
        drop(second.claim());
        all_home(&semaphore, 1);
    });
}

#[test]
fn close_meets_a_notified_waiter() {
    explore(|| {
        let semaphore = barging(1);
        let held = hold(&semaphore, 1);
        let waits = Arc::clone(&semaphore);
        let waiting = spawn(move || match block_on(waits.acquire()) {
            Ok(lease) => drop(lease),
            Err(error) => assert!(matches!(error, AcquireError::Closed { .. })),
        });
        let closes = Arc::clone(&semaphore);
        let closing = spawn(move || closes.close());
        held.release();
        waiting.join().unwrap();
        closing.join().unwrap();
        all_home(&semaphore, 1);
    });
}

#[test]
fn a_barger_that_leaves_wakes_the_waiter_it_passed() {
    explore(|| {
        let semaphore = barging(2);
        let held = hold(&semaphore, 2);
        let waits = Arc::clone(&semaphore);
        let waiting = spawn(move || drop(block_on(waits.acquire_many(2)).unwrap()));
        held.release();
        let barges = Arc::clone(&semaphore);
        let barging = spawn(move || drop(barges.try_acquire()));
        waiting.join().unwrap();
        barging.join().unwrap();
        all_home(&semaphore, 2);
    });
}
