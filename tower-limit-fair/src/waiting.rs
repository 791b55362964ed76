use std::{
    sync::Arc,
    task::{Context, Poll, ready},
};

use crate::{Rejected, counts::Outcome, gate::Gate, running::Running, turn::Turn};

/// A response future that has no lease yet.
pub(crate) struct Waiting {
    gate: Arc<Gate>,
    turn: Turn,
    permits: usize,
    over: bool,
}

impl Waiting {
    pub(crate) fn new(gate: &Arc<Gate>, turn: Turn, permits: usize) -> Self {
        Waiting { gate: Arc::clone(gate), turn, permits, over: false }
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Running, Rejected>> {
        loop {
            match ready!(self.turn.poll(&self.gate, self.permits, cx)) {
                // `None`: taken back between the two steps, which puts the slot in front again.
                Ok(()) => {
                    if let Some(lease) = self.turn.take() {
                        self.over = true;
                        return Poll::Ready(Ok(Running::new(&self.gate, lease)));
                    }
                }
                Err(refusal) => {
                    self.over = true;
                    let (reason, waited) = refusal.parts();
                    return Poll::Ready(Err(self.gate.reject(reason, waited)));
                }
            }
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if !self.over {
            self.gate.count(Outcome::CancelledQueued);
        }
    }
}
