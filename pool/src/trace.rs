//! What the pool tells `tracing`; without the feature nothing is compiled in.

use std::fmt::Display;
use std::panic::Location;

use tokio::time::Instant;

use crate::entry::Seat;
use crate::error::Holders;

#[cfg(feature = "tracing")]
pub(crate) fn leak(pool: Option<&str>, seat: &Seat, now: Instant) {
    let age = seat.since.map(|since| now.saturating_duration_since(since));
    let place = seat.place.map(tracing::field::display);
    tracing::warn!(pool, resource = seat.id.get(), ?age, place, "a resource has been out for too long");
}

#[cfg(not(feature = "tracing"))]
pub(crate) fn leak(_pool: Option<&str>, _seat: &Seat, _now: Instant) {}

#[cfg(feature = "tracing")]
pub(crate) fn create_failed(pool: Option<&str>, cause: &impl Display) {
    tracing::debug!(pool, %cause, "a create failed");
}

#[cfg(not(feature = "tracing"))]
pub(crate) fn create_failed(_pool: Option<&str>, _cause: &impl Display) {}

#[cfg(feature = "tracing")]
pub(crate) fn nested_get(pool: Option<&str>, place: &Location<'_>, holders: &Holders) {
    tracing::warn!(pool, %place, %holders, "every holder of a resource waits for another one");
}

#[cfg(not(feature = "tracing"))]
pub(crate) fn nested_get(_pool: Option<&str>, _place: &Location<'_>, _holders: &Holders) {}
