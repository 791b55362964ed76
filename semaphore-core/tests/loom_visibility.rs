//! What was written under a lease is visible to whoever the release lets in, on every path.
//!
//! The payload is a cell that loom watches: a missing edge shows as a data race.
#![cfg(fair_loom)]

#[path = "support/explore.rs"]
mod explore;

use explore::{Queued, block_on, explore, hold, spawn};
use loom::cell::UnsafeCell;
use semaphore_core::{OwnedLease, Semaphore};
use std::sync::Arc;

/// Loom's cell in a box that may cross threads; loom itself checks every access.
struct Payload(UnsafeCell<usize>);

// SAFETY: loom fails the model on any two accesses that are not ordered.
unsafe impl Send for Payload {}
// SAFETY: as above.
unsafe impl Sync for Payload {}

impl Payload {
    fn shared() -> Arc<Self> {
        Arc::new(Self(UnsafeCell::new(0)))
    }

    fn write(&self, value: usize) {
        // SAFETY: loom checks that nobody else touches the cell.
        self.0.with_mut(|cell| unsafe { *cell = value });
    }

    fn read(&self) -> usize {
        // SAFETY: loom checks that nobody writes meanwhile.
        self.0.with(|cell| unsafe { *cell })
    }
}

/// Another thread writes and lets `enable` pass the permit on; we acquire and read.
fn passes(capacity: usize, need: usize, enable: fn(OwnedLease, &Arc<Semaphore>)) {
    explore(move || {
        let semaphore = Arc::new(Semaphore::new(capacity));
        let payload = Payload::shared();
        let held = hold(&semaphore, capacity);
        let (own, cell) = (Arc::clone(&semaphore), Arc::clone(&payload));
        let writing = spawn(move || {
            cell.write(7);
            enable(held, &own);
        });
        let lease = block_on(semaphore.acquire_many(need)).unwrap();
        assert_eq!(payload.read(), 7);
        payload.write(8);
        drop(lease);
        writing.join().unwrap();
    });
}

#[test]
fn by_release_and_by_drop() {
    passes(1, 1, |lease, _| lease.release());
    passes(1, 1, |lease, _| drop(lease));
}

#[test]
fn by_the_release_of_a_part() {
    passes(2, 1, |mut lease, _| {
        let part = lease.split(1).unwrap();
        part.release();
        lease.forget();
    });
}

#[test]
fn by_the_release_of_a_merged_lease() {
    passes(2, 2, |mut lease, _| {
        let mut part = lease.split(1).unwrap();
        part.merge(lease).unwrap();
        part.release();
    });
}

#[test]
fn by_growth() {
    passes(1, 1, |lease, semaphore| {
        lease.forget();
        semaphore.add_permits(1).unwrap();
    });
}

#[test]
fn by_the_repayment_of_debt_and_growth() {
    passes(2, 1, |lease, semaphore| {
        semaphore.resize(1).unwrap();
        semaphore.resize(2).unwrap();
        lease.release();
    });
}

#[test]
fn by_a_try_that_finds_the_permit() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let payload = Payload::shared();
        let held = hold(&semaphore, 1);
        let (own, cell) = (Arc::clone(&semaphore), Arc::clone(&payload));
        let trying = spawn(move || {
            if let Ok(lease) = own.try_acquire() {
                assert_eq!(cell.read(), 7);
                drop(lease);
            }
        });
        payload.write(7);
        held.release();
        trying.join().unwrap();
    });
}

/// The permit goes through a grant that nobody claims.
#[test]
fn by_the_cancel_of_a_grant() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let payload = Payload::shared();
        let held = hold(&semaphore, 1);
        let first = Queued::new(&semaphore, 1);
        let cell = Arc::clone(&payload);
        let writing = spawn(move || {
            cell.write(7);
            held.release();
        });
        let cancelling = spawn(move || drop(first));
        let lease = block_on(semaphore.acquire()).unwrap();
        assert_eq!(payload.read(), 7);
        drop(lease);
        writing.join().unwrap();
        cancelling.join().unwrap();
    });
}

/// A grant made before the close is claimed after it.
#[test]
fn by_a_grant_that_a_close_follows() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let payload = Payload::shared();
        let held = hold(&semaphore, 1);
        let (own, cell) = (Arc::clone(&semaphore), Arc::clone(&payload));
        let writing = spawn(move || {
            cell.write(7);
            held.release();
            own.close();
        });
        if let Ok(lease) = block_on(semaphore.acquire()) {
            assert_eq!(payload.read(), 7);
            drop(lease);
        }
        writing.join().unwrap();
    });
}

/// Whoever sees everything drained sees what was done under the leases.
#[test]
fn by_drained() {
    explore(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let payload = Payload::shared();
        let held = hold(&semaphore, 1);
        let cell = Arc::clone(&payload);
        let writing = spawn(move || {
            cell.write(7);
            held.release();
        });
        block_on(semaphore.drained());
        assert_eq!(payload.read(), 7);
        writing.join().unwrap();
    });
}
