//! A waiter's way through the queue, from joining to claiming or leaving.

use std::pin::Pin;
use std::task::{Context, Poll};
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

/// What an acquire that got its permits has to tell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    /// Its ticket; 0 when it did not queue.
    pub(crate) order: u64,
    /// Time in the queue, where the semaphore measures it.
    pub(crate) waited: Option<Duration>,
    /// The generation that counts it already, for a revocable grant.
    pub(crate) generation: Option<u32>,
}

/// Where one look at the semaphore leads.
enum Look {
    Taken,
    Queue,
    Refused(AcquireError),
}

impl Semaphore {
    /// One more step for a waiter; the fast path has been tried or does not apply.
    pub(crate) fn step(&self, node: Pin<&Node>, cx: &mut Context<'_>) -> Poll<Result<Claim, AcquireError>> {
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
                    node.set_stage(stage::SPENT);
                    self.tell(Happening::Rejected, node.permits() as usize, self.since(node));
                    let ceiling = self.ceiling_of(&self.lock());
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

    #[cold]
    fn join(&self, node: Pin<&Node>, cx: &mut Context<'_>) -> Poll<Result<Claim, AcquireError>> {
        if node.is(kind::FOREIGN) {
            node.set_stage(stage::SPENT);
            return Poll::Ready(Err(AcquireError::Foreign { name: self.name() }));
        }
        // Foreign code, hence before the lock.
        let waker = cx.waker().clone();
        let now = self.time();
        let mut queue = self.lock();
        match self.look(&queue, node, true) {
            Look::Taken => {
                drop(queue);
                node.set_stage(stage::SPENT);
                self.count_immediate();
                // A rejoiner keeps its place in the order for another time.
                let order = if node.is(kind::REJOINS) { node.order() } else { 0 };
                Poll::Ready(Ok(Claim { order, waited: None, generation: None }))
            }
            Look::Refused(error) => {
                drop(queue);
                node.set_stage(stage::SPENT);
                self.count_refused(&error, Self::requested(node));
                Poll::Ready(Err(error))
            }
            Look::Queue => {
                let ahead = queue.len as usize;
                node.set_since(now);
                queue.len += 1;
                queue.asked += node.permits() as u64;
                if node.is(kind::REJOINS) {
                    queue.list.insert(node, stage::WAITING, Signal::Wake(waker));
                    // It may be the first now and smaller than whoever was.
                    self.dispatch(queue, 0, now);
                } else {
                    queue.tickets += 1;
                    node.set_order(queue.tickets);
                    queue.list.push_back(node, stage::WAITING, Signal::Wake(waker));
                    drop(queue);
                }
                self.tell(Happening::Queued { ahead }, node.permits() as usize, Duration::ZERO);
                match node.stage() {
                    stage::WAITING | stage::NOTIFIED => Poll::Pending,
                    _ => self.step(node, cx),
                }
            }
        }
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
                return Look::Refused(self.closed_error());
            }
            if permits == 0 {
                return Look::Taken;
            }
            let first = word & SLOW == 0 || word & BARGING != 0;
            let next = if first && free(word) >= permits as i64 {
                word - word::of(permits as i64)
            } else {
                let ceiling = self.ceiling_of(queue);
                if permits > ceiling {
                    return Look::Refused(self.too_large_error(Self::requested(node), ceiling));
                }
                if !may_queue {
                    return Look::Queue;
                }
                if let Some(extension) = self.attachment.get() {
                    if !node.is(kind::REJOINS) && queue.len as usize >= extension.max_waiters {
                        let (name, max_waiters) = (extension.name.clone(), extension.max_waiters);
                        return Look::Refused(AcquireError::QueueFull { name, max_waiters });
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
            Look::Refused(error) => {
                self.count_refused(&error, Self::requested(node));
                Err(error)
            }
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
    fn try_luck(&self, node: Pin<&Node>, cx: &mut Context<'_>) -> Option<Poll<Result<Claim, AcquireError>>> {
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
        let waited = self.measured(node, now);
        Some(Poll::Ready(Ok(Claim { order: node.order(), waited, generation: None })))
    }

    fn measured(&self, node: Pin<&Node>, now: u64) -> Option<Duration> {
        if self.word.glance() & OBSERVED == 0 {
            return None;
        }
        let waited = now.saturating_sub(node.since());
        let extension = self.extension();
        bump(&extension.tally.waited, waited);
        let waited = Duration::from_nanos(waited);
        #[cfg(feature = "metrics")]
        extension.record(crate::metrics::Waited::Queued, waited);
        Some(waited)
    }

    /// The owner takes its grant: without the lock, unless the grant is listed for its age.
    #[inline]
    fn claim(&self, node: Pin<&Node>) -> Claim {
        let mut permits = node.permits();
        let mut generation = None;
        if node.stage() == stage::LISTED {
            let extension = self.extension();
            let _queue = self.lock();
            extension.second.lock().unlink(node);
        } else if node.is(kind::REVOCABLE) {
            // Counted as reserved since the grant.
            permits = 0;
            generation = node.generation();
        }
        self.attachment.grants.fetch_sub(ONE_GRANT + permits as u64, Ordering::Relaxed);
        node.set_stage(stage::SPENT);
        let waited = if self.word.glance() & OBSERVED == 0 { None } else { self.measured(node, self.time()) };
        Claim { order: node.order(), waited, generation }
    }

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
        let notified = node.stage() == stage::NOTIFIED;
        node.set_stage(stage::SPENT);
        let timed_out = matches!(why, Leaving::TimedOut | Leaving::GivenUp);
        let spill = self.count_left(&mut queue, timed_out);
        let waited = Duration::from_nanos(now.saturating_sub(node.since()));
        let mut foreign = Foreign::default();
        if head || notified || incoming != 0 || queue.len == 0 {
            foreign.call(|| self.dispatch(queue, incoming, now));
        } else {
            drop(queue);
        }
        foreign.call(|| drop(signal));
        if spill {
            self.extension();
        }
        #[cfg(feature = "metrics")]
        if let Some(extension) = self.attachment.get() {
            use crate::metrics::Waited;
            extension.record(if timed_out { Waited::TimedOut } else { Waited::Cancelled }, waited);
        }
        if self.is_told() {
            let happening = if timed_out { Happening::TimedOut } else { Happening::Cancelled };
            foreign.call(|| self.tell(happening, permits as usize, waited));
        }
        foreign.finish();
        true
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
