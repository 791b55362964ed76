//! Samples of everything the page draws, twice a second, the last two minutes of them.
use std::collections::VecDeque;
use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

use crate::database::PoolView;
use crate::flags::Kind;
use crate::histogram::Histogram;
use crate::ledger::{Ends, Ledger};

pub(crate) const PERIOD: Duration = Duration::from_millis(500);
const KEPT: usize = 240;
/// Percentiles look back over this many samples, so that a quiet second does not make them jump.
const WINDOW: usize = 4;

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Sample {
    pub(crate) number: u64,
    /// Seconds since the start of the demo.
    at: f64,
    limiter: &'static str,
    limit: usize,
    running: usize,
    waiting: usize,
    wait_p50_ms: Option<f64>,
    wait_p95_ms: Option<f64>,
    wait_p99_ms: Option<f64>,
    /// Per second, since the sample before.
    served: f64,
    failed: f64,
    refused: f64,
    left_waiting: f64,
    left_running: f64,
    pool: PoolView,
}

/// What was sampled, oldest first.
#[derive(Debug)]
pub(crate) struct History {
    began: Instant,
    samples: VecDeque<Sample>,
    windows: VecDeque<Histogram>,
    last: (Instant, Ends),
    taken: u64,
}

impl History {
    pub(crate) fn new() -> History {
        let now = Instant::now();
        History {
            began: now,
            samples: VecDeque::with_capacity(KEPT),
            windows: VecDeque::with_capacity(WINDOW),
            last: (now, Ends::default()),
            taken: 0,
        }
    }

    pub(crate) fn uptime(&self) -> Duration {
        self.began.elapsed()
    }

    /// Takes one sample; a change of the limiter empties the window of the percentiles.
    pub(crate) fn take(&mut self, ledger: &Ledger, kind: Kind, limit: usize, pool: PoolView) {
        let now = Instant::now();
        let (ends, recent, running, waiting) = {
            let mut book = ledger.book();
            (book.all, std::mem::take(&mut book.recent), book.running, book.waiting)
        };
        if self.samples.back().is_some_and(|sample| sample.limiter != kind.name()) {
            self.windows.clear();
        }
        if self.windows.len() == WINDOW {
            self.windows.pop_front();
        }
        self.windows.push_back(recent);
        let mut window = Histogram::default();
        self.windows.iter().for_each(|slice| window.merge(slice));
        let (last_at, last_ends) = std::mem::replace(&mut self.last, (now, ends));
        let seconds = (now - last_at).as_secs_f64().max(1e-3);
        let rate = |count: fn(&Ends) -> u64| (count(&ends) - count(&last_ends)) as f64 / seconds;
        if self.samples.len() == KEPT {
            self.samples.pop_front();
        }
        self.taken += 1;
        self.samples.push_back(Sample {
            number: self.taken,
            at: (now - self.began).as_secs_f64(),
            limiter: kind.name(),
            limit,
            running,
            waiting,
            wait_p50_ms: window.quantile(0.5).map(milliseconds),
            wait_p95_ms: window.quantile(0.95).map(milliseconds),
            wait_p99_ms: window.quantile(0.99).map(milliseconds),
            served: rate(|ends| ends.served),
            failed: rate(|ends| ends.failed),
            refused: rate(|ends| ends.refused),
            left_waiting: rate(|ends| ends.left_waiting),
            left_running: rate(|ends| ends.left_running),
            pool,
        });
    }

    /// The samples after the one numbered `number`.
    pub(crate) fn after(&self, number: u64) -> Vec<Sample> {
        self.samples.iter().filter(|sample| sample.number > number).cloned().collect()
    }
}

pub(crate) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
