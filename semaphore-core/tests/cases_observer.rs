//! Observers: told of every turn, free to call back, and unable to lose a permit by a panic.
#![cfg(not(any(fair_loom, fair_shuttle)))]

mod support;

use semaphore_core::{Event, Fairness, Observer, Semaphore};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::task::{Context, Poll};
use support::setup::BOTH;
use support::wakers::counting;

/// Writes down what it is told, calls back, and panics when asked to.
#[derive(Default)]
struct Told {
    events: Mutex<Vec<(&'static str, usize)>>,
    semaphore: OnceLock<Weak<Semaphore>>,
    panics_at: Mutex<Option<&'static str>>,
}

impl Told {
    fn note(&self, what: &'static str, event: Event) {
        self.events.lock().unwrap().push((what, event.permits));
        if let Some(semaphore) = self.semaphore.get().and_then(Weak::upgrade) {
            // Under a lock of the semaphore this would never return.
            let _ = (semaphore.snapshot(), semaphore.stats(), semaphore.queue_len());
        }
        let panics = *self.panics_at.lock().unwrap() == Some(what);
        assert!(!panics, "the observer panics at {what}");
    }

    fn take(&self) -> Vec<(&'static str, usize)> {
        std::mem::take(&mut self.events.lock().unwrap())
    }
}

impl Observer for Told {
    fn queued(&self, event: Event) {
        self.note("queued", event);
    }
    fn granted(&self, event: Event) {
        self.note("granted", event);
    }
    fn cancelled(&self, event: Event) {
        self.note("cancelled", event);
    }
    fn timed_out(&self, event: Event) {
        self.note("timed_out", event);
    }
    fn rejected(&self, event: Event) {
        self.note("rejected", event);
    }
    fn closed(&self, event: Event) {
        self.note("closed", event);
    }
}

fn observed(fairness: Fairness) -> (Arc<Told>, Arc<Semaphore>) {
    let told = Arc::new(Told::default());
    let builder = Semaphore::builder(2).fairness(fairness).observer(Arc::clone(&told));
    let semaphore = Arc::new(builder.build().unwrap());
    told.semaphore.set(Arc::downgrade(&semaphore)).unwrap();
    (told, semaphore)
}

#[test]
fn an_observer_is_told_of_every_turn_once() {
    for &fairness in BOTH {
        let (told, semaphore) = observed(fairness);
        let (_, waker) = counting();
        let mut context = Context::from_waker(&waker);
        let held = semaphore.try_acquire_many(2).unwrap();
        assert_eq!(told.take(), [], "nothing happens at once");
        assert!(semaphore.try_acquire().is_err());
        assert_eq!(told.take(), [("rejected", 1)]);
        let mut waiters: Vec<_> =
            [1, 2, 1, 1].map(|n| Box::pin(Arc::clone(&semaphore).acquire_many_owned(n))).into();
        for waiter in &mut waiters {
            assert!(waiter.as_mut().poll(&mut context).is_pending());
        }
        assert_eq!(told.take(), [("queued", 1), ("queued", 2), ("queued", 1), ("queued", 1)]);
        drop(waiters.remove(1));
        assert_eq!(told.take(), [("cancelled", 2)]);
        assert!(waiters[2].as_mut().time_out());
        assert_eq!(told.take(), [("timed_out", 1)]);
        drop(held);
        let Poll::Ready(Ok(lease)) = waiters[0].as_mut().poll(&mut context) else { panic!("granted") };
        assert_eq!(told.take(), [("granted", 1)]);
        // A grant that nobody polled.
        drop(waiters.remove(1));
        assert_eq!(told.take(), [("cancelled", 1)]);
        let mut last = Box::pin(Arc::clone(&semaphore).acquire_many_owned(2));
        assert!(last.as_mut().poll(&mut context).is_pending());
        semaphore.close();
        assert!(last.as_mut().poll(&mut context).is_ready());
        assert!(semaphore.try_acquire().is_err());
        assert_eq!(told.take(), [("queued", 2), ("closed", 2), ("closed", 1)]);
        drop(lease);
        assert_eq!(semaphore.available_permits(), 2);
    }
}

#[test]
fn an_observer_that_panics_loses_no_permit() {
    for &fairness in BOTH {
        for at in ["queued", "granted", "cancelled", "timed_out", "rejected", "closed"] {
            let (told, semaphore) = observed(fairness);
            *told.panics_at.lock().unwrap() = Some(at);
            let (_, waker) = counting();
            let mut panics = 0;
            let mut guarded = |work: &mut dyn FnMut()| {
                if catch_unwind(AssertUnwindSafe(work)).is_err() {
                    panics += 1;
                }
            };
            let held = Arc::clone(&semaphore).try_acquire_many_owned(2).unwrap();
            guarded(&mut || drop(semaphore.try_acquire()));
            let mut waiters: Vec<_> =
                (0..4).map(|_| Some(Box::pin(Arc::clone(&semaphore).acquire_owned()))).collect();
            let mut leases = Vec::new();
            for waiter in waiters.iter_mut().flatten() {
                guarded(&mut || drop(waiter.as_mut().poll(&mut Context::from_waker(&waker))));
            }
            guarded(&mut || drop(waiters[1].take()));
            guarded(&mut || {
                waiters[2].as_mut().unwrap().as_mut().time_out();
            });
            held.release();
            for waiter in waiters.iter_mut().flatten() {
                guarded(&mut || leases.push(waiter.as_mut().poll(&mut Context::from_waker(&waker))));
            }
            guarded(&mut || semaphore.close());
            guarded(&mut || drop(semaphore.try_acquire()));
            guarded(&mut || waiters.clear());
            assert!(panics > 0, "the observer never panicked at {at}");
            drop(leases);
            let seen = semaphore.snapshot();
            assert_eq!(
                (seen.available, seen.held, seen.granted, seen.waiters),
                (2, 0, 0, 0),
                "{at}: {seen:?}"
            );
            assert_eq!(Arc::strong_count(&semaphore), 1, "{at}");
        }
    }
}
