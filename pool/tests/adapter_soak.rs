//! PostgreSQL, SQLite and Redis under a mixed load whose callers give up at random.
//!
//! Five seconds, or as many as `FAIR_SOAK_SECONDS` says. At the end every resource is accounted for, and at no
//! time did the servers see more of us than the pools allow.
#![cfg(all(feature = "postgres", feature = "redis", feature = "sqlite"))]

#[path = "support/programs.rs"]
mod programs;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use lease_pool::postgres::tokio_postgres::{self, NoTls};
use lease_pool::redis::redis::{AsyncCommands, cmd, pipe};
use lease_pool::{Manager, PgPool, Pool, Pooled, RedisPool, SqlitePool, postgres, redis, sqlite};
use programs::{Folder, Postgres, Redis};
use tokio::task::JoinSet;
use tokio::time::Instant;

const MAX: usize = 6;
const WORKERS: u64 = 24;

/// A small generator, so that each worker has its own sequence.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// What happened, so that a soak in which nothing did is a failure.
#[derive(Default)]
struct Tally {
    finished: AtomicU64,
    given_up: AtomicU64,
    stop: AtomicBool,
}

async fn postgres_use(pool: &PgPool, what: u64, n: i64) {
    let mut client = pool.get().await.unwrap();
    match what {
        0..4 => {
            let statement = client.prepare_cached("SELECT $1::int8").await.unwrap();
            let row = client.query_one(&statement, &[&n]).await.unwrap();
            assert_eq!(row.get::<_, i64>(0), n);
        }
        4 | 5 => {
            let transaction = client.transaction().await.unwrap();
            transaction.execute("INSERT INTO t VALUES ($1)", &[&n]).await.unwrap();
            transaction.execute("INSERT INTO t VALUES (-$1::int8)", &[&n]).await.unwrap();
            transaction.commit().await.unwrap();
        }
        6 => {
            client.batch_execute("BEGIN; INSERT INTO t VALUES (1)").await.unwrap();
        }
        7 => {
            client.query_one("SELECT pg_sleep(0.2)", &[]).await.unwrap();
        }
        8 => {
            client.batch_execute("SELECT 1/0").await.unwrap_err();
        }
        _ => Pooled::discard(client),
    }
}

async fn sqlite_use(pool: &SqlitePool, what: u64, n: i64) {
    let connection = pool.get().await.unwrap();
    match what {
        0..4 => {
            let same =
                connection.call(move |db| db.query_row("SELECT ?1", [n], |row| row.get::<_, i64>(0))).await;
            assert_eq!(same.unwrap(), n);
        }
        4 | 5 => {
            let outcome = connection
                .call(move |db| {
                    let transaction = db.transaction()?;
                    transaction.execute("INSERT INTO t VALUES (?1)", [n])?;
                    transaction.execute("INSERT INTO t VALUES (-?1)", [n])?;
                    transaction.commit()
                })
                .await;
            outcome.unwrap();
        }
        6 => {
            connection.call(|db| db.execute_batch("BEGIN; SELECT count(*) FROM t")).await.unwrap();
        }
        7 => {
            let long = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000)
                        SELECT count(*) FROM n";
            let counted = connection.call(move |db| db.query_row(long, [], |row| row.get::<_, i64>(0))).await;
            assert_eq!(counted.unwrap(), 100_000);
        }
        8 => {
            connection.call(|db| db.execute_batch("nonsense")).await.unwrap_err();
        }
        _ => Pooled::discard(connection),
    }
}

async fn redis_use(pool: &RedisPool, what: u64, n: i64) {
    let mut connection = pool.get().await.unwrap();
    match what {
        0..4 => {
            let same: i64 = cmd("ECHO").arg(n).query_async(&mut *connection).await.unwrap();
            assert_eq!(same, n);
        }
        4 | 5 => {
            let pair: (i64, i64) = pipe()
                .atomic()
                .cmd("INCR")
                .arg("up")
                .cmd("DECR")
                .arg("down")
                .query_async(&mut *connection)
                .await
                .unwrap();
            assert_eq!(pair.0, -pair.1, "of one transaction");
        }
        6 => {
            cmd("MULTI").exec_async(&mut *connection).await.unwrap();
            cmd("INCR").arg("up").exec_async(&mut *connection).await.unwrap();
        }
        7 => {
            let nothing: Option<(String, i64)> = connection.blpop("nothing", 0.2).await.unwrap();
            assert_eq!(nothing, None);
        }
        8 => {
            cmd("NONSENSE").exec_async(&mut *connection).await.unwrap_err();
        }
        _ => Pooled::discard(connection),
    }
}

/// One worker per number on all three pools; four in ten uses are given up after up to 5 ms.
fn workers(pools: (PgPool, SqlitePool, RedisPool), tally: &Arc<Tally>) -> JoinSet<()> {
    let mut workers = JoinSet::new();
    for worker in 0..WORKERS {
        let (pools, tally) = (pools.clone(), Arc::clone(tally));
        workers.spawn(async move {
            let mut dice = Dice(0x9E37_79B9_7F4A_7C15 ^ (worker + 1));
            while !tally.stop.load(Ordering::Relaxed) {
                let (kind, what, n) = (dice.roll(3), dice.roll(10), dice.roll(1 << 40) as i64);
                let patience = if dice.roll(10) < 4 {
                    Duration::from_micros(dice.roll(5000))
                } else {
                    Duration::from_secs(60)
                };
                let use_of_one = async {
                    match kind {
                        0 => postgres_use(&pools.0, what, n).await,
                        1 => sqlite_use(&pools.1, what, n).await,
                        _ => redis_use(&pools.2, what, n).await,
                    }
                };
                match tokio::time::timeout(patience, use_of_one).await {
                    Ok(()) => tally.finished.fetch_add(1, Ordering::Relaxed),
                    Err(_) => tally.given_up.fetch_add(1, Ordering::Relaxed),
                };
            }
        });
    }
    workers
}

