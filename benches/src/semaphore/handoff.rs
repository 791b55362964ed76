//! One permit among several tasks of a runtime: who holds it yields once, then passes it on.

use std::sync::Arc;

use tokio::runtime::Runtime;

use super::free::{Who, all, gated, single_thread, with_type};
use super::{AsyncLock, Barging, Counting, Fair, Intrusive, SUBJECT, TOKIO, Tokio};
use crate::scenario::{Batch, Contender, Effort, Rival, Scenario, Target};

pub(super) fn scenarios(effort: Effort) -> Vec<Scenario> {
    let n = effort.operations(8_000);
    let mut all_of_them = Vec::new();
    for tasks in [2, 8, 64] {
        all_of_them.push(
            Scenario::new(
                SUBJECT,
                format!("hand-off, one permit, {tasks} tasks, one thread"),
                all(move |who| among(who, tasks, n, single_thread)),
            )
            .target(Target::time(TOKIO, 0.85)),
        );
    }
    for tasks in [2, 8, 64] {
        let mut contenders = all(move |who| among(who, tasks, n, two_threads));
        contenders.insert(1, gated::<Barging>(among(Who::Barging, tasks, n, two_threads)));
        all_of_them.push(
            Scenario::new(SUBJECT, format!("hand-off, one permit, {tasks} tasks, two threads"), contenders)
                .target(Target::time(TOKIO, 1.0))
                .target(Target::time(Rival::Peer("futures-intrusive"), 1.05)),
        );
    }
    all_of_them
}

fn among(who: Who, tasks: u64, n: u64, runtime: fn() -> Runtime) -> Contender {
    fn work<S: Counting>(tasks: u64, n: u64, runtime: fn() -> Runtime) -> Contender {
        Contender::timed(S::NAME, move || {
            let runtime = runtime();
            Box::new(move || {
                let semaphore = Arc::new(S::with(1));
                Batch::time(n, || runtime.block_on(pass_on(semaphore, tasks, n / tasks)))
            })
        })
    }
    with_type!(who, work(tasks, n, runtime))
}

async fn pass_on<S: Counting>(semaphore: Arc<S>, tasks: u64, turns: u64) {
    let tasks: Vec<_> = (0..tasks)
        .map(|_| {
            let semaphore = Arc::clone(&semaphore);
            tokio::spawn(async move {
                for _ in 0..turns {
                    let permit = S::permit(semaphore.acquire().await);
                    tokio::task::yield_now().await;
                    drop(permit);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("the task ends");
    }
}

pub(super) fn two_threads() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .expect("a runtime of two threads")
}
