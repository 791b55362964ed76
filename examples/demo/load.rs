//! The built-in load: open loop over real HTTP, so a slow server does not slow its callers down.
use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::{Method, Request, StatusCode};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::flags::Flags;
use crate::ledger::Ledger;
use crate::routes::BY_DATABASE;
use crate::schedule::{Call, Planned, Schedule};

/// Each open request takes two descriptors of this process, and many systems allow 1024.
const MOST_OPEN: usize = 400;

enum Order {
    Replay,
    Burst,
}

/// The handle of the running generator.
#[derive(Debug)]
pub(crate) struct Load {
    orders: mpsc::UnboundedSender<Order>,
}

impl Load {
    /// Starts the generator. The task ends after the handle is dropped and every open request has ended.
    pub(crate) fn start(flags: &Flags, server: SocketAddr, ledger: Ledger) -> (Load, JoinHandle<()>) {
        let (orders, inbox) = mpsc::unbounded_channel();
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(64)
            .pool_idle_timeout(Duration::from_secs(5))
            .build(connector);
        let generator = Generator { flags: flags.clone(), caller: Caller { client, server, ledger } };
        (Load { orders }, tokio::spawn(generator.run(inbox)))
    }

    /// Starts the plan from its beginning.
    pub(crate) fn replay(&self) {
        // Fails only after the generator ended, when nothing is left to replay.
        let _ = self.orders.send(Order::Replay);
    }

    /// Sends one burst now.
    pub(crate) fn burst(&self) {
        let _ = self.orders.send(Order::Burst);
    }
}

struct Generator {
    flags: Flags,
    caller: Caller,
}

impl Generator {
    async fn run(self, mut inbox: mpsc::UnboundedReceiver<Order>) {
        let mut open = JoinSet::new();
        // Extra bursts draw from their own numbers and leave the plan as it is.
        let mut extras = Schedule::new(&Flags { seed: !self.flags.seed, ..self.flags.clone() });
        let mut plan = Schedule::new(&self.flags).peekable();
        let mut began = Instant::now();
        loop {
            let due = plan.peek().map_or(Duration::ZERO, |planned| planned.at);
            tokio::select! {
                order = inbox.recv() => match order {
                    Some(Order::Replay) => {
                        plan = Schedule::new(&self.flags).peekable();
                        began = Instant::now();
                    }
                    Some(Order::Burst) => {
                        let at = began.elapsed();
                        for _ in 0..self.flags.burst {
                            self.send(&mut open, began, extras.extra(at));
                        }
                    }
                    None => break,
                },
                () = sleep_until(began + due), if self.flags.load => {
                    if let Some(planned) = plan.next() {
                        self.send(&mut open, began, planned);
                    }
                }
                Some(_) = open.join_next(), if !open.is_empty() => {}
            }
        }
        while open.join_next().await.is_some() {}
    }

    fn send(&self, open: &mut JoinSet<()>, began: Instant, planned: Planned) {
        let ledger = &self.caller.ledger;
        let run = ledger.run_number();
        let due = began + planned.at;
        let late = Instant::now().saturating_duration_since(due);
        let skip = open.len() >= MOST_OPEN;
        ledger.client(run, |run| {
            run.latest_send = run.latest_send.max(late);
            if skip { run.answers.skipped += 1 } else { run.answers.sent += 1 }
        });
        if !skip {
            open.spawn(self.caller.clone().call(planned, due, run));
        }
    }
}

#[derive(Clone)]
struct Caller {
    client: Client<HttpConnector, Empty<Bytes>>,
    server: SocketAddr,
    ledger: Ledger,
}

enum Answer {
    Served,
    Refused,
    Failed,
}

impl Caller {
    /// Calls once and hangs up when the patience ends; dropping the unanswered request closes its connection.
    async fn call(self, planned: Planned, due: Instant, run: u64) {
        let answer = timeout_at(due + planned.patience, self.exchange(&planned)).await;
        let latency = due.elapsed();
        self.ledger.client(run, |run| match answer {
            Ok(Ok(Answer::Served)) => {
                run.answers.served += 1;
                run.latencies.record(latency);
            }
            Ok(Ok(Answer::Refused)) => run.answers.refused += 1,
            Ok(Ok(Answer::Failed)) => run.answers.failed += 1,
            Ok(Err(_)) => run.answers.lost += 1,
            Err(_) => run.answers.gave_up += 1,
        });
    }

    async fn exchange(&self, planned: &Planned) -> Result<Answer, Box<dyn std::error::Error + Send + Sync>> {
        let (method, path) = match planned.call {
            Call::Customer(id) => (Method::GET, format!("/customers/{id}?")),
            Call::Report(month) => (Method::GET, format!("/report?month={month}&")),
            Call::Order(customer) => (Method::POST, format!("/orders?customer={customer}&")),
        };
        let uri = format!("http://{}{path}work_us={}", self.server, planned.work.as_micros());
        let request = Request::builder().method(method).uri(uri).body(Empty::new())?;
        let response = self.client.request(request).await?;
        let (head, body) = response.into_parts();
        body.collect().await?;
        Ok(match head.status {
            status if status.is_success() => Answer::Served,
            StatusCode::SERVICE_UNAVAILABLE if !head.headers.contains_key(BY_DATABASE) => Answer::Refused,
            _ => Answer::Failed,
        })
    }
}
