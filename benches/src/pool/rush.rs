//! Sixty-four tasks on eight resources, on the wall clock.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};

use super::{Bb8, Deadpool, DeadpoolBare, Fastpool, Mobc, Ours, Pooling, SUBJECT, Sqlx, World};
use super::{every_pool, gated};
use crate::scenario::{Batch, Contender, Effort, Figure, Rival, Scenario, Target};
use crate::statistics::{jain, quantile};

const TASKS: u64 = 64;
const RESOURCES: usize = 8;

pub(super) fn scenarios(effort: Effort) -> Vec<Scenario> {
    let n = effort.operations(4_096);
    let span = Duration::from_millis(effort.operations(150));
    let time = Target::time(Rival::Peer("deadpool"), 0.65);
    let name = "64 tasks on 8 resources, one yield while holding";
    vec![
        Scenario::new(SUBJECT, format!("{name}, one thread"), every_pool!(rush(n, one_thread))).target(time),
        Scenario::new(SUBJECT, format!("{name}, two threads"), every_pool!(rush(n, two_threads)))
            .target(time),
        Scenario::new(SUBJECT, format!("{name}: waits"), every_pool!(waits(span, Hold::Yield)))
            .target(Target::at_most("p99.9 wait", Rival::Best, 0.8))
            .target(Target::at_least("Jain index", Rival::Nobody, 0.999)),
        Scenario::new(
            SUBJECT,
            "64 tasks on 8 resources held 1 ms: waits",
            every_pool!(waits(span, Hold::Sleep)),
        )
        .target(Target::at_most("p99.9 wait", Rival::Best, 1.05)),
    ]
}

fn rush<P: Pooling>(n: u64, runtime: fn() -> Runtime) -> Contender {
    gated::<P>(Contender::timed(P::NAME, move || {
        let runtime = runtime();
        let pool = runtime.block_on(warm::<P>());
        Box::new(move || {
            Batch::time(n, || {
                runtime.block_on(async {
                    let tasks: Vec<_> = (0..TASKS)
                        .map(|_| {
                            let pool = pool.clone();
                            tokio::spawn(async move {
                                for _ in 0..n / TASKS {
                                    let guard = pool.get().await.expect("within the deadline");
                                    tokio::task::yield_now().await;
                                    drop(guard);
                                }
                            })
                        })
                        .collect();
                    for task in tasks {
                        task.await.expect("the task ends");
                    }
                });
            })
        })
    }))
}

#[derive(Clone, Copy)]
enum Hold {
    Yield,
    Sleep,
}

/// A closed loop for `span`: everybody who is served comes back at once.
fn waits<P: Pooling>(span: Duration, hold: Hold) -> Contender {
    gated::<P>(Contender::read(P::NAME, move || {
        let runtime = one_thread();
        runtime.block_on(async {
            let pool = warm::<P>().await;
            let start = Instant::now();
            let tasks: Vec<_> = (0..TASKS)
                .map(|_| {
                    let pool = pool.clone();
                    tokio::spawn(async move {
                        let mut waits = Vec::new();
                        while start.elapsed() < span {
                            let asked = Instant::now();
                            let guard = pool.get().await?;
                            waits.push(asked.elapsed().as_secs_f64() * 1e6);
                            match hold {
                                Hold::Yield => tokio::task::yield_now().await,
                                Hold::Sleep => tokio::time::sleep(Duration::from_millis(1)).await,
                            }
                            drop(guard);
                        }
                        Ok::<_, String>(waits)
                    })
                })
                .collect();
            let (mut all, mut served) = (Vec::new(), Vec::new());
            for task in tasks {
                let waits = task.await.map_err(|error| error.to_string())??;
                served.push(waits.len() as f64);
                all.extend(waits);
            }
            Ok(vec![
                Figure::new("p99.9 wait", quantile(&all, 0.999).unwrap_or(f64::NAN), "us"),
                Figure::new("worst wait", quantile(&all, 1.0).unwrap_or(f64::NAN), "us"),
                Figure::new("Jain index", jain(&served).unwrap_or(f64::NAN), ""),
                Figure::new("served", all.len() as f64, ""),
            ])
        })
    }))
}

/// A pool whose resources all exist.
async fn warm<P: Pooling>() -> P {
    let world: Arc<World> = World::new(Duration::ZERO, Duration::ZERO);
    let pool = P::with(&world, RESOURCES);
    let mut guards = Vec::new();
    for _ in 0..RESOURCES {
        guards.push(pool.get().await.expect("a resource for each"));
    }
    drop(guards);
    pool
}

fn one_thread() -> Runtime {
    Builder::new_current_thread().enable_time().build().expect("a runtime of one thread")
}

fn two_threads() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_time().build().expect("a runtime of two threads")
}
