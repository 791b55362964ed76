//! A pool of HTTP/1 client connections to one server (feature `hyper`).
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use lease_pool::http;
//!
//! let pool = http::pool::<String>("localhost:8080")?;
//! let request = http::Request::get("http://localhost:8080/").body(String::new())?;
//! let response = http::send(&pool, request).await?;
//! # Ok(()) }
//! ```
//!
//! | step | what happens |
//! |---|---|
//! | create | connects and starts the task of the connection |
//! | check | nothing is sent; the connection has to be open and ready for a request |
//! | return | nothing, if the response was read to its end |
//! | reset | reads up to 64 KiB of a body that was dropped half way, and waits until a request can be sent |
//! | close | ends the task, and the socket with it |
//!
//! # Cancel safety
//!
//! A [`send`] that is dropped before the head of its response came closes its connection, so the response cannot
//! reach anybody else. A response body that is dropped half way is read to its end by the pool, or closes the
//! connection if it is too long or takes longer than the pool's reset timeout.
//!
//! # What it does not do
//!
//! HTTP/2, which needs no pool; redirects, retries after an answer, cookies; upgrades.

mod body;
mod connection;
mod error;
mod manager;
mod send;

pub use ::http::{Request, Response};
pub use body::ResponseBody;
pub use connection::Connection;
pub use error::{Error, SendError};
pub use hyper::body::Bytes;
pub use manager::HttpManager;
pub use send::send;

use std::sync::Arc;

use http_body::Body;

use crate::{BuildError, Pool};

/// A pool of HTTP/1 connections that send bodies of type `B`.
///
/// ```
/// let pool: lease_pool::http::HttpPool<String> = lease_pool::http::pool("localhost:8080").unwrap();
/// ```
pub type HttpPool<B> = Pool<HttpManager<B>>;

/// Builds a pool with default options to this authority, a host and a port.
///
/// Nothing is connected before the first request. For other options give an [`HttpManager`] to `Pool::builder`.
///
/// # Errors
///
/// [`BuildError`] as for any pool; the default options have none.
///
/// ```
/// let pool = lease_pool::http::pool::<String>("localhost:8080").unwrap();
/// assert_eq!(pool.snapshot().max, 10);
/// ```
pub fn pool<B>(authority: impl Into<Arc<str>>) -> Result<HttpPool<B>, BuildError>
where
    B: Body + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    Pool::builder(HttpManager::new(authority)).build()
}
