//! The semaphores behind one face, so that each scenario's loop is written once.

use std::future::Future;
use std::sync::Arc;

use semaphore_core::{AcquireError, Fairness, Lease, OwnedLease, Semaphore};

/// A counting semaphore.
pub trait Counting: Send + Sync + Sized + 'static {
    /// Its name in the tables.
    const NAME: &'static str;
    /// What a holder has; dropping it releases.
    type Permit<'a>: Send;
    /// With this many free permits.
    fn with(permits: usize) -> Self;
    /// What the future of an acquire gives: the permit, or a result that holds it.
    type Grant<'a>: Send;
    /// The permit in a grant.
    fn permit(grant: Self::Grant<'_>) -> Self::Permit<'_>;
    /// Waits for one permit. The future is the semaphore's own: a wrapper would be measured with it.
    fn acquire(&self) -> impl Future<Output = Self::Grant<'_>> + Send;
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
    fn acquire_many(&self, permits: usize) -> impl Future<Output = Self::Grant<'_>> + Send;
}

/// One whose permits can be owned.
pub trait OwnedCounting: Counting {
    /// What an owned acquire gives.
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
            type Grant<'a> = Result<Lease<'a>, AcquireError>;

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
            fn permit(grant: Self::Grant<'_>) -> Lease<'_> {
                grant.expect("nobody closes it")
            }

            #[inline]
            fn acquire(&self) -> impl Future<Output = Self::Grant<'_>> + Send {
                self.0.acquire()
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
            fn acquire_many(&self, permits: usize) -> impl Future<Output = Self::Grant<'_>> + Send {
                self.0.acquire_many(permits)
            }
        }
    };
}

impl OwnedCounting for Fair {
    type Owned = Result<OwnedLease, AcquireError>;

    #[inline]
    fn acquire_owned(self: &Arc<Self>) -> impl Future<Output = Self::Owned> + Send + 'static {
        Arc::clone(&self.0).acquire_owned()
    }
}

ours!(Fair, "ours", Fairness::Fifo);
ours!(Barging, "ours (barging)", Fairness::Barging);

impl Counting for Tokio {
    const NAME: &'static str = "tokio";
    type Permit<'a> = tokio::sync::SemaphorePermit<'a>;
    type Grant<'a> = Result<tokio::sync::SemaphorePermit<'a>, tokio::sync::AcquireError>;

    fn with(permits: usize) -> Self {
        Self(Arc::new(tokio::sync::Semaphore::new(permits)))
    }

    #[inline]
    fn permit(grant: Self::Grant<'_>) -> Self::Permit<'_> {
        grant.expect("nobody closes it")
    }

    #[inline]
    fn acquire(&self) -> impl Future<Output = Self::Grant<'_>> + Send {
        self.0.acquire()
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
    fn acquire_many(&self, permits: usize) -> impl Future<Output = Self::Grant<'_>> + Send {
        self.0.acquire_many(permits as u32)
    }
}

impl OwnedCounting for Tokio {
    type Owned = Result<tokio::sync::OwnedSemaphorePermit, tokio::sync::AcquireError>;

    fn acquire_owned(self: &Arc<Self>) -> impl Future<Output = Self::Owned> + Send + 'static {
        Arc::clone(&self.0).acquire_owned()
    }
}

impl Counting for AsyncLock {
    const NAME: &'static str = "async-lock";
    type Permit<'a> = async_lock::SemaphoreGuard<'a>;
    type Grant<'a> = async_lock::SemaphoreGuard<'a>;

    fn with(permits: usize) -> Self {
        Self(Arc::new(async_lock::Semaphore::new(permits)))
    }

    #[inline]
    fn permit(grant: Self::Grant<'_>) -> Self::Permit<'_> {
        grant
    }

    #[inline]
    fn acquire(&self) -> impl Future<Output = Self::Grant<'_>> + Send {
        self.0.acquire()
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
    type Grant<'a> = futures_intrusive::sync::SemaphoreReleaser<'a>;

    fn with(permits: usize) -> Self {
        Self(futures_intrusive::sync::Semaphore::new(true, permits))
    }

    #[inline]
    fn permit(grant: Self::Grant<'_>) -> Self::Permit<'_> {
        grant
    }

    #[inline]
    fn acquire(&self) -> impl Future<Output = Self::Grant<'_>> + Send {
        self.0.acquire(1)
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
    fn acquire_many(&self, permits: usize) -> impl Future<Output = Self::Grant<'_>> + Send {
        self.0.acquire(permits)
    }
}
