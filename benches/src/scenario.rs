//! What is measured: a scenario, its contenders, and the targets that its figures are held against.

use std::time::{Duration, Instant};

/// The name under which our own figures stand.
pub const OURS: &str = "ours";

/// One run of a contender's loop.
#[derive(Debug, Clone, Copy)]
pub struct Batch {
    /// Time of the measured part.
    pub elapsed: Duration,
    /// How many operations that were.
    pub operations: u64,
}

impl Batch {
    /// Times `work`, which does `operations` operations.
    pub fn time<R>(operations: u64, work: impl FnOnce() -> R) -> Self {
        let start = Instant::now();
        let result = work();
        let elapsed = start.elapsed();
        drop(result);
        Self { elapsed, operations }
    }

    /// Nanoseconds of one operation.
    pub fn nanoseconds(&self) -> f64 {
        self.elapsed.as_nanos() as f64 / self.operations as f64
    }
}

/// A loop that is run once per round; it keeps what it needs between rounds.
pub type Work = Box<dyn FnMut() -> Batch>;

/// A correctness check that a contender has to pass before it is timed.
pub type Gate = Box<dyn FnOnce() -> Result<(), String> + Send>;

/// A single reading that is not a time per operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// What is read, such as `p99`.
    pub metric: &'static str,
    /// The reading.
    pub value: f64,
    /// Its unit, such as `ms`.
    pub unit: &'static str,
}

impl Figure {
    /// A reading with its name and unit.
    pub fn new(metric: &'static str, value: f64, unit: &'static str) -> Self {
        Self { metric, value, unit }
    }
}

/// How a contender is measured.
pub enum Measure {
    /// Rounds of a loop. The closure makes the loop on the thread that will run it.
    Loop(Box<dyn FnOnce() -> Work + Send>),
    /// Readings taken once: the scenario is deterministic, or a whole run in itself.
    Readings(Box<dyn FnOnce() -> Result<Vec<Figure>, String> + Send>),
}

/// One who takes part in a scenario.
pub struct Contender {
    /// Its name in tables and records.
    pub who: &'static str,
    /// Run first, under a watchdog.
    pub gate: Option<Gate>,
    /// Run when the gate is passed.
    pub measure: Measure,
}

impl Contender {
    /// A contender whose loop is timed.
    pub fn timed(who: &'static str, make: impl FnOnce() -> Work + Send + 'static) -> Self {
        Self { who, gate: None, measure: Measure::Loop(Box::new(make)) }
    }

    /// A contender that is read once.
    pub fn read(
        who: &'static str,
        read: impl FnOnce() -> Result<Vec<Figure>, String> + Send + 'static,
    ) -> Self {
        Self { who, gate: None, measure: Measure::Readings(Box::new(read)) }
    }

    /// Asks for `gate` to be passed first.
    #[must_use]
    pub fn gated(mut self, gate: impl FnOnce() -> Result<(), String> + Send + 'static) -> Self {
        self.gate = Some(Box::new(gate));
        self
    }
}

impl std::fmt::Debug for Measure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Loop(_) => "Loop",
            Self::Readings(_) => "Readings",
        })
    }
}

impl std::fmt::Debug for Contender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Contender")
            .field("who", &self.who)
            .field("measure", &self.measure)
            .finish_non_exhaustive()
    }
}

/// With whom a figure of ours is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rival {
    /// The peer with the best figure among those that did not fail.
    Best,
    /// The one of this name.
    Peer(&'static str),
    /// Nobody: the bound is the figure itself.
    Nobody,
}

/// What a figure of ours is meant to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Target {
    /// The metric; `time` in a timed scenario.
    pub metric: &'static str,
    /// Whose figure ours is divided by.
    pub rival: Rival,
    /// The bound of the ratio, or of the figure.
    pub bound: f64,
    /// Whether the bound is the most or the least.
    pub sense: Sense,
}

/// Which side of a bound is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sense {
    /// Less is better.
    AtMost,
    /// More is better.
    AtLeast,
}

impl Target {
    /// The time per operation as a share of `rival`'s.
    pub fn time(rival: Rival, bound: f64) -> Self {
        Self { metric: "time", rival, bound, sense: Sense::AtMost }
    }

    /// A reading at most `bound`, or at most `bound` times the rival's.
    pub fn at_most(metric: &'static str, rival: Rival, bound: f64) -> Self {
        Self { metric, rival, bound, sense: Sense::AtMost }
    }

    /// A reading at least `bound`, or at least `bound` times the rival's.
    pub fn at_least(metric: &'static str, rival: Rival, bound: f64) -> Self {
        Self { metric, rival, bound, sense: Sense::AtLeast }
    }

    /// Whether `value` keeps to the bound.
    pub fn holds(&self, value: f64) -> bool {
        match self.sense {
            Sense::AtMost => value <= self.bound,
            Sense::AtLeast => value >= self.bound,
        }
    }
}

/// Several contenders at the same task.
#[derive(Debug)]
pub struct Scenario {
    /// The table it belongs to.
    pub subject: &'static str,
    /// What is done.
    pub name: String,
    /// What our figures are held against.
    pub targets: Vec<Target>,
    /// Those who take part; ours first.
    pub contenders: Vec<Contender>,
}

impl Scenario {
    /// A scenario without targets.
    pub fn new(subject: &'static str, name: impl Into<String>, contenders: Vec<Contender>) -> Self {
        Self { subject, name: name.into(), targets: Vec::new(), contenders }
    }

    /// Adds a target.
    #[must_use]
    pub fn target(mut self, target: Target) -> Self {
        self.targets.push(target);
        self
    }
}

/// How much work a run may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// All subjects within 50 s on two cores.
    Quick,
    /// More rounds and longer batches.
    Full,
}

impl Effort {
    /// Rounds of each timed scenario.
    pub fn rounds(self) -> usize {
        match self {
            Self::Quick => 7,
            Self::Full => 25,
        }
    }

    /// `quick` operations in a quick run, four times as many in a full one.
    pub fn operations(self, quick: u64) -> u64 {
        match self {
            Self::Quick => quick,
            Self::Full => quick * 4,
        }
    }
}
