//! A caller's place in the queue.

use std::sync::Arc;
use std::task::{Context, Poll};

use semaphore_core::{AcquireError, OwnedLease, Rejoin, Reservation};

use super::{Caller, GetError, Hub, Manager};
use crate::actor::Actor;
use crate::hub::Event;
use crate::nested::Answer;
use crate::options::CLAIM_WITHIN;
use crate::pause::Pause;

/// Revocable: a grant that its caller does not look at goes to the next one, and the caller keeps its place.
pub(super) struct Queue {
    reservation: Reservation,
}

impl Queue {
    pub(super) fn new<M: Manager>(hub: &Arc<Hub<M>>) -> Self {
        Queue { reservation: Reservation::new(Arc::clone(&hub.semaphore)).revocable(CLAIM_WITHIN) }
    }

    /// The next wait stands in front, by the arrival of the lost permit.
    pub(super) fn rejoin(&mut self, rejoin: Rejoin) {
        let refused = self.reservation.rejoin_with(rejoin);
        debug_assert!(refused.is_ok(), "nothing is queued or reserved while a resource is in hand");
    }

    pub(super) fn poll<M: Manager>(
        &mut self,
        caller: &Caller<'_, M>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<OwnedLease, GetError<M::Error>>> {
        let hub = caller.hub;
        let arrives = !self.reservation.is_queued();
        if arrives && let Some(error) = hub.turned_away(caller) {
            return Poll::Ready(Err(error));
        }
        loop {
            match self.reservation.poll_reserve(cx) {
                Poll::Ready(Ok(())) => match self.reservation.take() {
                    Some(lease) => return Poll::Ready(Ok(lease)),
                    None => continue, // revoked in between: queue again by the ticket
                },
                Poll::Ready(Err(AcquireError::QueueFull { .. })) => {
                    return Poll::Ready(Err(GetError::QueueFull));
                }
                Poll::Ready(Err(_)) => return Poll::Ready(Err(GetError::Closed)),
                Poll::Pending => break,
            }
        }
        let seen = hub.events.read();
        if seen.has(Event::UNAVAILABLE) || seen.has(Event::PAUSED) {
            if let Some(error) = hub.reason_to_leave() {
                self.reservation.cancel();
                return Poll::Ready(Err(error));
            }
        }
        if seen.has(Event::UNKEPT) && !hub.start_keeper() {
            self.reservation.cancel();
            return Poll::Ready(Err(GetError::NoRuntime));
        }
        if !arrives && caller.is_late() {
            self.reservation.time_out();
            return Poll::Ready(Err(caller.timeout(None)));
        }
        if seen.has(Event::CENSUS)
            && let Some(ticket) = self.reservation.ticket()
        {
            let actor = Actor::current();
            let (deadline, arrived, place) = (caller.deadline, caller.started(), caller.place);
            if let Some(error) = hub.answer_census(Answer { ticket, actor, deadline, arrived, place }) {
                self.reservation.cancel();
                return Poll::Ready(Err(error));
            }
        }
        if let Some(deadline) = caller.deadline {
            hub.watch_deadline(deadline);
        }
        // Also when it was in line before: a grant that was revoked has it join again.
        if seen.has(Event::HUNGRY) || !seen.has(Event::WATCHED) {
            hub.bell.ring();
        }
        Poll::Pending
    }
}

impl<M: Manager> Hub<M> {
    /// Why a caller may not even join the queue.
    fn turned_away(self: &Arc<Self>, caller: &Caller<'_, M>) -> Option<GetError<M::Error>> {
        let seen = self.events.glance();
        if seen.has(Event::CLOSED) {
            return Some(GetError::Closed);
        }
        if seen.has(Event::UNKEPT) && !self.start_keeper() && self.semaphore.available_permits() == 0 {
            return Some(GetError::NoRuntime);
        }
        if (seen.has(Event::UNAVAILABLE) || seen.has(Event::PAUSED))
            && let Some(error) = self.reason_to_leave()
        {
            return Some(error);
        }
        (caller.came_late() && self.semaphore.available_permits() == 0).then(|| caller.timeout(None))
    }

    fn reason_to_leave(&self) -> Option<GetError<M::Error>> {
        let state = self.lock();
        match state.pause {
            Some(Pause::Fail) => Some(GetError::Paused),
            _ => self.unavailable(&state),
        }
    }
}
