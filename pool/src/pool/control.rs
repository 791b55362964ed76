//! Size, pause, invalidation and close.

use std::sync::Arc;
use std::time::Duration;

use semaphore_core::Semaphore;
use tokio::time::Instant;

use super::Pool;
use crate::engine::SlotState;
use crate::error::{AddError, ResizeError};
use crate::hub::{Hub, park};
use crate::manager::{CloseReason, Manager, Meta, ResourceId};
use crate::pause::Pause;

impl<M: Manager> Pool<M> {
    /// Sets the most resources there may be.
    ///
    /// After a shrink the number of live resources falls to it as they come home; no create starts meanwhile.
    ///
    /// # Errors
    ///
    /// 0 and more than a semaphore can count are refused and change nothing.
    ///
    /// ```
    /// # use lease_pool::{Pool, manager};
    /// # let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(1) })).build().unwrap();
    /// pool.resize(4).unwrap();
    /// assert_eq!(pool.snapshot().max, 4);
    /// ```
    pub fn resize(&self, max: usize) -> Result<(), ResizeError> {
        self.hub().resize(max)
    }

    /// Stops handing out; see [`Pause`] for what the callers see.
    ///
    /// Returns, resets and retirements go on, creates stop, and what is out stays out.
    ///
    /// ```
    /// # use lease_pool::{Pause, Pool, TryGetError, manager};
    /// # let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(1) })).build().unwrap();
    /// pool.add(1).unwrap();
    /// pool.pause(Pause::Fail);
    /// assert_eq!(pool.try_get().unwrap_err(), TryGetError::Paused);
    /// pool.resume();
    /// assert!(pool.try_get().is_ok());
    /// ```
    pub fn pause(&self, pause: Pause) {
        self.hub().pause(pause);
    }

    /// Ends a pause: all parked permits are handed out in one go, in the order of the queue.
    ///
    /// ```
    /// # use lease_pool::{Pool, manager};
    /// # let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(1) })).build().unwrap();
    /// pool.resume(); // not paused: nothing happens
    /// ```
    pub fn resume(&self) {
        self.hub().resume();
    }

    /// Has every resource that exists now closed before its next use.
    ///
    /// With a `spread` each is barred at an instant of its own within it, so that they are not all replaced at
    /// once; with zero none is handed out any more from now on.
    ///
    /// ```
    /// # use lease_pool::{Pool, TryGetError, manager};
    /// # let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(1) })).build().unwrap();
    /// pool.add(1).unwrap();
    /// pool.invalidate_all(std::time::Duration::ZERO);
    /// assert_eq!(pool.try_get().unwrap_err(), TryGetError::Empty);
    /// ```
    pub fn invalidate_all(&self, spread: Duration) {
        self.hub().invalidate_all(spread);
    }

    /// Takes a foreign resource in as idle, if a slot is vacant.
    ///
    /// # Errors
    ///
    /// The resource comes back in the error.
    ///
    /// ```
    /// # use lease_pool::{Pool, manager};
    /// # let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(1) })).build().unwrap();
    /// pool.add(5).unwrap();
    /// assert_eq!(*pool.try_get().unwrap(), 5);
    /// ```
    pub fn add(&self, resource: M::Resource) -> Result<(), AddError<M::Resource>> {
        self.hub().add(resource)
    }

    /// Closes every idle resource for which `keep` says `false`; returns how many.
    ///
    /// Those in use are not looked at, and neither are those that a granted caller is about to take.
    ///
    /// ```
    /// # use lease_pool::{Pool, manager};
    /// # let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(1) })).build().unwrap();
    /// pool.add(1).unwrap();
    /// pool.add(2).unwrap();
    /// assert_eq!(pool.retain(|number, _meta| *number > 1), 1);
    /// ```
    pub fn retain(&self, keep: impl FnMut(&mut M::Resource, &Meta) -> bool) -> usize {
        self.hub().retain(keep)
    }

    /// Refuses all callers from now on; resources that are out are closed when they come home.
    ///
    /// ```
    /// # use lease_pool::{Pool, TryGetError, manager};
    /// # let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(1) })).build().unwrap();
    /// pool.close();
    /// assert_eq!(pool.try_get().unwrap_err(), TryGetError::Closed);
    /// ```
    pub fn close(&self) {
        self.hub().close();
    }

    /// The pool is closed.
    ///
    /// ```
    /// # use lease_pool::{Pool, manager};
    /// # let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(1) })).build().unwrap();
    /// assert!(!pool.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        self.hub().lock().engine.is_closed()
    }
}

impl<M: Manager> Hub<M> {
    fn resize(self: &Arc<Self>, max: usize) -> Result<(), ResizeError> {
        if max == 0 || max > Semaphore::MAX_PERMITS {
            return Err(ResizeError::Max { max, limit: Semaphore::MAX_PERMITS });
        }
        let mut state = self.lock();
        let known = state.seats.len();
        if max > known {
            // Before the engine knows of the new slots, so that no create finishes above the ceiling.
            let _ = self.semaphore.set_ceiling(max);
            state.seats.resize(max, crate::entry::Seat::EMPTY);
        }
        state.engine.resize(max);
        let debts = self.settle_debts(&mut state);
        drop(state);
        self.retire_what_is_over(Instant::now());
        debts.pay(self);
        Ok(())
    }

