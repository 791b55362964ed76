//! sqlx's own SQLite connection in the pool, through a manager of twenty lines.
#![forbid(unsafe_code)]

use std::str::FromStr;
use std::time::Duration;

use lease_pool::manager::{CheckContext, CloseContext, CreateContext};
use lease_pool::{Manager, Pool};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection, Row};

struct Connections(SqliteConnectOptions);

impl Manager for Connections {
    type Resource = SqliteConnection;
    type Error = sqlx::Error;

    async fn create(&self, _ctx: CreateContext<'_>) -> Result<SqliteConnection, sqlx::Error> {
        self.0.connect().await
    }

    async fn check(
        &self,
        connection: &mut SqliteConnection,
        _ctx: CheckContext<'_>,
    ) -> Result<(), sqlx::Error> {
        connection.ping().await
    }

    async fn close(&self, connection: SqliteConnection, _ctx: CloseContext<'_>) {
        // A connection that cannot be closed in order is gone all the same.
        let _ = connection.close().await;
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // One database in memory, seen by every connection of this process.
    let options = SqliteConnectOptions::from_str("sqlite:file:sqlx-demo?mode=memory&cache=shared")?;
    let pool = Pool::builder(Connections(options)).name("sqlx").max(4).min_idle(1).build()?;
    let mut keeper = pool.get().await?;
    sqlx::query("CREATE TABLE visits (task INTEGER NOT NULL)").execute(&mut *keeper).await?;

    let mut tasks = Vec::new();
    for task in 0..20_i64 {
        let pool = pool.clone();
        tasks.push(tokio::spawn(async move {
            let mut connection = pool.get().await.map_err(|error| error.to_string())?;
            // Writers of a shared cache exclude one another by an error, not by waiting.
            loop {
                let insert = sqlx::query("INSERT INTO visits VALUES (?)").bind(task);
                match insert.execute(&mut *connection).await {
                    Ok(_) => return Ok::<_, String>(()),
                    Err(error) if error.to_string().contains("locked") => tokio::task::yield_now().await,
                    Err(error) => return Err(error.to_string()),
                }
            }
        }));
    }
    for task in tasks {
        task.await??;
    }
    let row =
        sqlx::query("SELECT count(*), count(DISTINCT task) FROM visits").fetch_one(&mut *keeper).await?;
    let (rows, distinct): (i64, i64) = (row.get(0), row.get(1));
    let stats = pool.stats();
    println!("{rows} visits of {distinct} tasks over {} connections", stats.created);
    assert_eq!((rows, distinct), (20, 20));
    assert!((2..=4).contains(&stats.created), "{} connections for 21 callers", stats.created);
    drop(keeper);
    let report = pool.drain(Duration::from_secs(10)).await.map_err(|left| format!("{left:?}"))?;
    println!("{} connections closed, {} alive", report.closed, report.alive);
    assert_eq!(report.alive, 0);
    Ok(())
}
