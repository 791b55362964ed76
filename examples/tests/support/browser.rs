//! A headless Chromium, driven by the DevTools protocol over two pipes: no socket, no driver program.
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    profile: PathBuf,
    session: Option<String>,
    calls: u64,
    /// Events that arrived while an answer was awaited.
    events: VecDeque<Value>,
}

impl Browser {
    /// `None` when no Chromium is installed.
    pub fn start() -> Option<Browser> {
        let program = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
            .into_iter()
            .find(|path| Path::new(path).exists())?;
        let profile = std::env::temp_dir().join(format!("demo-browser-{}", std::process::id()));
        // Chromium reads commands from descriptor 3 and answers on 4; the shell moves its own pipes there.
        let mut child = Command::new("sh")
            .args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null"#, program])
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--hide-scrollbars", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("Chromium starts");
        let (to, from) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        let from = BufReader::new(from);
        let mut browser =
            Browser { child, to, from, profile, session: None, calls: 0, events: VecDeque::new() };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attached =
            browser.call("Target.attachToTarget", json!({ "targetId": target["targetId"], "flatten": true }));
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page.enable", "Runtime.enable", "Network.enable", "Log.enable"] {
            browser.call(domain, json!({}));
        }
        Some(browser)
    }

    /// One command; its result.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.calls += 1;
        let id = self.calls;
        let mut message = json!({ "id": id, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).expect("Chromium listens");
        self.to.flush().expect("Chromium listens");
        loop {
            let message = self.read();
            if message["id"] == json!(id) {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.events.push_back(message);
        }
    }

    fn read(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).expect("Chromium answers");
        assert_eq!(bytes.pop(), Some(0), "Chromium ended");
        serde_json::from_slice(&bytes).expect("JSON")
    }

    pub fn open(&mut self, url: &str) {
        self.call("Page.navigate", json!({ "url": url }));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let message = self.read();
            self.events.push_back(message);
        }
    }

    /// The value of a JavaScript expression in the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let result = self.call("Runtime.evaluate", parameters);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {}", result["exceptionDetails"]);
        result["result"]["value"].clone()
    }

    /// Waits in the page, frame by frame, until `expression` is true; a generous bound, as the machine may be busy.
    pub fn wait_until(&mut self, expression: &str) {
        let script = format!(
            "new Promise((resolve, reject) => {{ const end = performance.now() + 60000; const look = () => \
             {{ if ({expression}) resolve(true); else if (performance.now() > end) reject(new Error('never')); \
             else setTimeout(look, 50); }}; look(); }})"
        );
        assert_eq!(self.value(&script), json!(true), "never true: {expression}");
    }

    pub fn press(&mut self, key: &str, code: u32) {
        for kind in ["keyDown", "keyUp"] {
            let parameters = json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code,
                "text": if key == " " && kind == "keyDown" { " " } else { "" } });
            self.call("Input.dispatchKeyEvent", parameters);
        }
    }

    pub fn size(&mut self, width: u32, height: u32, phone: bool) {
        let parameters = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone });
        self.call("Emulation.setDeviceMetricsOverride", parameters);
    }

    /// `light` or `dark`.
    pub fn scheme(&mut self, scheme: &str) {
        let feature = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": feature }));
    }

    /// The whole page, not only the window, as a PNG file.
    pub fn picture(&mut self, file: &Path) {
        let parameters = json!({ "format": "png", "captureBeyondViewport": true });
        let shot = self.call("Page.captureScreenshot", parameters);
        let bytes = from_base64(shot["data"].as_str().expect("a picture"));
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("the folder is made");
        std::fs::write(file, bytes).expect("the picture is written");
    }

    /// Errors that the page logged, and addresses other than `own` that it asked for.
    pub fn complaints(&mut self, own: &str) -> Vec<String> {
        let mut found = Vec::new();
        for event in &self.events {
            match event["method"].as_str() {
                Some("Runtime.exceptionThrown") => found.push(event["params"].to_string()),
                Some("Log.entryAdded") if event["params"]["entry"]["level"] == "error" => {
                    found.push(event["params"]["entry"].to_string());
                }
                Some("Network.requestWillBeSent") => {
                    let url = event["params"]["request"]["url"].as_str().unwrap_or_default();
                    if !url.starts_with(own) && !url.starts_with("data:") && url != "about:blank" {
                        found.push(format!("asked for {url}"));
                    }
                }
                _ => {}
            }
        }
        found
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}

fn from_base64(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut count) = (0u32, 0);
    for letter in text.bytes() {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => continue,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}
