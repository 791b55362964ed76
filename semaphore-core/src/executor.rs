//! Tasks on tokio, a bounded number at a time.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;
use tokio::task::{AbortHandle, Id, JoinHandle};
use tokio::time::{Instant, timeout, timeout_at};

use crate::atomic::{AtomicU64, Lock, Ordering};
use crate::{AcquireError, BuildError, OwnedLease, Semaphore};

/// How long `drain` waits for aborted tasks to be gone.
const GRACE: Duration = Duration::from_millis(100);

/// Why a future was not spawned; it comes back inside.
///
/// # Examples
///
/// ```
/// use semaphore_core::{SpawnError, TaskExecutor};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let executor = TaskExecutor::new(1, 0).unwrap();
/// let running = executor.try_spawn(std::future::pending::<()>()).unwrap();
/// let refused = executor.try_spawn(async { 7 }).unwrap_err();
/// assert_eq!(refused.into_future().await, 7);
/// # running.abort();
/// # }
/// ```
#[non_exhaustive]
pub enum SpawnError<F> {
    /// No place is free, or others wait for it already.
    Full(F),
    /// As many wait already as may.
    QueueFull(F),
    /// The executor takes no more tasks.
    Closed(F),
}

impl<F> SpawnError<F> {
    /// The future that was not spawned.
    ///
    /// See the example of [`SpawnError`].
    #[allow(clippy::should_implement_trait)]
    pub fn into_future(self) -> F {
        match self {
            Self::Full(future) | Self::QueueFull(future) | Self::Closed(future) => future,
        }
    }
}

impl<F> fmt::Debug for SpawnError<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full(..)",
            Self::QueueFull(_) => "QueueFull(..)",
            Self::Closed(_) => "Closed(..)",
        })
    }
}

impl<F> fmt::Display for SpawnError<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "every place of the executor is taken",
            Self::QueueFull(_) => "the queue of the executor is full",
            Self::Closed(_) => "the executor is closed",
        })
    }
}

impl<F> std::error::Error for SpawnError<F> {}

/// What became of the tasks, from [`TaskExecutor::drain`].
///
/// See the example there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DrainReport {
    /// Tasks that ended by themselves since the drain began, by panic too.
    pub finished: usize,
    /// Tasks that were aborted at the deadline and are gone.
    pub aborted: Vec<Id>,
    /// Tasks that were aborted and still run, because they do not yield; their places come back when they end.
    pub still_running: Vec<Id>,
}

/// Counters and counts of an executor, from [`TaskExecutor::stats`].
///
/// See the example there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExecutorStats {
    /// Tasks running now.
    pub running: usize,
    /// Calls of `spawn` waiting now.
    pub queued: usize,
    /// Tasks that were started.
    pub started: u64,
    /// Tasks that completed.
    pub completed: u64,
    /// Tasks that panicked.
    pub panicked: u64,
    /// Tasks that were aborted, or lost their runtime.
    pub aborted: u64,
}

/// What the tasks need of their executor.
struct Roster {
    tasks: Lock<HashMap<u64, Option<AbortHandle>>>,
    started: AtomicU64,
    completed: AtomicU64,
    panicked: AtomicU64,
    aborted: AtomicU64,
}

/// Runs futures on tokio with at most so many at a time and at most so many waiting.
///
/// A task holds its place until it ends: by completion, panic, or abort. Dropping the executor ends nothing, the
/// tasks run on.
///
/// # What a clone shares
///
/// Everything: places, queue, counters.
///
/// # Fairness
///
/// Callers of [`spawn`](Self::spawn) get places in the order of their first poll.
///
/// # Examples
///
/// ```
/// use semaphore_core::TaskExecutor;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let executor = TaskExecutor::new(2, 10).unwrap();
/// let task = executor.spawn(async { 6 * 7 }).await.unwrap();
/// assert_eq!(task.await.unwrap(), 42);
/// # }
/// ```
#[derive(Clone)]
pub struct TaskExecutor {
    places: Arc<Semaphore>,
    roster: Arc<Roster>,
}

impl TaskExecutor {
    /// An executor for at most `max_running` tasks at a time, with at most `max_waiting` callers in line.
    ///
    /// # Errors
    ///
    /// As [`Semaphore::try_new`] for `max_running`.
    ///
    /// ```
    /// assert!(semaphore_core::TaskExecutor::new(0, 10).is_err());
    /// ```
    pub fn new(max_running: usize, max_waiting: usize) -> Result<Self, BuildError> {
        let zero = || AtomicU64::new(0);
        Ok(Self {
            places: Arc::new(Semaphore::builder(max_running).max_waiters(max_waiting).build()?),
            roster: Arc::new(Roster {
                tasks: Lock::new(HashMap::new()),
                started: zero(),
                completed: zero(),
                panicked: zero(),
                aborted: zero(),
            }),
        })
    }

