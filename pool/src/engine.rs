//! The pool's state machine: no clock, no waker, no I/O, no lock.
//!
//! Public only so that the crate's model tests can drive it; nothing here is covered by semantic versioning.
//!
//! Every slot is in exactly one [`SlotState`]:
//!
//! ```text
//!              start_create            created              checkout
//!   vacant ─────────────────▶ creating ────────▶ idle ───────────────────▶ leased
//!     ▲  ▲     create_failed     │                 ▲ ▲                      │ │ │
//!     │  └───────────────────────┘                 │ └──── settle ──────────┘ │ │
//!     │                                            │ ◀──── settle ─ checking ◀┘ │ check_out
//!     │            closed                          │ ◀──── settle ─ resetting ◀─┘ begin_reset
//!     └────────────────────────── closing ◀── retire (idle, leased, checking, resetting, creating)
//! ```
//!
//! Invariants, quoted by number in code and tests:
//!
//! * **E1** The states of all slots add up to the slots there are; occupied slots (all but vacant) never exceed
//!   the maximum, except for what was alive before a shrink.
//! * **E2** A slot that is idle, checking, leased or resetting holds one permit of the semaphore, no other does.
//! * **E3** A create starts only for demand that nothing else covers: `waiters + idle shortage - creating`.
//! * **E4** While there is an excess (live above the maximum) no create starts and every return retires.
//! * **E5** After a failed create at most one create is under way until one succeeds.

mod breaker;
mod slots;

use std::collections::VecDeque;

pub use breaker::{Breaker, CreateState};
pub use slots::{Counts, SlotId, SlotState, Slots};

/// Which idle resource is handed out next.
///
/// ```
/// assert_eq!(lease_pool::IdleOrder::default(), lease_pool::IdleOrder::Lifo);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IdleOrder {
    /// The one returned last: keeps few resources warm and lets the others expire.
    #[default]
    Lifo,
    /// The one returned first: uses all of them alike.
    Fifo,
}

/// What limits the engine.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most slots that may be occupied.
    pub max: usize,
    /// How many idle resources there should be.
    pub min_idle: usize,
    /// The most creates at once.
    pub create_concurrency: usize,
    /// Which idle resource is handed out next.
    pub order: IdleOrder,
}

/// What became of a resource that wanted to be idle.
#[derive(Debug, PartialEq, Eq)]
pub enum Landed<T> {
    /// It is idle; its permit may be added or released.
    Idle,
    /// There is no room for it: its slot is closing, its permit has to go.
    Excess(T),
}

/// The slots, the idle resources and the rules between them; `T` is the resource as the driver holds it.
#[derive(Debug)]
pub struct Engine<T> {
    limits: Limits,
    slots: Slots,
    idle: VecDeque<(SlotId, T)>,
    breaker: Breaker,
    background: usize,
    renewals: usize,
    warm: usize,
    paused: bool,
    closed: bool,
}

impl<T> Engine<T> {
    /// An engine whose slots are all vacant.
    pub fn new(limits: Limits) -> Self {
        Engine {
            slots: Slots::new(limits.max),
            idle: VecDeque::with_capacity(limits.max),
            breaker: Breaker::default(),
            limits,
            background: 0,
            renewals: 0,
            warm: 0,
            paused: false,
            closed: false,
        }
    }

    /// What limits the engine now.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// How many slots are in each state.
    pub fn counts(&self) -> &Counts {
        self.slots.counts()
    }

    /// The state of one slot.
    pub fn state(&self, slot: SlotId) -> SlotState {
        self.slots.state(slot)
    }

    /// Every slot with its state.
    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    /// Resources that exist and hold a permit.
    pub fn live(&self) -> usize {
        self.counts().live()
    }

    /// How many live resources are above the maximum after a shrink.
    pub fn excess(&self) -> usize {
        self.live().saturating_sub(self.limits.max)
    }

    /// Where creating stands.
    pub fn create_state(&self) -> CreateState {
        self.breaker.state()
    }

    /// Creates that failed in a row.
    pub fn failures(&self) -> u32 {
        self.breaker.failures()
    }

    /// Nothing is alive and creating is given up for now: waiting is pointless.
    pub fn unavailable(&self) -> bool {
        !self.closed && self.breaker.state() == CreateState::Open && self.live() == 0
    }

