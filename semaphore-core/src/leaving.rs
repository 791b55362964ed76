//! Leaving the queue before the end: by drop, deadline or interrupt.

use std::pin::Pin;
use std::time::Duration;

use crate::Semaphore;
use crate::atomic::{Guard, Ordering};
use crate::dispatch::ONE_GRANT;
use crate::event::Happening;
use crate::extension::bump;
use crate::list::{Node, Signal, stage};
use crate::semaphore::Queue;
use crate::wake::Foreign;

impl Semaphore {
    /// Leaves the queue by drop, or by a deadline, which leaves a grant alone. True when it left.
    pub(crate) fn leave(&self, node: Pin<&Node>, why: Leaving) -> bool {
        match node.stage() {
            stage::WAITING | stage::NOTIFIED => {}
            stage::GRANTED | stage::LISTED if why.passes_grants() => {}
            _ => return false,
        }
        let now = self.time();
        let permits = node.permits();
        let mut queue = self.lock();
        let head = queue.list.is_head(node);
        let mut incoming = 0;
        let signal = match node.stage() {
            stage::WAITING => {
                queue.len -= 1;
                queue.asked -= permits as u64;
                queue.list.unlink(node)
            }
            stage::NOTIFIED => {
                queue.len -= 1;
                queue.asked -= permits as u64;
                self.leave_second(node, true)
            }
            stage::LISTED if why.passes_grants() => {
                incoming = permits;
                self.attachment.grants.fetch_sub(ONE_GRANT + permits as u64, Ordering::Relaxed);
                self.leave_second(node, false)
            }
            stage::GRANTED if why.passes_grants() => {
                let counted = match (node.generation(), self.attachment.get()) {
                    (Some(generation), Some(extension)) => {
                        // Revoked: the permits are somebody else's already.
                        incoming =
                            if extension.generations.remove(generation, permits) { permits } else { 0 };
                        0
                    }
                    _ => {
                        incoming = permits;
                        permits
                    }
                };
                self.attachment.grants.fetch_sub(ONE_GRANT + counted as u64, Ordering::Relaxed);
                Signal::EMPTY
            }
            _ => return false,
        };
        let serve = head || incoming != 0 || queue.len == 0 || node.stage() == stage::NOTIFIED;
        node.set_stage(stage::SPENT);
        let timed_out = matches!(why, Leaving::TimedOut | Leaving::GivenUp);
        let spill = self.count_left(&mut queue, timed_out);
        if self.is_told() {
            let dispatch = Dispatch { queue, serve, incoming, now };
            self.leave_told(dispatch, signal, timed_out, permits, now.saturating_sub(node.since()));
            return true;
        }
        if serve {
            self.dispatch(queue, incoming, now);
        } else {
            drop(queue);
        }
        drop(signal);
        if spill {
            self.extension();
        }
        true
    }

    /// The rest of leaving where somebody listens: whatever a waker or an observer does, the others hear of it.
    #[cold]
    fn leave_told(&self, rest: Dispatch<'_>, signal: Signal, timed_out: bool, permits: u32, waited: u64) {
        let waited = Duration::from_nanos(waited);
        let mut foreign = Foreign::default();
        foreign.call(|| {
            if rest.serve {
                self.dispatch(rest.queue, rest.incoming, rest.now);
            }
        });
        foreign.call(|| drop(signal));
        #[cfg(feature = "metrics")]
        if let Some(extension) = self.attachment.get() {
            use crate::metrics::Waited;
            extension.record(if timed_out { Waited::TimedOut } else { Waited::Cancelled }, waited);
        }
        let happening = if timed_out { Happening::TimedOut } else { Happening::Cancelled };
        foreign.call(|| self.tell(happening, permits as usize, waited));
        foreign.finish();
    }

    fn leave_second(&self, node: Pin<&Node>, spoken_for: bool) -> Signal {
        let Some(extension) = self.attachment.get() else {
            return Signal::EMPTY;
        };
        if spoken_for {
            extension.spoken.fetch_sub(node.permits() as u64, Ordering::Relaxed);
        }
        extension.second.lock().unlink(node)
    }

    /// True when the tally beside the word is full and wants an extension.
    fn count_left(&self, queue: &mut Queue, timed_out: bool) -> bool {
        match self.attachment.get() {
            Some(extension) => {
                let tally = &extension.tally;
                bump(if timed_out { &tally.timed_out } else { &tally.cancelled }, 1);
                false
            }
            None => self.attachment.count(&mut queue.list, timed_out),
        }
    }
}

/// What is left to do with the lock of the queue.
struct Dispatch<'a> {
    queue: Guard<'a, Queue>,
    serve: bool,
    incoming: u32,
    now: u64,
}

/// Why a waiter leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaving {
    /// Dropped: a grant is passed on.
    Cancelled,
    /// The deadline passed: a grant stays.
    TimedOut,
    /// The deadline of a reservation passed: a grant is passed on too.
    GivenUp,
    /// Interrupted: a grant stays.
    Withdrawn,
}

impl Leaving {
    fn passes_grants(self) -> bool {
        matches!(self, Leaving::Cancelled | Leaving::GivenUp)
    }
}
