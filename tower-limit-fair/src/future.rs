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
    policy::{Answer, Note},
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
pub struct ResponseFuture<F, P> {
    // Dropped before the lease in `stage`.
    #[pin]
    future: Option<F>,
    stage: Stage,
    policy: P,
    note: Note,
}

pub(crate) enum Stage {
    Running(Running),
    Waiting(Waiting),
    Rejected(Rejected),
    Over,
}

impl<F, P> ResponseFuture<F, P> {
    #[inline]
    pub(crate) fn new(future: Option<F>, stage: Stage, policy: P, note: Note) -> Self {
        ResponseFuture { future, stage, policy, note }
    }
}

/// Frees the lease when the inner future unwinds: the owner may keep the wreck.
struct Unwinding<'a>(&'a mut Stage);

impl Drop for Unwinding<'_> {
    fn drop(&mut self) {
        if let Stage::Running(running) = std::mem::replace(self.0, Stage::Over) {
            running.end(Outcome::Failed);
        }
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
        if let Stage::Waiting(waiting) = this.stage {
            match ready!(waiting.poll(cx)) {
                Ok(running) => *this.stage = Stage::Running(this.note.admitted(running)),
                Err(rejected) => *this.stage = Stage::Rejected(rejected),
            }
        }
        let identity = match this.stage {
            Stage::Running(running) => running.identity(),
            _ => {
                let Stage::Rejected(rejected) = std::mem::replace(this.stage, Stage::Over) else {
                    panic!("`ResponseFuture` polled after its end");
                };
                this.future.set(None);
                return Poll::Ready(this.policy.refuse(rejected));
            }
        };
        let Some(future) = this.future.as_mut().as_pin_mut() else {
            panic!("`ResponseFuture` polled after its end");
        };
        let unwinding = Unwinding(this.stage);
        let within = within::enter(identity);
        let polled = future.poll(cx);
        drop(within);
        std::mem::forget(unwinding);
        let result = ready!(polled);
        this.future.set(None);
        let Stage::Running(running) = std::mem::replace(this.stage, Stage::Over) else {
            unreachable!("the stage was looked at above");
        };
        Poll::Ready(this.policy.finish(result, this.note.request(running)))
    }
}

impl<F, P> fmt::Debug for ResponseFuture<F, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = match self.stage {
            Stage::Running(_) => "running",
            Stage::Waiting(_) => "queued",
            Stage::Rejected(_) => "rejected",
            Stage::Over => "over",
        };
        f.debug_struct("ResponseFuture").field("stage", &stage).finish_non_exhaustive()
    }
}
