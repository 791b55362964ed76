//! PostgreSQL: what reaches the next user of a connection, and what does not. Against a real server.
#![cfg(feature = "postgres")]

#[path = "support/programs.rs"]
mod programs;

use std::time::Duration;

use futures_util::FutureExt;
use lease_pool::manager::CloseReason;
use lease_pool::postgres::tokio_postgres::NoTls;
use lease_pool::postgres::{Client, Options, Reset, tokio_postgres};
use lease_pool::{GetError, PgPool, Pool, Pooled, postgres};
use programs::Postgres;

/// The lock that the tests hold while a query has to stay at the server.
const GATE: &str = "SELECT pg_advisory_lock(1)";

/// A connection outside the pool, to look at the server and to hold the gate.
async fn witness(server: &Postgres) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(&server.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

fn pool_of(server: &Postgres, max: usize, reset: Reset) -> PgPool {
    let options = Options::from_url(&server.url()).unwrap().reset(reset);
    Pool::builder(options.manager()).max(max).build().unwrap()
}

async fn pid(client: &Client) -> i32 {
    client.query_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0)
}

/// Waits until the server says that this backend waits at the gate.
async fn until_at_gate(witness: &tokio_postgres::Client, pid: i32) {
    let query = "SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'advisory'";
    while witness.query_one(query, &[&pid]).await.unwrap().get::<_, i64>(0) == 0 {
        tokio::task::yield_now().await;
    }
}

/// Leaves a query at the gate and drops its future.
async fn cut_off_at_gate(client: &Client, witness: &tokio_postgres::Client) {
    let pid = pid(client).await;
    tokio::select! {
        _ = client.batch_execute(GATE) => panic!("the gate is held"),
        () = until_at_gate(witness, pid) => {}
    }
}

#[tokio::test]
async fn a_cancelled_query_frees_its_place_only_when_the_server_is_done() {
    let Some(server) = Postgres::start(&[]) else { return };
    let witness = witness(&server).await;
    witness.batch_execute(GATE).await.unwrap();
    let pool = pool_of(&server, 1, Reset::IfDirty);
    let client = pool.get().await.unwrap();
    let backend = pid(&client).await;
    cut_off_at_gate(&client, &witness).await;
    drop(client);
    assert!(pool.get().now_or_never().is_none(), "its query is still at the server");
    let client = pool.get().await.unwrap();
    let query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory'";
    assert_eq!(witness.query_one(query, &[]).await.unwrap().get::<_, i64>(0), 0);
    assert_eq!(pid(&client).await, backend, "the connection was kept");
}