    fn pause(self: &Arc<Self>, pause: Pause) {
        let mut state = self.lock();
        if state.engine.is_closed() {
            return;
        }
        state.pause = Some(pause);
        state.engine.set_paused(true);
        while let Some(free) = self.semaphore.drain_permits_owned() {
            if let Some(refused) = park(&mut state, free) {
                drop(state);
                drop(refused);
                state = self.lock();
                break;
            }
        }
        let debts = self.settle_debts(&mut state);
        drop(state);
        debts.pay(self);
    }

    fn resume(&self) {
        let mut state = self.lock();
        state.pause = None;
        state.engine.set_paused(false);
        let parked = state.parked.take();
        let unissued = std::mem::take(&mut state.unissued);
        let debts = self.settle_debts(&mut state);
        drop(state);
        drop(parked);
        self.issue(unissued);
        debts.pay(self);
    }

    fn invalidate_all(self: &Arc<Self>, spread: Duration) {
        let now = Instant::now();
        let mut guard = self.lock();
        let state = &mut *guard;
        state.generation += 1;
        let affected: Vec<_> = state
            .engine
            .slots()
            .iter()
            .filter(|(_, of)| !matches!(of, SlotState::Vacant | SlotState::Closing))
            .map(|(slot, _)| slot)
            .collect();
        let count = u32::try_from(affected.len()).unwrap_or(u32::MAX);
        for (position, slot) in (1_u32..).zip(affected) {
            let own = now + (spread / count).saturating_mul(position);
            let seat = &mut state.seats[slot.index()];
            seat.barred_at = Some(seat.barred_at.map_or(own, |earlier| earlier.min(own)));
        }
        let debts = self.settle_debts(state);
        drop(guard);
        self.retire_what_is_over(now);
        debts.pay(self);
    }

    fn add(self: &Arc<Self>, resource: M::Resource) -> Result<(), AddError<M::Resource>> {
        let mut guard = self.lock();
        let state = &mut *guard;
        let id = ResourceId(state.next_id + 1);
        let slot = match state.engine.reserve_for_add() {
            Some(slot) => slot,
            None if state.engine.is_closed() => return Err(AddError::Closed(resource)),
            None => return Err(AddError::Full(resource)),
        };
        state.next_id += 1;
        state.seats[slot.index()] = crate::entry::Seat { id, ..crate::entry::Seat::EMPTY };
        let entry = self.entry(resource, slot, id, state.generation);
        state.engine.add(slot, entry);
        let permits = if state.pause.is_some() {
            state.unissued += 1;
            0
        } else {
            1
        };
        self.tally.added();
        let debts = self.settle_debts(state);
        drop(guard);
        self.issue(permits);
        debts.pay(self);
        Ok(())
    }

    fn retain(self: &Arc<Self>, mut keep: impl FnMut(&mut M::Resource, &Meta) -> bool) -> usize {
        let mut looked_at: Vec<ResourceId> = self.lock().engine.idle().map(|entry| entry.meta.id).collect();
        let mut closed = 0;
        while let Some(id) = looked_at.pop() {
            let Some(permit) = self.permit_for_housekeeping() else { return closed };
            let mut state = self.lock();
            let position = state.engine.idle().position(|entry| entry.meta.id == id);
            let taken = position.and_then(|position| state.engine.take_for_check(position));
            drop(state);
            let Some((_, mut entry)) = taken else {
                self.return_permit(permit);
                continue;
            };
            let verdict = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let crate::entry::Entry { resource, meta, .. } = &mut *entry;
                keep(resource, meta)
            }));
            match verdict {
                Ok(true) => self.settle_looked_at(entry, permit),
                Ok(false) => {
                    closed += 1;
                    self.lock().engine.end_background();
                    self.retire(entry, CloseReason::Discarded, |_| permit.forget());
                }
                Err(panic) => {
                    self.lock().engine.end_background();
                    self.retire(entry, CloseReason::Panicked, |_| permit.forget());
                    std::panic::resume_unwind(panic);
                }
            }
        }
        closed
    }

    pub(crate) fn close(self: &Arc<Self>) {
        let mut state = self.lock();
        state.engine.close();
        let parked = state.parked.take();
        state.unissued = 0;
        state.pause = None;
        state.engine.set_paused(false);
        let resets = std::mem::take(&mut state.to_reset);
        let debts = self.settle_debts(&mut state);
        drop(state);
        self.semaphore.close();
        drop(parked);
        for (entry, lease) in resets {
            self.settle(entry, lease);
        }
        self.sweep();
        debts.pay(self);
        self.bury_orphans();
    }

    /// Ends idle resources of a closed pool, all but those that granted callers may still claim.
    pub(crate) fn sweep(&self) {
        let mut state = self.lock();
        if !state.engine.is_closed() {
            return;
        }
        let queue = self.semaphore.snapshot();
        let counts = *state.engine.counts();
        let away = counts.live() - counts.of(SlotState::Idle);
        let promised = (queue.held + queue.reserved + queue.granted).saturating_sub(away);
        let mut left = counts.of(SlotState::Idle);
        if left <= promised {
            return;
        }
        let before = left;
        while left > promised
            && let Some((_, entry)) = state.engine.take_for_close(0)
        {
            left -= 1;
            self.tally.closed(CloseReason::Shutdown);
            state.to_close.push_back((entry, CloseReason::Shutdown));
        }
        let debts = self.settle_debts(&mut state);
        drop(state);
        // Nobody can take a permit of a closed semaphore any more, so these are still free.
        let gone = (before - left).min(self.semaphore.available_permits());
        let _ = self.semaphore.reduce_permits(gone);
        debts.pay(self);
        self.bury_orphans();
    }
}
