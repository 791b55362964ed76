//! SQLite: one thread per connection, cancelling, transactions, databases in memory.
#![cfg(feature = "sqlite")]

#[path = "support/programs.rs"]
mod programs;

use std::sync::mpsc;
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt;
use lease_pool::sqlite::rusqlite::{self, ErrorCode};
use lease_pool::sqlite::{self, Error, Options, SqlitePool, SqlitePools};
use lease_pool::{GetError, Pool};
use programs::Folder;

/// Counts far beyond the patience of any test; only an interrupt ends it.
const ENDLESS: &str =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

async fn one_connection() -> SqlitePool {
    let pool = Pool::builder(Options::memory().manager()).max(1).build().unwrap();
    let connection = pool.get().await.unwrap();
    connection.call(|db| db.execute_batch("CREATE TABLE t (n INTEGER)")).await.unwrap();
    pool
}

async fn rows(pool: &SqlitePool) -> i64 {
    let connection = pool.get().await.unwrap();
    connection.call(|db| db.query_row("SELECT count(*) FROM t", [], |row| row.get(0))).await.unwrap()
}

/// Starts an operation that never ends by itself, and drops its future when it runs.
async fn cut_off_a_running_statement(connection: &sqlite::Connection) {
    let (started, running) = tokio::sync::oneshot::channel();
    let mut endless = Box::pin(connection.call(move |db| {
        started.send(()).unwrap();
        db.query_row(ENDLESS, [], |row| row.get::<_, i64>(0))
    }));
    tokio::select! {
        _ = &mut endless => panic!("it ends only when it is interrupted"),
        started = running => started.unwrap(),
    }
}

#[tokio::test]
async fn a_statement_whose_future_is_dropped_is_interrupted() {
    let pool = one_connection().await;
    let connection = pool.get().await.unwrap();
    cut_off_a_running_statement(&connection).await;
    // It comes after the endless one on the same thread, so its answer proves the end of that.
    let one: i64 = connection.call(|db| db.query_row("SELECT 1", [], |row| row.get(0))).await.unwrap();
    assert_eq!(one, 1);
}

#[tokio::test]
async fn the_next_user_is_not_hit_by_the_interrupt_for_the_last() {
    let pool = one_connection().await;
    for _ in 0..200 {
        let connection = pool.get().await.unwrap();
        cut_off_a_running_statement(&connection).await;
        drop(connection);
        assert_eq!(rows(&pool).await, 0);
    }
    assert_eq!(pool.stats().created, 1, "no connection was given up for it");
}

#[tokio::test]
async fn an_interrupt_that_comes_after_the_end_of_its_operation_hits_nobody() {
    let pool = one_connection().await;
    let connection = pool.get().await.unwrap();
    let (started, running) = mpsc::channel();
    let (let_go, go) = mpsc::channel::<()>();
    let mut first = Box::pin(connection.call(move |_| {
        started.send(()).unwrap();
        go.recv().unwrap();
        Ok(())
    }));
    assert!(first.as_mut().now_or_never().is_none());
    running.recv().unwrap();
    // Both are on their way: the first ends, the second starts, and only then is the first called off.
    let (second_started, second_running) = tokio::sync::oneshot::channel();
    let mut second = Box::pin(connection.call(move |db| {
        second_started.send(()).unwrap();
        db.query_row("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 200000) SELECT count(*) FROM n", [], |row| {
            row.get::<_, i64>(0)
        })
    }));
    assert_eq!(futures_util::poll!(second.as_mut()).map(|_| ()), Poll::Pending);
    let_go.send(()).unwrap();
    second_running.await.unwrap();
    drop(first);
    assert_eq!(second.await.unwrap(), 200_000);
}

#[tokio::test]
async fn an_operation_that_is_called_off_in_the_queue_never_runs() {
    let pool = one_connection().await;
    let connection = pool.get().await.unwrap();
    let (let_go, go) = mpsc::channel::<()>();
    let mut first = Box::pin(connection.run(move |_| go.recv().unwrap()));
    assert_eq!(futures_util::poll!(first.as_mut()).map(|_| ()), Poll::Pending);
    let mut queued = Box::pin(connection.call(|db| db.execute("INSERT INTO t VALUES (1)", [])));
    assert_eq!(futures_util::poll!(queued.as_mut()).map(|_| ()), Poll::Pending);
    drop(queued);
    let_go.send(()).unwrap();
    first.await.unwrap();
    drop(connection);
    assert_eq!(rows(&pool).await, 0);
}

#[tokio::test]
async fn an_unpolled_operation_never_runs() {
    let pool = one_connection().await;
    let connection = pool.get().await.unwrap();
    drop(connection.call(|db| db.execute("INSERT INTO t VALUES (1)", [])));
    assert!(!connection.is_working());
    drop(connection);
    assert_eq!(rows(&pool).await, 0);
}