async fn end<M: Manager>(name: &str, pool: &Pool<M>) {
    let all = (0..MAX).map(|_| pool.get_timeout(Duration::from_secs(60)));
    drop(futures_util::future::try_join_all(all).await.unwrap());
    pool.drain(Duration::from_secs(60)).await.unwrap();
    let (now, stats) = (pool.snapshot(), pool.stats());
    println!("{name}: {stats:?}");
    assert_eq!((now.live(), now.creating, now.closing, now.waiters, now.granted), (0, 0, 0, 0, 0), "{now:?}");
    assert_eq!(stats.created, stats.closed_total(), "{name}: {stats:?}");
    assert_eq!(stats.create_errors, 0, "{name}: {stats:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mixed_load_with_random_cancels_loses_nothing_and_the_servers_never_see_too_many() {
    let (Some(postgres_server), Some(redis_server)) = (Postgres::start(&[]), Redis::start()) else { return };
    let seconds = std::env::var("FAIR_SOAK_SECONDS").ok();
    let seconds = seconds.map_or(5, |text| text.parse().expect("FAIR_SOAK_SECONDS is a number of seconds"));
    let folder = Folder::new("soak");

    // Witnesses outside the pools, which look at the servers all the time.
    let url = postgres_server.url();
    let (witness, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    tokio::spawn(connection);
    witness.batch_execute("CREATE TABLE t (n int8)").await.unwrap();
    let watching = redis::pool(&redis_server.url()).unwrap();
    let mut redis_witness = watching.get().await.unwrap();

    let pg = Pool::builder(
        postgres::Options::from_url(&url).unwrap().cancel_after(Duration::from_millis(20)).manager(),
    );
    let pg = pg.max(MAX).build().unwrap();
    let db = sqlite::Options::file(folder.path().join("soak.db")).wal().immediate();
    let db = Pool::builder(db.busy_timeout(Duration::from_secs(60)).manager()).max(MAX).build().unwrap();
    db.get().await.unwrap().call(|db| db.execute_batch("CREATE TABLE t (n INTEGER)")).await.unwrap();
    let cache = Pool::builder(redis::Options::from_url(&redis_server.url()).unwrap().manager());
    let cache = cache.max(MAX).build().unwrap();

    let tally = Arc::new(Tally::default());
    let workers = workers((pg.clone(), db.clone(), cache.clone()), &tally);
    let (start, mut most_pg, mut most_redis, mut looks) = (Instant::now(), 0, 0, 0);
    while start.elapsed() < Duration::from_secs(seconds) {
        let backends = "SELECT count(*) FROM pg_stat_activity \
                        WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
        let seen = witness.query_one(backends, &[]).await.unwrap().get::<_, i64>(0) as u64;
        assert!(seen <= MAX as u64 + pg.stats().closed_unconfirmed, "{seen} backends: {:?}", pg.snapshot());
        most_pg = most_pg.max(seen);
        let list: String = cmd("CLIENT").arg("LIST").query_async(&mut *redis_witness).await.unwrap();
        let seen = list.lines().count() as u64 - 1;
        assert!(
            seen <= MAX as u64 + cache.stats().closed_unconfirmed,
            "{seen} clients: {:?}",
            cache.snapshot()
        );
        most_redis = most_redis.max(seen);
        looks += 1;
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    tally.stop.store(true, Ordering::Relaxed);
    workers.join_all().await;

    let (finished, given_up) =
        (tally.finished.load(Ordering::Relaxed), tally.given_up.load(Ordering::Relaxed));
    println!("{seconds} s: {finished} uses finished, {given_up} given up; {looks} looks at the servers");
    println!("most seen: {most_pg} PostgreSQL backends and {most_redis} Redis clients of at most {MAX}");
    assert!(finished > 100 && given_up > 100, "{finished} finished, {given_up} given up");
    // Both rows of a transaction or none; the single rows of left transactions never.
    let sum = "SELECT coalesce(sum(n), 0)::int8 FROM t";
    assert_eq!(witness.query_one(sum, &[]).await.unwrap().get::<_, i64>(0), 0);
    let connection = db.get().await.unwrap();
    let sum: i64 = connection
        .call(|db| db.query_row("SELECT coalesce(sum(n), 0) FROM t", [], |row| row.get(0)))
        .await
        .unwrap();
    assert_eq!(sum, 0);
    drop(connection);
    end("PostgreSQL", &pg).await;
    end("SQLite", &db).await;
    end("Redis", &cache).await;
    let left = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
    assert_eq!(witness.query_one(left, &[]).await.unwrap().get::<_, i64>(0), 0);
    let list: String = cmd("CLIENT").arg("LIST").query_async(&mut *redis_witness).await.unwrap();
    assert_eq!(list.lines().count(), 1, "{list}");
}
