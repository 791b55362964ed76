//! The semaphore as a counter and a `VecDeque`: slow, single-threaded and obviously right.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Names one acquire or one reservation for the whole run.
pub(crate) type Id = usize;

/// Where one acquire stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Queued,
    Granted,
    TooLarge,
    Closed,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    id: Id,
    need: usize,
    /// Rejoiners stand in front, by the ticket they lost; the others by arrival.
    rank: (bool, u64),
}

/// What the first poll of an acquire, or a try, comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Served,
    Waits,
    Closed,
    TooLarge,
    QueueFull,
}

/// A refused change of size; nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused;

/// Everything the real one may be asked for.
#[derive(Debug)]
pub(crate) struct Reference {
    pub(crate) capacity: usize,
    pub(crate) ceiling: usize,
    explicit: bool,
    max_waiters: usize,
    /// Negative: debt.
    pub(crate) free: i64,
    pub(crate) held: usize,
    pub(crate) reserved: usize,
    pub(crate) closed: bool,
    queue: VecDeque<Entry>,
    needs: BTreeMap<Id, usize>,
    states: BTreeMap<Id, State>,
    /// Those whose grant counts as reserved at once, because it may be revoked.
    revocable: BTreeSet<Id>,
    arrivals: u64,
    /// Who has to have been woken since the list was last taken.
    woken: Vec<Id>,
}

impl Reference {
    pub(crate) fn new(capacity: usize, ceiling: Option<usize>, max_waiters: Option<usize>) -> Self {
        Self {
            capacity,
            ceiling: ceiling.unwrap_or(capacity),
            explicit: ceiling.is_some(),
            max_waiters: max_waiters.unwrap_or(usize::MAX),
            free: capacity as i64,
            held: 0,
            reserved: 0,
            closed: false,
            queue: VecDeque::new(),
            needs: BTreeMap::new(),
            states: BTreeMap::new(),
            revocable: BTreeSet::new(),
            arrivals: 0,
            woken: Vec::new(),
        }
    }

    pub(crate) fn waiters(&self) -> usize {
        self.queue.len()
    }

    pub(crate) fn requested(&self) -> usize {
        self.queue.iter().map(|entry| entry.need).sum()
    }

    pub(crate) fn needs_in_order(&self) -> Vec<usize> {
        self.queue.iter().map(|entry| entry.need).collect()
    }

    pub(crate) fn granted(&self) -> usize {
        let unclaimed = self.states.iter().filter(|(_, state)| **state == State::Granted);
        unclaimed.filter(|(id, _)| !self.revocable.contains(id)).map(|(id, _)| self.needs[id]).sum()
    }

    /// The ticket of the last that joined the queue in order.
    pub(crate) fn last_ticket(&self) -> u64 {
        self.arrivals
    }

    /// From now on a grant to `id` may be revoked.
    pub(crate) fn make_revocable(&mut self, id: Id) {
        self.revocable.insert(id);
    }

    pub(crate) fn available(&self) -> usize {
        self.free.max(0) as usize
    }

    pub(crate) fn debt(&self) -> usize {
        (-self.free).max(0) as usize
    }

    pub(crate) fn state(&self, id: Id) -> Option<State> {
        self.states.get(&id).copied()
    }

    pub(crate) fn take_woken(&mut self) -> Vec<Id> {
        std::mem::take(&mut self.woken)
    }

    fn fits(&self, need: usize) -> bool {
        self.free >= need as i64
    }

    /// Serves from the front until somebody has to wait.
    fn serve(&mut self) {
        while let Some(&Entry { id, need, .. }) = self.queue.front() {
            let state = if need > self.ceiling {
                State::TooLarge
            } else if self.fits(need) {
                self.free -= need as i64;
                if self.revocable.contains(&id) {
                    self.reserved += need;
                }
                State::Granted
            } else {
                break;
            };
            self.queue.pop_front();
            self.states.insert(id, state);
            self.woken.push(id);
        }
    }

    fn verdict(&self, need: usize) -> Option<Outcome> {
        match need {
            _ if self.closed => Some(Outcome::Closed),
            0 => Some(Outcome::Served),
            _ if need > self.ceiling => Some(Outcome::TooLarge),
            _ => None,
        }
    }

    /// `Waits` is what a try calls "no permits".
    pub(crate) fn try_acquire(&mut self, need: usize) -> Outcome {
        if let Some(outcome) = self.verdict(need) {
            return outcome;
        }
        if !self.queue.is_empty() || !self.fits(need) {
            return Outcome::Waits;
        }
        self.free -= need as i64;
        self.held += need;
        Outcome::Served
    }

    /// The first poll. Served permits count as held.
    pub(crate) fn acquire(&mut self, id: Id, need: usize) -> Outcome {
        match self.try_acquire(need) {
            Outcome::Waits if self.queue.len() >= self.max_waiters => Outcome::QueueFull,
            Outcome::Waits => {
                self.arrivals += 1;
                let rank = (true, self.arrivals);
                self.join(Entry { id, need, rank });
                Outcome::Waits
            }
            outcome => outcome,
        }
    }

