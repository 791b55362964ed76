//! Hand-made wakers, and an inner service that does what the test tells it.
#![allow(dead_code, unreachable_pub, missing_docs, reason = "every test file uses its own part")]

#[cfg(all(feature = "http", feature = "time"))]
pub mod server;

use std::{
    collections::VecDeque,
    fmt,
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::{Context, Poll, Wake, Waker},
};

use tower_service::Service;

/// A task that is polled by hand and counts its wakes.
#[derive(Default)]
pub struct Task {
    wakes: AtomicUsize,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.wakes.fetch_add(1, SeqCst);
    }
}

impl Task {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    pub fn is_woken(&self) -> bool {
        self.wakes.load(SeqCst) > 0
    }

    /// Polls anything that takes a context; the wakes count from here.
    pub fn poll<T>(self: &Arc<Self>, poll: impl FnOnce(&mut Context<'_>) -> Poll<T>) -> Poll<T> {
        self.wakes.store(0, SeqCst);
        let waker = Waker::from(Arc::clone(self));
        poll(&mut Context::from_waker(&waker))
    }

    pub fn poll_future<F: Future + Unpin>(self: &Arc<Self>, future: &mut F) -> Poll<F::Output> {
        self.poll(|cx| Pin::new(future).poll(cx))
    }
}

/// A service and the task that polls it.
pub struct Spawned<S> {
    pub service: S,
    pub task: Arc<Task>,
}

impl<S> Spawned<S> {
    pub fn new(service: S) -> Self {
        Spawned { service, task: Task::new() }
    }

    pub fn is_woken(&self) -> bool {
        self.task.is_woken()
    }

    pub fn poll_ready<R>(&mut self) -> Poll<Result<(), S::Error>>
    where
        S: Service<R>,
    {
        self.task.poll(|cx| self.service.poll_ready(cx))
    }
}

impl<S: Clone> Clone for Spawned<S> {
    fn clone(&self) -> Self {
        Spawned::new(self.service.clone())
    }
}

/// The inner service's error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boom;

impl fmt::Display for Boom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("boom")
    }
}

impl std::error::Error for Boom {}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Readiness {
    #[default]
    Ready,
    Pending,
    Broken,
}

#[derive(Default)]
struct Stage {
    readiness: Readiness,
    ready_polls: usize,
    called: usize,
    started: Vec<String>,
    running: usize,
    peak: usize,
    waiting: VecDeque<tokio::sync::oneshot::Sender<Result<String, Boom>>>,
}

/// What the test sees of the inner service and tells it.
#[derive(Clone, Default)]
pub struct Script {
    stage: Arc<Mutex<Stage>>,
}

impl Script {
    pub fn new() -> Self {
        Script::default()
    }

    pub fn service(&self) -> Scripted {
        Scripted { script: self.clone() }
    }

    fn stage(&self) -> std::sync::MutexGuard<'_, Stage> {
        self.stage.lock().unwrap()
    }

    pub fn set(&self, readiness: Readiness) {
        self.stage().readiness = readiness;
    }

    /// How often `poll_ready` of the inner service was polled.
    pub fn ready_polls(&self) -> usize {
        self.stage().ready_polls
    }

    /// How often `call` of the inner service ran.
    pub fn called(&self) -> usize {
        self.stage().called
    }

    /// The requests whose future was polled, in that order.
    pub fn started(&self) -> Vec<String> {
        self.stage().started.clone()
    }

    pub fn running(&self) -> usize {
        self.stage().running
    }

    pub fn peak(&self) -> usize {
        self.stage().peak
    }

    /// Whether a started request has no answer yet.
    pub fn waits(&self) -> bool {
        !self.stage().waiting.is_empty()
    }

    /// Answers the oldest started request.
    pub fn answer(&self, answer: Result<&str, Boom>) {
        let sender = self.stage().waiting.pop_front().expect("no request was started");
        let _ = sender.send(answer.map(str::to_owned));
    }
}

#[derive(Clone)]
pub struct Scripted {
    script: Script,
}

impl Service<&'static str> for Scripted {
    type Response = String;
    type Error = Boom;
    type Future = Running;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Boom>> {
        let mut stage = self.script.stage();
        stage.ready_polls += 1;
        match stage.readiness {
            Readiness::Ready => Poll::Ready(Ok(())),
            Readiness::Broken => Poll::Ready(Err(Boom)),
            Readiness::Pending => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }

    fn call(&mut self, request: &'static str) -> Running {
        self.script.stage().called += 1;
        Running { script: self.script.clone(), request, answer: None }
    }
}

/// Starts at its first poll.
pub struct Running {
    script: Script,
    request: &'static str,
    answer: Option<tokio::sync::oneshot::Receiver<Result<String, Boom>>>,
}

impl Future for Running {
    type Output = Result<String, Boom>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self.request == "panic" {
            panic!("the inner future panics");
        }
        if self.answer.is_none() {
            let (sender, receiver) = tokio::sync::oneshot::channel();
            let mut stage = self.script.stage();
            stage.started.push(self.request.to_owned());
            stage.running += 1;
            stage.peak = stage.peak.max(stage.running);
            stage.waiting.push_back(sender);
            drop(stage);
            self.answer = Some(receiver);
        }
        let answer = self.answer.as_mut().expect("set above");
        Pin::new(answer).poll(cx).map(|answer| answer.expect("the script dropped a request"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.answer.is_some() {
            self.script.stage().running -= 1;
        }
    }
}

#[macro_export]
macro_rules! assert_pending {
    ($poll:expr) => {
        match $poll {
            std::task::Poll::Pending => {}
            std::task::Poll::Ready(value) => panic!("ready with {value:?}"),
        }
    };
}

#[macro_export]
macro_rules! assert_ready {
    ($poll:expr) => {
        match $poll {
            std::task::Poll::Ready(value) => value,
            std::task::Poll::Pending => panic!("pending"),
        }
    };
}

#[macro_export]
macro_rules! assert_ready_ok {
    ($poll:expr) => {
        match $poll {
            std::task::Poll::Ready(Ok(value)) => value,
            std::task::Poll::Ready(Err(error)) => panic!("ready with the error {error:?}"),
            std::task::Poll::Pending => panic!("pending"),
        }
    };
}
