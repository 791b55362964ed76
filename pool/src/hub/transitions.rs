//! How resources move between callers, the idle list and the housekeeper.

use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::task::Waker;

use semaphore_core::OwnedLease;
use tokio::time::Instant;

use super::{Hub, State, park};
use crate::actor::Actor;
use crate::engine::Landed;
use crate::entry::{Entry, Fate};
use crate::in_hand::InHand;
use crate::manager::{CancelSafety, CheckReason, CloseReason, Manager};
use crate::options::OnUnwind;

/// What the pool owes others after a change, paid once the lock is free.
#[must_use]
pub(crate) struct Debts {
    pub(crate) watchers: Vec<Waker>,
    pub(crate) poke: bool,
    pub(crate) ring: bool,
}

impl Debts {
    pub(crate) fn pay<M: Manager>(self, hub: &Hub<M>) {
        if self.poke {
            hub.semaphore.poke();
        }
        if self.ring {
            hub.bell.ring();
        }
        self.watchers.into_iter().for_each(Waker::wake);
    }
}

impl<M: Manager> Hub<M> {
    /// Closes a change of slots or flags: brings the event word up to date and collects who has to know.
    pub(crate) fn settle_debts(&self, state: &mut State<M>) -> Debts {
        let poke = self.publish_events(state);
        Debts { watchers: std::mem::take(&mut state.watchers), poke, ring: true }
    }

    /// Hands the holder of a permit an idle resource (E2: there is one).
    pub(crate) fn claim(
        &self,
        lease: OwnedLease,
        place: &'static Location<'static>,
        at_once: bool,
    ) -> Option<(InHand<M>, Fate)> {
        let now = Instant::now();
        let actor = Some(Actor::current());
        let mut guard = self.lock();
        let state = &mut *guard;
        let (slot, mut entry) = state.engine.checkout()?;
        let seat = &mut state.seats[slot.index()];
        seat.since = Some(now);
        seat.place = Some(place);
        seat.actor = actor;
        seat.moved = false;
        seat.warned = false;
        let fate = entry.fate(seat, state.suspect, now);
        state.activity = state.activity.wrapping_add(1);
        if at_once && fate == Fate::Ready {
            state.immediate += 1;
        }
        let hungry = state.engine.is_short_of_idle() && state.engine.can_create();
        drop(guard);
        if hungry {
            self.bell.ring();
        }
        entry.meta.uses += 1;
        entry.meta.place = Some(place);
        entry.actor = actor;
        *entry.moved.get_mut() = false;
        Some((InHand::new(entry, lease), fate))
    }

    /// Asks the manager's cheap question, guarding against its panic.
    pub(crate) fn breakage(&self, entry: &Entry<M>) -> Option<CloseReason> {
        match catch_unwind(AssertUnwindSafe(|| self.manager.is_broken(&entry.resource))) {
            Ok(false) => None,
            Ok(true) => Some(CloseReason::Broken),
            Err(_) => Some(CloseReason::Panicked),
        }
    }

    /// A guard was dropped.
    pub(crate) fn come_home(&self, mut entry: Box<Entry<M>>, lease: OwnedLease) {
        let unwinding = std::thread::panicking();
        let verdict = catch_unwind(AssertUnwindSafe(|| self.judge(&mut entry, unwinding)));
        self.carry_out(verdict.unwrap_or(Verdict::Retire(CloseReason::Panicked)), entry, lease);
    }

    fn judge(&self, entry: &mut Entry<M>, unwinding: bool) -> Verdict {
        if self.manager.is_broken(&entry.resource) {
            return Verdict::Retire(CloseReason::Broken);
        }
        if let Some(hook) = &self.hooks.after_return {
            hook(&mut entry.resource, &entry.meta);
        }
        if unwinding {
            match self.options.on_unwind {
                OnUnwind::Discard => return Verdict::Retire(CloseReason::Discarded),
                OnUnwind::Recheck => entry.due = Some(CheckReason::CutOff),
                OnUnwind::Return => {}
            }
        }
        let dirty = std::mem::take(&mut entry.dirty);
        if dirty || self.manager.is_dirty(&entry.resource) {
            match self.manager.cancel_safety() {
                CancelSafety::Safe => {}
                CancelSafety::CheckFirst => entry.due = Some(CheckReason::CutOff),
                CancelSafety::Discard => return Verdict::Retire(CloseReason::CutOff),
            }
        }
        if self.manager.needs_reset(&entry.resource) { Verdict::Reset } else { Verdict::Settle }
    }

    /// A check or hook was cut off.
    pub(crate) fn cut_off(&self, mut entry: Box<Entry<M>>, lease: OwnedLease) {
        let verdict = catch_unwind(AssertUnwindSafe(|| {
            match self.manager.cancel_safety() {
                CancelSafety::Safe => {}
                CancelSafety::CheckFirst => entry.due = Some(CheckReason::CutOff),
                CancelSafety::Discard => return Verdict::Retire(CloseReason::CutOff),
            }
            if self.manager.needs_reset(&entry.resource) { Verdict::Reset } else { Verdict::Settle }
        }));
        self.carry_out(verdict.unwrap_or(Verdict::Retire(CloseReason::Panicked)), entry, lease);
    }

    fn carry_out(&self, verdict: Verdict, entry: Box<Entry<M>>, lease: OwnedLease) {
        match verdict {
            Verdict::Settle => self.settle(entry, lease),
            Verdict::Reset => self.send_to_reset(entry, lease),
            Verdict::Retire(reason) => self.retire(entry, reason, |_| lease.forget()),
        }
    }

