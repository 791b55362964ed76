//! What happened to every request, counted in the same way whichever limiter stands before the routes.
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use serde::Serialize;
use tokio::time::Instant;

use crate::flags::Kind;
use crate::histogram::Histogram;

/// The server's side: how requests ended.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Ends {
    pub(crate) served: u64,
    /// Answered with an error by a handler that did run.
    pub(crate) failed: u64,
    /// Answered by the limiter, the handler never ran.
    pub(crate) refused: u64,
    /// The client hung up before the handler ran.
    pub(crate) left_waiting: u64,
    /// The client hung up while the handler ran.
    pub(crate) left_running: u64,
}

/// The clients' side: what the built-in load saw.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Answers {
    pub(crate) sent: u64,
    pub(crate) served: u64,
    pub(crate) refused: u64,
    pub(crate) failed: u64,
    pub(crate) gave_up: u64,
    /// The connection broke: neither an answer nor the end of the patience.
    pub(crate) lost: u64,
    /// Planned, but not sent, because too many were open already.
    pub(crate) skipped: u64,
}

/// One stretch of the load under one limiter.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) kind: Kind,
    pub(crate) began: Instant,
    pub(crate) ends: Ends,
    pub(crate) answers: Answers,
    /// Until the handler ran, of all that ran.
    pub(crate) waits: Histogram,
    /// From the planned instant to the whole answer, of all that were served.
    pub(crate) latencies: Histogram,
    /// Of this run's requests; those of an earlier one may still run beside them.
    running: usize,
    pub(crate) peak_running: usize,
    pub(crate) peak_waiting: usize,
    /// How far the load fell behind its plan at worst.
    pub(crate) latest_send: Duration,
    /// Distinguishes runs, so that a request of an earlier one does not count in this one.
    number: u64,
}

impl Run {
    fn new(kind: Kind, number: u64) -> Run {
        Run {
            kind,
            began: Instant::now(),
            ends: Ends::default(),
            answers: Answers::default(),
            waits: Histogram::default(),
            latencies: Histogram::default(),
            running: 0,
            peak_running: 0,
            peak_waiting: 0,
            latest_send: Duration::ZERO,
            number,
        }
    }
}

/// The open book of the present run and the closed ones of the others.
#[derive(Debug)]
pub(crate) struct Book {
    pub(crate) waiting: usize,
    pub(crate) running: usize,
    pub(crate) run: Run,
    /// Waits since the last sample was taken.
    pub(crate) recent: Histogram,
    /// The last run of each other limiter.
    pub(crate) past: Vec<(Run, Duration)>,
    /// Everything since the start, over all runs.
    pub(crate) entered: u64,
    pub(crate) all: Ends,
}

/// The book, shared by middleware, load and page.
#[derive(Clone, Debug)]
pub(crate) struct Ledger(Arc<Mutex<Book>>);

impl Ledger {
    pub(crate) fn new(kind: Kind) -> Ledger {
        Ledger(Arc::new(Mutex::new(Book {
            waiting: 0,
            running: 0,
            run: Run::new(kind, 0),
            recent: Histogram::default(),
            past: Vec::new(),
            entered: 0,
            all: Ends::default(),
        })))
    }

    pub(crate) fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the present run and opens one for `kind`.
    pub(crate) fn turn_page(&self, kind: Kind) {
        let mut book = self.book();
        let number = book.run.number + 1;
        let closed = std::mem::replace(&mut book.run, Run::new(kind, number));
        let lasted = closed.began.elapsed();
        book.past.retain(|(run, _)| run.kind != closed.kind && run.kind != kind);
        if closed.kind != kind {
            book.past.push((closed, lasted));
        }
        book.recent = Histogram::default();
    }

    /// The number that the load hands back with each answer.
    pub(crate) fn run_number(&self) -> u64 {
        self.book().run.number
    }

    /// Counts something the load saw, unless its run is over.
    pub(crate) fn client(&self, run_number: u64, note: impl FnOnce(&mut Run)) {
        let mut book = self.book();
        if book.run.number == run_number {
            note(&mut book.run);
        }
    }

    fn enter(&self) -> Visit {
        let mut book = self.book();
        book.waiting += 1;
        book.entered += 1;
        let waiting = book.waiting;
        book.run.peak_waiting = book.run.peak_waiting.max(waiting);
        let visit = Visit {
            ledger: self.clone(),
            run_number: book.run.number,
            since: Instant::now(),
            stage: Stage::Waiting,
        };
        drop(book);
        visit
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    Waiting,
    Running,
    Ended,
}

/// One request between its arrival and its end; a drop before the end means that the client hung up.
#[derive(Debug)]
struct Visit {
    ledger: Ledger,
    run_number: u64,
    since: Instant,
    stage: Stage,
}

impl Visit {
    fn start(&mut self) {
        let waited = self.since.elapsed();
        let mut book = self.ledger.book();
        self.stage = Stage::Running;
        book.waiting -= 1;
        book.running += 1;
        if book.run.number == self.run_number {
            book.run.waits.record(waited);
            book.recent.record(waited);
            book.run.running += 1;
            book.run.peak_running = book.run.peak_running.max(book.run.running);
        }
    }

    fn end(&mut self, count: impl Fn(&mut Ends)) {
        let mut book = self.ledger.book();
        match self.stage {
            Stage::Waiting => book.waiting -= 1,
            Stage::Running => book.running -= 1,
            Stage::Ended => return,
        }
        let ran = self.stage == Stage::Running;
        self.stage = Stage::Ended;
        count(&mut book.all);
        if book.run.number == self.run_number {
            book.run.running -= usize::from(ran);
            count(&mut book.run.ends);
        }
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        match self.stage {
            Stage::Waiting => self.end(|ends| ends.left_waiting += 1),
            Stage::Running => self.end(|ends| ends.left_running += 1),
            Stage::Ended => {}
        }
    }
}

/// Shared by the two middlewares of one request.
#[derive(Clone, Debug)]
struct Shared(Arc<Mutex<Visit>>);

impl Shared {
    fn visit(&self) -> MutexGuard<'_, Visit> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stands outside the limiter: counts arrivals and ends.
pub(crate) async fn arrivals(State(ledger): State<Ledger>, mut request: Request, next: Next) -> Response {
    let visit = Shared(Arc::new(Mutex::new(ledger.enter())));
    request.extensions_mut().insert(visit.clone());
    let response = next.run(request).await;
    let mut visit = visit.visit();
    let started = visit.stage == Stage::Running;
    let good = response.status().is_success();
    visit.end(|ends| match (started, good) {
        (true, true) => ends.served += 1,
        (true, false) => ends.failed += 1,
        (false, _) => ends.refused += 1,
    });
    drop(visit);
    response
}

/// Stands inside the limiter: the wait is over when this runs.
pub(crate) async fn starts(request: Request, next: Next) -> Response {
    if let Some(visit) = request.extensions().get::<Shared>() {
        visit.visit().start();
    }
    next.run(request).await
}
