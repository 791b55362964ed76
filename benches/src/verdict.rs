//! Holds the figures of a scenario against its targets.

use crate::rounds::{Entry, Outcome};
use crate::scenario::{OURS, Rival, Sense, Target};
use crate::statistics;

/// Above this distance between the quartiles a timed figure is marked as noise.
pub const NOISE: f64 = 0.15;

/// A target and what came out.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// What was asked.
    pub target: Target,
    /// With whom it was compared; the one who was best when nobody is named.
    pub rival: Option<&'static str>,
    /// The ratio or the figure; `None` when ours or the rival's is missing.
    pub value: Option<f64>,
}

impl Verdict {
    /// Whether the target is met; a missing figure does not meet it.
    pub fn met(&self) -> bool {
        self.value.is_some_and(|value| self.target.holds(value))
    }
}

/// What each of `targets` came to.
pub fn judge(targets: &[Target], entries: &[Entry]) -> Vec<Verdict> {
    targets.iter().map(|target| judge_one(*target, entries)).collect()
}

/// One number per contender: the median time, or the reading of this name.
pub fn figure(entry: &Entry, metric: &str) -> Option<f64> {
    match &entry.outcome {
        Outcome::Timed { rounds, .. } if metric == "time" => statistics::median(rounds),
        Outcome::Timed { allocations_per_operation, .. } if metric == "allocations" => {
            Some(*allocations_per_operation)
        }
        Outcome::Read(figures) => figures.iter().find(|f| f.metric == metric).map(|f| f.value),
        _ => None,
    }
}

/// Ours divided by theirs: paired by round for times, plainly for readings.
pub fn ratio(ours: &Entry, theirs: &Entry, metric: &str) -> Option<f64> {
    match (&ours.outcome, &theirs.outcome) {
        (Outcome::Timed { rounds: own, .. }, Outcome::Timed { rounds: other, .. }) if metric == "time" => {
            statistics::paired_ratio(own, other)
        }
        _ => Some(figure(ours, metric)? / figure(theirs, metric)?),
    }
}

/// The peer with the best figure; those that failed have none.
pub fn best<'e>(entries: &'e [Entry], metric: &str, sense: Sense) -> Option<&'e Entry> {
    let rated = entries.iter().filter(|entry| !entry.who.starts_with(OURS));
    let rated = rated.filter_map(|entry| Some((entry, figure(entry, metric)?)));
    let better = |a: &(&Entry, f64), b: &(&Entry, f64)| a.1.total_cmp(&b.1);
    match sense {
        Sense::AtMost => rated.min_by(better),
        Sense::AtLeast => rated.max_by(better),
    }
    .map(|(entry, _)| entry)
}

fn judge_one(target: Target, entries: &[Entry]) -> Verdict {
    let ours = entries.iter().find(|entry| entry.who == OURS);
    let rival = match target.rival {
        Rival::Best => best(entries, target.metric, target.sense),
        Rival::Peer(name) => entries.iter().find(|entry| entry.who == name),
        Rival::Nobody => None,
    };
    let value = match target.rival {
        Rival::Nobody => ours.and_then(|entry| figure(entry, target.metric)),
        _ => ours.zip(rival).and_then(|(own, other)| ratio(own, other, target.metric)),
    };
    Verdict { target, rival: rival.map(|entry| entry.who), value }
}
