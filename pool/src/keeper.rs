//! The housekeeper: one task per pool that starts creates, resets, checks and closes, and keeps the time.

mod bell;
mod create;
mod end;
mod expiry;
mod guarded;
mod refresh;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::{Instant, Sleep};

pub(crate) use bell::Bell;
pub(crate) use guarded::{Trouble, guarded};

use crate::engine::SlotState;
use crate::hub::{Event, Hub};
use crate::manager::Manager;

/// How often the housekeeper looks after the queue while somebody waits.
const WATCH_EVERY: Duration = Duration::from_millis(25);

impl<M: Manager> Hub<M> {
    /// Starts the housekeeper on the current runtime or the builder's; `false` if there is none.
    pub(crate) fn start_keeper(self: &Arc<Self>) -> bool {
        let current = Handle::try_current().ok();
        let Some(handle) = self.options.runtime.clone().or(current) else { return false };
        let mut state = self.lock();
        if state.keeper.is_some() || state.engine.is_closed() {
            return true;
        }
        state.keeper = Some(handle.clone());
        self.publish_events(&state);
        drop(state);
        handle.spawn(Keeper { hub: Arc::clone(self), handle: handle.clone(), sleep: None });
        true
    }
}

struct Keeper<M: Manager> {
    hub: Arc<Hub<M>>,
    handle: Handle,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl<M: Manager> Future for Keeper<M> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let keeper = &mut *self;
        keeper.hub.bell.listen(cx.waker());
        loop {
            let now = Instant::now();
            let next = match keeper.hub.tend(&keeper.handle, now) {
                Tended::Until(next) => next,
                Tended::Over => return Poll::Ready(()),
            };
            let Some(at) = next else { return Poll::Pending };
            let sleep = keeper.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(at)));
            sleep.as_mut().reset(at);
            if sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }
}

impl<M: Manager> Drop for Keeper<M> {
    fn drop(&mut self) {
        let mut state = self.hub.lock();
        state.keeper = None;
        if !state.engine.is_closed() {
            // Whatever was registered with the runtime that ends may have died with it.
            state.suspect = state.suspect.max(Some(Instant::now()));
        }
        self.hub.events.clear(Event::WATCHED);
        let debts = self.hub.settle_debts(&mut state);
        drop(state);
        debts.pay(&self.hub);
        self.hub.bury_orphans();
    }
}

enum Tended {
    /// Everything is done until then, or until the bell.
    Until(Option<Instant>),
    /// The pool is closed and empty.
    Over,
}

/// The earlier of two instants that may not exist.
pub(crate) fn sooner(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

impl<M: Manager> Hub<M> {
    /// One round: does all that is due at `now`.
    fn tend(self: &Arc<Self>, handle: &Handle, now: Instant) -> Tended {
        self.start_closes(handle);
        self.start_resets(handle);
        let retry = self.start_creates(handle, now);
        let waiting = self.look_after_waiters(now);
        let expiry = self.retire_what_is_over(now);
        let refresh = self.start_background_check(handle, now);
        let leaks = self.warn_of_leaks(now);
        // Expiry and refresh may have made room or closed something.
        self.start_closes(handle);
        let publish = self.publish_in_time(now);
        let state = self.lock();
        if state.engine.is_closed() && state.engine.counts().occupied() == 0 {
            return Tended::Over;
        }
        drop(state);
        let next = [retry, waiting, expiry, refresh, leaks, publish].into_iter().fold(None, sooner);
        Tended::Until(next)
    }

    /// Wakes waiters whose deadline has passed and takes grants back that nobody looks at.
    fn look_after_waiters(self: &Arc<Self>, now: Instant) -> Option<Instant> {
        self.events.set(Event::WATCHED);
        if !self.semaphore.has_waiters() {
            self.events.clear(Event::WATCHED);
            std::sync::atomic::fence(Ordering::SeqCst);
            if !self.semaphore.has_waiters() {
                return None;
            }
            self.events.set(Event::WATCHED);
        }
        if self.next_deadline.load(Ordering::SeqCst) <= self.nanos(now) {
            // Every waiter that has time left puts its deadline back.
            self.next_deadline.store(i64::MAX, Ordering::SeqCst);
            self.semaphore.poke();
        }
        let reap = self.semaphore.reap(now.into_std()).map(Instant::from_std);
        let deadline = match self.next_deadline.load(Ordering::SeqCst) {
            i64::MAX => None,
            nanos => self.instant(nanos),
        };
        let nested = self.search_nested_gets(now);
        [reap, deadline, nested, Some(now + WATCH_EVERY)].into_iter().fold(None, sooner)
    }

    fn instant(&self, nanos: i64) -> Option<Instant> {
        let span = Duration::from_nanos(nanos.unsigned_abs());
        if nanos < 0 { self.base.checked_sub(span) } else { self.base.checked_add(span) }
    }

    /// Counts, and with `tracing` logs, what has been out for too long.
    fn warn_of_leaks(&self, now: Instant) -> Option<Instant> {
        let after = self.options.leak_warning_after?;
        let mut state = self.lock();
        let mut next = now + after;
        let mut found = Vec::new();
        let leased: Vec<_> = state.engine.slots().iter().filter(|(_, of)| *of == SlotState::Leased).collect();
        for (slot, _) in leased {
            let seat = &mut state.seats[slot.index()];
            match seat.since {
                Some(since) if !seat.warned && since + after <= now => {
                    seat.warned = true;
                    found.push(*seat);
                }
                Some(since) if !seat.warned => next = next.min(since + after),
                _ => {}
            }
        }
        drop(state);
        for seat in found {
            self.tally.leak_warning();
            crate::trace::leak(self.name(), &seat, now);
        }
        Some(next)
    }
}
