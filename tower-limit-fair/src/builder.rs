use std::{fmt, marker::PhantomData, sync::Arc, time::Duration};

use semaphore_core::{Name, Semaphore};

use crate::{
    BuildError, ConcurrencyLimitLayer, Mode,
    calling::{AfterAdmission, Direct},
    policy::{Fail, Policy, Wait},
    rule::{AnyRequest, ForRequest},
    spec::Spec,
};

/// Collects the options of a limit; made by `ConcurrencyLimitLayer::builder`.
///
/// The policy (`fail`, `http`, `on_reject`, `grpc`, or none of them for `Wait`) fixes the types of the limited service;
/// everything else is a number, checked together by `build`.
///
/// # Examples
///
/// ```
/// use tower_limit_fair::{ConcurrencyLimitLayer, Mode};
///
/// let layer = ConcurrencyLimitLayer::builder()
///     .limit(64)
///     .name("search")
///     .mode(Mode::Deferred)
///     .queue(256)
///     .fail()
///     .build()?;
/// assert_eq!(layer.handle().name(), Some("search"));
/// # Ok::<(), tower_limit_fair::BuildError>(())
/// ```
#[derive(Clone)]
#[must_use = "a builder does nothing until `build()`"]
pub struct Builder<P = Wait, A = AnyRequest, D = Direct> {
    pub(crate) limit: Option<usize>,
    pub(crate) semaphore: Option<Arc<Semaphore>>,
    pub(crate) spec: Spec,
    pub(crate) policy: P,
    pub(crate) rule: A,
    pub(crate) calling: PhantomData<fn() -> D>,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Builder {
            limit: None,
            semaphore: None,
            spec: Spec::plain(Mode::Reserve, false),
            policy: Wait,
            rule: AnyRequest,
            calling: PhantomData,
        }
    }
}

impl<P, A, D> Builder<P, A, D> {
    /// How many permits there are: how many requests of weight 1 run at a time.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tower_limit_fair::{BuildError, ConcurrencyLimitLayer};
    /// let error = ConcurrencyLimitLayer::builder().limit(0).build().unwrap_err();
    /// assert!(matches!(error, BuildError::LimitOutOfRange { limit: 0, .. }));
    /// ```
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Shares this semaphore instead of making one. Its owner decides on limit, name and queue.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use semaphore_core::Semaphore;
    /// # use tower_limit_fair::{ConcurrencyLimitLayer, Mode};
    /// let semaphore = Arc::new(Semaphore::new(4));
    /// let layer = ConcurrencyLimitLayer::builder().semaphore(semaphore).mode(Mode::Shed).fail().build()?;
    /// # Ok::<(), tower_limit_fair::BuildError>(())
    /// ```
    pub fn semaphore(mut self, semaphore: Arc<Semaphore>) -> Self {
        self.semaphore = Some(semaphore);
        self
    }

    /// The most that `Limit::set_limit` may set, and that one request may weigh. Without it both follow the limit.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tower_limit_fair::ConcurrencyLimitLayer;
    /// let layer = ConcurrencyLimitLayer::builder().limit(4).max_limit(16).build()?;
    /// assert!(layer.handle().set_limit(17).is_err());
    /// # Ok::<(), tower_limit_fair::BuildError>(())
    /// ```
    pub fn max_limit(mut self, most: usize) -> Self {
        self.spec.max_limit = Some(most);
        self
    }

    /// Names the limit: in errors, logs and metrics. Without a name there are no metrics.
    ///
    /// A name belongs to one live shared limit; a second `build` with it is an error.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tower_limit_fair::{BuildError, ConcurrencyLimitLayer};
    /// let layer = ConcurrencyLimitLayer::builder().limit(4).name("doc-upload").build()?;
    /// let second = ConcurrencyLimitLayer::builder().limit(4).name("doc-upload").build();
    /// assert!(matches!(second, Err(BuildError::NameInUse { .. })));
    /// # Ok::<(), tower_limit_fair::BuildError>(())
    /// ```
    pub fn name(mut self, name: impl Into<Name>) -> Self {
        self.spec.name = Some(name.into());
        self
    }

    /// Where requests wait; `Mode::Reserve` if not set.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tower_limit_fair::{ConcurrencyLimitLayer, Mode};
    /// let layer = ConcurrencyLimitLayer::builder().limit(4).mode(Mode::Shed).fail().build()?;
    /// # Ok::<(), tower_limit_fair::BuildError>(())
    /// ```
    pub fn mode(mut self, mode: Mode) -> Self {
        self.spec.mode = mode;
        self
    }

