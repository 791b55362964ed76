use super::{Answer, Policy, Prepare};
use crate::{LimitError, Rejected, counts::Outcome, running::Running};

/// Rejections are errors: `LimitError::Rejected` beside the inner service's own in `LimitError::Inner`.
///
/// # Examples
///
/// ```
/// use tower_limit_fair::{ConcurrencyLimitLayer, Fail, Mode};
///
/// let layer: ConcurrencyLimitLayer<Fail> =
///     ConcurrencyLimitLayer::builder().limit(4).mode(Mode::Shed).fail().build()?;
/// # Ok::<(), tower_limit_fair::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Fail;

impl Policy for Fail {
    const REJECTS: bool = true;
    type Note = ();
}

impl<Req> Prepare<Req> for Fail {
    #[inline]
    fn prepare(&self, _: &mut Req) {}
}

impl<Res, E> Answer<Res, E> for Fail {
    type Response = Res;
    type Error = LimitError<E>;

    #[inline]
    fn finish(&self, result: Result<Res, E>, running: Running, (): &()) -> Result<Res, LimitError<E>> {
        running.end(if result.is_ok() { Outcome::Completed } else { Outcome::Failed });
        result.map_err(LimitError::Inner)
    }

    fn fail_ready(&self, error: E) -> LimitError<E> {
        LimitError::Inner(error)
    }

    fn refuse(&self, rejected: Rejected) -> Result<Res, LimitError<E>> {
        Err(LimitError::Rejected(rejected))
    }
}
