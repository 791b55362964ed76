use tower::{ServiceBuilder, layer::util::Stack};

use crate::ConcurrencyLimitLayer;

/// Adds our limits to `tower::ServiceBuilder`, beside tower's own `concurrency_limit`.
///
/// # Examples
///
/// ```
/// use tower::{ServiceBuilder, service_fn};
/// use tower_limit_fair::ServiceBuilderExt;
///
/// let service = ServiceBuilder::new()
///     .fair_concurrency_limit(4)
///     .service(service_fn(|n: u32| async move { Ok::<_, std::convert::Infallible>(n) }));
/// assert_eq!(service.handle().limit(), 4);
/// ```
pub trait ServiceBuilderExt<L>: sealed::Sealed + Sized {
    /// Pure backpressure: `ConcurrencyLimitLayer::new`.
    ///
    /// # Panics
    ///
    /// As `ConcurrencyLimitLayer::new`.
    fn fair_concurrency_limit(self, limit: usize) -> ServiceBuilder<Stack<ConcurrencyLimitLayer, L>>;

    /// What a server wants: `ConcurrencyLimitLayer::server`.
    ///
    /// # Panics
    ///
    /// As `ConcurrencyLimitLayer::server`.
    #[cfg(all(feature = "http", feature = "time"))]
    fn fair_server_limit(self, limit: usize) -> ServiceBuilder<Stack<ConcurrencyLimitLayer<crate::Http>, L>>;
}

impl<L> ServiceBuilderExt<L> for ServiceBuilder<L> {
    fn fair_concurrency_limit(self, limit: usize) -> ServiceBuilder<Stack<ConcurrencyLimitLayer, L>> {
        self.layer(ConcurrencyLimitLayer::new(limit))
    }

    #[cfg(all(feature = "http", feature = "time"))]
    fn fair_server_limit(self, limit: usize) -> ServiceBuilder<Stack<ConcurrencyLimitLayer<crate::Http>, L>> {
        self.layer(ConcurrencyLimitLayer::server(limit))
    }
}

mod sealed {
    pub trait Sealed {}
    impl<L> Sealed for tower::ServiceBuilder<L> {}
}
