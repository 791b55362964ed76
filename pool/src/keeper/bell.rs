//! How anybody, on any thread and from Drop, makes the housekeeper look.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::Waker;

#[derive(Debug, Default)]
pub(crate) struct Bell {
    rung: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Bell {
    pub(crate) fn ring(&self) {
        if self.rung.swap(true, Ordering::AcqRel) {
            return; // the ring before this one has not been heard yet
        }
        let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Called by the housekeeper before it looks, so that a ring during the look leads to another one.
    pub(crate) fn listen(&self, waker: &Waker) {
        *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker.clone());
        self.rung.store(false, Ordering::Release);
    }
}
