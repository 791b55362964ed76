//! The demo's flags: one table that parses, checks and explains them.
use std::time::Duration;

/// Which limiter stands before the data routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Fair,
    Tower,
    None,
}

impl Kind {
    pub(crate) const ALL: [Kind; 3] = [Kind::Fair, Kind::Tower, Kind::None];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Fair => "fair",
            Kind::Tower => "tower",
            Kind::None => "none",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Everything that one run is told from outside.
#[derive(Clone, Debug)]
pub(crate) struct Flags {
    pub(crate) port: u16,
    pub(crate) limiter: Kind,
    pub(crate) limit: usize,
    pub(crate) max_limit: usize,
    pub(crate) queue: usize,
    pub(crate) queue_timeout: Duration,
    pub(crate) pool: usize,
    pub(crate) work: Duration,
    pub(crate) load: bool,
    pub(crate) rate: f64,
    pub(crate) patience: Duration,
    pub(crate) burst: usize,
    pub(crate) burst_every: Duration,
    pub(crate) seed: u64,
    pub(crate) duration: Option<Duration>,
    pub(crate) postgres: Option<String>,
}

impl Default for Flags {
    fn default() -> Flags {
        Flags {
            port: 3000,
            limiter: Kind::Fair,
            limit: 10,
            max_limit: 64,
            queue: 64,
            queue_timeout: Duration::from_millis(250),
            pool: 10,
            work: Duration::from_millis(40),
            load: true,
            rate: 230.0,
            patience: Duration::from_millis(800),
            burst: 120,
            burst_every: Duration::from_secs(10),
            seed: 1,
            duration: None,
            postgres: None,
        }
    }
}

/// What the command line asks for.
#[derive(Debug)]
pub(crate) enum Asked {
    Run(Box<Flags>),
    Help(String),
}

struct Flag {
    name: &'static str,
    /// What stands for the value in the help; empty for a switch.
    value: &'static str,
    help: &'static str,
}

const TABLE: [Flag; 17] = [
    Flag {
        name: "--port",
        value: "N",
        help: "port on 127.0.0.1; a free one is taken if N is in use, or if N is 0 [3000]",
    },
    Flag {
        name: "--limiter",
        value: "KIND",
        help: "what limits the data routes: fair (this project), tower (tower's own), none [fair]",
    },
    Flag { name: "--limit", value: "N", help: "requests that may run at a time [10]" },
    Flag { name: "--max-limit", value: "N", help: "how far the page's slider can raise the limit [64]" },
    Flag {
        name: "--queue",
        value: "N",
        help: "requests that may wait (fair only); the next one is refused [64]",
    },
    Flag {
        name: "--queue-timeout",
        value: "TIME",
        help: "how long a request may wait (fair only) before it is refused [250ms]",
    },
    Flag { name: "--pool", value: "N", help: "most database connections [10]" },
    Flag {
        name: "--work",
        value: "TIME",
        help: "mean time a request keeps its connection busy besides its query [40ms]",
    },
    Flag { name: "--no-load", value: "", help: "no built-in load: the page waits for yours" },
    Flag {
        name: "--rate",
        value: "N",
        help: "requests per second of the load, sent whether or not earlier ones are answered [230]",
    },
    Flag {
        name: "--patience",
        value: "TIME",
        help: "when a client hangs up; one in ten hangs up after an eighth of it [800ms]",
    },
    Flag { name: "--burst", value: "N", help: "requests that arrive at once in a burst [120]" },
    Flag {
        name: "--burst-every",
        value: "TIME",
        help: "time between two bursts; 0 leaves them to the page's button [10s]",
    },
    Flag {
        name: "--seed",
        value: "N",
        help: "seed of the load: equal seeds send equal requests at equal times [1]",
    },
    Flag {
        name: "--duration",
        value: "TIME",
        help: "drain and end after TIME; without it Ctrl-C does [until Ctrl-C]",
    },
    Flag {
        name: "--postgres",
        value: "URL",
        help: "use PostgreSQL instead of the embedded SQLite (needs `--features postgres`)",
    },
    Flag { name: "--help", value: "", help: "this text" },
];

/// Reads the arguments after the program's name. The error is one line that names flag and value.
pub(crate) fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Asked, String> {
    let mut flags = Flags::default();
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let (name, attached) = match argument.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (argument.as_str(), None),
        };
        let name = if name == "-h" { "--help" } else { name };
        let flag = TABLE.iter().find(|flag| flag.name == name).ok_or_else(|| unknown(name))?;
        let value = match (flag.value, attached) {
            ("", None) => String::new(),
            ("", Some(value)) => return Err(format!("{name} takes no value, but got {value:?}")),
            (_, Some(value)) => value,
            (what, None) => arguments.next().ok_or_else(|| format!("{name} needs a value: {name} {what}"))?,
        };
        if flag.name == "--help" {
            return Ok(Asked::Help(help()));
        }
        set(&mut flags, flag.name, &value)?;
    }
    if flags.limit > flags.max_limit {
        let (limit, most) = (flags.limit, flags.max_limit);
        return Err(format!(
            "--limit {limit} is above --max-limit {most}: raise --max-limit or lower --limit"
        ));
    }
    Ok(Asked::Run(Box::new(flags)))
}

