//! Every metric that the three crates export.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// One metric with its labels and their possible values; no values means any.
#[derive(Debug)]
pub(crate) struct Exported {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) labels: &'static [(&'static str, &'static [&'static str])],
}

const fn metric(
    name: &'static str,
    kind: Kind,
    labels: &'static [(&'static str, &'static [&'static str])],
) -> Exported {
    Exported { name, kind, labels }
}

const SEMAPHORE: (&str, &[&str]) = ("semaphore", &[]);
const LIMIT: (&str, &[&str]) = ("limit", &[]);
const POOL: (&str, &[&str]) = ("pool", &[]);

const ALL: &[Exported] = &[
    metric("fair_semaphore_permits_limit", Kind::Gauge, &[SEMAPHORE]),
    metric("fair_semaphore_permits_in_use", Kind::Gauge, &[SEMAPHORE]),
    metric("fair_semaphore_queue_depth", Kind::Gauge, &[SEMAPHORE]),
    metric("fair_semaphore_enqueued_total", Kind::Counter, &[SEMAPHORE]),
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
    ),
    metric(
        "fair_semaphore_wait_seconds",
        Kind::Histogram,
        &[SEMAPHORE, ("outcome", &["queued", "cancelled", "timed_out"])],
    ),
    metric("fair_semaphore_lease_seconds", Kind::Histogram, &[SEMAPHORE]),
    metric("fair_semaphore_leases_overdue_total", Kind::Counter, &[SEMAPHORE]),
    metric("fair_semaphore_unclaimed", Kind::Gauge, &[SEMAPHORE]),
    metric("fair_limit_reservations", Kind::Gauge, &[LIMIT]),
    metric("fair_limit_reservations_revoked_total", Kind::Counter, &[LIMIT]),
    metric("fair_limit_reservations_abandoned_total", Kind::Counter, &[LIMIT]),
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
    ),
    metric(
        "fair_limit_rejected_total",
        Kind::Counter,
        &[
            LIMIT,
            (
                "reason",
                &["queue_full", "queue_timeout", "closed", "draining", "too_large", "shed", "reentrant"],
            ),
        ],
    ),
    metric(
        "fair_pool_resources",
        Kind::Gauge,
        &[POOL, ("state", &["idle", "used", "creating", "checking", "resetting", "closing"])],
    ),
    metric("fair_pool_resources_max", Kind::Gauge, &[POOL]),
    metric("fair_pool_resources_min_idle", Kind::Gauge, &[POOL]),
    metric("fair_pool_create_state", Kind::Gauge, &[POOL, ("state", &["healthy", "backing_off", "open"])]),
    metric("fair_pool_added_total", Kind::Counter, &[POOL]),
    metric(
        "fair_pool_checkouts_total",
        Kind::Counter,
        &[POOL, ("outcome", &["immediate", "ok", "error", "cancelled", "timed_out", "rejected"])],
    ),
    metric(
        "fair_pool_checkout_seconds",
        Kind::Histogram,
        &[POOL, ("outcome", &["ok", "error", "cancelled", "timed_out"])],
    ),
    metric("fair_pool_create_seconds", Kind::Histogram, &[POOL, ("outcome", &["ok", "error", "cancelled"])]),
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
    ),
];

/// The metrics of all three crates.
pub(crate) fn exported() -> &'static [Exported] {
    ALL
}
