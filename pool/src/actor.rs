//! Who holds and who waits: a tokio task, or outside of tasks the thread.

use tokio::task;

/// What runs one future at a time, as far as the pool can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Actor {
    Task(task::Id),
    /// The address of something of the thread's own: a `block_on`, or a thread in `blocking_get`.
    Thread(usize),
}

thread_local! {
    static MARK: u8 = const { 0 };
}

impl Actor {
    pub(crate) fn current() -> Self {
        match task::try_id() {
            Some(id) => Actor::Task(id),
            None => Actor::Thread(MARK.try_with(|mark| std::ptr::from_ref(mark) as usize).unwrap_or(0)),
        }
    }

    pub(crate) fn task(self) -> Option<task::Id> {
        match self {
            Actor::Task(id) => Some(id),
            Actor::Thread(_) => None,
        }
    }
}
