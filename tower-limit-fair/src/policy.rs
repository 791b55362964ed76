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

    /// What a response future remembers of its request.
    #[doc(hidden)]
    type Note;

    /// The request has its lease.
    #[doc(hidden)]
    #[inline]
    fn admit(_: &mut Self::Note, _: &mut Running) {}
}

/// What a policy reads from a request before the inner service gets it. Sealed.
pub trait Prepare<Req>: Policy {
    #[doc(hidden)]
    fn prepare(&self, request: &mut Req) -> Self::Note;
}

/// What a policy makes of an inner service's result. Sealed.
pub trait Answer<Res, E>: Policy {
    /// The response of the limited service.
    type Response;
    /// The error of the limited service.
    type Error;

    #[doc(hidden)]
    fn finish(
        &self,
        result: Result<Res, E>,
        running: Running,
        note: &Self::Note,
    ) -> Result<Self::Response, Self::Error>;
    /// The inner service's readiness error.
    #[doc(hidden)]
    fn fail_ready(&self, error: E) -> Self::Error;
    #[doc(hidden)]
    fn refuse(&self, rejected: Rejected) -> Result<Self::Response, Self::Error>;
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
