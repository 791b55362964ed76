//! The semaphore itself: what it consists of and how it is made.

use std::fmt;

use crate::atomic::{Guard, Lock, Ordering};
use crate::extension::{Extension, Options};
use crate::list::{Attachment, List};
use crate::word::{self, BARGING, CLOSED, OBSERVED, Word};
use crate::{BuildError, Builder, Fairness, Name};

/// A strictly fair counting semaphore whose permits are leases.
///
/// Share it by reference, in a `static`, or in an [`Arc`](std::sync::Arc) for the owned forms.
///
/// # Fairness
///
/// With [`Fairness::Fifo`], the default, leases are granted in the order in which acquires were first polled; as
/// long as somebody waits nobody passes, not even [`try_acquire`](Self::try_acquire) for permits that are free.
/// [`Fairness::Barging`] gives that up for throughput.
///
/// # Memory ordering
///
/// Everything done before a release is visible after the acquire that it enables, on every path: fast, through
/// the queue, and when permits return by cancel, close, merge, resize or revocation.
///
/// # Metrics
///
/// A semaphore with a name counts; see [`stats`](Self::stats). One without a name reads no clock.
///
/// # Examples
///
/// ```
/// use semaphore_core::Semaphore;
///
/// static UPLOADS: Semaphore = Semaphore::new(4);
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let lease = UPLOADS.acquire().await.unwrap();
/// assert_eq!(UPLOADS.available_permits(), 3);
/// drop(lease);
/// assert_eq!(UPLOADS.available_permits(), 4);
/// # }
/// ```
pub struct Semaphore {
    pub(crate) word: Word,
    pub(crate) attachment: Attachment,
    pub(crate) queue: Lock<Queue>,
}

/// What the lock guards.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) list: List,
    /// Waiters that ever queued; the number of the last is its ticket.
    pub(crate) tickets: u64,
    /// Permits asked for by the waiters in the queue.
    pub(crate) asked: u64,
    pub(crate) len: u32,
    pub(crate) capacity: u32,
}

impl Queue {
    const fn new(capacity: u32) -> Self {
        Self { list: List::new(), tickets: 0, asked: 0, len: 0, capacity }
    }
}

/// Arrival order of a waiter: who joined the queue earlier has the smaller ticket.
///
/// # Examples
///
/// ```
/// use std::{pin::pin, task::Context};
/// use semaphore_core::Semaphore;
///
/// let semaphore = Semaphore::new(1);
/// let held = semaphore.try_acquire().unwrap();
/// let (mut first, mut second) = (pin!(semaphore.acquire()), pin!(semaphore.acquire()));
/// let mut cx = Context::from_waker(std::task::Waker::noop());
/// # use std::future::Future;
/// assert!(first.as_mut().poll(&mut cx).is_pending());
/// assert!(second.as_mut().poll(&mut cx).is_pending());
/// assert!(first.ticket().unwrap() < second.ticket().unwrap());
/// # drop(held);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub(crate) u64);

const fn checked(permits: usize) -> u32 {
    assert!(permits > 0, "a semaphore needs at least one permit");
    assert!(permits <= Semaphore::MAX_PERMITS, "more permits than Semaphore::MAX_PERMITS");
    permits as u32
}

impl Semaphore {
    /// The most permits a semaphore can have: 2³¹ − 1, or 2²⁴ − 1 where pointers have 32 bits.
    ///
    /// To share out something finer, such as bytes, let one permit stand for a kibibyte.
    ///
    /// ```
    /// use semaphore_core::Semaphore;
    /// assert!(Semaphore::try_new(Semaphore::MAX_PERMITS + 1).is_err());
    /// ```
    pub const MAX_PERMITS: usize = word::MAX as usize;

    /// A semaphore with `permits` free permits.
    ///
    /// # Panics
    ///
    /// When `permits` is 0 or above [`MAX_PERMITS`](Self::MAX_PERMITS). For numbers that come from configuration
    /// there is [`try_new`](Self::try_new).
    ///
    /// # Examples
    ///
    /// ```
    /// use semaphore_core::Semaphore;
    /// static SEMAPHORE: Semaphore = Semaphore::new(8);
    /// assert_eq!(SEMAPHORE.available_permits(), 8);
    /// ```
    #[cfg(not(any(fair_loom, fair_shuttle)))]
    pub const fn new(permits: usize) -> Self {
        let permits = checked(permits);
        Self {
            word: Word::new(permits, 0),
            attachment: Attachment::new(),
            queue: Lock::new(Queue::new(permits)),
        }
    }

    /// A semaphore under a model checker.
    #[cfg(any(fair_loom, fair_shuttle))]
    pub fn new(permits: usize) -> Self {
        let permits = checked(permits);
        Self {
            word: Word::new(permits, 0),
            attachment: Attachment::new(),
            queue: Lock::new(Queue::new(permits)),
        }
    }

    /// A named semaphore with `permits` free permits, for statics.
    ///
    /// The name appears in errors and as the label of metrics. A semaphore with a name keeps the counts and
    /// times that a plain one does without.
    ///
    /// # Panics
    ///
    /// As [`new`](Self::new).
    ///
    /// # Examples
    ///
    /// ```
    /// use semaphore_core::Semaphore;
    /// static UPLOADS: Semaphore = Semaphore::new_named("uploads", 8);
    /// assert_eq!(UPLOADS.name().unwrap(), "uploads");
    /// ```
    #[cfg(not(any(fair_loom, fair_shuttle)))]
    pub const fn new_named(name: &'static str, permits: usize) -> Self {
        let permits = checked(permits);
        Self {
            word: Word::new(permits, OBSERVED),
            attachment: Attachment::named(name),
            queue: Lock::new(Queue::new(permits)),
        }
    }

