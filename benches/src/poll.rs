//! Polling by hand: the loops that measure a primitive and not a runtime.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

/// Polls once, with a waker that does nothing.
#[inline]
pub fn once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// The output of a future that is ready at its first poll.
///
/// # Panics
/// When it is not.
#[inline]
pub fn ready<F: Future>(future: F) -> F::Output {
    match once(pin!(future)) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the future had to wait"),
    }
}

/// Boxes each future and polls it once; none may be ready.
///
/// # Panics
/// When one is ready.
pub fn queue<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<Pin<Box<F>>> {
    let mut queued: Vec<_> = futures.into_iter().map(Box::pin).collect();
    enqueue(&mut queued);
    queued
}

/// Polls each future once; none may be ready.
///
/// # Panics
/// When one is ready.
pub fn enqueue<F: Future>(futures: &mut [Pin<Box<F>>]) {
    for future in futures {
        assert!(once(future.as_mut()).is_pending(), "a future that ought to queue was ready");
    }
}
