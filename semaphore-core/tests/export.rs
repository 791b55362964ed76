//! The exported metrics agree with each other and with the counters.
#![cfg(feature = "metrics")]

use std::collections::HashMap;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use semaphore_core::Semaphore;
use semaphore_core::metrics::METRICS;

/// Name and labels other than the semaphore's, to the value; summed over takes.
#[derive(Default)]
struct Seen(HashMap<String, f64>);

impl Seen {
    fn take(&mut self, snapshotter: &Snapshotter) {
        for (key, _, _, value) in snapshotter.snapshot().into_vec() {
            let outcome: Vec<_> =
                key.key().labels().filter(|label| label.key() != "semaphore").map(|l| l.value()).collect();
            let name = [&[key.key().name()], outcome.as_slice()].concat().join(" ");
            match value {
                DebugValue::Counter(count) => *self.0.entry(name).or_default() += count as f64,
                // This recorder forgets what it has told, gauges included.
                DebugValue::Gauge(change) => *self.0.entry(name).or_default() += change.into_inner(),
                DebugValue::Histogram(values) => *self.0.entry(name).or_default() += values.len() as f64,
            }
        }
    }

    fn get(&self, name: &str) -> f64 {
        self.0.get(&format!("fair_semaphore_{name}")).copied().unwrap_or_else(|| panic!("no {name}"))
    }
}

fn with_recorder(test: impl FnOnce(&Snapshotter)) {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    metrics::with_local_recorder(&recorder, || test(&snapshotter));
}

#[test]
fn every_series_is_there_from_the_start_as_zero() {
    with_recorder(|snapshotter| {
        let _semaphore = Semaphore::builder(1).name("start").build().unwrap();
        let mut seen = Seen::default();
        seen.take(snapshotter);
        for metric in METRICS {
            let outcomes = metric.labels.iter().find(|label| label.0 == "outcome").map(|label| label.1);
            for outcome in outcomes.unwrap_or(&[""]) {
                let name = format!("{} {outcome}", metric.name);
                assert_eq!(seen.0.get(name.trim_end()), Some(&0.0), "{name}");
            }
        }
    });
}

#[test]
fn a_semaphore_without_a_name_exports_nothing() {
    with_recorder(|snapshotter| {
        let semaphore = Semaphore::builder(1).max_waiters(1).build().unwrap();
        drop(semaphore.try_acquire().unwrap());
        semaphore.publish();
        assert!(snapshotter.snapshot().into_vec().is_empty());
    });
}

#[test]
fn outcomes_add_up_and_gauges_go_home_after_a_storm() {
    with_recorder(|snapshotter| {
        let semaphore = Semaphore::builder(2).name("storm").max_waiters(3).lease_time().build().unwrap();
        let mut cx = Context::from_waker(Waker::noop());
        let held = semaphore.try_acquire_many(2).unwrap();
        assert!(semaphore.try_acquire().is_err());
        let mut served = pin!(semaphore.acquire());
        assert!(served.as_mut().poll(&mut cx).is_pending());
        {
            let mut cancelled = pin!(semaphore.acquire());
            assert!(cancelled.as_mut().poll(&mut cx).is_pending());
            let mut timed_out = pin!(semaphore.acquire());
            assert!(timed_out.as_mut().poll(&mut cx).is_pending());
            assert!(timed_out.as_mut().time_out());
        }
        drop(held);
        semaphore.publish();
        let mut seen = Seen::default();
        seen.take(snapshotter);
        assert_eq!(
            (seen.get("unclaimed"), seen.get("permits_in_use"), seen.get("permits_limit")),
            (1., 0., 2.)
        );
        let gone = ["queued", "cancelled", "timed_out", "rejected_queued", "closed_queued"];
        let sum: f64 = gone.iter().map(|outcome| seen.get(&format!("acquires_total {outcome}"))).sum();
        assert_eq!(seen.get("enqueued_total"), sum + seen.get("queue_depth") + seen.get("unclaimed"));
        assert!(served.as_mut().poll(&mut cx).is_ready());
        semaphore.publish();
        seen.take(snapshotter);
        for outcome in ["queued", "cancelled", "timed_out"] {
            assert_eq!(seen.get(&format!("acquires_total {outcome}")), 1., "{outcome}");
            assert_eq!(seen.get(&format!("wait_seconds {outcome}")), 1., "{outcome}");
        }
        assert_eq!((seen.get("acquires_total immediate"), seen.get("acquires_total rejected")), (1., 1.));
        assert_eq!(seen.get("lease_seconds"), 2.);
        for gauge in ["unclaimed", "permits_in_use", "queue_depth"] {
            assert_eq!(seen.get(gauge), 0., "{gauge}");
        }
    });
}

#[test]
fn two_of_one_name_add_up_and_a_dropped_one_takes_its_share_along() {
    with_recorder(|snapshotter| {
        let one = Semaphore::builder(1).name("twin").build().unwrap();
        let two = Semaphore::builder(2).name("twin").build().unwrap();
        one.publish();
        two.publish();
        let mut seen = Seen::default();
        seen.take(snapshotter);
        assert_eq!(seen.get("permits_limit"), 3.);
        drop(two);
        seen.take(snapshotter);
        assert_eq!(seen.get("permits_limit"), 1.);
    });
}
