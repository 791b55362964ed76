//! A shop in SQLite: one writer, several readers, and a report that is given up.
//!
//! ```text
//! cargo run -p examples --bin sqlite_pool
//! SQLITE_FILE=/tmp/shop.db cargo run -p examples --bin sqlite_pool
//! ```

use std::time::Duration;

use lease_pool::sqlite::SqlitePools;
use tokio::task::JoinSet;

const SELLERS: i64 = 20;
const SALES: i64 = 25;

/// Far more than anybody waits for.
const ENDLESS_REPORT: &str =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let file = std::env::var("SQLITE_FILE").unwrap_or_else(|_| ":memory:".to_owned());
    let pools = SqlitePools::open(&file, 4)?;
    let schema = "DROP TABLE IF EXISTS sales; CREATE TABLE sales (seller INTEGER, cents INTEGER)";
    pools.writer.get().await?.call(move |db| db.execute_batch(schema)).await?;

    // Twenty sellers share one writer: they wait for it in the pool, first come, first served.
    let mut sellers = JoinSet::new();
    for seller in 0..SELLERS {
        let pools = pools.clone();
        sellers.spawn(async move {
            for cents in 1..=SALES {
                let writer = pools.writer.get().await?;
                let sell = "INSERT INTO sales VALUES (?1, ?2)";
                writer.call(move |db| db.prepare_cached(sell)?.execute([seller, cents])).await?;
            }
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
        });
    }

    // Meanwhile somebody asks for too much and gives up: the statement is interrupted, the connection is kept.
    let reader = pools.readers.get().await?;
    let report = reader.call(|db| db.query_row(ENDLESS_REPORT, [], |row| row.get::<_, i64>(0)));
    assert!(tokio::time::timeout(Duration::from_millis(50), report).await.is_err());
    drop(reader);

    for seller in sellers.join_all().await {
        seller?;
    }
    let reader = pools.readers.get().await?;
    let count = "SELECT count(*), sum(cents) FROM sales";
    let (sales, cents): (i64, i64) =
        reader.call(move |db| db.query_row(count, [], |row| Ok((row.get(0)?, row.get(1)?)))).await?;
    println!("{sales} sales worth {cents} cents by {SELLERS} sellers through one writer in {file}");
    assert_eq!((sales, cents), (SELLERS * SALES, SELLERS * SALES * (SALES + 1) / 2));
    assert_eq!(pools.writer.stats().created, 1);
    Ok(())
}
