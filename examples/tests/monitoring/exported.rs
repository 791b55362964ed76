//! Every metric that the three crates export.
use std::sync::LazyLock;

use semaphore_core::metrics::{Kind, Metric};

use super::specified::SPECIFIED;

/// A row of the pool's table as one of the core's.
fn of_pool(metric: &lease_pool::metrics::Metric) -> Metric {
    let kind = match metric.kind {
        lease_pool::metrics::Kind::Counter => Kind::Counter,
        lease_pool::metrics::Kind::Gauge => Kind::Gauge,
        _ => Kind::Histogram,
    };
    Metric::new(metric.name, kind, metric.help, metric.labels, metric.buckets)
}

static ALL: LazyLock<Vec<Metric>> = LazyLock::new(|| {
    let limit = SPECIFIED.iter().filter(|metric| metric.name.starts_with("fair_limit_")).copied();
    let semaphore = semaphore_core::metrics::METRICS.iter().copied();
    semaphore.chain(limit).chain(lease_pool::metrics::METRICS.iter().map(of_pool)).collect()
});

/// The tables of the three crates, one after the other.
pub(crate) fn exported() -> &'static [Metric] {
    &ALL
}
