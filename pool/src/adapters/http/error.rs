use std::fmt;
use std::io;

use crate::GetError;

/// Why a connection to an HTTP server could not be made or checked.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use http_body_util::Empty;
/// use lease_pool::http::Bytes;
///
/// // Nobody listens on the port of the discard service.
/// let pool = lease_pool::http::pool::<Empty<Bytes>>("127.0.0.1:9").unwrap();
/// let get = pool.get_timeout(std::time::Duration::from_millis(300));
/// assert!(get.await.is_err());
/// # }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The server could not be reached.
    #[non_exhaustive]
    Connect {
        /// Which one.
        authority: String,
        /// What the operating system or the connector said.
        source: io::Error,
    },
    /// The connection broke, or the rest of a body did.
    #[non_exhaustive]
    Hyper {
        /// What `hyper` said.
        source: hyper::Error,
    },
    /// The rest of a body that nobody wanted is too long to be read for the sake of the connection.
    #[non_exhaustive]
    Leftover {
        /// The most bytes that are read.
        limit: usize,
    },
}

impl From<hyper::Error> for Error {
    fn from(source: hyper::Error) -> Self {
        Error::Hyper { source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Connect { authority, source } => write!(f, "cannot connect to {authority}: {source}"),
            Error::Hyper { source } => write!(f, "HTTP: {source}"),
            Error::Leftover { limit } => {
                write!(f, "more than {limit} bytes of an unwanted body are left on the connection")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Connect { source, .. } => Some(source),
            Error::Hyper { source } => Some(source),
            Error::Leftover { .. } => None,
        }
    }
}

/// Why [`send`](super::send) has no response.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use http_body_util::Empty;
/// use lease_pool::http::{self, Bytes, SendError};
///
/// let pool = http::pool::<Empty<Bytes>>("127.0.0.1:9").unwrap();
/// pool.close();
/// let request = http::Request::get("/").body(Empty::new()).unwrap();
/// assert!(matches!(http::send(&pool, request).await, Err(SendError::Get { .. })));
/// # }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum SendError {
    /// The pool had no connection to give.
    #[non_exhaustive]
    Get {
        /// Why.
        source: GetError<Error>,
    },
    /// Two connections in a row ended before the request was written to them; the server has not seen it.
    #[non_exhaustive]
    Unsent {
        /// What ended the second.
        source: hyper::Error,
    },
    /// The connection broke after the request was written; the server may have acted on it.
    #[non_exhaustive]
    Broken {
        /// What broke it.
        source: hyper::Error,
    },
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SendError::Get { source } => write!(f, "no connection for the request: {source}"),
            SendError::Unsent { source } => write!(f, "the request was not sent: {source}"),
            SendError::Broken { source } => write!(f, "no response to the request: {source}"),
        }
    }
}

impl std::error::Error for SendError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            SendError::Get { source } => Some(source),
            SendError::Unsent { source } | SendError::Broken { source } => Some(source),
        }
    }
}
