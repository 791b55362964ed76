use crate::{
    Builder, HoldUntil,
    policy::{Http, Unavailable},
};

impl<P, A, D> Builder<P, A, D> {
    /// Rejections become 503 responses with `Retry-After`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tower_limit_fair::ConcurrencyLimitLayer;
    /// let layer = ConcurrencyLimitLayer::builder().limit(64).queue(8).http().build()?;
    /// # Ok::<(), tower_limit_fair::BuildError>(())
    /// ```
    pub fn http(self) -> Builder<Http<Unavailable>, A, D> {
        self.policy(Http::new(Unavailable))
    }

    /// Rejections become the responses that the mapper makes.
    ///
    /// Comes before `hold`, `max_hold` and `lease_handle`, which belong to the policy that this sets.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tower_limit_fair::{ConcurrencyLimitLayer, Rejected};
    /// let layer = ConcurrencyLimitLayer::server_builder(64)
    ///     .on_reject(|rejected: Rejected| http::Response::new(rejected.to_string()))
    ///     .build()?;
    /// # Ok::<(), tower_limit_fair::BuildError>(())
    /// ```
    pub fn on_reject<M: Clone>(self, mapper: M) -> Builder<Http<M>, A, D> {
        self.policy(Http::new(mapper))
    }
}

macro_rules! answering_options {
    ($policy:ty, $($generic:ident)?) => {
        impl<$($generic,)? A, D> Builder<$policy, A, D> {
            /// When the lease of an answered request ends; `HoldUntil::BodyEnd` if not set.
            ///
            /// # Examples
            ///
            /// ```
            /// # use tower_limit_fair::{ConcurrencyLimitLayer, HoldUntil};
            /// let layer = ConcurrencyLimitLayer::server_builder(64).hold(HoldUntil::Head).build()?;
            /// # Ok::<(), tower_limit_fair::BuildError>(())
            /// ```
            pub fn hold(mut self, until: HoldUntil) -> Self {
                self.policy.answering.hold = until;
                self.spec.holds_body = until == HoldUntil::BodyEnd;
                self
            }

            /// How long a body may keep its lease, for clients that never read it. Without end if not set.
            ///
            /// Counted from the head of the response, and up to an eighth late. The body goes on without a lease.
            ///
            /// # Examples
            ///
            /// ```
            /// # use std::time::Duration;
            /// # use tower_limit_fair::ConcurrencyLimitLayer;
            /// let layer = ConcurrencyLimitLayer::server_builder(64).max_hold(Duration::from_secs(30)).build()?;
            /// # Ok::<(), tower_limit_fair::BuildError>(())
            /// ```
            #[cfg(feature = "time")]
            pub fn max_hold(mut self, most: std::time::Duration) -> Self {
                self.spec.max_hold = Some(most);
                self
            }

            /// Puts a `LeaseHandle` into every request's extensions. Costs one allocation per request.
            ///
            /// # Examples
            ///
            /// ```
            /// # use tower_limit_fair::ConcurrencyLimitLayer;
            /// let layer = ConcurrencyLimitLayer::server_builder(64).lease_handle().build()?;
            /// # Ok::<(), tower_limit_fair::BuildError>(())
            /// ```
            pub fn lease_handle(mut self) -> Self {
                self.policy.answering.lease_handle = true;
                self
            }
        }
    };
}

answering_options!(Http<M>, M);

#[cfg(feature = "grpc")]
answering_options!(crate::policy::Grpc,);

#[cfg(feature = "grpc")]
impl<P, A, D> Builder<P, A, D> {
    /// Rejections become UNAVAILABLE statuses with `RetryInfo`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tower_limit_fair::{ConcurrencyLimitLayer, Mode};
    /// let layer = ConcurrencyLimitLayer::builder().limit(64).mode(Mode::Deferred).queue(256).grpc().build()?;
    /// # Ok::<(), tower_limit_fair::BuildError>(())
    /// ```
    pub fn grpc(self) -> Builder<crate::policy::Grpc, A, D> {
        self.policy(crate::policy::Grpc::unavailable())
    }
}
