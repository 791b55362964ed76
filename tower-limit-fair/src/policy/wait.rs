use super::{Answer, Policy, Prepare};
use crate::{Rejected, counts::Outcome, running::Running};

/// Pure backpressure: the inner service's own response and error, and no way to reject.
///
/// The policy of `ConcurrencyLimitLayer::new`. Options that would reject are refused by `build()`, and `Limit::close` by
/// `CannotReject`.
///
/// # Panics
///
/// With the feature `time`, the first wait outside a tokio runtime panics, because the reservation ttl could not run; it
/// does not with `reservation_ttl(None)`.
///
/// # Examples
///
/// ```
/// use tower_limit_fair::{ConcurrencyLimitLayer, Wait};
///
/// let layer: ConcurrencyLimitLayer<Wait> = ConcurrencyLimitLayer::new(4);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Wait;

impl Policy for Wait {
    const REJECTS: bool = false;
    type Note = ();
}

impl<Req> Prepare<Req> for Wait {
    #[inline]
    fn prepare(&self, _: &mut Req) {}
}

impl<Res, E> Answer<Res, E> for Wait {
    type Response = Res;
    type Error = E;

    #[inline]
    fn finish(&self, result: Result<Res, E>, running: Running, (): &()) -> Result<Res, E> {
        running.end(if result.is_ok() { Outcome::Completed } else { Outcome::Failed });
        result
    }

    fn fail_ready(&self, error: E) -> E {
        error
    }

    /// Not reached: the gate of this policy has no queue bound, is not shared with anybody who could close it, and is told
    /// that it must not reject.
    fn refuse(&self, rejected: Rejected) -> Result<Res, E> {
        unreachable!("the `Wait` policy cannot reject: {rejected}")
    }
}
