//! What the running demo serves at `/metrics`: promtool's opinion, the list of names, and with `FAIR_FULL=1` what a
//! real Prometheus makes of it within a minute.
#![forbid(unsafe_code)]

mod monitoring;

use std::collections::BTreeSet;
use std::fs::File;
use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use monitoring::dashboard::{dashboard, filled, panels};
use monitoring::exported::exported;
use monitoring::http::{ask, form_value};
use monitoring::programs::{folder, present, promtool, said, scratch, skipped};
use monitoring::running::{Running, demo, server};
use semaphore_core::metrics::Kind;

const RUN: Duration = Duration::from_secs(60);

fn metrics_of(demo: &Running) -> String {
    ask(demo.port, "GET /metrics", "text/plain", "").unwrap()
}

#[test]
fn metrics_of_the_demo_satisfy_promtool() {
    if present("promtool") {
        let text = metrics_of(&demo());
        let output = promtool(&folder(), &["check", "metrics"], &text);
        assert!(output.status.success() && output.stderr.is_empty(), "{}", said(&output));
    }
}

#[test]
fn metrics_of_the_demo_are_the_exported_ones_each_with_type_and_help() {
    let text = metrics_of(&demo());
    let mut served = BTreeSet::new();
    let mut helped = BTreeSet::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some("TYPE"), Some(name), Some(kind)) => {
                served.insert((name.to_owned(), kind.to_owned()));
            }
            (Some("#"), Some("HELP"), Some(name), Some(_)) => {
                helped.insert(name.to_owned());
            }
            _ => {}
        }
    }
    let known: BTreeSet<(String, String)> = exported()
        .iter()
        .map(|metric| {
            let kind = match metric.kind {
                Kind::Counter => "counter",
                Kind::Gauge => "gauge",
                _ => "histogram",
            };
            (metric.name.to_owned(), kind.to_owned())
        })
        .collect();
    let strangers: Vec<_> = served
        .iter()
        .filter(|(name, _)| name.starts_with("fair_"))
        .filter(|row| !known.contains(row))
        .collect();
    let missing: Vec<_> = known.difference(&served).collect();
    assert!(
        strangers.is_empty() && missing.is_empty(),
        "not in the tables: {strangers:?}, not served: {missing:?}"
    );
    let helpless: Vec<_> = known.iter().filter(|(name, _)| !helped.contains(name)).collect();
    assert!(helpless.is_empty(), "without a help text: {helpless:?}");
}

/// Has the pool lose its database for a moment, so that creates and closes happen while somebody looks.
fn interrupt_database(demo: &Running) {
    for out in [true, false] {
        ask(demo.port, "POST /control/outage", "application/json", &format!("{{\"on\":{out}}}")).unwrap();
        sleep(Duration::from_secs(2));
    }
}

fn query(port: u16, expression: &str) -> Result<serde_json::Value, String> {
    let form = format!("query={}", form_value(expression));
    let answer = ask(port, "POST /api/v1/query", "application/x-www-form-urlencoded", &form)?;
    serde_json::from_str(&answer).map_err(|error| error.to_string())
}

/// How many samples the answer has that are numbers.
fn numbers(answer: &serde_json::Value) -> usize {
    let samples = answer["data"]["result"].as_array().cloned().unwrap_or_default();
    let value = |sample: &serde_json::Value| sample["value"][1].as_str()?.parse::<f64>().ok();
    samples.iter().filter_map(value).filter(|value| !value.is_nan()).count()
}

#[test]
fn a_prometheus_answers_every_panel_with_a_number() {
    if std::env::var("FAIR_FULL").as_deref() != Ok("1") {
        skipped("a scrape by Prometheus takes a minute; FAIR_FULL=1 runs it");
        return;
    }
    if !present("prometheus") {
        return;
    }
    let demo = demo();
    let place = scratch("prometheus");
    let target = format!("127.0.0.1:{}", demo.port);
    // JSON is YAML too.
    let config = serde_json::json!({
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [folder().join("rules.yml")],
        "scrape_configs": [{"job_name": "demo", "static_configs": [{"targets": [target]}]}],
    });
    std::fs::write(place.join("prometheus.yml"), config.to_string()).unwrap();
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    let log = File::create(place.join("log")).unwrap();
    let mut command = Command::new("prometheus");
    command
        .arg(format!("--config.file={}", place.join("prometheus.yml").display()))
        .arg(format!("--storage.tsdb.path={}", place.join("data").display()))
        .arg(format!("--web.listen-address=127.0.0.1:{port}"))
        .stderr(log);
    let prometheus = server(command, port, "/-/ready", Duration::from_secs(60));
    let began = Instant::now();
    sleep(RUN / 2);
    interrupt_database(&demo);
    sleep(RUN.saturating_sub(began.elapsed()));

    let mut silent = Vec::new();
    for panel in panels(&dashboard()) {
        for expression in panel.expressions() {
            let asked = filled(&expression, "demo", &target, "50s");
            match query(prometheus.port, &asked) {
                Ok(answer) if numbers(&answer) > 0 => {}
                Ok(answer) => silent.push(format!("{}: {asked}\n  {answer}", panel.title)),
                Err(why) => silent.push(format!("{}: {asked}\n  {why}", panel.title)),
            }
        }
    }
    assert!(silent.is_empty(), "no number for\n{}", silent.join("\n"));
    let scraped = query(prometheus.port, "min_over_time(up[50s]) * count_over_time(up[50s])").unwrap();
    let samples: f64 = scraped["data"]["result"][0]["value"][1].as_str().unwrap().parse().unwrap();
    assert!(samples > 10.0, "a scrape failed, or there were hardly any: {scraped}");
    let rules = ask(prometheus.port, "GET /api/v1/rules", "text/plain", "").unwrap();
    let rules: serde_json::Value = serde_json::from_str(&rules).unwrap();
    for group in rules["data"]["groups"].as_array().unwrap() {
        for rule in group["rules"].as_array().unwrap() {
            assert_eq!(rule["health"], "ok", "{}: {}", rule["name"], rule["lastError"]);
        }
    }
}