    fn send_to_reset(&self, entry: Box<Entry<M>>, lease: OwnedLease) {
        let mut state = self.lock();
        if state.engine.is_closed() || state.engine.excess() > 0 {
            drop(state);
            return self.settle(entry, lease);
        }
        state.engine.begin_reset(entry.slot);
        state.seats[entry.slot.index()].since = None;
        state.activity = state.activity.wrapping_add(1);
        state.to_reset.push_back((entry, lease));
        let debts = self.settle_debts(&mut state);
        drop(state);
        debts.pay(self);
    }

    /// Makes a resource idle and gives its permit to the next caller; retires it if its time is over.
    pub(crate) fn settle(&self, entry: Box<Entry<M>>, lease: OwnedLease) {
        self.settle_at(entry, lease, false);
    }

    pub(crate) fn settle_at(&self, mut entry: Box<Entry<M>>, lease: OwnedLease, background: bool) {
        let now = Instant::now();
        if !background {
            entry.idle_since = now;
            entry.meta.last_used = now;
        }
        let slot = entry.slot;
        let mut guard = self.lock();
        let state = &mut *guard;
        if background {
            state.engine.end_background();
        }
        state.activity = state.activity.wrapping_add(1);
        if let Some(reason) = over(state, &entry, now) {
            drop(guard);
            return self.retire(entry, reason, |_| lease.forget());
        }
        let landed = if background {
            state.engine.settle_coldest(slot, entry)
        } else {
            state.engine.settle(slot, entry)
        };
        state.seats[slot.index()].since = None;
        match landed {
            Landed::Idle => {
                let lease = if state.pause.is_some() { park(state, lease) } else { Some(lease) };
                if state.watchers.is_empty() && !background {
                    drop(guard);
                    drop(lease);
                } else {
                    let debts = self.settle_debts(state);
                    drop(guard);
                    drop(lease);
                    debts.pay(self);
                }
            }
            Landed::Excess(entry) => {
                let closed = state.engine.is_closed();
                let reason = if closed { CloseReason::Shutdown } else { CloseReason::Resized };
                self.tally.closed(reason);
                state.to_close.push_back((entry, reason));
                let debts = self.settle_debts(state);
                drop(guard);
                lease.forget();
                debts.pay(self);
                self.bury_orphans();
            }
        }
    }

    /// Ends a live resource; `give_up` does away with its permit once its slot is closing.
    pub(crate) fn retire<T>(
        &self,
        entry: Box<Entry<M>>,
        reason: CloseReason,
        give_up: impl FnOnce(&Self) -> T,
    ) -> T {
        let now = Instant::now();
        let mut state = self.lock();
        state.engine.retire(entry.slot);
        state.seats[entry.slot.index()].since = None;
        state.activity = state.activity.wrapping_add(1);
        if matches!(reason, CloseReason::Broken | CloseReason::CheckFailed) {
            state.suspect = state.suspect.max(Some(now));
        }
        self.tally.closed(reason);
        state.to_close.push_back((entry, reason));
        let debts = self.settle_debts(&mut state);
        drop(state);
        let result = give_up(self);
        debts.pay(self);
        self.bury_orphans();
        result
    }

    /// After close without a housekeeper nobody would ever close what is left: it is dropped here.
    pub(crate) fn bury_orphans(&self) {
        let mut state = self.lock();
        if !state.engine.is_closed() || state.keeper.is_some() || state.to_close.is_empty() {
            return;
        }
        let orphans = std::mem::take(&mut state.to_close);
        for (entry, _) in &orphans {
            state.engine.closed(entry.slot);
        }
        let debts = self.settle_debts(&mut state);
        drop(state);
        for (mut entry, reason) in orphans {
            self.announce_close(&mut entry, reason);
            // A resource may panic when it is dropped; a guard may not.
            let _ = catch_unwind(AssertUnwindSafe(move || drop(entry)));
        }
        debts.pay(self);
    }

    pub(crate) fn announce_close(&self, entry: &mut Entry<M>, reason: CloseReason) {
        if let Some(hook) = &self.hooks.before_close {
            let Entry { resource, meta, .. } = entry;
            let _ = catch_unwind(AssertUnwindSafe(|| hook(resource, meta, reason)));
        }
    }

    /// A leased resource leaves the pool and lives on outside.
    pub(crate) fn let_go(&self, slot: crate::engine::SlotId, lease: OwnedLease) {
        let mut state = self.lock();
        state.engine.detach(slot);
        state.seats[slot.index()].since = None;
        state.activity = state.activity.wrapping_add(1);
        self.tally.closed(CloseReason::Detached);
        let debts = self.settle_debts(&mut state);
        drop(state);
        lease.forget();
        debts.pay(self);
    }
}

enum Verdict {
    Settle,
    Reset,
    Retire(CloseReason),
}

fn over<M: Manager>(state: &State<M>, entry: &Entry<M>, now: Instant) -> Option<CloseReason> {
    if state.engine.is_closed() || state.engine.excess() > 0 {
        return None; // settling finds that out by itself
    }
    if state.seats[entry.slot.index()].is_barred(now) {
        return Some(CloseReason::Invalidated);
    }
    let ended = entry.hard_end.is_some_and(|end| end <= now);
    let spare = !state.engine.is_short_of_idle();
    let replaced = spare && entry.soft_end.is_some_and(|end| end <= now);
    (ended || replaced).then_some(CloseReason::MaxLifetime)
}
