//! Every interleaving of close with releases, acquirers and deadlines.
#![cfg(fair_loom)]

#[path = "support/explore.rs"]
mod explore;

use explore::{Queued, adds_up, all_home, block_on, explore, explore_up_to, hold, spawn};
use semaphore_core::{AcquireError, Semaphore};
use std::sync::Arc;
use std::task::Poll;

#[test]
fn close_meets_a_release_and_two_acquirers() {
    explore_up_to(2, || {
        let semaphore = Arc::new(Semaphore::new(1));
        let held = hold(&semaphore, 1);
        let mut first = Queued::new(&semaphore, 1);
        let late = Arc::clone(&semaphore);
        let second = spawn(move || match block_on(late.acquire_owned()) {
            Ok(lease) => drop(lease),
            Err(error) => assert!(matches!(error, AcquireError::Closed { .. })),
        });
        let closer = Arc::clone(&semaphore);
        let closing = spawn(move || closer.close());
        held.release();
        // Granted or closed already: a release and a close have reached whoever was queued before them, or will.
        if let Poll::Ready(result) = first.poll() {
            drop(result);
        }
        closing.join().unwrap();
        drop(first);
        second.join().unwrap();
        assert!(semaphore.is_closed());
        all_home(&semaphore, 1);
    });
}

#[test]
fn close_meets_the_release_that_grants() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let held = hold(&semaphore, 1);
        let mut waiter = Queued::new(&semaphore, 1);
        let closer = Arc::clone(&semaphore);
        let closing = spawn(move || closer.close());
        held.release();
        closing.join().unwrap();
        assert!(waiter.woken());
        match waiter.poll() {
            Poll::Ready(Ok(lease)) => {
                adds_up(&semaphore, 1);
                drop(lease);
            }
            Poll::Ready(Err(error)) => assert!(matches!(error, AcquireError::Closed { .. })),
            Poll::Pending => panic!("neither granted nor closed"),
        }
        all_home(&semaphore, 1);
    });
}

#[test]
fn close_meets_a_fast_acquire() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let closer = Arc::clone(&semaphore);
        let closing = spawn(move || closer.close());
        drop(semaphore.try_acquire());
        closing.join().unwrap();
        assert!(semaphore.is_closed() && semaphore.try_acquire().is_err());
        all_home(&semaphore, 1);
    });
}

#[test]
fn a_deadline_meets_a_grant_and_a_close() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let held = hold(&semaphore, 1);
        let mut waiter = Queued::new(&semaphore, 1);
        let closer = Arc::clone(&semaphore);
        let closing = spawn(move || closer.close());
        let expiring = spawn(move || waiter.time_out());
        held.release();
        closing.join().unwrap();
        match expiring.join().unwrap() {
            Some(Ok(lease)) => {
                adds_up(&semaphore, 1);
                drop(lease);
            }
            Some(Err(error)) => assert!(matches!(error, AcquireError::Closed { .. }), "{error:?}"),
            None => adds_up(&semaphore, 0),
        }
        all_home(&semaphore, 1);
    });
}

#[test]
fn a_deadline_of_the_head_meets_the_release_for_the_next() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(2));
        let (keeps, held) = (hold(&semaphore, 1), hold(&semaphore, 1));
        let (mut large, small) = (Queued::new(&semaphore, 2), Queued::new(&semaphore, 1));
        let expiring = spawn(move || assert!(large.time_out().is_none()));
        held.release();
        expiring.join().unwrap();
        drop(small.claim());
        drop(keeps);
        all_home(&semaphore, 2);
    });
}

#[test]
fn closed_meets_close() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let watched = Arc::clone(&semaphore);
        let watching = spawn(move || block_on(watched.closed()));
        semaphore.close();
        watching.join().unwrap();
    });
}
