//! Tasks that hold everything and wait for more.

mod support;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lease_pool::testing::Scripted;
use lease_pool::{GetError, NestedGet, Pooled};
use proptest::prelude::*;
use support::{assert_quiet, ms, scripted};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

#[tokio::test(start_paused = true)]
async fn a_task_that_holds_everything_and_asks_for_more_is_told() {
    let (_, builder) = scripted(2);
    let pool = builder.nested_get(NestedGet::Deny).build().unwrap();
    let task = tokio::spawn({
        let pool = pool.clone();
        async move {
            let line = line!() + 1;
            let _one = pool.get().await.unwrap();
            let _two = pool.get().await.unwrap();
            let asked = Instant::now();
            let error = pool.get().await.unwrap_err();
            assert!(asked.elapsed() < Duration::from_secs(1), "long before the deadline");
            match error {
                GetError::WouldDeadlock { holders } => {
                    assert_eq!(holders.total(), 2);
                    let place = holders.oldest()[0].place.unwrap();
                    assert!(place.file().ends_with("nested.rs"));
                    assert_eq!(place.line(), line);
                }
                other => panic!("{other:?}"),
            }
        }
    });
    task.await.unwrap();
    assert_quiet(&pool);
    assert_eq!(pool.stats().nested_gets, 1);
}

#[tokio::test(start_paused = true)]
async fn outside_of_tasks_a_thread_counts_as_one() {
    let (_, builder) = scripted(1);
    let pool = builder.nested_get(NestedGet::Deny).build().unwrap();
    let held = pool.get().await.unwrap();
    assert!(matches!(pool.get().await.unwrap_err(), GetError::WouldDeadlock { .. }));
    let waiter = tokio::spawn({
        let pool = pool.clone();
        async move { pool.get().await.map(drop).is_ok() }
    });
    sleep(ms(500)).await;
    drop(held);
    assert!(waiter.await.unwrap(), "a holder that does not wait is no deadlock");
}

#[tokio::test(start_paused = true)]
async fn a_circle_of_tasks_loses_one_and_goes_on() {
    let (_, builder) = scripted(3);
    let pool = builder.nested_get(NestedGet::Deny).build().unwrap();
    let tasks: Vec<_> = (0..3)
        .map(|_| {
            let pool = pool.clone();
            tokio::spawn(async move {
                let _one = pool.get().await.unwrap();
                sleep(ms(1)).await;
                pool.get().await.map(drop).is_ok()
            })
        })
        .collect();
    let mut served = 0;
    for task in tasks {
        served += usize::from(task.await.unwrap());
    }
    assert_eq!(served, 2, "one gives way, the others are served");
    assert_quiet(&pool);
}

