use std::fmt;
use std::io;

/// Why an SQLite connection could not be opened or an operation failed.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # let pool = lease_pool::sqlite::pool(":memory:").unwrap();
/// let connection = pool.get().await.unwrap();
/// let error = connection.call(|db| db.execute("INSERT INTO missing VALUES (1)", [])).await.unwrap_err();
/// assert!(error.to_string().contains("missing"));
/// # }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The database could not be opened or its options could not be set.
    #[non_exhaustive]
    Open {
        /// The file, or the name of the database in memory.
        database: String,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// The operating system gave no thread for the connection.
    #[non_exhaustive]
    Thread {
        /// What it said.
        source: io::Error,
    },
    /// A statement failed.
    #[non_exhaustive]
    Sqlite {
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// The thread of the connection has ended.
    #[non_exhaustive]
    Ended {
        /// The file, or the name of the database in memory.
        database: String,
    },
}

impl Error {
    /// What SQLite said, if it said anything.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let pool = lease_pool::sqlite::pool(":memory:").unwrap();
    /// # let connection = pool.get().await.unwrap();
    /// let error = connection.call(|db| db.execute("SELEC 1", [])).await.unwrap_err();
    /// assert!(error.sqlite().is_some());
    /// # }
    /// ```
    pub fn sqlite(&self) -> Option<&rusqlite::Error> {
        match self {
            Error::Open { source, .. } | Error::Sqlite { source } => Some(source),
            Error::Thread { .. } | Error::Ended { .. } => None,
        }
    }
}

impl From<rusqlite::Error> for Error {
    fn from(source: rusqlite::Error) -> Self {
        Error::Sqlite { source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Open { database, source } => write!(f, "cannot open the database {database}: {source}"),
            Error::Thread { source } => write!(f, "no thread for an SQLite connection: {source}"),
            Error::Sqlite { source } => write!(f, "SQLite: {source}"),
            Error::Ended { database } => write!(f, "the thread of the connection to {database} has ended"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Open { source, .. } | Error::Sqlite { source } => Some(source),
            Error::Thread { source } => Some(source),
            Error::Ended { .. } => None,
        }
    }
}
