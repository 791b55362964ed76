use std::fmt;
use std::io;

use ::redis::{ErrorKind, RedisError};

use crate::{BuildError, ErrorClass};

/// Why a Redis connection could not be made, checked or reset.
///
/// Commands fail with the error of the `redis` crate.
///
/// ```
/// let error = lease_pool::redis::pool("not a url").unwrap_err();
/// assert!(matches!(error, lease_pool::redis::Error::Redis { .. }));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The options of the pool were refused.
    #[non_exhaustive]
    Build {
        /// Why.
        source: BuildError,
    },
    /// The address is of a kind that this adapter does not speak.
    #[non_exhaustive]
    Unsupported {
        /// The address.
        address: String,
    },
    /// The server could not be reached.
    #[non_exhaustive]
    Connect {
        /// Which one.
        address: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// The server or the protocol refused.
    #[non_exhaustive]
    Redis {
        /// What the `redis` crate said.
        source: RedisError,
    },
    /// The answer to a PING belongs to something else.
    #[non_exhaustive]
    OutOfStep {
        /// What was sent.
        sent: String,
        /// What came.
        received: String,
    },
}

impl Error {
    /// A wrong password does not get better by waiting.
    pub(super) fn class(&self) -> ErrorClass {
        match self {
            Error::Build { .. } | Error::Unsupported { .. } => ErrorClass::Fatal,
            Error::Redis { source } => match source.kind() {
                ErrorKind::AuthenticationFailed | ErrorKind::InvalidClientConfig => ErrorClass::Fatal,
                _ => ErrorClass::Transient,
            },
            Error::Connect { .. } | Error::OutOfStep { .. } => ErrorClass::Transient,
        }
    }
}

impl From<RedisError> for Error {
    fn from(source: RedisError) -> Self {
        Error::Redis { source }
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
            Error::Build { source } => source.fmt(f),
            Error::Unsupported { address } => {
                write!(f, "Redis at {address}: only TCP and Unix sockets, without TLS, are possible here")
            }
            Error::Connect { address, source } => write!(f, "cannot connect to Redis at {address}: {source}"),
            Error::Redis { source } => write!(f, "Redis: {source}"),
            Error::OutOfStep { sent, received } => {
                write!(f, "Redis answered {received:?} to a PING of {sent:?}: the connection is out of step")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Build { source } => Some(source),
            Error::Connect { source, .. } => Some(source),
            Error::Redis { source } => Some(source),
            Error::Unsupported { .. } | Error::OutOfStep { .. } => None,
        }
    }
}
