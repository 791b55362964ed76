//! What a checkout costs when a resource is idle, and the sizes of the parts.

use std::mem::{size_of, size_of_val};
use std::time::Duration;

use super::{Bb8, Deadpool, DeadpoolBare, Fastpool, Manager, Mobc, Ours, Pooling, SUBJECT, Sqlx, World};
use super::{every_pool, gated};
use crate::poll;
use crate::scenario::{Batch, Contender, Effort, Figure, Rival, Scenario, Target};

pub(super) fn scenarios(effort: Effort) -> Vec<Scenario> {
    let n = effort.operations(10_000);
    vec![
        Scenario::new(SUBJECT, "get + return, one idle resource", every_pool!(checkout(n)))
            .target(Target::time(Rival::Peer("deadpool"), 0.55))
            .target(Target::time(Rival::Peer("deadpool (timeouts)"), 0.35))
            .target(Target::at_most("allocations", Rival::Nobody, 0.0)),
        Scenario::new(SUBJECT, "sizes", vec![sizes()])
            .target(Target::at_most("get future", Rival::Nobody, 256.0 + hook()))
            .target(Target::at_most("guard", Rival::Nobody, 48.0)),
    ]
}

/// Gets and returns the idle resource of `pool` `n` times, polling by hand. Call it inside a runtime.
///
/// # Panics
/// When a checkout has to wait.
pub fn get_and_return<P: Pooling>(pool: &P, n: u64) {
    for _ in 0..n {
        drop(poll::ready(pool.get()).expect("one is idle"));
    }
}

fn checkout<P: Pooling>(n: u64) -> Contender {
    gated::<P>(Contender::timed(P::NAME, move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let pool = runtime.block_on(async {
            let pool = P::with(&World::new(Duration::ZERO, Duration::ZERO), 8);
            drop(pool.get().await.expect("a first resource"));
            pool
        });
        Box::new(move || {
            let start = std::time::Instant::now();
            runtime.block_on(async {
                for _ in 0..n {
                    drop(pool.get().await.expect("one is idle"));
                }
            });
            Batch { elapsed: start.elapsed(), operations: n }
        })
    }))
}

/// The future of the manager's own check, which ours holds inside its `get`.
fn hook() -> f64 {
    let world = World::new(Duration::ZERO, Duration::ZERO);
    size_of_val(&world.check()) as f64
}

fn sizes() -> Contender {
    Contender::read("ours", || {
        let pool = Ours::with(&World::new(Duration::ZERO, Duration::ZERO), 1);
        Ok(vec![
            Figure::new("get future", size_of_val(&pool.0.get()) as f64, "bytes"),
            Figure::new("guard", size_of::<lease_pool::Pooled<Manager>>() as f64, "bytes"),
        ])
    })
}
