//! What a named pool exports through the `metrics` crate: names, help texts, buckets.
//!
//! A pool without a name exports nothing. Handles are bound when the pool is built, so install the recorder
//! first, or call [`Pool::bind_metrics`](crate::Pool::bind_metrics) afterwards: a handle that was bound before
//! there was a recorder stays silent for ever.
//!
//! # What stands still without a publisher
//!
//! Durations are recorded as they happen. Counters and gauges are kept by the pool itself, so that a checkout
//! pays nothing for them, and sent as differences: by the housekeeper at least once a second while it runs, by
//! [`Pool::publish`](crate::Pool::publish), and when the pool goes. On a pool whose housekeeper has no runtime
//! they stand still until somebody calls `publish`.
//!
//! # OpenTelemetry names
//!
//! | OpenTelemetry | here |
//! |---|---|
//! | `db.client.connection.count` (state = idle, used) | `fair_pool_resources` (state = idle, used) |
//! | `db.client.connection.max` | `fair_pool_resources_max` |
//! | `db.client.connection.idle.min` | `fair_pool_resources_min_idle` |
//! | `db.client.connection.pending_requests` | `fair_semaphore_queue_depth` of the pool's name |
//! | `db.client.connection.timeouts` | `fair_pool_checkouts_total` (outcome = timed_out) |
//! | `db.client.connection.create_time` | `fair_pool_create_seconds` |
//! | `db.client.connection.wait_time` | `fair_pool_checkout_seconds` |
//! | `db.client.connection.use_time` | `fair_semaphore_lease_seconds` of the pool's name |

mod meters;
mod table;

pub(crate) use meters::Meters;
pub use table::{
    ADDED, CHECKOUT_BUCKETS, CHECKOUT_SECONDS, CHECKOUTS, CLOSED, CREATE_BUCKETS, CREATE_SECONDS,
    CREATE_STATE, Kind, METRICS, Metric, RESOURCES, RESOURCES_MAX, RESOURCES_MIN_IDLE,
};
