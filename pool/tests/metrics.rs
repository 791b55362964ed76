//! What a named pool exports equals what happened, to the count.
#![cfg(feature = "metrics")]

mod support;

use std::collections::BTreeMap;
use std::time::Duration;

use lease_pool::metrics::{
    CHECKOUT_SECONDS, CHECKOUTS, CLOSED, CREATE_SECONDS, CREATE_STATE, METRICS, RESOURCES,
};
use lease_pool::testing::{Act, Scripted, Stage};
use lease_pool::{Pool, Pooled};
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use proptest::prelude::*;
use support::{assert_quiet, ms, scripted};
use tokio::time::{sleep, timeout};

/// Series by name and second label; a snapshot of the recorder resets them, so they are added up.
#[derive(Default)]
struct Seen {
    values: BTreeMap<(String, String), f64>,
    samples: BTreeMap<(String, String), Vec<f64>>,
}

impl Seen {
    fn take(&mut self, snapshotter: &Snapshotter) {
        for (key, _, _, value) in snapshotter.snapshot().into_vec() {
            let label = key.key().labels().find(|label| label.key() != "pool" && label.key() != "semaphore");
            let at =
                (key.key().name().to_owned(), label.map_or(String::new(), |label| label.value().to_owned()));
            match value {
                DebugValue::Counter(more) => *self.values.entry(at).or_default() += more as f64,
                DebugValue::Gauge(more) => *self.values.entry(at).or_default() += more.into_inner(),
                DebugValue::Histogram(more) => {
                    self.samples.entry(at).or_default().extend(more.iter().map(|of| of.into_inner()));
                }
            }
        }
    }

    fn value(&self, name: &str, label: &str) -> f64 {
        *self.values.get(&(name.to_owned(), label.to_owned())).unwrap_or_else(|| panic!("{name} {label}"))
    }

    fn count(&self, name: &str, label: &str) -> usize {
        self.samples.get(&(name.to_owned(), label.to_owned())).map_or(0, Vec::len)
    }
}

fn paused() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap()
}

/// Every identity of the exported series.
fn identities(seen: &Seen, pool: &Pool<Scripted>) {
    let now = pool.snapshot();
    let created = seen.count(CREATE_SECONDS, "ok") as f64 + seen.value(lease_pool::metrics::ADDED, "");
    let closed: f64 =
        lease_pool::manager::CloseReason::ALL.iter().map(|reason| seen.value(CLOSED, reason.as_str())).sum();
    assert_eq!(created, closed + now.live() as f64, "created + added = closed + live");
    for outcome in ["ok", "error", "cancelled", "timed_out"] {
        assert_eq!(seen.count(CHECKOUT_SECONDS, outcome) as f64, seen.value(CHECKOUTS, outcome), "{outcome}");
    }
    for (state, count) in [("idle", now.idle), ("used", now.leased), ("creating", now.creating)] {
        assert_eq!(seen.value(RESOURCES, state), count as f64, "{state}");
    }
}

#[test]
fn a_scripted_run_is_exported_to_the_count() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let mut seen = Seen::default();
    metrics::with_local_recorder(&recorder, || {
        paused().block_on(async {
            let (script, builder) = scripted(2);
            let pool = builder.name("scripted run").backoff(ms(10), ms(10)).build().unwrap();
            seen.take(&snapshotter);
            for metric in METRICS.iter().filter(|metric| metric.buckets.is_empty()) {
                let values =
                    metric.labels.iter().find(|(label, _)| *label != "pool").map_or(&[""][..], |of| of.1);
                for value in values {
                    seen.value(metric.name, value);
                }
            }
            script.next(Stage::Create, Act::After(ms(50)));
            let one = pool.get().await.unwrap(); // ok, 50 ms
            drop(one);
            let one = pool.get().await.unwrap(); // immediate
            script.always(Stage::Create, Act::Never);
            assert!(pool.get_timeout(ms(30)).await.is_err()); // timed out, 30 ms
            assert!(timeout(ms(20), pool.get()).await.is_err()); // cancelled, 20 ms
            assert!(pool.try_get().is_err()); // rejected
            Pooled::discard(one);
            let _ = pool.drain(Duration::from_secs(20)).await;
            assert!(pool.get().await.is_err()); // error
            pool.publish();
            seen.take(&snapshotter);
            for (outcome, times) in [
                ("immediate", 1),
                ("ok", 1),
                ("timed_out", 1),
                ("cancelled", 1),
                ("rejected", 1),
                ("error", 1),
            ] {
                assert_eq!(seen.value(CHECKOUTS, outcome), f64::from(times), "{outcome}");
            }
            let near = |outcome: &str, seconds: f64| {
                let sample = seen.samples[&(CHECKOUT_SECONDS.to_owned(), outcome.to_owned())][0];
                assert!((sample - seconds).abs() < 0.002, "{outcome}: {sample}");
            };
            near("ok", 0.050);
            near("timed_out", 0.030);
            near("cancelled", 0.020);
            assert_eq!(seen.value(CLOSED, "discarded"), 1.0);
            assert_eq!(seen.count(CREATE_SECONDS, "ok"), 1);
            identities(&seen, &pool);
        });
    });
    // The pool is gone: its share of the gauges too.
    seen.take(&snapshotter);
    for state in ["idle", "used", "creating", "checking", "resetting", "closing"] {
        assert_eq!(seen.value(RESOURCES, state), 0.0, "{state}");
    }
    assert_eq!(seen.value(CREATE_STATE, "healthy"), 0.0);
}

