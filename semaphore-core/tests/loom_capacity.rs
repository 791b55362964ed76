//! Every interleaving of changes of size with releases and waiters.
#![cfg(fair_loom)]

#[path = "support/explore.rs"]
mod explore;

use explore::{Queued, adds_up, all_home, block_on, explore, hold, spawn};
use semaphore_core::Semaphore;
use std::sync::Arc;

#[test]
fn a_shrink_meets_a_release_and_a_queued_waiter() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(2));
        let (one, two) = (hold(&semaphore, 1), hold(&semaphore, 1));
        let waiter = Queued::new(&semaphore, 1);
        let shrinks = Arc::clone(&semaphore);
        let shrinking = spawn(move || shrinks.reduce_permits(1).unwrap());
        one.release();
        shrinking.join().unwrap();
        // Granted before the shrink or not, there is one permit less now.
        adds_up(&semaphore, 1);
        two.release();
        drop(waiter.claim());
        all_home(&semaphore, 1);
    });
}

#[test]
fn debt_meets_a_release_and_growth() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(2));
        let (one, two) = (hold(&semaphore, 1), hold(&semaphore, 1));
        let waiter = Queued::new(&semaphore, 1);
        semaphore.resize(1).unwrap();
        let grows = Arc::clone(&semaphore);
        let growing = spawn(move || grows.resize(2).unwrap());
        one.release();
        growing.join().unwrap();
        adds_up(&semaphore, 1);
        drop(waiter.claim());
        two.release();
        all_home(&semaphore, 2);
    });
}

#[test]
fn growth_meets_an_acquirer_that_is_just_queueing() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::empty(1));
        let late = Arc::clone(&semaphore);
        let waiting = spawn(move || drop(block_on(late.acquire()).unwrap()));
        semaphore.add_permits(1).unwrap();
        waiting.join().unwrap();
        all_home(&semaphore, 1);
    });
}

#[test]
fn a_shrink_meets_a_fast_acquire() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(2));
        let shrinks = Arc::clone(&semaphore);
        let shrinking = spawn(move || shrinks.resize(1).unwrap());
        let lease = semaphore.try_acquire_many(2);
        let held = lease.as_ref().map_or(0, |lease| lease.permits());
        shrinking.join().unwrap();
        adds_up(&semaphore, held);
        drop(lease);
        all_home(&semaphore, 1);
    });
}

#[test]
fn forgetting_meets_a_release_under_a_waiter() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(2));
        let (one, two) = (hold(&semaphore, 1), hold(&semaphore, 1));
        let waiter = Queued::new(&semaphore, 1);
        let forgetting = spawn(move || one.forget());
        two.release();
        forgetting.join().unwrap();
        drop(waiter.claim());
        all_home(&semaphore, 1);
    });
}

#[test]
fn two_changes_of_size_at_once_add_up() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(3));
        let held = hold(&semaphore, 2);
        let shrinks = Arc::clone(&semaphore);
        let shrinking = spawn(move || shrinks.reduce_permits(2).unwrap());
        semaphore.add_permits(1).unwrap();
        shrinking.join().unwrap();
        adds_up(&semaphore, 2);
        held.release();
        all_home(&semaphore, 2);
    });
}
