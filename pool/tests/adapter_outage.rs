//! Servers that die, freeze, fill up and come back, under load: nothing wrong is answered and nothing is lost.
#![cfg(all(feature = "postgres", feature = "redis"))]

#[path = "support/programs.rs"]
mod programs;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use lease_pool::postgres::tokio_postgres::{self, NoTls};
use lease_pool::redis::redis::cmd;
use lease_pool::{Builder, Manager, PgPool, Pool, RedisPool, postgres, redis};
use programs::{Postgres, Redis};
use tokio::task::JoinSet;
use tokio::time::Instant;

const WORKERS: u64 = 64;
const MAX: usize = 8;
const CREATE_CONCURRENCY: usize = 2;
const LONGEST_BACKOFF: Duration = Duration::from_millis(400);

/// Short timeouts, so that a silent server costs the test seconds and not minutes.
fn impatient<M: Manager>(manager: M) -> Builder<M> {
    Pool::builder(manager)
        .max(MAX)
        .create_concurrency(CREATE_CONCURRENCY)
        .acquire_timeout(Duration::from_secs(2))
        .create_timeout(Duration::from_secs(2))
        .check_timeout(Duration::from_millis(500))
        .reset_timeout(Duration::from_millis(500))
        .close_timeout(Duration::from_millis(500))
        .check_if_idle(Duration::ZERO)
        .backoff(Duration::from_millis(20), LONGEST_BACKOFF)
}

fn pg_pool(server: &Postgres) -> PgPool {
    impatient(postgres::Options::from_url(&server.url()).unwrap().manager()).build().unwrap()
}

fn redis_pool(server: &Redis) -> RedisPool {
    let options = redis::Options::from_url(&server.url()).unwrap().response_timeout(Duration::from_secs(1));
    impatient(options.manager()).build().unwrap()
}

/// What the workers have seen.
#[derive(Default)]
struct Seen {
    right: AtomicU64,
    wrong: AtomicU64,
    failed: AtomicU64,
    stop: AtomicBool,
}

