//! The demo as its user meets it: start, load, controls, drain, summary, exit code.
mod support;

use std::process::{Command, Output};

use serde_json::json;
use support::Demo;

fn run(flags: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_demo")).args(flags).output().expect("the demo runs")
}

#[test]
fn duration_ends_the_demo_with_a_summary_and_code_0() {
    let demo = Demo::start(&["--duration", "2"]);
    let (status, metrics) = demo.get("/metrics");
    assert_eq!(status, 200);
    assert!(metrics.contains("# TYPE fair_semaphore_wait_seconds histogram"), "{metrics}");
    let (status, output) = demo.end();
    assert!(status.success(), "{output}");
    for part in ["page ", "metrics ", "draining", "served", "home     every permit and every connection"] {
        assert!(output.contains(part), "no {part:?} in:\n{output}");
    }
}

#[test]
fn requests_without_the_load_are_counted_to_the_end() {
    let demo = Demo::start(&["--no-load"]);
    for _ in 0..5 {
        assert_eq!(demo.get("/customers/1?work_us=1").0, 200);
    }
    let state = demo.state_when("five served", |state| state["runs"][0]["ends"]["served"] == json!(5));
    assert_eq!(state["runs"][0]["answers"]["sent"], json!(0), "the load is off");
    demo.interrupt();
    let (status, output) = demo.end();
    assert!(status.success(), "{output}");
    assert!(output.contains("5 served, 0 refused, 0 failed"), "{output}");
}

#[test]
fn taken_port_is_answered_with_a_free_one() {
    let first = Demo::start(&["--no-load"]);
    let taken = first.port.to_string();
    let second = Demo::start(&["--no-load", "--port", &taken]);
    assert_ne!(first.port, second.port);
    second.interrupt();
    assert!(second.end().1.contains(&format!("port {taken} is in use; took ")));
}

#[test]
fn overload_queues_refuses_and_loses_clients() {
    let demo = Demo::start(&["--limit", "2", "--queue", "8", "--work", "100ms", "--patience", "600ms"]);
    demo.state_when("every kind of end", |state| {
        let ends = &state["runs"][0]["ends"];
        ["served", "refused", "left_waiting"].iter().all(|end| ends[end].as_u64() > Some(0))
    });
    let peak = demo.state()["runs"][0]["peak_running"].as_u64();
    assert!(peak <= Some(2), "{peak:?} ran at a limit of 2");
    demo.interrupt();
    let (status, output) = demo.end();
    assert!(status.success(), "{output}");
}

