//! The drain and the report that ends the demo.
use std::fmt::Write;
use std::sync::PoisonError;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::app::{App, Stage};
use crate::history::milliseconds;
use crate::ledger::Run;

/// How long the last requests and connections get.
const PATIENCE: Duration = Duration::from_secs(15);

/// The report, and whether every permit and connection came home.
#[derive(Clone, Debug)]
pub(crate) struct Summary {
    pub(crate) text: String,
    pub(crate) clean: bool,
}

/// Ends load, limiter and pool, in this order, and reports.
pub(crate) async fn drain(app: &App, load: JoinHandle<()>) -> Summary {
    let began = Instant::now();
    app.stop_load();
    let mut leftovers = Vec::new();
    if timeout(PATIENCE, load).await.is_err() {
        leftovers.push(format!("load: requests still open after {PATIENCE:?}"));
    }
    // The load's last requests have ended on the client's side; the server sees the same a moment later.
    if let Err(left) = app.limiters.drain(PATIENCE).await {
        leftovers.push(left);
    }
    let deadline = Instant::now() + PATIENCE;
    while busy(app) && Instant::now() < deadline {
        sleep(Duration::from_millis(5)).await;
    }
    if let Err(left) = app.database.drain(PATIENCE).await {
        leftovers.push(left);
    }
    leftovers.extend(accounts(app));
    let summary = write(app, began.elapsed(), &leftovers);
    *app.summary.lock().unwrap_or_else(PoisonError::into_inner) = Some(summary.clone());
    app.stage.send_replace(Stage::Drained);
    summary
}

fn busy(app: &App) -> bool {
    let book = app.ledger.book();
    book.waiting + book.running > 0
}

/// What does not add up: requests that never ended, or ended twice.
fn accounts(app: &App) -> Vec<String> {
    let book = app.ledger.book();
    let ends = &book.all;
    let ended = ends.served + ends.failed + ends.refused + ends.left_waiting + ends.left_running;
    let mut wrong = Vec::new();
    if book.waiting + book.running > 0 {
        wrong.push(format!("requests: {} waiting and {} running never ended", book.waiting, book.running));
    } else if ended != book.entered {
        wrong.push(format!("requests: {} arrived, but {ended} ended", book.entered));
    }
    wrong
}

fn write(app: &App, drained_in: Duration, leftovers: &[String]) -> Summary {
    let mut text = String::new();
    let book = app.ledger.book();
    let mut runs: Vec<(&Run, Duration)> = book.past.iter().map(|(run, lasted)| (run, *lasted)).collect();
    runs.push((&book.run, book.run.began.elapsed()));
    runs.sort_by_key(|(run, _)| run.kind);
    for (run, lasted) in runs {
        describe(&mut text, run, lasted);
    }
    // Writing to a String cannot fail.
    let _ = writeln!(text, "pool     {}", app.database.account());
    if leftovers.is_empty() {
        let _ = writeln!(
            text,
            "home     every permit and every connection, {:.0} ms after the last call",
            milliseconds(drained_in)
        );
    }
    for left in leftovers {
        let _ = writeln!(text, "MISSING  {left}");
    }
    Summary { text, clean: leftovers.is_empty() }
}

fn describe(text: &mut String, run: &Run, lasted: Duration) {
    let ends = &run.ends;
    let answers = &run.answers;
    let time = |value: Option<Duration>| {
        value.map_or("none".to_owned(), |time| format!("{:.1} ms", milliseconds(time)))
    };
    let _ = writeln!(text, "{:<8} {:.1} s under this limiter", run.kind.name(), lasted.as_secs_f64());
    let _ = writeln!(
        text,
        "  server   {} served, {} refused, {} failed, {} hung up waiting, {} hung up running",
        ends.served, ends.refused, ends.failed, ends.left_waiting, ends.left_running
    );
    let _ = writeln!(
        text,
        "  peaks    {} running, {} waiting; wait p50 {}, p99 {}, longest {}",
        run.peak_running,
        run.peak_waiting,
        time(run.waits.quantile(0.5)),
        time(run.waits.quantile(0.99)),
        time(Some(run.waits.longest()))
    );
    if answers.sent + answers.skipped > 0 {
        let _ = writeln!(
            text,
            "  clients  {} sent: {} served, {} refused, {} failed, {} gave up, {} lost, {} not sent; answer p50 {}, p99 {}",
            answers.sent,
            answers.served,
            answers.refused,
            answers.failed,
            answers.gave_up,
            answers.lost,
            answers.skipped,
            time(run.latencies.quantile(0.5)),
            time(run.latencies.quantile(0.99))
        );
        let _ =
            writeln!(text, "  load     sent at most {:.1} ms behind its plan", milliseconds(run.latest_send));
    }
}