fn set(flags: &mut Flags, name: &'static str, value: &str) -> Result<(), String> {
    match name {
        "--port" => flags.port = whole(name, value, 0, 65_535)? as u16,
        "--limiter" => {
            flags.limiter = Kind::from_name(value)
                .ok_or_else(|| format!("--limiter must be fair, tower or none, not {value:?}"))?;
        }
        "--limit" => flags.limit = whole(name, value, 1, 10_000)? as usize,
        "--max-limit" => flags.max_limit = whole(name, value, 1, 10_000)? as usize,
        "--queue" => flags.queue = whole(name, value, 0, 100_000)? as usize,
        "--queue-timeout" => flags.queue_timeout = time(name, value, 1, 600_000)?,
        "--pool" => flags.pool = whole(name, value, 1, 1_000)? as usize,
        "--work" => flags.work = time(name, value, 0, 60_000)?,
        "--no-load" => flags.load = false,
        "--rate" => {
            flags.rate =
                value.parse().ok().filter(|rate| (0.1..=5_000.0).contains(rate)).ok_or_else(|| {
                    format!("--rate must be a number from 0.1 to 5000 per second, not {value:?}")
                })?;
        }
        "--patience" => flags.patience = time(name, value, 1, 600_000)?,
        "--burst" => flags.burst = whole(name, value, 1, 10_000)? as usize,
        "--burst-every" => flags.burst_every = time(name, value, 0, 3_600_000)?,
        "--seed" => flags.seed = whole(name, value, 0, u64::MAX)?,
        "--duration" => flags.duration = Some(time(name, value, 1, 86_400_000)?),
        _ => flags.postgres = Some(postgres(value)?),
    }
    Ok(())
}

fn whole(name: &str, value: &str, least: u64, most: u64) -> Result<u64, String> {
    let number = value.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("{name} must be a whole number from {least} to {most}, not {value:?}"))
}

/// `250ms`, `2s`, `1.5s`, `3m`; a bare number counts seconds.
fn time(name: &str, value: &str, least_ms: u64, most_ms: u64) -> Result<Duration, String> {
    let digits = value.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &value[digits.len()..] {
        "ms" => Some(1.0),
        "s" | "" => Some(1_000.0),
        "m" => Some(60_000.0),
        _ => None,
    };
    let milliseconds = unit.and_then(|unit| digits.parse::<f64>().ok().map(|number| number * unit));
    match milliseconds {
        Some(ms) if ms >= least_ms as f64 && ms <= most_ms as f64 => {
            Ok(Duration::from_secs_f64(ms / 1_000.0))
        }
        Some(_) => Err(format!("{name} must be from {least_ms}ms to {}s, not {value:?}", most_ms / 1_000)),
        None => Err(format!("{name} must be a time such as 250ms, 2s or 3m, not {value:?}")),
    }
}

#[cfg(feature = "postgres")]
fn postgres(url: &str) -> Result<String, String> {
    Ok(url.to_owned())
}

#[cfg(not(feature = "postgres"))]
fn postgres(_url: &str) -> Result<String, String> {
    Err("--postgres needs a build with `--features postgres`; this one has SQLite only".to_owned())
}

/// The known flag that differs least, so that a slip of the finger is answered with the right name.
fn unknown(name: &str) -> String {
    let shared = |flag: &Flag| flag.name.chars().zip(name.chars()).take_while(|(a, b)| a == b).count();
    match TABLE.iter().max_by_key(|flag| shared(flag)) {
        Some(near) if shared(near) > 3 => {
            format!("unknown flag {name:?}; did you mean {}? (--help lists all)", near.name)
        }
        _ => format!("unknown flag {name:?} (--help lists all)"),
    }
}

fn help() -> String {
    let mut text = String::from(
        "A web server under more load than it can bear, and a page to watch it.\n\n\
         An axum server, limited by tower-limit-fair, answers from a lease-pool of database connections.\n\
         A built-in open-loop load generator calls it over HTTP.\n\n\
         Usage: demo [FLAGS]\n\nFlags:\n",
    );
    for flag in &TABLE {
        let left = format!("{} {}", flag.name, flag.value);
        text += &format!("  {left:<22} {}\n", flag.help);
    }
    text += "\nTIME is 250ms, 2s or 3m; a bare number counts seconds.\n\
             Exit code: 0 when every permit and connection came home, 1 when not, 2 for a bad flag.\n";
    text
}
