//! A pool of PostgreSQL connections (feature `postgres`).
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let pool = lease_pool::postgres::pool("postgres://app@localhost/orders")?;
//! let client = pool.get().await?;
//! let row = client.query_one("SELECT 1 + 1", &[]).await?;
//! assert_eq!(row.get::<_, i32>(0), 2);
//! # Ok(()) }
//! ```
//!
//! | step | what happens |
//! |---|---|
//! | create | connects to the first host that answers, with TLS if [`Options::tls`] was given |
//! | check | one round trip without a query |
//! | return | nothing, unless a use was cut off, a transaction is open, or the mode is [`Reset::Clean`] |
//! | reset | see [`Reset`] and [`Client::settle`] |
//! | close | cancels what still runs, says goodbye, and waits until the server has closed its side |
//!
//! # Cancel safety
//!
//! Dropping the future of a query does not stop it at the server. When its connection comes back, the pool waits
//! for the end of the query, and after 100 ms ([`Options::cancel_after`]) asks the server to cancel it. The place
//! is free when the server is done and the request is known to have struck or missed, so it cannot hit the query
//! of the next user; and nobody ever reads an answer that was meant for somebody else.
//!
//! A transaction that is open at the return is rolled back, whether it was begun by
//! [`Client::transaction`] or by a statement: the adapter reads the status that the server sends with every
//! answer.
//!
//! # What a connection keeps
//!
//! In the default mode, what a user sets for the session: `SET`, `LISTEN`, temporary tables, advisory locks.
//! [`Reset::Clean`] discards these at the price of a round trip. Prepared statements stay in both.

mod address;
mod client;
mod connect;
mod error;
mod manager;
mod options;
mod settle;
mod statements;
mod uses;
mod wire;

pub use super::socket::Socket;
pub use client::Client;
pub use error::Error;
pub use manager::PgManager;
pub use options::{Options, Reset};
pub use tokio_postgres;

use crate::Pool;

/// A pool of PostgreSQL connections.
///
/// ```
/// let pool: lease_pool::PgPool = lease_pool::postgres::pool("host=localhost").unwrap();
/// ```
pub type PgPool = Pool<PgManager>;

/// Builds a pool with default options for the servers of this URL or key-value string.
///
/// Nothing is connected before the first `get`. Connections are plain; for TLS see [`Options::tls`].
///
/// # Errors
///
/// [`Error::Postgres`] if the URL cannot be read.
///
/// ```
/// let pool = lease_pool::postgres::pool("postgres://app@localhost/orders").unwrap();
/// assert_eq!(pool.snapshot().max, 10);
/// ```
pub fn pool(url: &str) -> Result<PgPool, Error> {
    Ok(Pool::builder(Options::from_url(url)?.manager()).build()?)
}
