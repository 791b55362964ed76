//! Runs a scenario: gates first, then rounds A B C A B C, each contender on a thread of its own.
//!
//! Only one thread works at a time. The others wait in a channel, so that a contender that hangs
//! is left behind as a failure instead of taking the run with it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use crate::allocations::{self, Allocations};
use crate::scenario::{Batch, Contender, Effort, Figure, Gate, Measure, Scenario, Work};

/// How long one gate, batch or set of readings may take before its contender counts as hanging.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// What became of one contender.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// A loop's rounds, and what one more batch allocated.
    Timed {
        /// Nanoseconds per operation of each round, in their order.
        rounds: Vec<f64>,
        /// Allocations of the counted batch by its operations.
        allocations_per_operation: f64,
        /// Bytes of them.
        bytes_per_operation: f64,
    },
    /// What was read.
    Read(Vec<Figure>),
    /// Why it has no figures.
    Failed(String),
}

/// One contender and what became of it.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The contender's name.
    pub who: &'static str,
    /// Its figures, or why there are none.
    pub outcome: Outcome,
}

enum Answer {
    Batch(Batch, Allocations),
    Figures(Result<Vec<Figure>, String>),
}

struct Worker {
    who: &'static str,
    orders: Sender<bool>,
    answers: Receiver<Answer>,
    rounds: Vec<f64>,
    failed: Option<String>,
    reads: bool,
    figures: Vec<Figure>,
    counted: (f64, f64),
}

/// Runs `scenario` and gives its contenders' figures in their order.
pub fn run(scenario: Scenario, effort: Effort) -> Vec<Entry> {
    let mut workers: Vec<Worker> = scenario.contenders.into_iter().map(Worker::start).collect();
    // One batch unmeasured: caches, lazily made state and the processor's clock settle in it.
    for worker in &mut workers {
        _ = worker.batch(false);
    }
    for _ in 0..effort.rounds() {
        for worker in &mut workers {
            if let Some((batch, _)) = worker.batch(false) {
                worker.rounds.push(batch.nanoseconds());
            }
        }
    }
    for worker in &mut workers {
        if let Some((batch, counted)) = worker.batch(true) {
            let operations = batch.operations as f64;
            worker.counted = (counted.calls as f64 / operations, counted.bytes as f64 / operations);
        }
    }
    workers.into_iter().map(Worker::finish).collect()
}

/// Runs `gate` on a thread of its own and gives it up after `patience`.
pub fn watch(gate: Gate, patience: Duration) -> Result<(), String> {
    let (answer, answers) = channel();
    thread::spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(gate)).unwrap_or_else(|_| Err("panics".into()));
        _ = answer.send(result);
    });
    answers.recv_timeout(patience).unwrap_or_else(|_| Err(format!("hangs: no answer for {patience:?}")))
}

impl Worker {
    fn start(contender: Contender) -> Self {
        let (orders, ordered) = channel::<bool>();
        let (answer, answers) = channel();
        let failed = contender.gate.and_then(|gate| watch(gate, PATIENCE).err());
        let reads = matches!(contender.measure, Measure::Readings(_));
        if failed.is_none() {
            thread::spawn(move || match contender.measure {
                Measure::Loop(make) => serve(make(), &ordered, &answer),
                Measure::Readings(read) => _ = ordered.recv().map(|_| answer.send(Answer::Figures(read()))),
            });
        }
        let who = contender.who;
        Self {
            who,
            orders,
            answers,
            rounds: Vec::new(),
            failed,
            reads,
            figures: Vec::new(),
            counted: (0.0, 0.0),
        }
    }

    /// One batch, or the readings when this is the first order to a contender that is read once.
    fn batch(&mut self, counting: bool) -> Option<(Batch, Allocations)> {
        if self.failed.is_some() || (self.reads && !self.figures.is_empty()) {
            return None;
        }
        _ = self.orders.send(counting);
        match self.answers.recv_timeout(PATIENCE) {
            Ok(Answer::Batch(batch, counted)) => return Some((batch, counted)),
            Ok(Answer::Figures(Ok(figures))) => self.figures = figures,
            Ok(Answer::Figures(Err(reason))) => self.failed = Some(reason),
            Err(RecvTimeoutError::Timeout) => {
                self.failed = Some(format!("hangs: no answer for {PATIENCE:?}"))
            }
            Err(RecvTimeoutError::Disconnected) => self.failed = Some("panics".into()),
        }
        None
    }

    fn finish(self) -> Entry {
        let outcome = match self.failed {
            Some(reason) => Outcome::Failed(reason),
            None if self.reads => Outcome::Read(self.figures),
            None => Outcome::Timed {
                rounds: self.rounds,
                allocations_per_operation: self.counted.0,
                bytes_per_operation: self.counted.1,
            },
        };
        Entry { who: self.who, outcome }
    }
}

fn serve(mut work: Work, ordered: &Receiver<bool>, answer: &Sender<Answer>) {
    while let Ok(counting) = ordered.recv() {
        let (batch, counted) =
            if counting { allocations::count(&mut work) } else { (work(), Allocations::default()) };
        if answer.send(Answer::Batch(batch, counted)).is_err() {
            return;
        }
    }
}