    /// A named semaphore under a model checker.
    #[cfg(any(fair_loom, fair_shuttle))]
    pub fn new_named(name: &'static str, permits: usize) -> Self {
        let permits = checked(permits);
        Self::from_options(permits, Options { name: Some(name.into()), ..Options::default() })
    }

    /// A semaphore with a number of permits that comes from configuration.
    ///
    /// # Errors
    ///
    /// [`BuildError::NoPermits`] for 0, [`BuildError::TooManyPermits`] above
    /// [`MAX_PERMITS`](Self::MAX_PERMITS).
    ///
    /// # Examples
    ///
    /// ```
    /// use semaphore_core::Semaphore;
    /// assert!(Semaphore::try_new(0).is_err());
    /// assert_eq!(Semaphore::try_new(3).unwrap().capacity(), 3);
    /// ```
    pub fn try_new(permits: usize) -> Result<Self, BuildError> {
        match permits {
            0 => Err(BuildError::NoPermits { name: None }),
            _ if permits > Self::MAX_PERMITS => {
                Err(BuildError::TooManyPermits { name: None, requested: permits, max: Self::MAX_PERMITS })
            }
            _ => Ok(Self::new(permits)),
        }
    }

    /// A builder for a semaphore with options.
    ///
    /// # Examples
    ///
    /// ```
    /// use semaphore_core::Semaphore;
    /// let semaphore = Semaphore::builder(2).name("uploads").max_waiters(100).build().unwrap();
    /// assert_eq!(semaphore.capacity(), 2);
    /// ```
    pub fn builder(permits: usize) -> Builder {
        Builder::new(permits)
    }

    /// A semaphore without permits, which get there by [`add_permits`](Self::add_permits) up to `ceiling`.
    ///
    /// # Panics
    ///
    /// When `ceiling` is 0 or above [`MAX_PERMITS`](Self::MAX_PERMITS).
    ///
    /// # Examples
    ///
    /// ```
    /// use semaphore_core::Semaphore;
    /// let semaphore = Semaphore::empty(10);
    /// assert!(semaphore.try_acquire().is_err());
    /// semaphore.add_permits(1).unwrap();
    /// assert!(semaphore.try_acquire().is_ok());
    /// ```
    pub fn empty(ceiling: usize) -> Self {
        let ceiling = checked(ceiling);
        Self::from_options(0, Options { ceiling, ..Options::default() })
    }

    pub(crate) fn from_options(permits: u32, options: Options) -> Self {
        let mut flags = 0;
        if options.is_observed() {
            flags |= OBSERVED;
        }
        if options.fairness == Fairness::Barging {
            flags |= BARGING;
        }
        Self {
            word: Word::new(permits, flags),
            attachment: Attachment::with(Extension::new(options)),
            queue: Lock::new(Queue::new(permits)),
        }
    }

    /// The extension, made now if there was none. Never called with the lock held.
    #[inline]
    pub(crate) fn extension(&self) -> &Extension {
        match self.attachment.get() {
            Some(extension) => extension,
            None => self.make_extension(),
        }
    }

    #[cold]
    fn make_extension(&self) -> &Extension {
        loop {
            let name = self.attachment.static_name(&mut self.queue.lock().list);
            let options = Options { name: name.map(Name::from), ..Options::default() };
            let extension = Extension::new(options);
            let unused = self.attachment.install(&mut self.queue.lock().list, extension);
            drop(unused);
            if let Some(extension) = self.attachment.get() {
                return extension;
            }
        }
    }

    /// The extension if this semaphore needs one for what it is; made now for a static with a name.
    #[inline]
    pub(crate) fn extension_if_made(&self) -> Option<&Extension> {
        match self.attachment.get() {
            None if self.word.glance() & OBSERVED != 0 => Some(self.extension()),
            found => found,
        }
    }

    /// The most permits there can ever be, with the lock held.
    pub(crate) fn ceiling_of(&self, queue: &Queue) -> u32 {
        let Some(extension) = self.attachment.get() else {
            return queue.capacity;
        };
        match extension.ceiling.explicit.load(Ordering::Relaxed) {
            0 => queue.capacity + extension.ceiling.forgotten.load(Ordering::Relaxed),
            explicit => explicit,
        }
    }

    pub(crate) fn lock(&self) -> Guard<'_, Queue> {
        self.queue.lock()
    }

    /// The name, when it has one.
    ///
    /// ```
    /// use semaphore_core::Semaphore;
    /// assert!(Semaphore::new(1).name().is_none());
    /// ```
    pub fn name(&self) -> Option<Name> {
        self.extension_if_made()?.name.clone()
    }

    /// The fairness mode, chosen when it was built.
    ///
    /// ```
    /// use semaphore_core::{Fairness, Semaphore};
    /// assert_eq!(Semaphore::new(1).fairness(), Fairness::Fifo);
    /// ```
    pub fn fairness(&self) -> Fairness {
        if self.word.glance() & BARGING == 0 { Fairness::Fifo } else { Fairness::Barging }
    }

    /// Whether the semaphore was closed.
    ///
    /// ```
    /// let semaphore = semaphore_core::Semaphore::new(1);
    /// assert!(!semaphore.is_closed());
    /// semaphore.close();
    /// assert!(semaphore.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        self.word.load() & CLOSED != 0
    }

    /// Whether `other` is this very semaphore.
    pub(crate) fn is(&self, other: &Semaphore) -> bool {
        std::ptr::eq(self, other)
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let snapshot = self.snapshot();
        f.debug_struct("Semaphore")
            .field("name", &self.name())
            .field("fairness", &self.fairness())
            .field("snapshot", &snapshot)
            .finish()
    }
}
