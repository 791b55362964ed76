//! A point in time, given as such or as a span from now.

use std::time::Duration;

use tokio::time::Instant;

/// When to stop waiting: a [`Duration`] from now, or an instant.
///
/// A span too long for the clock means never.
///
/// ```
/// use lease_pool::Deadline;
/// use std::time::Duration;
/// let soon = Deadline::from(Duration::from_secs(1));
/// let at = Deadline::from(tokio::time::Instant::now());
/// # let _ = (soon, at);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline(Option<Instant>);

impl Deadline {
    /// No deadline at all.
    ///
    /// ```
    /// # let _ =
    /// lease_pool::Deadline::NEVER;
    /// ```
    pub const NEVER: Deadline = Deadline(None);

    pub(crate) fn instant(self) -> Option<Instant> {
        self.0
    }
}

impl From<Duration> for Deadline {
    fn from(span: Duration) -> Self {
        Deadline(Instant::now().checked_add(span))
    }
}

impl From<Instant> for Deadline {
    fn from(at: Instant) -> Self {
        Deadline(Some(at))
    }
}

impl From<std::time::Instant> for Deadline {
    fn from(at: std::time::Instant) -> Self {
        Deadline(Some(Instant::from_std(at)))
    }
}