    /// The first poll of one who rejoins with `ticket`. Served permits count as held.
    pub(crate) fn acquire_front(&mut self, id: Id, need: usize, ticket: u64) -> Outcome {
        if let Some(outcome) = self.verdict(need) {
            return outcome;
        }
        self.join(Entry { id, need, rank: (false, ticket) });
        self.serve();
        if self.states[&id] == State::Granted {
            // Within its own poll: nobody has to be woken for it.
            self.woken.retain(|woken| *woken != id);
            if self.revocable.contains(&id) {
                self.reserved -= need;
            }
            self.states.remove(&id);
            self.needs.remove(&id);
            self.held += need;
            return Outcome::Served;
        }
        Outcome::Waits
    }

    fn join(&mut self, entry: Entry) {
        let at = self.queue.iter().position(|other| other.rank > entry.rank).unwrap_or(self.queue.len());
        self.queue.insert(at, entry);
        self.states.insert(entry.id, State::Queued);
        self.needs.insert(entry.id, entry.need);
    }

    /// A poll after the first: what it comes to. A grant becomes held, a revocable one too, from reserved.
    pub(crate) fn claim(&mut self, id: Id) -> State {
        let state = self.states[&id];
        if state != State::Queued {
            self.states.remove(&id);
            let need = self.needs.remove(&id).expect("known");
            if state == State::Granted {
                if self.revocable.contains(&id) {
                    self.reserved -= need;
                }
                self.held += need;
            }
        }
        state
    }

    /// The drop of a polled future.
    pub(crate) fn cancel(&mut self, id: Id) {
        let need = self.needs.remove(&id).expect("known");
        match self.states.remove(&id).expect("known") {
            State::Queued => self.queue.retain(|entry| entry.id != id),
            State::Granted => {
                if self.revocable.contains(&id) {
                    self.reserved -= need;
                }
                self.free += need as i64;
            }
            State::TooLarge | State::Closed => {}
        }
        self.serve();
    }

    /// A grant that nobody polled is taken back; `give_back` follows.
    pub(crate) fn revoke_unclaimed(&mut self, id: Id) {
        self.states.remove(&id);
        self.needs.remove(&id);
    }

    pub(crate) fn release(&mut self, permits: usize) {
        self.held -= permits;
        self.free += permits as i64;
        self.serve();
    }

    pub(crate) fn forget(&mut self, permits: usize) {
        self.held -= permits;
        let repaid = permits.min(self.debt());
        self.free += repaid as i64;
        self.capacity -= permits - repaid;
    }

    /// All that is free, unless somebody waits or nothing is there.
    pub(crate) fn drain(&mut self) -> Option<usize> {
        if !self.queue.is_empty() || self.closed {
            return None;
        }
        let all = self.available();
        self.free -= all as i64;
        self.held += all;
        Some(all)
    }

    /// Without an explicit ceiling growth lifts the ceiling where it must, anything else makes it the capacity.
    pub(crate) fn resize(&mut self, capacity: usize) -> Result<(), Refused> {
        if !self.explicit && capacity == 0 {
            return Err(Refused);
        }
        self.change(capacity, if capacity > self.capacity { self.ceiling.max(capacity) } else { capacity })
    }

    pub(crate) fn add(&mut self, permits: usize) -> Result<(), Refused> {
        let capacity = self.capacity + permits;
        self.change(capacity, self.ceiling.max(capacity))
    }

    pub(crate) fn reduce(&mut self, permits: usize) -> Result<(), Refused> {
        let capacity = self.capacity.checked_sub(permits).ok_or(Refused)?;
        if !self.explicit && permits > 0 && capacity == 0 {
            return Err(Refused);
        }
        self.change(capacity, if permits > 0 { capacity } else { self.ceiling })
    }

    fn change(&mut self, capacity: usize, ceiling: usize) -> Result<(), Refused> {
        if self.explicit && capacity > self.capacity && capacity > self.ceiling {
            return Err(Refused);
        }
        self.free += capacity as i64 - self.capacity as i64;
        self.capacity = capacity;
        if !self.explicit {
            self.ceiling = ceiling;
        }
        self.serve();
        Ok(())
    }

    pub(crate) fn set_ceiling(&mut self, ceiling: usize) -> Result<(), Refused> {
        if ceiling == 0 || ceiling < self.capacity {
            return Err(Refused);
        }
        self.ceiling = ceiling;
        self.explicit = true;
        self.serve();
        Ok(())
    }

    pub(crate) fn close(&mut self) {
        self.closed = true;
        for entry in self.queue.drain(..) {
            self.states.insert(entry.id, State::Closed);
            self.woken.push(entry.id);
        }
    }

    /// A claimed grant of a reservation: reserved instead of held.
    pub(crate) fn set_aside(&mut self, permits: usize) {
        self.held -= permits;
        self.reserved += permits;
    }

    /// `take`: reserved becomes held.
    pub(crate) fn use_reserved(&mut self, permits: usize) {
        self.reserved -= permits;
        self.held += permits;
    }

    /// A reservation given back or revoked.
    pub(crate) fn give_back(&mut self, permits: usize) {
        self.reserved -= permits;
        self.free += permits as i64;
        self.serve();
    }
}