#[tokio::test]
async fn a_use_cut_off_between_write_and_read_leaves_no_answer_to_the_next() {
    let Some(server) = Postgres::start(&[]) else { return };
    let pool = pool_of(&server, 1, Reset::IfDirty);
    for n in 0..300_i32 {
        let client = pool.get().await.unwrap();
        let old = -n - 1;
        // One poll queues the message; a few more let it out at different points of the exchange.
        let params: [&(dyn tokio_postgres::types::ToSql + Sync); 1] = [&old];
        let mut cut_off = Box::pin(client.query_one("SELECT $1::int4", &params));
        for _ in 0..=n % 4 {
            if futures_util::poll!(cut_off.as_mut()).is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(cut_off);
        drop(client);
        let client = pool.get().await.unwrap();
        let row = client.query_one("SELECT $1::int4", &[&n]).await.unwrap();
        assert_eq!(row.get::<_, i32>(0), n);
    }
    assert_eq!(pool.stats().created, 1, "no healthy connection was given up");
}

#[tokio::test]
async fn a_late_cancel_request_never_hits_the_next_user() {
    let Some(server) = Postgres::start(&[]) else { return };
    // Asked to cancel at once, the request always races the end of a query that ends by itself.
    let options = Options::from_url(&server.url()).unwrap().cancel_after(Duration::ZERO);
    let pool = Pool::builder(options.manager()).max(1).build().unwrap();
    for n in 0..200_i32 {
        let client = pool.get().await.unwrap();
        let mut cut_off = Box::pin(client.batch_execute("SELECT count(*) FROM generate_series(1, 2000)"));
        assert!(futures_util::poll!(cut_off.as_mut()).is_pending());
        drop(cut_off);
        drop(client);
        let client = pool.get().await.unwrap();
        // Long enough to be hit by a signal that is still on its way.
        let row = client.query_one("SELECT count(*)::int4 + $1 FROM generate_series(1, 2000)", &[&n]).await;
        assert_eq!(row.unwrap().get::<_, i32>(0), 2000 + n);
    }
    assert_eq!(pool.stats().created, 1, "no healthy connection was given up");
}

#[tokio::test]
async fn a_transaction_left_open_by_a_cancelled_task_is_rolled_back() {
    let Some(server) = Postgres::start(&[]) else { return };
    let witness = witness(&server).await;
    witness.batch_execute("CREATE TABLE t (n int4)").await.unwrap();
    witness.batch_execute(GATE).await.unwrap();
    let pool = pool_of(&server, 1, Reset::IfDirty);
    let backend = pid(&pool.get().await.unwrap()).await;
    let task = tokio::spawn({
        let pool = pool.clone();
        async move {
            let mut client = pool.get().await.unwrap();
            let transaction = client.transaction().await.unwrap();
            transaction.batch_execute("INSERT INTO t VALUES (1)").await.unwrap();
            transaction.batch_execute(GATE).await.unwrap();
            transaction.commit().await.unwrap();
        }
    });
    until_at_gate(&witness, backend).await;
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    let client = pool.get().await.unwrap();
    assert_eq!(pid(&client).await, backend);
    assert!(!client.is_in_transaction());
    client.batch_execute("INSERT INTO t VALUES (2)").await.unwrap();
    let rows = witness.query("SELECT n FROM t", &[]).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.get(0)).collect::<Vec<i32>>(), [2]);
}

#[tokio::test]
async fn a_raw_begin_is_rolled_back_wherever_it_stood() {
    let Some(server) = Postgres::start(&[]) else { return };
    let pool = pool_of(&server, 1, Reset::IfDirty);
    pool.get().await.unwrap().batch_execute("CREATE TABLE t (n int4)").await.unwrap();
    for begin in ["BEGIN", "SELECT 1; START TRANSACTION", "/* a */ begin; INSERT INTO t VALUES (0)"] {
        let client = pool.get().await.unwrap();
        client.batch_execute(begin).await.unwrap();
        assert!(client.is_in_transaction());
        client.batch_execute("INSERT INTO t VALUES (1)").await.unwrap();
        drop(client);
        let client = pool.get().await.unwrap();
        assert!(!client.is_in_transaction(), "{begin}");
        let row = client.query_one("SELECT count(*) FROM t", &[]).await.unwrap();
        assert_eq!(row.get::<_, i64>(0), 0, "{begin}");
    }
    // A failed transaction is open as well.
    let client = pool.get().await.unwrap();
    assert!(client.batch_execute("BEGIN; SELECT 1/0").await.is_err());
    drop(client);
    pool.get().await.unwrap().batch_execute("SELECT 1").await.unwrap();
    // An error outside of one leaves nothing behind.
    let client = pool.get().await.unwrap();
    assert!(client.batch_execute("SELECT 1/0").await.is_err());
    client.batch_execute("SELECT 1").await.unwrap();
    assert!(!client.is_in_transaction());
    drop(client);
    assert_eq!(pool.stats().created, 1);
    assert!(!server.log().contains("there is no transaction in progress"), "{}", server.log());
}

#[tokio::test]
async fn a_clean_return_sends_nothing_unless_the_mode_is_clean() {
    let Some(server) = Postgres::start(&["log_statement=all"]) else { return };
    for (reset, expected) in [(Reset::None, false), (Reset::IfDirty, false), (Reset::Clean, true)] {
        let pool = pool_of(&server, 1, reset);
        pool.get().await.unwrap().batch_execute("SELECT 'marked'").await.unwrap();
        drop(pool.get().await.unwrap());
        pool.drain(Duration::from_secs(60)).await.unwrap();
        let log = server.log();
        let since = log.rfind("'marked'").unwrap();
        assert_eq!(log[since..].contains("UNLISTEN"), expected, "{reset:?}: {log}");
        assert_eq!(log[since..].matches("statement:").count() > 0, expected, "{reset:?}: {log}");
    }
}

