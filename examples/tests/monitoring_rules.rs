//! The shipped rules, dashboard and runbook against promtool, against each other, and against what is exported.
#![forbid(unsafe_code)]

mod monitoring;

use std::collections::BTreeSet;

use monitoring::catalogue::check;
use monitoring::dashboard::{dashboard, filled, panels};
use monitoring::exported::exported;
use monitoring::programs::{folder, present, promtool, said, scratch, shipped};
use monitoring::rules::{Rule, rules, with_expression};
use monitoring::specified::SPECIFIED;

const ALERTS: [&str; 8] = [
    "Stalled",
    "Saturated",
    "WaitSlow",
    "CancellationsHigh",
    "ReservationsAbandoned",
    "CreateFailing",
    "PoolChurn",
    "LeasesOverdue",
];

fn alerts(all: &[Rule]) -> Vec<&Rule> {
    all.iter().filter(|rule| rule.alert).collect()
}

fn recorded() -> Vec<String> {
    rules(&shipped("rules.yml")).into_iter().filter(|rule| !rule.alert).map(|rule| rule.name).collect()
}

#[test]
fn rules_are_accepted_by_promtool() {
    if present("promtool") {
        let output = promtool(&folder(), &["check", "rules", "rules.yml"], "");
        assert!(output.status.success(), "{}", said(&output));
    }
}

#[test]
fn every_case_of_the_rules_holds() {
    if present("promtool") {
        let output = promtool(&folder(), &["test", "rules", "rules.test.yml"], "");
        assert!(output.status.success(), "{}", said(&output));
    }
}

#[test]
fn each_alert_has_a_case_that_fires_and_one_that_does_not() {
    if !present("promtool") {
        return;
    }
    let text = shipped("rules.yml");
    let tests = scratch("alert-cases");
    std::fs::write(tests.join("rules.test.yml"), shipped("rules.test.yml")).unwrap();
    for (change, spoilt) in [("never fires", "vector(0) > 1"), ("always fires", "vector(1)")] {
        // From the last to the first: an exchange moves the lines after it.
        let spoil = |text: String, alert: &&Rule| with_expression(&text, alert, spoilt);
        let all = alerts(&rules(&text)).iter().rev().fold(text.clone(), spoil);
        std::fs::write(tests.join("rules.yml"), all).unwrap();
        let output = promtool(&tests, &["test", "rules", "rules.test.yml"], "");
        let said = said(&output);
        for alert in ALERTS {
            // One block per broken expectation: the case, what it expected, what it got.
            let mut blocks =
                said.split("    name: ").filter(|block| block.contains(&format!("alertname: {alert},")));
            let noticed = match change {
                "never fires" => blocks.any(|block| block.contains("got:[]")),
                _ => blocks.any(|block| block.contains("exp:[]")),
            };
            assert!(noticed, "{alert} {change}, and no case notices:\n{said}");
        }
    }
}

#[test]
fn the_alerts_are_the_listed_ones_and_the_critical_ones_are_two() {
    let all = rules(&shipped("rules.yml"));
    let names: Vec<&str> = alerts(&all).iter().map(|alert| alert.name.as_str()).collect();
    assert_eq!(names, ALERTS);
    let critical: Vec<&str> = alerts(&all)
        .iter()
        .filter(|alert| alert.severity.as_deref() == Some("critical"))
        .map(|alert| alert.name.as_str())
        .collect();
    assert_eq!(critical, ["Stalled", "CreateFailing"]);
}

#[test]
fn each_alert_links_to_its_section_of_the_runbook_and_each_section_says_three_things() {
    let all = rules(&shipped("rules.yml"));
    let runbook = shipped("runbook.md");
    let mut sections = runbook.split("\n## ");
    sections.next();
    let sections: Vec<&str> = sections.collect();
    let headings: Vec<&str> = sections.iter().map(|section| section.lines().next().unwrap()).collect();
    assert_eq!(headings, ALERTS);
    for (alert, section) in alerts(&all).iter().zip(sections) {
        let anchor = format!("runbook.md#{}", alert.name.to_lowercase());
        assert_eq!(alert.runbook.as_deref(), Some(anchor.as_str()), "{}", alert.name);
        for part in ["**What it means.**", "**How to confirm.**", "**What to do.**"] {
            assert!(section.contains(part), "{} lacks {part}", alert.name);
        }
    }
}

#[test]
fn the_exported_metrics_are_the_specified_ones_and_each_has_a_help_text() {
    let by_name = |name: &str| exported().into_iter().find(|metric| metric.name == name);
    for specified in SPECIFIED {
        let Some(exported) = by_name(specified.name) else { panic!("{} is not exported", specified.name) };
        assert_eq!(exported.kind, specified.kind, "{}", specified.name);
        assert_eq!(exported.labels, specified.labels, "{}", specified.name);
        assert_eq!(exported.buckets, specified.buckets, "{}", specified.name);
    }
    assert_eq!(exported().len(), SPECIFIED.len(), "more is exported than specified, or one name twice");
    for metric in exported() {
        assert!(metric.help.len() > 10 && metric.help.ends_with('.'), "{}: {:?}", metric.name, metric.help);
    }
}

#[test]
fn rules_name_only_what_is_exported_or_recorded() {
    for rule in rules(&shipped("rules.yml")) {
        check(&rule.expression, &recorded()).unwrap_or_else(|why| panic!("{}: {why}", rule.name));
    }
}

