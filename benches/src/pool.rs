//! The pool beside deadpool, bb8, mobc, fastpool and sqlx's.

mod cost;
mod outage;
mod peers;
mod rush;
mod spike;
mod sqlx;
mod world;

pub use cost::get_and_return;
pub use peers::{Bb8, Deadpool, DeadpoolBare, Fastpool, Manager, Mobc, Ours, Pooling, Sqlx};
pub use spike::{Burst, burst};
pub use world::{Refused, Resource, World};

use std::time::Duration;

use crate::gate;
use crate::scenario::{Contender, Effort, Figure, Scenario};

/// The table these scenarios belong to.
pub const SUBJECT: &str = "pool";

/// Every scenario of the pool.
pub fn scenarios(effort: Effort) -> Vec<Scenario> {
    let mut all = cost::scenarios(effort);
    all.extend(rush::scenarios(effort));
    all.extend(spike::scenarios());
    all.extend(outage::scenarios());
    all
}

/// Calls a generic function for each pool; ours first.
macro_rules! every_pool {
    ($function:ident ( $($argument:expr),* )) => {
        vec![
            $function::<Ours>($($argument),*),
            $function::<DeadpoolBare>($($argument),*),
            $function::<Deadpool>($($argument),*),
            $function::<Bb8>($($argument),*),
            $function::<Mobc>($($argument),*),
            $function::<Fastpool>($($argument),*),
            $function::<Sqlx>($($argument),*),
        ]
    };
}
use every_pool;

/// Adds the gate of pool `P`: three resources that are made in a millisecond.
fn gated<P: Pooling>(contender: Contender) -> Contender {
    contender.gated(|| {
        let pool = std::sync::OnceLock::<P>::new();
        let world = World::new(Duration::from_millis(1), Duration::ZERO);
        gate::check(3, || async { pool.get_or_init(|| P::with(&world, 3)).get().await })?;
        if world.peak() > 3 {
            return Err(format!("makes {} resources where 3 is the maximum", world.peak()));
        }
        Ok(())
    })
}

/// Runs `story` on the paused clock, as one set of readings.
fn on_paused_clock<F>(story: impl FnOnce() -> F) -> Result<Vec<Figure>, String>
where
    F: Future<Output = Result<Vec<Figure>, String>>,
{
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .map_err(|error| format!("no runtime: {error}"))?
        .block_on(story())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
