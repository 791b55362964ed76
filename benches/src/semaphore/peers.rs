//! The semaphores behind one face, so that each scenario's loop is written once.

use std::future::Future;
use std::sync::Arc;

use semaphore_core::{Fairness, Lease, OwnedLease, Semaphore};

/// A counting semaphore.
pub trait Counting: Send + Sync + Sized + 'static {
    /// Its name in the tables.
    const NAME: &'static str;
    /// What a holder has; dropping it releases.
    type Permit<'a>: Send;
    /// With this many free permits.
    fn with(permits: usize) -> Self;
    /// Waits for one permit.
    fn acquire(&self) -> impl Future<Output = Self::Permit<'_>> + Send;
    /// Takes one permit if one is free.
    fn try_acquire(&self) -> Option<Self::Permit<'_>>;
    /// Adds permits, waking whoever they serve.
    fn grant(&self, permits: usize);
    /// Keeps the permit out for ever.
    fn keep(permit: Self::Permit<'_>);
}

/// One whose permits can be had several at a time.
pub trait Weighted: Counting {
    /// Waits for `permits` at once.
    fn acquire_many(&self, permits: usize) -> impl Future<Output = Self::Permit<'_>> + Send;
}

/// One whose permits can be owned.
pub trait OwnedCounting: Counting {
    /// An owned permit.
    type Owned: Send + 'static;
    /// Waits for an owned permit.
    fn acquire_owned(self: &Arc<Self>) -> impl Future<Output = Self::Owned> + Send + 'static;
}

/// Ours, strict FIFO.
#[derive(Debug)]
pub struct Fair(pub Arc<Semaphore>);

/// Ours, in the throughput mode.
#[derive(Debug)]
pub struct Barging(pub Arc<Semaphore>);

/// tokio's.
#[derive(Debug)]
pub struct Tokio(pub Arc<tokio::sync::Semaphore>);

/// async-lock's.
#[derive(Debug)]
pub struct AsyncLock(pub Arc<async_lock::Semaphore>);

/// The one of futures-intrusive, in its fair mode.
#[derive(Debug)]
pub struct Intrusive(pub futures_intrusive::sync::Semaphore);

macro_rules! ours {
    ($face:ident, $name:literal, $fairness:expr) => {
        impl Counting for $face {
            const NAME: &'static str = $name;
            type Permit<'a> = Lease<'a>;

            fn with(permits: usize) -> Self {
                match $fairness {
                    Fairness::Fifo => Self(Arc::new(Semaphore::new(permits))),
                    other => {
                        let built = Semaphore::builder(permits).fairness(other).build();
                        Self(Arc::new(built.expect("a valid number of permits")))
                    }
                }
            }

            #[inline]
            async fn acquire(&self) -> Lease<'_> {
                self.0.acquire().await.expect("nobody closes it")
            }

            #[inline]
            fn try_acquire(&self) -> Option<Lease<'_>> {
                self.0.try_acquire().ok()
            }

            fn grant(&self, permits: usize) {
                self.0.add_permits(permits).expect("far from the maximum");
            }

            fn keep(permit: Lease<'_>) {
                permit.forget();
            }
        }

        impl Weighted for $face {
            #[inline]
            async fn acquire_many(&self, permits: usize) -> Lease<'_> {
                self.0.acquire_many(permits).await.expect("within the ceiling")
            }
        }
    };
}

impl OwnedCounting for Fair {
    type Owned = OwnedLease;

    #[inline]
    fn acquire_owned(self: &Arc<Self>) -> impl Future<Output = OwnedLease> + Send + 'static {
        let acquire = Arc::clone(&self.0).acquire_owned();
        async move { acquire.await.expect("nobody closes it") }
    }
}

ours!(Fair, "ours", Fairness::Fifo);
ours!(Barging, "ours (barging)", Fairness::Barging);

impl Counting for Tokio {
    const NAME: &'static str = "tokio";
    type Permit<'a> = tokio::sync::SemaphorePermit<'a>;

    fn with(permits: usize) -> Self {
        Self(Arc::new(tokio::sync::Semaphore::new(permits)))
    }

    #[inline]
    async fn acquire(&self) -> Self::Permit<'_> {
        self.0.acquire().await.expect("nobody closes it")
    }

    #[inline]
    fn try_acquire(&self) -> Option<Self::Permit<'_>> {
        self.0.try_acquire().ok()
    }

    fn grant(&self, permits: usize) {
        self.0.add_permits(permits);
    }

    fn keep(permit: Self::Permit<'_>) {
        permit.forget();
    }
}

impl Weighted for Tokio {
    #[inline]
    async fn acquire_many(&self, permits: usize) -> Self::Permit<'_> {
        self.0.acquire_many(permits as u32).await.expect("nobody closes it")
    }
}

impl OwnedCounting for Tokio {
    type Owned = tokio::sync::OwnedSemaphorePermit;

    fn acquire_owned(self: &Arc<Self>) -> impl Future<Output = Self::Owned> + Send + 'static {
        let acquire = Arc::clone(&self.0).acquire_owned();
        async move { acquire.await.expect("nobody closes it") }
    }
}

impl Counting for AsyncLock {
    const NAME: &'static str = "async-lock";
    type Permit<'a> = async_lock::SemaphoreGuard<'a>;

    fn with(permits: usize) -> Self {
        Self(Arc::new(async_lock::Semaphore::new(permits)))
    }

    #[inline]
    async fn acquire(&self) -> Self::Permit<'_> {
        self.0.acquire().await
    }

    #[inline]
    fn try_acquire(&self) -> Option<Self::Permit<'_>> {
        self.0.try_acquire()
    }

    fn grant(&self, permits: usize) {
        self.0.add_permits(permits);
    }

    fn keep(permit: Self::Permit<'_>) {
        permit.forget();
    }
}

impl OwnedCounting for AsyncLock {
    type Owned = async_lock::SemaphoreGuardArc;

    fn acquire_owned(self: &Arc<Self>) -> impl Future<Output = Self::Owned> + Send + 'static {
        self.0.acquire_arc()
    }
}

impl Counting for Intrusive {
    const NAME: &'static str = "futures-intrusive";
    type Permit<'a> = futures_intrusive::sync::SemaphoreReleaser<'a>;

    fn with(permits: usize) -> Self {
        Self(futures_intrusive::sync::Semaphore::new(true, permits))
    }

    #[inline]
    async fn acquire(&self) -> Self::Permit<'_> {
        self.0.acquire(1).await
    }

    #[inline]
    fn try_acquire(&self) -> Option<Self::Permit<'_>> {
        self.0.try_acquire(1)
    }

    fn grant(&self, permits: usize) {
        self.0.release(permits);
    }

    fn keep(mut permit: Self::Permit<'_>) {
        permit.disarm();
    }
}

impl Weighted for Intrusive {
    #[inline]
    async fn acquire_many(&self, permits: usize) -> Self::Permit<'_> {
        self.0.acquire(permits).await
    }
}
