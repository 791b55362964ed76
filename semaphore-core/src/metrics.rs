//! What is exported through the `metrics` crate: one public table, and the handles behind it.
//!
//! A semaphore with a name binds its handles when it is built, so **install the recorder first**; for statics and
//! late exporters there is [`Semaphore::bind_metrics`]. The immediate path touches the semaphore's own counters
//! only: [`Semaphore::publish`] sends the differences, so without a publisher everything but the histograms stands
//! still. Instances of one name add up.
//!
//! # OpenTelemetry
//!
//! | OpenTelemetry | here |
//! |---|---|
//! | `aspnetcore.rate_limiting.active_request_leases` | `fair_semaphore_permits_in_use` |
//! | `aspnetcore.rate_limiting.queued_requests` | `fair_semaphore_queue_depth` |
//! | `aspnetcore.rate_limiting.request.time_in_queue` | `fair_semaphore_wait_seconds` |
//! | `aspnetcore.rate_limiting.request_lease.duration` | `fair_semaphore_lease_seconds` |
//! | `aspnetcore.rate_limiting.requests` | `fair_semaphore_acquires_total` |
//! | `db.client.connection.pending_requests` | `fair_semaphore_queue_depth` of the pool's semaphore |
//! | `db.client.connection.wait_time` | `fair_semaphore_wait_seconds` of the pool's semaphore |

use std::fmt;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use ::metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};

use crate::{Semaphore, Snapshot, Stats};

/// What a metric is.
///
/// ```
/// use semaphore_core::metrics::{Kind, METRICS};
/// assert!(METRICS.iter().any(|metric| metric.kind == Kind::Histogram));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// A distribution.
    Histogram,
}

/// One exported metric.
///
/// ```
/// use semaphore_core::metrics::METRICS;
/// assert!(METRICS.iter().all(|metric| metric.name.starts_with("fair_semaphore_")));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Metric {
    /// Full name.
    pub name: &'static str,
    /// Counter, gauge or histogram.
    pub kind: Kind,
    /// Help text.
    pub help: &'static str,
    /// Labels with their values; none listed means any.
    pub labels: &'static [(&'static str, &'static [&'static str])],
    /// Upper edges in seconds; empty unless it is a histogram.
    pub buckets: &'static [f64],
}

impl Metric {
    /// A row of such a table, for crates that export beside this one.
    ///
    /// ```
    /// use semaphore_core::metrics::{Kind, Metric};
    /// const ROW: Metric = Metric::new("mine_total", Kind::Counter, "Mine.", &[("mine", &[])], &[]);
    /// assert_eq!(ROW.name, "mine_total");
    /// ```
    pub const fn new(
        name: &'static str,
        kind: Kind,
        help: &'static str,
        labels: &'static [(&'static str, &'static [&'static str])],
        buckets: &'static [f64],
    ) -> Self {
        Self { name, kind, help, labels, buckets }
    }

    /// Tells the recorder its help text and unit.
    ///
    /// ```
    /// semaphore_core::metrics::METRICS.iter().for_each(|metric| metric.describe());
    /// ```
    pub fn describe(&self) {
        let unit = if self.buckets.is_empty() { ::metrics::Unit::Count } else { ::metrics::Unit::Seconds };
        match self.kind {
            Kind::Counter => ::metrics::describe_counter!(self.name, unit, self.help),
            Kind::Gauge => ::metrics::describe_gauge!(self.name, unit, self.help),
            Kind::Histogram => ::metrics::describe_histogram!(self.name, unit, self.help),
        }
    }
}

