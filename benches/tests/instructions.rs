//! The table of instruction counts.

use benches::instructions::{Row, differences, parse, render, splice, workloads};

const README: &str = include_str!("../README.md");

fn row(name: &str, count: f64) -> Row {
    Row { name: name.into(), who: "ours".into(), count }
}

#[test]
fn every_row_of_the_readme_is_a_workload() {
    let (rows, workloads) = (parse(README).expect("the table can be read"), workloads());
    assert!(!rows.is_empty());
    for row in rows {
        let known = workloads.iter().any(|workload| workload.name == row.name && workload.who == row.who);
        assert!(known, "{} of {} is in README.md and cannot be counted", row.name, row.who);
    }
}

#[test]
fn what_is_written_is_read_back() {
    let rows = [row("hand-off", 425.3), row("cancel", 316.0)];
    let text = "# T\n<!-- instructions: start -->\nold\n<!-- instructions: end -->\nrest\n";
    let text = splice(text, &render(&rows, &workloads())).expect("both marks are there");
    assert_eq!(parse(&text).expect("a table"), rows);
    assert!(text.starts_with("# T\n") && text.ends_with("rest\n") && !text.contains("old"));
}

#[test]
fn a_count_that_moves_by_more_than_two_percent_is_named() {
    let table = [row("hand-off", 100.0), row("cancel", 100.0)];
    assert!(differences(&table, &[row("hand-off", 101.9), row("cancel", 98.1)]).is_empty());
    let wrong = differences(&table, &[row("hand-off", 103.0), row("enqueue", 5.0)]);
    assert_eq!(wrong.len(), 2, "{wrong:?}");
    assert!(wrong[0].contains("+3.0 %") && wrong[1].contains("not in the table"), "{wrong:?}");
}

#[test]
fn a_missed_target_is_written_as_missed() {
    let text = render(&[row("acquire + release", 100.0)], &workloads());
    assert!(text.contains("at most 60: **missed**"), "{text}");
}
