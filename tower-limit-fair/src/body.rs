use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use http_body::{Body, Frame, SizeHint};
use pin_project::pin_project;

use crate::{counts::Outcome, running::Running};

/// A response body that keeps its request's lease until it ends.
///
/// The lease is freed with the end, an error, the trailers, a panic or the drop of the body, or by `max_hold`. Frames and
/// size hints pass through unchanged, and nothing is allocated.
///
/// # Examples
///
/// ```
/// use tower_limit_fair::LimitedBody;
///
/// fn unwrap<B>(body: LimitedBody<B>) -> B {
///     body.into_inner() // frees the lease
/// }
/// ```
#[pin_project]
pub struct LimitedBody<B> {
    #[pin]
    body: B,
    running: Option<Running>,
}

impl<B> LimitedBody<B> {
    pub(crate) fn free(body: B) -> Self {
        LimitedBody { body, running: None }
    }

    pub(crate) fn holding(body: B, running: Running) -> Self {
        LimitedBody { body, running: Some(running) }
    }

    /// Whether the body still keeps a lease.
    pub fn is_held(&self) -> bool {
        self.running.is_some()
    }

    /// The body itself.
    pub fn get_ref(&self) -> &B {
        &self.body
    }

    /// The body itself; the lease is freed.
    pub fn into_inner(self) -> B {
        self.body
    }
}

/// Ends the request when the body's `poll_frame` unwinds.
struct Unwinding<'a>(&'a mut Option<Running>);

impl Drop for Unwinding<'_> {
    fn drop(&mut self) {
        end(self.0, Outcome::Failed);
    }
}

fn end(running: &mut Option<Running>, outcome: Outcome) {
    if let Some(running) = running.take() {
        running.end(outcome);
    }
}

impl<B: Body> Body for LimitedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let mut this = self.project();
        let unwinding = Unwinding(this.running);
        let polled = this.body.as_mut().poll_frame(cx);
        std::mem::forget(unwinding);
        let frame = ready!(polled);
        match &frame {
            None => end(this.running, Outcome::Completed),
            Some(Err(_)) => end(this.running, Outcome::Failed),
            // A server may drop a body without asking for the end that it has announced.
            Some(Ok(frame)) if frame.is_trailers() || this.body.is_end_stream() => {
                end(this.running, Outcome::Completed);
            }
            Some(Ok(_)) => {}
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B: Default> Default for LimitedBody<B> {
    /// The default body, without a lease.
    fn default() -> Self {
        LimitedBody::free(B::default())
    }
}

impl<B: fmt::Debug> fmt::Debug for LimitedBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LimitedBody").field("body", &self.body).field("held", &self.is_held()).finish()
    }
}
