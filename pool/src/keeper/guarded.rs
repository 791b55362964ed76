//! Runs a future of the manager or a hook with a time limit and a net for its panics.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;

use tokio::runtime::Handle;
use tokio::time::{Instant, sleep_until};

/// Why user code came to no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    TimedOut,
    Panicked,
}

/// `runtime` lends its timer to a caller that is on no runtime.
pub(crate) async fn guarded<F: Future>(
    mut future: Pin<&mut F>,
    until: Instant,
    runtime: Option<&Handle>,
) -> Result<F::Output, Trouble> {
    let sleep = {
        let _entered = match Handle::try_current() {
            Ok(_) => None,
            Err(_) => runtime.map(Handle::enter),
        };
        sleep_until(until)
    };
    let mut sleep = std::pin::pin!(sleep);
    poll_fn(move |cx| {
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx)));
        match polled {
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Ok(Poll::Pending) => sleep.as_mut().poll(cx).map(|()| Err(Trouble::TimedOut)),
            Err(payload) => {
                forget_quietly(payload);
                Poll::Ready(Err(Trouble::Panicked))
            }
        }
    })
    .await
}

/// A panic's payload may panic itself when it is dropped.
fn forget_quietly(payload: Box<dyn Any + Send>) {
    let _ = catch_unwind(AssertUnwindSafe(move || drop(payload)));
}
