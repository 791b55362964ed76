//! Frees the leases of bodies that are being sent for too long.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use semaphore_core::OwnedLease;

use crate::{gate::Gate, lease_handle::LeaseHandle};

/// The claim on a lease that the gate keeps.
pub(crate) struct Limited {
    gate: Arc<Gate>,
    key: Key,
}

impl Limited {
    pub(crate) fn new(gate: &Arc<Gate>, holds: &MaxHold, kept: Kept) -> Self {
        Limited { gate: Arc::clone(gate), key: holds.keep(gate, kept) }
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        if let Some(holds) = &self.gate.max_hold {
            drop(holds.give_back(self.key));
        }
    }
}

/// What is freed when its time is over.
pub(crate) enum Kept {
    Lease(OwnedLease),
    Handle(LeaseHandle),
}

/// The leases of bodies that are being sent, in generations of an eighth of `max_hold`.
pub(crate) struct MaxHold {
    limit: Duration,
    desk: Mutex<Desk>,
}

#[derive(Default)]
struct Desk {
    /// The number of the first generation in `open`.
    first: u64,
    open: VecDeque<Generation>,
    /// An emptied generation, whose memory the next one uses.
    spare: Vec<Generation>,
}

#[derive(Default)]
struct Generation {
    opened: Option<Instant>,
    kept: Vec<Option<Kept>>,
    vacant: Vec<usize>,
    live: usize,
}

/// A place in a generation.
#[derive(Clone, Copy)]
pub(crate) struct Key {
    generation: u64,
    index: usize,
}

impl MaxHold {
    pub(crate) fn new(limit: Duration) -> Self {
        MaxHold { limit, desk: Mutex::new(Desk::default()) }
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, gate: &Arc<Gate>, kept: Kept) -> Key {
        let now = tokio::time::Instant::now().into_std();
        let key = self.desk().keep(kept, now, self.limit / 8);
        crate::reaper::watch_holds(gate, now + self.limit);
        key
    }

    fn give_back(&self, key: Key) -> Option<Kept> {
        self.desk().take(key)
    }

    /// Frees the generations whose time is over; says when the next one is.
    pub(crate) fn reap(&self, now: Instant) -> (usize, Option<Instant>) {
        let mut freed = 0;
        loop {
            let mut desk = self.desk();
            desk.forget_empty();
            // A generation takes leases for an eighth of the time, so its youngest is due that much after its oldest.
            let Some(due) =
                desk.open.front().and_then(|front| front.opened).map(|at| at + self.limit + self.limit / 8)
            else {
                return (freed, None);
            };
            if now < due {
                return (freed, Some(due));
            }
            let Some(mut generation) = desk.open.pop_front() else { return (freed, None) };
            desk.first += 1;
            drop(desk);
            // Outside the lock: a release wakes waiters.
            for kept in generation.kept.drain(..).flatten() {
                freed += 1;
                match kept {
                    Kept::Lease(lease) => drop(lease),
                    Kept::Handle(handle) => drop(handle),
                }
            }
            self.desk().recycle(generation);
        }
    }
}

impl Desk {
    fn keep(&mut self, kept: Kept, now: Instant, span: Duration) -> Key {
        let fresh = self.open.back().and_then(|last| last.opened).is_none_or(|opened| now >= opened + span);
        if fresh {
            let mut generation = self.spare.pop().unwrap_or_default();
            generation.opened = Some(now);
            self.open.push_back(generation);
        }
        let generation = self.first + self.open.len() as u64 - 1;
        let index = self.open.back_mut().map_or(0, |last| last.keep(kept));
        Key { generation, index }
    }

    /// `None` if the generation was freed already.
    fn take(&mut self, key: Key) -> Option<Kept> {
        let at = key.generation.checked_sub(self.first)?;
        let generation = self.open.get_mut(usize::try_from(at).ok()?)?;
        let kept = generation.kept.get_mut(key.index)?.take()?;
        generation.vacant.push(key.index);
        generation.live -= 1;
        Some(kept)
    }

    fn forget_empty(&mut self) {
        while self.open.front().is_some_and(|front| front.live == 0) {
            if let Some(generation) = self.open.pop_front() {
                self.first += 1;
                self.recycle(generation);
            }
        }
    }

    fn recycle(&mut self, mut generation: Generation) {
        generation.kept.clear();
        generation.vacant.clear();
        generation.live = 0;
        generation.opened = None;
        self.spare.push(generation);
    }
}

impl Generation {
    fn keep(&mut self, kept: Kept) -> usize {
        self.live += 1;
        match self.vacant.pop() {
            Some(index) => {
                self.kept[index] = Some(kept);
                index
            }
            None => {
                self.kept.push(Some(kept));
                self.kept.len() - 1
            }
        }
    }
}
