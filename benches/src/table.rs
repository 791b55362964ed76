//! The tables that a person reads.

use std::fmt::Write;

use crate::rounds::{Entry, Outcome};
use crate::scenario::{OURS, Rival, Sense};
use crate::statistics;
use crate::verdict::{NOISE, Verdict, best, ratio};

/// The rows of one scenario: a line per contender and figure, then a line per target.
pub fn rows(scenario: &str, entries: &[Entry], verdicts: &[Verdict]) -> String {
    let mut text = format!("{scenario}\n");
    for entry in entries {
        match &entry.outcome {
            Outcome::Timed { rounds, allocations_per_operation, .. } => {
                let (middle, spread) =
                    (statistics::median(rounds), statistics::spread(rounds).unwrap_or(0.0));
                let noise = if spread > NOISE { "  noise" } else { "" };
                _ = writeln!(
                    text,
                    "  {:<26} {:>12} ns  +-{:>4.0} %  {:>7.2} allocs{noise}",
                    entry.who,
                    number(middle.unwrap_or(f64::NAN)),
                    spread * 100.0,
                    allocations_per_operation,
                );
            }
            Outcome::Read(figures) => {
                let list: Vec<String> =
                    figures.iter().map(|f| format!("{} {} {}", f.metric, number(f.value), f.unit)).collect();
                _ = writeln!(text, "  {:<26} {}", entry.who, list.join(", "));
            }
            Outcome::Failed(reason) => _ = writeln!(text, "  {:<26} FAILED: {reason}", entry.who),
        }
    }
    if let Some((ours, peer)) = against_best(entries) {
        if let Some(value) = ratio(ours, peer, "time") {
            _ = writeln!(text, "  ours / best peer ({}) {value:.2}", peer.who);
        }
    }
    for verdict in verdicts {
        _ = writeln!(text, "  {}", sentence(verdict));
    }
    text
}

/// A target in words: what was asked, what came out, met or missed.
pub fn sentence(verdict: &Verdict) -> String {
    let target = verdict.target;
    let bound = match target.sense {
        Sense::AtMost => format!("at most {}", target.bound),
        Sense::AtLeast => format!("at least {}", target.bound),
    };
    let of = match (target.rival, verdict.rival) {
        (Rival::Nobody, _) => String::new(),
        (_, Some(name)) => format!(" x {name}"),
        (_, None) => " x nobody".into(),
    };
    let value = verdict.value.map_or("none".into(), |value| format!("{value:.3}"));
    let word = if verdict.met() { "met" } else { "MISSED" };
    format!("target {}: {bound}{of}; measured {value}: {word}", target.metric)
}

fn against_best(entries: &[Entry]) -> Option<(&Entry, &Entry)> {
    let ours = entries.iter().find(|entry| entry.who == OURS)?;
    Some((ours, best(entries, "time", Sense::AtMost)?))
}

fn number(value: f64) -> String {
    match value.abs() {
        whole if whole >= 100.0 => format!("{value:.0}"),
        tens if tens >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    }
}
