//! Who waits, since when and until when.

use std::panic::Location;
use std::sync::Arc;

use tokio::time::Instant;

use super::{GetError, Hub, Manager, Patience, Phase};
use crate::engine::SlotState;

pub(super) struct Caller<'a, M: Manager> {
    pub(super) hub: &'a Arc<Hub<M>>,
    pub(super) place: &'static Location<'static>,
    /// Set where the immediate path ends, so that it reads no clock for this.
    started: Option<Instant>,
    pub(super) deadline: Option<Instant>,
}

impl<'a, M: Manager> Caller<'a, M> {
    pub(super) fn new(hub: &'a Arc<Hub<M>>, place: &'static Location<'static>) -> Self {
        Caller { hub, place, started: None, deadline: None }
    }

    pub(super) fn begin(&mut self, patience: Patience) {
        let now = Instant::now();
        self.started = Some(now);
        self.deadline = match patience {
            Patience::Default => self.hub.options.acquire_timeout.and_then(|span| now.checked_add(span)),
            Patience::Until(deadline) => deadline.instant(),
        };
    }

    pub(super) fn started(&self) -> Instant {
        self.started.unwrap_or_else(Instant::now)
    }

    /// Its deadline had passed when it asked.
    pub(super) fn came_late(&self) -> bool {
        self.deadline.is_some() && self.deadline <= self.started
    }

    pub(super) fn is_late(&self) -> bool {
        self.deadline.is_some_and(|at| at <= Instant::now())
    }

    /// The error that explains the stall.
    pub(super) fn timeout(&self, phase: Option<Phase>) -> GetError<M::Error> {
        let now = Instant::now();
        let state = self.hub.lock();
        let counts = state.engine.counts();
        let phase = phase.unwrap_or(if counts.of(SlotState::Creating) > 0 {
            Phase::Creating
        } else if counts.of(SlotState::Resetting) > 0 {
            Phase::Reset
        } else {
            Phase::Queued
        });
        GetError::Timeout {
            phase,
            waited: now.saturating_duration_since(self.started()),
            snapshot: Box::new(self.hub.snapshot_of(&state)),
            holders: self.hub.holders_of(&state, now),
            last_create_error: state.last_error.clone().map(Box::new),
        }
    }
}
