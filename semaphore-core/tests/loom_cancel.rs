//! Every interleaving of cancels with releases, other cancels and newcomers.
#![cfg(fair_loom)]

#[path = "support/explore.rs"]
mod explore;

use explore::{Queued, adds_up, all_home, block_on, explore, hold, spawn};
use semaphore_core::{AcquireError, Semaphore};
use std::sync::Arc;
use std::task::Poll;

#[test]
fn a_release_meets_the_cancel_of_the_head_it_grants() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let held = hold(&semaphore, 1);
        let (first, second) = (Queued::new(&semaphore, 1), Queued::new(&semaphore, 1));
        let cancelling = spawn(move || drop(first));
        held.release();
        cancelling.join().unwrap();
        adds_up(&semaphore, 0);
        drop(second.claim());
        all_home(&semaphore, 1);
    });
}

/// Either the first took the permit and passed it on, or the second has it: never both, never none.
#[test]
fn a_claim_and_a_cancel_of_the_same_permit_agree() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let held = hold(&semaphore, 1);
        let (mut first, mut second) = (Queued::new(&semaphore, 1), Queued::new(&semaphore, 1));
        let deciding = spawn(move || match first.poll() {
            Poll::Ready(lease) => Some(lease.unwrap()),
            Poll::Pending => None,
        });
        held.release();
        let claimed = deciding.join().unwrap();
        let next = match second.poll() {
            Poll::Ready(lease) => Some(lease.unwrap()),
            Poll::Pending => None,
        };
        assert!(claimed.is_some() != next.is_some());
        adds_up(&semaphore, 1);
        drop(claimed);
        if next.is_none() {
            drop(second.claim());
        }
        drop(next);
        all_home(&semaphore, 1);
    });
}

#[test]
fn the_cancel_of_a_large_head_meets_a_release_and_a_third_acquirer() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(3));
        let (keeps, held) = (hold(&semaphore, 1), hold(&semaphore, 1));
        let (large, small) = (Queued::new(&semaphore, 3), Queued::new(&semaphore, 1));
        let cancelling = spawn(move || drop(large));
        let third = Arc::clone(&semaphore);
        let arriving = spawn(move || drop(block_on(third.acquire()).unwrap()));
        held.release();
        cancelling.join().unwrap();
        arriving.join().unwrap();
        drop(small.claim());
        drop(keeps);
        all_home(&semaphore, 3);
    });
}

#[test]
fn two_large_heads_that_go_at_once_let_the_third_in() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(3));
        let keeps = hold(&semaphore, 2);
        let (one, two, small) =
            (Queued::new(&semaphore, 2), Queued::new(&semaphore, 3), Queued::new(&semaphore, 1));
        let cancelling = spawn(move || drop(one));
        drop(two);
        cancelling.join().unwrap();
        drop(small.claim());
        drop(keeps);
        all_home(&semaphore, 3);
    });
}

#[test]
fn the_last_waiter_leaves_while_another_joins() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(2));
        let held = hold(&semaphore, 1);
        let last = Queued::new(&semaphore, 2);
        let cancelling = spawn(move || drop(last));
        // One permit is free: whether it waits behind the leaving one or not, it must come through.
        drop(block_on(semaphore.acquire()).unwrap());
        cancelling.join().unwrap();
        drop(held);
        all_home(&semaphore, 2);
    });
}

#[test]
fn the_last_waiter_leaves_while_a_release_looks_for_it() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let held = hold(&semaphore, 1);
        let last = Queued::new(&semaphore, 1);
        let releasing = spawn(move || held.release());
        drop(last);
        releasing.join().unwrap();
        all_home(&semaphore, 1);
    });
}

#[test]
fn a_cancel_frees_a_place_in_a_full_queue() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::builder(1).max_waiters(1).build().unwrap());
        let held = hold(&semaphore, 1);
        let leaving = Queued::new(&semaphore, 1);
        let cancelling = spawn(move || drop(leaving));
        let late = Arc::clone(&semaphore);
        let arriving = spawn(move || match block_on(late.acquire_owned()) {
            Ok(lease) => drop(lease),
            Err(error) => assert!(matches!(error, AcquireError::QueueFull { max_waiters: 1, .. })),
        });
        cancelling.join().unwrap();
        held.release();
        arriving.join().unwrap();
        all_home(&semaphore, 1);
        // The place is free again for good.
        let held = hold(&semaphore, 1);
        drop(Queued::new(&semaphore, 1));
        drop(held);
    });
}

#[test]
fn grants_of_several_dropped_on_two_threads_all_come_home() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(2));
        let held = hold(&semaphore, 2);
        let (one, two, next) =
            (Queued::new(&semaphore, 1), Queued::new(&semaphore, 1), Queued::new(&semaphore, 2));
        held.release();
        let cancelling = spawn(move || drop(one));
        drop(two);
        cancelling.join().unwrap();
        drop(next.claim());
        all_home(&semaphore, 2);
    });
}

#[test]
fn drained_meets_a_cancelled_grant() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let held = hold(&semaphore, 1);
        let waiter = Queued::new(&semaphore, 1);
        let watched = Arc::clone(&semaphore);
        let draining = spawn(move || block_on(watched.drained()));
        let releasing = spawn(move || held.release());
        drop(waiter);
        releasing.join().unwrap();
        draining.join().unwrap();
        all_home(&semaphore, 1);
    });
}
