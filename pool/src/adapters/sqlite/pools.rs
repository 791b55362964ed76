use std::path::Path;

use super::{Options, SqlitePool};
use crate::{BuildError, Pool};

/// One writer and several readers over the same database.
///
/// SQLite has one writer at a time. Here writers wait for it in the pool, in the order they came, instead of
/// meeting each other's locks; their transactions start with `BEGIN IMMEDIATE`. Readers cannot write.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use lease_pool::sqlite::SqlitePools;
///
/// let pools = SqlitePools::open(":memory:", 4)?;
/// let writer = pools.writer.get().await?;
/// writer.call(|db| db.execute_batch("CREATE TABLE t (n); INSERT INTO t VALUES (1)")).await?;
/// let reader = pools.readers.get().await?;
/// let rows: i64 = reader.call(|db| db.query_row("SELECT count(*) FROM t", [], |row| row.get(0))).await?;
/// assert_eq!(rows, 1);
/// assert!(reader.call(|db| db.execute("INSERT INTO t VALUES (2)", [])).await.is_err());
/// # Ok(()) }
/// ```
///
/// # What a clone shares
///
/// Both pools.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SqlitePools {
    /// One connection, for everything that writes.
    pub writer: SqlitePool,
    /// The others, which refuse to write.
    pub readers: SqlitePool,
}

impl SqlitePools {
    /// Builds both over the database in this file (or `":memory:"`) in WAL mode, with so many readers.
    ///
    /// # Errors
    ///
    /// [`BuildError`] if `readers` is 0.
    ///
    /// ```
    /// let pools = lease_pool::sqlite::SqlitePools::open(":memory:", 4).unwrap();
    /// assert_eq!(pools.writer.snapshot().max, 1);
    /// assert_eq!(pools.readers.snapshot().max, 4);
    /// ```
    pub fn open(path: impl AsRef<Path>, readers: usize) -> Result<Self, BuildError> {
        SqlitePools::with(Options::at(path.as_ref()).wal(), readers)
    }

    /// Builds both with these options, to which each adds its own part.
    ///
    /// # Errors
    ///
    /// [`BuildError`] if `readers` is 0.
    ///
    /// ```
    /// use lease_pool::sqlite::{Options, SqlitePools};
    /// let pools = SqlitePools::with(Options::memory().statement_cache(64), 2).unwrap();
    /// ```
    pub fn with(options: Options, readers: usize) -> Result<Self, BuildError> {
        let writer = Pool::builder(options.clone().immediate().manager()).max(1).build()?;
        let readers = Pool::builder(options.query_only().manager()).max(readers).build()?;
        Ok(SqlitePools { writer, readers })
    }
}
