//! One acquire of a model run: its future in one of the forms, its wakers and how often they are due.

use super::reference::Id;
use semaphore_core::{Acquire, AcquireError, AcquireOwned, Lease, OwnedLease};
use semaphore_core::{AcquireUntil, AcquireUntilOwned};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// Counts wakes.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicUsize);

impl Counter {
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A waker whose wakes are predicted.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    counter: Arc<Counter>,
    due: usize,
    /// Whether the semaphore holds the waker, so that the next event wakes it.
    armed: bool,
    /// Wakers of earlier polls, which nobody may wake any more.
    silent: Vec<(Arc<Counter>, usize)>,
    /// A timer may wake it too, from now on.
    timer: bool,
}

impl Bell {
    pub(crate) fn waker(&self) -> Waker {
        Waker::from(Arc::clone(&self.counter))
    }

    /// The next polls use a waker that was never seen.
    pub(crate) fn renew(&mut self) {
        let old = std::mem::take(&mut self.counter);
        let count = old.count();
        self.silent.push((old, count));
        self.due = 0;
    }

    pub(crate) fn arm(&mut self) {
        self.armed = true;
    }

    /// Something happened of which an armed waiter is told once.
    pub(crate) fn ring(&mut self) {
        if std::mem::take(&mut self.armed) {
            self.due += 1;
        }
    }

    pub(crate) fn expect_timer(&mut self) {
        self.timer = true;
    }

    pub(crate) fn check(&self, what: &str) {
        let count = self.counter.count();
        if self.timer {
            assert!(count >= self.due, "{what}: woken {count} times, at least {} due", self.due);
        } else {
            assert_eq!(count, self.due, "{what}: wakes of the last waker");
        }
        for (counter, due) in &self.silent {
            assert!(self.timer || counter.count() == *due, "{what}: an old waker was woken");
        }
    }
}

/// A lease of either kind.
#[derive(Debug)]
pub(crate) enum Held<'s> {
    Borrowed(Lease<'s>),
    Owned(OwnedLease),
}

/// A future of one of the forms.
pub(crate) enum Form<'s> {
    Borrowed(Pin<Box<Acquire<'s>>>),
    Owned(Pin<Box<AcquireOwned>>),
    Until(Pin<Box<AcquireUntil<'s>>>),
    UntilOwned(Pin<Box<AcquireUntilOwned>>),
}

/// One acquire that is alive.
pub(crate) struct Acquiring<'s> {
    pub(crate) id: Id,
    pub(crate) permits: usize,
    pub(crate) form: Form<'s>,
    pub(crate) bell: Bell,
    pub(crate) polled: bool,
    /// In milliseconds of the run's clock.
    pub(crate) deadline: Option<u64>,
    /// It rejoins.
    pub(crate) front: bool,
    /// The place in the order of arrival, or the one it rejoins with; 0 when it never queued.
    pub(crate) ticket: u64,
    /// It left by `time_out` and stays pending for ever.
    pub(crate) left: bool,
}

impl<'s> Acquiring<'s> {
    pub(crate) fn poll(&mut self) -> Poll<Result<Held<'s>, AcquireError>> {
        let waker = self.bell.waker();
        let context = &mut Context::from_waker(&waker);
        match &mut self.form {
            Form::Borrowed(future) => future.as_mut().poll(context).map_ok(Held::Borrowed),
            Form::Owned(future) => future.as_mut().poll(context).map_ok(Held::Owned),
            Form::Until(future) => future.as_mut().poll(context).map_ok(Held::Borrowed),
            Form::UntilOwned(future) => future.as_mut().poll(context).map_ok(Held::Owned),
        }
    }

    /// `None` where the form has a timer of its own.
    pub(crate) fn time_out(&mut self) -> Option<bool> {
        match &mut self.form {
            Form::Borrowed(future) => Some(future.as_mut().time_out()),
            Form::Owned(future) => Some(future.as_mut().time_out()),
            Form::Until(_) | Form::UntilOwned(_) => None,
        }
    }
}
