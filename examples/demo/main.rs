//! A web server under more load than it can bear, limited by `tower-limit-fair`, answering from a `lease-pool`,
//! with a page to watch it. `--help` explains the flags.
#![forbid(unsafe_code)]

mod app;
mod control;
mod database;
mod exporter;
mod flags;
mod histogram;
mod history;
mod ledger;
mod limiter;
mod load;
mod routes;
mod schedule;
mod server;
mod summary;

use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use metrics_exporter_prometheus::PrometheusHandle;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::{interval, sleep, timeout};

use app::{App, Stage};
use flags::{Asked, Flags};
use summary::Summary;

fn main() -> ExitCode {
    let flags = match flags::parse(std::env::args().skip(1)) {
        Ok(Asked::Run(flags)) => *flags,
        Ok(Asked::Help(text)) => {
            print!("{text}");
            return ExitCode::SUCCESS;
        }
        Err(why) => {
            eprintln!("demo: {why}");
            return ExitCode::from(2);
        }
    };
    let ran = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(run(flags)),
        Err(error) => Err(format!("cannot start the runtime: {error}")),
    };
    match ran {
        Ok(Summary { clean: true, .. }) => ExitCode::SUCCESS,
        Ok(Summary { clean: false, .. }) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("demo: {why}");
            ExitCode::FAILURE
        }
    }
}

async fn run(flags: Flags) -> Result<Summary, String> {
    let exporter = exporter::install()?;
    let listener =
        server::bind(flags.port).await.map_err(|error| format!("cannot listen on 127.0.0.1: {error}"))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let database = database::Database::open(&flags).await?;
    let limiters = limiter::Limiters::new(&flags, routes::routes(database.clone()))?;
    let ledger = ledger::Ledger::new(flags.limiter);
    let (load, load_task) = load::Load::start(&flags, address, ledger.clone());
    let app = Arc::new(App {
        port: address.port(),
        limiters,
        database,
        ledger,
        history: Mutex::new(history::History::new()),
        load: Mutex::new(Some(load)),
        stage: watch::Sender::new(Stage::Running),
        summary: Mutex::new(None),
        flags,
    });
    greet(&app);
    tokio::spawn(sample(app.clone(), exporter.clone()));
    let server = tokio::spawn(serve(listener, app.clone(), exporter));

    wait_for_the_end(&app).await;
    let by_page = *app.stage.borrow() == Stage::Draining;
    app.ask_to_drain();
    println!("draining");
    let summary = tokio::select! {
        summary = summary::drain(&app, load_task) => summary,
        _ = tokio::signal::ctrl_c() => return Err("a second Ctrl-C ended the drain".to_owned()),
    };
    if by_page {
        // The page still has to fetch the report.
        sleep(3 * history::PERIOD).await;
    }
    app.stage.send_replace(Stage::Ended);
    // A page that is still open would keep its connection for ever.
    let _ = timeout(Duration::from_secs(1), server).await;
    print!("{}", summary.text);
    Ok(summary)
}

/// Ctrl-C, `--duration`, or the page's drain button.
async fn wait_for_the_end(app: &App) {
    let mut stage = app.stage.subscribe();
    let ended = async {
        match app.flags.duration {
            Some(duration) => sleep(duration).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => println!(),
        () = ended => {}
        _ = stage.wait_for(|stage| *stage != Stage::Running) => {}
    }
}

async fn serve(listener: TcpListener, app: Arc<App>, exporter: PrometheusHandle) -> std::io::Result<()> {
    let mut stage = app.stage.subscribe();
    let ended = async move {
        let _ = stage.wait_for(|stage| *stage == Stage::Ended).await;
    };
    axum::serve(listener, server::router(app, exporter)).with_graceful_shutdown(ended).await
}

async fn sample(app: Arc<App>, exporter: PrometheusHandle) {
    let mut ticks = interval(history::PERIOD);
    loop {
        ticks.tick().await;
        app.sample();
        exporter.run_upkeep();
    }
}

fn greet(app: &App) {
    let flags = &app.flags;
    println!("page      http://127.0.0.1:{}/", app.port);
    println!("metrics   http://127.0.0.1:{}/metrics", app.port);
    println!("database  {}", app.database.describe());
    println!("limiter   {}", app.limiters.describe(flags));
    match flags.load {
        true => println!(
            "load      {} requests/s, bursts of {} every {:?}, clients wait {:?}, seed {}",
            flags.rate, flags.burst, flags.burst_every, flags.patience, flags.seed
        ),
        false => println!("load      none; call /customers/1, /report?month=1 or POST /orders?customer=1"),
    }
    println!("Ctrl-C drains and ends");
}
