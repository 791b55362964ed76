//! Overload: the model on the paused clock, then real HTTP on the loopback interface.

use std::process::ExitCode;
use std::time::Duration;

use benches::overload::{Departures, Limiter, Load, Outcome, Phase, run, run_loopback};
use benches::plot::{self, Chart, Line};

const USAGE: &str = "usage: overload [--model | --loopback] [--svg FILE]

  --model     only the model on the paused clock
  --loopback  only real HTTP
  --svg FILE  draws goodput and p99 over the load (departures untold)";

const FACTORS: [f64; 7] = [0.5, 0.8, 1.0, 1.5, 2.0, 3.0, 4.0];
const SEEDS: u64 = 10;
const SPAN: Duration = Duration::from_secs(20);

struct Arguments {
    model: bool,
    loopback: bool,
    svg: Option<String>,
}

fn main() -> ExitCode {
    match parse(std::env::args().skip(1)).and_then(|arguments| start(&arguments)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(2),
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut arguments = Arguments { model: true, loopback: true, svg: None };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--model" => arguments.loopback = false,
            "--loopback" => arguments.model = false,
            "--svg" => {
                arguments.svg = Some(words.next().ok_or_else(|| format!("--svg needs a file\n{USAGE}"))?)
            }
            _ => return Err(format!("unknown argument {word}\n{USAGE}")),
        }
    }
    Ok(arguments)
}

/// Whether every target was met.
fn start(arguments: &Arguments) -> Result<bool, String> {
    let mut met = true;
    if arguments.model {
        let mut lines: Vec<(Line, Line)> = Vec::new();
        for departures in [Departures::Untold, Departures::Told] {
            println!("== model, departures {departures:?}: load, goodput, p50, p99, shed share\n");
            for limiter in Limiter::ALL {
                let outcomes =
                    FACTORS.map(|factor| run(limiter, Load { factor, span: SPAN, departures, seed: 1 }));
                for (factor, outcome) in FACTORS.iter().zip(&outcomes) {
                    println!("{:<16} {factor:.1} x  {}", limiter.name(), sentence(outcome));
                }
                println!();
                if departures == Departures::Untold {
                    lines.push(curves(limiter, &outcomes));
                }
            }
        }
        met &= ten_seeds();
        if let Some(path) = &arguments.svg {
            let (goodput, p99) = lines.into_iter().unzip();
            let chart = |title: &str, y: &str, lines| Chart {
                title: title.into(),
                x: "load / capacity".into(),
                y: y.into(),
                lines,
            };
            let text = plot::curves(&[
                chart("Answers in time", "% of capacity", goodput),
                chart("p99 of answers in time", "ms", p99),
            ])?;
            std::fs::write(path, text).map_err(|error| format!("--svg {path}: {error}"))?;
        }
    }
    if arguments.loopback {
        met &= loopback()?;
    }
    Ok(met)
}

fn curves(limiter: Limiter, outcomes: &[Outcome]) -> (Line, Line) {
    let line = |read: fn(&Outcome) -> f64| Line {
        name: limiter.name().into(),
        points: FACTORS.iter().copied().zip(outcomes.iter().map(read)).collect(),
    };
    (line(|outcome| outcome.goodput * 100.0), line(|outcome| outcome.p99))
}

/// The target: at 2x and for each seed, 93 % of the capacity where tower's queue falls below 5 %; nothing shed at 0.8x.
fn ten_seeds() -> bool {
    println!(
        "== ten seeds at 2 x, departures untold: goodput of ours server and of tower; shed share of ours at 0.8 x\n"
    );
    let mut met = true;
    for seed in 1..=SEEDS {
        let load = |factor| Load { factor, span: SPAN, departures: Departures::Untold, seed };
        let (ours, tower) = (run(Limiter::Server, load(2.0)), run(Limiter::Tower, load(2.0)));
        let calm = run(Limiter::Server, load(0.8));
        let good = ours.goodput >= 0.93 && tower.goodput < 0.05 && calm.shed == 0.0;
        met &= good;
        println!(
            "seed {seed:>2}: ours {:.1} %, tower {:.1} %, shed at 0.8 x {:.2} %: {}",
            ours.goodput * 100.0,
            tower.goodput * 100.0,
            calm.shed * 100.0,
            if good { "met" } else { "MISSED" }
        );
    }
    println!();
    met
}

fn loopback() -> Result<bool, String> {
    let phase = |factor, seconds| Phase { factor, span: Duration::from_secs(seconds) };
    let phases = [phase(0.8, 3), phase(1.0, 3), phase(2.0, 3), phase(3.0, 1), phase(0.8, 3)];
    println!("== loopback HTTP/1, a connection per request: load, goodput, p50, p99, shed share\n");
    let mut met = true;
    for limiter in [Limiter::New, Limiter::Server, Limiter::Tower] {
        let outcomes = run_loopback(limiter, &phases, 1)?;
        for (phase, outcome) in phases.iter().zip(&outcomes) {
            println!("{:<16} {:.1} x  {}", limiter.name(), phase.factor, sentence(outcome));
        }
        println!();
        if limiter == Limiter::Server {
            met &= outcomes[0].shed == 0.0;
        }
    }
    Ok(met)
}

fn sentence(outcome: &Outcome) -> String {
    format!(
        "{:>6.1} %  p50 {:>5.1} ms  p99 {:>5.1} ms  shed {:>5.1} %  of {}",
        outcome.goodput * 100.0,
        outcome.p50,
        outcome.p99,
        outcome.shed * 100.0,
        outcome.offered
    )
}
