//! The layer beside tower's ConcurrencyLimit, LoadShed in front of it, and a bulkhead.

mod contended;
mod free;
mod rejected;
mod services;

pub use services::{Echo, deferred, ours, request, shedding, tower_limit, tower_shed};

use crate::scenario::{Effort, Rival, Scenario};

/// The table these scenarios belong to.
pub const SUBJECT: &str = "layer";

/// tower's limiter, against which the targets stand.
const TOWER: Rival = Rival::Peer("tower");

/// Every scenario of the layer.
pub fn scenarios(effort: Effort) -> Vec<Scenario> {
    let mut all = free::scenarios(effort);
    all.extend(contended::scenarios(effort));
    all.extend(rejected::scenarios(effort));
    all
}
