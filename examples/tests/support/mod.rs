//! What the tests of the demo share: the running program and a plain HTTP call.
#![allow(dead_code, unreachable_pub)] // Each test program uses a part.

pub mod browser;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

/// The demo on a port of its own; killed if the test ends before it.
pub struct Demo {
    child: Child,
    pub port: u16,
    output: Option<JoinHandle<String>>,
}

impl Demo {
    /// Starts the demo and waits until it has printed where its page is.
    pub fn start(flags: &[&str]) -> Demo {
        let mut child = Command::new(env!("CARGO_BIN_EXE_demo"))
            .args(["--port", "0"])
            .args(flags)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the demo starts");
        let lines = BufReader::new(child.stdout.take().expect("a pipe"));
        let (found, port) = mpsc::channel();
        let output = std::thread::spawn(move || {
            let mut all = String::new();
            for line in lines.lines().map_while(Result::ok) {
                if let Some(rest) = line.split("http://127.0.0.1:").nth(1) {
                    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
                    let _ = found.send(digits.parse().expect("a port"));
                }
                all += &line;
                all.push('\n');
            }
            all
        });
        let port = port.recv_timeout(Duration::from_secs(60)).expect("the demo prints its address");
        Demo { child, port, output: Some(output) }
    }

    /// One request on a connection of its own: the status and the body.
    pub fn call(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the demo listens");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
        let mut request =
            format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| *name == "host") {
            request += &format!("host: 127.0.0.1:{}\r\n", self.port);
        }
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        write!(stream, "{request}\r\n{body}").expect("the request goes out");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
        let chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
        (status, if chunked { unchunk(body) } else { body.to_owned() })
    }

    pub fn get(&self, path: &str) -> (u16, String) {
        self.call("GET", path, &[], "")
    }

    /// A POST with a JSON body, as the page sends it.
    pub fn post(&self, path: &str, body: &str) -> (u16, String) {
        let origin = format!("http://127.0.0.1:{}", self.port);
        self.call("POST", path, &[("origin", &origin), ("content-type", "application/json")], body)
    }

    /// What the page is drawn from.
    pub fn state(&self) -> serde_json::Value {
        let (status, body) = self.get("/state");
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).expect("JSON")
    }

    /// Asks for the state until `ready` likes it; a generous bound, because the machine may be busy.
    pub fn state_when(&self, what: &str, ready: impl Fn(&serde_json::Value) -> bool) -> serde_json::Value {
        for _ in 0..600 {
            let state = self.state();
            if ready(&state) {
                return state;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("never saw: {what}; last state {}", self.state());
    }

    /// What Ctrl-C sends.
    pub fn interrupt(&self) {
        let sent =
            Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().expect("kill runs");
        assert!(sent.success());
    }

    /// Waits for the end: the exit status and everything printed.
    pub fn end(mut self) -> (ExitStatus, String) {
        let status = self.child.wait().expect("the demo ends");
        let output = self.output.take().expect("only once").join().expect("the reader ends");
        (status, output)
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn unchunk(mut rest: &str) -> String {
    let mut whole = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).expect("a chunk size");
        if size == 0 {
            break;
        }
        whole += &after[..size];
        rest = &after[size + 2..];
    }
    whole
}
