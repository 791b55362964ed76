//! The orderly end of a pool.

use tokio::time::Instant;

use super::{Deadline, Pool};
use crate::actor::Actor;
use crate::error::{Holder, Holders};
use crate::hub::{Hub, State};
use crate::manager::Manager;

/// What was left when [`Pool::drain`] ended.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # use lease_pool::{Pool, manager};
/// # let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(1) })).build().unwrap();
/// let held = pool.get().await.unwrap();
/// let report = pool.drain(std::time::Duration::from_millis(10)).await.unwrap_err();
/// assert_eq!((report.alive, report.holders.len()), (1, 1));
/// # drop(held);
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DrainReport {
    /// Resources closed since the drain began.
    pub closed: u64,
    /// Resources that exist still, in whatever state.
    pub alive: usize,
    /// Who holds them, the one that has had its resource longest first.
    pub holders: Vec<Holder>,
    /// Callers that were given a resource and never looked.
    pub unclaimed: usize,
}

impl<M: Manager> Pool<M> {
    /// Closes the pool and waits until nothing is alive, or until the deadline.
    ///
    /// After `Ok` no resource is alive and none appears.
    ///
    /// # Errors
    ///
    /// The report names the holders that have not given their resources back.
    ///
    /// # Cancel safety
    ///
    /// Dropped early, the pool stays closed and goes on closing its resources.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # use lease_pool::{Pool, manager};
    /// # let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(1) })).build().unwrap();
    /// drop(pool.get().await.unwrap());
    /// let report = pool.drain(std::time::Duration::from_secs(1)).await.unwrap();
    /// assert_eq!(report.closed, 1);
    /// # }
    /// ```
    pub async fn drain(&self, deadline: impl Into<Deadline>) -> Result<DrainReport, DrainReport> {
        let deadline = deadline.into();
        let hub = self.hub();
        let before = hub.stats().closed_total();
        hub.start_keeper();
        hub.close();
        let empty = hub.wait_for(deadline, |state| state.engine.counts().occupied() == 0).await;
        let state = hub.lock();
        let report = DrainReport {
            closed: hub.tally.totals(0).closed_total() - before,
            alive: state.engine.counts().occupied(),
            holders: hub.all_holders(&state, Instant::now()),
            unclaimed: hub.snapshot_of(&state).granted,
        };
        if empty { Ok(report) } else { Err(report) }
    }

    /// Who holds the resources, the one that has had its resource longest first.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # use lease_pool::{Pool, manager};
    /// # let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(1) })).build().unwrap();
    /// let held = pool.get().await.unwrap();
    /// assert_eq!(pool.holders().len(), 1);
    /// # drop(held);
    /// # }
    /// ```
    pub fn holders(&self) -> Vec<Holder> {
        self.hub().all_holders(&self.hub().lock(), Instant::now())
    }
}

impl<M: Manager> Hub<M> {
    fn all_holders(&self, state: &State<M>, now: Instant) -> Vec<Holder> {
        let mut holders: Vec<_> = state
            .engine
            .slots()
            .iter()
            .filter(|(_, of)| *of == crate::engine::SlotState::Leased)
            .map(|(slot, _)| {
                let seat = &state.seats[slot.index()];
                Holder {
                    id: seat.id,
                    place: seat.place,
                    age: seat.since.map_or(std::time::Duration::ZERO, |at| now.saturating_duration_since(at)),
                    task: seat.actor.and_then(Actor::task),
                }
            })
            .collect();
        holders.sort_by(|a, b| b.age.cmp(&a.age).then(a.id.cmp(&b.id)));
        holders
    }

    pub(crate) fn holders_of(&self, state: &State<M>, now: Instant) -> Holders {
        let mut all = self.all_holders(state, now);
        let total = all.len();
        all.truncate(Holders::LISTED);
        Holders { oldest: all.into(), total }
    }
}
