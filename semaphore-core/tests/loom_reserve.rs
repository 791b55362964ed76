//! Every interleaving of reservations: reserve, take, drop, revoke, and the way back by the token.
#![cfg(fair_loom)]

#[path = "support/explore.rs"]
mod explore;

use explore::{Counter, Queued, adds_up, all_home, block_on, explore, explore_up_to, hold, spawn};
use semaphore_core::{Reservation, Semaphore};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

const TTL: Duration = Duration::from_millis(100);

fn revocable(semaphore: &Arc<Semaphore>) -> Reservation {
    Reservation::new(Arc::clone(semaphore)).revocable(TTL)
}

/// Reserves one permit that must be free.
fn reserve(reservation: &mut Reservation) {
    let waker = Waker::from(Arc::new(Counter::default()));
    let polled = reservation.poll_reserve(&mut Context::from_waker(&waker));
    assert!(matches!(polled, Poll::Ready(Ok(()))), "{polled:?}");
}

/// Closes the open generation, so that one more call a ttl later revokes it.
fn close_generation(semaphore: &Semaphore) -> Instant {
    semaphore.reap(Instant::now()).expect("somebody waits and something is reserved")
}

#[test]
fn taking_meets_the_revocation() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let mut reservation = revocable(&semaphore);
        reserve(&mut reservation);
        let waiter = Queued::new(&semaphore, 1);
        let due = close_generation(&semaphore);
        let taking = spawn(move || {
            let lease = reservation.take();
            let token = reservation.rejoin();
            assert!(lease.is_some() != token.is_some(), "the lease or the token, never both, never none");
            lease
        });
        semaphore.reap(due);
        let lease = taking.join().unwrap();
        adds_up(&semaphore, usize::from(lease.is_some()));
        if let Some(lease) = lease {
            assert!(!waiter.woken());
            lease.release();
        }
        drop(waiter.claim());
        all_home(&semaphore, 1);
    });
}

#[test]
fn dropping_meets_the_revocation() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let mut reservation = revocable(&semaphore);
        reserve(&mut reservation);
        let waiter = Queued::new(&semaphore, 1);
        let due = close_generation(&semaphore);
        let dropping = spawn(move || drop(reservation));
        semaphore.reap(due);
        dropping.join().unwrap();
        drop(waiter.claim());
        all_home(&semaphore, 1);
    });
}

#[test]
fn two_reservations_taken_and_dropped_meet_the_revocation() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(2));
        let (mut one, mut two) = (revocable(&semaphore), revocable(&semaphore));
        reserve(&mut one);
        reserve(&mut two);
        let waiter = Queued::new(&semaphore, 2);
        let due = close_generation(&semaphore);
        let taking = spawn(move || one.take());
        let dropping = spawn(move || drop(two));
        semaphore.reap(due);
        let lease = taking.join().unwrap();
        dropping.join().unwrap();
        adds_up(&semaphore, usize::from(lease.is_some()));
        drop(lease);
        drop(waiter.claim());
        all_home(&semaphore, 2);
    });
}

#[test]
fn reserving_meets_the_revocation_of_another() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(2));
        let (mut old, mut new) = (revocable(&semaphore), revocable(&semaphore));
        reserve(&mut old);
        let waiter = {
            let held = hold(&semaphore, 1);
            let waiter = Queued::new(&semaphore, 2);
            held.release();
            waiter
        };
        let due = close_generation(&semaphore);
        let own = Arc::clone(&semaphore);
        // Queues behind the waiter, unless the waiter has come and gone.
        let reserving = spawn(move || {
            block_on(std::future::poll_fn(|context| new.poll_reserve(context))).unwrap();
            new.take().map(drop);
            drop(own);
        });
        semaphore.reap(due);
        drop(old);
        drop(waiter.claim());
        reserving.join().unwrap();
        all_home(&semaphore, 2);
    });
}

#[test]
fn a_revocation_meets_the_poll_of_an_unpolled_grant() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let held = hold(&semaphore, 1);
        let mut reservation = revocable(&semaphore);
        let counter = Arc::new(Counter::default());
        let waker = Waker::from(Arc::clone(&counter));
        assert!(reservation.poll_reserve(&mut Context::from_waker(&waker)).is_pending());
        let waiter = Queued::new(&semaphore, 1);
        held.release();
        let due = close_generation(&semaphore);
        let polling = spawn(move || {
            let polled = reservation.poll_reserve(&mut Context::from_waker(&waker));
            (polled.is_ready() && reservation.is_reserved(), reservation)
        });
        semaphore.reap(due);
        let (_, reservation) = polling.join().unwrap();
        drop(reservation);
        drop(waiter.claim());
        all_home(&semaphore, 1);
    });
}

/// The owner reads the note in its node as soon as the grant shows.
#[test]
fn a_release_meets_the_claim_of_a_revocable_grant() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let held = hold(&semaphore, 1);
        let mut reservation = revocable(&semaphore);
        let waker = Waker::from(Arc::new(Counter::default()));
        assert!(reservation.poll_reserve(&mut Context::from_waker(&waker)).is_pending());
        let claiming = spawn(move || {
            let _ = reservation.poll_reserve(&mut Context::from_waker(&waker));
            drop(reservation.take());
        });
        held.release();
        claiming.join().unwrap();
        all_home(&semaphore, 1);
    });
}

#[test]
fn rejoining_meets_a_release() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(2));
        let (lost, held) = (hold(&semaphore, 1), hold(&semaphore, 1));
        let ordinary = Queued::new(&semaphore, 1);
        let token = lost.forfeit();
        let own = Arc::clone(&semaphore);
        let rejoining = spawn(move || drop(block_on(own.acquire_front_owned(token)).unwrap()));
        held.release();
        // One permit is left for the two: whoever has it must hand it on before the other is waited for.
        drop(block_on(ordinary.future).unwrap());
        rejoining.join().unwrap();
        all_home(&semaphore, 1);
    });
}

#[test]
fn two_that_rejoin_meet_a_release_and_stand_by_ticket() {
    explore_up_to(2, || {
        let semaphore = Arc::new(Semaphore::new(3));
        let (one, two, held) = (hold(&semaphore, 1), hold(&semaphore, 1), hold(&semaphore, 1));
        let (first, second) = (one.forfeit(), two.forfeit());
        let own = Arc::clone(&semaphore);
        let other = spawn(move || drop(block_on(own.acquire_front_owned(second)).unwrap()));
        let releasing = spawn(move || held.release());
        drop(block_on(semaphore.acquire_front(first)).unwrap());
        other.join().unwrap();
        releasing.join().unwrap();
        all_home(&semaphore, 1);
    });
}

/// What was done under a reservation that is given back is visible to the next.
#[test]
fn giving_back_meets_a_waiter() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let mut reservation = revocable(&semaphore);
        reserve(&mut reservation);
        let cancelling = spawn(move || reservation.cancel());
        drop(block_on(semaphore.acquire()).unwrap());
        cancelling.join().unwrap();
        all_home(&semaphore, 1);
    });
}
