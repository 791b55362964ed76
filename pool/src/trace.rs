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

/// The span `pool.get` of a get that was not immediate, at DEBUG: how long it queued, how much of that a new
/// resource took to come, and how long its checks took, in milliseconds.
#[cfg(feature = "tracing")]
pub(crate) struct GetSpan {
    span: tracing::Span,
    queued: std::time::Duration,
    created: std::time::Duration,
    checked: std::time::Duration,
}

#[cfg(feature = "tracing")]
impl GetSpan {
    pub(crate) fn new(pool: Option<&str>) -> Self {
        let span = tracing::debug_span!(
            "pool.get",
            pool,
            outcome = tracing::field::Empty,
            queued_ms = tracing::field::Empty,
            create_ms = tracing::field::Empty,
            check_ms = tracing::field::Empty,
        );
        let zero = std::time::Duration::ZERO;
        GetSpan { span, queued: zero, created: zero, checked: zero }
    }

    /// `made` is when the resource was created, if it is a new one.
    pub(crate) fn queued(&mut self, since: Instant, made: Option<Instant>) {
        let span = since.elapsed();
        self.queued += span;
        if made.is_some_and(|at| at > since) {
            self.created += span;
        }
    }

    pub(crate) fn checked(&mut self, since: Instant) {
        self.checked += since.elapsed();
    }

    pub(crate) fn end(&self, outcome: crate::tally::Outcome) {
        let ms = |span: std::time::Duration| span.as_secs_f64() * 1000.0;
        self.span.record("outcome", outcome.as_str());
        self.span.record("queued_ms", ms(self.queued));
        self.span.record("create_ms", ms(self.created));
        self.span.record("check_ms", ms(self.checked));
    }
}

#[cfg(not(feature = "tracing"))]
pub(crate) struct GetSpan;

#[cfg(not(feature = "tracing"))]
impl GetSpan {
    pub(crate) fn new(_pool: Option<&str>) -> Self {
        GetSpan
    }

    pub(crate) fn queued(&mut self, _since: Instant, _made: Option<Instant>) {}

    pub(crate) fn checked(&mut self, _since: Instant) {}

    pub(crate) fn end(&self, _outcome: crate::tally::Outcome) {}
}
