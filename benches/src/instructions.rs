//! Instruction counts under callgrind, which no busy machine disturbs.
//!
//! Each workload runs alone in a process of its own under valgrind. Only what happens inside
//! [`measured`] is counted, and the count is divided by the operations done there.

mod callgrind;
mod layer;
mod pool;
mod semaphore;
mod table;

pub use callgrind::{count, measured};
pub use table::{Row, TOLERANCE, differences, parse, render, splice};

/// A loop whose instructions are counted.
#[derive(Debug, Clone, Copy)]
pub struct Workload {
    /// What is done.
    pub name: &'static str,
    /// By whom.
    pub who: &'static str,
    /// How many operations a run does.
    pub operations: u64,
    /// The most instructions per operation that the project allows itself.
    pub target: Option<Bound>,
    /// Does the operations, inside [`measured`].
    pub run: fn(u64),
}

/// How many instructions an operation may take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// At most this many.
    Instructions(f64),
    /// At most this share of the same contender's workload of another name.
    Of(&'static str, f64),
}

impl Workload {
    const fn new(name: &'static str, who: &'static str, operations: u64, run: fn(u64)) -> Self {
        Self { name, who, operations, target: None, run }
    }

    const fn at_most(mut self, instructions: f64) -> Self {
        self.target = Some(Bound::Instructions(instructions));
        self
    }

    const fn at_most_of(mut self, name: &'static str, share: f64) -> Self {
        self.target = Some(Bound::Of(name, share));
        self
    }
}

/// Every workload, in the order of the table.
pub fn workloads() -> Vec<Workload> {
    let mut all = semaphore::workloads();
    all.extend(layer::workloads());
    all.extend(pool::workloads());
    all
}