impl Seen {
    fn note(&self, expected: u64, answer: Option<u64>) {
        let count = match answer {
            Some(answer) if answer == expected => &self.right,
            Some(_) => &self.wrong,
            None => &self.failed,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits until this many more answers were right, and says how long that took.
    async fn more_right(&self, more: u64) -> Duration {
        let (start, from) = (Instant::now(), self.right.load(Ordering::Relaxed));
        while self.right.load(Ordering::Relaxed) < from + more {
            assert!(start.elapsed() < Duration::from_secs(60), "no service");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        start.elapsed()
    }

    async fn more_failed(&self, more: u64) {
        let from = self.failed.load(Ordering::Relaxed);
        while self.failed.load(Ordering::Relaxed) < from + more {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

fn pg_workers(pool: &PgPool, seen: &Arc<Seen>) -> JoinSet<()> {
    let mut workers = JoinSet::new();
    for worker in 0..WORKERS {
        let (pool, seen) = (pool.clone(), Arc::clone(seen));
        workers.spawn(async move {
            for n in 0.. {
                if seen.stop.load(Ordering::Relaxed) {
                    return;
                }
                let expected = worker * 1_000_000_000 + n;
                let answer = async {
                    let client = pool.get().await.ok()?;
                    let row = client.query_one("SELECT $1::int8", &[&(expected as i64)]).await.ok()?;
                    Some(row.get::<_, i64>(0) as u64)
                };
                // Some give up half way, as callers do.
                let patience = Duration::from_millis(if n % 7 == 0 { 3 } else { 4000 });
                match tokio::time::timeout(patience, answer).await {
                    Ok(answer) => seen.note(expected, answer),
                    Err(_) => {
                        seen.failed.fetch_add(1, Ordering::Relaxed);
                    }
                }
                tokio::task::yield_now().await;
            }
        });
    }
    workers
}

fn redis_workers(pool: &RedisPool, seen: &Arc<Seen>) -> JoinSet<()> {
    let mut workers = JoinSet::new();
    for worker in 0..WORKERS {
        let (pool, seen) = (pool.clone(), Arc::clone(seen));
        workers.spawn(async move {
            for n in 0.. {
                if seen.stop.load(Ordering::Relaxed) {
                    return;
                }
                let expected = worker * 1_000_000_000 + n;
                let answer = async {
                    let mut connection = pool.get().await.ok()?;
                    cmd("ECHO").arg(expected).query_async(&mut *connection).await.ok()
                };
                let patience = Duration::from_millis(if n % 7 == 0 { 3 } else { 4000 });
                match tokio::time::timeout(patience, answer).await {
                    Ok(answer) => seen.note(expected, answer),
                    Err(_) => {
                        seen.failed.fetch_add(1, Ordering::Relaxed);
                    }
                }
                tokio::task::yield_now().await;
            }
        });
    }
    workers
}

/// Stops the workers; then all answers were right and every place is there.
async fn settle<M: Manager>(pool: &Pool<M>, seen: &Seen, workers: JoinSet<()>) {
    seen.stop.store(true, Ordering::Relaxed);
    workers.join_all().await;
    assert_eq!(seen.wrong.load(Ordering::Relaxed), 0, "wrong answers");
    // All places at once: a lost one would leave the last of these waiting.
    let all = futures_util::future::try_join_all((0..MAX).map(|_| pool.get_timeout(Duration::from_secs(60))));
    let all = all.await.unwrap();
    assert_eq!(pool.snapshot().leased, MAX);
    drop(all);
    pool.drain(Duration::from_secs(60)).await.unwrap();
    let now = pool.snapshot();
    assert_eq!((now.live(), now.creating, now.closing, now.waiters, now.granted), (0, 0, 0, 0, 0), "{now:?}");
    let stats = pool.stats();
    assert_eq!(stats.created, stats.closed_total(), "{stats:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_killed_and_started_again_under_load() {
    let Some(mut server) = Postgres::start(&[]) else { return };
    let pool = pg_pool(&server);
    let seen = Arc::new(Seen::default());
    let workers = pg_workers(&pool, &seen);
    seen.more_right(1000).await;
    server.kill();
    seen.more_failed(WORKERS).await;
    server.start_again();
    let errors = pool.stats().create_errors;
    let back = seen.more_right(1).await;
    println!("PostgreSQL: first answer {back:?} after its restart (longest backoff {LONGEST_BACKOFF:?})");
    // One backoff step and no more: only what was under way when the server came back can still have failed.
    let more = pool.stats().create_errors - errors;
    assert!(more <= CREATE_CONCURRENCY as u64, "{more} creates failed at a running server");
    seen.more_right(1000).await;
    settle(&pool, &seen, workers).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_killed_and_started_again_under_load() {
    let Some(mut server) = Redis::start() else { return };
    let pool = redis_pool(&server);
    let seen = Arc::new(Seen::default());
    let workers = redis_workers(&pool, &seen);
    seen.more_right(1000).await;
    server.kill();
    seen.more_failed(WORKERS).await;
    server.start_again();
    let errors = pool.stats().create_errors;
    let back = seen.more_right(1).await;
    println!("Redis: first answer {back:?} after its restart (longest backoff {LONGEST_BACKOFF:?})");
    // One backoff step and no more: only what was under way when the server came back can still have failed.
    let more = pool.stats().create_errors - errors;
    assert!(more <= CREATE_CONCURRENCY as u64, "{more} creates failed at a running server");
    seen.more_right(1000).await;
    settle(&pool, &seen, workers).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_silent_for_ten_seconds_under_load() {
    let Some(server) = Postgres::start(&[]) else { return };
    let pool = pg_pool(&server);
    let seen = Arc::new(Seen::default());
    let workers = pg_workers(&pool, &seen);
    seen.more_right(1000).await;
    server.freeze();
    tokio::time::sleep(Duration::from_secs(10)).await;
    server.thaw();
    let back = seen.more_right(1).await;
    println!("PostgreSQL: first answer {back:?} after 10 s of silence");
    seen.more_right(1000).await;
    settle(&pool, &seen, workers).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_silent_for_ten_seconds_under_load() {
    let Some(server) = Redis::start() else { return };
    let pool = redis_pool(&server);
    let seen = Arc::new(Seen::default());
    let workers = redis_workers(&pool, &seen);
    seen.more_right(1000).await;
    server.freeze();
    tokio::time::sleep(Duration::from_secs(10)).await;
    server.thaw();
    let back = seen.more_right(1).await;
    println!("Redis: first answer {back:?} after 10 s of silence");
    seen.more_right(1000).await;
    settle(&pool, &seen, workers).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_comes_back_with_every_connection_taken_by_others() {
    let options = ["max_connections=10", "superuser_reserved_connections=1"];
    let Some(mut server) = Postgres::start(&options) else { return };
    let pool = pg_pool(&server);
    let seen = Arc::new(Seen::default());
    let workers = pg_workers(&pool, &seen);
    seen.more_right(1000).await;
    server.kill();
    seen.more_failed(WORKERS).await;
    server.start_again();
    // Strangers are faster now and then: they take what they can get until the server refuses everybody.
    let mut strangers = Vec::new();
    while strangers.len() < 4 {
        if let Ok((client, connection)) = tokio_postgres::connect(&server.url(), NoTls).await {
            tokio::spawn(connection);
            strangers.push(client);
        }
        tokio::task::yield_now().await;
    }
    // With some places refused the others go on: nobody waits for a connection that cannot come.
    seen.more_right(1000).await;
    let now = pool.snapshot();
    assert!(now.live() + now.creating < MAX || now.live() + strangers.len() >= 10, "{now:?}");
    drop(strangers);
    seen.more_right(1000).await;
    settle(&pool, &seen, workers).await;
}
