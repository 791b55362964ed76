//! The clock: tokio's with the feature `time`, so that its paused clock drives ages too; std's otherwise.

use std::time::Instant;

#[cfg(feature = "time")]
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

#[cfg(not(feature = "time"))]
pub(crate) fn now() -> Instant {
    Instant::now()
}
