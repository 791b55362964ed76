//! The one list of metrics, for dashboards and tests.

pub use semaphore_core::metrics::{Kind, Metric};

/// Resources by state.
pub const RESOURCES: &str = "fair_pool_resources";
/// The most resources there may be.
pub const RESOURCES_MAX: &str = "fair_pool_resources_max";
/// How many idle resources there should be.
pub const RESOURCES_MIN_IDLE: &str = "fair_pool_resources_min_idle";
/// Where creating stands.
pub const CREATE_STATE: &str = "fair_pool_create_state";
/// Foreign resources taken in.
pub const ADDED: &str = "fair_pool_added_total";
/// Gets by outcome.
pub const CHECKOUTS: &str = "fair_pool_checkouts_total";
/// The duration of gets that were not immediate.
pub const CHECKOUT_SECONDS: &str = "fair_pool_checkout_seconds";
/// The duration of creates.
pub const CREATE_SECONDS: &str = "fair_pool_create_seconds";
/// Resources that left the pool, by reason.
pub const CLOSED: &str = "fair_pool_closed_total";

/// Upper edges of [`CHECKOUT_SECONDS`], in seconds.
pub const CHECKOUT_BUCKETS: &[f64] =
    &[0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];
/// Upper edges of [`CREATE_SECONDS`], in seconds.
pub const CREATE_BUCKETS: &[f64] = &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// The label that names the instance.
pub(super) const POOL: &str = "pool";
pub(super) const RESOURCE_STATES: [&str; 6] =
    ["idle", "used", "creating", "checking", "resetting", "closing"];
pub(super) const CREATE_STATES: [&str; 3] = ["healthy", "backing_off", "open"];
/// In the order of `Published::checkouts`.
pub(super) const CHECKOUT_OUTCOMES: [&str; 6] =
    ["immediate", "ok", "error", "cancelled", "timed_out", "rejected"];
/// In the order of `Outcome`.
pub(super) const TIMED_OUTCOMES: [&str; 4] = ["ok", "error", "cancelled", "timed_out"];
/// In the order of `Created`.
pub(super) const CREATE_OUTCOMES: [&str; 3] = ["ok", "error", "cancelled"];
const REASONS: [&str; 13] = [
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
];

/// Every metric of a named pool. All of its series are there, as 0, once the pool is built.
///
/// ```
/// assert!(lease_pool::metrics::METRICS.iter().all(|metric| metric.name.starts_with("fair_pool_")));
/// ```
pub const METRICS: &[Metric] = &[
    Metric::new(
        RESOURCES,
        Kind::Gauge,
        "Resources by state.",
        &[(POOL, &[]), ("state", &RESOURCE_STATES)],
        &[],
    ),
    Metric::new(RESOURCES_MAX, Kind::Gauge, "The most resources there may be.", &[(POOL, &[])], &[]),
    Metric::new(
        RESOURCES_MIN_IDLE,
        Kind::Gauge,
        "How many idle resources there should be.",
        &[(POOL, &[])],
        &[],
    ),
    Metric::new(
        CREATE_STATE,
        Kind::Gauge,
        "Where creating stands: 1 for the present state.",
        &[(POOL, &[]), ("state", &CREATE_STATES)],
        &[],
    ),
    Metric::new(ADDED, Kind::Counter, "Foreign resources taken in.", &[(POOL, &[])], &[]),
    Metric::new(
        CHECKOUTS,
        Kind::Counter,
        "Gets by outcome; each ends in exactly one.",
        &[(POOL, &[]), ("outcome", &CHECKOUT_OUTCOMES)],
        &[],
    ),
    Metric::new(
        CHECKOUT_SECONDS,
        Kind::Histogram,
        "How long gets took that were not immediate.",
        &[(POOL, &[]), ("outcome", &TIMED_OUTCOMES)],
        CHECKOUT_BUCKETS,
    ),
    Metric::new(
        CREATE_SECONDS,
        Kind::Histogram,
        "How long creates took.",
        &[(POOL, &[]), ("outcome", &CREATE_OUTCOMES)],
        CREATE_BUCKETS,
    ),
    Metric::new(
        CLOSED,
        Kind::Counter,
        "Resources that left the pool, by reason.",
        &[(POOL, &[]), ("reason", &REASONS)],
        &[],
    ),
];
