//! Programs that run beside a test and end with it.
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::http::ask;

/// A child process; killed and reaped when dropped.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    pub(crate) port: u16,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The demo under its built-in load, on a free port; returns once it has said where its metrics are.
pub(crate) fn demo() -> Running {
    let mut child = Command::new(env!("CARGO_BIN_EXE_demo"))
        .args(["--port", "0", "--duration", "5m"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut port = None;
    while port.is_none() {
        let line = lines.next().expect("the demo ended before it said where its metrics are").unwrap();
        let place = line.strip_prefix("metrics").and_then(|rest| rest.trim().strip_suffix("/metrics"));
        port = place.and_then(|place| place.rsplit(':').next()?.parse().ok());
    }
    // Whatever else it says must not fill the pipe.
    thread::spawn(move || lines.for_each(drop));
    Running { child, port: port.unwrap() }
}

/// Starts `command`, which listens on `port`, and waits until `probe` is answered.
pub(crate) fn server(mut command: Command, port: u16, probe: &str, patience: Duration) -> Running {
    let running = Running { child: command.spawn().unwrap(), port };
    let began = Instant::now();
    while let Err(why) = ask(port, &format!("GET {probe}"), "text/plain", "") {
        assert!(began.elapsed() < patience, "not ready after {patience:?}: {why}");
        thread::sleep(Duration::from_millis(100));
    }
    running
}
