use std::{fmt, marker::PhantomData, sync::Arc};

use semaphore_core::Semaphore;
use tower_layer::Layer;

use crate::{
    Builder, ConcurrencyLimit, Limit, Mode,
    calling::{Calling, Direct},
    gate::Gate,
    policy::{Fail, Wait},
    rule::AnyRequest,
    seat::Seat,
    spec::Spec,
};

/// Limits how many requests run at a time, in the order they came.
///
/// # What a clone shares
///
/// The limit. **The layer value owns it**: every `.layer()` call, route, connection and clone counts against one number.
/// `per_service()` is the explicit opposite.
///
/// # Examples
///
/// ```
/// use tower::{Layer, service_fn};
/// use tower_limit_fair::ConcurrencyLimitLayer;
///
/// let layer = ConcurrencyLimitLayer::new(4);
/// let service = layer.layer(service_fn(|n: u32| async move { Ok::<_, std::convert::Infallible>(n) }));
/// assert_eq!(layer.handle().limit(), 4);
/// ```
pub struct ConcurrencyLimitLayer<P = Wait, A = AnyRequest, D = Direct> {
    pub(crate) gate: Arc<Gate>,
    pub(crate) spec: Arc<Spec>,
    pub(crate) policy: P,
    pub(crate) rule: A,
    pub(crate) calling: PhantomData<fn() -> D>,
}

impl ConcurrencyLimitLayer {
    /// Pure backpressure, as tower's own limiter: `poll_ready` waits for a lease, and nothing is ever rejected.
    ///
    /// A limit of 0 lets nobody in until `Limit::set_limit` raises it.
    ///
    /// # Panics
    ///
    /// Above `Semaphore::MAX_PERMITS`.
    ///
    /// # Examples
    ///
    /// ```
    /// use tower_limit_fair::ConcurrencyLimitLayer;
    ///
    /// assert_eq!(ConcurrencyLimitLayer::new(4).handle().limit(), 4);
    /// ```
    pub fn new(limit: usize) -> Self {
        assert!(
            limit <= Semaphore::MAX_PERMITS,
            "a concurrency limit of {limit} is above the most that can be counted, {}",
            Semaphore::MAX_PERMITS
        );
        let semaphore =
            if limit == 0 { Semaphore::empty(Semaphore::MAX_PERMITS) } else { Semaphore::new(limit) };
        Spec::plain(Mode::Reserve, false).layer(Arc::new(semaphore), Wait)
    }

    /// For everything else: starts with the options of `new`, without a limit.
    ///
    /// # Examples
    ///
    /// ```
    /// use tower_limit_fair::ConcurrencyLimitLayer;
    ///
    /// let layer = ConcurrencyLimitLayer::builder().limit(8).queue(32).fail().build()?;
    /// # Ok::<(), tower_limit_fair::BuildError>(())
    /// ```
    pub fn builder() -> Builder {
        Builder::new()
    }
}

impl ConcurrencyLimitLayer<Fail> {
    /// Shares a semaphore with another layer or with your own code, which may close it: so the policy is `Fail`.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use semaphore_core::Semaphore;
    /// use tower_limit_fair::ConcurrencyLimitLayer;
    ///
    /// let semaphore = Arc::new(Semaphore::new(4));
    /// let layer = ConcurrencyLimitLayer::with_semaphore(Arc::clone(&semaphore));
    /// assert_eq!(layer.handle().limit(), 4);
    /// ```
    pub fn with_semaphore(semaphore: Arc<Semaphore>) -> Self {
        Spec::plain(Mode::Reserve, true).layer(semaphore, Fail)
    }
}

#[cfg(all(feature = "http", feature = "time"))]
impl ConcurrencyLimitLayer<crate::Http> {
    /// What a server wants: admission in the response future, a queue of 4 x `limit` for at most 1 s, the lease held to the
    /// end of the body, and 503 with `Retry-After` instead of an error.
    ///
    /// # Panics
    ///
    /// With a limit of 0 or above `Semaphore::MAX_PERMITS`.
    ///
    /// # Examples
    ///
    /// ```
    /// use tower_limit_fair::ConcurrencyLimitLayer;
    ///
    /// let app: axum::Router = axum::Router::new()
    ///     .route("/", axum::routing::get(|| async { "hello" }))
    ///     .layer(ConcurrencyLimitLayer::server(64));
    /// ```
    pub fn server(limit: usize) -> Self {
        match Self::server_builder(limit).build() {
            Ok(layer) => layer,
            Err(error) => panic!("{error}"),
        }
    }

