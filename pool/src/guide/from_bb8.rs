//! For people who come from bb8 (or r2d2).
//!
//! | bb8 | here |
//! |---|---|
//! | `impl ManageConnection { connect, is_valid, has_broken }` | [`Manager`](crate::Manager)`{ create, check, is_broken }` |
//! | `Pool::builder().max_size(n).build(manager).await` | [`Pool::builder`](crate::Pool::builder)`(manager).max(n).build()`, sync; [`Pool::warm_up`](crate::Pool::warm_up) to connect first |
//! | `build_unchecked(manager)` | `build()` |
//! | `.min_idle(n)` | `.min_idle(n)` |
//! | `.test_on_check_out(true)` | `.check_if_idle(Duration::ZERO)`; the default checks what was idle for a second |
//! | `.test_on_check_out(false)` | `.check_if_idle(None)` |
//! | `.connection_timeout(d)` | `.acquire_timeout(d)` |
//! | `.max_lifetime(d)`, `.idle_timeout(d)` | `.lifetime(d)`, `.idle_timeout(d)` |
//! | `.reaper_rate(d)` | not needed: ends are timers, not a sweep |
//! | `.retry_connection(true)` | always: [`Builder::backoff`](crate::Builder::backoff) |
//! | `.error_sink(sink)` | `last_create_error` in [`GetError::Timeout`](crate::GetError::Timeout), the cause in `Create` and `Unavailable`, `Stats::create_errors` |
//! | `.connection_customizer(c)` | `.after_create(hook)` |
//! | `.queue_strategy(Fifo / Lifo)` | [`IdleOrder`](crate::IdleOrder) |
//! | `pool.get().await` | [`Pool::get`](crate::Pool::get) |
//! | `pool.get_owned().await` | `get`: every guard is owned |
//! | `pool.dedicated_connection()` | [`Pooled::detach`](crate::Pooled::detach) |
//! | `pool.add(conn)` | [`Pool::add`](crate::Pool::add) |
//! | `pool.state()` | [`Pool::snapshot`](crate::Pool::snapshot), [`Pool::stats`](crate::Pool::stats) |
//! | `RunError::{User, TimedOut}` | [`GetError`](crate::GetError) |
//! | r2d2's blocking `get` | [`Pool::blocking_get`](crate::Pool::blocking_get) |
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! use lease_pool::{Pool, manager};
//! use std::time::Duration;
//!
//! let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>("connection") }))
//!     .max(15)
//!     .min_idle(2)
//!     .check_if_idle(Duration::ZERO)
//!     .build()
//!     .unwrap();
//! let warm = pool.warm_up(2, Duration::from_secs(5)).await;
//! assert_eq!(warm.ready, 2);
//! # }
//! ```
