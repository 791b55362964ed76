use std::fmt;

/// Says which option of a limit cannot be, and why. Nothing was made.
///
/// # Examples
///
/// ```
/// use tower_limit_fair::{BuildError, ConcurrencyLimitLayer};
///
/// let error = ConcurrencyLimitLayer::builder().build().unwrap_err();
/// assert!(matches!(error, BuildError::NoLimit { .. }));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// Neither `limit` nor `semaphore` was set.
    #[non_exhaustive]
    NoLimit {
        /// The name of the limit, if it has one.
        name: Option<String>,
    },
    /// The limit is 0 or more than can be counted.
    #[non_exhaustive]
    LimitOutOfRange {
        /// The name of the limit, if it has one.
        name: Option<String>,
        /// The limit that was asked for.
        limit: usize,
        /// The most that can be counted.
        max: usize,
    },
    /// `max_limit` is below the limit or more than can be counted.
    #[non_exhaustive]
    MaxLimitOutOfRange {
        /// The name of the limit, if it has one.
        name: Option<String>,
        /// The limit.
        limit: usize,
        /// The `max_limit` that was asked for.
        max_limit: usize,
    },
    /// A duration of zero: leave the option out instead.
    #[non_exhaustive]
    ZeroDuration {
        /// The name of the limit, if it has one.
        name: Option<String>,
        /// The option.
        option: &'static str,
    },
    /// The option rejects requests, and the `Wait` policy has no way to.
    #[non_exhaustive]
    CannotReject {
        /// The name of the limit, if it has one.
        name: Option<String>,
        /// The option.
        option: &'static str,
    },
    /// The option looks at the request, which `Mode::Reserve` does not have when it admits.
    #[non_exhaustive]
    NeedsRequest {
        /// The name of the limit, if it has one.
        name: Option<String>,
        /// The option.
        option: &'static str,
    },
    /// The option is about the queue, and `Mode::Shed` has none.
    #[non_exhaustive]
    NeverQueues {
        /// The name of the limit, if it has one.
        name: Option<String>,
        /// The option.
        option: &'static str,
    },
    /// `max_hold` with `HoldUntil::Head`, where no body holds a lease.
    #[non_exhaustive]
    HoldsHeadOnly {
        /// The name of the limit, if it has one.
        name: Option<String>,
    },
    /// The option belongs to the owner of the shared semaphore.
    #[non_exhaustive]
    SharedSemaphore {
        /// The option.
        option: &'static str,
    },
    /// A live shared limit has this name already.
    #[non_exhaustive]
    NameInUse {
        /// The name.
        name: String,
    },
    /// The semaphore refused a number.
    #[non_exhaustive]
    Semaphore {
        /// What it said.
        source: semaphore_core::BuildError,
    },
}

impl BuildError {
    pub(crate) fn semaphore(source: semaphore_core::BuildError) -> Self {
        BuildError::Semaphore { source }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |name: &Option<String>| name.clone().unwrap_or_else(|| "unnamed".to_owned());
        match self {
            BuildError::NoLimit { name } => {
                write!(f, "limit `{}`: neither `limit` nor `semaphore` is set", show(name))
            }
            BuildError::LimitOutOfRange { name, limit, max } => {
                write!(f, "limit `{}`: {limit} is not within 1 and {max}", show(name))
            }
            BuildError::MaxLimitOutOfRange { name, limit, max_limit } => write!(
                f,
                "limit `{}`: `max_limit` {max_limit} is below the limit {limit} or more than can be counted",
                show(name)
            ),
            BuildError::ZeroDuration { name, option } => {
                write!(f, "limit `{}`: `{option}` is 0 s; leave it out to have none", show(name))
            }
            BuildError::CannotReject { name, option } => write!(
                f,
                "limit `{}`: `{option}` rejects requests, which the `Wait` policy cannot; \
                 choose `fail()`, `http()` or `grpc()`",
                show(name)
            ),
            BuildError::NeedsRequest { name, option } => write!(
                f,
                "limit `{}`: `{option}` looks at the request, which `Mode::Reserve` has not seen when it admits; \
                 choose `Mode::Deferred` or `Mode::Shed`",
                show(name)
            ),
            BuildError::NeverQueues { name, option } => {
                write!(f, "limit `{}`: `{option}` is about the queue, and `Mode::Shed` has none", show(name))
            }
            BuildError::HoldsHeadOnly { name } => write!(
                f,
                "limit `{}`: `max_hold` bounds the lease of a body, and `HoldUntil::Head` gives bodies none",
                show(name)
            ),
            BuildError::SharedSemaphore { option } => {
                write!(f, "`{option}` belongs to the owner of the shared semaphore; set it there")
            }
            BuildError::NameInUse { name } => {
                write!(f, "limit `{name}`: a live limit has this name, and one series cannot show both")
            }
            BuildError::Semaphore { source } => source.fmt(f),
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            BuildError::Semaphore { source } => Some(source),
            _ => None,
        }
    }
}
