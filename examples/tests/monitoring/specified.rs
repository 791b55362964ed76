//! What the dashboard, the rules and their users rely on: every metric with its labels, and their values, and its
//! buckets. The crates' own tables are compared with this one, so that a slip in either is seen.
use semaphore_core::metrics::{Kind, Metric};

const fn metric(
    name: &'static str,
    kind: Kind,
    labels: &'static [(&'static str, &'static [&'static str])],
    buckets: &'static [f64],
) -> Metric {
    Metric::new(name, kind, "", labels, buckets)
}

const WAIT: &[f64] =
    &[0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];
const LEASE: &[f64] = &[0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0];
const CREATE: &[f64] = &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

const SEMAPHORE: (&str, &[&str]) = ("semaphore", &[]);
const LIMIT: (&str, &[&str]) = ("limit", &[]);
const POOL: (&str, &[&str]) = ("pool", &[]);

/// Every metric of the three crates, but for its help text.
pub(crate) const SPECIFIED: &[Metric] = &[
    metric("fair_semaphore_permits_limit", Kind::Gauge, &[SEMAPHORE], &[]),
    metric("fair_semaphore_permits_in_use", Kind::Gauge, &[SEMAPHORE], &[]),
    metric("fair_semaphore_queue_depth", Kind::Gauge, &[SEMAPHORE], &[]),
    metric("fair_semaphore_enqueued_total", Kind::Counter, &[SEMAPHORE], &[]),
    metric(
        "fair_semaphore_acquires_total",
        Kind::Counter,
        &[
            SEMAPHORE,
            (
                "outcome",
                &[
                    "immediate",
                    "queued",
                    "cancelled",
                    "timed_out",
                    "rejected",
                    "closed",
                    "rejected_queued",
                    "closed_queued",
                ],
            ),
        ],
        &[],
    ),
    metric(
        "fair_semaphore_wait_seconds",
        Kind::Histogram,
        &[SEMAPHORE, ("outcome", &["queued", "cancelled", "timed_out"])],
        WAIT,
    ),
    metric("fair_semaphore_lease_seconds", Kind::Histogram, &[SEMAPHORE], LEASE),
    metric("fair_semaphore_leases_overdue_total", Kind::Counter, &[SEMAPHORE], &[]),
    metric("fair_semaphore_unclaimed", Kind::Gauge, &[SEMAPHORE], &[]),
    metric("fair_limit_reservations", Kind::Gauge, &[LIMIT], &[]),
    metric("fair_limit_reservations_revoked_total", Kind::Counter, &[LIMIT], &[]),
    metric("fair_limit_reservations_abandoned_total", Kind::Counter, &[LIMIT], &[]),
    metric(
        "fair_limit_requests_total",
        Kind::Counter,
        &[
            LIMIT,
            (
                "outcome",
                &["completed", "failed", "rejected", "cancelled_queued", "cancelled_running", "exempt"],
            ),
        ],
        &[],
    ),
    metric(
        "fair_limit_rejected_total",
        Kind::Counter,
        &[
            LIMIT,
            (
                "reason",
                &[
                    "queue_full",
                    "queue_timeout",
                    "closed",
                    "draining",
                    "too_large",
                    "shed",
                    "reentrant",
                    "no_runtime",
                ],
            ),
        ],
        &[],
    ),
    metric(
        "fair_pool_resources",
        Kind::Gauge,
        &[POOL, ("state", &["idle", "used", "creating", "checking", "resetting", "closing"])],
        &[],
    ),
    metric("fair_pool_resources_max", Kind::Gauge, &[POOL], &[]),
    metric("fair_pool_resources_min_idle", Kind::Gauge, &[POOL], &[]),
    metric(
        "fair_pool_create_state",
        Kind::Gauge,
        &[POOL, ("state", &["healthy", "backing_off", "open"])],
        &[],
    ),
    metric("fair_pool_added_total", Kind::Counter, &[POOL], &[]),
    metric(
        "fair_pool_checkouts_total",
        Kind::Counter,
        &[POOL, ("outcome", &["immediate", "ok", "error", "cancelled", "timed_out", "rejected"])],
        &[],
    ),
    metric(
        "fair_pool_checkout_seconds",
        Kind::Histogram,
        &[POOL, ("outcome", &["ok", "error", "cancelled", "timed_out"])],
        WAIT,
    ),
    metric(
        "fair_pool_create_seconds",
        Kind::Histogram,
        &[POOL, ("outcome", &["ok", "error", "cancelled"])],
        CREATE,
    ),
    metric(
        "fair_pool_closed_total",
        Kind::Counter,
        &[
            POOL,
            (
                "reason",
                &[
                    "broken",
                    "check_failed",
                    "reset_failed",
                    "cut_off",
                    "panicked",
                    "discarded",
                    "max_lifetime",
                    "idle_timeout",
                    "invalidated",
                    "resized",
                    "surplus",
                    "detached",
                    "shutdown",
                ],
            ),
        ],
        &[],
    ),
];
