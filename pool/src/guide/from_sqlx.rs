//! For people who come from `sqlx::Pool`.
//!
//! | sqlx | here |
//! |---|---|
//! | `PgPoolOptions::new()` | [`Pool::builder`](crate::Pool::builder)`(manager)`, or an adapter's `pool(url)` |
//! | `.max_connections(n)`, `.min_connections(n)` | `.max(n)`, `.min_idle(n)` (idle ones, not the total) |
//! | `.acquire_timeout(d)` | `.acquire_timeout(d)` |
//! | `.max_lifetime(d)`, `.idle_timeout(d)` | `.lifetime(d)`, `.idle_timeout(d)` |
//! | `.test_before_acquire(true)` | `.check_if_idle(Duration::ZERO)` |
//! | `.acquire_slow_threshold(d)` | the span `pool.get` has `queued_ms`, `create_ms` and `check_ms` |
//! | `.after_connect(f)` | `.after_create(f)` |
//! | `.before_acquire(f)` | `.before_checkout(f)` |
//! | `.after_release(f)` | `.after_return(f)` (sync), or the manager's `reset` (async) |
//! | `.connect_lazy(url)` | `build()` |
//! | `.connect(url).await` | `build()`, then [`Pool::warm_up`](crate::Pool::warm_up) |
//! | `pool.acquire().await` | [`Pool::get`](crate::Pool::get) |
//! | `pool.try_acquire()` | [`Pool::try_get`](crate::Pool::try_get) |
//! | `PoolConnection::detach()` | [`Pooled::detach`](crate::Pooled::detach) |
//! | `PoolConnection::close().await` | [`Pooled::discard`](crate::Pooled::discard) |
//! | `pool.close().await` | [`Pool::drain`](crate::Pool::drain)`(deadline)` |
//! | `pool.size()`, `num_idle()` | [`Pool::snapshot`](crate::Pool::snapshot): `live()`, `idle` |
//! | `Error::PoolTimedOut` | [`GetError::Timeout`](crate::GetError::Timeout) with phase, holders and the last failure |
//!
//! A connection of sqlx itself can be pooled through a manager of twenty lines:
//!
//! ```
//! # mod sqlx {
//! #     use std::future::Future;
//! #     pub struct SqliteConnection;
//! #     #[derive(Debug)] pub struct Error;
//! #     impl std::fmt::Display for Error { fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { Ok(()) } }
//! #     impl std::error::Error for Error {}
//! #     pub trait Connection: Sized {
//! #         fn connect(url: &str) -> impl Future<Output = Result<Self, Error>> + Send;
//! #         fn ping(&mut self) -> impl Future<Output = Result<(), Error>> + Send;
//! #         fn close(self) -> impl Future<Output = Result<(), Error>> + Send;
//! #     }
//! #     impl Connection for SqliteConnection {
//! #         async fn connect(_: &str) -> Result<Self, Error> { Ok(SqliteConnection) }
//! #         async fn ping(&mut self) -> Result<(), Error> { Ok(()) }
//! #         async fn close(self) -> Result<(), Error> { Ok(()) }
//! #     }
//! # }
//! use lease_pool::manager::{CheckContext, CloseContext, CreateContext};
//! use lease_pool::{Manager, Pool};
//! use sqlx::{Connection, SqliteConnection};
//!
//! struct Sqlite(String);
//!
//! impl Manager for Sqlite {
//!     type Resource = SqliteConnection;
//!     type Error = sqlx::Error;
//!
//!     async fn create(&self, _ctx: CreateContext<'_>) -> Result<SqliteConnection, sqlx::Error> {
//!         SqliteConnection::connect(&self.0).await
//!     }
//!
//!     async fn check(&self, connection: &mut SqliteConnection, _ctx: CheckContext<'_>) -> Result<(), sqlx::Error> {
//!         connection.ping().await
//!     }
//!
//!     async fn close(&self, connection: SqliteConnection, _ctx: CloseContext<'_>) {
//!         let _ = connection.close().await;
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let pool = Pool::builder(Sqlite("sqlite::memory:".to_owned())).max(4).build().unwrap();
//! let connection = pool.get().await.unwrap();
//! # drop(connection);
//! # }
//! ```