#[tokio::test]
async fn a_transaction_left_open_is_rolled_back_before_the_next_user() {
    let pool = one_connection().await;
    let connection = pool.get().await.unwrap();
    connection.call(|db| db.execute_batch("BEGIN; INSERT INTO t VALUES (1)")).await.unwrap();
    assert!(connection.is_in_transaction());
    drop(connection);
    let connection = pool.get().await.unwrap();
    assert!(!connection.is_in_transaction());
    drop(connection);
    assert_eq!(rows(&pool).await, 0);
    assert_eq!(pool.stats().created, 1);
}

#[tokio::test]
async fn a_transaction_of_a_cancelled_task_is_rolled_back_before_the_next_user() {
    let pool = one_connection().await;
    let (started, running) = tokio::sync::oneshot::channel();
    let task = tokio::spawn({
        let pool = pool.clone();
        async move {
            let connection = pool.get().await.unwrap();
            connection.call(|db| db.execute_batch("BEGIN; INSERT INTO t VALUES (1)")).await.unwrap();
            let endless = connection.call(move |db| {
                started.send(()).unwrap();
                db.query_row(ENDLESS, [], |row| row.get::<_, i64>(0))
            });
            endless.await
        }
    });
    running.await.unwrap();
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    assert_eq!(rows(&pool).await, 0);
    assert_eq!(pool.stats().created, 1);
}

#[tokio::test]
async fn waiting_for_a_lock_ends_when_the_future_is_dropped() {
    let folder = Folder::new("sqlite");
    let file = folder.path().join("busy.db");
    // An hour is as good as for ever: only the cancel can end the wait.
    let options = Options::file(&file).busy_timeout(Duration::from_secs(3600));
    let pool = Pool::builder(options.manager()).max(2).build().unwrap();
    let holder = pool.get().await.unwrap();
    holder.call(|db| db.execute_batch("CREATE TABLE t (n); BEGIN EXCLUSIVE")).await.unwrap();
    let waiting = pool.get().await.unwrap();
    let (started, running) = tokio::sync::oneshot::channel();
    let mut blocked = Box::pin(waiting.call(move |db| {
        started.send(()).unwrap();
        db.execute("INSERT INTO t VALUES (1)", [])
    }));
    tokio::select! {
        _ = &mut blocked => panic!("the lock is held"),
        started = running => started.unwrap(),
    }
    drop(blocked);
    // Any statement would wait for the same lock; that the thread is free is what there is to see.
    assert!(waiting.run(|db| db.is_autocommit()).await.unwrap());
}

#[tokio::test]
async fn waiting_for_a_lock_ends_with_busy_after_the_busy_timeout() {
    let folder = Folder::new("sqlite");
    let options = Options::file(folder.path().join("busy.db")).busy_timeout(Duration::from_millis(20));
    let pool = Pool::builder(options.manager()).max(2).build().unwrap();
    let holder = pool.get().await.unwrap();
    holder.call(|db| db.execute_batch("CREATE TABLE t (n); BEGIN EXCLUSIVE")).await.unwrap();
    let waiting = pool.get().await.unwrap();
    let error = waiting.call(|db| db.execute("INSERT INTO t VALUES (1)", [])).await.unwrap_err();
    assert_eq!(error.sqlite().unwrap().sqlite_error_code(), Some(ErrorCode::DatabaseBusy));
    holder.call(|db| db.execute_batch("ROLLBACK")).await.unwrap();
    waiting.call(|db| db.execute("INSERT INTO t VALUES (1)", [])).await.unwrap();
}

#[tokio::test]
async fn a_panic_of_a_closure_reaches_its_caller_and_the_connection_lives() {
    let pool = one_connection().await;
    let connection = pool.get().await.unwrap();
    let panicking = connection.call(|_| -> rusqlite::Result<()> { panic!("of the closure") });
    let panic = std::panic::AssertUnwindSafe(panicking).catch_unwind().await.unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"of the closure"));
    drop(connection);
    assert_eq!(rows(&pool).await, 0);
    assert_eq!(pool.stats().created, 1);
}

#[tokio::test]
async fn connections_of_one_memory_pool_share_the_database_and_it_outlives_them_all() {
    let pool = sqlite::pool(":memory:").unwrap();
    let (a, b) = (pool.get().await.unwrap(), pool.get().await.unwrap());
    a.call(|db| db.execute_batch("CREATE TABLE t (n); INSERT INTO t VALUES (7)")).await.unwrap();
    let seven: i64 = b.call(|db| db.query_row("SELECT n FROM t", [], |row| row.get(0))).await.unwrap();
    assert_eq!(seven, 7);
    lease_pool::Pooled::discard(a);
    lease_pool::Pooled::discard(b);
    assert_eq!(rows(&pool).await, 1);
    assert_eq!(pool.stats().created, 3);
}

#[tokio::test]
async fn two_memory_pools_do_not_share_a_database() {
    let (pool, other) = (sqlite::pool(":memory:").unwrap(), sqlite::pool(":memory:").unwrap());
    pool.get().await.unwrap().call(|db| db.execute_batch("CREATE TABLE t (n)")).await.unwrap();
    let connection = other.get().await.unwrap();
    assert!(connection.call(|db| db.execute("INSERT INTO t VALUES (1)", [])).await.is_err());
}

