//! A job queue and a counter in Redis: exclusive connections for what blocks, a shared one for the rest.
//!
//! ```text
//! REDIS_URL=redis://localhost/0 cargo run -p examples --features redis --bin redis_pool
//! ```

use std::process::ExitCode;
use std::time::Duration;

use lease_pool::redis::redis::{AsyncCommands, cmd};
use lease_pool::redis::{pool, shared};
use tokio::task::JoinSet;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const JOBS: i64 = 200;
const WORKERS: usize = 4;

async fn run(url: &str) -> Result<(), Failure> {
    // A worker that waits for a job blocks its connection, so each has one of its own.
    let exclusive = pool(url)?;
    // Everybody else shares one connection; the pool is a limiter of 32 users then.
    let common = shared(url, 32)?;
    let mut connection = common.get().await?;
    connection.del::<_, ()>(&["example:jobs", "example:done"]).await?;
    drop(connection);

    // A worker that is cancelled while it waits: its connection is closed, so that no job goes to nobody.
    let mut impatient = exclusive.get().await?;
    let waiting = impatient.blpop::<_, Option<(String, i64)>>("example:jobs", 0.0);
    assert!(tokio::time::timeout(Duration::from_millis(50), waiting).await.is_err());
    drop(impatient);

    let mut tasks = JoinSet::new();
    for _ in 0..WORKERS {
        let exclusive = exclusive.clone();
        tasks.spawn(async move {
            let mut connection = exclusive.get().await?;
            // A second without a job is the end.
            while let Some((_, job)) =
                connection.blpop::<_, Option<(String, i64)>>("example:jobs", 1.0).await?
            {
                connection.incr::<_, _, ()>("example:done", job).await?;
            }
            Ok::<(), Failure>(())
        });
    }
    for job in 1..=JOBS {
        let common = common.clone();
        tasks.spawn(async move {
            let mut connection = common.get().await?;
            cmd("RPUSH").arg("example:jobs").arg(job).exec_async(&mut *connection).await?;
            Ok(())
        });
    }
    for task in tasks.join_all().await {
        task?;
    }

    let mut connection = common.get().await?;
    let done: i64 = connection.get("example:done").await?;
    println!(
        "{JOBS} jobs by {WORKERS} workers: sum {done}; {} exclusive connections made, {} clones of the shared one",
        exclusive.stats().created,
        common.stats().created
    );
    assert_eq!(done, JOBS * (JOBS + 1) / 2);
    Ok(())
}

#[tokio::main]
async fn main() -> Result<ExitCode, Failure> {
    let Ok(url) = std::env::var("REDIS_URL") else {
        eprintln!("set REDIS_URL, for example to redis://localhost/0");
        return Ok(ExitCode::from(2));
    };
    run(&url).await?;
    Ok(ExitCode::SUCCESS)
}
