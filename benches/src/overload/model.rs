//! The model on the paused clock: the same seed gives the same figures on every machine.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::time::{Instant, sleep_until, timeout};

use super::limiters::{Ending, Limiter};
use super::{DEADLINE, SERVICE, capacity};
use crate::random::Random;
use crate::statistics::quantile;

/// Whether the limiter hears of a client that went away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Departures {
    /// The request's future is dropped at the deadline, as a server does on a closed connection.
    Told,
    /// It runs on for nobody, as behind a proxy that keeps the connection.
    Untold,
}

/// What is offered.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Arrivals as a multiple of the capacity.
    pub factor: f64,
    /// How long arrivals go on.
    pub span: Duration,
    /// Whether departures are told.
    pub departures: Departures,
    /// The seed of all draws.
    pub seed: u64,
}

/// What came of it.
#[derive(Debug, Clone, Copy)]
pub struct Outcome {
    /// Answers in time, as a share of what the slots could serve in the span.
    pub goodput: f64,
    /// Median time to an answer in time, in milliseconds; 0 when there was none.
    pub p50: f64,
    /// The 99th percentile of it.
    pub p99: f64,
    /// Refused requests as a share of all.
    pub shed: f64,
    /// Requests offered.
    pub offered: usize,
}

struct Fate {
    ending: Option<Ending>,
    latency: Duration,
}

/// Runs one limiter under one load.
pub fn run(limiter: Limiter, load: Load) -> Outcome {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
    let fates = runtime.block_on(offer(limiter, load));
    let shed = fates.iter().filter(|fate| fate.ending == Some(Ending::Shed)).count();
    let good: Vec<f64> = fates
        .iter()
        .filter(|fate| fate.ending == Some(Ending::Served) && fate.latency <= DEADLINE)
        .map(|fate| fate.latency.as_secs_f64() * 1000.0)
        .collect();
    let share = |part: usize, whole: f64| part as f64 / whole;
    Outcome {
        goodput: share(good.len(), capacity() * load.span.as_secs_f64()),
        p50: quantile(&good, 0.5).unwrap_or(0.0),
        p99: quantile(&good, 0.99).unwrap_or(0.0),
        shed: share(shed, fates.len().max(1) as f64),
        offered: fates.len(),
    }
}

async fn offer(limiter: Limiter, load: Load) -> Vec<Fate> {
    let door = Arc::new(limiter.door());
    let mut random = Random::new(load.seed);
    let (start, mut at, mut clients) = (Instant::now(), 0.0, Vec::new());
    loop {
        at += random.exponential(1.0 / (capacity() * load.factor));
        if at >= load.span.as_secs_f64() {
            break;
        }
        let service = Duration::from_secs_f64(random.exponential(SERVICE.as_secs_f64()));
        sleep_until(start + Duration::from_secs_f64(at)).await;
        clients.push(tokio::spawn(client(Arc::clone(&door), service, load.departures)));
    }
    let mut fates = Vec::with_capacity(clients.len());
    for client in clients {
        fates.push(client.await.expect("a client does not panic"));
    }
    fates
}

async fn client(door: Arc<super::limiters::Door>, service: Duration, departures: Departures) -> Fate {
    let asked = Instant::now();
    let answer = door.enter(service);
    let ending = match departures {
        Departures::Told => timeout(DEADLINE, answer).await.ok(),
        Departures::Untold => Some(answer.await),
    };
    Fate { ending, latency: asked.elapsed() }
}
