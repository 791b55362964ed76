//! Peers measured beside us, in one run, on your machine.
//!
//! The programs: `peers` (tables and JSON), `overload` (what happens above the capacity),
//! `instructions` (counts under callgrind), `plots` (the curves as SVG). README.md says how each
//! figure is made, what it means and what it leaves out.

pub mod allocations;
pub mod executor;
pub mod gate;
pub mod instructions;
pub mod layer;
pub mod overload;
pub mod plot;
pub mod poll;
pub mod pool;
pub mod queue;
pub mod random;
pub mod record;
pub mod rounds;
pub mod scenario;
pub mod semaphore;
pub mod statistics;
pub mod table;
pub mod verdict;

use scenario::{Effort, Scenario};

/// Every scenario of every subject, in the order of the tables.
pub fn scenarios(effort: Effort) -> Vec<Scenario> {
    let mut all = semaphore::scenarios(effort);
    all.extend(queue::scenarios(effort));
    all.extend(executor::scenarios(effort));
    all.extend(layer::scenarios(effort));
    all.extend(pool::scenarios(effort));
    all
}
