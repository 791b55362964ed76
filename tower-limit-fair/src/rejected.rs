use std::{fmt, hash::BuildHasher, time::Duration};

/// Says why a request was turned away.
///
/// # Examples
///
/// ```
/// use tower_limit_fair::Reason;
///
/// assert_eq!(Reason::QueueFull.as_str(), "queue_full");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// As many requests as the queue takes were waiting already.
    QueueFull,
    /// The request waited for the whole queue timeout.
    QueueTimeout,
    /// The limit is closed.
    Closed,
    /// The limit is draining.
    Draining,
    /// The request weighs more than the limit can ever be.
    TooLarge,
    /// Every permit was in use, and this limit does not queue.
    Shed,
    /// The request would have waited for a lease that its own caller holds.
    Reentrant,
    /// The request had to wait outside a tokio runtime, where its timeouts cannot run.
    NoRuntime,
}

impl Reason {
    /// Every reason, in the order of the counters.
    pub const ALL: [Reason; 8] = [
        Reason::QueueFull,
        Reason::QueueTimeout,
        Reason::Closed,
        Reason::Draining,
        Reason::TooLarge,
        Reason::Shed,
        Reason::Reentrant,
        Reason::NoRuntime,
    ];

    /// The reason as it appears in metric labels and logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Reason::QueueFull => "queue_full",
            Reason::QueueTimeout => "queue_timeout",
            Reason::Closed => "closed",
            Reason::Draining => "draining",
            Reason::TooLarge => "too_large",
            Reason::Shed => "shed",
            Reason::Reentrant => "reentrant",
            Reason::NoRuntime => "no_runtime",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::QueueFull => "the queue is full",
            Reason::QueueTimeout => "waited for the whole queue timeout",
            Reason::Closed => "the limit is closed",
            Reason::Draining => "the limit is draining",
            Reason::TooLarge => "heavier than the limit can ever be",
            Reason::Shed => "every permit is in use",
            Reason::Reentrant => "would wait for a lease that its own caller holds",
            Reason::NoRuntime => "had to wait outside a tokio runtime",
        })
    }
}

/// A request that was turned away, with the numbers of that moment.
///
/// Its `Display` is one line with all of them.
///
/// # Examples
///
/// ```
/// use tower_limit_fair::{Reason, Rejected};
///
/// fn log(rejected: &Rejected) -> String {
///     match rejected.reason {
///         Reason::QueueFull => format!("{} of {} busy", rejected.in_flight, rejected.limit),
///         _ => rejected.to_string(),
///     }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rejected {
    /// Why.
    pub reason: Reason,
    /// The limit, in permits.
    pub limit: usize,
    /// Permits in use, by requests or reserved for them.
    pub in_flight: usize,
    /// Requests that were waiting.
    pub queued: usize,
    /// How long this request had waited; `None` if it did not wait.
    pub waited: Option<Duration>,
    /// How long the queue of that moment takes to drain, zero if the rate was unknown.
    pub(crate) backlog: Duration,
}

impl Rejected {
    const LEAST: Duration = Duration::from_secs(1);
    const MOST: Duration = Duration::from_secs(30);

    /// When to try again: the time the queue needs to drain, and jitter.
    ///
    /// The base is the queue length over the drain rate seen lately, within 1 s and 30 s. The jitter is drawn anew at each
    /// call, evenly from zero to the larger of the base and 2 s, so that clients rejected together do not return together.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tower_limit_fair::Rejected;
    /// fn header(rejected: &Rejected) -> String {
    ///     rejected.retry_after().as_secs().max(1).to_string()
    /// }
    /// ```
    pub fn retry_after(&self) -> Duration {
        let base = self.backlog.clamp(Self::LEAST, Self::MOST);
        let spread = base.max(Duration::from_secs(2));
        base + spread.mul_f64(fraction())
    }

    /// `retry_after` in whole seconds, rounded up, as the header wants it.
    #[cfg(feature = "http")]
    pub(crate) fn retry_after_seconds(&self) -> u64 {
        let after = self.retry_after();
        after.as_secs() + u64::from(after.subsec_nanos() > 0)
    }
}

/// An even draw from [0, 1). Each `RandomState` of the standard library has its own keys, which serves as the generator.
fn fraction() -> f64 {
    let draw = std::hash::RandomState::new().hash_one(0_u8);
    (draw >> 11) as f64 / (1_u64 << 53) as f64
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "request rejected: {} (limit {}, in flight {}, queued {}",
            self.reason, self.limit, self.in_flight, self.queued
        )?;
        match self.waited {
            Some(waited) => write!(f, ", waited {waited:?})"),
            None => f.write_str(")"),
        }
    }
}

impl std::error::Error for Rejected {}
