//! The Prometheus side: our buckets, so that histograms can be summed over instances.
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

/// Installs the recorder. It has to stand before any semaphore, limit or pool is built: they bind their handles
/// when they are built.
pub(crate) fn install() -> Result<PrometheusHandle, String> {
    let ours =
        [semaphore_core::metrics::METRICS, tower_limit_fair::metrics::METRICS, lease_pool::metrics::METRICS];
    let mut builder = PrometheusBuilder::new();
    for metric in ours.into_iter().flatten().filter(|metric| !metric.buckets.is_empty()) {
        builder = builder
            .set_buckets_for_metric(Matcher::Full(metric.name.to_owned()), metric.buckets)
            .map_err(|error| format!("buckets of {}: {error}", metric.name))?;
    }
    builder.install_recorder().map_err(|error| format!("cannot install the Prometheus recorder: {error}"))
}
