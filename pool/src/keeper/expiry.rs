//! Retires idle resources whose time is over: one at a time, coldest first, never while somebody waits.

use std::sync::Arc;

use tokio::time::Instant;

use super::sooner;
use crate::entry::Entry;
use crate::hub::{Hub, State};
use crate::manager::{CloseReason, Manager};

impl<M: Manager> Hub<M> {
    /// Retires what is over at `now` and returns when the next one will be.
    pub(crate) fn retire_what_is_over(self: &Arc<Self>, now: Instant) -> Option<Instant> {
        loop {
            let mut state = self.lock();
            if state.engine.is_closed() {
                let idle = state.engine.idle().count() > 0;
                drop(state);
                return if idle { self.sweep_again(now) } else { None };
            }
            let renewals = state.engine.idle().filter(|entry| is_aged(entry, now)).count();
            state.engine.set_renewals(renewals);
            let found = find(&state, &self.options, now);
            let next = next_end(&state, &self.options, now);
            drop(state);
            if found.is_none() {
                return next;
            }
            let Some(permit) = self.permit_for_housekeeping() else {
                // All idle resources are promised to callers, who will find out by themselves; or a permit is on
                // its way home this very moment.
                let soon = now + std::time::Duration::from_millis(1);
                return if self.semaphore.has_waiters() { next } else { sooner(next, Some(soon)) };
            };
            let mut state = self.lock();
            // The list may have changed in between.
            let taken = find(&state, &self.options, now)
                .and_then(|(position, reason)| Some((state.engine.take_for_close(position)?.1, reason)));
            match taken {
                Some((entry, reason)) => {
                    self.tally.closed(reason);
                    state.to_close.push_back((entry, reason));
                    let debts = self.settle_debts(&mut state);
                    drop(state);
                    permit.forget();
                    debts.pay(self);
                }
                None => {
                    drop(state);
                    self.return_permit(permit);
                }
            }
        }
    }

    /// Looks whether a granted caller of a closed pool has left its resource.
    fn sweep_again(&self, now: Instant) -> Option<Instant> {
        self.sweep();
        (self.lock().engine.idle().count() > 0).then(|| now + super::WATCH_EVERY)
    }
}

fn is_aged<M: Manager>(entry: &Entry<M>, now: Instant) -> bool {
    entry.soft_end.is_some_and(|end| end <= now)
}

fn find<M: Manager>(
    state: &State<M>,
    options: &crate::options::Options,
    now: Instant,
) -> Option<(usize, CloseReason)> {
    let engine = &state.engine;
    let idle = engine.idle().count();
    let spare = idle > engine.limits().min_idle;
    engine.idle().enumerate().find_map(|(position, entry)| {
        let reason = if engine.excess() > 0 {
            CloseReason::Resized
        } else if state.seats[entry.slot.index()].is_barred(now) {
            CloseReason::Invalidated
        } else if entry.hard_end.is_some_and(|end| end <= now) || (spare && is_aged(entry, now)) {
            CloseReason::MaxLifetime
        } else if spare && options.idle_timeout.is_some_and(|limit| entry.idle_since + limit <= now) {
            CloseReason::IdleTimeout
        } else {
            return None;
        };
        Some((position, reason))
    })
}

fn next_end<M: Manager>(
    state: &State<M>,
    options: &crate::options::Options,
    now: Instant,
) -> Option<Instant> {
    let barred = state.seats.iter().filter_map(|seat| seat.barred_at).filter(|at| *at > now).min();
    let spare = state.engine.idle().count() > state.engine.limits().min_idle;
    let ends = state.engine.idle().flat_map(|entry| {
        let idle =
            options.idle_timeout.filter(|_| spare).and_then(|limit| entry.idle_since.checked_add(limit));
        [entry.soft_end, entry.hard_end, idle]
    });
    let soonest = ends.flatten().filter(|at| *at > now).min();
    sooner(soonest, barred)
}