#[test]
fn limit_set_over_http_is_the_limit_of_the_server() {
    let demo = Demo::start(&["--work", "100ms"]);
    assert_eq!(demo.post("/control/limit", r#"{"limit":3}"#).0, 204);
    let (status, why) = demo.post("/control/limit", r#"{"limit":65}"#);
    assert_eq!((status, why.as_str()), (400, "the limit must be from 1 to 64, not 65\n"));
    assert_eq!(demo.post("/control/limit", r#"{"limit":0}"#).0, 400);
    assert_eq!(demo.state()["limit"], json!(3), "a refused change changes nothing");
    demo.state_when("three in flight and no more", |state| {
        let newest = state["samples"].as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
        newest["limit"] == json!(3) && newest["running"] == json!(3) && newest["waiting"].as_u64() > Some(0)
    });
}

#[test]
fn exchange_of_the_limiter_replays_the_load_and_keeps_the_last_run() {
    let demo = Demo::start(&[]);
    demo.state_when("some answers", |state| state["runs"][0]["ends"]["served"].as_u64() > Some(20));
    for kind in ["tower", "none"] {
        assert_eq!(demo.post("/control/limiter", &format!(r#"{{"limiter":"{kind}"}}"#)).0, 204);
        demo.state_when("answers of the new one", |state| {
            let runs = state["runs"].as_array().cloned().unwrap_or_default();
            let present = runs.last().cloned().unwrap_or_default();
            present["limiter"] == json!(kind) && present["ends"]["served"].as_u64() > Some(20)
        });
    }
    let (status, why) = demo.post("/control/limiter", r#"{"limiter":"other"}"#);
    assert_eq!((status, why.as_str()), (400, "the limiter must be fair, tower or none, not \"other\"\n"));
    let runs: Vec<_> =
        demo.state()["runs"].as_array().expect("runs").iter().map(|run| run["limiter"].clone()).collect();
    assert_eq!(runs, [json!("fair"), json!("tower"), json!("none")]);
    demo.interrupt();
    let (status, output) = demo.end();
    assert!(status.success(), "{output}");
}

#[test]
fn outage_fails_callers_at_once_and_ends_with_full_service() {
    let demo = Demo::start(&[]);
    demo.state_when("some answers", |state| state["runs"][0]["ends"]["served"].as_u64() > Some(20));
    assert_eq!(demo.post("/control/outage", r#"{"on":true}"#).0, 204);
    demo.state_when("the pool's word on it", |state| {
        let newest = state["samples"].as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
        newest["pool"]["create_state"] == json!("open")
            && newest["pool"]["retry_in_ms"].is_number()
            && newest["pool"]["used"] == json!(0)
    });
    let (status, why) = demo.get("/customers/1");
    assert_eq!(status, 503, "{why}");
    assert_eq!(demo.post("/control/outage", r#"{"on":false}"#).0, 204);
    demo.state_when("healthy", |state| {
        let newest = state["samples"].as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
        newest["pool"]["create_state"] == json!("healthy") && newest["served"].as_f64() > Some(50.0)
    });
    assert_eq!(demo.post("/control/drain", "").0, 204);
    let (status, output) = demo.end();
    assert!(status.success(), "{output}");
}

#[test]
fn state_changes_only_by_post_from_the_own_page() {
    let demo = Demo::start(&["--no-load"]);
    let own = format!("http://127.0.0.1:{}", demo.port);
    let host = format!("127.0.0.1:{}", demo.port);
    let limit = |headers: &[(&str, &str)]| {
        let mut all = vec![("content-type", "application/json")];
        all.extend(headers);
        demo.call("POST", "/control/limit", &all, r#"{"limit":5}"#).0
    };
    assert_eq!(demo.get("/control/limit").0, 405);
    assert_eq!(demo.get("/control/drain").0, 405);
    assert_eq!(limit(&[("origin", "http://evil.example")]), 403);
    assert_eq!(limit(&[("origin", "null")]), 403);
    assert_eq!(limit(&[("host", "evil.example"), ("origin", "http://evil.example")]), 403);
    assert_eq!(limit(&[("host", &host), ("origin", "http://127.0.0.1:1")]), 403);
    assert_eq!(demo.state()["limit"], json!(10));
    assert_eq!(limit(&[("origin", &own)]), 204);
    assert_eq!(demo.state()["limit"], json!(5));
    assert_eq!(limit(&[]), 204, "a tool without a page may steer it");
}

#[test]
fn bad_flags_give_one_line_and_code_2() {
    let cases: [(&[&str], &str); 9] = [
        (&["--limt", "3"], "unknown flag \"--limt\"; did you mean --limit?"),
        (&["surplus"], "unknown flag \"surplus\""),
        (&["--limit", "0"], "--limit must be a whole number from 1 to 10000, not \"0\""),
        (&["--limit", "70"], "--limit 70 is above --max-limit 64"),
        (&["--limiter", "fast"], "--limiter must be fair, tower or none, not \"fast\""),
        (&["--rate"], "--rate needs a value"),
        (&["--rate", "NaN"], "--rate must be a number from 0.1 to 5000 per second, not \"NaN\""),
        (&["--patience", "5h"], "--patience must be a time such as 250ms, 2s or 3m, not \"5h\""),
        (&["--no-load=yes"], "--no-load takes no value, but got \"yes\""),
    ];
    for (flags, expected) in cases {
        let output = run(flags);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {error}");
        assert!(error.starts_with(&format!("demo: {expected}")), "{flags:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn help_explains_every_flag() {
    let output = run(&["--help"]);
    assert!(output.status.success());
    let help = String::from_utf8_lossy(&output.stdout).into_owned();
    for flag in [
        "--port",
        "--limiter",
        "--limit",
        "--max-limit",
        "--queue",
        "--queue-timeout",
        "--pool",
        "--work",
        "--no-load",
        "--rate",
        "--patience",
        "--burst",
        "--burst-every",
        "--seed",
        "--duration",
        "--postgres",
        "--help",
    ] {
        let line = help.lines().find(|line| line.trim_start().split(' ').next() == Some(flag));
        assert!(line.is_some_and(|line| line.trim().len() > flag.len() + 20), "{flag} in:\n{help}");
    }
    assert!(help.lines().all(|line| line.len() <= 130), "{help}");
}
