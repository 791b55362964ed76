//! A pool of services made by a Tower `MakeService` (feature `make_service`).
//!
//! A `MakeService` is a service whose response is a service: a connector, for example. Each resource of the pool
//! is one such service.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use lease_pool::{Pool, make_service::MakeServiceManager};
//! use std::convert::Infallible;
//! use tower_service::Service;
//!
//! let maker = tower::service_fn(|_target: &'static str| async {
//!     Ok::<_, Infallible>(tower::service_fn(|n: u32| async move { Ok::<_, Infallible>(n + 1) }))
//! });
//! let pool = Pool::builder(MakeServiceManager::new(maker, "localhost")).max(2).build()?;
//! let mut service = pool.get().await?;
//! assert_eq!(service.call(1).await?, 2);
//! # Ok(()) }
//! ```
//!
//! | step | what happens |
//! |---|---|
//! | create | waits until a clone of the maker is ready, then calls it with the target |
//! | check | waits until the service is ready; its error retires it |
//! | reset | none |
//! | close | drops the service |
//!
//! # Cancel safety
//!
//! Whether a call was cut off, and whether that matters, only the service knows: the next user gets it after a
//! check, that is when it says that it is ready. A service that can be ready and still owe somebody else's
//! response must be marked by `Pooled::discard` or used through `Pool::with`.

use std::error::Error;
use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;

use tower_service::Service;

use crate::Manager;
use crate::manager::{CancelSafety, CheckContext, CreateContext};

/// Makes the services of a pool.
///
/// `Request` is what the pooled services take.
///
/// ```
/// use lease_pool::make_service::MakeServiceManager;
/// # use std::convert::Infallible;
/// let maker = tower::service_fn(|_target: u16| async {
///     Ok::<_, Infallible>(tower::service_fn(|n: u32| async move { Ok::<_, Infallible>(n) }))
/// });
/// let manager = MakeServiceManager::<_, _, u32>::new(maker, 80);
/// ```
pub struct MakeServiceManager<S, Target, Request> {
    maker: S,
    target: Target,
    request: PhantomData<fn(Request)>,
}

impl<S: fmt::Debug, Target: fmt::Debug, Request> fmt::Debug for MakeServiceManager<S, Target, Request> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MakeServiceManager")
            .field("maker", &self.maker)
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

impl<S: Clone, Target: Clone, Request> Clone for MakeServiceManager<S, Target, Request> {
    fn clone(&self) -> Self {
        MakeServiceManager { maker: self.maker.clone(), target: self.target.clone(), request: PhantomData }
    }
}

impl<S, Target, Request> MakeServiceManager<S, Target, Request> {
    /// Makes services by clones of `maker`, each called with a clone of `target`.
    ///
    /// ```
    /// # use lease_pool::make_service::MakeServiceManager;
    /// # use std::convert::Infallible;
    /// # let maker = tower::service_fn(|_target: u16| async {
    /// #     Ok::<_, Infallible>(tower::service_fn(|n: u32| async move { Ok::<_, Infallible>(n) }))
    /// # });
    /// let manager = MakeServiceManager::<_, _, u32>::new(maker, 80);
    /// ```
    pub fn new(maker: S, target: Target) -> Self {
        MakeServiceManager { maker, target, request: PhantomData }
    }
}

/// Why a service could not be made, or is not ready any more.
///
/// ```
/// use lease_pool::make_service::MakeServiceError;
/// let error = MakeServiceError::from(Box::from("refused"));
/// assert_eq!(error.to_string(), "refused");
/// ```
#[derive(Debug)]
pub struct MakeServiceError {
    source: Box<dyn Error + Send + Sync>,
}

impl From<Box<dyn Error + Send + Sync>> for MakeServiceError {
    fn from(source: Box<dyn Error + Send + Sync>) -> Self {
        MakeServiceError { source }
    }
}

impl fmt::Display for MakeServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

impl Error for MakeServiceError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        // Its own text is shown already.
        self.source.source()
    }
}

fn failed<E: Into<Box<dyn Error + Send + Sync>>>(error: E) -> MakeServiceError {
    MakeServiceError { source: error.into() }
}

impl<S, Target, Request> Manager for MakeServiceManager<S, Target, Request>
where
    S: Service<Target> + Clone + Send + Sync + 'static,
    S::Future: Send,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    S::Response: Service<Request> + Send + 'static,
    <S::Response as Service<Request>>::Error: Into<Box<dyn Error + Send + Sync>>,
    Target: Clone + Send + Sync + 'static,
    Request: 'static,
{
    type Resource = S::Response;
    type Error = MakeServiceError;

    async fn create(&self, _ctx: CreateContext<'_>) -> Result<S::Response, MakeServiceError> {
        let mut maker = self.maker.clone();
        poll_fn(|cx| maker.poll_ready(cx)).await.map_err(failed)?;
        maker.call(self.target.clone()).await.map_err(failed)
    }

    async fn check(&self, service: &mut S::Response, _ctx: CheckContext<'_>) -> Result<(), MakeServiceError> {
        poll_fn(|cx| service.poll_ready(cx)).await.map_err(failed)
    }

    fn cancel_safety(&self) -> CancelSafety {
        CancelSafety::CheckFirst
    }
}