#[test]
fn a_pool_without_a_name_exports_nothing() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    metrics::with_local_recorder(&recorder, || {
        paused().block_on(async {
            let (_, builder) = scripted(1);
            let pool = builder.build().unwrap();
            drop(pool.get().await.unwrap());
            pool.publish();
        });
    });
    assert!(snapshotter.snapshot().into_vec().is_empty());
}

#[test]
fn a_late_recorder_hears_after_bind_metrics_and_a_second_one_replaces_it() {
    let runtime = paused();
    let (_, builder) = scripted(1);
    let pool = builder.name("late recorder").build().unwrap();
    runtime.block_on(async { drop(pool.get().await.unwrap()) });
    let recorders = [DebuggingRecorder::new(), DebuggingRecorder::new()];
    let mut seen = [Seen::default(), Seen::default()];
    for turn in 0..2 {
        metrics::with_local_recorder(&recorders[turn], || {
            pool.bind_metrics();
            runtime.block_on(async { drop(pool.get().await.unwrap()) });
            pool.publish();
        });
        seen[turn].take(&recorders[turn].snapshotter());
        assert_eq!(seen[turn].value(CHECKOUTS, "immediate"), 1.0, "what follows the bind");
        assert_eq!(seen[turn].value(RESOURCES, "idle"), 1.0);
    }
    seen[0].take(&recorders[0].snapshotter());
    assert_eq!(seen[0].value(RESOURCES, "idle"), 0.0, "taken out of the first when the second came");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_identities_hold_after_any_storm(
        patience in prop::collection::vec(0..40_u64, 1..40),
        size in 1..4_usize,
        create in 0..30_u64,
    ) {
        let recorder = DebuggingRecorder::new();
        let snapshotter = recorder.snapshotter();
        metrics::with_local_recorder(&recorder, || {
            paused().block_on(async {
                let (script, builder) = scripted(size);
                script.always(Stage::Create, Act::After(ms(create)));
                script.next(Stage::Create, Act::Fail);
                let pool = builder.name("storm").check_if_idle(ms(1)).build().unwrap();
                let tasks: Vec<_> = patience.into_iter().map(|patience| {
                    let pool = pool.clone();
                    tokio::spawn(async move {
                        match timeout(ms(patience), pool.get_timeout(ms(25))).await {
                            Ok(Ok(guard)) if patience % 5 == 0 => Pooled::discard(guard),
                            Ok(Ok(guard)) => {
                                sleep(ms(patience % 7)).await;
                                drop(guard);
                            }
                            _ => {}
                        }
                    })
                }).collect();
                for task in tasks {
                    task.await.unwrap();
                }
                sleep(ms(500)).await;
                pool.publish();
                let mut seen = Seen::default();
                seen.take(&snapshotter);
                identities(&seen, &pool);
                for gauge in ["used", "creating", "checking", "resetting", "closing"] {
                    assert_eq!(seen.value(RESOURCES, gauge), 0.0);
                }
                assert_quiet(&pool);
            });
        });
    }
}
