//! Every metric that the three crates export.
use std::sync::LazyLock;

use semaphore_core::metrics::Metric;

use super::specified::SPECIFIED;

static ALL: LazyLock<Vec<Metric>> = LazyLock::new(|| {
    let limit = SPECIFIED.iter().filter(|metric| metric.name.starts_with("fair_limit_"));
    semaphore_core::metrics::METRICS
        .iter()
        .chain(limit)
        .chain(lease_pool::metrics::METRICS)
        .copied()
        .collect()
});

/// The tables of the three crates, one after the other.
pub(crate) fn exported() -> &'static [Metric] {
    &ALL
}
