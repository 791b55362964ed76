//! What one service has of its limit: a lease reserved by `poll_ready`, a place in the queue, or neither.

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    task::{Context, Poll, ready},
};

use crate::{
    Mode,
    counts::Outcome,
    future::Stage,
    gate::{Gate, Phase, Refusal},
    running::Running,
    turn::Turn,
    waiting::Waiting,
};

pub(crate) struct Seat {
    pub(crate) gate: Arc<Gate>,
    turn: Option<Turn>,
    /// Set when `poll_ready` could not reserve: `call` makes one attempt, then rejects.
    refusal: Option<Refusal>,
    /// The refusal went out as Ready, and the next `poll_ready` starts afresh.
    told: bool,
}

impl Seat {
    pub(crate) fn new(gate: Arc<Gate>) -> Self {
        Seat { gate, turn: None, refusal: None, told: false }
    }

    /// Reserves. Never fails: a refusal is kept for `call`.
    #[inline]
    pub(crate) fn poll_reserve(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.gate.mode != Mode::Reserve {
            return Poll::Ready(());
        }
        if self.refusal.is_some() || self.gate.phase() != Phase::Open {
            if let Poll::Ready(()) = self.poll_refusal() {
                return Poll::Ready(());
            }
        }
        let gate = &self.gate;
        let turn = self.turn.get_or_insert_with(|| Turn::new(gate));
        if let Err(refusal) = ready!(turn.poll(gate, 1, cx)) {
            self.refusal = Some(refusal);
            self.told = false;
        }
        Poll::Ready(())
    }

    /// Ready while a refusal stands that `poll_ready` has not reported yet, or that a drain gives.
    #[cold]
    fn poll_refusal(&mut self) -> Poll<()> {
        if self.told {
            self.refusal = None;
        }
        let waits = self.turn.as_ref().is_some_and(|turn| turn.is_reserved() || turn.is_queued());
        match self.gate.phase() {
            Phase::Open => {}
            Phase::FinishQueued if waits => {}
            _ => {
                self.give_back();
                self.refusal = Some(Refusal::Because(crate::Reason::Draining));
                self.told = false;
            }
        }
        if self.refusal.is_some() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// `poll_ready` said Ready.
    #[inline]
    pub(crate) fn reported(&mut self) {
        self.told = true;
    }

    /// Gives the lease or the place back: the inner service failed.
    pub(crate) fn give_back(&mut self) {
        if let Some(turn) = &mut self.turn {
            turn.cancel();
        }
    }

    /// The lease, place or rejection of one request that needs `permits`.
    #[inline]
    pub(crate) fn enter(&mut self, permits: usize) -> Stage {
        if let Some(turn) = &mut self.turn {
            if let Some(lease) = turn.take() {
                return Stage::Running(Running::new(&self.gate, lease));
            }
        } else if self.refusal.is_none() && self.gate.phase() == Phase::Open {
            let refusal = if self.gate.mode == Mode::Shed || self.gate.looks_free(permits) {
                match self.gate.attempt(permits) {
                    Ok(lease) => return Stage::Running(Running::new(&self.gate, lease)),
                    Err(refusal) => refusal,
                }
            } else {
                Refusal::NoPermits
            };
            return self.wait_or_reject(permits, refusal);
        }
        self.enter_late(permits)
    }

    /// A place from `poll_ready`, a refusal from there, or a drain.
    #[cold]
    fn enter_late(&mut self, permits: usize) -> Stage {
        let refusal = self.refusal.take();
        // Still queued, or revoked while it was idle: the response future goes on with this place.
        if refusal.is_none() {
            if let Some(turn) = self.turn.take_if(|turn| turn.has_place()) {
                return Stage::Waiting(Waiting::new(&self.gate, turn, permits));
            }
        }
        if self.gate.phase() != Phase::Open {
            return Stage::Rejected(self.gate.reject(crate::Reason::Draining, None));
        }
        match self.gate.attempt(permits) {
            Ok(lease) => Stage::Running(Running::new(&self.gate, lease)),
            Err(Refusal::NoPermits) => self.wait_or_reject(permits, refusal.unwrap_or(Refusal::NoPermits)),
            Err(other) => self.wait_or_reject(permits, other),
        }
    }

    #[cold]
    fn wait_or_reject(&mut self, permits: usize, refusal: Refusal) -> Stage {
        if matches!(refusal, Refusal::NoPermits) && self.gate.mode != Mode::Shed {
            if let Some(reason) = self.gate.cannot_wait(permits) {
                return Stage::Rejected(self.gate.reject(reason, None));
            }
            let turn = Turn::new(&self.gate);
            return Stage::Waiting(Waiting::new(&self.gate, turn, permits));
        }
        let (reason, waited) = refusal.parts();
        Stage::Rejected(self.gate.reject(reason, waited))
    }

    /// A request that needs no lease.
    pub(crate) fn exempt(&mut self) -> Stage {
        self.gate.count(Outcome::Exempt);
        Stage::Running(Running::exempt())
    }
}

impl Clone for Seat {
    /// A clone has neither a lease nor a place.
    #[inline]
    fn clone(&self) -> Self {
        Seat::new(Arc::clone(&self.gate))
    }
}

impl Drop for Seat {
    #[inline]
    fn drop(&mut self) {
        if let Some(turn) = &self.turn {
            if turn.is_queued() {
                self.gate.count(Outcome::CancelledQueued);
            } else if turn.is_reserved() {
                self.gate.counts.abandoned.fetch_add(1, Relaxed);
            }
        }
    }
}
