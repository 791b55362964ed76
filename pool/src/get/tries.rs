//! Gets that do not wait: the immediate path and `try_get`.

use std::panic::Location;
use std::sync::Arc;

use super::{CloseReason, Fate, Hub, InHand, Manager, Pooled};
use crate::error::TryGetError;

impl<M: Manager> Hub<M> {
    /// The immediate path: a free permit, an idle resource that needs nothing. `Err` is what was found instead.
    pub(super) fn take_at_once(
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
        match in_hand.entry().and_then(|entry| self.breakage(entry)) {
            None => Ok(Pooled::of(in_hand)),
            Some(reason) => {
                self.lock().immediate -= 1;
                Err(Some((in_hand, Fate::Bar(reason))))
            }
        }
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
            let Ok(lease) = self.semaphore.try_lease(1) else { return Err(self.why_not()) };
            if self.hooks.before_checkout.is_some() {
                return Err(TryGetError::NeedsCheck);
            }
            let Some((in_hand, fate)) = self.claim(lease, place, true) else { return Err(self.why_not()) };
            match fate {
                Fate::Ready => match in_hand.entry().and_then(|entry| self.breakage(entry)) {
                    None => return Ok(Pooled::of(in_hand)),
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

    fn why_not(&self) -> TryGetError {
        let state = self.lock();
        if state.engine.is_closed() {
            TryGetError::Closed
        } else if state.engine.is_paused() {
            TryGetError::Paused
        } else if self.semaphore.has_waiters() {
            TryGetError::Waiters
        } else {
            TryGetError::Empty
        }
    }

    fn bar(&self, in_hand: InHand<M>, reason: CloseReason) {
        let (entry, lease) = in_hand.take();
        self.retire(entry, reason, |_| lease.forget());
    }

    /// The resource was looked at and not used.
    fn put_back(&self, in_hand: InHand<M>) {
        let (mut entry, lease) = in_hand.take();
        entry.meta.uses -= 1;
        let mut state = self.lock();
        state.seats[entry.slot.index()].since = None;
        if state.engine.is_closed() || state.engine.is_paused() || state.engine.excess() > 0 {
            drop(state);
            return self.settle(entry, lease);
        }
        state.engine.put_back(entry.slot, entry);
        drop(state);
        drop(lease);
    }
}
