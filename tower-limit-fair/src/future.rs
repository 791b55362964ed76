use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use pin_project::pin_project;

use crate::{
    Rejected,
    counts::Outcome,
    policy::{Answer, Policy},
    running::Running,
    waiting::Waiting,
    within,
};

/// The future of a limited service's response.
///
/// Where admission follows `call`, it waits for its lease first and does not poll the inner future until then.
///
/// # Cancel safety
///
/// Dropping it at any point frees its lease or its place in the queue exactly once.
///
/// # Examples
///
/// ```
/// use std::{convert::Infallible, future::Ready};
/// use tower_limit_fair::{ResponseFuture, Wait};
///
/// struct Call(ResponseFuture<Ready<Result<(), Infallible>>, Wait>);
/// ```
#[pin_project]
#[must_use = "futures do nothing unless polled"]
pub struct ResponseFuture<F, P: Policy> {
    // Dropped before the lease in `stage`.
    #[pin]
    future: Option<F>,
    stage: Stage,
    policy: P,
    note: P::Note,
}

pub(crate) enum Stage {
    Running(Running),
    Waiting(Waiting),
    Rejected(Rejected),
    Over,
}

impl<F, P: Policy> ResponseFuture<F, P> {
    #[inline]
    pub(crate) fn new(future: Option<F>, stage: Stage, policy: P, note: P::Note) -> Self {
        ResponseFuture { future, stage, policy, note }
    }
}

/// Frees the lease when the inner future unwinds: the owner may keep the wreck.
struct Unwinding<'a>(&'a mut Running);

impl Drop for Unwinding<'_> {
    fn drop(&mut self) {
        self.0.take().end(Outcome::Failed);
    }
}

impl<F, P, Res, E> Future for ResponseFuture<F, P>
where
    F: Future<Output = Result<Res, E>>,
    P: Answer<Res, E>,
{
    type Output = Result<P::Response, P::Error>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if !matches!(this.stage, Stage::Running(_)) {
            match ready!(poll_admission(this.stage, cx)) {
                Ok(mut running) => {
                    P::admit(this.note, &mut running);
                    *this.stage = Stage::Running(running);
                }
                Err(rejected) => {
                    this.future.set(None);
                    return Poll::Ready(this.policy.refuse(rejected));
                }
            }
        }
        let (Stage::Running(running), Some(future)) = (&mut *this.stage, this.future.as_mut().as_pin_mut())
        else {
            polled_after_end()
        };
        let unwinding = Unwinding(running);
        let within = within::enter(unwinding.0.identity());
        let polled = future.poll(cx);
        drop(within);
        std::mem::forget(unwinding);
        let result = ready!(polled);
        this.future.set(None);
        let Stage::Running(running) = this.stage else { polled_after_end() };
        let running = running.take();
        Poll::Ready(this.policy.finish(result, running, this.note))
    }
}

/// Waits for the lease, or takes the rejection out.
#[cold]
fn poll_admission(stage: &mut Stage, cx: &mut Context<'_>) -> Poll<Result<Running, Rejected>> {
    if let Stage::Waiting(waiting) = stage {
        return waiting.poll(cx).map_err(|rejected| {
            *stage = Stage::Over;
            rejected
        });
    }
    match std::mem::replace(stage, Stage::Over) {
        Stage::Rejected(rejected) => Poll::Ready(Err(rejected)),
        _ => polled_after_end(),
    }
}

#[cold]
fn polled_after_end() -> ! {
    panic!("`ResponseFuture` polled after its end")
}

impl<F, P: Policy> fmt::Debug for ResponseFuture<F, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = match self.stage {
            Stage::Running(_) if self.future.is_none() => "over",
            Stage::Running(_) => "running",
            Stage::Waiting(_) => "queued",
            Stage::Rejected(_) => "rejected",
            Stage::Over => "over",
        };
        f.debug_struct("ResponseFuture").field("stage", &stage).finish_non_exhaustive()
    }
}
