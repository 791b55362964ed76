//! When a pool's metrics are bound and sent; without the feature nothing of it is compiled in.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::hub::Hub;
use crate::manager::Manager;
use crate::pool::Pool;
use crate::tally::{Created, Outcome};

/// How often the housekeeper publishes at least.
const PUBLISH_EVERY: Duration = Duration::from_secs(1);

impl<M: Manager> Pool<M> {
    /// Binds the metrics of a named pool to the recorder of this moment.
    ///
    /// `build` does this; call it again after a recorder was installed late, or another one took its place. The
    /// new recorder is told of what follows: all of its counters and histograms agree with each other, but
    /// resources that were created before it came are missing in `fair_pool_create_seconds`.
    ///
    /// ```
    /// # use lease_pool::{Pool, manager};
    /// let builder = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(1) }));
    /// let pool = builder.name("bound later").build().unwrap();
    /// // ... the exporter is installed here ...
    /// pool.bind_metrics();
    /// ```
    pub fn bind_metrics(&self) {
        self.hub().bind_metrics();
    }

    /// Sends counters and gauges now, for example from the handler of a scrape.
    ///
    /// ```
    /// # use lease_pool::{Pool, manager};
    /// # let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(1) })).build().unwrap();
    /// pool.publish();
    /// ```
    pub fn publish(&self) {
        self.hub().publish();
    }
}

impl<M: Manager> Hub<M> {
    pub(crate) fn bind_metrics(&self) {
        if let Some(name) = self.name() {
            let now = self.snapshot_of(&self.lock());
            self.meters.bind(name, &now, &self.stats());
            self.semaphore.bind_metrics();
            self.publish();
        }
    }

    pub(crate) fn publish(&self) {
        if self.meters.is_bound() {
            let now = self.snapshot_of(&self.lock());
            self.meters.publish(&now, &self.stats());
            self.semaphore.publish();
        }
    }

    /// Publishes if it is time to; returns when it will be.
    pub(crate) fn publish_in_time(self: &Arc<Self>, now: Instant) -> Option<Instant> {
        if !self.meters.is_bound() {
            return None;
        }
        let mut state = self.lock();
        let due = state.publish_at.is_none_or(|at| at <= now);
        if due {
            state.publish_at = Some(now + PUBLISH_EVERY);
        }
        let next = state.publish_at;
        drop(state);
        if due {
            self.publish();
        }
        next
    }

    pub(crate) fn count_checkout(&self, outcome: Outcome, started: Instant) {
        self.tally.checkout(outcome);
        if self.meters.is_bound() {
            self.meters.checkout(outcome, started.elapsed());
        }
    }

    pub(crate) fn count_create(&self, outcome: Created, started: Instant) {
        self.tally.create(outcome);
        if self.meters.is_bound() {
            self.meters.create(outcome, started.elapsed());
        }
    }
}

impl<M: Manager> Drop for Hub<M> {
    fn drop(&mut self) {
        if self.meters.is_bound() {
            let now = self.snapshot_of(&self.lock());
            self.meters.retract(&now, &self.stats());
        }
    }
}