    /// A slot is free for a create, were there demand for it.
    pub fn can_create(&self) -> bool {
        let cap = if self.breaker.is_troubled() { 1 } else { self.limits.create_concurrency };
        !self.closed
            && !self.paused
            && self.breaker.allows_attempt()
            && self.counts().occupied() < self.limits.max
            && self.counts().of(SlotState::Creating) < cap
    }

    /// Takes a vacant slot for a create if the demand asks for one (E3, E4, E5).
    pub fn start_create(&mut self, waiters: usize) -> Option<SlotId> {
        if !self.can_create() {
            return None;
        }
        let creating = self.counts().of(SlotState::Creating);
        let probe = self.breaker.state() == CreateState::Open && creating == 0;
        if !probe && self.demand(waiters) <= creating {
            return None;
        }
        self.slots.occupy(SlotState::Creating)
    }

    /// Resources that are wanted and not there: `waiters + idle shortage`, or what a warm-up still wants.
    pub fn demand(&self, waiters: usize) -> usize {
        let renewals = if self.limits.min_idle == 0 { 0 } else { self.renewals };
        let idle_wanted = self.limits.min_idle + renewals;
        let shortage = idle_wanted.saturating_sub(self.idle.len() + self.background);
        (waiters + shortage).max(self.warm.saturating_sub(self.live()))
    }

    /// There are fewer idle resources than wanted.
    pub fn is_short_of_idle(&self) -> bool {
        self.idle.len() + self.background < self.limits.min_idle
    }

    /// How many idle resources are past their time and wait for a successor.
    pub fn set_renewals(&mut self, renewals: usize) {
        self.renewals = renewals;
    }

    /// How many live resources a warm-up wants.
    pub fn set_warm(&mut self, warm: usize) {
        self.warm = warm;
    }

    /// A create has finished: the resource becomes idle, or is an excess.
    pub fn created(&mut self, slot: SlotId, resource: T) -> Landed<T> {
        self.breaker.succeed();
        if self.closed || self.live() >= self.limits.max {
            self.slots.turn(slot, SlotState::Creating, SlotState::Closing);
            return Landed::Excess(resource);
        }
        self.slots.turn(slot, SlotState::Creating, SlotState::Idle);
        self.idle.push_back((slot, resource));
        Landed::Idle
    }

    /// A create has failed. The driver arms a timer and calls [`backoff_elapsed`](Engine::backoff_elapsed).
    pub fn create_failed(&mut self, slot: SlotId, fatal: bool) {
        self.breaker.fail(fatal);
        self.slots.turn(slot, SlotState::Creating, SlotState::Vacant);
    }

    /// A create was cut off by the end of its runtime, which says nothing about its peer.
    pub fn create_cut_off(&mut self, slot: SlotId) {
        self.slots.turn(slot, SlotState::Creating, SlotState::Vacant);
    }

    /// The time to wait after a failed create is over.
    pub fn backoff_elapsed(&mut self) {
        self.breaker.elapse();
    }

    /// A resource that made no use possible counts like a failed create.
    pub fn refused(&mut self) {
        self.breaker.fail(false);
    }

    /// Takes a vacant slot for a foreign resource, which [`add`](Engine::add) puts there in the same step.
    pub fn reserve_for_add(&mut self) -> Option<SlotId> {
        if self.closed || self.counts().occupied() >= self.limits.max {
            return None;
        }
        self.slots.occupy(SlotState::Creating)
    }

    /// Makes a foreign resource idle.
    pub fn add(&mut self, slot: SlotId, resource: T) {
        self.slots.turn(slot, SlotState::Creating, SlotState::Idle);
        self.idle.push_back((slot, resource));
    }

    /// Hands out an idle resource. Only for the holder of a permit (E2), so there is one.
    pub fn checkout(&mut self) -> Option<(SlotId, T)> {
        let (slot, resource) = match self.limits.order {
            IdleOrder::Lifo => self.idle.pop_back(),
            IdleOrder::Fifo => self.idle.pop_front(),
        }?;
        self.slots.turn(slot, SlotState::Idle, SlotState::Leased);
        Some((slot, resource))
    }

    /// The resource that [`checkout`](Engine::checkout) would hand out.
    pub fn next_up(&self) -> Option<&T> {
        match self.limits.order {
            IdleOrder::Lifo => self.idle.back(),
            IdleOrder::Fifo => self.idle.front(),
        }
        .map(|(_, resource)| resource)
    }

