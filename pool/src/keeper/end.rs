//! Resets and closes: bounded, and their place comes back whatever the peer does.

use std::pin::pin;
use std::sync::Arc;

use semaphore_core::OwnedLease;
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::{Trouble, guarded};
use crate::engine::SlotId;
use crate::entry::Entry;
use crate::hub::Hub;
use crate::manager::{CancelSafety, CloseContext, CloseReason, Manager, ResetContext};

impl<M: Manager> Hub<M> {
    pub(crate) fn start_closes(self: &Arc<Self>, handle: &Handle) {
        let due = std::mem::take(&mut self.lock().to_close);
        for (entry, reason) in due {
            let job = CloseJob { hub: Arc::clone(self), slot: entry.slot, confirmed: false };
            handle.spawn(close(job, entry, reason));
        }
    }

    pub(crate) fn start_resets(self: &Arc<Self>, handle: &Handle) {
        let due = std::mem::take(&mut self.lock().to_reset);
        for held in due {
            handle.spawn(reset(ResetJob { hub: Arc::clone(self), held: Some(held) }));
        }
    }
}

/// Frees the slot when the close is over, also when the runtime cuts it off.
struct CloseJob<M: Manager> {
    hub: Arc<Hub<M>>,
    slot: SlotId,
    confirmed: bool,
}

impl<M: Manager> Drop for CloseJob<M> {
    fn drop(&mut self) {
        if !self.confirmed {
            self.hub.tally.closed_unconfirmed();
        }
        let mut state = self.hub.lock();
        state.engine.closed(self.slot);
        let debts = self.hub.settle_debts(&mut state);
        drop(state);
        debts.pay(&self.hub);
    }
}

async fn close<M: Manager>(mut job: CloseJob<M>, mut entry: Box<Entry<M>>, reason: CloseReason) {
    let hub = Arc::clone(&job.hub);
    hub.announce_close(&mut entry, reason);
    let timeout = hub.options.close_timeout;
    let Entry { resource, meta, .. } = *entry;
    let context = CloseContext { pool: hub.name(), meta: &meta, reason, timeout };
    let closing = async { hub.manager.close(resource, context).await };
    job.confirmed = guarded(pin!(closing), Instant::now() + timeout, None).await.is_ok();
}

/// Sends the resource to another reset if the runtime cuts this one off.
struct ResetJob<M: Manager> {
    hub: Arc<Hub<M>>,
    held: Option<(Box<Entry<M>>, OwnedLease)>,
}

impl<M: Manager> Drop for ResetJob<M> {
    fn drop(&mut self) {
        let Some((entry, lease)) = self.held.take() else { return };
        let hub = &self.hub;
        if hub.manager.cancel_safety() == CancelSafety::Discard {
            return hub.retire(entry, CloseReason::CutOff, |_| lease.forget());
        }
        let mut state = hub.lock();
        if state.engine.is_closed() || state.engine.excess() > 0 {
            drop(state);
            return hub.settle(entry, lease);
        }
        state.to_reset.push_back((entry, lease));
        let debts = hub.settle_debts(&mut state);
        drop(state);
        debts.pay(hub);
    }
}

async fn reset<M: Manager>(mut job: ResetJob<M>) {
    let hub = Arc::clone(&job.hub);
    let timeout = hub.options.reset_timeout;
    let outcome = {
        let Some((entry, _)) = &mut job.held else { return };
        let Entry { resource, meta, .. } = &mut **entry;
        let context = ResetContext { pool: hub.name(), meta, timeout };
        guarded(pin!(async { hub.manager.reset(resource, context).await }), Instant::now() + timeout, None)
            .await
    };
    let Some((entry, lease)) = job.held.take() else { return };
    match outcome {
        Ok(Ok(())) => hub.settle(entry, lease),
        Ok(Err(_)) | Err(Trouble::TimedOut) => {
            hub.retire(entry, CloseReason::ResetFailed, |_| lease.forget());
        }
        Err(Trouble::Panicked) => hub.retire(entry, CloseReason::Panicked, |_| lease.forget()),
    }
}
