use std::{
    fmt,
    task::{Context, Poll},
};

use tower_service::Service;

use crate::{
    Limit, Mode, ResponseFuture,
    future::Stage,
    policy::{Answer, Prepare, Wait},
    rule::{AnyRequest, Rule},
    seat::Seat,
    within,
};

/// A service that runs a bounded number of requests at a time, in the order they came.
///
/// Made by `ConcurrencyLimitLayer`. `S` needs no bound; `P` fixes response and error; `A` looks at the request.
///
/// # What a clone shares
///
/// The limit. A clone has neither the lease nor the place in the queue of its original.
///
/// # Fairness
///
/// Strict arrival order. One exception: a lease that `poll_ready` reserved and nobody used for the reservation ttl is
/// taken back when others wait; its owner then stands in front.
///
/// # Cancel safety
///
/// Dropping the service at any point frees its lease or its place exactly once.
///
/// # Examples
///
/// ```
/// use tower::{Layer, Service, ServiceExt, service_fn};
/// use tower_limit_fair::ConcurrencyLimitLayer;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let echo = service_fn(|word: &'static str| async move { Ok::<_, std::convert::Infallible>(word) });
/// let mut limited = ConcurrencyLimitLayer::new(4).layer(echo);
/// assert_eq!(limited.ready().await.unwrap().call("hello").await, Ok("hello"));
/// # }
/// ```
pub struct ConcurrencyLimit<S, P = Wait, A = AnyRequest> {
    service: S,
    seat: Seat,
    policy: P,
    rule: A,
}

impl<S, P, A> ConcurrencyLimit<S, P, A> {
    #[inline]
    pub(crate) fn new(service: S, seat: Seat, policy: P, rule: A) -> Self {
        ConcurrencyLimit { service, seat, policy, rule }
    }

    /// The limited service.
    pub fn get_ref(&self) -> &S {
        &self.service
    }

    /// The limited service, to change it.
    pub fn get_mut(&mut self) -> &mut S {
        &mut self.service
    }

    /// The limited service; a reserved lease or a place in the queue is given back.
    pub fn into_inner(self) -> S {
        self.service
    }

    /// A handle on the limit of this service.
    ///
    /// # Examples
    ///
    /// ```
    /// use tower::Layer;
    /// use tower_limit_fair::ConcurrencyLimitLayer;
    ///
    /// let limited = ConcurrencyLimitLayer::new(4).per_service().layer(());
    /// assert_eq!(limited.handle().limit(), 4);
    /// ```
    pub fn handle(&self) -> Limit {
        Limit { gate: std::sync::Arc::clone(&self.seat.gate) }
    }
}

impl<S, P, A, Req> Service<Req> for ConcurrencyLimit<S, P, A>
where
    S: Service<Req>,
    P: Prepare<Req> + Answer<S::Response, S::Error>,
    A: Rule<Req>,
{
    type Response = P::Response;
    type Error = P::Error;
    type Future = ResponseFuture<S::Future, P>;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        let reserved = self.seat.poll_reserve(cx);
        // A nested limit of the same semaphore would wait for what this service holds or waits for.
        let within = (self.seat.gate.mode == Mode::Reserve).then(|| within::enter(self.seat.gate.identity()));
        let inner = self.service.poll_ready(cx);
        drop(within);
        match inner {
            Poll::Ready(Ok(())) if reserved.is_ready() => {
                self.seat.reported();
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(error)) => {
                self.seat.give_back();
                Poll::Ready(Err(self.policy.fail_ready(error)))
            }
            _ => Poll::Pending,
        }
    }

    #[inline]
    fn call(&mut self, mut request: Req) -> Self::Future {
        let mut stage = match self.rule.weigh(&request) {
            Some(permits) => self.seat.enter(permits),
            None => self.seat.exempt(),
        };
        let mut note = self.policy.prepare(&mut request);
        let future = match &mut stage {
            Stage::Rejected(_) => None,
            Stage::Running(running) => {
                P::admit(&mut note, running);
                Some(self.service.call(request))
            }
            _ => Some(self.service.call(request)),
        };
        ResponseFuture::new(future, stage, self.policy.clone(), note)
    }
}

impl<S: Clone, P: Clone, A: Clone> Clone for ConcurrencyLimit<S, P, A> {
    #[inline]
    fn clone(&self) -> Self {
        ConcurrencyLimit {
            service: self.service.clone(),
            seat: self.seat.clone(),
            policy: self.policy.clone(),
            rule: self.rule.clone(),
        }
    }
}

impl<S: fmt::Debug, P, A> fmt::Debug for ConcurrencyLimit<S, P, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConcurrencyLimit")
            .field("service", &self.service)
            .field("limit", &self.handle())
            .finish()
    }
}
