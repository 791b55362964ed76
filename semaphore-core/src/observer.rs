//! Callbacks at the turning points of a waiter's life.

use std::sync::Arc;
use std::time::Duration;

/// What an [`Observer`] is told about one acquire.
///
/// # Examples
///
/// See [`Observer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// Permits asked for.
    pub permits: usize,
    /// Time since the acquire joined the queue; zero for one that did not.
    pub waited: Duration,
    /// Waiters ahead of it when it joined the queue; only with `queued`.
    pub ahead: usize,
}

/// Is told what happens to acquires that do not succeed at once.
///
/// Calls are made by the task that owns the acquire, never under the semaphore's lock; they may use the
/// semaphore themselves, and a panic in one loses no permit. Calls of different acquires may arrive in another
/// order than the events happened, so gauges are better read from
/// [`Semaphore::snapshot`](crate::Semaphore::snapshot).
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use semaphore_core::{Event, Observer, Semaphore};
///
/// #[derive(Default)]
/// struct Rejections(AtomicUsize);
///
/// impl Observer for Rejections {
///     fn rejected(&self, _event: Event) {
///         self.0.fetch_add(1, Ordering::Relaxed);
///     }
/// }
///
/// let rejections = Arc::new(Rejections::default());
/// let semaphore = Semaphore::builder(1).observer(rejections.clone()).build().unwrap();
/// let held = semaphore.try_acquire().unwrap();
/// assert!(semaphore.try_acquire().is_err());
/// assert_eq!(rejections.0.load(Ordering::Relaxed), 1);
/// # drop(held);
/// ```
pub trait Observer: Send + Sync {
    /// An acquire joined the queue.
    fn queued(&self, event: Event) {
        let _ = event;
    }

    /// A queued acquire took its grant; `waited` covers the time until then.
    fn granted(&self, event: Event) {
        let _ = event;
    }

    /// A queued acquire was dropped.
    fn cancelled(&self, event: Event) {
        let _ = event;
    }

    /// The deadline of an acquire passed, or had passed on entry.
    fn timed_out(&self, event: Event) {
        let _ = event;
    }

    /// Refused for want of permits (a try), as too large, or because the queue is full.
    fn rejected(&self, event: Event) {
        let _ = event;
    }

    /// Refused because the semaphore is or was closed.
    fn closed(&self, event: Event) {
        let _ = event;
    }
}

impl<T: Observer + ?Sized> Observer for Arc<T> {
    fn queued(&self, event: Event) {
        (**self).queued(event);
    }

    fn granted(&self, event: Event) {
        (**self).granted(event);
    }

    fn cancelled(&self, event: Event) {
        (**self).cancelled(event);
    }

    fn timed_out(&self, event: Event) {
        (**self).timed_out(event);
    }

    fn rejected(&self, event: Event) {
        (**self).rejected(event);
    }

    fn closed(&self, event: Event) {
        (**self).closed(event);
    }
}
