//! For people who come from deadpool (`deadpool::managed`).
//!
//! | deadpool | here |
//! |---|---|
//! | `impl managed::Manager { create, recycle }` | [`Manager`](crate::Manager): `create`; `recycle` is split into `is_broken` (cheap, each checkout), `check` (asks the peer, only when due) and `reset` (after a return, by the pool) |
//! | `Pool::builder(manager).max_size(n).build()` | [`Pool::builder`](crate::Pool::builder)`(manager).max(n).build()` |
//! | `.runtime(Runtime::Tokio1)` | not needed |
//! | `Timeouts { wait, create, recycle }` | one `acquire_timeout` over all three, on by default, plus `create_timeout` and `check_timeout` for each try |
//! | `pool.get().await` | [`Pool::get`](crate::Pool::get) |
//! | `pool.timeout_get(&timeouts)` | [`Pool::get_timeout`](crate::Pool::get_timeout), [`get_until`](crate::Pool::get_until) |
//! | wait timeout zero | [`Pool::try_get`](crate::Pool::try_get) |
//! | `Object` (`Deref`) | [`Pooled`](crate::Pooled) (`Deref`) |
//! | `Object::take(object)` | [`Pooled::detach`](crate::Pooled::detach) |
//! | `Object::metrics(&object)` | [`Pooled::meta`](crate::Pooled::meta) |
//! | `pool.retain(f)` | [`Pool::retain`](crate::Pool::retain) |
//! | `pool.resize(n)` | [`Pool::resize`](crate::Pool::resize) |
//! | `pool.close()`, `is_closed()` | [`Pool::close`](crate::Pool::close), [`Pool::drain`](crate::Pool::drain) to wait for the end |
//! | `pool.status()` | [`Pool::snapshot`](crate::Pool::snapshot) |
//! | `post_create`, `pre_recycle`, `post_recycle` hooks | `after_create`, `before_checkout`, `after_return`, `before_close` |
//! | `QueueMode::{Fifo, Lifo}` | [`IdleOrder`](crate::IdleOrder); callers are always first in, first out |
//! | `PoolError::Timeout(TimeoutType)` | [`GetError::Timeout`](crate::GetError::Timeout) with the [`Phase`](crate::Phase) and the holders |
//! | `PoolError::Backend(e)` | [`GetError::Create`](crate::GetError::Create), [`Unavailable`](crate::GetError::Unavailable) |
//!
//! What differs: a create goes on when its caller gives up; a check that is cancelled does not lose the
//! resource; a server that is down is tried once per backoff step, not once per caller.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! use lease_pool::{Manager, Pool, manager::{CheckContext, CreateContext}};
//!
//! struct Connections;
//!
//! impl Manager for Connections {
//!     type Resource = String;
//!     type Error = std::io::Error;
//!
//!     async fn create(&self, _ctx: CreateContext<'_>) -> Result<String, std::io::Error> {
//!         Ok("connection".to_owned())
//!     }
//!
//!     async fn check(&self, _connection: &mut String, _ctx: CheckContext<'_>) -> Result<(), std::io::Error> {
//!         Ok(()) // what `recycle` asked the server
//!     }
//! }
//!
//! let pool = Pool::builder(Connections).max(16).build().unwrap();
//! assert_eq!(*pool.get().await.unwrap(), "connection");
//! # }
//! ```
