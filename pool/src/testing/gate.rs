//! A barrier that a test opens.

use std::future::{Future, poll_fn};
use std::sync::{Mutex, PoisonError};
use std::task::{Poll, Waker};

#[derive(Debug, Default)]
pub(super) struct Gate {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// How many may still pass.
    open: usize,
    waiting: Vec<Waker>,
}

impl Gate {
    pub(super) fn open(&self, passes: usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.open = state.open.saturating_add(passes);
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }

    pub(super) fn pass(&self) -> impl Future<Output = ()> + '_ {
        poll_fn(move |cx| {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.open > 0 {
                state.open -= 1;
                return Poll::Ready(());
            }
            state.waiting.push(cx.waker().clone());
            Poll::Pending
        })
    }
}