    /// The options of `server`, to change or name them.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tower_limit_fair::ConcurrencyLimitLayer;
    ///
    /// let layer = ConcurrencyLimitLayer::server_builder(64).queue_timeout(Duration::from_millis(200)).build()?;
    /// # Ok::<(), tower_limit_fair::BuildError>(())
    /// ```
    pub fn server_builder(limit: usize) -> Builder<crate::Http> {
        Builder::new()
            .limit(limit)
            .mode(Mode::Deferred)
            .queue(limit.saturating_mul(4))
            .queue_timeout(std::time::Duration::from_secs(1))
            .http()
    }
}

impl<P, A, D> ConcurrencyLimitLayer<P, A, D> {
    /// A handle on the limit that every service of this layer shares.
    ///
    /// # Examples
    ///
    /// ```
    /// use tower_limit_fair::ConcurrencyLimitLayer;
    ///
    /// let limit = ConcurrencyLimitLayer::server(4).handle();
    /// assert_eq!(limit.in_flight(), 0);
    /// ```
    pub fn handle(&self) -> Limit {
        Limit { gate: Arc::clone(&self.gate) }
    }

    /// Gives every service of its own a limit of this size, instead of one for all.
    ///
    /// Clones of one service still share theirs. Axum lays the layers of a method router anew for every connection: end
    /// such a router with `.with_state(())` to have one limit per route. The name of such limits may repeat: their series add up.
    ///
    /// # Examples
    ///
    /// ```
    /// use tower::Layer;
    /// use tower_limit_fair::ConcurrencyLimitLayer;
    ///
    /// let layer = ConcurrencyLimitLayer::new(4).per_service();
    /// let (a, b) = (layer.layer("a"), layer.layer("b"));
    /// a.handle().set_limit(1)?;
    /// assert_eq!(b.handle().limit(), 4);
    /// # Ok::<(), tower_limit_fair::SetLimitError>(())
    /// ```
    pub fn per_service(self) -> PerServiceLayer<P, A, D> {
        let limit = self.gate.semaphore.capacity();
        PerServiceLayer { limit, spec: self.spec, policy: self.policy, rule: self.rule, calling: PhantomData }
    }
}

impl<S, P, A, D> Layer<S> for ConcurrencyLimitLayer<P, A, D>
where
    P: Clone,
    A: Clone,
    D: Calling<S>,
{
    type Service = ConcurrencyLimit<D::Service, P, A>;

    fn layer(&self, service: S) -> Self::Service {
        let seat = Seat::new(Arc::clone(&self.gate));
        ConcurrencyLimit::new(D::wrap(service), seat, self.policy.clone(), self.rule.clone())
    }
}

impl<P: Clone, A: Clone, D> Clone for ConcurrencyLimitLayer<P, A, D> {
    fn clone(&self) -> Self {
        ConcurrencyLimitLayer {
            gate: Arc::clone(&self.gate),
            spec: Arc::clone(&self.spec),
            policy: self.policy.clone(),
            rule: self.rule.clone(),
            calling: PhantomData,
        }
    }
}

impl<P, A, D> fmt::Debug for ConcurrencyLimitLayer<P, A, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConcurrencyLimitLayer").field("limit", &self.handle()).finish()
    }
}

/// A layer whose services have a limit each; made by `ConcurrencyLimitLayer::per_service`.
///
/// # What a clone shares
///
/// Nothing but the options: each `.layer()` call makes a new limit.
///
/// # Examples
///
/// ```
/// use tower_limit_fair::{ConcurrencyLimitLayer, PerServiceLayer};
///
/// let layer: PerServiceLayer = ConcurrencyLimitLayer::new(4).per_service();
/// ```
pub struct PerServiceLayer<P = Wait, A = AnyRequest, D = Direct> {
    limit: usize,
    spec: Arc<Spec>,
    policy: P,
    rule: A,
    calling: PhantomData<fn() -> D>,
}

impl<S, P, A, D> Layer<S> for PerServiceLayer<P, A, D>
where
    P: Clone,
    A: Clone,
    D: Calling<S>,
{
    type Service = ConcurrencyLimit<D::Service, P, A>;

    fn layer(&self, service: S) -> Self::Service {
        let seat = Seat::new(self.spec.gate_of_one_service(self.limit));
        ConcurrencyLimit::new(D::wrap(service), seat, self.policy.clone(), self.rule.clone())
    }
}

impl<P: Clone, A: Clone, D> Clone for PerServiceLayer<P, A, D> {
    fn clone(&self) -> Self {
        PerServiceLayer {
            limit: self.limit,
            spec: Arc::clone(&self.spec),
            policy: self.policy.clone(),
            rule: self.rule.clone(),
            calling: PhantomData,
        }
    }
}

impl<P, A, D> fmt::Debug for PerServiceLayer<P, A, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerServiceLayer").field("limit", &self.limit).finish_non_exhaustive()
    }
}
