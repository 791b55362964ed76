//! A pool of SQLite connections, each with a thread of its own (feature `sqlite`).
//!
//! SQLite blocks the thread that calls it, so a [`Connection`] owns one: opening, every statement and closing
//! happen there, and a caller awaits the answer.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let pool = lease_pool::sqlite::pool(":memory:")?;
//! let connection = pool.get().await?;
//! let two: i64 = connection.call(|db| db.query_row("SELECT 1 + 1", [], |row| row.get(0))).await?;
//! assert_eq!(two, 2);
//! # Ok(()) }
//! ```
//!
//! | step | what happens |
//! |---|---|
//! | create | a new thread opens the database and applies the [`Options`] |
//! | check | the connection's thread answers; the file is not read |
//! | return | nothing, unless an operation is still running or a transaction is open |
//! | reset | waits for the running operation to end, then `ROLLBACK` if a transaction is open |
//! | close | the channel to the thread is closed; done when the thread has ended |
//!
//! # Cancel safety
//!
//! Dropping the future of [`Connection::call`] interrupts this one operation, whether it runs statements or
//! waits for a lock. The interrupt is a flag of the operation that SQLite asks for while it works, so one that
//! comes late finds nobody: it cannot hit a statement of the next user. A guard that is dropped meanwhile is
//! lent again only after the operation has ended and its transaction is rolled back.
//!
//! A closure that is stuck *outside* SQLite (in a loop of its own, in other I/O) cannot be interrupted. Its
//! connection stays in reset and then in closing until the pool's timeouts pass.
//!
//! # What a connection keeps
//!
//! Reset leaves alone what a user sets for the whole connection: PRAGMAs, temporary tables, attached databases.
//! The progress handler and the busy handler belong to this adapter; a closure must not replace them.

mod connection;
mod error;
mod manager;
mod memory;
mod operation;
mod options;
mod pools;
mod worker;

use std::path::Path;

pub use connection::Connection;
pub use error::Error;
pub use manager::SqliteManager;
pub use options::Options;
pub use pools::SqlitePools;
pub use rusqlite;

use crate::{BuildError, Pool};

/// A pool of SQLite connections.
///
/// ```
/// let pool: lease_pool::SqlitePool = lease_pool::sqlite::pool(":memory:").unwrap();
/// ```
pub type SqlitePool = Pool<SqliteManager>;

/// Builds a pool with default options over the database in this file, in WAL mode.
///
/// The file is created if it is missing, and switched to [WAL](Options::wal) if it is not. `":memory:"` makes a
/// database in memory that all connections of the pool share and that ends with the pool. Nothing is opened
/// before the first `get`. For anything else see [`Options`].
///
/// # Errors
///
/// [`BuildError`] as for any pool; the default options have none.
///
/// ```
/// let pool = lease_pool::sqlite::pool(":memory:").unwrap();
/// assert_eq!(pool.snapshot().max, 10);
/// ```
pub fn pool(path: impl AsRef<Path>) -> Result<SqlitePool, BuildError> {
    Pool::builder(Options::at(path.as_ref()).wal().manager()).build()
}
