//! The task executor: bounds, ends of tasks, drain.
#![cfg(feature = "executor")]

use std::future::{Future, pending};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Waker};

use semaphore_core::{SpawnError, TaskExecutor};
use tokio::time::{Duration, Instant};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn never_more_than_n_run_as_counted_by_the_tasks() {
    const N: usize = 3;
    let executor = TaskExecutor::new(N, usize::MAX).unwrap();
    let (now, peak) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let spawners: Vec<_> = (0..8)
        .map(|_| {
            let (executor, now, peak) = (executor.clone(), now.clone(), peak.clone());
            tokio::spawn(async move {
                for _ in 0..500 {
                    let (now, peak) = (now.clone(), peak.clone());
                    let task = executor.spawn(async move {
                        peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        tokio::task::yield_now().await;
                        now.fetch_sub(1, Ordering::SeqCst);
                    });
                    task.await.unwrap().await.unwrap();
                }
            })
        })
        .collect();
    for spawner in spawners {
        spawner.await.unwrap();
    }
    assert!(peak.load(Ordering::SeqCst) <= N);
    assert!(peak.load(Ordering::SeqCst) > 1, "they did overlap");
    let stats = executor.stats();
    assert_eq!((stats.completed, stats.running, stats.queued), (4000, 0, 0));
}

#[tokio::test]
async fn the_queue_never_exceeds_q_and_a_cancelled_spawn_leaves_it() {
    let executor = TaskExecutor::new(1, 1).unwrap();
    let running = executor.try_spawn(pending::<()>()).unwrap();
    let mut cx = Context::from_waker(Waker::noop());
    let ran = Arc::new(AtomicBool::new(false));
    {
        let flag = ran.clone();
        let mut waiting = pin!(executor.spawn(async move { flag.store(true, Ordering::SeqCst) }));
        assert!(waiting.as_mut().poll(&mut cx).is_pending());
        assert_eq!(executor.stats().queued, 1);
        assert!(matches!(executor.spawn(async {}).await, Err(SpawnError::QueueFull(_))));
        assert!(matches!(executor.try_spawn(async {}), Err(SpawnError::Full(_))));
    }
    assert_eq!(executor.stats().queued, 0);
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    executor.spawn(async {}).await.unwrap().await.unwrap();
    assert!(!ran.load(Ordering::SeqCst), "the cancelled future never ran");
}

#[tokio::test]
async fn a_panicking_and_an_aborted_task_give_their_places_back() {
    let executor = TaskExecutor::new(1, 1).unwrap();
    let task = executor.spawn(async { panic!("on purpose") }).await.unwrap();
    assert!(task.await.unwrap_err().is_panic());
    let task = executor.spawn(pending::<()>()).await.unwrap();
    tokio::task::yield_now().await;
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    let task = executor.spawn(async { 1 }).await.unwrap();
    assert_eq!(task.await.unwrap(), 1);
    let stats = executor.stats();
    assert_eq!((stats.started, stats.completed, stats.panicked, stats.aborted), (3, 1, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn drain_waits_for_those_that_end_and_names_those_that_do_not() {
    let executor = TaskExecutor::new(3, 3).unwrap();
    executor.try_spawn(tokio::time::sleep(Duration::from_secs(1))).unwrap();
    let endless = executor.try_spawn(pending::<()>()).unwrap();
    let start = Instant::now();
    let report = executor.drain(start + Duration::from_secs(5)).await;
    assert_eq!(report.finished, 1);
    assert_eq!(report.aborted, [endless.id()]);
    assert!(report.still_running.is_empty());
    assert!(start.elapsed() >= Duration::from_secs(5));
    assert!(endless.await.unwrap_err().is_cancelled());
    assert!(matches!(executor.try_spawn(async {}), Err(SpawnError::Closed(_))));
    assert!(matches!(executor.spawn(async {}).await, Err(SpawnError::Closed(_))));
}

#[tokio::test(start_paused = true)]
async fn drain_ends_early_when_every_task_ends() {
    let executor = TaskExecutor::new(2, 0).unwrap();
    executor.try_spawn(tokio::time::sleep(Duration::from_secs(1))).unwrap();
    let start = Instant::now();
    let report = executor.drain(start + Duration::from_secs(60)).await;
    assert_eq!((report.finished, report.aborted.len()), (1, 0));
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[test]
fn a_task_that_does_not_yield_is_reported_as_still_running() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap();
    let executor = TaskExecutor::new(1, 0).unwrap();
    let (started, stop) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (running, until) = (started.clone(), stop.clone());
    let stubborn = {
        let _inside = runtime.enter();
        let task = executor.try_spawn(async move {
            running.store(true, Ordering::SeqCst);
            while !until.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
        });
        task.unwrap()
    };
    while !started.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
    let other = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let report = other.block_on(executor.drain(Instant::now()));
    assert_eq!(report.still_running, [stubborn.id()]);
    stop.store(true, Ordering::SeqCst);
    runtime.block_on(stubborn).unwrap_or(());
    assert_eq!(executor.stats().running, 0, "the place came back when it ended");
}

#[tokio::test]
async fn tasks_outlive_a_dropped_executor() {
    let executor = TaskExecutor::new(1, 0).unwrap();
    let task = executor.try_spawn(async { 5 }).unwrap();
    drop(executor);
    assert_eq!(task.await.unwrap(), 5);
}
