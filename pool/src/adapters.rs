//! Managers for the resources that most programs pool, each behind its feature.

#[cfg(feature = "hyper")]
pub mod http;
#[cfg(feature = "make_service")]
pub mod make_service;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod socket;
#[cfg(feature = "sqlite")]
pub mod sqlite;

#[cfg(feature = "hyper")]
pub use http::HttpPool;
#[cfg(feature = "postgres")]
pub use postgres::PgPool;
#[cfg(feature = "redis")]
pub use redis::RedisPool;
#[cfg(feature = "sqlite")]
pub use sqlite::{SqlitePool, SqlitePools};
