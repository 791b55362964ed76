//! A check-up that any manager can go through.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use crate::manager::Manager;
use crate::pool::Pool;
use crate::pooled::Pooled;

/// How long one wait of the check-up may take, in real use of the manager.
const PATIENCE: Duration = Duration::from_secs(20);
const SIZE: usize = 3;

/// What [`conformance`] did with a manager in which nothing was found.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
/// let report = lease_pool::testing::conformance(lease_pool::testing::Scripted::new()).await.unwrap();
/// assert!(report.checkouts > 10 && report.cancels > 0);
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conformance {
    /// Gets that were given a resource.
    pub checkouts: usize,
    /// Gets that were dropped half way.
    pub cancels: usize,
    /// Resources created for it.
    pub created: u64,
}

/// What did not add up.
///
/// ```
/// # use lease_pool::testing::Broken;
/// fn show(broken: &Broken) {
///     println!("{broken}");
/// }
/// # let _ = show;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    step: &'static str,
    what: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.step, self.what)
    }
}

impl std::error::Error for Broken {}

/// Runs cancels, returns and losses of every kind over a manager and compares the pool's books after each step.
///
/// Gets are dropped after one poll, two polls, and so on, so that each await point of the manager's create and
/// check is hit; resources are returned, marked as cut off, discarded, detached, and dropped on another thread;
/// at the end the pool is drained. Run it against a real server of yours: it opens at most three resources at
/// once.
///
/// # Errors
///
/// [`Broken`] names the step and the difference.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
/// use lease_pool::{manager, testing};
/// let manager = manager::from_fn(|| async { Ok::<_, std::io::Error>(String::new()) });
/// testing::conformance(manager).await.unwrap();
/// # }
/// ```
pub async fn conformance<M: Manager>(manager: M) -> Result<Conformance, Broken> {
    let built = Pool::builder(manager).max(SIZE).check_if_idle(Duration::ZERO).build();
    let pool = built.map_err(|error| Broken { step: "build", what: error.to_string() })?;
    let mut report = Conformance::default();

    let mut held = Vec::new();
    for _ in 0..SIZE {
        held.push(take(&pool, "fill", &mut report).await?);
        books(&pool, "fill", held.len())?;
    }
    cancel_after(&pool, 2, &mut report).await;
    books(&pool, "cancel while queued", SIZE)?;
    held.clear();
    settle(&pool, "return").await?;

    for polls in 1..=12 {
        cancel_after(&pool, polls, &mut report).await;
        books(&pool, "cancel in a check", 0)?;
        drop(take(&pool, "get after a cancel", &mut report).await?);
    }
    settle(&pool, "after the cancels").await?;

    let mut cut_off = take(&pool, "mark_dirty", &mut report).await?;
    Pooled::mark_dirty(&mut cut_off);
    drop(cut_off);
    drop(take(&pool, "get after mark_dirty", &mut report).await?);

    for polls in 1..=12 {
        let mut all = Vec::new();
        for _ in 0..SIZE {
            all.push(take(&pool, "discard", &mut report).await?);
        }
        all.into_iter().for_each(Pooled::discard);
        cancel_after(&pool, polls, &mut report).await;
        books(&pool, "cancel in a create", 0)?;
    }
    drop(Pooled::detach(take(&pool, "detach", &mut report).await?));
    books(&pool, "detach", 0)?;

    let elsewhere = take(&pool, "drop on another thread", &mut report).await?;
    let joined = std::thread::spawn(move || drop(elsewhere)).join();
    if joined.is_err() {
        return Err(Broken { step: "drop on another thread", what: "the drop panicked".to_owned() });
    }
    settle(&pool, "drop on another thread").await?;

    pool.invalidate_all(Duration::ZERO);
    drop(take(&pool, "get after invalidate_all", &mut report).await?);

    report.created = pool.stats().created;
    match pool.drain(PATIENCE).await {
        Ok(_) => {}
        Err(left) => return Err(Broken { step: "drain", what: format!("{} still alive", left.alive) }),
    }
    let totals = pool.stats();
    let (made, ended) = (totals.created + totals.added, totals.closed_total());
    if made != ended {
        return Err(Broken { step: "drain", what: format!("{made} were made, {ended} ended") });
    }
    Ok(report)
}

async fn take<M: Manager>(
    pool: &Pool<M>,
    step: &'static str,
    report: &mut Conformance,
) -> Result<Pooled<M>, Broken> {
    let taken = pool.get_timeout(PATIENCE).await;
    report.checkouts += 1;
    taken.map_err(|error| Broken { step, what: error.to_string() })
}

/// How long a get that is to be cancelled waits for its next wake.
const MOMENT: Duration = Duration::from_millis(20);

/// Polls a get at most so many times, or for a moment without a wake, then drops it.
async fn cancel_after<M: Manager>(pool: &Pool<M>, polls: usize, report: &mut Conformance) {
    let mut get = pin!(pool.get_timeout(PATIENCE));
    let mut left = polls;
    let polled = poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(false);
        }
        left -= 1;
        match get.as_mut().poll(cx) {
            Poll::Ready(_) => Poll::Ready(true),
            Poll::Pending if left == 0 => Poll::Ready(false),
            Poll::Pending => Poll::Pending,
        }
    });
    let finished = tokio::time::timeout(MOMENT, polled).await.unwrap_or(false);
    report.cancels += usize::from(!finished);
}

fn books<M: Manager>(pool: &Pool<M>, step: &'static str, held: usize) -> Result<(), Broken> {
    let now = pool.snapshot();
    if now.leased != held {
        return Err(Broken { step, what: format!("{held} are held, the pool says {}", now.leased) });
    }
    let occupied = now.live() + now.creating + now.closing;
    if occupied + now.vacant != now.max {
        return Err(Broken { step, what: format!("the states do not add up to {}: {now:?}", now.max) });
    }
    Ok(())
}

/// Waits until nothing is under way.
async fn settle<M: Manager>(pool: &Pool<M>, step: &'static str) -> Result<(), Broken> {
    let waited = pool
        .hub()
        .wait_for(PATIENCE.into(), |state| {
            let counts = state.engine.counts();
            counts.occupied() == counts.of(crate::engine::SlotState::Idle)
        })
        .await;
    if waited {
        return books(pool, step, 0);
    }
    Err(Broken { step, what: format!("still busy: {:?}", pool.snapshot()) })
}