    /// How many requests may wait; one more is rejected as `QueueFull`. Unbounded if not set.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tower_limit_fair::ConcurrencyLimitLayer;
    /// let layer = ConcurrencyLimitLayer::builder().limit(4).queue(16).fail().build()?;
    /// # Ok::<(), tower_limit_fair::BuildError>(())
    /// ```
    pub fn queue(mut self, max_waiters: usize) -> Self {
        self.spec.queue = Some(max_waiters);
        self
    }

    /// How long a request may wait; after it, it is rejected as `QueueTimeout`. Without end if not set.
    ///
    /// Up to about a thousand arrivals within one timeout are timed exactly, beyond that up to 1/1024 of it late.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use tower_limit_fair::ConcurrencyLimitLayer;
    /// let timeout = Duration::from_millis(250);
    /// let layer = ConcurrencyLimitLayer::builder().limit(4).queue_timeout(timeout).fail().build()?;
    /// # Ok::<(), tower_limit_fair::BuildError>(())
    /// ```
    #[cfg(feature = "time")]
    pub fn queue_timeout(mut self, timeout: Duration) -> Self {
        self.spec.queue_timeout = Some(timeout);
        self
    }

    /// How long a reserved lease may lie unused while others wait; 100 ms if not set.
    ///
    /// `None` turns the revocation off: an idle ready service then keeps its lease, and the limit needs no runtime.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use tower_limit_fair::ConcurrencyLimitLayer;
    /// let layer = ConcurrencyLimitLayer::builder().limit(4).reservation_ttl(Duration::from_millis(20)).build()?;
    /// let plain = ConcurrencyLimitLayer::builder().limit(4).reservation_ttl(None).build()?;
    /// # Ok::<(), tower_limit_fair::BuildError>(())
    /// ```
    pub fn reservation_ttl(mut self, ttl: impl Into<Option<Duration>>) -> Self {
        self.spec.reservation_ttl = ttl.into();
        self
    }

    /// Measures how long each lease is held, for the metric `fair_semaphore_lease_seconds`: two clock reads per request.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tower_limit_fair::ConcurrencyLimitLayer;
    /// let layer = ConcurrencyLimitLayer::builder().limit(4).name("doc-lease-time").lease_time().build()?;
    /// # Ok::<(), tower_limit_fair::BuildError>(())
    /// ```
    pub fn lease_time(mut self) -> Self {
        self.spec.lease_time = true;
        self
    }

    /// Counts leases held longer than this as overdue when they come home; implies `lease_time`.
    ///
    /// With the feature `tracing` each is a warning too.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use tower_limit_fair::ConcurrencyLimitLayer;
    /// let layer =
    ///     ConcurrencyLimitLayer::server_builder(4).warn_lease_after(Duration::from_secs(60)).build()?;
    /// # Ok::<(), tower_limit_fair::BuildError>(())
    /// ```
    pub fn warn_lease_after(mut self, age: Duration) -> Self {
        self.spec.warn_lease_after = Some(age);
        self
    }

    /// Lets requests pass without a lease: health checks, metrics. With `Mode::Deferred` and `Mode::Shed`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tower_limit_fair::ConcurrencyLimitLayer;
    /// let layer = ConcurrencyLimitLayer::server_builder(4)
    ///     .exempt(|request: &http::Request<axum::body::Body>| request.uri().path() == "/health")
    ///     .build()?;
    /// # Ok::<(), tower_limit_fair::BuildError>(())
    /// ```
    pub fn exempt<R>(
        self,
        predicate: impl Fn(&R) -> bool + Send + Sync + 'static,
    ) -> Builder<P, ForRequest<R>, D>
    where
        A: Into<ForRequest<R>>,
    {
        let mut rule = self.rule.into();
        rule.exempt = Some(Arc::new(predicate));
        Builder {
            limit: self.limit,
            semaphore: self.semaphore,
            spec: self.spec,
            policy: self.policy,
            rule,
            calling: PhantomData,
        }
    }

