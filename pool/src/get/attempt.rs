//! One get that could not be served at once.

use std::panic::Location;
use std::sync::Arc;

use tokio::time::Instant;

use crate::hub::Event;
use crate::trace::GetSpan;

use super::{Deadline, Fate, GetError, Hub, InHand, Manager, Outcome, Patience, Pooled, Queue};

/// Dropped before `finish`, it counts as cancelled.
pub(super) struct Attempt<'a, M: Manager> {
    pub(super) hub: &'a Arc<Hub<M>>,
    pub(super) place: &'static Location<'static>,
    pub(super) started: Instant,
    pub(super) deadline: Option<Instant>,
    pub(super) span: GetSpan,
    over: bool,
}

impl<'a, M: Manager> Attempt<'a, M> {
    pub(super) fn new(hub: &'a Arc<Hub<M>>, patience: Patience, place: &'static Location<'static>) -> Self {
        let started = Instant::now();
        let deadline = match patience {
            Patience::Default => hub.options.acquire_timeout.and_then(|span| started.checked_add(span)),
            Patience::Until(deadline) => Deadline::instant(deadline),
        };
        Attempt { hub, place, started, deadline, span: GetSpan::new(hub.name()), over: false }
    }

    pub(super) fn finish(&mut self, outcome: Outcome) {
        self.over = true;
        self.span.end(outcome);
        self.hub.count_checkout(outcome, self.started);
    }

    /// Only the span wants to know when a wait began.
    fn queue_clock(&self) -> Instant {
        if cfg!(feature = "tracing") { Instant::now() } else { self.started }
    }

    pub(super) fn is_late(&self) -> bool {
        self.deadline.is_some_and(|at| at <= Instant::now())
    }

    pub(super) async fn run(
        &mut self,
        found: Option<(InHand<M>, Fate)>,
    ) -> Result<Pooled<M>, GetError<M::Error>> {
        let hub = self.hub;
        let mut queue = Queue::new(hub);
        let mut next = found;
        loop {
            let (in_hand, fate) = match next.take() {
                Some(found) => found,
                None => {
                    let since = self.queue_clock();
                    let lease = queue.wait(self).await?;
                    match hub.claim(lease, self.place, false) {
                        Some((in_hand, fate)) => {
                            let entry = in_hand.entry();
                            let made = entry.filter(|of| of.meta.uses == 1).map(|of| of.meta.created);
                            self.span.queued(since, made);
                            (in_hand, fate)
                        }
                        // The pool was closed between the permit and the resource.
                        None => continue,
                    }
                }
            };
            let refused = match fate {
                Fate::Bar(reason) => (in_hand, reason),
                Fate::Check(_) | Fate::Ready => match self.examine(in_hand, fate).await? {
                    Ok(pooled) => return Ok(pooled),
                    Err(refused) => refused,
                },
            };
            // The permit goes with the resource, the caller keeps its place by its ticket.
            let (in_hand, reason) = refused;
            if let Some((entry, lease)) = in_hand.take() {
                let rejoin = hub.retire(entry, reason, |_| lease.forfeit());
                queue.rejoin(rejoin);
            }
        }
    }
}

impl<M: Manager> Drop for Attempt<'_, M> {
    fn drop(&mut self) {
        if !self.over {
            self.finish(Outcome::Cancelled);
        }
        let seen = self.hub.events.read();
        if seen.has(Event::CENSUS) {
            let mut state = self.hub.lock();
            state.activity = state.activity.wrapping_add(1); // its answer counts no more
        }
        if seen.has(Event::CLOSED) {
            self.hub.sweep(); // what it was granted and did not claim is nobody's now
        }
    }
}
