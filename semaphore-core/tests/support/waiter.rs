//! A waiter polled by hand and a lease that keeps the test's own count of what is held.

use super::Form;
use super::wakers::{Counter, counting};
use semaphore_core::{AcquireError, Lease, OwnedLease, Reservation, Semaphore};
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Far enough that no test reaches it.
pub(crate) const FAR: Duration = Duration::from_secs(3600);

/// A lease of either kind; `tally` is the test's own sum of what it holds.
#[derive(Debug)]
pub(crate) struct Held<'s> {
    lease: Option<Kind<'s>>,
    tally: Rc<Cell<usize>>,
}

#[derive(Debug)]
enum Kind<'s> {
    Borrowed(Lease<'s>),
    Owned(OwnedLease),
}

impl<'s> Held<'s> {
    pub(crate) fn borrowed(lease: Lease<'s>, tally: &Rc<Cell<usize>>) -> Self {
        Self::count(Kind::Borrowed(lease), tally)
    }

    pub(crate) fn owned(lease: OwnedLease, tally: &Rc<Cell<usize>>) -> Self {
        Self::count(Kind::Owned(lease), tally)
    }

    fn count(lease: Kind<'s>, tally: &Rc<Cell<usize>>) -> Self {
        let held = Self { lease: Some(lease), tally: Rc::clone(tally) };
        tally.set(tally.get() + held.permits());
        held
    }

    pub(crate) fn permits(&self) -> usize {
        match self.lease.as_ref().expect("held until released") {
            Kind::Borrowed(lease) => lease.permits(),
            Kind::Owned(lease) => lease.permits(),
        }
    }

    pub(crate) fn release(mut self) {
        self.leave();
        match self.lease.take().expect("held until released") {
            Kind::Borrowed(lease) => lease.release(),
            Kind::Owned(lease) => lease.release(),
        }
    }

    /// Gives the permits up for good.
    pub(crate) fn forget(mut self) {
        self.leave();
        match self.lease.take().expect("held until released") {
            Kind::Borrowed(lease) => lease.forget(),
            Kind::Owned(lease) => lease.forget(),
        }
    }

    fn leave(&mut self) {
        self.tally.set(self.tally.get() - self.permits());
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if self.lease.is_some() {
            self.leave();
        }
    }
}

type Acquiring<'s> = Pin<Box<dyn Future<Output = Result<Held<'s>, AcquireError>> + 's>>;

/// One acquire, with a waker that counts.
pub(crate) struct Waiter<'s> {
    future: Acquiring<'s>,
    counter: Arc<Counter>,
    waker: Waker,
    pub(crate) permits: usize,
    ended: bool,
}

impl<'s> Waiter<'s> {
    /// Not polled yet.
    pub(crate) fn new(
        semaphore: &'s Arc<Semaphore>,
        permits: usize,
        form: Form,
        tally: &Rc<Cell<usize>>,
    ) -> Self {
        let (counter, waker) = counting();
        let future = acquiring(semaphore, permits, form, Rc::clone(tally));
        Self { future, counter, waker, permits, ended: false }
    }

    pub(crate) fn poll(&mut self) -> Poll<Result<Held<'s>, AcquireError>> {
        self.future.as_mut().poll(&mut Context::from_waker(&self.waker))
    }

    /// Polls once with a waker that is not the waiter's own.
    pub(crate) fn poll_with(&mut self, waker: &Waker) -> Poll<Result<Held<'s>, AcquireError>> {
        let polled = self.future.as_mut().poll(&mut Context::from_waker(waker));
        self.ended |= polled.is_ready();
        polled
    }

    /// Whether a poll by `poll_with` was its last.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    pub(crate) fn wakes(&self) -> usize {
        self.counter.count()
    }

    pub(crate) fn woken(&self) -> bool {
        self.wakes() > 0
    }

    /// The lease that must be there.
    #[track_caller]
    pub(crate) fn claim(mut self) -> Held<'s> {
        let permits = self.permits;
        match self.poll() {
            Poll::Ready(Ok(held)) => {
                assert_eq!(held.permits(), permits, "permits of the lease");
                held
            }
            other => panic!("a lease of {permits} was due, not {other:?}"),
        }
    }

    /// The error that must be there.
    #[track_caller]
    pub(crate) fn fail(mut self) -> AcquireError {
        match self.poll() {
            Poll::Ready(Err(error)) => error,
            other => panic!("an error was due, not {other:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn stay(&mut self) {
        let polled = self.poll();
        assert!(polled.is_pending(), "still waiting was due, not {polled:?}");
    }
}

fn acquiring<'s>(
    semaphore: &'s Arc<Semaphore>,
    permits: usize,
    form: Form,
    tally: Rc<Cell<usize>>,
) -> Acquiring<'s> {
    let own = Arc::clone(semaphore);
    match form {
        Form::Borrowed => {
            Box::pin(async move { Ok(Held::borrowed(semaphore.acquire_many(permits).await?, &tally)) })
        }
        Form::Owned => {
            Box::pin(async move { Ok(Held::owned(own.acquire_many_owned(permits).await?, &tally)) })
        }
        #[cfg(feature = "time")]
        Form::Until => Box::pin(async move {
            let deadline = tokio::time::Instant::now() + FAR;
            Ok(Held::borrowed(semaphore.acquire_many_until(permits, deadline).await?, &tally))
        }),
        #[cfg(feature = "time")]
        Form::UntilOwned => Box::pin(async move {
            let deadline = tokio::time::Instant::now() + FAR;
            Ok(Held::owned(own.acquire_many_until_owned(permits, deadline).await?, &tally))
        }),
        #[cfg(feature = "time")]
        Form::Timeout => Box::pin(async move {
            Ok(Held::borrowed(semaphore.acquire_many_timeout(permits, FAR).await?, &tally))
        }),
        #[cfg(feature = "time")]
        Form::TimeoutOwned => {
            Box::pin(
                async move { Ok(Held::owned(own.acquire_many_timeout_owned(permits, FAR).await?, &tally)) },
            )
        }
        Form::Reserved => {
            let mut reservation = Reservation::new(own);
            Box::pin(async move {
                std::future::poll_fn(|context| reservation.poll_reserve_many(context, permits)).await?;
                let lease = reservation.take().expect("ready means reserved");
                Ok(Held::owned(lease, &tally))
            })
        }
    }
}
