//! What the parts of the running demo share.
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tokio::sync::watch;

use crate::database::Database;
use crate::flags::{Flags, Kind};
use crate::history::{History, Sample, milliseconds};
use crate::ledger::{Answers, Ends, Ledger, Run};
use crate::limiter::Limiters;
use crate::load::Load;
use crate::summary::Summary;

/// Where the demo is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Stage {
    Running,
    Draining,
    Drained,
    Ended,
}

pub(crate) struct App {
    pub(crate) flags: Flags,
    pub(crate) port: u16,
    pub(crate) limiters: Limiters,
    pub(crate) database: Database,
    pub(crate) ledger: Ledger,
    pub(crate) history: Mutex<History>,
    /// `None` once the load has been told to stop.
    pub(crate) load: Mutex<Option<Load>>,
    pub(crate) stage: watch::Sender<Stage>,
    pub(crate) summary: Mutex<Option<Summary>>,
}

impl App {
    fn load(&self) -> MutexGuard<'_, Option<Load>> {
        self.load.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a sample of everything the page draws.
    pub(crate) fn sample(&self) {
        let pool = self.database.view();
        self.history().take(&self.ledger, self.limiters.kind(), self.limiters.limit(), pool);
    }

    /// Exchanges the limiter and replays the load for it.
    pub(crate) fn exchange(&self, kind: Kind) -> Result<(), String> {
        let load = self.load();
        let load = load.as_ref().ok_or("the demo is draining")?;
        self.limiters.exchange(kind);
        self.ledger.turn_page(kind);
        load.replay();
        Ok(())
    }

    pub(crate) fn burst(&self) -> Result<(), String> {
        self.load().as_ref().ok_or("the demo is draining")?.burst();
        Ok(())
    }

    /// Ends the load; answers whether this call did it.
    pub(crate) fn stop_load(&self) -> bool {
        self.load().take().is_some()
    }

    /// Starts the end of the demo, as Ctrl-C does.
    pub(crate) fn ask_to_drain(&self) {
        self.stage.send_if_modified(|stage| {
            let running = *stage == Stage::Running;
            if running {
                *stage = Stage::Draining;
            }
            running
        });
    }

    /// Everything the page needs, with the samples after the one numbered `after`.
    pub(crate) fn state(&self, after: u64) -> State {
        let (samples, uptime) = {
            let history = self.history();
            (history.after(after), history.uptime().as_secs_f64())
        };
        let book = self.ledger.book();
        let mut runs: Vec<RunView> =
            book.past.iter().map(|(run, lasted)| RunView::new(run, lasted.as_secs_f64(), false)).collect();
        runs.push(RunView::new(&book.run, book.run.began.elapsed().as_secs_f64(), true));
        drop(book);
        let summary = self.summary.lock().unwrap_or_else(PoisonError::into_inner);
        State {
            stage: *self.stage.borrow(),
            limiter: self.limiters.kind().name(),
            limit: self.limiters.limit(),
            max_limit: self.flags.max_limit,
            outage: self.database.is_out(),
            database: self.database.kind(),
            uptime,
            load: self.flags.load.then_some(Plan {
                rate: self.flags.rate,
                patience_ms: milliseconds(self.flags.patience),
                burst_every_s: self.flags.burst_every.as_secs_f64(),
                seed: self.flags.seed,
            }),
            burst: self.flags.burst,
            work_ms: milliseconds(self.flags.work),
            queue: self.flags.queue,
            queue_timeout_ms: milliseconds(self.flags.queue_timeout),
            samples,
            runs,
            summary: summary.as_ref().map(|summary| summary.text.clone()),
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct State {
    stage: Stage,
    limiter: &'static str,
    limit: usize,
    max_limit: usize,
    outage: bool,
    database: &'static str,
    /// Seconds since the start.
    uptime: f64,
    load: Option<Plan>,
    burst: usize,
    work_ms: f64,
    queue: usize,
    queue_timeout_ms: f64,
    samples: Vec<Sample>,
    runs: Vec<RunView>,
    summary: Option<String>,
}

#[derive(Debug, Serialize)]
struct Plan {
    rate: f64,
    patience_ms: f64,
    burst_every_s: f64,
    seed: u64,
}

/// One column of the page's comparison.
#[derive(Debug, Serialize)]
struct RunView {
    limiter: &'static str,
    present: bool,
    seconds: f64,
    ends: Ends,
    answers: Answers,
    wait_p50_ms: Option<f64>,
    wait_p99_ms: Option<f64>,
    latency_p50_ms: Option<f64>,
    latency_p99_ms: Option<f64>,
    longest_wait_ms: f64,
    peak_running: usize,
    peak_waiting: usize,
}

impl RunView {
    fn new(run: &Run, seconds: f64, present: bool) -> RunView {
        RunView {
            limiter: run.kind.name(),
            present,
            seconds,
            ends: run.ends,
            answers: run.answers,
            wait_p50_ms: run.waits.quantile(0.5).map(milliseconds),
            wait_p99_ms: run.waits.quantile(0.99).map(milliseconds),
            latency_p50_ms: run.latencies.quantile(0.5).map(milliseconds),
            latency_p99_ms: run.latencies.quantile(0.99).map(milliseconds),
            longest_wait_ms: milliseconds(run.waits.longest()),
            peak_running: run.peak_running,
            peak_waiting: run.peak_waiting,
        }
    }
}
