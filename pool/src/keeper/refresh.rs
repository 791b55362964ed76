//! Background checks: the keepalive, one idle resource at a time, coldest first, never while somebody waits.

use std::pin::pin;
use std::sync::Arc;

use semaphore_core::OwnedLease;
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::{Trouble, guarded};
use crate::entry::Entry;
use crate::hub::{Hub, Permit};
use crate::manager::{CancelSafety, CheckContext, CheckReason, CloseReason, Manager};

impl<M: Manager> Hub<M> {
    /// Starts the check that is due at `now`, if none runs, and returns when the next one is.
    pub(crate) fn start_background_check(self: &Arc<Self>, handle: &Handle, now: Instant) -> Option<Instant> {
        let every = self.options.keepalive?;
        let due_at = |entry: &Entry<M>| entry.meta.verified.max(entry.idle_since) + every;
        let find = |state: &crate::hub::State<M>| {
            state.engine.idle().position(|entry| due_at(entry) <= now).filter(|_| !state.engine.is_checking())
        };
        let state = self.lock();
        let found = find(&state);
        let next = state.engine.idle().map(|entry| due_at(entry)).filter(|at| *at > now).min();
        drop(state);
        if found.is_none() {
            return next; // the end of a running check rings the bell
        }
        let lease = match self.permit_for_housekeeping() {
            Some(Permit::Lease(lease)) => lease,
            Some(permit) => {
                self.return_permit(permit);
                return next;
            }
            None => return next,
        };
        let mut state = self.lock();
        let taken = find(&state).and_then(|position| state.engine.take_for_check(position));
        drop(state);
        match taken {
            Some((_, entry)) => {
                handle.spawn(check(CheckJob { hub: Arc::clone(self), held: Some((entry, lease)) }));
            }
            None => self.return_permit(Permit::Lease(lease)),
        }
        next
    }
}

struct CheckJob<M: Manager> {
    hub: Arc<Hub<M>>,
    held: Option<(Box<Entry<M>>, OwnedLease)>,
}

impl<M: Manager> CheckJob<M> {
    fn retire(&mut self, reason: CloseReason) {
        let Some((entry, lease)) = self.held.take() else { return };
        self.hub.lock().engine.end_background();
        self.hub.retire(entry, reason, |_| lease.forget());
    }
}

impl<M: Manager> Drop for CheckJob<M> {
    fn drop(&mut self) {
        let Some((entry, _)) = &mut self.held else { return };
        match self.hub.manager.cancel_safety() {
            CancelSafety::Discard => return self.retire(CloseReason::CutOff),
            CancelSafety::CheckFirst => entry.due = Some(CheckReason::CutOff),
            CancelSafety::Safe => {}
        }
        if let Some((entry, lease)) = self.held.take() {
            self.hub.settle_at(entry, lease, true);
        }
    }
}

async fn check<M: Manager>(mut job: CheckJob<M>) {
    let hub = Arc::clone(&job.hub);
    let timeout = hub.options.check_timeout;
    let outcome = {
        let Some((entry, _)) = &mut job.held else { return };
        let Entry { resource, meta, .. } = &mut **entry;
        let context = CheckContext { pool: hub.name(), meta, reason: CheckReason::Keepalive, timeout };
        guarded(pin!(async { hub.manager.check(resource, context).await }), Instant::now() + timeout, None)
            .await
    };
    match outcome {
        Ok(Ok(())) => {
            let Some((mut entry, lease)) = job.held.take() else { return };
            entry.meta.verified = Instant::now();
            entry.due = None;
            hub.settle_at(entry, lease, true);
        }
        Ok(Err(_)) | Err(Trouble::TimedOut) => job.retire(CloseReason::CheckFailed),
        Err(Trouble::Panicked) => job.retire(CloseReason::Panicked),
    }
}
