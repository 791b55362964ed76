//! Exactly one read-modify-write for an uncontended acquire and one for its release.
//!
//! `RUSTFLAGS="--cfg fair_count" cargo test -p semaphore-core --test stress_counts`
#![cfg(fair_count)]

use semaphore_core::Semaphore;
use semaphore_core::counted::read_modify_writes;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

fn spent(work: impl FnOnce()) -> u64 {
    let before = read_modify_writes();
    work();
    read_modify_writes() - before
}

fn ready<F: Future>(future: F) -> F::Output {
    match pin!(future).as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("permits are free"),
    }
}

#[test]
fn an_uncontended_acquire_costs_one_and_so_does_its_release() {
    let semaphore = Arc::new(Semaphore::new(8));
    let mut lease = None;
    assert_eq!(spent(|| lease = Some(ready(semaphore.acquire()).unwrap())), 1);
    assert_eq!(spent(|| drop(lease.take())), 1);
    assert_eq!(spent(|| lease = Some(ready(semaphore.acquire_many(5)).unwrap())), 1);
    assert_eq!(spent(|| lease.take().unwrap().release()), 1);
    assert_eq!(spent(|| lease = semaphore.try_acquire().ok()), 1);
    assert_eq!(spent(|| drop(lease.take())), 1);
    let mut owned = None;
    assert_eq!(spent(|| owned = Some(ready(Arc::clone(&semaphore).acquire_owned()).unwrap())), 1);
    assert_eq!(spent(|| drop(owned.take())), 1);
    assert_eq!(spent(|| owned = Arc::clone(&semaphore).try_acquire_many_owned(3).ok()), 1);
    assert_eq!(spent(|| drop(owned.take())), 1);
}

#[test]
fn what_touches_nothing_costs_nothing() {
    let semaphore = Semaphore::new(2);
    let held = semaphore.try_acquire_many(2).unwrap();
    assert_eq!(spent(|| assert!(semaphore.try_acquire().is_err())), 0, "a try that fails");
    assert_eq!(spent(|| drop(semaphore.acquire())), 0, "a future that nobody polled");
    assert_eq!(spent(|| assert_eq!(semaphore.available_permits(), 0)), 0);
    drop(held);
}
