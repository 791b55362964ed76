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
//!
//! | | this crate | `tokio::sync::Semaphore` |
//! |---|---|---|
//! | order | first in, first out, or barging by choice | first in, first out |
//! | a large request waits | free permits stay in the count | it collects permits, which nobody else sees as free |
//! | a request that can never be met | fails at once with `TooLarge` | waits for ever |
//! | the first waiter is dropped | who fits now is served at once | the same |
//! | shrinking below what is held | a debt, repaid before anybody is served | `forget_permits`, as far as permits are free |
//! | bound on the queue, deadlines, threads | `max_waiters`, `acquire_timeout`, `blocking_acquire` | by hand |
//! | a panicking waker | all are granted and woken, then the panic goes on | it goes on at once; waiters after its batch get nothing |
//! | looking in | snapshot, stats, waiters, observer, metrics | free permits |
//! | shutting down | `close`, `drained().await` | `close` |
//! | cooperative budget | not drawn on, see the [guide](guide#fairness) | drawn on |
//! | most permits | 2³¹ − 1 | 2⁶¹ − 1 |
//!
//! Beside it stand a [`BoundedQueue`] and, with the feature `executor`, a `TaskExecutor`, both built on it.
//!
//! # Where to read on
//!
//! [`Semaphore`] is the entry. The [`guide`] has fairness, cancel safety, overload and sizing; [`design`] is for
//! those who want to know how, or to change it.
//!
//! # For those who know `java.util.concurrent.Semaphore`
//!
//! | there | here |
//! |---|---|
//! | `new Semaphore(n, true)` | [`Semaphore::new`]; fair is the default |
//! | `new Semaphore(n)`, `new Semaphore(n, false)` | [`Builder::fairness`] with [`Fairness::Barging`] |
//! | `acquire()` | [`Semaphore::acquire`], or for threads [`Semaphore::blocking_acquire_interruptible`] with an [`Interrupt`] |
//! | `acquire(n)` | [`Semaphore::acquire_many`], [`Semaphore::blocking_acquire_interruptible`] |
//! | `acquireUninterruptibly()` | [`Semaphore::blocking_acquire`] |
//! | `acquireUninterruptibly(n)` | [`Semaphore::blocking_acquire_many`] |
//! | `tryAcquire()` | [`Semaphore::try_acquire`]; unlike there it does not pass waiters, except with `Barging` |
//! | `tryAcquire(n)` | [`Semaphore::try_acquire_many`] |
//! | `tryAcquire(timeout, unit)` | `Semaphore::acquire_timeout` (feature `time`), [`Semaphore::blocking_acquire_timeout`] |
//! | `tryAcquire(n, timeout, unit)` | `Semaphore::acquire_many_timeout`, [`Semaphore::blocking_acquire_many_timeout`] |
//! | `release()` | dropping the [`Lease`], or [`Lease::release`]; a permit that was not acquired cannot be released |
//! | `release(n)` | the same for a lease of `n`, or [`Lease::split`]; new permits come by [`Semaphore::add_permits`] |
//! | `availablePermits()` | [`Semaphore::available_permits`] |
//! | `drainPermits()` | [`Semaphore::drain_permits`] |
//! | `reducePermits(n)` | [`Semaphore::reduce_permits`]; may leave a debt, as there |
//! | `isFair()` | [`Semaphore::fairness`] |
//! | `hasQueuedThreads()` | [`Semaphore::has_waiters`] |
//! | `getQueueLength()` | [`Semaphore::queue_len`] |
//! | `getQueuedThreads()` | [`Semaphore::waiters`]: tickets, permits and waiting times; tasks have no identity to show |
//! | `toString()` | `Debug` of [`Semaphore`] |
//!
//! # Features
//!
//! | feature | what it adds |
//! |---|---|
//! | `time` | `acquire_timeout`, `acquire_until` and the timed forms of the queue, on tokio's timers |
//! | `executor` | `TaskExecutor`; implies `time` |
//! | `metrics` | export through the `metrics` crate: the module `metrics`, `bind_metrics`, `publish` |
//! | `tracing` | events at debug and trace level, a warning for overdue leases |
//!
//! # What it does not do
//!
//! No priorities, no other queue disciplines, no permits across processes, no detection of deadlocks among holders.
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
mod leaving;
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
pub mod guide;
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