#[tokio::test]
async fn mode_none_keeps_the_transaction_and_still_cancels_what_was_cut_off() {
    let Some(server) = Postgres::start(&[]) else { return };
    let witness = witness(&server).await;
    witness.batch_execute(GATE).await.unwrap();
    let pool = pool_of(&server, 1, Reset::None);
    let client = pool.get().await.unwrap();
    client.batch_execute("BEGIN").await.unwrap();
    drop(client);
    let client = pool.get().await.unwrap();
    assert!(client.is_in_transaction());
    client.batch_execute("ROLLBACK").await.unwrap();
    cut_off_at_gate(&client, &witness).await;
    drop(client);
    let client = pool.get().await.unwrap();
    client.batch_execute("SELECT 1").await.unwrap();
    assert_eq!(pool.stats().created, 1);
}

#[tokio::test]
async fn mode_clean_discards_the_session_and_keeps_the_statements() {
    let Some(server) = Postgres::start(&[]) else { return };
    let pool = pool_of(&server, 1, Reset::Clean);
    let client = pool.get().await.unwrap();
    let setup = "CREATE TEMP TABLE temporary (n int4); SET work_mem = '77MB'; SELECT pg_advisory_lock(7); \
                 LISTEN channel; CREATE SEQUENCE s; SELECT nextval('s'); \
                 DECLARE c CURSOR WITH HOLD FOR SELECT 1";
    client.batch_execute(setup).await.unwrap();
    client.prepare_cached("SELECT $1::int4").await.unwrap();
    drop(client);
    let client = pool.get().await.unwrap();
    let left = "SELECT (SELECT count(*) FROM pg_class WHERE relname = 'temporary')
        + (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory')
        + (SELECT count(*) FROM pg_cursors WHERE name = 'c')
        + (SELECT count(*) FROM pg_listening_channels())
        + (SELECT count(*) FROM pg_settings WHERE name = 'work_mem' AND setting = '78848')";
    assert_eq!(client.query_one(left, &[]).await.unwrap().get::<_, i64>(0), 0);
    assert!(client.batch_execute("SELECT currval('s')").await.is_err(), "sequences are forgotten");
    assert_eq!(client.cached_statements(), 1);
    let statement = client.prepare_cached("SELECT $1::int4").await.unwrap();
    assert_eq!(client.query_one(&statement, &[&5]).await.unwrap().get::<_, i32>(0), 5);
    assert_eq!(pool.stats().created, 1);
}

#[tokio::test]
async fn kept_statements_are_reused_bounded_and_forgotten_when_the_server_says_so() {
    let Some(server) = Postgres::start(&[]) else { return };
    let options = Options::from_url(&server.url()).unwrap().statement_cache(2);
    let pool = Pool::builder(options.manager()).max(1).build().unwrap();
    let client = pool.get().await.unwrap();
    client.batch_execute("CREATE TABLE t (n int4); INSERT INTO t VALUES (1)").await.unwrap();
    for text in ["SELECT 1", "SELECT 2", "SELECT * FROM t", "SELECT * FROM t"] {
        let statement = client.prepare_cached(text).await.unwrap();
        client.query_one(&statement, &[]).await.unwrap();
    }
    assert_eq!(client.cached_statements(), 2);
    let count = "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'SELECT%t'";
    assert_eq!(client.query_one(count, &[]).await.unwrap().get::<_, i64>(0), 1, "prepared once");
    client.batch_execute("ALTER TABLE t ADD COLUMN m int4").await.unwrap();
    let stale = client.prepare_cached("SELECT * FROM t").await.unwrap();
    assert!(client.query_one(&stale, &[]).await.is_err());
    assert_eq!(client.cached_statements(), 0);
    let fresh = client.prepare_cached("SELECT * FROM t").await.unwrap();
    assert_eq!(client.query_one(&fresh, &[]).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_terminated_backend_costs_one_connection_and_one_failed_query_at_most() {
    let Some(server) = Postgres::start(&[]) else { return };
    let witness = witness(&server).await;
    let pool = pool_of(&server, 1, Reset::IfDirty);
    let client = pool.get().await.unwrap();
    let backend = pid(&client).await;
    drop(client);
    witness.query_one("SELECT pg_terminate_backend($1, 60000)", &[&backend]).await.unwrap();
    // The end of the socket may not have been read yet; then the first query finds out.
    for _ in 0..2 {
        let client = pool.get().await.unwrap();
        if client.batch_execute("SELECT 1").await.is_ok() {
            assert_ne!(pid(&client).await, backend);
            assert_eq!(pool.stats().created, 2);
            assert_eq!(pool.stats().closed(CloseReason::Broken), 1);
            return;
        }
    }
    panic!("two failures from one terminated backend");
}

#[tokio::test]
async fn a_backend_terminated_in_mid_query_frees_its_place() {
    let Some(server) = Postgres::start(&[]) else { return };
    let witness = witness(&server).await;
    witness.batch_execute(GATE).await.unwrap();
    let pool = pool_of(&server, 1, Reset::IfDirty);
    let client = pool.get().await.unwrap();
    let backend = pid(&client).await;
    cut_off_at_gate(&client, &witness).await;
    witness.query_one("SELECT pg_terminate_backend($1, 60000)", &[&backend]).await.unwrap();
    drop(client);
    let client = pool.get().await.unwrap();
    assert_ne!(pid(&client).await, backend);
}

#[tokio::test]
async fn a_closed_connection_is_gone_from_the_server() {
    let Some(server) = Postgres::start(&[]) else { return };
    let witness = witness(&server).await;
    witness.batch_execute(GATE).await.unwrap();
    let pool = pool_of(&server, 8, Reset::IfDirty);
    let clients = futures_util::future::try_join_all((0..8).map(|_| pool.get())).await.unwrap();
    for client in clients.iter().take(3) {
        cut_off_at_gate(client, &witness).await;
    }
    for client in clients {
        Pooled::discard(client);
    }
    pool.drain(Duration::from_secs(60)).await.unwrap();
    let others = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' \
                  AND pid <> pg_backend_pid()";
    assert_eq!(witness.query_one(others, &[]).await.unwrap().get::<_, i64>(0), 0);
}

#[tokio::test]
async fn what_is_done_through_the_raw_client_is_settled_too() {
    let Some(server) = Postgres::start(&[]) else { return };
    let witness = witness(&server).await;
    witness.batch_execute(GATE).await.unwrap();
    let pool = pool_of(&server, 1, Reset::IfDirty);
    let mut client = pool.get().await.unwrap();
    let backend = pid(&client).await;
    tokio::select! {
        _ = client.raw().batch_execute("BEGIN; SELECT pg_advisory_lock(1)") => panic!("the gate is held"),
        () = until_at_gate(&witness, backend) => {}
    }
    drop(client);
    let client = pool.get().await.unwrap();
    assert_eq!(pid(&client).await, backend);
    assert!(!client.is_in_transaction());
}

#[tokio::test]
async fn a_holder_can_settle_and_go_on() {
    let Some(server) = Postgres::start(&[]) else { return };
    let witness = witness(&server).await;
    witness.batch_execute(GATE).await.unwrap();
    let pool = pool_of(&server, 1, Reset::IfDirty);
    let mut client = pool.get().await.unwrap();
    cut_off_at_gate(&client, &witness).await;
    client.settle().await.unwrap();
    client.batch_execute("SELECT 1").await.unwrap();
}

#[tokio::test]
async fn a_wrong_database_reaches_the_waiters_at_once() {
    let Some(server) = Postgres::start(&[]) else { return };
    let pool = postgres::pool(&server.url().replace("dbname=postgres", "dbname=missing")).unwrap();
    let error = pool.get().await.unwrap_err();
    assert!(matches!(error, GetError::Create { .. }), "{error:?}");
}

#[test]
fn a_url_that_names_no_server_is_an_error_that_says_so() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let pool = postgres::pool("user=app").unwrap();
    let error = runtime.block_on(pool.get()).unwrap_err();
    assert!(matches!(error, GetError::Create { .. }), "{error:?}");
    let pool = postgres::pool("host=a,b,c port=1,2 user=app").unwrap();
    let error = runtime.block_on(pool.get()).unwrap_err();
    let text = format!("{error:?} {error}");
    assert!(text.contains("3 hosts and 2 ports"), "{text}");
}
