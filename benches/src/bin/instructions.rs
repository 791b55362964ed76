//! Counts instructions under callgrind; prints the table, compares it with README.md or writes it there.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use benches::instructions::{Row, count, differences, parse, render, splice, workloads};
use regex::Regex;

const USAGE: &str = "usage: instructions [--only REGEX] [--check FILE | --write FILE]

  --only REGEX  the workloads whose `name of who` matches
  --check FILE  fails when a count is more than 2 % away from the table in FILE
  --write FILE  puts the table into FILE
  run NAME WHO  does the work of one row (this is what runs under valgrind)";

enum Then {
    Print,
    Check(PathBuf),
    Write(PathBuf),
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let result = match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["run", name, who] => run(name, who),
        _ => parse_words(words).and_then(|(only, then)| all(only.as_ref(), &then)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

fn parse_words(words: Vec<String>) -> Result<(Option<Regex>, Then), String> {
    let (mut only, mut then) = (None, Then::Print);
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word}: unknown, or it needs a value\n{USAGE}"))?;
        match word.as_str() {
            "--only" => only = Some(Regex::new(&value).map_err(|error| format!("--only {value}: {error}"))?),
            "--check" => then = Then::Check(value.into()),
            "--write" => then = Then::Write(value.into()),
            _ => return Err(format!("unknown argument {word}\n{USAGE}")),
        }
    }
    Ok((only, then))
}

fn run(name: &str, who: &str) -> Result<(), String> {
    let all = workloads();
    let found = all.iter().find(|workload| workload.name == name && workload.who == who);
    let workload = found.ok_or_else(|| format!("no workload {name} of {who}"))?;
    (workload.run)(workload.operations);
    Ok(())
}

fn all(only: Option<&Regex>, then: &Then) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| format!("where this program lies: {error}"))?;
    let all = workloads();
    let mut rows = Vec::new();
    for workload in &all {
        if only.is_some_and(|only| !only.is_match(&format!("{} of {}", workload.name, workload.who))) {
            continue;
        }
        let count = count(&program, workload)?;
        rows.push(Row { name: workload.name.into(), who: workload.who.into(), count });
    }
    let table = render(&rows, &all);
    print!("{table}");
    match then {
        Then::Print => Ok(()),
        Then::Check(path) => {
            let wrong = differences(&parse(&read(path)?)?, &rows);
            if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
        }
        Then::Write(path) => {
            let text = splice(&read(path)?, &table)?;
            std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
        }
    }
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}
