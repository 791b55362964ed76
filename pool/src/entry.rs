//! One resource with what the pool remembers about it, and the table of who holds what.

use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tokio::time::Instant;

use crate::actor::Actor;
use crate::engine::SlotId;
use crate::hub::Hub;
use crate::manager::{CheckReason, CloseReason, Manager, Meta, ResourceId};

/// A resource, boxed once when it is created and moved as a pointer ever after.
pub(crate) struct Entry<M: Manager> {
    pub(crate) resource: M::Resource,
    pub(crate) meta: Meta,
    pub(crate) slot: SlotId,
    /// Kept here so that a checkout touches no reference count. The cycle while idle ends with `Hub::close`.
    pub(crate) hub: Arc<Hub<M>>,
    /// Retired from here on, as soon as `min_idle` can do without it.
    pub(crate) soft_end: Option<Instant>,
    /// Never handed out from here on.
    pub(crate) hard_end: Option<Instant>,
    /// Checked before its next use whatever its age.
    pub(crate) due: Option<CheckReason>,
    pub(crate) idle_since: Instant,
    /// The user said that a use was cut off.
    pub(crate) dirty: bool,
    /// Whom it was given to.
    pub(crate) actor: Option<Actor>,
    /// It was seen in the hands of another task.
    pub(crate) moved: AtomicBool,
}

/// What a caller does with a resource that it got hold of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Ready,
    Check(CheckReason),
    Bar(CloseReason),
}

/// What the pool knows of a slot while its resource is away; kept under the lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat {
    pub(crate) id: ResourceId,
    pub(crate) since: Option<Instant>,
    pub(crate) place: Option<&'static Location<'static>>,
    pub(crate) actor: Option<Actor>,
    pub(crate) moved: bool,
    pub(crate) warned: bool,
    /// Set by `invalidate_all`: not handed out from here on.
    pub(crate) barred_at: Option<Instant>,
}

impl Seat {
    pub(crate) const EMPTY: Seat = Seat {
        id: ResourceId(0),
        since: None,
        place: None,
        actor: None,
        moved: false,
        warned: false,
        barred_at: None,
    };

    pub(crate) fn is_barred(&self, now: Instant) -> bool {
        self.barred_at.is_some_and(|at| at <= now)
    }
}

impl<M: Manager> Entry<M> {
    /// Decides what has to happen before somebody may use it.
    pub(crate) fn fate(&self, seat: &Seat, suspect: Option<Instant>, now: Instant) -> Fate {
        if seat.is_barred(now) {
            return Fate::Bar(CloseReason::Invalidated);
        }
        if self.hard_end.is_some_and(|end| end <= now) {
            return Fate::Bar(CloseReason::MaxLifetime);
        }
        if let Some(reason) = self.due {
            return Fate::Check(reason);
        }
        if suspect.is_some_and(|at| self.meta.verified < at) {
            return Fate::Check(CheckReason::Suspect);
        }
        let proven = self.idle_since.max(self.meta.verified);
        match self.hub.options.check_if_idle {
            Some(age) if now.saturating_duration_since(proven) > age => Fate::Check(CheckReason::Idle),
            _ => Fate::Ready,
        }
    }
}