/// Upper edges of the wait histogram, in seconds.
///
/// ```
/// assert_eq!(semaphore_core::metrics::WAIT_BUCKETS.len(), 16);
/// ```
pub const WAIT_BUCKETS: &[f64] =
    &[0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

/// Upper edges of the lease histogram, in seconds.
///
/// ```
/// assert_eq!(semaphore_core::metrics::LEASE_BUCKETS.len(), 12);
/// ```
pub const LEASE_BUCKETS: &[f64] = &[0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0];

const LIMIT: &str = "fair_semaphore_permits_limit";
const IN_USE: &str = "fair_semaphore_permits_in_use";
const DEPTH: &str = "fair_semaphore_queue_depth";
const ENQUEUED: &str = "fair_semaphore_enqueued_total";
const ACQUIRES: &str = "fair_semaphore_acquires_total";
const WAIT: &str = "fair_semaphore_wait_seconds";
const LEASE: &str = "fair_semaphore_lease_seconds";
const OVERDUE: &str = "fair_semaphore_leases_overdue_total";
const UNCLAIMED: &str = "fair_semaphore_unclaimed";

const NAME: &[(&str, &[&str])] = &[("semaphore", &[])];
const OUTCOMES: &[&str] = &[
    "immediate",
    "queued",
    "cancelled",
    "timed_out",
    "rejected",
    "closed",
    "rejected_queued",
    "closed_queued",
];
const WAITED: [&str; 3] = ["queued", "cancelled", "timed_out"];

/// Every metric of a named semaphore.
///
/// ```
/// for metric in semaphore_core::metrics::METRICS {
///     println!("{} {:?}: {}", metric.name, metric.kind, metric.help);
/// }
/// ```
pub const METRICS: &[Metric] = &[
    Metric::new(LIMIT, Kind::Gauge, "Permits there are, follows resize.", NAME, &[]),
    Metric::new(IN_USE, Kind::Gauge, "Permits held by leases.", NAME, &[]),
    Metric::new(DEPTH, Kind::Gauge, "Acquires waiting now.", NAME, &[]),
    Metric::new(ENQUEUED, Kind::Counter, "Acquires that had to queue.", NAME, &[]),
    Metric::new(
        ACQUIRES,
        Kind::Counter,
        "Acquires by their outcome; each ends in exactly one.",
        &[("semaphore", &[]), ("outcome", OUTCOMES)],
        &[],
    ),
    Metric::new(
        WAIT,
        Kind::Histogram,
        "Time in the queue, only of acquires that queued.",
        &[("semaphore", &[]), ("outcome", &WAITED)],
        WAIT_BUCKETS,
    ),
    Metric::new(LEASE, Kind::Histogram, "How long a lease was held; opt-in.", NAME, LEASE_BUCKETS),
    Metric::new(OVERDUE, Kind::Counter, "Leases held past their warning age.", NAME, &[]),
    Metric::new(UNCLAIMED, Kind::Gauge, "Waiters granted and not yet polled.", NAME, &[]),
];

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    Queued,
    Cancelled,
    TimedOut,
}

/// What was published last.
#[derive(Clone, Copy, Debug, Default)]
struct Published {
    gauges: [f64; 4],
    counts: [u64; 10],
}

/// Cached handles: looking one up costs more than an acquire.
struct Handles {
    gauges: [Gauge; 4],
    counters: [Counter; 10],
    waits: [Histogram; 3],
    lease: Histogram,
}

/// The handles of one semaphore; gauges go back to nothing when it is dropped.
pub(crate) struct Instruments {
    handles: RwLock<Option<Arc<Handles>>>,
    published: crate::atomic::Lock<Published>,
}

impl Instruments {
    pub(crate) fn new() -> Self {
        Self { handles: RwLock::new(None), published: crate::atomic::Lock::new(Published::default()) }
    }

    fn handles(&self) -> Option<Arc<Handles>> {
        match self.handles.read() {
            Ok(handles) => handles.clone(),
            Err(poisoned) => poisoned.into_inner().clone(),
        }
    }

    /// Looks every series up, so that it renders as 0 from the start. The old handles get the rest; the new ones see
    /// what ends from now on, and count who waits now as queued, so that their sums agree.
    pub(crate) fn bind(&self, name: &str, view: &Snapshot, stats: &Stats) {
        self.publish(view, stats);
        METRICS.iter().for_each(Metric::describe);
        let semaphore = || name.to_owned();
        let outcome =
            |outcome: &'static str| counter!(ACQUIRES, "semaphore" => semaphore(), "outcome" => outcome);
        let wait = |outcome: &'static str| histogram!(WAIT, "semaphore" => semaphore(), "outcome" => outcome);
        let handles = Handles {
            gauges: [LIMIT, IN_USE, DEPTH, UNCLAIMED].map(|gauge| gauge!(gauge, "semaphore" => semaphore())),
            counters: [
                counter!(ENQUEUED, "semaphore" => semaphore()),
                counter!(OVERDUE, "semaphore" => semaphore()),
                outcome("immediate"),
                outcome("queued"),
                outcome("cancelled"),
                outcome("timed_out"),
                outcome("rejected"),
                outcome("closed"),
                outcome("rejected_queued"),
                outcome("closed_queued"),
            ],
            waits: WAITED.map(wait),
            lease: histogram!(LEASE, "semaphore" => semaphore()),
        };
        let mut published = self.published.lock();
        let old = match self.handles.write() {
            Ok(mut slot) => slot.replace(Arc::new(handles)),
            Err(poisoned) => poisoned.into_inner().replace(Arc::new(handles)),
        };
        if let Some(old) = old {
            retract(&old, &mut published);
        }
        published.gauges = [0.0; 4];
        published.counts = counts(stats);
        published.counts[0] = stats.enqueued.saturating_sub((view.waiters + view.unclaimed) as u64);
    }

