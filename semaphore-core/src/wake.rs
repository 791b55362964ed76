//! Wakers collected under the lock and woken after it, each caught by itself.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::task::Waker;

const BATCH: usize = 32;

/// Runs foreign code and keeps the first panic until the work is done.
#[derive(Default)]
pub(crate) struct Foreign {
    panic: Option<Box<dyn Any + Send>>,
}

impl Foreign {
    pub(crate) fn call(&mut self, code: impl FnOnce()) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(code)) {
            if self.panic.is_none() {
                self.panic = Some(payload);
            } else {
                discard(payload);
            }
        }
    }

    pub(crate) fn wake(&mut self, waker: Waker) {
        self.call(|| waker.wake());
    }

    pub(crate) fn panicked(&self) -> bool {
        self.panic.is_some()
    }

    /// Swallows a panic of a bystander.
    #[cfg(any(feature = "metrics", feature = "tracing"))]
    pub(crate) fn discard(self) {
        if let Some(payload) = self.panic {
            discard(payload);
        }
    }

    /// Resumes the first panic, unless this thread unwinds already: a second one would abort.
    pub(crate) fn finish(self) {
        if let Some(payload) = self.panic {
            if std::thread::panicking() {
                discard(payload);
            } else {
                resume_unwind(payload);
            }
        }
    }
}

/// Drops a payload whose own drop may panic.
fn discard(payload: Box<dyn Any + Send>) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(second);
    }
}

/// A batch of wakers on the stack.
pub(crate) struct Batch {
    wakers: [Option<Waker>; BATCH],
    len: usize,
}

impl Batch {
    pub(crate) fn new() -> Self {
        Self { wakers: [const { None }; BATCH], len: 0 }
    }

    pub(crate) fn wake(&mut self, foreign: &mut Foreign) {
        for slot in &mut self.wakers[..self.len] {
            if let Some(waker) = slot.take() {
                foreign.wake(waker);
            }
        }
        self.len = 0;
    }
}

/// Where dispatch puts the wakers it takes.
pub(crate) trait Wakers {
    fn is_full(&self) -> bool;
    fn put(&mut self, waker: Option<Waker>);
}

impl Wakers for Batch {
    fn is_full(&self) -> bool {
        self.len == BATCH
    }

    fn put(&mut self, waker: Option<Waker>) {
        if let Some(waker) = waker {
            self.wakers[self.len] = Some(waker);
            self.len += 1;
        }
    }
}

/// Room for one: the common hand-over needs no array.
#[derive(Default)]
pub(crate) struct One {
    pub(crate) waker: Option<Waker>,
}

impl Wakers for One {
    fn is_full(&self) -> bool {
        self.waker.is_some()
    }

    fn put(&mut self, waker: Option<Waker>) {
        self.waker = waker;
    }
}

/// The only or last waker: nothing is left to do, so its panic may go on as it is, unless one is under way already.
#[inline]
pub(crate) fn wake_last(waker: Waker) {
    if std::thread::panicking() {
        let mut foreign = Foreign::default();
        foreign.wake(waker);
        foreign.finish();
    } else {
        waker.wake();
    }
}
