//! The search for tasks that hold all resources and wait for more.
//!
//! Nothing is recorded while gets are served. When the pool has stood still for a while with everything leased
//! and somebody waiting, the housekeeper asks the waiters (a *census*, through the event word) which task each
//! belongs to. If every holder's task is among them, no holder can come to give anything back.

use std::collections::BTreeSet;
use std::panic::Location;
use std::time::Duration;

use semaphore_core::Ticket;
use tokio::time::Instant;

use crate::actor::Actor;
use crate::engine::SlotState;
use crate::error::GetError;
use crate::hub::{Event, Hub, State};
use crate::manager::Manager;
use crate::options::NestedGet;

/// How long nothing must have moved before the waiters are asked.
const STILL_FOR: Duration = Duration::from_millis(50);
/// How long the waiters have to answer.
const ANSWER_WITHIN: Duration = Duration::from_millis(20);

#[derive(Debug, Default)]
pub(crate) struct Census {
    /// The activity count at the start of the stall, and when that was.
    still: Option<(u64, Instant)>,
    asked: Option<Instant>,
    answers: Vec<Answer>,
    /// The waiter that has to leave.
    denied: Option<Ticket>,
    /// Places that were warned of already.
    warned: BTreeSet<(&'static str, u32, u32)>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) ticket: Ticket,
    pub(crate) actor: Actor,
    pub(crate) deadline: Option<Instant>,
    pub(crate) arrived: Instant,
    pub(crate) place: &'static Location<'static>,
}

impl<M: Manager> Hub<M> {
    /// One step of the search; returns when the next one is due.
    pub(crate) fn search_nested_gets(&self, now: Instant) -> Option<Instant> {
        if self.options.nested_get == NestedGet::Allow {
            return None;
        }
        let mut guard = self.lock();
        let state = &mut *guard;
        if !is_stuck(state) || !self.semaphore.has_waiters() {
            state.census.still = None;
            self.end_census(state);
            return None;
        }
        let activity = state.activity;
        let since = match state.census.still {
            Some((then, since)) if then == activity => since,
            _ => {
                state.census.still = Some((activity, now));
                self.end_census(state);
                return Some(now + STILL_FOR);
            }
        };
        match state.census.asked {
            None if since + STILL_FOR > now => Some(since + STILL_FOR),
            None => {
                state.census.asked = Some(now);
                state.census.answers.clear();
                self.events.set(Event::CENSUS);
                drop(guard);
                self.semaphore.poke();
                Some(now + ANSWER_WITHIN)
            }
            Some(asked) if asked + ANSWER_WITHIN > now => Some(asked + ANSWER_WITHIN),
            Some(_) => {
                let victim = victim(state, now);
                let Some(victim) = victim else {
                    // Ask again later: a holder may come to wait as well.
                    state.census.still = Some((activity, now));
                    self.end_census(state);
                    return Some(now + STILL_FOR);
                };
                match self.options.nested_get {
                    NestedGet::Deny => {
                        self.tally.nested_get();
                        state.census.denied = Some(victim.ticket);
                        drop(guard);
                        self.semaphore.poke();
                    }
                    _ => {
                        let place = (victim.place.file(), victim.place.line(), victim.place.column());
                        let first = state.census.warned.insert(place);
                        let holders = first.then(|| self.holders_of(state, now));
                        state.census.still = Some((activity, now));
                        self.end_census(state);
                        drop(guard);
                        if let Some(holders) = holders {
                            self.tally.nested_get();
                            crate::trace::nested_get(self.name(), victim.place, &holders);
                        }
                    }
                }
                Some(now + STILL_FOR)
            }
        }
    }

    fn end_census(&self, state: &mut State<M>) {
        if state.census.asked.take().is_some() {
            state.census.answers.clear();
            state.census.denied = None;
            self.events.clear(Event::CENSUS);
        }
    }

    /// A waiter answers, and learns whether it has to leave.
    pub(crate) fn answer_census(&self, answer: Answer) -> Option<GetError<M::Error>> {
        let mut guard = self.lock();
        let state = &mut *guard;
        if state.census.denied == Some(answer.ticket) {
            let holders = self.holders_of(state, Instant::now());
            state.census.still = None;
            self.end_census(state);
            return Some(GetError::WouldDeadlock { holders });
        }
        if state.census.asked.is_some() && state.census.answers.iter().all(|of| of.ticket != answer.ticket) {
            state.census.answers.push(answer);
        }
        None
    }
}

/// Everything is leased to tasks whose guards were not seen elsewhere, and nothing is on its way.
fn is_stuck<M: Manager>(state: &State<M>) -> bool {
    let counts = state.engine.counts();
    let leased = counts.of(SlotState::Leased);
    leased == counts.occupied()
        && leased >= state.engine.limits().max
        && !state.engine.is_paused()
        && !state.engine.is_closed()
        && leased_seats(state).all(|seat| seat.actor.is_some() && !seat.moved)
}

fn leased_seats<M: Manager>(state: &State<M>) -> impl Iterator<Item = &crate::entry::Seat> {
    let leased = state.engine.slots().iter().filter(|(_, of)| *of == SlotState::Leased);
    leased.map(|(slot, _)| &state.seats[slot.index()])
}

/// A later deadline is more patient, none at all the most.
fn patience(answer: &Answer) -> (bool, Option<Instant>) {
    (answer.deadline.is_none(), answer.deadline)
}

/// The waiter that gives up first among the holders, if all of them wait.
///
/// Those that came a moment ago do not count: what they held may be on its way to another task.
fn victim<M: Manager>(state: &State<M>, now: Instant) -> Option<Answer> {
    let answers = &state.census.answers;
    let mut chosen: Option<Answer> = None;
    for seat in leased_seats(state) {
        let own = answers
            .iter()
            .filter(|answer| Some(answer.actor) == seat.actor && answer.arrived + STILL_FOR <= now);
        let last = *own.max_by_key(|answer| patience(answer))?;
        let earlier =
            chosen.is_none_or(|best| (patience(&last), last.ticket) < (patience(&best), best.ticket));
        if earlier {
            chosen = Some(last);
        }
    }
    chosen
}