    pub(crate) fn publish(&self, view: &Snapshot, stats: &Stats) {
        let Some(handles) = self.handles() else {
            return;
        };
        let gauges = [view.capacity, view.held, view.waiters, view.unclaimed].map(|value| value as f64);
        let counts = counts(stats);
        let mut published = self.published.lock();
        for (at, gauge) in handles.gauges.iter().enumerate() {
            let change = gauges[at] - published.gauges[at];
            if change > 0.0 {
                gauge.increment(change);
            } else if change < 0.0 {
                gauge.decrement(-change);
            }
        }
        for (at, counter) in handles.counters.iter().enumerate() {
            // Two publishers may overtake each other: never count down.
            let change = counts[at].saturating_sub(published.counts[at]);
            if change > 0 {
                counter.increment(change);
                published.counts[at] = counts[at];
            }
        }
        published.gauges = gauges;
    }

    pub(crate) fn waited(&self, how: Waited, wait: Duration) {
        if let Some(handles) = self.handles() {
            handles.waits[how as usize].record(wait.as_secs_f64());
        }
    }

    pub(crate) fn held(&self, time: Duration) {
        if let Some(handles) = self.handles() {
            handles.lease.record(time.as_secs_f64());
        }
    }
}

/// The values of the counters, in the order of the handles.
fn counts(stats: &Stats) -> [u64; 10] {
    [
        stats.enqueued,
        stats.overdue,
        stats.immediate.unwrap_or(0),
        stats.queued,
        stats.cancelled,
        stats.timed_out,
        stats.rejected,
        stats.closed,
        stats.rejected_queued,
        stats.closed_queued,
    ]
}

fn retract(handles: &Handles, published: &mut Published) {
    for (gauge, value) in handles.gauges.iter().zip(published.gauges) {
        if value != 0.0 {
            gauge.decrement(value);
        }
    }
    published.gauges = [0.0; 4];
}

impl Drop for Instruments {
    fn drop(&mut self) {
        if let Some(handles) = self.handles() {
            retract(&handles, &mut self.published.lock());
        }
    }
}

impl fmt::Debug for Instruments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instruments").finish_non_exhaustive()
    }
}

impl Semaphore {
    /// Binds the metrics of a named semaphore to the recorder that is installed now.
    ///
    /// Building a semaphore with a name does so already; this is for statics and for exporters installed later.
    /// The new recorder sees what ends from now on, and who waits now as queued. Without a name it does nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use semaphore_core::Semaphore;
    /// static UPLOADS: Semaphore = Semaphore::new_named("uploads", 4);
    /// // After the exporter was installed:
    /// UPLOADS.bind_metrics();
    /// UPLOADS.publish();
    /// ```
    pub fn bind_metrics(&self) {
        if let Some(extension) = self.extension_if_made() {
            if let Some(name) = &extension.name {
                extension.instruments.bind(name, &self.snapshot(), &self.stats());
            }
        }
    }

    /// Sends what has changed since the last call to the recorder.
    ///
    /// To be called by whoever has a clock: a scrape handler, the layer's reaper, the pool's housekeeper, or the
    /// task of `spawn_publisher`.
    ///
    /// # Examples
    ///
    /// See [`bind_metrics`](Self::bind_metrics).
    pub fn publish(&self) {
        if let Some(extension) = self.extension_if_made() {
            extension.instruments.publish(&self.snapshot(), &self.stats());
        }
    }

    /// Publishes every `period` until the semaphore is gone.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with a timer, and for a zero `period`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::{sync::Arc, time::Duration};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let semaphore = Arc::new(semaphore_core::Semaphore::new_named("uploads", 4));
    /// let publisher = semaphore.spawn_publisher(Duration::from_secs(5));
    /// publisher.abort();
    /// # }
    /// ```
    #[cfg(feature = "executor")]
    pub fn spawn_publisher(self: &Arc<Self>, period: Duration) -> tokio::task::JoinHandle<()> {
        let semaphore = Arc::downgrade(self);
        tokio::spawn(async move {
            let mut ticks = tokio::time::interval(period);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                let Some(semaphore) = semaphore.upgrade() else {
                    return;
                };
                semaphore.publish();
            }
        })
    }
}
