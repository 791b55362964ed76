use std::{
    fmt,
    future::Future,
    mem,
    pin::Pin,
    task::{Context, Poll},
};

use pin_project::pin_project;
use tower_service::Service;

/// Calls its service at the first poll of the response, and not in `call`.
///
/// The builder's `deferred_clone()` puts it around a service that works eagerly in `call` (a Buffer, a client that sends at
/// once), so that the work begins after the admission. It needs `S: Clone`: the ready service goes into the future, and a
/// clone takes its place.
///
/// # Examples
///
/// ```
/// use tower::{Layer, Service, service_fn};
/// use tower_limit_fair::{ConcurrencyLimitLayer, Mode};
///
/// let eager = service_fn(|n: u32| std::future::ready(Ok::<_, std::convert::Infallible>(n)));
/// let layer = ConcurrencyLimitLayer::builder().limit(4).mode(Mode::Deferred).deferred_clone().build()?;
/// let limited = layer.layer(eager);
/// # Ok::<(), tower_limit_fair::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct DeferredClone<S> {
    service: S,
}

impl<S> DeferredClone<S> {
    pub(crate) fn new(service: S) -> Self {
        DeferredClone { service }
    }

    /// The wrapped service.
    pub fn get_ref(&self) -> &S {
        &self.service
    }

    /// The wrapped service, to change it.
    pub fn get_mut(&mut self) -> &mut S {
        &mut self.service
    }

    /// The wrapped service.
    pub fn into_inner(self) -> S {
        self.service
    }
}

impl<S, Req> Service<Req> for DeferredClone<S>
where
    S: Service<Req> + Clone,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = DeferredCall<S, Req>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.service.poll_ready(cx)
    }

    fn call(&mut self, request: Req) -> Self::Future {
        let clone = self.service.clone();
        DeferredCall::Uncalled(Some((mem::replace(&mut self.service, clone), request)))
    }
}

#[cfg(feature = "grpc")]
impl<S: tonic::server::NamedService> tonic::server::NamedService for DeferredClone<S> {
    const NAME: &'static str = S::NAME;
}

/// The future of `DeferredClone`.
#[pin_project(project = DeferredCallProject)]
#[must_use = "futures do nothing unless polled"]
pub enum DeferredCall<S: Service<Req>, Req> {
    /// Not polled yet.
    #[doc(hidden)]
    Uncalled(Option<(S, Req)>),
    /// The service was called.
    #[doc(hidden)]
    Called(#[pin] S::Future),
}

impl<S: Service<Req>, Req> Future for DeferredCall<S, Req> {
    type Output = Result<S::Response, S::Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let future = match self.as_mut().project() {
                DeferredCallProject::Called(future) => return future.poll(cx),
                DeferredCallProject::Uncalled(uncalled) => match uncalled.take() {
                    Some((mut service, request)) => service.call(request),
                    None => panic!("`DeferredCall` polled after its service panicked"),
                },
            };
            self.set(DeferredCall::Called(future));
        }
    }
}

impl<S: Service<Req>, Req> fmt::Debug for DeferredCall<S, Req> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DeferredCall::Uncalled(_) => "DeferredCall::Uncalled",
            DeferredCall::Called(_) => "DeferredCall::Called",
        })
    }
}
