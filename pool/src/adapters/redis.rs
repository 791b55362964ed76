//! Pools over Redis (feature `redis`): connections with one user each, or one connection with many.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let pool = lease_pool::redis::pool("redis://localhost/0")?;
//! let mut connection = pool.get().await?;
//! redis::cmd("SET").arg("key").arg("value").exec_async(&mut *connection).await?;
//! # Ok(()) }
//! ```
//!
//! | | [`pool`] | [`shared`] |
//! |---|---|---|
//! | connections | one per user, up to the maximum | one |
//! | what the maximum bounds | connections | users at once: a limiter |
//! | blocking commands, `WATCH`, `MULTI` | yes | refused |
//! | create | connects | clones, after a loss connects anew |
//! | check | `PING` with a word that has to come back | `PING` |
//! | reset | see below | none |
//! | close | waits until the server has closed its side | drops the clone; the last does the same |
//!
//! # Cancel safety
//!
//! A command whose future is dropped runs on at the server, but its answer reaches nobody else. What the pool does
//! when an exclusive connection comes back:
//!
//! - A use was cut off, or left a transaction, a watch or another database selected: `DISCARD`, `UNWATCH`,
//!   `SELECT` and a `PING` with a word that has to come back, before the next user gets it.
//! - A command that blocks was cut off (`BLPOP`, `XREAD BLOCK`…): the connection is closed, because the server
//!   would give the next element to a caller who is gone.
//! - Something was done that no command takes back (`SUBSCRIBE`, `AUTH`, `MONITOR`, `CLIENT REPLY`…): closed too.
//!
//! # What it does not do
//!
//! Subscriptions are better kept on a connection of their own than lent from a pool; TLS and clusters are not
//! supported here.

mod condition;
mod connection;
mod effect;
mod error;
mod link;
mod manager;
mod options;
mod shared;

pub use ::redis;
pub use connection::Connection;
pub use error::Error;
pub use manager::RedisManager;
pub use options::Options;
pub use shared::{SharedConnection, SharedManager};

use crate::Pool;

/// A pool of Redis connections with one user each.
///
/// ```
/// let pool: lease_pool::RedisPool = lease_pool::redis::pool("redis://localhost").unwrap();
/// ```
pub type RedisPool = Pool<RedisManager>;

/// One Redis connection that several users share.
///
/// ```
/// let pool: lease_pool::redis::SharedRedisPool = lease_pool::redis::shared("redis://localhost", 100).unwrap();
/// ```
pub type SharedRedisPool = Pool<SharedManager>;

/// Builds a pool of exclusive connections with default options to the server of this URL.
///
/// Nothing is connected before the first `get`.
///
/// # Errors
///
/// [`Error::Redis`] if the URL cannot be read.
///
/// ```
/// let pool = lease_pool::redis::pool("redis://localhost:6379/0").unwrap();
/// assert_eq!(pool.snapshot().max, 10);
/// ```
pub fn pool(url: &str) -> Result<RedisPool, Error> {
    Ok(Pool::builder(Options::from_url(url)?.manager()).build()?)
}

/// Builds a limiter: one connection to the server of this URL, with so many users at once.
///
/// Redis answers one command after the other anyway, so one connection serves many users well, as long as none
/// of them blocks it. The pool bounds how many of them there are and serves them in order.
///
/// # Errors
///
/// [`Error::Redis`] if the URL cannot be read, [`Error::Build`] if `users` is 0.
///
/// ```
/// let pool = lease_pool::redis::shared("redis://localhost", 100).unwrap();
/// assert_eq!(pool.snapshot().max, 100);
/// ```
pub fn shared(url: &str, users: usize) -> Result<SharedRedisPool, Error> {
    Ok(Pool::builder(Options::from_url(url)?.shared_manager()).max(users).build()?)
}
