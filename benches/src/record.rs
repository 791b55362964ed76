//! One JSON object a line: what a program reads.

use serde_json::{Value, json};

use crate::rounds::{Entry, Outcome};
use crate::statistics;

/// The lines of one scenario's entries; a contender with several readings has one line for each.
pub fn lines(subject: &str, scenario: &str, entries: &[Entry]) -> Vec<Value> {
    entries.iter().flat_map(|entry| entry_lines(subject, scenario, entry)).collect()
}

fn entry_lines(subject: &str, scenario: &str, entry: &Entry) -> Vec<Value> {
    match &entry.outcome {
        Outcome::Timed { rounds, allocations_per_operation, bytes_per_operation } => vec![json!({
            "subject": subject,
            "scenario": scenario,
            "who": entry.who,
            "median_ns": statistics::median(rounds),
            "spread": statistics::spread(rounds),
            "unit": "ns/op",
            "allocs_per_op": allocations_per_operation,
            "bytes_per_op": bytes_per_operation,
            "rounds": rounds.len(),
        })],
        Outcome::Read(figures) => figures
            .iter()
            .map(|figure| {
                json!({
                    "subject": subject,
                    "scenario": format!("{scenario}: {}", figure.metric),
                    "who": entry.who,
                    "value": figure.value,
                    "unit": figure.unit,
                    "rounds": 1,
                })
            })
            .collect(),
        Outcome::Failed(reason) => vec![json!({
            "subject": subject,
            "scenario": scenario,
            "who": entry.who,
            "failed": reason,
            "unit": "failed",
            "rounds": 0,
        })],
    }
}
