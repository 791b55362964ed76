//! A global allocator that counts while it is told to, and costs one relaxed load while it is not.
//!
//! Timed rounds run with the count off, so that contenders who allocate pay for their allocations
//! and not for being watched. One more batch afterwards runs with it on.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

static COUNTING: AtomicBool = AtomicBool::new(false);
static CALLS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

/// Hands everything to the system allocator and counts on demand.
#[derive(Debug, Default)]
pub struct Counting;

/// What was allocated while a batch ran, by any thread of the process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Allocations {
    /// Calls of `alloc`, `alloc_zeroed` and `realloc`.
    pub calls: u64,
    /// Bytes asked for by them; what is freed is not subtracted.
    pub bytes: u64,
}

/// Runs `work` with the count on.
pub fn count<R>(work: impl FnOnce() -> R) -> (R, Allocations) {
    let (calls, bytes) = (CALLS.load(Relaxed), BYTES.load(Relaxed));
    COUNTING.store(true, Relaxed);
    let result = work();
    COUNTING.store(false, Relaxed);
    let counted = Allocations { calls: CALLS.load(Relaxed) - calls, bytes: BYTES.load(Relaxed) - bytes };
    (result, counted)
}

fn note(size: usize) {
    if COUNTING.load(Relaxed) {
        CALLS.fetch_add(1, Relaxed);
        BYTES.fetch_add(size as u64, Relaxed);
    }
}

// SAFETY: every call goes to `System` unchanged; counting touches three atomics and allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from `System` by one of the other methods.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        // SAFETY: `pointer` came from `System`, and the caller's promise about the sizes is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
