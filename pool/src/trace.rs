//! What the pool tells `tracing`; without the feature nothing is compiled in.

use std::fmt::Display;
use std::panic::Location;
#[cfg(feature = "tracing")]
use std::time::Duration;

use tokio::time::Instant;

use crate::entry::Seat;
use crate::error::Holders;
use crate::manager::Meta;
use crate::tally::Outcome;

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
    /// When the present stage began.
    since: Option<Instant>,
    queued: Duration,
    created: Duration,
    checked: Duration,
}

#[cfg(feature = "tracing")]
impl GetSpan {
    pub(crate) fn new() -> Self {
        let zero = Duration::ZERO;
        GetSpan { span: tracing::Span::none(), since: None, queued: zero, created: zero, checked: zero }
    }

    pub(crate) fn start(&mut self, pool: Option<&str>) {
        self.span = tracing::debug_span!(
            "pool.get",
            pool,
            outcome = tracing::field::Empty,
            queued_ms = tracing::field::Empty,
            create_ms = tracing::field::Empty,
            check_ms = tracing::field::Empty,
        );
        self.since = Some(Instant::now());
    }

    fn lap(&mut self) -> Duration {
        let now = Instant::now();
        let since = self.since.replace(now);
        since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
    }

    pub(crate) fn dequeued(&mut self, given: Option<&Meta>) {
        let since = self.since;
        let span = self.lap();
        self.queued += span;
        if given.is_some_and(|meta| meta.uses == 1 && Some(meta.created) >= since) {
            self.created += span;
        }
    }

    pub(crate) fn examine(&mut self) {
        self.lap();
    }

    pub(crate) fn examined(&mut self) {
        let span = self.lap();
        self.checked += span;
    }

    pub(crate) fn end(&self, outcome: Outcome) {
        let ms = |span: Duration| span.as_secs_f64() * 1000.0;
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
    pub(crate) fn new() -> Self {
        GetSpan
    }

    pub(crate) fn start(&mut self, _pool: Option<&str>) {}

    pub(crate) fn dequeued(&mut self, _given: Option<&Meta>) {}

    pub(crate) fn examine(&mut self) {}

    pub(crate) fn examined(&mut self) {}

    pub(crate) fn end(&self, _outcome: Outcome) {}
}
