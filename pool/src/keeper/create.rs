//! Creates: started for unmet demand, finished whatever became of the caller that wanted them.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tokio::runtime::Handle;
use tokio::time::Instant;

use super::{Trouble, guarded};
use crate::engine::{Landed, SlotId};
use crate::entry::{Entry, Seat};
use crate::error::CreateError;
use crate::hub::Hub;
use crate::jitter;
use crate::manager::{
    CheckReason, CloseContext, CloseReason, CreateContext, ErrorClass, Manager, Meta, ResourceId,
};
use crate::tally::Created;

struct Order {
    slot: SlotId,
    id: ResourceId,
    generation: u64,
    failures: u32,
}

impl<M: Manager> Hub<M> {
    /// Starts as many creates as the demand asks for (E3). Returns when a failed one may be tried again.
    pub(crate) fn start_creates(self: &Arc<Self>, handle: &Handle, now: Instant) -> Option<Instant> {
        let mut guard = self.lock();
        let state = &mut *guard;
        if state.retry_at.is_some_and(|at| at <= now) {
            state.retry_at = None;
            state.engine.backoff_elapsed();
            self.publish_events(state);
        }
        // After the word is published, see `publish_events`.
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        let waiters = self.semaphore.queue_len();
        let mut orders = Vec::new();
        while let Some(slot) = state.engine.start_create(waiters) {
            state.next_id += 1;
            let id = ResourceId(state.next_id);
            state.seats[slot.index()] = Seat { id, ..Seat::EMPTY };
            let (generation, failures) = (state.generation, state.engine.failures());
            orders.push(Order { slot, id, generation, failures });
        }
        if !orders.is_empty() {
            self.publish_events(state);
        }
        let retry_at = state.retry_at;
        drop(guard);
        for order in orders {
            handle.spawn(create(CreateJob {
                hub: Arc::clone(self),
                order,
                started: Instant::now(),
                over: false,
            }));
        }
        retry_at
    }

    /// Wraps a new resource with its dates.
    pub(crate) fn entry(
        self: &Arc<Self>,
        resource: M::Resource,
        slot: SlotId,
        id: ResourceId,
        generation: u64,
    ) -> Box<Entry<M>> {
        let now = Instant::now();
        let early = 0.2 * jitter::stratum(id.0);
        let meta = Meta { id, generation, created: now, verified: now, last_used: now, uses: 0, place: None };
        Box::new(Entry {
            resource,
            meta,
            slot,
            hub: Arc::clone(self),
            soft_end: self.options.lifetime.and_then(|life| now.checked_add(life.mul_f64(1.0 - early))),
            hard_end: self.options.lifetime.and_then(|life| now.checked_add(life)),
            due: None::<CheckReason>,
            idle_since: now,
            dirty: false,
            actor: None,
            moved: AtomicBool::new(false),
        })
    }
}

/// Ends its slot as cut off if the runtime drops it half way.
struct CreateJob<M: Manager> {
    hub: Arc<Hub<M>>,
    order: Order,
    started: Instant,
    over: bool,
}

impl<M: Manager> Drop for CreateJob<M> {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let mut state = self.hub.lock();
        state.engine.create_cut_off(self.order.slot);
        self.hub.count_create(Created::Cancelled, self.started);
        let debts = self.hub.settle_debts(&mut state);
        drop(state);
        debts.pay(&self.hub);
    }
}

async fn create<M: Manager>(mut job: CreateJob<M>) {
    let hub = Arc::clone(&job.hub);
    let until = job.started + hub.options.create_timeout;
    let context = CreateContext {
        pool: hub.name(),
        id: job.order.id,
        failures: job.order.failures,
        timeout: hub.options.create_timeout,
    };
    let creating = pin!(async { hub.manager.create(context).await });
    let resource = match guarded(creating, until, None).await {
        Ok(Ok(resource)) => resource,
        Ok(Err(cause)) => {
            let fatal =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| hub.manager.classify(&cause)))
                    .is_ok_and(|class| class == ErrorClass::Fatal);
            return job.fail(CreateError::Failed(Arc::new(cause)), fatal);
        }
        Err(Trouble::TimedOut) => return job.fail(CreateError::TimedOut, false),
        Err(Trouble::Panicked) => return job.fail(CreateError::Panicked, false),
    };
    let Order { slot, id, generation, .. } = job.order;
    let mut entry = hub.entry(resource, slot, id, generation);
    if let Some(hook) = &hub.hooks.after_create {
        let Entry { resource, meta, .. } = &mut *entry;
        let failure = match guarded(pin!(async { hook(resource, meta).await }), until, None).await {
            Ok(Ok(())) => None,
            Ok(Err(cause)) => Some(CreateError::Hook(cause)),
            Err(Trouble::TimedOut) => Some(CreateError::TimedOut),
            Err(Trouble::Panicked) => Some(CreateError::Panicked),
        };
        if let Some(failure) = failure {
            let Entry { resource, meta, .. } = *entry;
            let context = CloseContext {
                pool: hub.name(),
                meta: &meta,
                reason: CloseReason::Discarded,
                timeout: hub.options.close_timeout,
            };
            let until = Instant::now() + hub.options.close_timeout;
            let _ = guarded(pin!(async { hub.manager.close(resource, context).await }), until, None).await;
            return job.fail(failure, false);
        }
    }
    job.finish(entry);
}

impl<M: Manager> CreateJob<M> {
    fn fail(&mut self, cause: CreateError<M::Error>, fatal: bool) {
        self.over = true;
        let hub = &self.hub;
        let now = Instant::now();
        hub.count_create(Created::Error, self.started);
        crate::trace::create_failed(hub.name(), &cause);
        let mut state = hub.lock();
        state.warm_up_error.get_or_insert_with(|| cause.clone());
        state.last_error = Some(cause);
        state.fatal = fatal;
        state.engine.create_failed(self.order.slot, fatal);
        let options = &hub.options;
        let pause =
            jitter::backoff(&hub.dice, options.backoff_min, options.backoff_max, state.engine.failures());
        state.retry_at = Some(now + pause);
        let debts = hub.settle_debts(&mut state);
        drop(state);
        debts.pay(hub);
    }

    fn finish(&mut self, entry: Box<Entry<M>>) {
        self.over = true;
        let hub = &self.hub;
        let now = Instant::now();
        hub.count_create(Created::Ok, self.started);
        let slot = self.order.slot;
        let mut guard = hub.lock();
        let state = &mut *guard;
        state.last_error = None;
        state.fatal = false;
        state.retry_at = None;
        let barred = state.seats[slot.index()].is_barred(now);
        let mut landed = state.engine.created(slot, entry);
        let mut reason = if state.engine.is_closed() { CloseReason::Shutdown } else { CloseReason::Resized };
        if barred && matches!(landed, Landed::Idle) {
            let last = state.engine.counts().of(crate::engine::SlotState::Idle) - 1;
            if let Some((_, entry)) = state.engine.take_for_close(last) {
                landed = Landed::Excess(entry);
                reason = CloseReason::Invalidated;
            }
        }
        let mut permits = 0;
        match landed {
            Landed::Idle if state.pause.is_some() => state.unissued += 1,
            Landed::Idle => permits = 1,
            Landed::Excess(entry) => {
                hub.tally.closed(reason);
                state.to_close.push_back((entry, reason));
            }
        }
        let debts = hub.settle_debts(state);
        drop(guard);
        hub.issue(permits);
        debts.pay(hub);
        hub.bury_orphans();
    }
}
