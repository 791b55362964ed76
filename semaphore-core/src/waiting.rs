//! A waiter's way through the queue, from joining to claiming.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::atomic::Ordering;
use crate::dispatch::ONE_GRANT;
use crate::event::Happening;
use crate::extension::bump;
use crate::list::{Node, Signal, kind, stage};
use crate::semaphore::Queue;
use crate::wake::Foreign;
use crate::word::{self, BARGING, CLOSED, OBSERVED, SLOW, free};
use crate::{AcquireError, Semaphore};

/// How a step ends that got the permits: the time in the queue in nanoseconds, or `UNMEASURED`. The ticket is in
/// the node; a revocable grant also keeps its stage and generation there for the reservation to read.
pub(crate) type Stepped = Poll<Result<u64, AcquireError>>;

/// It did not queue, or nobody measures.
pub(crate) const UNMEASURED: u64 = u64::MAX;

/// Where one look at the semaphore leads.
#[derive(Clone, Copy)]
enum Look {
    Taken,
    Queue,
    Closed,
    TooLarge { ceiling: u32 },
    QueueFull,
}

impl Semaphore {
    /// One more step for a waiter; the fast path has been tried or does not apply.
    pub(crate) fn step(&self, node: Pin<&Node>, cx: &mut Context<'_>) -> Stepped {
        loop {
            match node.stage() {
                stage::IDLE => return self.join(node, cx),
                stage::WAITING => {
                    if self.keep_waiting(node, cx) {
                        return Poll::Pending;
                    }
                }
                stage::NOTIFIED => {
                    if let Some(done) = self.try_luck(node, cx) {
                        return done;
                    }
                }
                stage::GRANTED | stage::LISTED => return Poll::Ready(Ok(self.claim(node))),
                stage::CLOSED => {
                    node.set_stage(stage::SPENT);
                    self.tell(Happening::Closed, node.permits() as usize, self.since(node));
                    return Poll::Ready(Err(self.closed_error()));
                }
                stage::TOO_LARGE => {
                    let ceiling = node.refused_ceiling();
                    node.set_stage(stage::SPENT);
                    self.tell(Happening::Rejected, node.permits() as usize, self.since(node));
                    return Poll::Ready(Err(self.too_large_error(node.permits() as usize, ceiling)));
                }
                _ => return Poll::Pending,
            }
        }
    }

    /// Time since the waiter joined the queue; zero where nobody measures it.
    fn since(&self, node: Pin<&Node>) -> Duration {
        Duration::from_nanos(self.time().saturating_sub(node.since()))
    }

    /// The first step: takes, joins the queue, or is refused.
    #[inline(never)]
    pub(crate) fn join(&self, node: Pin<&Node>, cx: &mut Context<'_>) -> Stepped {
        // Foreign code, hence before the lock.
        let waker = cx.waker().clone();
        let word = self.word.glance();
        if word & (OBSERVED | SLOW) == SLOW && node.is_ordinary() {
            let mut queue = self.lock();
            if self.must_queue(&queue, node.permits()) {
                self.link(&mut queue, node, waker);
                return Poll::Pending;
            }
            drop(queue);
        }
        self.join_rarely(node, waker)
    }

    /// Whether a plain waiter certainly queues: somebody is there, nothing is closed, barging or optional, and what
    /// it asks for is possible. All of it stays true while the lock is held.
    #[inline(always)]
    fn must_queue(&self, queue: &Queue, permits: u32) -> bool {
        self.word.glance() & (SLOW | CLOSED | BARGING) == SLOW
            && permits.wrapping_sub(1) < queue.capacity
            && self.attachment.is_bare()
    }

    /// Puts an ordinary waiter at the end of the line.
    #[inline(always)]
    fn link(&self, queue: &mut Queue, node: Pin<&Node>, waker: Waker) {
        queue.len += 1;
        queue.asked += node.permits() as u64;
        queue.tickets += 1;
        node.set_order(queue.tickets);
        queue.list.push_back(node, stage::WAITING, Signal::Wake(waker));
    }

