//! The interrupt token of one operation, and the two SQLite handlers that ask it.
//!
//! SQLite's own interrupt is a flag of the connection, so one that comes late hits whoever runs then. Here the
//! connection's thread knows which operation it runs ([`enter`]), and the handlers ask that operation only.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many steps of its virtual machine SQLite does between two looks at the token: some ten microseconds.
const STEPS_BETWEEN_LOOKS: i32 = 1000;
const LONGEST_NAP: Duration = Duration::from_millis(50);

/// Shared by the future of an operation and the thread that runs it.
#[derive(Debug, Default)]
pub(super) struct Operation {
    cancelled: AtomicBool,
    lock: Mutex<()>,
    wake: Condvar,
}

impl Operation {
    pub(super) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
        // Taken so that the store cannot fall between the sleeper's look and its wait.
        drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
        self.wake.notify_all();
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    fn nap(&self, length: Duration) {
        let guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_cancelled() {
            drop(self.wake.wait_timeout(guard, length));
        }
    }
}

struct Current {
    operation: Option<Arc<Operation>>,
    busy_timeout: Duration,
    busy_since: Option<Instant>,
}

thread_local! {
    /// What this thread works on; a connection never leaves its thread.
    static CURRENT: RefCell<Current> =
        const { RefCell::new(Current { operation: None, busy_timeout: Duration::ZERO, busy_since: None }) };
}

/// Installs the handlers on a connection of this thread.
pub(super) fn install(connection: &rusqlite::Connection, busy_timeout: Duration) -> rusqlite::Result<()> {
    CURRENT.with_borrow_mut(|current| current.busy_timeout = busy_timeout);
    connection.busy_handler(Some(is_worth_waiting))?;
    connection.progress_handler(STEPS_BETWEEN_LOOKS, Some(is_cut_off))
}

/// Runs `work` as this operation.
pub(super) fn enter<T>(operation: &Arc<Operation>, work: impl FnOnce() -> T) -> T {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            CURRENT.with_borrow_mut(|current| current.operation = None);
        }
    }
    CURRENT.with_borrow_mut(|current| current.operation = Some(Arc::clone(operation)));
    let _leave = Leave;
    work()
}

fn is_cut_off() -> bool {
    CURRENT.with_borrow(|current| current.operation.as_deref().is_some_and(Operation::is_cancelled))
}

/// Called while another connection holds the lock that a statement needs.
fn is_worth_waiting(times: i32) -> bool {
    let (operation, left) = CURRENT.with_borrow_mut(|current| {
        let now = Instant::now();
        if times == 0 {
            current.busy_since = Some(now);
        }
        let waited = now.duration_since(current.busy_since.unwrap_or(now));
        (current.operation.clone(), current.busy_timeout.saturating_sub(waited))
    });
    if left.is_zero() {
        return false;
    }
    let nap = Duration::from_millis(1 << times.clamp(0, 6)).min(LONGEST_NAP).min(left);
    match operation {
        Some(operation) => {
            operation.nap(nap);
            !operation.is_cancelled()
        }
        None => {
            std::thread::sleep(nap);
            true
        }
    }
}
