//! What the loom models share: a bound on preemptions, a `block_on` and a look at the end state.
#![allow(dead_code)] // each model file uses its own part of it

use loom::thread;
use semaphore_core::{AcquireError, AcquireOwned, OwnedLease, Semaphore};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// Explores `model` with `LOOM_MAX_PREEMPTIONS` preemptions, or two.
pub(crate) fn explore(model: impl Fn() + Sync + Send + 'static) {
    explore_up_to(usize::MAX, model);
}

/// The same for models with so many threads that more than `most` preemptions would take hours.
pub(crate) fn explore_up_to(most: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    let bound = builder.preemption_bound.unwrap_or(2).min(most);
    builder.preemption_bound = Some(bound);
    builder.max_branches = 20_000;
    let schedules = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&schedules);
    let from = std::time::Instant::now();
    builder.check(move || {
        count.fetch_add(1, Ordering::Relaxed);
        model();
    });
    let explored = schedules.load(Ordering::Relaxed);
    println!("{explored} schedules with at most {bound} preemptions in {:?}", from.elapsed());
    // A model without a choice proves nothing.
    assert!(explored > 1, "only {explored} schedule");
}

struct Task(loom::sync::Notify);

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.0.notify();
    }
}

/// Drives one future; loom reports a deadlock when its wake is lost.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let task = Arc::new(Task(loom::sync::Notify::new()));
    let waker = Waker::from(Arc::clone(&task));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        task.0.wait();
    }
}

/// Plain atomics: loom runs one thread at a time, and a count is not worth a branch.
#[derive(Default)]
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

/// An owned acquire polled by hand that can move to another thread.
pub(crate) struct Queued {
    pub(crate) future: Pin<Box<AcquireOwned>>,
    pub(crate) counter: Arc<Counter>,
}

impl Queued {
    /// Polls once; it has to wait.
    pub(crate) fn new(semaphore: &Arc<Semaphore>, permits: usize) -> Self {
        let future = Box::pin(Arc::clone(semaphore).acquire_many_owned(permits));
        let mut queued = Self { future, counter: Arc::default() };
        assert!(queued.poll().is_pending());
        queued
    }

    pub(crate) fn poll(&mut self) -> Poll<Result<OwnedLease, AcquireError>> {
        self.poll_with(&Waker::from(Arc::clone(&self.counter)))
    }

    pub(crate) fn poll_with(&mut self, waker: &Waker) -> Poll<Result<OwnedLease, AcquireError>> {
        self.future.as_mut().poll(&mut Context::from_waker(waker))
    }

    pub(crate) fn woken(&self) -> bool {
        self.counter.count() > 0
    }

    /// The lease that must be there, and the wake that must have told so.
    #[track_caller]
    pub(crate) fn claim(mut self) -> OwnedLease {
        assert!(self.woken(), "granted without a wake");
        match self.poll() {
            Poll::Ready(Ok(lease)) => lease,
            other => panic!("a lease was due, not {other:?}"),
        }
    }

    /// Leaves the queue as a deadline does: `None`, or what came first.
    pub(crate) fn time_out(&mut self) -> Option<Result<OwnedLease, AcquireError>> {
        if self.future.as_mut().time_out() {
            return None;
        }
        match self.poll() {
            Poll::Ready(result) => Some(result),
            Poll::Pending => panic!("it did not leave, so something came first"),
        }
    }
}

/// The owned lease of `permits` that are free.
pub(crate) fn hold(semaphore: &Arc<Semaphore>, permits: usize) -> OwnedLease {
    Arc::clone(semaphore).try_acquire_many_owned(permits).expect("free at the start")
}

/// One thread of a model.
pub(crate) fn spawn<T: 'static>(work: impl FnOnce() -> T + 'static) -> thread::JoinHandle<T> {
    thread::spawn(work)
}

/// Every permit is home, nobody waits, and the fast path is open.
#[track_caller]
pub(crate) fn all_home(semaphore: &Arc<Semaphore>, capacity: usize) {
    let seen = semaphore.snapshot();
    assert_eq!(
        (seen.available, seen.held, seen.reserved, seen.granted, seen.waiters, seen.debt),
        (capacity, 0, 0, 0, 0, 0),
        "{seen:?}"
    );
    if !seen.closed {
        drop(semaphore.try_acquire_many(capacity).expect("the fast path is open again"));
    }
}

/// The numbers add up and `held` is what the model holds.
#[track_caller]
pub(crate) fn adds_up(semaphore: &Arc<Semaphore>, held: usize) {
    let seen = semaphore.snapshot();
    assert_eq!(seen.held, held, "{seen:?}");
    assert_eq!(
        seen.available + seen.held + seen.reserved + seen.granted,
        seen.capacity + seen.debt,
        "conservation in {seen:?}"
    );
}
