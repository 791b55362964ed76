use std::fmt;
use std::panic::resume_unwind;
use std::sync::Arc;

use super::operation::Operation;
use super::worker::{Job, Status, Worker};
use super::{Error, Options};

/// One SQLite connection and the thread it lives on.
///
/// Operations run one after the other, in the order of their first polls.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let pool = lease_pool::sqlite::pool(":memory:")?;
/// let connection = pool.get().await?;
/// connection.call(|db| db.execute_batch("CREATE TABLE t (n INTEGER)")).await?;
/// let sum = connection
///     .call(|db| {
///         let transaction = db.transaction()?;
///         transaction.execute("INSERT INTO t VALUES (?1), (?2)", (20, 22))?;
///         let sum: i64 = transaction.query_row("SELECT sum(n) FROM t", [], |row| row.get(0))?;
///         transaction.commit()?;
///         Ok(sum)
///     })
///     .await?;
/// assert_eq!(sum, 42);
/// # Ok(()) }
/// ```
pub struct Connection {
    worker: Worker,
    status: Arc<Status>,
    options: Arc<Options>,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("database", &self.options.database())
            .field("is_working", &self.is_working())
            .field("is_in_transaction", &self.is_in_transaction())
            .finish_non_exhaustive()
    }
}

/// Calls the operation off when its future is dropped; without effect once it has ended.
struct CancelOnDrop(Arc<Operation>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Connection {
    pub(super) async fn open(options: Arc<Options>) -> Result<Self, Error> {
        let worker = Worker::start(Arc::clone(&options)).await?;
        Ok(Connection { worker, status: Arc::default(), options })
    }

    /// Runs `statements` on the connection's thread and gives their result.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future interrupts the statements, and a transaction of the closure is rolled back. Nothing
    /// tells whether a closure that was about to end had committed already. Before the first poll nothing runs.
    ///
    /// # Errors
    ///
    /// What the closure returns, as [`Error::Sqlite`]; [`Error::Ended`] if the thread is gone.
    ///
    /// # Panics
    ///
    /// If the closure panics, with its panic.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let pool = lease_pool::sqlite::pool(":memory:")?;
    /// # let connection = pool.get().await?;
    /// let one: i64 = connection.call(|db| db.query_row("SELECT 1", [], |row| row.get(0))).await?;
    /// # assert_eq!(one, 1); Ok(()) }
    /// ```
    pub async fn call<T, F>(&self, statements: F) -> Result<T, Error>
    where
        F: FnOnce(&mut rusqlite::Connection) -> rusqlite::Result<T> + Send + 'static,
        T: Send + 'static,
    {
        Ok(self.run(statements).await??)
    }

    /// Like [`call`](Connection::call), for closures with a result of their own.
    ///
    /// # Errors
    ///
    /// [`Error::Ended`] if the thread is gone.
    ///
    /// # Panics
    ///
    /// If the closure panics, with its panic.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let pool = lease_pool::sqlite::pool(":memory:")?;
    /// # let connection = pool.get().await?;
    /// let changed = connection.run(|db| db.total_changes()).await?;
    /// # assert_eq!(changed, 0); Ok(()) }
    /// ```
    pub async fn run<T, F>(&self, work: F) -> Result<T, Error>
    where
        F: FnOnce(&mut rusqlite::Connection) -> T + Send + 'static,
        T: Send + 'static,
    {
        let operation = Arc::new(Operation::default());
        let (job, answer) = Job::new(Arc::clone(&operation), Arc::clone(&self.status), work);
        if !self.worker.submit(job) {
            return Err(self.ended());
        }
        let _cancel_on_drop = CancelOnDrop(operation);
        match answer.await {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(panic)) => resume_unwind(panic),
            Err(_) => Err(self.ended()),
        }
    }

    /// Like [`call`](Connection::call), for threads outside a runtime.
    ///
    /// # Errors
    ///
    /// As for [`call`](Connection::call).
    ///
    /// # Panics
    ///
    /// Inside a runtime, which it would block; and if the closure panics, with its panic.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    /// # let pool = lease_pool::sqlite::pool(":memory:")?;
    /// # let connection = runtime.block_on(pool.get())?;
    /// let one: i64 = connection.blocking_call(|db| db.query_row("SELECT 1", [], |row| row.get(0)))?;
    /// # assert_eq!(one, 1); Ok(()) }
    /// ```
    pub fn blocking_call<T, F>(&self, statements: F) -> Result<T, Error>
    where
        F: FnOnce(&mut rusqlite::Connection) -> rusqlite::Result<T> + Send + 'static,
        T: Send + 'static,
    {
        let (job, answer) = Job::new(Arc::default(), Arc::clone(&self.status), statements);
        if !self.worker.submit(job) {
            return Err(self.ended());
        }
        match answer.blocking_recv() {
            Ok(Ok(result)) => Ok(result?),
            Ok(Err(panic)) => resume_unwind(panic),
            Err(_) => Err(self.ended()),
        }
    }

    /// Whether an operation is queued or running on the thread, wanted or called off.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let pool = lease_pool::sqlite::pool(":memory:").unwrap();
    /// # let connection = pool.get().await.unwrap();
    /// connection.call(|db| db.execute_batch("SELECT 1")).await.unwrap();
    /// assert!(!connection.is_working());
    /// # }
    /// ```
    pub fn is_working(&self) -> bool {
        self.status.is_working()
    }

    /// Whether the last operation left a transaction open; the pool rolls it back at the return.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let pool = lease_pool::sqlite::pool(":memory:").unwrap();
    /// # let connection = pool.get().await.unwrap();
    /// connection.call(|db| db.execute_batch("BEGIN")).await.unwrap();
    /// assert!(connection.is_in_transaction());
    /// # }
    /// ```
    pub fn is_in_transaction(&self) -> bool {
        self.status.is_in_transaction()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.worker.has_ended()
    }

    /// Waits for what still runs (the thread takes one job after the other), then rolls back.
    pub(super) async fn roll_back(&self) -> Result<(), Error> {
        self.call(
            |connection| {
                if connection.is_autocommit() { Ok(()) } else { connection.execute_batch("ROLLBACK") }
            },
        )
        .await
    }

    pub(super) async fn end(self) {
        self.worker.end().await;
    }

    fn ended(&self) -> Error {
        Error::Ended { database: self.options.database() }
    }
}
