//! Runs every scenario for us and for each peer, prints the tables and writes the records.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

use benches::scenario::Effort;
use benches::{allocations, record, rounds, table, verdict};
use regex::Regex;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;

const USAGE: &str = "usage: peers [--quick] [--only REGEX] [--json FILE] [--list]

  --quick       fewer rounds and shorter batches; ends within 50 s on two cores
  --only REGEX  the scenarios whose `subject/name` matches
  --json FILE   one JSON object a line
  --list        prints the names and runs nothing";

struct Arguments {
    effort: Effort,
    only: Option<Regex>,
    json: Option<String>,
    list: bool,
}

fn main() -> ExitCode {
    match parse(std::env::args().skip(1)).and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut arguments = Arguments { effort: Effort::Full, only: None, json: None, list: false };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value\n{USAGE}"));
        match word.as_str() {
            "--quick" => arguments.effort = Effort::Quick,
            "--list" => arguments.list = true,
            "--json" => arguments.json = Some(value()?),
            "--only" => {
                let pattern = value()?;
                let regex = Regex::new(&pattern).map_err(|error| format!("--only {pattern}: {error}"))?;
                arguments.only = Some(regex);
            }
            _ => return Err(format!("unknown argument {word}\n{USAGE}")),
        }
    }
    Ok(arguments)
}

fn run(arguments: Arguments) -> Result<(), String> {
    let mut out = match &arguments.json {
        Some(path) => {
            Some(BufWriter::new(File::create(path).map_err(|error| format!("--json {path}: {error}"))?))
        }
        None => None,
    };
    let (mut met, mut missed, mut subject) = (0, Vec::new(), "");
    for scenario in benches::scenarios(arguments.effort) {
        let path = format!("{}/{}", scenario.subject, scenario.name);
        if arguments.only.as_ref().is_some_and(|only| !only.is_match(&path)) {
            continue;
        }
        if arguments.list {
            println!("{path}");
            continue;
        }
        if subject != scenario.subject {
            subject = scenario.subject;
            println!("== {subject}\n");
        }
        let (name, targets) = (scenario.name.clone(), scenario.targets.clone());
        let entries = rounds::run(scenario, arguments.effort);
        let verdicts = verdict::judge(&targets, &entries);
        println!("{}", table::rows(&name, &entries, &verdicts));
        for verdict in &verdicts {
            if verdict.met() {
                met += 1;
            } else {
                missed.push(format!("{path}: {}", table::sentence(verdict)));
            }
        }
        if let Some(out) = &mut out {
            for line in record::lines(subject, &name, &entries) {
                writeln!(out, "{line}").map_err(|error| format!("writing the records: {error}"))?;
            }
        }
    }
    if !arguments.list {
        println!("targets met: {met}, missed: {}", missed.len());
        missed.iter().for_each(|line| println!("  {line}"));
    }
    out.map_or(Ok(()), |mut out| out.flush().map_err(|error| format!("writing the records: {error}")))
}