#[tokio::test(start_paused = true)]
async fn by_default_it_is_counted_once_per_place_and_nobody_fails_early() {
    let (_, builder) = scripted(1);
    let pool = builder.build().unwrap();
    for _ in 0..3 {
        let pool = pool.clone();
        let task = tokio::spawn(async move {
            let _one = pool.get().await.unwrap();
            let asked = Instant::now();
            assert!(pool.get_timeout(Duration::from_secs(2)).await.unwrap_err().is_timeout());
            asked.elapsed()
        });
        assert!(task.await.unwrap() >= Duration::from_secs(2));
    }
    assert_eq!(pool.stats().nested_gets, 1);
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_works_is_no_deadlock() {
    let (_, builder) = scripted(2);
    let pool = builder.nested_get(NestedGet::Deny).build().unwrap();
    let worker = tokio::spawn({
        let pool = pool.clone();
        async move {
            let _guard = pool.get().await.unwrap();
            sleep(Duration::from_secs(5)).await;
        }
    });
    let waiter = tokio::spawn({
        let pool = pool.clone();
        async move {
            let _one = pool.get().await.unwrap();
            sleep(ms(1)).await;
            pool.get().await.map(drop).is_ok()
        }
    });
    assert!(waiter.await.unwrap());
    worker.await.unwrap();
    assert_eq!(pool.stats().nested_gets, 0);
}

#[tokio::test(start_paused = true)]
async fn a_guard_used_by_another_task_is_no_deadlock_of_its_taker() {
    for adopts in [true, false] {
        let (_, builder) = scripted(1);
        let pool = builder.nested_get(NestedGet::Deny).build().unwrap();
        let taker = tokio::spawn({
            let pool = pool.clone();
            async move {
                let mut guard = pool.get().await.unwrap();
                let other = tokio::spawn(async move {
                    if adopts {
                        Pooled::adopt(&mut guard);
                    } else {
                        assert_eq!(guard.number(), 1);
                    }
                    sleep(Duration::from_secs(3)).await;
                });
                let served = pool.get().await.map(drop).is_ok();
                other.await.unwrap();
                served
            }
        });
        assert!(taker.await.unwrap(), "adopts: {adopts}");
        assert_eq!(pool.stats().nested_gets, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_holder_whose_own_get_gives_up_first_is_no_deadlock() {
    let (_, builder) = scripted(2);
    let pool = builder.nested_get(NestedGet::Deny).build().unwrap();
    let impatient = tokio::spawn({
        let pool = pool.clone();
        async move {
            let _one = pool.get().await.unwrap();
            sleep(ms(1)).await;
            pool.get_timeout(ms(60)).await.map(drop)
        }
    });
    let patient = tokio::spawn({
        let pool = pool.clone();
        async move {
            let _one = pool.get().await.unwrap();
            sleep(ms(1)).await;
            pool.get_timeout(Duration::from_secs(9)).await.map(drop)
        }
    });
    assert!(impatient.await.unwrap().is_err());
    assert!(patient.await.unwrap().is_ok(), "served when the other gives up");
}

/// Two gets of one task driven at once look like a nested get: documented, and pinned here.
#[tokio::test(start_paused = true)]
async fn joined_gets_of_one_task_are_taken_for_nested_ones() {
    let (_, builder) = scripted(1);
    let pool = builder.nested_get(NestedGet::Deny).build().unwrap();
    let task = tokio::spawn({
        let pool = pool.clone();
        async move {
            let use_it = || async {
                let guard = pool.get().await?;
                sleep(Duration::from_secs(1)).await;
                drop(guard);
                Ok::<_, GetError<_>>(())
            };
            tokio::join!(use_it(), use_it())
        }
    });
    let (one, two) = task.await.unwrap();
    assert!(one.is_ok());
    assert!(matches!(two.unwrap_err(), GetError::WouldDeadlock { .. }));
}

#[derive(Clone, Debug)]
enum Step {
    Get,
    Release,
    Hand(usize),
    Sleep(u64),
    Yield,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => Just(Step::Get),
        3 => Just(Step::Release),
        2 => (0..4_usize).prop_map(Step::Hand),
        2 => (1..200_u64).prop_map(Step::Sleep),
        1 => Just(Step::Yield),
    ];
    prop::collection::vec(step, 0..8)
}

/// Who really holds how many, and who really waits: kept by the tasks themselves.
#[derive(Default)]
struct Truth {
    holds: HashMap<usize, usize>,
    waits: HashMap<usize, bool>,
    on_the_way: usize,
}

impl Truth {
    fn is_deadlock(&self) -> bool {
        let mut holders = self.holds.iter().filter(|(_, held)| **held > 0);
        self.on_the_way == 0 && holders.all(|(task, _)| self.waits.get(task) == Some(&true))
    }
}

fn run(programs: Vec<Vec<Step>>, size: usize) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async move {
        let (_, builder) = scripted(size);
        let pool = builder.nested_get(NestedGet::Deny).acquire_timeout(ms(700)).build().unwrap();
        let truth = Arc::new(Mutex::new(Truth::default()));
        let (senders, receivers): (Vec<_>, Vec<_>) =
            programs.iter().map(|_| mpsc::unbounded_channel::<Pooled<Scripted>>()).unzip();
        let mut tasks = Vec::new();
        for ((me, program), mut inbox) in programs.into_iter().enumerate().zip(receivers) {
            let (pool, truth, senders) = (pool.clone(), Arc::clone(&truth), senders.clone());
            // Others take handed guards up, touch them and hold them for a while.
            tasks.push(tokio::spawn({
                let truth = Arc::clone(&truth);
                async move {
                    let mut users = Vec::new();
                    while let Some(guard) = inbox.recv().await {
                        let truth = Arc::clone(&truth);
                        users.push(tokio::spawn(async move {
                            assert!(guard.number() > 0);
                            sleep(ms(150)).await;
                            truth.lock().unwrap().on_the_way -= 1;
                            drop(guard);
                        }));
                    }
                    for user in users {
                        user.await.unwrap();
                    }
                }
            }));
            tasks.push(tokio::spawn(async move {
                let mut held = Vec::new();
                for step in program {
                    match step {
                        Step::Get => {
                            truth.lock().unwrap().waits.insert(me, true);
                            let got = pool.get().await;
                            let mut truth = truth.lock().unwrap();
                            match got {
                                Ok(guard) => {
                                    held.push(guard);
                                    *truth.holds.entry(me).or_default() += 1;
                                }
                                Err(GetError::WouldDeadlock { .. }) => {
                                    assert!(truth.is_deadlock(), "a false alarm");
                                }
                                Err(error) => assert!(error.is_timeout()),
                            }
                            truth.waits.insert(me, false);
                        }
                        Step::Release => {
                            if held.pop().is_some() {
                                *truth.lock().unwrap().holds.entry(me).or_default() -= 1;
                            }
                        }
                        Step::Hand(to) => {
                            if let Some(guard) = held.pop() {
                                let mut truth = truth.lock().unwrap();
                                *truth.holds.entry(me).or_default() -= 1;
                                truth.on_the_way += 1;
                                senders[to % senders.len()].send(guard).ok().unwrap();
                            }
                        }
                        Step::Sleep(span) => sleep(ms(span)).await,
                        Step::Yield => tokio::task::yield_now().await,
                    }
                }
                let mut truth = truth.lock().unwrap();
                truth.holds.insert(me, 0);
            }));
        }
        drop(senders);
        for task in tasks {
            task.await.unwrap();
        }
        assert_quiet(&pool);
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_schedule_of_plain_tasks_raises_a_false_alarm(
        programs in prop::collection::vec(steps(), 1..5),
        size in 1..4_usize,
    ) {
        run(programs, size);
    }
}