    fn join_rarely(&self, node: Pin<&Node>, waker: Waker) -> Stepped {
        if node.is(kind::FOREIGN) {
            node.set_stage(stage::SPENT);
            return Poll::Ready(Err(AcquireError::Foreign { name: self.name() }));
        }
        let now = self.time();
        let mut queue = self.lock();
        match self.look(&queue, node, true) {
            Look::Taken => {
                drop(queue);
                node.set_stage(stage::SPENT);
                if !node.is(kind::REJOINS) {
                    self.count_immediate();
                }
                Poll::Ready(Ok(UNMEASURED))
            }
            Look::Queue => {
                let ahead = queue.len as usize;
                node.set_since(now);
                if node.is(kind::REJOINS) {
                    queue.len += 1;
                    queue.asked += node.permits() as u64;
                    // Serves nobody: it takes at once if it is the first and fits.
                    queue.list.insert(node, stage::WAITING, Signal::Wake(waker));
                    if let Some(extension) = self.attachment.get() {
                        bump(&extension.tally.rejoined, 1);
                    }
                } else {
                    self.link(&mut queue, node, waker);
                }
                drop(queue);
                self.tell(Happening::Queued { ahead }, node.permits() as usize, Duration::ZERO);
                Poll::Pending
            }
            refused => {
                drop(queue);
                node.set_stage(stage::SPENT);
                Poll::Ready(Err(self.refuse(refused, node)))
            }
        }
    }

    /// The error for a look that ended the acquire, counted and told.
    #[cold]
    fn refuse(&self, look: Look, node: Pin<&Node>) -> AcquireError {
        let requested = Self::requested(node);
        let error = match look {
            Look::TooLarge { ceiling } => self.too_large_error(requested, ceiling),
            Look::QueueFull => AcquireError::QueueFull {
                name: self.error_name(),
                max_waiters: self.max_waiters().unwrap_or(usize::MAX),
            },
            _ => self.closed_error(),
        };
        self.count_refused(&error, requested);
        error
    }

    /// The permits asked for, also when they are more than a node can say.
    fn requested(node: Pin<&Node>) -> usize {
        match node.permits() {
            permits if permits > word::MAX => node.order() as usize,
            permits => permits as usize,
        }
    }

    /// Takes, or marks the word so that every release comes to the lock. The mark is set by the same
    /// compare-and-swap that proves the count too small (I3).
    fn look(&self, queue: &Queue, node: Pin<&Node>, may_queue: bool) -> Look {
        let permits = node.permits();
        let mut word = self.word.load();
        loop {
            if word & CLOSED != 0 {
                return Look::Closed;
            }
            if permits == 0 {
                return Look::Taken;
            }
            let first = word & SLOW == 0
                || word & BARGING != 0
                || node.is(kind::REJOINS) && queue.list.front().is_none_or(|head| head.key() > node.key());
            let next = if first && free(word) >= permits as i64 {
                word - word::of(permits as i64)
            } else {
                let ceiling = self.ceiling_of(queue);
                if permits > ceiling {
                    return Look::TooLarge { ceiling };
                }
                if !may_queue {
                    return Look::Queue;
                }
                if let Some(extension) = self.attachment.get() {
                    if !node.is(kind::REJOINS) && queue.len as usize >= extension.max_waiters {
                        return Look::QueueFull;
                    }
                }
                if word & SLOW != 0 {
                    return Look::Queue;
                }
                word | SLOW
            };
            match self.word.swap(word, next) {
                Ok(_) if next & SLOW == word & SLOW => return Look::Taken,
                Ok(_) => return Look::Queue,
                Err(seen) => word = seen,
            }
        }
    }

    /// One fair attempt that never queues: `Ok(false)` when permits are missing.
    #[cfg(feature = "time")]
    pub(crate) fn attempt_once(&self, node: Pin<&Node>) -> Result<bool, AcquireError> {
        self.extension_if_made();
        let look = self.look(&self.lock(), node, false);
        node.set_stage(stage::SPENT);
        match look {
            Look::Taken => {
                self.count_immediate();
                Ok(true)
            }
            Look::Queue => {
                self.count_rejected(node.permits() as usize);
                Ok(false)
            }
            refused => Err(self.refuse(refused, node)),
        }
    }

