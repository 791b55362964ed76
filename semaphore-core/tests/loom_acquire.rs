//! Every interleaving of acquire and release, on the fast path, the slow path and the way between them.
#![cfg(fair_loom)]

#[path = "support/explore.rs"]
mod explore;

use explore::{Queued, adds_up, all_home, block_on, explore, explore_up_to, hold, spawn};
use semaphore_core::Semaphore;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn a_fast_acquire_meets_the_slow_flag_being_set() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let held = hold(&semaphore, 1);
        let waits = Arc::clone(&semaphore);
        let queueing = spawn(move || drop(block_on(waits.acquire()).unwrap()));
        let tries = Arc::clone(&semaphore);
        let trying = spawn(move || drop(tries.try_acquire()));
        held.release();
        queueing.join().unwrap();
        trying.join().unwrap();
        all_home(&semaphore, 1);
    });
}

#[test]
fn a_release_meets_the_slow_flag_being_set() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let held = hold(&semaphore, 1);
        let releasing = spawn(move || held.release());
        drop(block_on(semaphore.acquire()).unwrap());
        releasing.join().unwrap();
        all_home(&semaphore, 1);
    });
}

#[test]
fn a_multi_permit_acquire_collects_two_releases() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(2));
        let (one, two) = (hold(&semaphore, 1), hold(&semaphore, 1));
        let threads = [spawn(move || one.release()), spawn(move || two.release())];
        let lease = block_on(semaphore.acquire_many(2)).unwrap();
        adds_up(&semaphore, 2);
        drop(lease);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        all_home(&semaphore, 2);
    });
}

#[test]
fn two_releases_serve_two_waiters() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(2));
        let (one, two) = (hold(&semaphore, 1), hold(&semaphore, 1));
        let (first, second) = (Queued::new(&semaphore, 1), Queued::new(&semaphore, 1));
        let threads = [spawn(move || one.release()), spawn(move || two.release())];
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let leases = [first.claim(), second.claim()];
        adds_up(&semaphore, 2);
        drop(leases);
        all_home(&semaphore, 2);
    });
}

#[test]
fn two_releases_serve_two_that_are_just_arriving() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(2));
        let (one, two) = (hold(&semaphore, 1), hold(&semaphore, 1));
        let late = Arc::clone(&semaphore);
        let waiting = spawn(move || block_on(late.acquire_owned()).unwrap());
        let releasing = spawn(move || one.release());
        two.release();
        let ours = block_on(semaphore.acquire()).unwrap();
        let theirs = waiting.join().unwrap();
        releasing.join().unwrap();
        adds_up(&semaphore, 2);
        drop((ours, theirs));
        all_home(&semaphore, 2);
    });
}

/// Requests of 2, 1 and 1 of two permits; nobody ever sees more in use than there are.
#[test]
fn a_weighted_mix_never_exceeds_the_capacity() {
    explore_up_to(2, || {
        let semaphore = Arc::new(Semaphore::new(2));
        let in_use = Arc::new(AtomicUsize::new(0));
        let enter = |semaphore: Arc<Semaphore>, in_use: Arc<AtomicUsize>, permits: usize| {
            let lease = block_on(semaphore.acquire_many(permits)).unwrap();
            let before = in_use.fetch_add(permits, Ordering::Relaxed);
            assert!(before + permits <= 2, "{before} in use and {permits} more admitted");
            loom::thread::yield_now();
            in_use.fetch_sub(permits, Ordering::Relaxed);
            drop(lease);
        };
        let threads: Vec<_> = [2, 1]
            .map(|permits| {
                let (semaphore, in_use) = (Arc::clone(&semaphore), Arc::clone(&in_use));
                spawn(move || enter(semaphore, in_use, permits))
            })
            .into();
        enter(Arc::clone(&semaphore), in_use, 1);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        all_home(&semaphore, 2);
    });
}

#[test]
fn a_try_never_passes_the_waiter_that_a_release_serves() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let held = hold(&semaphore, 1);
        let waiter = Queued::new(&semaphore, 1);
        let tries = Arc::clone(&semaphore);
        let trying = spawn(move || assert!(tries.try_acquire().is_err(), "passed the waiter"));
        held.release();
        trying.join().unwrap();
        drop(waiter.claim());
        all_home(&semaphore, 1);
    });
}

/// The last owner of the semaphore is the task that the release hands the permit to.
#[test]
fn the_last_owner_goes_by_its_own_hand_off() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let weak = Arc::downgrade(&semaphore);
        let held = hold(&semaphore, 1);
        let waiting = spawn(move || drop(block_on(semaphore.acquire_owned()).unwrap()));
        held.release();
        waiting.join().unwrap();
        assert_eq!(weak.strong_count(), 0);
    });
}
