//! A runtime whose clock stands still, for futures that are polled by hand.

use std::time::Duration;

/// tokio's paused clock without a task around the test: no cooperative budget interferes with polls by hand.
pub(crate) struct Clock {
    runtime: tokio::runtime::Runtime,
}

impl Clock {
    pub(crate) fn paused() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime of one thread");
        Self { runtime }
    }

    /// Timers made while the guard lives belong to this clock.
    pub(crate) fn enter(&self) -> tokio::runtime::EnterGuard<'_> {
        self.runtime.enter()
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.runtime.block_on(tokio::time::advance(by));
    }

    pub(crate) fn now(&self) -> tokio::time::Instant {
        let _entered = self.enter();
        tokio::time::Instant::now()
    }
}