    /// Leaves the newest waker in the node. False when the waiter is no longer waiting.
    fn keep_waiting(&self, node: Pin<&Node>, cx: &mut Context<'_>) -> bool {
        let mut queue = self.lock();
        if node.stage() != stage::WAITING {
            return false;
        }
        if queue.list.wakes(node, cx.waker()) {
            return true;
        }
        drop(queue);
        // Cloned and dropped without the lock: both are foreign code.
        let waker = cx.waker().clone();
        let mut queue = self.lock();
        if node.stage() != stage::WAITING {
            return false;
        }
        let old = queue.list.replace(node, Signal::Wake(waker));
        drop(queue);
        drop(old);
        true
    }

    /// Barging: a woken waiter takes what it finds or goes back to its place. `None` when it was settled since.
    fn try_luck(&self, node: Pin<&Node>, cx: &mut Context<'_>) -> Option<Stepped> {
        let waker = cx.waker().clone();
        let extension = self.extension();
        let now = self.time();
        let permits = node.permits();
        let mut queue = self.lock();
        if node.stage() != stage::NOTIFIED {
            return None;
        }
        extension.second.lock().unlink(node);
        extension.spoken.fetch_sub(permits as u64, Ordering::Relaxed);
        let mut word = self.word.load();
        let taken = loop {
            if word & CLOSED != 0 || free(word) < permits as i64 {
                break false;
            }
            match self.word.swap(word, word - word::of(permits as i64)) {
                Ok(_) => break true,
                Err(seen) => word = seen,
            }
        };
        if !taken {
            // Closed: the dispatch below refuses it as it refuses the others.
            queue.list.insert(node, stage::WAITING, Signal::Wake(waker));
            self.dispatch(queue, 0, now);
            return (node.stage() == stage::WAITING).then_some(Poll::Pending);
        }
        queue.len -= 1;
        queue.asked -= permits as u64;
        node.set_stage(stage::SPENT);
        let mut foreign = Foreign::default();
        foreign.call(|| self.dispatch(queue, 0, now));
        if foreign.panicked() {
            // Nobody has the permits yet: they go home before the panic goes on.
            foreign.call(|| self.give_back(permits));
            foreign.finish();
        }
        Some(Poll::Ready(Ok(self.measured(node, now))))
    }

    fn measured(&self, node: Pin<&Node>, now: u64) -> u64 {
        if self.word.glance() & OBSERVED == 0 {
            return UNMEASURED;
        }
        let waited = now.saturating_sub(node.since());
        let extension = self.extension();
        bump(&extension.tally.waited, waited);
        #[cfg(feature = "metrics")]
        extension.record(crate::metrics::Waited::Queued, Duration::from_nanos(waited));
        waited
    }

    /// The claim of a grant that is linked nowhere and that nobody measures: one load and one subtraction.
    #[inline(always)]
    pub(crate) fn claim_plainly(&self, node: Pin<&Node>) -> bool {
        if node.stage() != stage::GRANTED || self.word.glance() & OBSERVED != 0 {
            return false;
        }
        self.attachment.grants.fetch_sub(ONE_GRANT + node.permits() as u64, Ordering::Relaxed);
        node.set_stage(stage::SPENT);
        true
    }

    /// The owner takes its grant: without the lock, unless the grant is listed for its age.
    fn claim(&self, node: Pin<&Node>) -> u64 {
        let revocable = node.is(kind::REVOCABLE) && node.stage() == stage::GRANTED;
        if node.stage() == stage::LISTED {
            let extension = self.extension();
            let _queue = self.lock();
            extension.second.lock().unlink(node);
        }
        // Revocable permits are counted as reserved since the grant.
        let permits = if revocable { 0 } else { node.permits() };
        self.attachment.grants.fetch_sub(ONE_GRANT + permits as u64, Ordering::Relaxed);
        if !revocable {
            node.set_stage(stage::SPENT);
        }
        if self.word.glance() & OBSERVED == 0 { UNMEASURED } else { self.measured(node, self.time()) }
    }
}
