//! What happens when a future is dropped, stage by stage.
//!
//! | dropped while | what becomes of the caller's place | what becomes of the resource |
//! |---|---|---|
//! | not polled yet | it had none | nothing happens, nothing is counted |
//! | queued | given up at once, the next one moves up | - |
//! | granted and not polled since | given to the next caller | stays idle |
//! | a create was started for it | given up | the create goes on and serves the next caller, or lands in idle |
//! | its resource is checked | given up | follows [`Manager::cancel_safety`](crate::Manager::cancel_safety) |
//! | using the resource | - | see below |
//!
//! A create, a reset and a close belong to the pool, not to a caller: nobody can cut them off but their timeout
//! and the end of the runtime.
//!
//! # A use that is cut off
//!
//! A guard that is dropped looks the same whether its use was finished or not. A protocol that had a request
//! in flight then has a reply in its socket that the next caller would read. Three things tell the pool:
//!
//! * the manager's [`is_dirty`](crate::Manager::is_dirty), asked at every return; the adapters of this crate
//!   have one. A manager without it has every use taken for finished;
//! * [`Pool::with`](crate::Pool::with), which marks the resource until its closure has completed;
//! * [`Pooled::mark_dirty`](crate::Pooled::mark_dirty), by hand.
//!
//! What then happens is the manager's choice, [`CancelSafety`](crate::CancelSafety): `Safe` gives it back,
//! `CheckFirst` has it checked before anybody gets it, `Discard` closes it.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
//! use lease_pool::{Pool, TryGetError, manager};
//! use std::time::Duration;
//!
//! let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(0) })).build().unwrap();
//! let slow = pool.with(|_| Box::pin(tokio::time::sleep(Duration::from_secs(1))));
//! assert!(tokio::time::timeout(Duration::from_millis(1), slow).await.is_err());
//! assert_eq!(pool.try_get().unwrap_err(), TryGetError::NeedsCheck);
//! # }
//! ```
