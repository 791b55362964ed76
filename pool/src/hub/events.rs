//! The event word: what a get has to know before it may wait.

use std::sync::atomic::{AtomicU32, Ordering, fence};

use super::{Hub, State};
use crate::manager::Manager;
use crate::pause::Pause;

/// One flag of the event word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event(u32);

impl Event {
    /// No housekeeper runs: whoever has to wait starts one.
    pub(crate) const UNKEPT: Event = Event(1);
    pub(crate) const CLOSED: Event = Event(1 << 1);
    pub(crate) const PAUSED: Event = Event(1 << 2);
    /// Nothing is alive and creating is given up for now.
    pub(crate) const UNAVAILABLE: Event = Event(1 << 3);
    /// A create could start if there were demand.
    pub(crate) const HUNGRY: Event = Event(1 << 4);
    /// The housekeeper looks after the waiters; it need not be rung for another one.
    pub(crate) const WATCHED: Event = Event(1 << 5);
    /// The waiters are asked which task they belong to.
    pub(crate) const CENSUS: Event = Event(1 << 6);
}

#[derive(Debug)]
pub(crate) struct Events(AtomicU32);

impl Events {
    pub(crate) fn new() -> Self {
        Events(AtomicU32::new(Event::UNKEPT.0 | Event::HUNGRY.0))
    }

    /// A get that finds one of these may not just take a permit.
    pub(crate) fn hinder_checkout(&self) -> bool {
        self.0.load(Ordering::Acquire) & (Event::UNKEPT.0 | Event::CLOSED.0 | Event::PAUSED.0) != 0
    }

    /// Read after the caller's place in the queue is visible, see [`Hub::publish_events`].
    pub(crate) fn read(&self) -> Seen {
        fence(Ordering::SeqCst);
        Seen(self.0.load(Ordering::SeqCst))
    }

    /// The same without the fence, where a stale answer does no harm.
    pub(crate) fn glance(&self) -> Seen {
        Seen(self.0.load(Ordering::Acquire))
    }

    pub(crate) fn set(&self, event: Event) {
        self.0.fetch_or(event.0, Ordering::SeqCst);
    }

    pub(crate) fn clear(&self, event: Event) {
        self.0.fetch_and(!event.0, Ordering::SeqCst);
    }

    fn put(&self, event: Event, on: bool) {
        let is_on = self.0.load(Ordering::Relaxed) & event.0 != 0;
        if on != is_on {
            if on { self.set(event) } else { self.clear(event) }
        }
    }
}

/// The event word as one caller saw it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen(u32);

impl Seen {
    pub(crate) fn has(self, event: Event) -> bool {
        self.0 & event.0 != 0
    }
}

impl<M: Manager> Hub<M> {
    /// Brings the word up to date after a change of the state, and says whether waiters have to look at it.
    ///
    /// A waiter joins the queue and then reads the word; this writes the word and then (in the housekeeper) the
    /// queue is read. Both have a sequentially consistent fence between, so one of them sees the other.
    pub(crate) fn publish_events(&self, state: &State<M>) -> bool {
        let engine = &state.engine;
        self.events.put(Event::UNKEPT, state.keeper.is_none());
        self.events.put(Event::CLOSED, engine.is_closed());
        self.events.put(Event::PAUSED, engine.is_paused());
        self.events.put(Event::HUNGRY, engine.can_create());
        let unavailable = engine.unavailable();
        self.events.put(Event::UNAVAILABLE, unavailable);
        unavailable || state.pause == Some(Pause::Fail) || state.keeper.is_none()
    }
}
