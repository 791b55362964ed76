//! The slots: one enum each, and their counts.

use std::fmt;

/// The place of one resource within the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SlotId(u32);

impl SlotId {
    /// The slot as an index, for tables kept beside the engine.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a slot is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SlotState {
    /// Nothing is there.
    Vacant,
    /// A create is under way for it.
    Creating,
    /// Its resource waits for a caller.
    Idle,
    /// Its resource is being checked.
    Checking,
    /// Its resource is with a caller.
    Leased,
    /// Its resource is being reset after a return.
    Resetting,
    /// Its resource is being closed.
    Closing,
}

impl SlotState {
    /// Every state, vacant first.
    pub const ALL: [SlotState; 7] = [
        SlotState::Vacant,
        SlotState::Creating,
        SlotState::Idle,
        SlotState::Checking,
        SlotState::Leased,
        SlotState::Resetting,
        SlotState::Closing,
    ];
}

/// How many slots are in each state.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts([usize; 7]);

impl Counts {
    /// Slots in this state.
    pub fn of(&self, state: SlotState) -> usize {
        self.0[state as usize]
    }

    /// Slots whose resource holds a permit: idle, checking, leased and resetting.
    pub fn live(&self) -> usize {
        self.of(SlotState::Idle)
            + self.of(SlotState::Checking)
            + self.of(SlotState::Leased)
            + self.of(SlotState::Resetting)
    }

    /// Slots that are not vacant.
    pub fn occupied(&self) -> usize {
        self.live() + self.of(SlotState::Creating) + self.of(SlotState::Closing)
    }
}

impl fmt::Debug for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(SlotState::ALL.iter().map(|state| (state, self.of(*state)))).finish()
    }
}

/// The table of slots. It only grows; slots above a lowered maximum stay vacant.
#[derive(Debug)]
pub struct Slots {
    states: Vec<SlotState>,
    vacant: Vec<SlotId>,
    counts: Counts,
}

impl Slots {
    pub(super) fn new(slots: usize) -> Self {
        let mut table = Slots { states: Vec::new(), vacant: Vec::new(), counts: Counts::default() };
        table.grow(slots);
        table
    }

    pub(super) fn grow(&mut self, slots: usize) {
        let have = self.states.len();
        if slots <= have {
            return;
        }
        self.states.resize(slots, SlotState::Vacant);
        self.vacant.reserve(slots - self.vacant.len());
        self.vacant.extend((have..slots).rev().map(|index| SlotId(index as u32)));
        self.counts.0[SlotState::Vacant as usize] += slots - have;
    }

    pub(super) fn occupy(&mut self, state: SlotState) -> Option<SlotId> {
        let slot = self.vacant.pop()?;
        self.turn(slot, SlotState::Vacant, state);
        Some(slot)
    }

    /// The only place where a state changes, so the counts cannot drift from the states (E1).
    pub(super) fn turn(&mut self, slot: SlotId, from: SlotState, to: SlotState) {
        debug_assert_eq!(self.states[slot.index()], from, "{slot:?} on its way to {to:?}");
        self.states[slot.index()] = to;
        self.counts.0[from as usize] -= 1;
        self.counts.0[to as usize] += 1;
        if to == SlotState::Vacant {
            self.vacant.push(slot);
        }
    }

    /// The state of one slot.
    pub fn state(&self, slot: SlotId) -> SlotState {
        self.states[slot.index()]
    }

    /// Every slot and its state.
    pub fn iter(&self) -> impl Iterator<Item = (SlotId, SlotState)> + '_ {
        self.states.iter().enumerate().map(|(index, state)| (SlotId(index as u32), *state))
    }

    /// How many slots are in each state.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }
}
