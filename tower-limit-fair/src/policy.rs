use crate::{Rejected, running::Running};

mod fail;
mod wait;
pub use fail::Fail;
pub use wait::Wait;

#[cfg(feature = "http")]
mod http;
#[cfg(feature = "http")]
pub use self::http::{Http, MapRejection, TooManyRequests, Unavailable};

#[cfg(feature = "grpc")]
mod grpc;
#[cfg(feature = "grpc")]
pub use grpc::Grpc;

/// Fixes what a limited service answers with: `Wait`, `Fail`, `Http` or `Grpc`. Sealed.
///
/// # Examples
///
/// ```
/// use tower_limit_fair::{ConcurrencyLimitLayer, Fail};
///
/// let layer: ConcurrencyLimitLayer<Fail> = ConcurrencyLimitLayer::builder().limit(4).fail().build()?;
/// # Ok::<(), tower_limit_fair::BuildError>(())
/// ```
pub trait Policy: Clone + sealed::Sealed {
    /// Whether it has a way to turn a request away.
    const REJECTS: bool;
}

/// What a policy reads from a request before the inner service gets it. Sealed.
pub trait Prepare<Req>: Policy {
    #[doc(hidden)]
    fn prepare(&self, request: &mut Req) -> Note;
}

/// What a policy makes of an inner service's result. Sealed.
pub trait Answer<Res, E>: Policy {
    /// The response of the limited service.
    type Response;
    /// The error of the limited service.
    type Error;

    #[doc(hidden)]
    fn finish(&self, result: Result<Res, E>, running: Request) -> Result<Self::Response, Self::Error>;
    /// The inner service's readiness error.
    #[doc(hidden)]
    fn fail_ready(&self, error: E) -> Self::Error;
    #[doc(hidden)]
    fn refuse(&self, rejected: Rejected) -> Result<Self::Response, Self::Error>;
}

/// What a response future remembers of its request.
#[derive(Debug, Default)]
pub struct Note {
    /// The answer has no body, whatever its headers say (HEAD).
    #[cfg(feature = "http")]
    pub(crate) bodyless: bool,
    #[cfg(feature = "http")]
    pub(crate) handle: Option<crate::LeaseHandle>,
}

impl Note {
    /// Shares the lease with the request's handle, if it has one.
    #[inline]
    #[cfg_attr(not(feature = "http"), expect(unused_mut, reason = "only HTTP requests have handles"))]
    pub(crate) fn admitted(&mut self, mut running: Running) -> Running {
        #[cfg(feature = "http")]
        if let Some(handle) = self.handle.take() {
            running.share(handle);
        }
        running
    }

    #[inline]
    pub(crate) fn request(&self, running: Running) -> Request {
        Request {
            running,
            #[cfg(feature = "http")]
            bodyless: self.bodyless,
        }
    }
}

/// A request that was admitted and is being answered.
pub struct Request {
    pub(crate) running: Running,
    #[cfg(feature = "http")]
    pub(crate) bodyless: bool,
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request").finish_non_exhaustive()
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Wait {}
    impl Sealed for super::Fail {}
    #[cfg(feature = "http")]
    impl<M> Sealed for super::Http<M> {}
    #[cfg(feature = "grpc")]
    impl Sealed for super::Grpc {}
}
