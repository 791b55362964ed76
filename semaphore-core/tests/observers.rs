//! What an observer hears, and that nobody pays for its panics.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use semaphore_core::{Acquire, AcquireError, Event, Lease, Observer, Semaphore};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<(&'static str, Event)>>>);

impl Log {
    fn add(&self, what: &'static str, event: Event) {
        self.0.lock().unwrap().push((what, event));
    }

    fn taken(&self) -> Vec<&'static str> {
        std::mem::take(&mut *self.0.lock().unwrap()).into_iter().map(|(what, _)| what).collect()
    }
}

impl Observer for Log {
    fn queued(&self, event: Event) {
        self.add("queued", event);
    }

    fn granted(&self, event: Event) {
        self.add("granted", event);
    }

    fn cancelled(&self, event: Event) {
        self.add("cancelled", event);
    }

    fn timed_out(&self, event: Event) {
        self.add("timed_out", event);
    }

    fn rejected(&self, event: Event) {
        self.add("rejected", event);
    }

    fn closed(&self, event: Event) {
        self.add("closed", event);
    }
}

fn poll<'a>(future: Pin<&mut Acquire<'a>>) -> Poll<Result<Lease<'a>, AcquireError>> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn every_turning_point_is_told_once() {
    let log = Log::default();
    let semaphore = Semaphore::builder(2).observer(log.clone()).max_waiters(2).build().unwrap();
    let held = semaphore.try_acquire_many(2).unwrap();
    assert!(log.taken().is_empty(), "an acquire at once is only counted");
    let mut first = pin!(semaphore.acquire_many(2));
    assert!(poll(first.as_mut()).is_pending());
    {
        let mut second = pin!(semaphore.acquire());
        assert!(poll(second.as_mut()).is_pending());
        assert_eq!(log.0.lock().unwrap()[1].1.ahead, 1);
        assert!(poll(pin!(semaphore.acquire())).is_ready(), "the queue is full");
    }
    assert_eq!(log.taken(), ["queued", "queued", "rejected", "cancelled"]);
    drop(held);
    assert!(log.taken().is_empty(), "a grant is told when it is claimed");
    let Poll::Ready(Ok(lease)) = poll(first.as_mut()) else { panic!() };
    assert_eq!(log.0.lock().unwrap()[0].1.permits, 2);
    let mut late = pin!(semaphore.acquire());
    assert!(poll(late.as_mut()).is_pending());
    assert!(late.as_mut().time_out());
    let mut shut = pin!(semaphore.acquire());
    assert!(poll(shut.as_mut()).is_pending());
    semaphore.close();
    assert!(poll(shut).is_ready());
    assert!(semaphore.try_acquire().is_err());
    assert_eq!(log.taken(), ["granted", "queued", "timed_out", "queued", "closed", "closed"]);
    drop(lease);
    let stats = semaphore.stats();
    assert_eq!((stats.enqueued, stats.queued, stats.cancelled, stats.timed_out), (4, 1, 1, 1));
    assert_eq!((stats.rejected, stats.closed, stats.closed_queued, stats.immediate), (1, 1, 1, Some(1)));
}

/// Panics at one of the turning points.
struct Bomb(&'static str);

impl Bomb {
    fn at(&self, point: &str) {
        assert_ne!(self.0, point, "on purpose");
    }
}

impl Observer for Bomb {
    fn queued(&self, _: Event) {
        self.at("queued");
    }

    fn granted(&self, _: Event) {
        self.at("granted");
    }

    fn cancelled(&self, _: Event) {
        self.at("cancelled");
    }
}

#[test]
fn a_panicking_observer_loses_no_permit() {
    for point in ["queued", "granted", "cancelled"] {
        let semaphore = Semaphore::builder(1).observer(Bomb(point)).build().unwrap();
        let held = semaphore.try_acquire().unwrap();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let mut waiter = Box::pin(semaphore.acquire());
            let _ = poll(waiter.as_mut()).is_pending();
            if point == "granted" {
                drop(held);
                let _ = poll(waiter.as_mut()).is_ready();
            } else {
                drop(waiter);
                drop(held);
            }
        }));
        assert!(outcome.is_err(), "{point}: the panic goes on");
        let view = semaphore.snapshot();
        assert_eq!((view.available, view.held, view.granted, view.waiters), (1, 0, 0, 0), "{point}");
    }
}
