//! Guides: fairness, cancel safety, overload and sizing.
//!
//! # Fairness
//!
//! Order is decided by the **first poll** of an acquire, not by the call that made it: a future that nobody polls has no
//! place. From then on it keeps its place, whatever else its task does.
//!
//! ```
//! use std::{future::Future, pin::pin, task::{Context, Waker}};
//! use semaphore_core::Semaphore;
//!
//! let semaphore = Semaphore::new(1);
//! let held = semaphore.try_acquire().unwrap();
//! let mut cx = Context::from_waker(Waker::noop());
//! let mut early = pin!(semaphore.acquire());
//! let mut late = pin!(semaphore.acquire());
//! assert!(late.as_mut().poll(&mut cx).is_pending()); // polled first: it is the first in line
//! assert!(early.as_mut().poll(&mut cx).is_pending());
//! drop(held);
//! assert!(early.as_mut().poll(&mut cx).is_pending());
//! assert!(late.as_mut().poll(&mut cx).is_ready());
//! ```
//!
//! A loop of acquires that never have to wait does not yield to the runtime. Where other tasks share the thread, add one
//! line:
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! # let semaphore = semaphore_core::Semaphore::new(1);
//! for _ in 0..1000 {
//!     let _lease = semaphore.acquire().await.unwrap();
//!     tokio::task::yield_now().await;
//! }
//! # }
//! ```
//!
//! # Cancel safety
//!
//! Every future here may be dropped at every moment.
//!
//! | dropped | what happens |
//! |---|---|
//! | before its first poll | nothing |
//! | in the queue | it leaves; if it was the head, whoever fits now is served |
//! | granted, not polled since | the grant goes to the next |
//! | after it gave the lease | nothing; the lease is yours |
//!
//! So `select!` and timeouts around an acquire lose no permit, only the place in line. To keep the place, keep the future
//! and poll it again:
//!
//! ```
//! # use std::{pin::pin, time::Duration};
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! # let semaphore = semaphore_core::Semaphore::new(1);
//! # let held = semaphore.try_acquire().unwrap();
//! let mut acquire = pin!(semaphore.acquire());
//! tokio::select! {
//!     _lease = acquire.as_mut() => unreachable!(),
//!     () = tokio::time::sleep(Duration::from_millis(10)) => {} // do something else meanwhile
//! }
//! drop(held);
//! let _lease = acquire.await.unwrap();
//! # }
//! ```
//!
//! One hazard is left to the caller: a granted acquire that is kept and *not polled* keeps its permits. Do not park an
//! acquire in a place that nobody polls; [`Snapshot::oldest_grant`](crate::Snapshot::oldest_grant) shows when it happens.
//!
//! # Overload and sizing
//!
//! A bounded number of users and an unbounded queue only move the overload into the queue. Three bounds belong together:
//!
//! * **permits**: by Little's law, mean users at a time = arrivals per second × seconds held. Take what the resource bears
//!   (connections, cores, memory), not what arrives.
//! * **`max_waiters`**: the longest wait worth having × permits ÷ seconds held. Beyond it a caller learns at once that there
//!   is no room, as [`QueueFull`](crate::AcquireError::QueueFull).
//! * **a deadline** for each acquire (`acquire_timeout`): whoever gave up must not be
//!   served.
//!
//! For example, 20 connections, queries of 50 ms, and at most 200 ms in line: 20 × 0.2 / 0.05 = 80 waiters.
//!
//! ```
//! use semaphore_core::Semaphore;
//! let queries = Semaphore::builder(20).name("queries").max_waiters(80).build().unwrap();
//! # assert_eq!(queries.max_waiters(), Some(80));
//! ```
//!
//! Weights: where requests cost differently, let a permit stand for a unit of cost and ask for several with
//! [`acquire_many`](crate::Semaphore::acquire_many). In the default mode a large request holds the line until it fits, so
//! the largest weight should be well below the capacity.
//!
//! Shutting down: [`close`](crate::Semaphore::close), then [`drained`](crate::Semaphore::drained).
