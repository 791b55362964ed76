//! Draws the curves of README.md from runs made now: spike, and hand-off over tasks.

use std::path::PathBuf;
use std::process::ExitCode;

use benches::plot::{self, Bar, Chart, Line};
use benches::pool::{Bb8, Burst, Deadpool, Fastpool, Mobc, Ours, Pooling, Sqlx, burst};
use benches::rounds::{self, Outcome};
use benches::scenario::Effort;
use benches::statistics::median;

fn main() -> ExitCode {
    let folder = std::env::args().nth(1);
    let result =
        folder.ok_or_else(|| "usage: plots FOLDER".into()).and_then(|folder| draw(&PathBuf::from(folder)));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

fn draw(folder: &std::path::Path) -> Result<(), String> {
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    write("spike.svg", spike()?)?;
    write("handoff.svg", handoff()?)
}

fn spike() -> Result<String, String> {
    fn one<P: Pooling>() -> Result<(&'static str, Burst), String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let runtime = runtime.map_err(|error| format!("no runtime: {error}"))?;
        Ok((P::NAME, runtime.block_on(burst::<P>())?))
    }
    let all = [
        one::<Ours>()?,
        one::<Deadpool>()?,
        one::<Bb8>()?,
        one::<Mobc>()?,
        one::<Fastpool>()?,
        one::<Sqlx>()?,
    ];
    let bars = |read: fn(&Burst) -> f64| {
        all.iter().map(|(name, burst)| Bar { name: (*name).into(), value: read(burst) }).collect()
    };
    plot::bars(&[
        ("Spike of 50 on 5 warm: total time", "ms", bars(|burst| burst.total.as_secs_f64() * 1000.0)),
        ("Spike of 50 on 5 warm: resources created", "created", bars(|burst| burst.created as f64)),
    ])
}

fn handoff() -> Result<String, String> {
    let charts: Vec<Chart> = ["one thread", "two threads"].map(handoff_chart).into();
    plot::curves(&charts)
}

fn handoff_chart(threads: &str) -> Chart {
    let mut lines: Vec<Line> = Vec::new();
    for scenario in benches::semaphore::scenarios(Effort::Full) {
        let Some(rest) = scenario.name.strip_prefix("hand-off, one permit, ") else { continue };
        let Some((tasks, own)) = rest.split_once(" tasks, ") else { continue };
        if own != threads {
            continue;
        }
        let tasks: f64 = tasks.parse().unwrap_or(f64::NAN);
        for entry in rounds::run(scenario, Effort::Full) {
            let Outcome::Timed { rounds, .. } = entry.outcome else { continue };
            let point = (tasks, median(&rounds).unwrap_or(f64::NAN));
            match lines.iter_mut().find(|line| line.name == entry.who) {
                Some(line) => line.points.push(point),
                None => lines.push(Line { name: entry.who.into(), points: vec![point] }),
            }
        }
    }
    Chart { title: format!("Hand-off of one permit, {threads}"), x: "tasks".into(), y: "ns".into(), lines }
}