#[tokio::test]
async fn many_first_connections_to_a_new_file_all_get_wal() {
    let folder = Folder::new("sqlite");
    let options = Options::file(folder.path().join("new.db")).wal();
    let pool = Pool::builder(options.manager()).max(8).create_concurrency(8).build().unwrap();
    let gets = (0..8).map(|_| pool.get());
    for connection in futures_util::future::try_join_all(gets).await.unwrap() {
        let mode: String =
            connection.call(|db| db.query_row("PRAGMA journal_mode", [], |row| row.get(0))).await.unwrap();
        assert_eq!(mode, "wal");
    }
}

#[tokio::test]
async fn an_impossible_file_fails_at_once_with_its_name() {
    let pool = sqlite::pool("/nowhere/at/all.db").unwrap();
    let error = pool.get().await.unwrap_err();
    assert!(matches!(error, GetError::Create { .. }), "{error:?}");
    assert!(error_chain(&error).contains("/nowhere/at/all.db"), "{}", error_chain(&error));
}

fn error_chain(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source()).map(|error| format!("{error}; ")).collect()
}

#[tokio::test]
async fn readers_cannot_write_and_see_what_the_writer_wrote() {
    let folder = Folder::new("sqlite");
    let pools = SqlitePools::open(folder.path().join("pools.db"), 3).unwrap();
    let writer = pools.writer.get().await.unwrap();
    writer.call(|db| db.execute_batch("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1)")).await.unwrap();
    assert_eq!(rows(&pools.readers).await, 1);
    let reader = pools.readers.get().await.unwrap();
    let error = reader.call(|db| db.execute("INSERT INTO t VALUES (2)", [])).await.unwrap_err();
    assert_eq!(error.sqlite().unwrap().sqlite_error_code(), Some(ErrorCode::ReadOnly));
}

#[tokio::test]
async fn a_transaction_of_the_writer_takes_the_write_lock_at_its_start() {
    let folder = Folder::new("sqlite");
    let file = folder.path().join("pools.db");
    let pools = SqlitePools::open(&file, 1).unwrap();
    let writer = pools.writer.get().await.unwrap();
    writer
        .call(move |db| {
            let transaction = db.transaction()?;
            let other = rusqlite::Connection::open(&file)?;
            other.busy_timeout(Duration::ZERO)?;
            let error = other.execute_batch("BEGIN IMMEDIATE").unwrap_err();
            assert_eq!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy));
            transaction.commit()
        })
        .await
        .unwrap();
}

#[tokio::test]
async fn a_drained_pool_has_closed_its_files() {
    let folder = Folder::new("sqlite");
    let pool = sqlite::pool(folder.path().join("files.db")).unwrap();
    let gets = (0..4).map(|_| pool.get());
    drop(futures_util::future::try_join_all(gets).await.unwrap());
    assert!(open_files(folder.path()) > 0);
    pool.drain(Duration::from_secs(60)).await.unwrap();
    assert_eq!(open_files(folder.path()), 0);
}

fn open_files(folder: &std::path::Path) -> usize {
    let files = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    files.filter(|file| std::fs::read_link(file.path()).is_ok_and(|file| file.starts_with(folder))).count()
}

#[tokio::test]
async fn a_closure_stuck_outside_sqlite_keeps_its_place_until_it_ends() {
    let pool = one_connection().await;
    let connection = pool.get().await.unwrap();
    let (started, running) = tokio::sync::oneshot::channel();
    let (let_go, go) = mpsc::channel::<()>();
    let mut stuck = Box::pin(connection.run(move |_| {
        started.send(()).unwrap();
        go.recv().unwrap();
    }));
    tokio::select! {
        _ = &mut stuck => panic!("it waits for the test"),
        started = running => started.unwrap(),
    }
    drop(stuck);
    assert!(connection.is_working());
    drop(connection);
    assert!(pool.try_get().is_err(), "nobody gets the connection before the closure has ended");
    assert_eq!(pool.snapshot().resetting, 1);
    let_go.send(()).unwrap();
    assert_eq!(rows(&pool).await, 0);
    assert_eq!(pool.stats().created, 1);
}

#[tokio::test]
async fn statements_are_kept_through_several_users() {
    let pool = one_connection().await;
    for n in 0..3 {
        let connection = pool.get().await.unwrap();
        let sum: i64 = connection
            .call(move |db| db.prepare_cached("SELECT ?1 + 1")?.query_row([n], |row| row.get(0)))
            .await
            .unwrap();
        assert_eq!(sum, n + 1);
    }
}

#[test]
fn a_thread_outside_a_runtime_can_call() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let pool = sqlite::pool(":memory:").unwrap();
    let connection = runtime.block_on(pool.get()).unwrap();
    let one: i64 = connection.blocking_call(|db| db.query_row("SELECT 1", [], |row| row.get(0))).unwrap();
    assert_eq!(one, 1);
    let error: Error = connection.blocking_call(|db| db.execute_batch("nonsense")).unwrap_err();
    assert!(error.to_string().contains("nonsense"), "{error}");
}
