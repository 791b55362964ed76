//! What state the uses of an exclusive connection have left it in.

use ::redis::{RedisError, RedisResult};

use super::effect::Effect;

/// Kept by the connection alone, so plain fields do.
#[derive(Debug, Default)]
pub(super) struct Condition {
    pub(super) cut_off: bool,
    in_multi: bool,
    watching: bool,
    selected: bool,
    /// It cannot be handed on: something lasting was done to it, or it was cut off while it blocked.
    pub(super) spoiled: bool,
}

impl Condition {
    /// Something has to be sent before the next user gets it.
    pub(super) fn needs_reset(&self) -> bool {
        self.cut_off || self.in_multi || self.watching || self.selected
    }

    /// DISCARD outside a transaction is an error at the server.
    pub(super) fn may_be_in_multi(&self) -> bool {
        self.in_multi || self.cut_off
    }

    pub(super) fn mark_reset(&mut self) {
        *self = Condition { spoiled: self.spoiled, ..Condition::default() };
    }

    fn note(&mut self, effect: Effect) {
        match effect {
            Effect::Plain | Effect::Blocks => {}
            Effect::Multi => self.in_multi = true,
            Effect::EndMulti => (self.in_multi, self.watching) = (false, false),
            Effect::Watch => self.watching = true,
            Effect::Unwatch => self.watching = false,
            Effect::Select => self.selected = true,
            Effect::Lasting => self.spoiled = true,
        }
    }

    /// One use from here to `finish`; a drop before that is a use cut off.
    pub(super) fn start(&mut self, effects: impl Iterator<Item = Effect>) -> Use<'_> {
        let mut blocks = Blocks::Never;
        for effect in effects {
            if effect == Effect::Blocks {
                blocks = Blocks::Maybe;
            }
            self.note(effect);
        }
        Use { condition: self, blocks, ending: Ending::CutOff }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blocks {
    Never,
    Maybe,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    CutOff,
    Answered,
}

pub(super) struct Use<'a> {
    condition: &'a mut Condition,
    pub(super) blocks: Blocks,
    ending: Ending,
}

impl Use<'_> {
    pub(super) fn finish<T>(mut self, answer: RedisResult<T>) -> RedisResult<T> {
        self.ending = Ending::Answered;
        if answer.as_ref().is_err_and(RedisError::is_unrecoverable_error) {
            self.condition.spoiled = true;
        }
        answer
    }
}

impl Drop for Use<'_> {
    fn drop(&mut self) {
        if self.ending == Ending::CutOff {
            self.condition.cut_off = true;
            if self.blocks == Blocks::Maybe {
                // The server would give the next element to a caller who is gone, and nobody else can have it.
                self.condition.spoiled = true;
            }
        }
    }
}
