use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::{ErrorCode, TransactionBehavior};

use super::memory::Memory;
use super::operation;
use super::{Error, SqliteManager};

type Setup = dyn Fn(&mut rusqlite::Connection) -> rusqlite::Result<()> + Send + Sync;

/// How the connections of a pool are opened.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use lease_pool::{Pool, sqlite::Options};
/// use std::time::Duration;
///
/// let options = Options::memory().busy_timeout(Duration::from_secs(1));
/// let pool = Pool::builder(options.manager()).name("orders").max(4).build()?;
/// # Ok(()) }
/// ```
///
/// # What a clone shares
///
/// The database: clones of [`Options::memory`] open the same one.
#[derive(Clone)]
#[must_use = "options do nothing before `manager`"]
pub struct Options {
    place: Place,
    busy_timeout: Duration,
    statement_cache: usize,
    journal: Journal,
    access: Access,
    transactions: TransactionBehavior,
    setup: Vec<Arc<Setup>>,
}

#[derive(Clone, Debug)]
enum Place {
    File(PathBuf),
    Memory(Arc<Memory>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Journal {
    AsItIs,
    Wal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Full,
    QueryOnly,
}

impl Options {
    /// A database in this file, which is created if it is missing.
    ///
    /// ```
    /// let options = lease_pool::sqlite::Options::file("orders.db").wal();
    /// ```
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Options::new(Place::File(path.into()))
    }

    /// A new database in memory, shared by all connections of the pool.
    ///
    /// It lives as long as these options, a clone of them or the pool.
    ///
    /// ```
    /// let options = lease_pool::sqlite::Options::memory();
    /// ```
    pub fn memory() -> Self {
        Options::new(Place::Memory(Arc::new(Memory::new())))
    }

    /// A file, or with `":memory:"` a database in memory.
    pub(super) fn at(path: &Path) -> Self {
        if path.as_os_str() == ":memory:" { Options::memory() } else { Options::file(path) }
    }

    fn new(place: Place) -> Self {
        Options {
            place,
            busy_timeout: Duration::from_secs(5),
            statement_cache: 16,
            journal: Journal::AsItIs,
            access: Access::Full,
            transactions: TransactionBehavior::Deferred,
            setup: Vec::new(),
        }
    }

    /// The WAL preset: readers and one writer do not block each other.
    ///
    /// Sets `journal_mode = WAL` (a property of the file, which it keeps), `synchronous = NORMAL` and
    /// `foreign_keys = ON`. A database in memory has no WAL and gets the last only.
    ///
    /// ```
    /// let options = lease_pool::sqlite::Options::file("orders.db").wal();
    /// ```
    pub fn wal(mut self) -> Self {
        self.journal = Journal::Wal;
        self
    }

    /// How long a statement waits for a lock of another connection (5 s), on the wall clock.
    ///
    /// ```
    /// # use lease_pool::sqlite::Options;
    /// let options = Options::memory().busy_timeout(std::time::Duration::from_millis(200));
    /// ```
    pub fn busy_timeout(mut self, busy_timeout: Duration) -> Self {
        self.busy_timeout = busy_timeout;
        self
    }

    /// How many statements of `prepare_cached` each connection keeps (16).
    ///
    /// ```
    /// # use lease_pool::sqlite::Options;
    /// let options = Options::memory().statement_cache(100);
    /// ```
    pub fn statement_cache(mut self, capacity: usize) -> Self {
        self.statement_cache = capacity;
        self
    }

    /// Refuses every statement that writes (`query_only = ON`).
    ///
    /// ```
    /// # use lease_pool::sqlite::Options;
    /// let options = Options::memory().query_only();
    /// ```
    pub fn query_only(mut self) -> Self {
        self.access = Access::QueryOnly;
        self
    }

    /// Lets `Connection::transaction` of rusqlite say `BEGIN IMMEDIATE`.
    ///
    /// A transaction that reads first and writes later takes the write lock at its start then, instead of
    /// failing half way because another connection wrote meanwhile.
    ///
    /// ```
    /// # use lease_pool::sqlite::Options;
    /// let options = Options::memory().immediate();
    /// ```
    pub fn immediate(mut self) -> Self {
        self.transactions = TransactionBehavior::Immediate;
        self
    }

    /// Runs `setup` on each new connection, after the other options are set.
    ///
    /// ```
    /// # use lease_pool::sqlite::Options;
    /// let options = Options::memory().on_open(|db| db.pragma_update(None, "cache_size", -8192));
    /// ```
    pub fn on_open(
        mut self,
        setup: impl Fn(&mut rusqlite::Connection) -> rusqlite::Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.setup.push(Arc::new(setup));
        self
    }

    /// The manager for `Pool::builder`.
    ///
    /// ```
    /// # use lease_pool::{Pool, sqlite::Options};
    /// let pool = Pool::builder(Options::memory().manager()).max(2).build().unwrap();
    /// ```
    pub fn manager(self) -> SqliteManager {
        SqliteManager::new(self)
    }

    /// The file or the name in memory, for errors.
    pub(super) fn database(&self) -> String {
        match &self.place {
            Place::File(path) => path.display().to_string(),
            Place::Memory(memory) => memory.uri().to_owned(),
        }
    }

    /// Opens one connection on this thread, which it never leaves.
    pub(super) fn open(&self) -> Result<rusqlite::Connection, Error> {
        self.try_open().map_err(|source| Error::Open { database: self.database(), source })
    }

    fn try_open(&self) -> rusqlite::Result<rusqlite::Connection> {
        let mut connection = match &self.place {
            Place::File(path) => rusqlite::Connection::open(path)?,
            Place::Memory(memory) => rusqlite::Connection::open(memory.anchored()?)?,
        };
        operation::install(&connection, self.busy_timeout)?;
        connection.set_prepared_statement_cache_capacity(self.statement_cache);
        connection.set_transaction_behavior(self.transactions);
        if self.journal == Journal::Wal {
            if matches!(self.place, Place::File(_)) {
                self.switch_to_wal(&connection)?;
                connection.pragma_update(None, "synchronous", "NORMAL")?;
            }
            connection.pragma_update(None, "foreign_keys", "ON")?;
        }
        for setup in &self.setup {
            setup(&mut connection)?;
        }
        if self.access == Access::QueryOnly {
            connection.pragma_update(None, "query_only", "ON")?;
        }
        Ok(connection)
    }

    /// SQLite does not ask the busy handler in every step of this switch, so two first connections can collide.
    fn switch_to_wal(&self, connection: &rusqlite::Connection) -> rusqlite::Result<()> {
        let start = Instant::now();
        loop {
            let outcome =
                connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
            match outcome {
                Ok(mode) if mode.eq_ignore_ascii_case("wal") => return Ok(()),
                Ok(mode) => {
                    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
                    let reason = format!("WAL is not possible here, the journal mode stays {mode}");
                    return Err(rusqlite::Error::SqliteFailure(code, Some(reason)));
                }
                Err(error)
                    if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                        && start.elapsed() < self.busy_timeout =>
                {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(error) => return Err(error),
            }
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("place", &self.place)
            .field("busy_timeout", &self.busy_timeout)
            .field("statement_cache", &self.statement_cache)
            .field("journal", &self.journal)
            .field("access", &self.access)
            .finish_non_exhaustive()
    }
}
