use std::{fmt, sync::Arc};

/// Every request counts one permit, and none is exempt; the default.
///
/// # Examples
///
/// ```
/// use tower_limit_fair::{AnyRequest, ConcurrencyLimitLayer, Wait};
///
/// let layer: ConcurrencyLimitLayer<Wait, AnyRequest> = ConcurrencyLimitLayer::new(4);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct AnyRequest;

/// The `exempt` predicate and the `weight` function of a limit, which look at the request.
///
/// # Examples
///
/// ```
/// use tower_limit_fair::{ConcurrencyLimitLayer, ForRequest, Mode, Wait};
///
/// let layer: ConcurrencyLimitLayer<Wait, ForRequest<String>> = ConcurrencyLimitLayer::builder()
///     .limit(4)
///     .mode(Mode::Deferred)
///     .exempt(|request: &String| request == "ping")
///     .build()?;
/// # Ok::<(), tower_limit_fair::BuildError>(())
/// ```
pub struct ForRequest<R> {
    pub(crate) exempt: Option<Exempt<R>>,
    pub(crate) weight: Option<Weight<R>>,
}

pub(crate) type Exempt<R> = Arc<dyn Fn(&R) -> bool + Send + Sync>;
pub(crate) type Weight<R> = Arc<dyn Fn(&R) -> usize + Send + Sync>;

impl<R> Clone for ForRequest<R> {
    fn clone(&self) -> Self {
        ForRequest { exempt: self.exempt.clone(), weight: self.weight.clone() }
    }
}

impl<R> fmt::Debug for ForRequest<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForRequest")
            .field("exempt", &self.exempt.is_some())
            .field("weight", &self.weight.is_some())
            .finish()
    }
}

impl<R> From<AnyRequest> for ForRequest<R> {
    fn from(AnyRequest: AnyRequest) -> Self {
        ForRequest { exempt: None, weight: None }
    }
}

/// What a limit asks of each request. Sealed: `AnyRequest` and `ForRequest` are all there is.
pub trait Rule<Req>: sealed::Sealed {
    /// How many permits the request needs; `None` if it passes without any.
    #[doc(hidden)]
    fn weigh(&self, request: &Req) -> Option<usize>;
}

impl<Req> Rule<Req> for AnyRequest {
    #[inline]
    fn weigh(&self, _: &Req) -> Option<usize> {
        Some(1)
    }
}

impl<Req> Rule<Req> for ForRequest<Req> {
    fn weigh(&self, request: &Req) -> Option<usize> {
        if self.exempt.as_ref().is_some_and(|exempt| exempt(request)) {
            return None;
        }
        Some(self.weight.as_ref().map_or(1, |weight| weight(request)))
    }
}

/// What `build()` has to know of a rule.
pub trait RuleOptions: sealed::Sealed {
    /// The option that this rule was made by, if any.
    #[doc(hidden)]
    fn option(&self) -> Option<&'static str>;
    /// Whether requests have different weights.
    #[doc(hidden)]
    fn weighs(&self) -> bool;
}

impl RuleOptions for AnyRequest {
    fn option(&self) -> Option<&'static str> {
        None
    }
    fn weighs(&self) -> bool {
        false
    }
}

impl<R> RuleOptions for ForRequest<R> {
    fn option(&self) -> Option<&'static str> {
        if self.weight.is_some() { Some("weight") } else { self.exempt.as_ref().map(|_| "exempt") }
    }
    fn weighs(&self) -> bool {
        self.weight.is_some()
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::AnyRequest {}
    impl<R> Sealed for super::ForRequest<R> {}
}
