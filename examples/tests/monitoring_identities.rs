//! The identities of `rules.test.yml`, evaluated by promtool over what a semaphore, a limit and a pool really export
//! through the Prometheus exporter.
#![forbid(unsafe_code)]

mod monitoring;

use std::sync::Arc;
use std::time::Duration;

use lease_pool::testing::{Act, Scripted, Stage};
use lease_pool::{Pool, Pooled};
use metrics::set_default_local_recorder;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusRecorder};
use monitoring::exported::exported;
use monitoring::programs::{folder, present, promtool, said, scratch, shipped};
use monitoring::rules::identities;
use semaphore_core::Semaphore;
use semaphore_core::metrics::Kind;
use tokio::time::{sleep, timeout};
use tower::{Layer, ServiceExt};
use tower_limit_fair::{ConcurrencyLimitLayer, Mode};

fn milliseconds(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// An exporter with our buckets, as every program should set it up.
fn exporter() -> PrometheusRecorder {
    let histograms = exported().into_iter().filter(|metric| metric.kind == Kind::Histogram);
    histograms
        .fold(PrometheusBuilder::new(), |builder, metric| {
            builder.set_buckets_for_metric(Matcher::Full(metric.name.to_owned()), metric.buckets).unwrap()
        })
        .build_recorder()
}

/// Waits, timeouts and cancels on a semaphore; what it still holds and who still waits when it is read.
async fn use_semaphore(semaphore: &Arc<Semaphore>) -> impl Sized + use<> {
    let held = semaphore.clone().acquire_many_owned(2).await.unwrap();
    assert!(semaphore.try_acquire().is_err());
    assert!(semaphore.clone().acquire_timeout_owned(milliseconds(20)).await.is_err());
    assert!(timeout(milliseconds(5), semaphore.clone().acquire_owned()).await.is_err());
    let waiting = tokio::spawn(semaphore.clone().acquire_owned());
    sleep(milliseconds(30)).await;
    held.release();
    let held = (waiting.await.unwrap().unwrap(), semaphore.clone().acquire_owned().await.unwrap());
    let waiting = tokio::spawn(semaphore.clone().acquire_owned());
    sleep(milliseconds(1)).await;
    (held, waiting)
}

/// A limit with one request running, one waiting, one refused and one that gave up.
async fn use_limit() -> impl Sized {
    let layer = ConcurrencyLimitLayer::builder()
        .limit(1)
        .name("requests")
        .mode(Mode::Deferred)
        .queue(1)
        .queue_timeout(milliseconds(1_000))
        .fail()
        .build()
        .unwrap();
    let serve = |time: u64| async move {
        sleep(milliseconds(time)).await;
        Ok::<_, &'static str>(())
    };
    let service = layer.layer(tower::service_fn(serve));
    let send = |time| tokio::spawn(service.clone().oneshot(time));
    send(5).await.unwrap().unwrap();
    let running = send(60_000);
    sleep(milliseconds(1)).await;
    let gone = send(5);
    sleep(milliseconds(1)).await;
    gone.abort();
    drop(gone.await);
    let waiting = send(5);
    sleep(milliseconds(1)).await;
    assert!(send(5).await.unwrap().is_err());
    layer.handle().publish();
    (layer, running, waiting)
}

/// A pool that has made, taken in, lost and closed resources, with one in use.
async fn use_pool() -> impl Sized {
    let manager = Scripted::new();
    manager.always(Stage::Create, Act::After(milliseconds(10)));
    let pool = Pool::builder(manager.clone()).name("database").max(2).idle_timeout(None).build().unwrap();
    let first = pool.get().await.unwrap();
    let second = pool.get().await.unwrap();
    assert!(pool.get_timeout(milliseconds(15)).await.is_err());
    Pooled::discard(first);
    drop(Pooled::detach(second));
    sleep(milliseconds(1)).await;
    assert!(pool.add(manager.make()).is_ok());
    let third = pool.get().await.unwrap();
    let fourth = pool.get().await.unwrap();
    drop(fourth);
    sleep(milliseconds(1)).await;
    pool.publish();
    (pool, third)
}

/// One line of the exposition as a series of a promtool test, scraped from the instance `a:1` of the job `app`.
fn series(line: &str) -> serde_json::Value {
    let (series, value) = line.rsplit_once(' ').unwrap();
    let (name, labels) = series.split_once('{').unwrap();
    serde_json::json!({"series": format!("{name}{{job=\"app\",instance=\"a:1\",{labels}"), "values": value})
}

#[tokio::test(start_paused = true)]
async fn promtool_finds_every_identity_in_what_is_exported() {
    if !present("promtool") {
        return;
    }
    let recorder = exporter();
    let _guard = set_default_local_recorder(&recorder);
    let semaphore = Semaphore::builder(2).name("jobs").build().map(Arc::new).unwrap();
    let busy = (use_semaphore(&semaphore).await, use_limit().await, use_pool().await);
    semaphore.publish();
    let handle = recorder.handle();
    handle.run_upkeep();
    let text = handle.render();
    let output = promtool(&folder(), &["check", "metrics"], &text);
    assert!(output.status.success() && output.stderr.is_empty(), "{}", said(&output));

    let scraped: Vec<_> = text.lines().filter(|line| line.starts_with("fair_")).map(series).collect();
    let identities = identities(&shipped("rules.test.yml"));
    assert!(identities.len() >= 8, "{identities:#?}");
    let mut expected = Vec::new();
    for identity in &identities {
        // Something is compared, and nothing differs.
        let compared = format!("count({identity}) > bool 0");
        let one = serde_json::json!([{"labels": "{}", "value": 1}]);
        expected.push(serde_json::json!({"expr": compared, "eval_time": "0m", "exp_samples": one}));
        let differing = format!("({identity}) != 0");
        expected.push(serde_json::json!({"expr": differing, "eval_time": "0m", "exp_samples": []}));
    }
    // JSON is YAML too.
    let case = serde_json::json!({
        "rule_files": [],
        "tests": [{"interval": "1m", "input_series": scraped, "promql_expr_test": expected}],
    });
    let place = scratch("identities");
    std::fs::write(place.join("test.yml"), case.to_string()).unwrap();
    let output = promtool(&place, &["test", "rules", "test.yml"], "");
    assert!(output.status.success(), "{}\n{text}", said(&output));
    drop(busy);
}
