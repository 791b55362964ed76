//! The thread of one connection.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use tokio::sync::oneshot;

use super::operation::{self, Operation};
use super::{Error, Options};

/// What the thread tells about its connection, without being asked.
#[derive(Debug, Default)]
pub(super) struct Status {
    in_flight: AtomicUsize,
    in_transaction: AtomicBool,
}

impl Status {
    /// Whether an operation is queued or running.
    pub(super) fn is_working(&self) -> bool {
        self.in_flight.load(Ordering::Acquire) > 0
    }

    /// Whether the last operation left a transaction open.
    pub(super) fn is_in_transaction(&self) -> bool {
        self.in_transaction.load(Ordering::Acquire)
    }
}

/// Counts an operation from its submission to its end, also when nobody runs it.
struct InFlight(Arc<Status>);

impl InFlight {
    fn new(status: Arc<Status>) -> Self {
        status.in_flight.fetch_add(1, Ordering::AcqRel);
        InFlight(status)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::AcqRel);
    }
}

type Work = Box<dyn FnOnce(&mut rusqlite::Connection) + Send>;

/// Work for the thread, with the token that calls it off.
pub(super) struct Job {
    operation: Arc<Operation>,
    work: Work,
}

impl Job {
    /// The answer comes after the count and the transaction flag are up to date, so that a caller that returns
    /// the connection at once returns a clean one.
    pub(super) fn new<T, F>(
        operation: Arc<Operation>,
        status: Arc<Status>,
        work: F,
    ) -> (Self, oneshot::Receiver<thread::Result<T>>)
    where
        F: FnOnce(&mut rusqlite::Connection) -> T + Send + 'static,
        T: Send + 'static,
    {
        let (answer, receiver) = oneshot::channel();
        let in_flight = InFlight::new(Arc::clone(&status));
        let token = Arc::clone(&operation);
        let work = Box::new(move |connection: &mut rusqlite::Connection| {
            let result =
                operation::enter(&token, || catch_unwind(AssertUnwindSafe(|| work(&mut *connection))));
            status.in_transaction.store(!connection.is_autocommit(), Ordering::Release);
            drop(in_flight);
            // The caller is gone if this fails, and its result with it.
            drop(answer.send(result));
        });
        (Job { operation, work }, receiver)
    }

    fn run(self, connection: &mut rusqlite::Connection) {
        // Caught here too: a closure that is not run, or a result that nobody takes, may panic in its drop.
        let _ = catch_unwind(AssertUnwindSafe(|| {
            if self.operation.is_cancelled() { drop(self.work) } else { (self.work)(connection) }
        }));
    }
}

/// Sends when the thread is about to end, whichever way it ends.
struct EndSignal(Option<oneshot::Sender<()>>);

impl Drop for EndSignal {
    fn drop(&mut self) {
        if let Some(ended) = self.0.take() {
            let _ = ended.send(());
        }
    }
}

/// The near end of a connection's thread. Dropping it closes the channel, upon which the thread ends.
#[derive(Debug)]
pub(super) struct Worker {
    jobs: mpsc::Sender<Job>,
    thread: JoinHandle<()>,
    ended: oneshot::Receiver<()>,
}

impl Worker {
    /// Starts a thread and opens a connection on it.
    pub(super) async fn start(options: Arc<Options>) -> Result<Self, Error> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let (opened, outcome) = oneshot::channel();
        let (end_signal, ended) = oneshot::channel();
        let database = options.database();
        let thread = thread::Builder::new()
            .name("lease-pool-sqlite".to_owned())
            .spawn(move || {
                let _end_signal = EndSignal(Some(end_signal));
                let mut connection = match options.open() {
                    Ok(connection) => connection,
                    Err(error) => {
                        let _ = opened.send(Err(error));
                        return;
                    }
                };
                if opened.send(Ok(())).is_err() {
                    return;
                }
                for job in queue {
                    job.run(&mut connection);
                }
            })
            .map_err(|source| Error::Thread { source })?;
        match outcome.await {
            Ok(Ok(())) => Ok(Worker { jobs, thread, ended }),
            Ok(Err(error)) => Err(error),
            // A setup closure of the options panicked.
            Err(_) => Err(Error::Ended { database }),
        }
    }

    /// Gives the job to the thread; `false` if there is none any more.
    pub(super) fn submit(&self, job: Job) -> bool {
        self.jobs.send(job).is_ok()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Closes the channel and waits until the thread has ended, its connection closed.
    pub(super) async fn end(self) {
        drop(self.jobs);
        let _ = self.ended.await;
        // Nothing but the last instructions of the thread is left to wait for.
        let _ = self.thread.join();
    }
}
