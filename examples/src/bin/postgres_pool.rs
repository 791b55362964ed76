//! Transfers between accounts in PostgreSQL by callers that give up at random: no cent is lost.
//!
//! ```text
//! DATABASE_URL=postgres://postgres@localhost/postgres cargo run -p examples --features postgres --bin postgres_pool
//! ```

use std::process::ExitCode;
use std::time::Duration;

use lease_pool::{PgPool, Pool, postgres};
use tokio::task::JoinSet;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const ACCOUNTS: i32 = 10;
const TASKS: i32 = 32;
const TRANSFERS: i32 = 20;

async fn transfer(pool: &PgPool, from: i32, to: i32) -> Result<(), Failure> {
    let mut client = pool.get().await?;
    let take = client.prepare_cached("UPDATE accounts SET cents = cents - 1 WHERE id = $1").await?;
    let give = client.prepare_cached("UPDATE accounts SET cents = cents + 1 WHERE id = $1").await?;
    let transaction = client.transaction().await?;
    // In the order of the accounts, so that two transfers never wait for each other.
    let mut steps = [(from, &take), (to, &give)];
    steps.sort_by_key(|(account, _)| *account);
    for (account, statement) in steps {
        transaction.execute(statement, &[&account]).await?;
    }
    transaction.commit().await?;
    Ok(())
}

async fn run(url: &str) -> Result<(), Failure> {
    let manager = postgres::Options::from_url(url)?.manager();
    let pool = Pool::builder(manager).max(8).acquire_timeout(Duration::from_secs(10)).build()?;
    let client = pool.get().await?;
    client
        .batch_execute(
            "DROP TABLE IF EXISTS accounts; CREATE TABLE accounts (id int4 PRIMARY KEY, cents int8);
             INSERT INTO accounts SELECT n, 1000 FROM generate_series(0, 9) AS n",
        )
        .await?;
    drop(client);

    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let pool = pool.clone();
        tasks.spawn(async move {
            let mut given_up = 0;
            for n in 0..TRANSFERS {
                let transfer = transfer(&pool, (task + n) % ACCOUNTS, (task + 3 * n + 1) % ACCOUNTS);
                // Every third caller has little patience. What it left is cancelled and rolled back.
                let patience = Duration::from_millis(if n % 3 == 0 { 4 } else { 10_000 });
                match tokio::time::timeout(patience, transfer).await {
                    Ok(outcome) => outcome?,
                    Err(_) => given_up += 1,
                }
            }
            Ok::<i32, Failure>(given_up)
        });
    }
    let mut given_up = 0;
    for task in tasks.join_all().await {
        given_up += task?;
    }

    let client = pool.get().await?;
    let sum = client.query_one("SELECT sum(cents)::int8 FROM accounts", &[]).await?.get::<_, i64>(0);
    drop(client);
    let stats = pool.stats();
    println!(
        "{} transfers, {given_up} given up, {} connections made, {sum} cents",
        TASKS * TRANSFERS,
        stats.created
    );
    assert_eq!(sum, i64::from(ACCOUNTS) * 1000);
    pool.drain(Duration::from_secs(10)).await.map_err(|report| format!("{report:?}"))?;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<ExitCode, Failure> {
    let Ok(url) = std::env::var("DATABASE_URL") else {
        eprintln!("set DATABASE_URL, for example to postgres://postgres@localhost/postgres");
        return Ok(ExitCode::from(2));
    };
    run(&url).await?;
    Ok(ExitCode::SUCCESS)
}
