//! The way of a caller: one try, then the queue, then the check of what it was given.

mod caller;
mod check;
mod queue;
mod tries;

use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use caller::Caller;
use check::{Examination, Stop};
use queue::Queue;

use crate::deadline::Deadline;
use crate::entry::Fate;
use crate::error::{GetError, Phase};
use crate::hub::{Event, Hub};
use crate::in_hand::InHand;
use crate::manager::{BoxFuture, CloseReason, Manager};
use crate::pooled::Pooled;
use crate::tally::Outcome;
use crate::trace::GetSpan;

/// How long a caller may wait.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Patience {
    /// The pool's acquire timeout, counted from the first poll.
    Default,
    Until(Deadline),
}

/// The future of [`Pool::get`](crate::Pool::get), [`get_timeout`](crate::Pool::get_timeout) and
/// [`get_until`](crate::Pool::get_until).
///
/// It joins the queue at its first poll and keeps its place until it is done or dropped.
///
/// # Cancel safety
///
/// See [`Pool::get`](crate::Pool::get).
///
/// # Panics
///
/// If it is polled again after it was done.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use lease_pool::{Get, Pool, manager};
/// let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(1) })).build().unwrap();
/// let get: Get<'_, _> = pool.get();
/// assert_eq!(*get.await.unwrap(), 1);
/// # }
/// ```
#[must_use = "a get does nothing before it is polled"]
pub struct Get<'a, M: Manager> {
    caller: Caller<'a, M>,
    stage: Stage<'a, M>,
    span: GetSpan,
}

enum Stage<'a, M: Manager> {
    /// Not polled yet.
    New(Patience),
    Queued(Queue),
    /// Boxed, so that a get is small whatever the manager's check is: a check costs a round trip anyway.
    Examining(BoxFuture<'a, Examination<M>>),
    Over,
}

type Answer<M> = Result<Pooled<M>, GetError<<M as Manager>::Error>>;

impl<'a, M: Manager> Get<'a, M> {
    pub(crate) fn new(hub: &'a Arc<Hub<M>>, patience: Patience, place: &'static Location<'static>) -> Self {
        Get { caller: Caller::new(hub, place), stage: Stage::New(patience), span: GetSpan::new() }
    }

    /// The immediate path failed: from here on there is a clock, a deadline and an outcome to count.
    fn begin(&mut self, patience: Patience, found: Option<(InHand<M>, Fate)>) -> Option<Answer<M>> {
        self.caller.begin(patience);
        self.span.start(self.caller.hub.name());
        match found {
            Some((in_hand, fate)) => self.receive(in_hand, fate),
            None => {
                self.stage = Stage::Queued(Queue::new(self.caller.hub));
                None
            }
        }
    }

    /// Decides what has to happen to a resource before it may be used.
    fn receive(&mut self, mut in_hand: InHand<M>, fate: Fate) -> Option<Answer<M>> {
        let hub = self.caller.hub;
        let broken = in_hand.entry().and_then(|entry| hub.breakage(entry));
        let reason = match (fate, broken) {
            (Fate::Bar(reason), _) | (_, Some(reason)) => {
                in_hand.stamp();
                self.lose(in_hand, reason);
                return None;
            }
            (Fate::Check(reason), None) => Some(reason),
            (Fate::Ready, None) if hub.hooks.before_checkout.is_some() => None,
            (Fate::Ready, None) => return Some(Ok(Pooled::of(in_hand))),
        };
        in_hand.stamp();
        self.span.examine();
        self.stage = Stage::Examining(Box::pin(hub.examine(in_hand, reason, self.caller.deadline)));
        None
    }

    /// The permit goes with the resource; the caller keeps its place by its ticket.
    fn lose(&mut self, in_hand: InHand<M>, reason: CloseReason) {
        let hub = self.caller.hub;
        let (entry, lease) = in_hand.take();
        let rejoin = hub.retire(entry, reason, |_| lease.forfeit());
        let mut queue = Queue::new(hub);
        queue.rejoin(rejoin);
        self.stage = Stage::Queued(queue);
    }

    fn examined(&mut self, (in_hand, result): Examination<M>) -> Option<Answer<M>> {
        self.span.examined();
        match result {
            Ok(()) => Some(Ok(Pooled::of(in_hand))),
            Err(Stop::Refused(reason)) => {
                self.lose(in_hand, reason);
                None
            }
            Err(Stop::Late) => {
                drop(in_hand);
                Some(Err(self.caller.timeout(Some(Phase::Checking))))
            }
        }
    }

    fn finish(&mut self, outcome: Outcome) {
        self.stage = Stage::Over;
        self.span.end(outcome);
        self.caller.hub.count_checkout(outcome, self.caller.started());
        let seen = self.caller.hub.events.glance();
        if seen.has(Event::CENSUS) {
            let mut state = self.caller.hub.lock();
            state.activity = state.activity.wrapping_add(1); // its answer counts no more
        }
        if seen.has(Event::CLOSED) {
            self.caller.hub.sweep(); // what it was granted and did not claim is nobody's now
        }
    }
}

impl<M: Manager> Future for Get<'_, M> {
    type Output = Answer<M>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Answer<M>> {
        let get = self.get_mut();
        loop {
            let answer = match &mut get.stage {
                Stage::New(patience) => {
                    let patience = *patience;
                    match get.caller.hub.take_at_once(get.caller.place) {
                        Ok(pooled) => {
                            get.stage = Stage::Over;
                            return Poll::Ready(Ok(pooled));
                        }
                        Err(found) => get.begin(patience, found),
                    }
                }
                Stage::Queued(queue) => match queue.poll(&get.caller, cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Err(error)) => Some(Err(error)),
                    Poll::Ready(Ok(lease)) => match get.caller.hub.claim(lease, get.caller.place, false) {
                        Some((in_hand, fate)) => {
                            get.span.dequeued(in_hand.entry().map(|entry| &entry.meta));
                            get.receive(in_hand, fate)
                        }
                        // The pool was closed between the permit and the resource: the queue says so.
                        None => None,
                    },
                },
                Stage::Examining(examination) => match examination.as_mut().poll(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(examination) => get.examined(examination),
                },
                Stage::Over => panic!("a get was polled after it was done"),
            };
            if let Some(answer) = answer {
                get.finish(match &answer {
                    Ok(_) => Outcome::Ok,
                    Err(GetError::Timeout { .. }) => Outcome::TimedOut,
                    Err(GetError::QueueFull) => Outcome::Rejected,
                    Err(_) => Outcome::Error,
                });
                return Poll::Ready(answer);
            }
        }
    }
}

impl<M: Manager> Drop for Get<'_, M> {
    fn drop(&mut self) {
        if !matches!(self.stage, Stage::New(_) | Stage::Over) {
            self.finish(Outcome::Cancelled);
        }
    }
}

impl<M: Manager> fmt::Debug for Get<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = match &self.stage {
            Stage::New(_) => "new",
            Stage::Queued(_) => "queued",
            Stage::Examining(_) => "examining",
            Stage::Over => "over",
        };
        f.debug_struct("Get").field("stage", &stage).finish_non_exhaustive()
    }
}
