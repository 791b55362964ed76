//! Knows which limits the running code is inside of, so that a wait for one of them is noticed.
//!
//! A response future that holds a lease and polls a service behind the same limit waits for itself. The innermost
//! limit is one `Cell`, so that the usual request pays two plain stores; only nested limits use the list.

use std::cell::{Cell, RefCell};

thread_local! {
    static INNERMOST: Cell<usize> = const { Cell::new(0) };
    static OUTER: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// While it lives, this thread counts as being inside the limit.
pub(crate) struct Within {
    previous: usize,
}

/// Enters the limit with this identity (the address of its semaphore); 0 enters nothing.
#[inline]
pub(crate) fn enter(identity: usize) -> Within {
    let previous = INNERMOST.replace(identity);
    if previous != 0 {
        OUTER.with_borrow_mut(|outer| outer.push(previous));
    }
    Within { previous }
}

/// Whether this thread is inside the limit with this identity.
pub(crate) fn contains(identity: usize) -> bool {
    INNERMOST.get() == identity || OUTER.with_borrow(|outer| outer.contains(&identity))
}

impl Drop for Within {
    #[inline]
    fn drop(&mut self) {
        INNERMOST.set(self.previous);
        if self.previous != 0 {
            OUTER.with_borrow_mut(|outer| outer.pop());
        }
    }
}
