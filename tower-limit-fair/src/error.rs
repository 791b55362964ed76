use std::fmt;

use crate::Rejected;

/// The error of a service under the `Fail` policy.
///
/// # Examples
///
/// ```
/// use tower_limit_fair::LimitError;
///
/// fn busy<E>(error: &LimitError<E>) -> bool {
///     matches!(error, LimitError::Rejected(_))
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitError<E> {
    /// The limit turned the request away; the inner service did not run it.
    Rejected(Rejected),
    /// The inner service failed.
    Inner(E),
}

impl<E> LimitError<E> {
    /// The rejection, if it is one.
    pub fn rejected(&self) -> Option<&Rejected> {
        match self {
            LimitError::Rejected(rejected) => Some(rejected),
            LimitError::Inner(_) => None,
        }
    }

    /// The error of the inner service, if it is one.
    pub fn into_inner(self) -> Option<E> {
        match self {
            LimitError::Rejected(_) => None,
            LimitError::Inner(error) => Some(error),
        }
    }
}

impl<E: fmt::Display> fmt::Display for LimitError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LimitError::Rejected(rejected) => rejected.fmt(f),
            LimitError::Inner(error) => write!(f, "the limited service failed: {error}"),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for LimitError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            LimitError::Rejected(rejected) => Some(rejected),
            LimitError::Inner(error) => Some(error),
        }
    }
}

/// A limit whose policy has no way to reject was asked to.
///
/// `ConcurrencyLimitLayer::new` gives the inner service's own types, so a request can only wait. Nothing was changed.
///
/// # Examples
///
/// ```
/// use tower_limit_fair::ConcurrencyLimitLayer;
///
/// let refused = ConcurrencyLimitLayer::new(4).handle().close().unwrap_err();
/// assert_eq!(refused.action, "close");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CannotReject {
    /// The name of the limit, if it has one.
    pub name: Option<String>,
    /// What was asked for.
    pub action: &'static str,
}

impl fmt::Display for CannotReject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.as_deref().unwrap_or("unnamed");
        write!(
            f,
            "limit `{name}` cannot {}: its policy is `Wait`, which has no way to reject a request; \
             choose `fail()`, `http()` or `grpc()`",
            self.action
        )
    }
}

impl std::error::Error for CannotReject {}

/// `Limit::set_limit` was given a number that the limit cannot have. Nothing was changed.
///
/// # Examples
///
/// ```
/// use tower_limit_fair::{ConcurrencyLimitLayer, SetLimitError};
///
/// let limit = ConcurrencyLimitLayer::new(4).handle();
/// assert!(matches!(limit.set_limit(0), Err(SetLimitError::Zero { .. })));
/// assert_eq!(limit.limit(), 4);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetLimitError {
    /// A limit of zero would let nobody in, for ever.
    #[non_exhaustive]
    Zero {
        /// The name of the limit, if it has one.
        name: Option<String>,
    },
    /// Above `max_limit`, or above what a semaphore can count.
    #[non_exhaustive]
    AboveMax {
        /// The name of the limit, if it has one.
        name: Option<String>,
        /// The number that was asked for.
        requested: usize,
        /// The most that this limit can be.
        max: usize,
    },
}

impl fmt::Display for SetLimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetLimitError::Zero { name } => {
                let name = name.as_deref().unwrap_or("unnamed");
                write!(f, "limit `{name}` cannot be set to 0: nobody would ever be admitted")
            }
            SetLimitError::AboveMax { name, requested, max } => {
                let name = name.as_deref().unwrap_or("unnamed");
                write!(f, "limit `{name}` cannot be set to {requested}: it can be at most {max}")
            }
        }
    }
}

impl std::error::Error for SetLimitError {}
