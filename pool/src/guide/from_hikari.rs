//! For people who come from HikariCP.
//!
//! | HikariCP | here |
//! |---|---|
//! | `maximumPoolSize` | `max` |
//! | `minimumIdle` | `min_idle` |
//! | `connectionTimeout` | `acquire_timeout` |
//! | `validationTimeout` | `check_timeout` |
//! | `idleTimeout` | `idle_timeout` |
//! | `maxLifetime` | `lifetime` (early by up to 20 %, spread) |
//! | `keepaliveTime` | `keepalive` |
//! | `leakDetectionThreshold` | `leak_warning_after` |
//! | `initializationFailTimeout` | [`Pool::warm_up`](crate::Pool::warm_up)`(1, deadline)`, and look at `first_error` |
//! | `connectionInitSql` | `after_create` |
//! | `connectionTestQuery` | the manager's [`check`](crate::Manager::check) |
//! | `poolName` | `name` |
//! | `metricRegistry` | the `metrics` crate, on by default for a named pool |
//! | `getConnection()` | [`Pool::get`](crate::Pool::get), [`Pool::blocking_get`](crate::Pool::blocking_get) |
//! | `connection.close()` | drop the guard |
//! | `evictConnection(c)` | [`Pooled::discard`](crate::Pooled::discard) |
//! | `softEvictConnections()` | [`Pool::invalidate_all`](crate::Pool::invalidate_all)`(spread)` |
//! | `suspendPool()`, `resumePool()` | [`Pool::pause`](crate::Pool::pause), [`Pool::resume`](crate::Pool::resume) |
//! | `HikariConfigMXBean.setMaximumPoolSize` | [`Pool::resize`](crate::Pool::resize) |
//! | `HikariPoolMXBean` | [`Pool::snapshot`](crate::Pool::snapshot), [`Pool::holders`](crate::Pool::holders) |
//! | `close()` | [`Pool::drain`](crate::Pool::drain)`(deadline)` |
//! | properties file | `PoolConfig` (feature `serde`): files and environment |
//!
//! ```
//! use lease_pool::{Pool, manager};
//! use std::time::Duration;
//!
//! let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>("connection") }))
//!     .max(10)
//!     .min_idle(10)
//!     .acquire_timeout(Duration::from_secs(30))
//!     .keepalive(Duration::from_secs(120))
//!     .leak_warning_after(Duration::from_secs(2))
//!     .build()
//!     .unwrap();
//! # drop(pool);
//! ```
