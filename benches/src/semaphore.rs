//! The semaphore beside tokio's, async-lock's and futures-intrusive's.

mod free;
mod handoff;
mod memory;
mod peers;
mod waiting;

pub use peers::{AsyncLock, Barging, Counting, Fair, Intrusive, OwnedCounting, Tokio, Weighted};

use crate::scenario::{Effort, Rival, Scenario, Target};

/// The table these scenarios belong to.
pub const SUBJECT: &str = "semaphore";

/// tokio's semaphore, against which the targets stand.
pub const TOKIO: Rival = Rival::Peer("tokio");

/// Every scenario of the semaphore.
pub fn scenarios(effort: Effort) -> Vec<Scenario> {
    let mut all = free::scenarios(effort);
    all.extend(waiting::scenarios(effort));
    all.extend(handoff::scenarios(effort));
    all.extend(memory::scenarios());
    all
}

/// A scenario of this subject whose time per operation has a target against tokio's.
fn against_tokio(name: &str, bound: f64, contenders: Vec<crate::scenario::Contender>) -> Scenario {
    Scenario::new(SUBJECT, name, contenders).target(Target::time(TOKIO, bound))
}