    /// Waits in line for a place and runs `future` on the current runtime.
    ///
    /// # Cancel safety
    ///
    /// Dropped while it waits, it gives up its place in line and drops `future`, which never ran.
    ///
    /// # Errors
    ///
    /// [`SpawnError::QueueFull`] and [`SpawnError::Closed`], with the future.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    ///
    /// # Examples
    ///
    /// See [`TaskExecutor`].
    pub async fn spawn<F>(&self, future: F) -> Result<JoinHandle<F::Output>, SpawnError<F>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        match self.places.clone().acquire_owned().await {
            Ok(place) => Ok(self.start(place, future)),
            Err(AcquireError::QueueFull { .. }) => Err(SpawnError::QueueFull(future)),
            Err(_) => Err(SpawnError::Closed(future)),
        }
    }

    /// Runs `future` if a place is free that nobody waits for.
    ///
    /// # Errors
    ///
    /// [`SpawnError::Full`] and [`SpawnError::Closed`], with the future.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    ///
    /// # Examples
    ///
    /// See [`SpawnError`].
    pub fn try_spawn<F>(&self, future: F) -> Result<JoinHandle<F::Output>, SpawnError<F>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        match self.places.try_lease(1) {
            Ok(place) => Ok(self.start(place, future)),
            Err(_) if self.places.is_closed() => Err(SpawnError::Closed(future)),
            Err(_) => Err(SpawnError::Full(future)),
        }
    }

    fn start<F>(&self, place: OwnedLease, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let number = self.roster.started.fetch_add(1, Ordering::Relaxed);
        self.roster.tasks.lock().insert(number, None);
        let record = Record { roster: self.roster.clone(), number, end: End::Aborted };
        let handle = tokio::spawn(Task { future, record, place });
        // Gone already if it was quick on another thread.
        if let Some(slot) = self.roster.tasks.lock().get_mut(&number) {
            *slot = Some(handle.abort_handle());
        }
        handle
    }

    /// Refuses further tasks; those that run go on, those in line are told `Closed`.
    ///
    /// ```
    /// # use semaphore_core::{SpawnError, TaskExecutor};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let executor = TaskExecutor::new(1, 1).unwrap();
    /// executor.close();
    /// assert!(matches!(executor.spawn(async {}).await, Err(SpawnError::Closed(_))));
    /// # }
    /// ```
    pub fn close(&self) {
        self.places.close();
    }

    /// Whether it was closed.
    ///
    /// ```
    /// assert!(!semaphore_core::TaskExecutor::new(1, 1).unwrap().is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        self.places.is_closed()
    }

    /// Closes, waits for the tasks until `deadline`, aborts the rest and says what became of each.
    ///
    /// A task that does not yield cannot be aborted; it gets 100 ms and is reported as still running.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it leaves the executor closed and its tasks as they are.
    ///
    /// # Examples
    ///
    /// ```
    /// # use semaphore_core::TaskExecutor;
    /// # use tokio::time::{Duration, Instant};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let executor = TaskExecutor::new(2, 0).unwrap();
    /// executor.try_spawn(async {}).unwrap();
    /// let endless = executor.try_spawn(std::future::pending::<()>()).unwrap();
    /// let report = executor.drain(Instant::now() + Duration::from_secs(1)).await;
    /// assert_eq!(report.finished, 1);
    /// assert_eq!(report.aborted, [endless.id()]);
    /// assert!(report.still_running.is_empty());
    /// # }
    /// ```
    pub async fn drain(&self, deadline: Instant) -> DrainReport {
        self.close();
        let running = self.roster.tasks.lock().len();
        if timeout_at(deadline, self.places.drained()).await.is_ok() {
            return DrainReport { finished: running, ..DrainReport::default() };
        }
        let doomed: Vec<(u64, AbortHandle)> = {
            let tasks = self.roster.tasks.lock();
            tasks.iter().filter_map(|(number, task)| Some((*number, task.clone()?))).collect()
        };
        // Aborting may drop the future at once, which is foreign code: without the lock.
        doomed.iter().for_each(|(_, task)| task.abort());
        let _ = timeout(GRACE, self.places.drained()).await;
        let tasks = self.roster.tasks.lock();
        let (still_running, aborted): (Vec<_>, Vec<_>) =
            doomed.iter().partition(|(number, _)| tasks.contains_key(number));
        let ids = |tasks: Vec<&(u64, AbortHandle)>| tasks.into_iter().map(|(_, task)| task.id()).collect();
        DrainReport {
            finished: running.saturating_sub(doomed.len()),
            aborted: ids(aborted),
            still_running: ids(still_running),
        }
    }

    /// Counters and counts.
    ///
    /// ```
    /// # use semaphore_core::TaskExecutor;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let executor = TaskExecutor::new(1, 1).unwrap();
    /// executor.spawn(async {}).await.unwrap().await.unwrap();
    /// assert_eq!(executor.stats().completed, 1);
    /// # }
    /// ```
    pub fn stats(&self) -> ExecutorStats {
        let roster = &self.roster;
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ExecutorStats {
            running: roster.tasks.lock().len(),
            queued: self.places.queue_len(),
            started: read(&roster.started),
            completed: read(&roster.completed),
            panicked: read(&roster.panicked),
            aborted: read(&roster.aborted),
        }
    }
}

impl fmt::Debug for TaskExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskExecutor").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Completed,
    Panicked,
    Aborted,
}

/// A task's line in the roster, struck out on drop.
struct Record {
    roster: Arc<Roster>,
    number: u64,
    end: End,
}

impl Drop for Record {
    fn drop(&mut self) {
        let counter = match self.end {
            End::Completed => &self.roster.completed,
            End::Panicked => &self.roster.panicked,
            End::Aborted => &self.roster.aborted,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        let handle = self.roster.tasks.lock().remove(&self.number);
        drop(handle);
    }
}

pin_project! {
    /// The future goes first, then its record, then its place: fields drop in this order.
    struct Task<F> {
        #[pin]
        future: F,
        record: Record,
        place: OwnedLease,
    }
}

impl<F: Future> Future for Task<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        // Stays if the poll unwinds.
        this.record.end = End::Panicked;
        let polled = this.future.poll(cx);
        this.record.end = if polled.is_ready() { End::Completed } else { End::Aborted };
        polled
    }
}
