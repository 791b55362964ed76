//! The barging mode agrees with a reference of its own over random operations.
#![cfg(all(feature = "time", not(any(fair_loom, fair_shuttle))))]

#[allow(dead_code)] // the strict model uses the rest of it
mod model;

use model::acquiring::Bell;
use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, TestRunner};
use semaphore_core::{AcquireError, AcquireOwned, Fairness, OwnedLease, Semaphore};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

const CAPACITY: usize = 4;

struct Waiting {
    future: Pin<Box<AcquireOwned>>,
    need: usize,
    /// Woken to try its luck, and not polled since.
    notified: bool,
    closed: bool,
    bell: Bell,
}

/// A counter and a list in order: whoever is polled with enough free takes it, if it is new or was notified.
struct Run {
    semaphore: Arc<Semaphore>,
    free: i64,
    capacity: usize,
    closed: bool,
    waiting: Vec<Waiting>,
    leases: Vec<OwnedLease>,
}

impl Run {
    /// Notifies from the front until what is free is spoken for.
    fn notify(&mut self) {
        loop {
            let spoken: usize = self.waiting.iter().filter(|one| one.notified).map(|one| one.need).sum();
            let Some(next) = self.waiting.iter_mut().find(|one| !one.notified && !one.closed) else { break };
            if self.free - (spoken as i64) < next.need as i64 {
                break;
            }
            next.notified = true;
            next.bell.ring();
        }
    }

    fn step(&mut self, [kind, a, b]: [u8; 3]) {
        let need = usize::from(b % 3) + 1;
        match kind % 16 {
            0..=3 => self.arrive(need),
            4..=7 => self.poll(usize::from(a), b % 2 == 0),
            8 => {
                if !self.waiting.is_empty() {
                    drop(self.waiting.remove(usize::from(a) % self.waiting.len()));
                }
            }
            9..=11 => {
                if !self.leases.is_empty() {
                    let lease = self.leases.swap_remove(usize::from(a) % self.leases.len());
                    self.free += lease.permits() as i64;
                    lease.release();
                }
            }
            12 => {
                let tried = Arc::clone(&self.semaphore).try_acquire_many_owned(need);
                assert_eq!(tried.is_ok(), !self.closed && self.free >= need as i64, "newcomers may pass");
                self.keep(tried.ok());
            }
            13 => {
                let size = usize::from(b % 4) + 3;
                self.semaphore.resize(size).expect("under the ceiling");
                self.free += size as i64 - self.capacity as i64;
                self.capacity = size;
            }
            14 if a < 8 => {
                self.semaphore.close();
                self.closed = true;
                for one in &mut self.waiting {
                    if !one.closed {
                        one.bell.ring();
                    }
                    (one.closed, one.notified) = (true, false);
                }
            }
            _ => {
                self.semaphore.poke();
                self.waiting.iter_mut().filter(|one| !one.closed).for_each(|one| one.bell.ring());
            }
        }
        if !self.closed {
            self.notify();
        }
    }

    fn keep(&mut self, lease: Option<OwnedLease>) {
        self.free -= lease.as_ref().map_or(0, OwnedLease::permits) as i64;
        self.leases.extend(lease);
    }

    fn arrive(&mut self, need: usize) {
        if self.waiting.len() == 8 {
            return;
        }
        let future = Box::pin(Arc::clone(&self.semaphore).acquire_many_owned(need));
        let mut one = Waiting { future, need, notified: false, closed: false, bell: Bell::default() };
        let waker = one.bell.waker();
        match one.future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(Ok(lease)) => {
                assert!(!self.closed && self.free >= need as i64);
                self.keep(Some(lease));
            }
            Poll::Ready(Err(error)) => {
                assert!(self.closed && matches!(error, AcquireError::Closed { .. }), "{error:?}");
            }
            Poll::Pending => {
                assert!(!self.closed && self.free < need as i64, "a newcomer takes what is free");
                one.bell.arm();
                self.waiting.push(one);
            }
        }
    }

    fn poll(&mut self, chosen: usize, anew: bool) {
        if self.waiting.is_empty() {
            return;
        }
        let at = chosen % self.waiting.len();
        let one = &mut self.waiting[at];
        if anew {
            one.bell.renew();
        }
        let waker = one.bell.waker();
        let polled = one.future.as_mut().poll(&mut Context::from_waker(&waker));
        let takes = one.notified && self.free >= one.need as i64;
        match polled {
            Poll::Ready(Ok(lease)) => {
                assert!(takes, "not its turn");
                drop(self.waiting.remove(at));
                self.keep(Some(lease));
            }
            Poll::Ready(Err(error)) => {
                assert!(one.closed && matches!(error, AcquireError::Closed { .. }), "{error:?}");
                drop(self.waiting.remove(at));
            }
            Poll::Pending => {
                assert!(!takes && !one.closed, "its turn, and enough is free");
                one.notified = false;
                one.bell.arm();
            }
        }
    }

    fn compare(&self) {
        let seen = self.semaphore.snapshot();
        let held: usize = self.leases.iter().map(OwnedLease::permits).sum();
        let open = self.waiting.iter().filter(|one| !one.closed);
        assert_eq!((seen.available as i64 - seen.debt as i64, seen.held), (self.free, held));
        assert_eq!((seen.granted, seen.reserved), (0, 0));
        assert_eq!(seen.available + seen.held, seen.capacity + seen.debt, "conservation");
        let order: Vec<_> = self.semaphore.waiters(usize::MAX).iter().map(|waiter| waiter.permits).collect();
        assert_eq!(order, open.map(|one| one.need).collect::<Vec<_>>(), "everybody keeps its place");
        self.waiting.iter().for_each(|one| one.bell.check("a waiter"));
    }
}

#[test]
fn random_operations_agree_with_the_barging_reference() {
    let config = ProptestConfig {
        source_file: Some(file!()),
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        max_shrink_iters: 5_000,
        ..ProptestConfig::with_cases(2_000)
    };
    let operations = proptest::collection::vec(any::<[u8; 3]>(), 1..256);
    let checked = TestRunner::new(config).run(&operations, |operations| {
        let builder = Semaphore::builder(CAPACITY).ceiling(8).fairness(Fairness::Barging);
        let semaphore = Arc::new(builder.build().unwrap());
        let (waiting, leases) = (Vec::new(), Vec::new());
        let free = CAPACITY as i64;
        let mut run = Run { semaphore, free, capacity: CAPACITY, closed: false, waiting, leases };
        for bytes in operations {
            run.step(bytes);
            run.compare();
        }
        Ok(())
    });
    checked.unwrap();
}
