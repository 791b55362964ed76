//! Every metric that the three crates export.
use semaphore_core::metrics::Metric;

/// The tables of the three crates, one after the other.
pub(crate) fn exported() -> Vec<Metric> {
    let [core, limit, pool] =
        [semaphore_core::metrics::METRICS, tower_limit_fair::metrics::METRICS, lease_pool::metrics::METRICS];
    core.iter().chain(limit).chain(pool).copied().collect()
}
