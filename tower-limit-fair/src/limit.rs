use std::{fmt, sync::Arc, time::Instant};

use semaphore_core::ResizeError;

use crate::{
    CannotReject, DrainPolicy, LimitSnapshot, LimitStats, SetLimitError,
    drain::Drain,
    gate::{Gate, Phase},
};

/// A handle on one limit: looks at it, resizes it, ends it.
///
/// # What a clone shares
///
/// Everything: handles, layers and services of one limit are views of the same semaphore.
///
/// # Examples
///
/// ```
/// use tower_limit_fair::ConcurrencyLimitLayer;
///
/// let layer = ConcurrencyLimitLayer::new(4);
/// let limit = layer.handle();
/// limit.set_limit(8)?;
/// assert_eq!((limit.limit(), limit.in_flight(), limit.queued()), (8, 0, 0));
/// # Ok::<(), tower_limit_fair::SetLimitError>(())
/// ```
#[derive(Clone)]
pub struct Limit {
    pub(crate) gate: Arc<Gate>,
}

impl Limit {
    /// The limit, in permits.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tower_limit_fair::ConcurrencyLimitLayer;
    /// assert_eq!(ConcurrencyLimitLayer::server(4).handle().limit(), 4);
    /// ```
    pub fn limit(&self) -> usize {
        self.gate.semaphore.capacity()
    }

    /// Permits held by requests: those that run, whose body is being sent, or whose `LeaseHandle` lives.
    ///
    /// With weights this counts permits, not requests. A lease reserved by `poll_ready` is not in it until `call`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tower_limit_fair::ConcurrencyLimitLayer;
    /// assert_eq!(ConcurrencyLimitLayer::server(4).handle().in_flight(), 0);
    /// ```
    pub fn in_flight(&self) -> usize {
        self.gate.semaphore.snapshot().held
    }

    /// Requests, or services in `poll_ready`, that wait for a lease.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tower_limit_fair::ConcurrencyLimitLayer;
    /// assert_eq!(ConcurrencyLimitLayer::server(4).handle().queued(), 0);
    /// ```
    pub fn queued(&self) -> usize {
        self.gate.semaphore.queue_len()
    }

    /// The name given to the builder.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tower_limit_fair::ConcurrencyLimitLayer;
    /// assert_eq!(ConcurrencyLimitLayer::server(4).handle().name(), None);
    /// ```
    pub fn name(&self) -> Option<&str> {
        self.gate.name.as_ref().map(|name| name.as_str())
    }

    /// Changes the limit while it is in use.
    ///
    /// Growing lets in as many waiters as now fit. Shrinking takes nothing away: requests that run go on, and nobody enters
    /// until fewer than the new limit are left.
    ///
    /// # Errors
    ///
    /// Zero, and more than the builder's `max_limit`. Nothing is changed then.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tower_limit_fair::ConcurrencyLimitLayer;
    /// let limit = ConcurrencyLimitLayer::server(4).handle();
    /// limit.set_limit(2)?;
    /// assert_eq!(limit.limit(), 2);
    /// # Ok::<(), tower_limit_fair::SetLimitError>(())
    /// ```
    pub fn set_limit(&self, limit: usize) -> Result<(), SetLimitError> {
        if limit == 0 {
            return Err(SetLimitError::Zero { name: self.name().map(str::to_owned) });
        }
        self.gate.semaphore.resize(limit).map_err(|error| SetLimitError::AboveMax {
            name: self.name().map(str::to_owned),
            requested: limit,
            max: match error {
                ResizeError::AboveCeiling { ceiling, .. } => ceiling,
                _ => semaphore_core::Semaphore::MAX_PERMITS,
            },
        })
    }

    /// Ends the limit: queued and later requests are rejected as `Closed`, running ones finish.
    ///
    /// It closes the semaphore, also for others who share it, and nothing opens it again.
    ///
    /// # Errors
    ///
    /// `CannotReject` under the `Wait` policy; nothing is changed then.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tower_limit_fair::ConcurrencyLimitLayer;
    /// let limit = ConcurrencyLimitLayer::server(4).handle();
    /// limit.close()?;
    /// assert!(limit.is_closed());
    /// # Ok::<(), tower_limit_fair::CannotReject>(())
    /// ```
    pub fn close(&self) -> Result<(), CannotReject> {
        self.can_reject("close")?;
        self.gate.semaphore.close();
        Ok(())
    }

    /// Whether the limit's semaphore is closed.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tower_limit_fair::ConcurrencyLimitLayer;
    /// assert!(!ConcurrencyLimitLayer::server(4).handle().is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        self.gate.semaphore.is_closed()
    }

    /// Stops taking work as the policy says, at once; the future is ready when nothing is left.
    ///
    /// # Errors
    ///
    /// A policy that rejects gives `CannotReject` under the `Wait` policy; nothing is changed then.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future only stops the waiting: the limit goes on draining.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tower_limit_fair::{ConcurrencyLimitLayer, DrainPolicy};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let limit = ConcurrencyLimitLayer::server(4).handle();
    /// limit.drain(DrainPolicy::FinishQueued).await.unwrap();
    /// assert_eq!(limit.in_flight(), 0);
    /// # }
    /// ```
    pub fn drain(&self, policy: DrainPolicy) -> Drain {
        let phase = match policy {
            DrainPolicy::FinishAll => return Drain::waiting(&self.gate),
            DrainPolicy::FinishQueued => Phase::FinishQueued,
            DrainPolicy::RejectQueued => Phase::RejectQueued,
        };
        match self.can_reject("drain by rejecting") {
            Ok(()) => {
                self.gate.enter(phase);
                Drain::waiting(&self.gate)
            }
            Err(refused) => Drain::refused(&self.gate, refused),
        }
    }

    /// The gauges of this moment.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tower_limit_fair::ConcurrencyLimitLayer;
    /// let snapshot = ConcurrencyLimitLayer::server(4).handle().snapshot();
    /// assert_eq!((snapshot.limit, snapshot.in_flight, snapshot.queued), (4, 0, 0));
    /// ```
    pub fn snapshot(&self) -> LimitSnapshot {
        LimitSnapshot::of(&self.gate)
    }

    /// The counters since the limit was built.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tower_limit_fair::{ConcurrencyLimitLayer, Reason};
    /// let stats = ConcurrencyLimitLayer::server(4).handle().stats();
    /// assert_eq!(stats.rejected(Reason::QueueFull), 0);
    /// ```
    pub fn stats(&self) -> LimitStats {
        LimitStats::of(&self.gate)
    }

    /// Drives ttl and `max_hold` by hand, for those who run without tokio; says when to call again.
    ///
    /// With the feature `time` a task does this by itself.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tower_limit_fair::ConcurrencyLimitLayer;
    /// let limit = ConcurrencyLimitLayer::new(4).handle();
    /// assert_eq!(limit.reap(std::time::Instant::now()), None);
    /// ```
    pub fn reap(&self, now: Instant) -> Option<Instant> {
        self.gate.reap(now)
    }

    fn can_reject(&self, action: &'static str) -> Result<(), CannotReject> {
        if self.gate.rejects {
            return Ok(());
        }
        Err(CannotReject { name: self.name().map(str::to_owned), action })
    }
}

impl fmt::Debug for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limit").field("name", &self.name()).field("snapshot", &self.snapshot()).finish()
    }
}
