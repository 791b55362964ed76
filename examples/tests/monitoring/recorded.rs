//! What a recorder has been told so far, series by series.
use std::collections::BTreeMap;

use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};

/// All series that one recorder knows. A series that was never registered is an error to ask for.
pub(crate) struct Recorded {
    snapshotter: Snapshotter,
    counters: BTreeMap<String, u64>,
    gauges: BTreeMap<String, f64>,
    histograms: BTreeMap<String, Vec<f64>>,
}

impl Recorded {
    /// Reads what `recorder` is told from now on.
    pub(crate) fn by(recorder: &DebuggingRecorder) -> Recorded {
        Recorded {
            snapshotter: recorder.snapshotter(),
            counters: BTreeMap::new(),
            gauges: BTreeMap::new(),
            histograms: BTreeMap::new(),
        }
    }

    /// Takes what came in since the last call. A snapshot sets everything back to 0, so the parts are added up.
    pub(crate) fn read(&mut self) {
        for (key, _, _, value) in self.snapshotter.snapshot().into_vec() {
            let (_, key) = key.into_parts();
            let mut labels: Vec<String> =
                key.labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
            labels.sort();
            let series = format!("{}{{{}}}", key.name(), labels.join(","));
            match value {
                DebugValue::Counter(count) => *self.counters.entry(series).or_default() += count,
                // Ours are only ever incremented and decremented, so that instances of one name add up.
                DebugValue::Gauge(value) => *self.gauges.entry(series).or_default() += value.into_inner(),
                DebugValue::Histogram(values) => {
                    let all = self.histograms.entry(series).or_default();
                    all.extend(values.into_iter().map(|value| value.into_inner()));
                }
            }
        }
    }

    /// The value of a counter, written as `name{label=value,other=value}`, labels in alphabetic order.
    pub(crate) fn counter(&self, series: &str) -> u64 {
        *self.counters.get(series).unwrap_or_else(|| panic!("no counter {series} among {:#?}", self.names()))
    }

    /// The value of a gauge.
    pub(crate) fn gauge(&self, series: &str) -> f64 {
        *self.gauges.get(series).unwrap_or_else(|| panic!("no gauge {series} among {:#?}", self.names()))
    }

    /// Everything that a histogram was told, in whole milliseconds, sorted.
    pub(crate) fn milliseconds(&self, series: &str) -> Vec<u64> {
        let values = self
            .histograms
            .get(series)
            .unwrap_or_else(|| panic!("no histogram {series} among {:#?}", self.names()));
        let mut values: Vec<u64> = values.iter().map(|seconds| (seconds * 1e3).round() as u64).collect();
        values.sort_unstable();
        values
    }

    /// All gauges whose value is not 0 and whose name is none of `except`.
    pub(crate) fn standing(&self, except: &[&str]) -> Vec<(String, f64)> {
        let other = |series: &str| !except.iter().any(|name| series.starts_with(&format!("{name}{{")));
        let gauges = self.gauges.iter().filter(|(series, value)| **value != 0.0 && other(series));
        gauges.map(|(series, value)| (series.clone(), *value)).collect()
    }

    /// The names of all series.
    pub(crate) fn names(&self) -> Vec<String> {
        let all = self.counters.keys().chain(self.gauges.keys()).chain(self.histograms.keys());
        all.cloned().collect()
    }
}