    /// How many permits a request takes. With `Mode::Deferred` and `Mode::Shed`, and a policy that can reject.
    ///
    /// One that weighs more than the limit waits until the limit was raised to it, if `max_limit` allows; above that it is
    /// rejected as `TooLarge`. A weight of 0 passes as soon as nothing is closed.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tower_limit_fair::{ConcurrencyLimitLayer, Mode};
    /// let layer = ConcurrencyLimitLayer::builder()
    ///     .limit(100)
    ///     .mode(Mode::Deferred)
    ///     .fail()
    ///     .weight(|rows: &Vec<u64>| rows.len().clamp(1, 100))
    ///     .build()?;
    /// # Ok::<(), tower_limit_fair::BuildError>(())
    /// ```
    pub fn weight<R>(
        self,
        weight: impl Fn(&R) -> usize + Send + Sync + 'static,
    ) -> Builder<P, ForRequest<R>, D>
    where
        A: Into<ForRequest<R>>,
    {
        let mut rule = self.rule.into();
        rule.weight = Some(Arc::new(weight));
        Builder {
            limit: self.limit,
            semaphore: self.semaphore,
            spec: self.spec,
            policy: self.policy,
            rule,
            calling: PhantomData,
        }
    }

    /// Calls the inner service only after the admission, on a clone that takes its place: see `DeferredClone`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tower_limit_fair::{ConcurrencyLimitLayer, Mode};
    /// let layer = ConcurrencyLimitLayer::builder().limit(4).mode(Mode::Deferred).deferred_clone().build()?;
    /// # Ok::<(), tower_limit_fair::BuildError>(())
    /// ```
    pub fn deferred_clone(self) -> Builder<P, A, AfterAdmission> {
        Builder {
            limit: self.limit,
            semaphore: self.semaphore,
            spec: self.spec,
            policy: self.policy,
            rule: self.rule,
            calling: PhantomData,
        }
    }

    /// Sets the policy by its value; `fail`, `http`, `on_reject` and `grpc` are the short forms.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tower_limit_fair::{ConcurrencyLimitLayer, Fail};
    /// let layer = ConcurrencyLimitLayer::builder().limit(4).policy(Fail).build()?;
    /// # Ok::<(), tower_limit_fair::BuildError>(())
    /// ```
    pub fn policy<Q: Policy>(self, policy: Q) -> Builder<Q, A, D> {
        Builder {
            limit: self.limit,
            semaphore: self.semaphore,
            spec: self.spec,
            policy,
            rule: self.rule,
            calling: PhantomData,
        }
    }

    /// Rejections become `LimitError::Rejected`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tower_limit_fair::ConcurrencyLimitLayer;
    /// let layer = ConcurrencyLimitLayer::builder().limit(4).queue(8).fail().build()?;
    /// # Ok::<(), tower_limit_fair::BuildError>(())
    /// ```
    pub fn fail(self) -> Builder<Fail, A, D> {
        self.policy(Fail)
    }
}

impl<P: fmt::Debug, A: fmt::Debug, D> fmt::Debug for Builder<P, A, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("limit", &self.limit)
            .field("semaphore", &self.semaphore.is_some())
            .field("options", &self.spec)
            .field("policy", &self.policy)
            .field("rule", &self.rule)
            .finish()
    }
}

/// The checks of `build` and the layer itself.
impl<P: Policy, A: crate::rule::RuleOptions, D> Builder<P, A, D> {
    /// Checks the options together and makes the layer with its limit.
    ///
    /// # Errors
    ///
    /// Each names the option and the number, and nothing is made.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tower_limit_fair::{BuildError, ConcurrencyLimitLayer};
    /// let error = ConcurrencyLimitLayer::builder().limit(4).queue(8).build().unwrap_err();
    /// assert!(matches!(error, BuildError::CannotReject { option: "queue", .. }));
    /// ```
    pub fn build(self) -> Result<ConcurrencyLimitLayer<P, A, D>, BuildError> {
        let mut spec = self.spec;
        spec.rejects = P::REJECTS;
        crate::validation::check(&spec, self.limit, self.semaphore.is_some(), &self.rule)?;
        let (semaphore, name) = match self.semaphore {
            Some(semaphore) => (semaphore, None),
            None => {
                let limit = self.limit.unwrap_or_default();
                let semaphore = spec.semaphore(limit).map_err(BuildError::semaphore)?;
                let name = spec.name.clone().map(|name| {
                    let taken = BuildError::NameInUse { name: name.to_string() };
                    crate::name::NameGuard::unique(name).ok_or(taken)
                });
                (Arc::new(semaphore), name.transpose()?)
            }
        };
        let gate = spec.gate(semaphore, name);
        Ok(ConcurrencyLimitLayer {
            gate,
            spec: Arc::new(spec),
            policy: self.policy,
            rule: self.rule,
            calling: PhantomData,
        })
    }
}
