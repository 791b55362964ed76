//! Every interleaving of a re-poll with the grant, and of pokes with grant, cancel and enqueue.
#![cfg(fair_loom)]

#[path = "support/explore.rs"]
mod explore;

use explore::{Counter, Queued, all_home, block_on, explore, hold, spawn};
use semaphore_core::Semaphore;
use std::sync::Arc;
use std::task::{Poll, Waker};

#[test]
fn a_new_waker_meets_the_grant() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let held = hold(&semaphore, 1);
        let mut waiter = Queued::new(&semaphore, 1);
        let releasing = spawn(move || held.release());
        let counter = Arc::new(Counter::default());
        let polled = waiter.poll_with(&Waker::from(Arc::clone(&counter)));
        releasing.join().unwrap();
        match polled {
            Poll::Ready(lease) => drop(lease.unwrap()),
            Poll::Pending => {
                assert_eq!(counter.count(), 1, "the new waker is the one to wake");
                assert!(waiter.poll().is_ready());
            }
        }
        drop(waiter);
        all_home(&semaphore, 1);
    });
}

#[test]
fn a_new_waker_of_the_second_meets_the_cancel_of_the_first() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(2));
        let keeps = hold(&semaphore, 1);
        let (first, mut second) = (Queued::new(&semaphore, 2), Queued::new(&semaphore, 1));
        let cancelling = spawn(move || drop(first));
        let counter = Arc::new(Counter::default());
        let polled = second.poll_with(&Waker::from(Arc::clone(&counter)));
        cancelling.join().unwrap();
        match polled {
            Poll::Ready(lease) => drop(lease.unwrap()),
            Poll::Pending => {
                assert_eq!(counter.count(), 1);
                assert!(second.poll().is_ready());
            }
        }
        drop((second, keeps));
        all_home(&semaphore, 2);
    });
}

#[test]
fn a_poke_meets_the_grant() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let held = hold(&semaphore, 1);
        let waiter = Queued::new(&semaphore, 1);
        let pokes = Arc::clone(&semaphore);
        let poking = spawn(move || pokes.poke());
        held.release();
        poking.join().unwrap();
        drop(waiter.claim());
        all_home(&semaphore, 1);
    });
}

#[test]
fn a_poke_meets_a_cancel_and_a_grant() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let held = hold(&semaphore, 1);
        let (first, second) = (Queued::new(&semaphore, 1), Queued::new(&semaphore, 1));
        let pokes = Arc::clone(&semaphore);
        let poking = spawn(move || pokes.poke());
        let cancelling = spawn(move || drop(first));
        held.release();
        poking.join().unwrap();
        cancelling.join().unwrap();
        drop(second.claim());
        all_home(&semaphore, 1);
    });
}

#[test]
fn a_poke_meets_an_enqueue() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let held = hold(&semaphore, 1);
        let pokes = Arc::clone(&semaphore);
        let poking = spawn(move || pokes.poke());
        let late = Arc::clone(&semaphore);
        let waiting = spawn(move || drop(block_on(late.acquire()).unwrap()));
        poking.join().unwrap();
        held.release();
        waiting.join().unwrap();
        all_home(&semaphore, 1);
    });
}

/// A wake of a poke is not a promise: whoever polls because of it must keep its place and its waker.
#[test]
fn a_poked_waiter_that_polls_again_meets_the_grant() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let held = hold(&semaphore, 1);
        let mut waiter = Queued::new(&semaphore, 1);
        semaphore.poke();
        assert_eq!(waiter.counter.count(), 1);
        let releasing = spawn(move || held.release());
        let polled = waiter.poll();
        releasing.join().unwrap();
        match polled {
            Poll::Ready(lease) => drop(lease.unwrap()),
            Poll::Pending => {
                assert_eq!(waiter.counter.count(), 2, "the grant wakes again");
                drop(waiter.claim());
            }
        }
        all_home(&semaphore, 1);
    });
}
