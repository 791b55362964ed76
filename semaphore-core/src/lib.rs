//! A strictly fair async semaphore whose permits are leases that come back exactly once.
//!
//! ```
//! use semaphore_core::Semaphore;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let semaphore = Semaphore::new(2);
//! let first = semaphore.acquire().await.unwrap();
//! let second = semaphore.acquire().await.unwrap();
//! assert!(semaphore.try_acquire().is_err());
//! drop(first);
//! assert!(semaphore.try_acquire().is_ok());
//! # drop(second);
//! # }
//! ```
#![deny(unsafe_code)]

mod acquire;
mod atomic;
mod blocking;
mod bounded_queue;
mod builder;
mod capacity;
mod clock;
mod dispatch;
mod error;
mod event;
#[cfg(feature = "executor")]
mod executor;
mod extension;
mod fairness;
mod generation;
mod lease;
mod list;
mod name;
mod observer;
mod place;
mod poke;
mod reap;
mod rejoin;
mod reservation;
mod semaphore;
mod slab;
mod snapshot;
#[cfg(feature = "time")]
mod until;
mod waiting;
mod wake;
mod watch;
mod word;

pub mod design;
#[cfg(feature = "metrics")]
pub mod metrics;

pub use acquire::{Acquire, AcquireFront, AcquireFrontOwned, AcquireOwned};
#[cfg(fair_count)]
pub use atomic::counted;
pub use blocking::Interrupt;
pub use bounded_queue::{BoundedQueue, PopError, PushError, Slot};
pub use builder::Builder;
pub use error::{AcquireError, BuildError, MergeError, ResizeError, TryAcquireError};
#[cfg(feature = "executor")]
pub use executor::{DrainReport, ExecutorStats, SpawnError, TaskExecutor};
pub use fairness::Fairness;
pub use lease::{Lease, OwnedLease};
pub use name::Name;
pub use observer::{Event, Observer};
pub use rejoin::Rejoin;
pub use reservation::Reservation;
pub use semaphore::{Semaphore, Ticket};
pub use snapshot::{Snapshot, Stats, WaiterInfo};
#[cfg(feature = "time")]
pub use until::{AcquireUntil, AcquireUntilOwned};
pub use watch::{Closed, Drained};
