//! What a named limit exports through the `metrics` crate, beside the series of its semaphore.
//!
//! A limit binds its handles when it is built, so **install the recorder first**; for exporters installed later there is
//! `Limit::bind_metrics`. Requests touch the limit's own counters only: `Limit::publish` sends the differences. The reaper
//! calls it while somebody waits; for the rest of the time use `Limit::spawn_publisher` or a scrape handler, or the values
//! stand still. Limits per service that have one name add up.
//!
//! # OpenTelemetry
//!
//! | OpenTelemetry | here |
//! |---|---|
//! | `aspnetcore.rate_limiting.active_request_leases` | `fair_semaphore_permits_in_use` of the limit's name |
//! | `aspnetcore.rate_limiting.request_lease.duration` | `fair_semaphore_lease_seconds` of the limit's name |
//! | `aspnetcore.rate_limiting.queued_requests` | `fair_semaphore_queue_depth` of the limit's name |
//! | `aspnetcore.rate_limiting.request.time_in_queue` | `fair_semaphore_wait_seconds` of the limit's name |
//! | `aspnetcore.rate_limiting.requests` (result = acquired) | `fair_limit_requests_total` (outcome = completed, failed, cancelled_running), counted at the end |
//! | `aspnetcore.rate_limiting.requests` (result = endpoint_limiter, global_limiter) | `fair_limit_rejected_total`, by reason |
//! | `aspnetcore.rate_limiting.requests` (result = request_canceled) | `fair_limit_requests_total` (outcome = cancelled_queued) |

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use ::metrics::{Counter, Gauge, counter, gauge};
pub use semaphore_core::metrics::{Kind, LEASE_BUCKETS, Metric, WAIT_BUCKETS};

use crate::{
    Reason,
    counts::{Counts, Outcome},
    gate::Gate,
};

const RESERVATIONS: &str = "fair_limit_reservations";
const REVOKED: &str = "fair_limit_reservations_revoked_total";
const ABANDONED: &str = "fair_limit_reservations_abandoned_total";
const REQUESTS: &str = "fair_limit_requests_total";
const REJECTED: &str = "fair_limit_rejected_total";

const NAME: &[(&str, &[&str])] = &[("limit", &[])];
const OUTCOMES: [&str; 6] =
    ["completed", "failed", "rejected", "cancelled_queued", "cancelled_running", "exempt"];
const REASONS: [&str; Reason::ALL.len()] = {
    let mut names = [""; Reason::ALL.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = Reason::ALL[at].as_str();
        at += 1;
    }
    names
};

/// Every metric of a named limit that its semaphore does not have.
///
/// # Examples
///
/// ```
/// for metric in tower_limit_fair::metrics::METRICS {
///     println!("{} {:?}: {}", metric.name, metric.kind, metric.help);
/// }
/// ```
pub const METRICS: &[Metric] = &[
    Metric::new(RESERVATIONS, Kind::Gauge, "Permits reserved by poll_ready and not yet used.", NAME, &[]),
    Metric::new(REVOKED, Kind::Counter, "Reservations taken back after the ttl.", NAME, &[]),
    Metric::new(ABANDONED, Kind::Counter, "Reservations dropped without a call.", NAME, &[]),
    Metric::new(
        REQUESTS,
        Kind::Counter,
        "Requests by their outcome; each ends in exactly one.",
        &[("limit", &[]), ("outcome", &OUTCOMES)],
        &[],
    ),
    Metric::new(
        REJECTED,
        Kind::Counter,
        "Requests that were turned away, by reason.",
        &[("limit", &[]), ("reason", &REASONS)],
        &[],
    ),
];

const COUNTERS: usize = 2 + OUTCOMES.len() + REASONS.len();

/// The handles of one limit, and what they were told.
#[derive(Default)]
pub(crate) struct Instruments {
    desk: Mutex<Desk>,
    bound: AtomicBool,
}

#[derive(Default)]
struct Desk {
    handles: Option<Handles>,
    reserved: f64,
    counts: [u64; COUNTERS],
}

struct Handles {
    reservations: Gauge,
    counters: Vec<Counter>,
}

impl Gate {
    /// Binds to the recorder that is installed now; it sees what ends from now on.
    pub(crate) fn bind_metrics(&self) {
        let Some(name) = &self.name else { return };
        let name = || name.as_str().to_owned();
        for metric in METRICS {
            metric.describe();
        }
        let mut counters = vec![counter!(REVOKED, "limit" => name()), counter!(ABANDONED, "limit" => name())];
        counters.extend(OUTCOMES.map(|outcome| counter!(REQUESTS, "limit" => name(), "outcome" => outcome)));
        counters.extend(REASONS.map(|reason| counter!(REJECTED, "limit" => name(), "reason" => reason)));
        let handles = Handles { reservations: gauge!(RESERVATIONS, "limit" => name()), counters };
        // What ended until now belongs to the recorder before.
        self.publish_limit();
        let mut desk = self.instruments.desk.lock().unwrap_or_else(PoisonError::into_inner);
        desk.retract();
        desk.handles = Some(handles);
        desk.counts = counts(&self.counts, self.semaphore.stats().revoked);
        self.instruments.bound.store(true, Relaxed);
    }

    /// Sends what has changed, of the limit and of its semaphore.
    pub(crate) fn publish(&self) {
        if self.instruments.bound.load(Relaxed) {
            self.semaphore.publish();
            self.publish_limit();
        }
    }

    fn publish_limit(&self) {
        let reserved = self.semaphore.snapshot().reserved as f64;
        let now = counts(&self.counts, self.semaphore.stats().revoked);
        let mut desk = self.instruments.desk.lock().unwrap_or_else(PoisonError::into_inner);
        let Desk { handles: Some(handles), reserved: told, counts } = &mut *desk else { return };
        if reserved > *told {
            handles.reservations.increment(reserved - *told);
        } else if reserved < *told {
            handles.reservations.decrement(*told - reserved);
        }
        *told = reserved;
        for ((counter, told), now) in handles.counters.iter().zip(counts).zip(now) {
            // Two publishers may overtake each other: never count down.
            if now > *told {
                counter.increment(now - *told);
                *told = now;
            }
        }
    }
}

fn counts(counts: &Counts, revoked: u64) -> [u64; COUNTERS] {
    let reasons = Reason::ALL.map(|reason| counts.rejected_for(reason));
    let mut all = [0; COUNTERS];
    all[0] = revoked;
    all[1] = counts.abandoned.load(Relaxed);
    all[2] = counts.of(Outcome::Completed);
    all[3] = counts.of(Outcome::Failed);
    all[4] = reasons.iter().sum();
    all[5] = counts.of(Outcome::CancelledQueued);
    all[6] = counts.of(Outcome::CancelledRunning);
    all[7] = counts.of(Outcome::Exempt);
    all[8..].copy_from_slice(&reasons);
    all
}

impl Desk {
    fn retract(&mut self) {
        if let Some(handles) = &self.handles {
            if self.reserved != 0.0 {
                handles.reservations.decrement(self.reserved);
            }
        }
        self.reserved = 0.0;
    }
}

impl Drop for Instruments {
    fn drop(&mut self) {
        self.desk.get_mut().unwrap_or_else(PoisonError::into_inner).retract();
    }
}