#[test]
fn series_of_the_rule_cases_are_ones_that_are_exported() {
    let text = shipped("rules.test.yml");
    let series: Vec<&str> =
        text.lines().filter_map(|line| line.split("series: '").nth(1)?.split('\'').next()).collect();
    assert!(series.len() > 50, "{} series found", series.len());
    for series in series {
        check(series, &[]).unwrap_or_else(|why| panic!("{series}: {why}"));
    }
}

#[test]
fn dashboard_names_only_what_is_exported_and_needs_no_recording_rule() {
    for panel in panels(&dashboard()) {
        for expression in panel.expressions() {
            check(&expression, &[]).unwrap_or_else(|why| panic!("{}: {why}\n{expression}", panel.title));
        }
    }
}

#[test]
fn dashboard_expressions_are_accepted_by_promtool() {
    if !present("promtool") {
        return;
    }
    let mut copied = Vec::new();
    for panel in panels(&dashboard()) {
        for expression in panel.expressions() {
            let name = format!("panel:{}", copied.len());
            copied.push(serde_json::json!({"record": name, "expr": filled(&expression, ".*", ".*", "1m")}));
        }
    }
    let count = copied.len();
    // JSON is YAML too.
    let file = serde_json::json!({"groups": [{"name": "dashboard", "rules": copied}]});
    let place = scratch("dashboard-expressions");
    std::fs::write(place.join("rules.yml"), file.to_string()).unwrap();
    let output = promtool(&place, &["check", "rules", "rules.yml"], "");
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains(&format!("{count} rules found")), "{}", said(&output));
}

#[test]
fn every_panel_has_title_description_unit_and_a_query() {
    let dashboard = dashboard();
    let mut rows = Vec::new();
    for panel in panels(&dashboard) {
        let Some(description) = panel.json["description"].as_str() else {
            panic!("{}: no description", panel.title)
        };
        let unit = panel.json["fieldConfig"]["defaults"]["unit"].as_str();
        assert!(!panel.title.is_empty() && description.len() > 20, "{}: {description}", panel.title);
        assert!(unit.is_some_and(|unit| !unit.is_empty()), "{}: no unit", panel.title);
        assert!(!panel.expressions().is_empty(), "{}: no query", panel.title);
        for target in panel.json["targets"].as_array().unwrap() {
            assert_eq!(target["datasource"]["uid"], "${datasource}", "{}", panel.title);
        }
        if rows.last() != Some(&panel.row) {
            rows.push(panel.row);
        }
    }
    assert_eq!(rows, ["Overview", "Queue", "Leases", "HTTP limit", "Pool"]);
}

#[test]
fn dashboard_has_its_variables_unique_ids_and_no_overlap() {
    let dashboard = dashboard();
    assert!(dashboard["schemaVersion"].as_u64().is_some_and(|version| version <= 41));
    let names: Vec<&str> = dashboard["templating"]["list"]
        .as_array()
        .unwrap()
        .iter()
        .map(|variable| variable["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["datasource", "job", "instance", "semaphore", "limit", "pool"]);
    for variable in dashboard["templating"]["list"].as_array().unwrap().iter().skip(1) {
        let query = variable["query"]["query"].as_str().unwrap();
        let source = query.trim_start_matches("label_values(").trim_end_matches(')');
        let (series, label) = source.rsplit_once(", ").unwrap();
        check(&format!("sum by ({label}) ({series})"), &[]).unwrap_or_else(|why| panic!("{query}: {why}"));
    }
    let mut ids = BTreeSet::new();
    let mut cells = BTreeSet::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{}: its id is taken", panel["title"]);
        let place = |key| panel["gridPos"][key].as_u64().unwrap();
        assert!(place("x") + place("w") <= 24, "{}: beyond the right edge", panel["title"]);
        for y in place("y")..place("y") + place("h") {
            for x in place("x")..place("x") + place("w") {
                assert!(cells.insert((x, y)), "{} overlaps another panel", panel["title"]);
            }
        }
    }
}

#[test]
fn the_check_of_names_refuses_what_nobody_exports() {
    let recorded = ["semaphore:known:rate5m".to_owned()];
    for (expression, why) in [
        ("rate(fair_semaphore_aquires_total[5m])", "no crate exports"),
        ("fair_semaphore_wait_seconds", "is a histogram"),
        ("fair_semaphore_queue_depth_count", "no crate exports"),
        (r#"fair_semaphore_queue_depth{limit="a"}"#, "has no label limit"),
        (r#"fair_semaphore_acquires_total{outcome=~"queued|imediate"}"#, "is never \"imediate\""),
        ("sum by (reason) (rate(fair_semaphore_acquires_total[5m]))", "the label reason"),
        ("sum by (le) (rate(fair_semaphore_wait_seconds_count[5m]))", "the label le"),
        ("rate(fair_semaphore_queue_depth[5m])", "which is a gauge"),
        ("semaphore:unknown:rate5m > 1", "no rule records"),
        ("sum by (pool) (semaphore:known:rate5m)", "the label pool"),
        (r#"label_replace(fair_limit_reservations, "semaphore", "$1", "pool", "(.+)")"#, "the label pool"),
        ("vector(1)", "names no metric"),
    ] {
        let refused = check(expression, &recorded).expect_err(expression);
        assert!(refused.contains(why), "{expression}: {refused}");
    }
    for expression in [
        r#"sum by (semaphore, le) (rate(fair_semaphore_wait_seconds_bucket{le="1", job=~"$job"}[5m]))"#,
        r#"x + on (semaphore) label_replace(fair_limit_reservations{job="$job"}, "semaphore", "$1", "limit", "(.+)")"#,
        "sum by (semaphore) (semaphore:known:rate5m)",
    ] {
        check(expression, &recorded).unwrap_or_else(|why| panic!("{expression}: {why}"));
    }
}
