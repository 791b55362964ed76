//! A manager made of closures.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;

use super::{CheckContext, CreateContext, Manager, ResetContext};

/// A boxed future, as the closures of [`FromFn`] and the pool's hooks return it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

type OnResource<R, E> = Box<dyn for<'a> Fn(&'a mut R) -> BoxFuture<'a, Result<(), E>> + Send + Sync>;

/// Makes a manager of a closure that creates a resource.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use lease_pool::{Pool, manager};
///
/// let manager = manager::from_fn(|| async { Ok::<_, std::io::Error>(String::from("connection")) })
///     .with_check(|connection| Box::pin(async move {
///         if connection.is_empty() { Err(std::io::ErrorKind::NotConnected.into()) } else { Ok(()) }
///     }));
/// let pool = Pool::builder(manager).max(4).build().unwrap();
/// assert_eq!(*pool.get().await.unwrap(), "connection");
/// # }
/// ```
pub fn from_fn<F, Fut, R, E>(create: F) -> FromFn<F, R, E>
where
    F: Fn() -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, E>> + Send,
    R: Send + 'static,
    E: Error + Send + Sync + 'static,
{
    FromFn { create, check: None, reset: None, marker: PhantomData }
}

/// The manager that [`from_fn`] makes.
pub struct FromFn<F, R, E> {
    create: F,
    check: Option<OnResource<R, E>>,
    reset: Option<OnResource<R, E>>,
    marker: PhantomData<fn() -> R>,
}

impl<F, R, E> FromFn<F, R, E> {
    /// Adds a check: an error retires the resource.
    ///
    /// ```
    /// let manager = lease_pool::manager::from_fn(|| async { Ok::<_, std::io::Error>(0_u8) })
    ///     .with_check(|_byte| Box::pin(async { Ok(()) }));
    /// # drop(manager);
    /// ```
    pub fn with_check<C>(mut self, check: C) -> Self
    where
        C: for<'a> Fn(&'a mut R) -> BoxFuture<'a, Result<(), E>> + Send + Sync + 'static,
    {
        self.check = Some(Box::new(check));
        self
    }

    /// Adds a reset, run by the housekeeper after every return.
    ///
    /// ```
    /// let manager = lease_pool::manager::from_fn(|| async { Ok::<_, std::io::Error>(0_u8) })
    ///     .with_reset(|byte| Box::pin(async move { *byte = 0; Ok(()) }));
    /// # drop(manager);
    /// ```
    pub fn with_reset<C>(mut self, reset: C) -> Self
    where
        C: for<'a> Fn(&'a mut R) -> BoxFuture<'a, Result<(), E>> + Send + Sync + 'static,
    {
        self.reset = Some(Box::new(reset));
        self
    }
}

impl<F, R, E> fmt::Debug for FromFn<F, R, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FromFn")
            .field("check", &self.check.is_some())
            .field("reset", &self.reset.is_some())
            .finish_non_exhaustive()
    }
}

impl<F, Fut, R, E> Manager for FromFn<F, R, E>
where
    F: Fn() -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, E>> + Send,
    R: Send + 'static,
    E: Error + Send + Sync + 'static,
{
    type Resource = R;
    type Error = E;

    fn create(&self, _ctx: CreateContext<'_>) -> impl Future<Output = Result<R, E>> + Send {
        (self.create)()
    }

    async fn check(&self, resource: &mut R, _ctx: CheckContext<'_>) -> Result<(), E> {
        match &self.check {
            Some(check) => check(resource).await,
            None => Ok(()),
        }
    }

    async fn reset(&self, resource: &mut R, _ctx: ResetContext<'_>) -> Result<(), E> {
        match &self.reset {
            Some(reset) => reset(resource).await,
            None => Ok(()),
        }
    }

    fn needs_reset(&self, _resource: &R) -> bool {
        self.reset.is_some()
    }
}