    /// Puts a resource back that was handed out and not used, where it was.
    pub fn put_back(&mut self, slot: SlotId, resource: T) {
        self.slots.turn(slot, SlotState::Leased, SlotState::Idle);
        match self.limits.order {
            IdleOrder::Lifo => self.idle.push_back((slot, resource)),
            IdleOrder::Fifo => self.idle.push_front((slot, resource)),
        }
    }

    /// A resource that was handed out is checked first.
    pub fn begin_check(&mut self, slot: SlotId) {
        self.slots.turn(slot, SlotState::Leased, SlotState::Checking);
    }

    /// The check is over and its caller has the resource.
    pub fn end_check(&mut self, slot: SlotId) {
        self.slots.turn(slot, SlotState::Checking, SlotState::Leased);
    }

    /// A returned resource, or one whose check was cut off, has to be reset first.
    pub fn begin_reset(&mut self, slot: SlotId) {
        let from = self.slots.state(slot);
        self.slots.turn(slot, from, SlotState::Resetting);
    }

    /// A leased, checking or resetting resource becomes idle, or is an excess (E4).
    pub fn settle(&mut self, slot: SlotId, resource: T) -> Landed<T> {
        let from = self.slots.state(slot);
        if self.closed || self.live() > self.limits.max {
            self.slots.turn(slot, from, SlotState::Closing);
            return Landed::Excess(resource);
        }
        self.slots.turn(slot, from, SlotState::Idle);
        self.idle.push_back((slot, resource));
        Landed::Idle
    }

    /// Idle resources, the one that was used longest ago first.
    pub fn idle(&self) -> impl Iterator<Item = &T> {
        self.idle.iter().map(|(_, resource)| resource)
    }

    /// Takes the `position`th of [`idle`](Engine::idle) for a background check; it stays alive.
    pub fn take_for_check(&mut self, position: usize) -> Option<(SlotId, T)> {
        let (slot, resource) = self.idle.remove(position)?;
        self.slots.turn(slot, SlotState::Idle, SlotState::Checking);
        self.background += 1;
        Some((slot, resource))
    }

    /// A background check is under way.
    pub fn is_checking(&self) -> bool {
        self.background > 0
    }

    /// A background check is over, well or not.
    pub fn end_background(&mut self) {
        self.background -= 1;
    }

    /// Puts a resource back after a background check, in front: the check was no use of it.
    pub fn settle_coldest(&mut self, slot: SlotId, resource: T) -> Landed<T> {
        let landed = self.settle(slot, resource);
        if matches!(landed, Landed::Idle) {
            self.idle.rotate_right(1);
        }
        landed
    }

    /// Takes the `position`th of [`idle`](Engine::idle) to be closed.
    pub fn take_for_close(&mut self, position: usize) -> Option<(SlotId, T)> {
        let (slot, resource) = self.idle.remove(position)?;
        self.slots.turn(slot, SlotState::Idle, SlotState::Closing);
        Some((slot, resource))
    }

    /// A resource in use, in check or in reset is to be closed.
    pub fn retire(&mut self, slot: SlotId) {
        let from = self.slots.state(slot);
        self.slots.turn(slot, from, SlotState::Closing);
    }

    /// A resource has been closed: its place is free.
    pub fn closed(&mut self, slot: SlotId) {
        self.slots.turn(slot, SlotState::Closing, SlotState::Vacant);
    }

    /// A leased resource leaves the pool and lives on outside.
    pub fn detach(&mut self, slot: SlotId) {
        self.slots.turn(slot, SlotState::Leased, SlotState::Vacant);
    }

    /// Sets the maximum; [`excess`](Engine::excess) says how many live resources have to go.
    pub fn resize(&mut self, max: usize) {
        self.limits.max = max;
        self.slots.grow(max);
        self.idle.reserve(max.saturating_sub(self.idle.len()));
    }

    /// Stops or resumes creating.
    pub fn set_paused(&mut self, paused: bool) {
        self.paused = paused;
    }

    /// The pool is paused.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// No create starts any more and every return retires.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// The pool is closed.
    pub fn is_closed(&self) -> bool {
        self.closed
    }
}
