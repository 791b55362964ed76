//! Waiting for the pool itself: `paused` and `warm_up`.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::{Poll, Waker};

use tokio::time::sleep_until;

use super::{Deadline, Pool};
use crate::error::CreateError;
use crate::hub::{Hub, State};
use crate::manager::Manager;

/// What [`Pool::warm_up`] achieved.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # use lease_pool::{Pool, manager};
/// # let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(1) })).build().unwrap();
/// let warm = pool.warm_up(3, std::time::Duration::from_secs(5)).await;
/// assert_eq!((warm.ready, warm.first_error.is_none()), (3, true));
/// # }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct WarmUp<E> {
    /// Live resources at the end.
    pub ready: usize,
    /// The first create that failed meanwhile.
    pub first_error: Option<CreateError<E>>,
}

impl<M: Manager> Pool<M> {
    /// Creates resources until `resources` are alive, the deadline passes, or creating is given up for now.
    ///
    /// # Cancel safety
    ///
    /// Dropped early, creates under way go on and what they make lands in the pool.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # use lease_pool::{Pool, manager};
    /// # let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(1) })).build().unwrap();
    /// pool.warm_up(2, std::time::Duration::from_secs(5)).await;
    /// assert_eq!(pool.snapshot().idle, 2);
    /// # }
    /// ```
    pub async fn warm_up(&self, resources: usize, deadline: impl Into<Deadline>) -> WarmUp<M::Error> {
        let deadline = deadline.into();
        let hub = self.hub();
        let wanted = {
            let mut state = hub.lock();
            let wanted = resources.min(state.engine.limits().max);
            state.engine.set_warm(wanted);
            state.warm_up_error = None;
            wanted
        };
        let _cool = CoolDown(hub);
        hub.start_keeper();
        hub.bell.ring();
        hub.wait_for(deadline, |state| {
            let given_up = state.engine.unavailable() || state.engine.is_closed();
            state.engine.live() >= wanted || given_up
        })
        .await;
        let mut state = hub.lock();
        WarmUp { ready: state.engine.live(), first_error: state.warm_up_error.take() }
    }

    /// Waits until the pool is paused and nothing is out: no resource leased, checked, reset or created.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # use lease_pool::{Pause, Pool, manager};
    /// # let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(1) })).build().unwrap();
    /// pool.pause(Pause::Wait);
    /// pool.paused().await; // now the server can be restarted
    /// pool.resume();
    /// # }
    /// ```
    pub async fn paused(&self) {
        self.hub()
            .wait_for(Deadline::NEVER, |state| {
                let counts = state.engine.counts();
                let away = counts.occupied() - counts.of(crate::engine::SlotState::Idle);
                let closing = counts.of(crate::engine::SlotState::Closing);
                state.engine.is_paused() && away == closing
            })
            .await;
    }
}

struct CoolDown<'a, M: Manager>(&'a Arc<Hub<M>>);

impl<M: Manager> Drop for CoolDown<'_, M> {
    fn drop(&mut self) {
        self.0.lock().engine.set_warm(0);
    }
}

impl<M: Manager> Hub<M> {
    /// Waits until the state fits, and says whether it did before the deadline.
    pub(crate) async fn wait_for(&self, deadline: Deadline, mut fits: impl FnMut(&State<M>) -> bool) -> bool {
        let mut check = |waker: &Waker| {
            let mut state = self.lock();
            if fits(&state) {
                return true;
            }
            state.watchers.retain(|watcher| !watcher.will_wake(waker));
            state.watchers.push(waker.clone());
            false
        };
        let Some(at) = deadline.instant() else {
            poll_fn(|cx| if check(cx.waker()) { Poll::Ready(()) } else { Poll::Pending }).await;
            return true;
        };
        let mut sleep = std::pin::pin!(sleep_until(at));
        poll_fn(|cx| {
            if check(cx.waker()) {
                return Poll::Ready(true);
            }
            sleep.as_mut().poll(cx).map(|()| false)
        })
        .await
    }
}
