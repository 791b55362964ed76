//! The way of a caller: one try, then the queue, then the check of what it was given.

mod attempt;
mod check;
mod queue;

use std::panic::Location;
use std::sync::Arc;

use crate::deadline::Deadline;
use crate::entry::Fate;
use crate::error::{GetError, TryGetError};
use crate::hub::Hub;
use crate::in_hand::InHand;
use crate::manager::{CloseReason, Manager};
use crate::pooled::Pooled;
use crate::tally::Outcome;
use attempt::Attempt;
use queue::Queue;

/// How long a caller may wait.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Patience {
    /// The pool's acquire timeout, counted from the first poll.
    Default,
    Until(Deadline),
}

impl<M: Manager> Hub<M> {
    /// The immediate path: a free permit, an idle resource that needs nothing. `Err` is what was found instead.
    fn take_at_once(
        self: &Arc<Self>,
        place: &'static Location<'static>,
    ) -> Result<Pooled<M>, Option<(InHand<M>, Fate)>> {
        if self.events.hinder_checkout() {
            return Err(None);
        }
        let Ok(lease) = self.semaphore.try_lease(1) else { return Err(None) };
        let plain = self.hooks.before_checkout.is_none();
        let Some((in_hand, fate)) = self.claim(lease, place, plain) else { return Err(None) };
        if !plain || fate != Fate::Ready {
            return Err(Some((in_hand, fate)));
        }
        let broken = in_hand.entry().and_then(|entry| self.breakage(entry));
        match broken {
            None => Pooled::of(in_hand).ok_or(None),
            Some(reason) => {
                self.lock().immediate -= 1;
                Err(Some((in_hand, Fate::Bar(reason))))
            }
        }
    }

    pub(crate) async fn get(
        self: &Arc<Self>,
        patience: Patience,
        place: &'static Location<'static>,
    ) -> Result<Pooled<M>, GetError<M::Error>> {
        match self.take_at_once(place) {
            Ok(pooled) => Ok(pooled),
            Err(found) => self.get_slowly(patience, place, found).await,
        }
    }

    async fn get_slowly(
        self: &Arc<Self>,
        patience: Patience,
        place: &'static Location<'static>,
        found: Option<(InHand<M>, Fate)>,
    ) -> Result<Pooled<M>, GetError<M::Error>> {
        let mut attempt = Attempt::new(self, patience, place);
        let result = attempt.run(found).await;
        attempt.finish(match &result {
            Ok(_) => Outcome::Ok,
            Err(GetError::Timeout { .. }) => Outcome::TimedOut,
            Err(GetError::QueueFull) => Outcome::Rejected,
            Err(_) => Outcome::Error,
        });
        result
    }

    pub(crate) fn try_get(
        self: &Arc<Self>,
        place: &'static Location<'static>,
    ) -> Result<Pooled<M>, TryGetError> {
        let found = self.try_take(place);
        if found.is_err() {
            self.tally.rejected();
        }
        found
    }

    fn try_take(self: &Arc<Self>, place: &'static Location<'static>) -> Result<Pooled<M>, TryGetError> {
        loop {
            let lease = match self.semaphore.try_lease(1) {
                Ok(lease) => lease,
                Err(_) => {
                    let state = self.lock();
                    return Err(if state.engine.is_closed() {
                        TryGetError::Closed
                    } else if state.engine.is_paused() {
                        TryGetError::Paused
                    } else if self.semaphore.has_waiters() {
                        TryGetError::Waiters
                    } else {
                        TryGetError::Empty
                    });
                }
            };
            if self.hooks.before_checkout.is_some() {
                return Err(TryGetError::NeedsCheck);
            }
            let Some((in_hand, fate)) = self.claim(lease, place, true) else {
                return Err(TryGetError::Empty);
            };
            match fate {
                Fate::Ready => match in_hand.entry().and_then(|entry| self.breakage(entry)) {
                    None => return Pooled::of(in_hand).ok_or(TryGetError::Empty),
                    Some(reason) => {
                        self.lock().immediate -= 1;
                        self.bar(in_hand, reason);
                    }
                },
                Fate::Bar(reason) => self.bar(in_hand, reason),
                Fate::Check(_) => {
                    self.put_back(in_hand);
                    return Err(TryGetError::NeedsCheck);
                }
            }
        }
    }

    fn bar(&self, in_hand: InHand<M>, reason: CloseReason) {
        if let Some((entry, lease)) = in_hand.take() {
            self.retire(entry, reason, |_| lease.forget());
        }
    }

    /// The resource was looked at and not used.
    fn put_back(&self, in_hand: InHand<M>) {
        let Some((mut entry, lease)) = in_hand.take() else { return };
        entry.meta.uses -= 1;
        let mut state = self.lock();
        state.seats[entry.slot.index()].since = None;
        if state.engine.is_closed() || state.engine.excess() > 0 {
            drop(state);
            return self.settle(entry, lease);
        }
        state.engine.put_back(entry.slot, entry);
        drop(state);
        drop(lease);
    }
}
