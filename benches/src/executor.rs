//! The bounded executor beside what people write by hand: a semaphore and a set of tasks.

use std::sync::Arc;
use std::time::Duration;

use semaphore_core::TaskExecutor;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::scenario::{Batch, Contender, Effort, Rival, Scenario, Target};

/// The table these scenarios belong to.
pub const SUBJECT: &str = "executor";

const RUNNING: usize = 8;

/// Every scenario of the executor.
pub fn scenarios(effort: Effort) -> Vec<Scenario> {
    let n = effort.operations(4_000);
    [("one thread", one_thread as fn() -> Runtime), ("two threads", two_threads)]
        .map(|(name, runtime)| {
            let contenders = vec![ours(n, runtime), by_hand(n, runtime)];
            Scenario::new(SUBJECT, format!("tasks that yield once, 8 at a time, {name}"), contenders)
                .target(Target::time(Rival::Best, 1.5))
        })
        .into()
}

fn ours(n: u64, runtime: fn() -> Runtime) -> Contender {
    Contender::timed("ours", move || {
        let runtime = runtime();
        Box::new(move || {
            Batch::time(n, || {
                runtime.block_on(async {
                    let executor = TaskExecutor::new(RUNNING, 64).expect("valid bounds");
                    for _ in 0..n {
                        drop(executor.spawn(tokio::task::yield_now()).await.expect("it is open"));
                    }
                    let report = executor.drain(Instant::now() + Duration::from_secs(10)).await;
                    assert!(report.still_running.is_empty(), "a task did not end");
                });
            })
        })
    })
}

fn by_hand(n: u64, runtime: fn() -> Runtime) -> Contender {
    Contender::timed("Semaphore + JoinSet", move || {
        let runtime = runtime();
        Box::new(move || {
            Batch::time(n, || {
                runtime.block_on(async {
                    let (semaphore, mut tasks) = (Arc::new(Semaphore::new(RUNNING)), JoinSet::new());
                    for _ in 0..n {
                        let permit = Arc::clone(&semaphore).acquire_owned().await.expect("it is open");
                        tasks.spawn(async move {
                            tokio::task::yield_now().await;
                            drop(permit);
                        });
                        // Ended tasks are taken out as they end, or the set grows without bound.
                        while tasks.try_join_next().is_some() {}
                    }
                    while tasks.join_next().await.is_some() {}
                });
            })
        })
    })
}

fn one_thread() -> Runtime {
    Builder::new_current_thread().enable_time().build().expect("a runtime of one thread")
}

fn two_threads() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_time().build().expect("a runtime of two threads")
}
