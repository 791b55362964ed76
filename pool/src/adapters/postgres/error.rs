use std::error::Error as StdError;
use std::fmt;
use std::io;

use tokio_postgres::error::SqlState;

use crate::{BuildError, ErrorClass};

/// Why a PostgreSQL connection could not be made, checked, reset or cancelled.
///
/// Queries fail with the error of `tokio_postgres`.
///
/// ```
/// let error = lease_pool::postgres::pool("postgres://host:not-a-port/db").unwrap_err();
/// assert!(matches!(error, lease_pool::postgres::Error::Postgres { .. }));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The URL or the configuration names no server that can be tried.
    #[non_exhaustive]
    Hosts {
        /// What is wrong.
        reason: String,
    },
    /// The options of the pool were refused.
    #[non_exhaustive]
    Build {
        /// Why.
        source: BuildError,
    },
    /// The server could not be reached.
    #[non_exhaustive]
    Connect {
        /// Which one.
        address: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// TLS could not be set up.
    #[non_exhaustive]
    Tls {
        /// With which server.
        address: String,
        /// What the connector said.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The server is read-only and should not be, or the other way round.
    #[non_exhaustive]
    Session {
        /// Which one.
        address: String,
    },
    /// The server or the protocol refused.
    #[non_exhaustive]
    Postgres {
        /// What `tokio_postgres` said.
        source: tokio_postgres::Error,
    },
}

impl Error {
    /// What the server said, if it said anything.
    ///
    /// ```
    /// let error = lease_pool::postgres::pool("postgres://host:not-a-port/db").unwrap_err();
    /// assert!(error.sql_state().is_none());
    /// ```
    pub fn sql_state(&self) -> Option<&SqlState> {
        match self {
            Error::Postgres { source } => source.code(),
            _ => None,
        }
    }

    /// A wrong password, user or database does not get better by waiting.
    pub(super) fn class(&self) -> ErrorClass {
        let refused = [
            SqlState::INVALID_PASSWORD,
            SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
            SqlState::INVALID_CATALOG_NAME,
        ];
        match self {
            Error::Hosts { .. } | Error::Build { .. } => ErrorClass::Fatal,
            error if error.sql_state().is_some_and(|state| refused.contains(state)) => ErrorClass::Fatal,
            _ => ErrorClass::Transient,
        }
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(source: tokio_postgres::Error) -> Self {
        Error::Postgres { source }
    }
}

impl From<BuildError> for Error {
    fn from(source: BuildError) -> Self {
        Error::Build { source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Hosts { reason } => write!(f, "PostgreSQL hosts: {reason}"),
            Error::Build { source } => source.fmt(f),
            Error::Connect { address, source } => {
                write!(f, "cannot connect to PostgreSQL at {address}: {source}")
            }
            Error::Tls { address, source } => write!(f, "no TLS with PostgreSQL at {address}: {source}"),
            Error::Session { address } => {
                write!(f, "PostgreSQL at {address} is not what target_session_attrs asks for")
            }
            // Their text says "db error" only and leaves the rest to the source.
            Error::Postgres { source } => match source.as_db_error() {
                Some(error) => write!(f, "PostgreSQL: {error}"),
                None => write!(f, "PostgreSQL: {source}"),
            },
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Error::Hosts { .. } | Error::Session { .. } => None,
            Error::Build { source } => Some(source),
            Error::Connect { source, .. } => Some(source),
            Error::Tls { source, .. } => Some(&**source),
            Error::Postgres { source } => Some(source),
        }
    }
}
