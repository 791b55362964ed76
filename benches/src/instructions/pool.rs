//! Workloads of the pool.

use std::time::Duration;

use super::{Workload, measured};
use crate::pool::{Deadpool, DeadpoolBare, Manager, Ours, Pooling, World, get_and_return};

const LOOPS: u64 = 2_000;

pub(super) fn workloads() -> Vec<Workload> {
    vec![
        Workload::new("get + return", Ours::NAME, LOOPS, |n| checkout(Ours::with, n)),
        Workload::new("get + return, named", Ours::NAME, LOOPS, |n| checkout(named, n))
            .at_most_of("get + return", 1.10),
        Workload::new("get + return", DeadpoolBare::NAME, LOOPS, |n| checkout(DeadpoolBare::with, n)),
        Workload::new("get + return", Deadpool::NAME, LOOPS, |n| checkout(Deadpool::with, n)),
    ]
}

fn named(world: &std::sync::Arc<World>, max: usize) -> Ours {
    let manager = Manager(std::sync::Arc::clone(world));
    Ours(lease_pool::Pool::builder(manager).max(max).name("instructions").build().expect("valid options"))
}

fn checkout<P: Pooling>(with: fn(&std::sync::Arc<World>, usize) -> P, n: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let pool = runtime.block_on(async {
        let pool = with(&World::new(Duration::ZERO, Duration::ZERO), 8);
        drop(pool.get().await.expect("a first resource"));
        pool
    });
    // Inside the runtime but not inside a task: tokio's budget would end the loop after 128 polls.
    let _inside = runtime.enter();
    measured(|| get_and_return(&pool, n));
}
