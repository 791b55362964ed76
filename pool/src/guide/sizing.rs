//! How large a pool should be.
//!
//! **Start from what the other side can run at once**, not from the number of callers: a database with 8 cores
//! and a fast disk does about 10 to 20 things at a time, and the 21st makes the others slower. Callers wait in
//! the pool's queue, where waiting is cheap and in order.
//!
//! By Little's law, resources in use = gets per second x seconds of use. 400 gets per second that hold for 20 ms
//! use 8 on average; twice that absorbs bursts.
//!
//! | option | start with | because |
//! |---|---|---|
//! | `max` | what the server runs at once, divided by the number of processes | the sum over all processes must fit its connection limit, restarts included |
//! | `min_idle` | 0, or the base load | keeps a floor warm and has successors ready before predecessors expire |
//! | `acquire_timeout` | less than your caller's own timeout | the error of the pool says who holds what; the caller's timeout says nothing |
//! | `max_waiters` | `max` x (acquire timeout / time of use) | those further back could not be served in time anyway |
//! | `create_concurrency` | 2 | a cold start is not a flood; raise it if connects are slow and the server strong |
//! | `lifetime` | shorter than whatever cuts connections on the way | expiry is spread, being cut off is not |
//!
//! Watch `fair_pool_resources{state="used"}` against `fair_pool_resources_max`, and the queue's depth: a queue
//! with idle CPU on the server wants a larger pool, a queue with a busy server a smaller load.
//!
//! A task that holds one resource and waits for another can stop everything: with `n` such tasks at once, `max`
//! has to be at least `n` + 1. The pool finds the case (see [`NestedGet`](crate::NestedGet)); better is to take
//! one resource per task. Tasks that drive several gets at once (`join!`, `select!`) look the same to it. Outside
//! of tokio tasks a thread counts as one task.
//!
//! ```
//! use lease_pool::{Pool, manager};
//! use std::time::Duration;
//!
//! let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) }))
//!     .max(16)
//!     .min_idle(4)
//!     .acquire_timeout(Duration::from_secs(2))
//!     .max_waiters(16 * 100)
//!     .build()
//!     .unwrap();
//! # drop(pool);
//! ```
