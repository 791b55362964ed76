//! Counting outcomes, and telling observers and subscribers about them.

use std::time::Duration;

use crate::extension::bump;
use crate::observer::Event;
use crate::wake::Foreign;
use crate::word::OBSERVED;
use crate::{AcquireError, Name, Semaphore};

/// A turning point in an acquire's life.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Happening {
    Queued { ahead: usize },
    Granted,
    Cancelled,
    TimedOut,
    Rejected,
    Closed,
}

impl Semaphore {
    /// Whether anybody listens to events.
    #[inline]
    pub(crate) fn is_told(&self) -> bool {
        cfg!(feature = "tracing") || self.word.glance() & OBSERVED != 0
    }

    /// Tells the observer. Never with the lock held.
    #[inline]
    pub(crate) fn tell(&self, happening: Happening, permits: usize, waited: Duration) {
        if self.is_told() {
            self.tell_all(happening, permits, waited);
        }
    }

    #[cold]
    fn tell_all(&self, happening: Happening, permits: usize, waited: Duration) {
        #[cfg(feature = "tracing")]
        self.trace(happening, permits, waited);
        let Some(observer) = self.extension_if_made().and_then(|extension| extension.observer.as_ref())
        else {
            return;
        };
        let ahead = if let Happening::Queued { ahead } = happening { ahead } else { 0 };
        let event = Event { permits, waited, ahead };
        let mut foreign = Foreign::default();
        foreign.call(|| match happening {
            Happening::Queued { .. } => observer.queued(event),
            Happening::Granted => observer.granted(event),
            Happening::Cancelled => observer.cancelled(event),
            Happening::TimedOut => observer.timed_out(event),
            Happening::Rejected => observer.rejected(event),
            Happening::Closed => observer.closed(event),
        });
        foreign.finish();
    }

    #[cfg(feature = "tracing")]
    fn trace(&self, happening: Happening, permits: usize, waited: Duration) {
        let semaphore =
            self.extension_if_made().and_then(|extension| extension.name.as_deref()).unwrap_or("");
        let queued_ms = waited.as_secs_f64() * 1e3;
        match happening {
            Happening::Queued { ahead } => tracing::trace!(semaphore, permits, position = ahead, "queued"),
            Happening::Granted => tracing::debug!(semaphore, permits, queued_ms, "granted after queueing"),
            Happening::Cancelled => tracing::debug!(semaphore, permits, queued_ms, "cancelled"),
            Happening::TimedOut => tracing::debug!(semaphore, permits, queued_ms, "timed out"),
            Happening::Rejected => {
                tracing::debug!(semaphore, permits, queued_ms, reason = "rejected", "refused")
            }
            Happening::Closed => tracing::debug!(semaphore, permits, queued_ms, reason = "closed", "refused"),
        }
    }

    /// A number in the order of arrival, for one that did not queue.
    pub(crate) fn draw_ticket(&self) -> u64 {
        let extension = self.extension();
        let mut queue = self.lock();
        queue.tickets += 1;
        bump(&extension.tally.stamped, 1);
        queue.tickets
    }

    /// What the fast path owes to whoever observes: the count, and the tick at which the lease starts.
    #[inline(always)]
    pub(crate) fn note_taken(&self, word: isize) -> u32 {
        if word & OBSERVED == 0 { 0 } else { self.note_observed() }
    }

    #[inline(never)]
    fn note_observed(&self) -> u32 {
        let extension = self.extension();
        bump(&extension.tally.immediate, 1);
        if extension.lease_time { extension.lease_starts() } else { 0 }
    }

    /// Kept only with a name or an observer: the plain fast path counts nothing.
    #[inline]
    pub(crate) fn count_immediate(&self) {
        if self.word.glance() & OBSERVED != 0 {
            bump(&self.extension().tally.immediate, 1);
        }
    }

    pub(crate) fn count_rejected(&self, permits: usize) {
        if let Some(extension) = self.extension_if_made() {
            bump(&extension.tally.rejected, 1);
        }
        self.tell(Happening::Rejected, permits, Duration::ZERO);
    }

    pub(crate) fn count_closed(&self, permits: usize) {
        if let Some(extension) = self.extension_if_made() {
            bump(&extension.tally.closed, 1);
        }
        self.tell(Happening::Closed, permits, Duration::ZERO);
    }

    pub(crate) fn count_refused(&self, error: &AcquireError, permits: usize) {
        match error {
            AcquireError::Closed { .. } => self.count_closed(permits),
            _ => self.count_rejected(permits),
        }
    }

    /// The tick at which a lease starts; 0 where nobody measures.
    #[inline]
    pub(crate) fn lease_starts(&self) -> u32 {
        if self.word.glance() & OBSERVED == 0 { 0 } else { self.extension().lease_starts() }
    }

    /// Before the permits go home, so that a foreign panic on the way there loses no measurement.
    #[cold]
    pub(crate) fn lease_ends(&self, since: u32) {
        let overdue = self.extension().lease_ends(since);
        #[cfg(feature = "tracing")]
        if let Some(held) = overdue {
            let mut foreign = Foreign::default();
            let name = self.extension().name.as_deref().unwrap_or("");
            let held_ms = held.as_millis() as u64;
            foreign.call(|| tracing::warn!(semaphore = name, held_ms, "lease came home overdue"));
            // A subscriber's panic must not keep the permits.
            foreign.discard();
        }
        #[cfg(not(feature = "tracing"))]
        let _ = overdue;
    }

    /// The name for an error; also legal with the lock held.
    pub(crate) fn error_name(&self) -> Option<Name> {
        self.attachment.get()?.name.clone()
    }

    pub(crate) fn closed_error(&self) -> AcquireError {
        AcquireError::Closed { name: self.error_name() }
    }

    pub(crate) fn too_large_error(&self, requested: usize, ceiling: u32) -> AcquireError {
        AcquireError::TooLarge { name: self.error_name(), requested, ceiling: ceiling as usize }
    }
}
