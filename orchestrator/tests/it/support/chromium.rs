//! Headless Chromium, driven by its DevTools protocol over a pipe: two file descriptors and JSON, no port and no library.

use super::{skip, which};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Longest that any answer may take on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    next: u64,
    session: Option<String>,
    /// What the page did since it was opened.
    events: Vec<Value>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// `None` where there is no Chromium, which is said; under `CI=true` that is a failure.
    pub(crate) fn start() -> Option<Self> {
        let Some(program) = which("chromium") else {
            skip("chromium is not installed");
            return None;
        };
        let profile = tempfile::Builder::new().prefix("lt-chromium-").tempdir().unwrap();
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1"])
            .arg(program)
            .args(["--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run"])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--disable-extensions",
            ])
            .args(["--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio", "--no-default-browser-check"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .env("HOME", profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let to = child.stdin.take().unwrap();
        let stdout = child.stdout.take().unwrap();
        let (sender, from) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(stdout).split(0).map_while(Result::ok) {
                let Ok(message) = serde_json::from_slice(&message) else { continue };
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut browser = Self { child, to, from, next: 1, session: None, events: Vec::new(), _profile: profile };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attached = browser.call("Target.attachToTarget", json!({"targetId": target["targetId"], "flatten": true}));
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Calls a method and waits for its answer.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.next;
        self.next += 1;
        let mut message = json!({"id": id, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = session.clone().into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).unwrap();
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.from.recv_timeout(left) {
                Ok(answer) if answer["id"] == id => {
                    assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                    return answer["result"].clone();
                }
                Ok(event) => self.events.push(event),
                Err(RecvTimeoutError::Timeout) => panic!("{method}: no answer within {PATIENCE:?}"),
                Err(RecvTimeoutError::Disconnected) => panic!("{method}: Chromium is gone: {:?}", self.child.wait()),
            }
        }
    }

    /// Value of a script in the page.
    pub(crate) fn value(&mut self, script: &str) -> Value {
        let params = json!({"expression": script, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", params);
        assert!(answer["exceptionDetails"].is_null(), "{script}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// Size of the window, colours and medium (`screen`, `print`).
    pub(crate) fn look(&mut self, width: u32, height: u32, dark: bool) {
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        let scheme = if dark { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// Opens a file and waits until its figures are drawn; gives how many milliseconds that took from the first byte on.
    pub(crate) fn open(&mut self, file: &Path) -> f64 {
        self.events.clear();
        let url = format!("file://{}", file.display());
        let answer = self.call("Page.navigate", json!({"url": url}));
        assert!(answer["errorText"].is_null(), "{url}: {}", answer["errorText"]);
        self.until(&format!(
            "location.href.endsWith({:?}) && document.documentElement?.dataset.ready === 'yes'",
            file.file_name().unwrap().to_string_lossy()
        ));
        self.value("performance.getEntriesByName('drawn')[0]?.startTime ?? -1").as_f64().unwrap()
    }

    /// Waits until a script is true.
    pub(crate) fn until(&mut self, script: &str) {
        let deadline = Instant::now() + PATIENCE;
        while self.value(script) != true {
            assert!(Instant::now() < deadline, "not within {PATIENCE:?}: {script}; events: {:#?}", self.errors());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Errors on the console, exceptions, and requests to any address but the page itself.
    pub(crate) fn errors(&self) -> Vec<String> {
        let bad = |event: &Value| match event["method"].as_str()? {
            "Runtime.exceptionThrown" | "Log.entryAdded" => Some(event["params"].to_string()),
            "Runtime.consoleAPICalled"
                if event["params"]["type"] == "error" || event["params"]["type"] == "warning" =>
            {
                Some(event["params"]["args"].to_string())
            }
            "Network.requestWillBeSent" => {
                let url = event["params"]["request"]["url"].as_str()?;
                let own = event["params"]["type"] == "Document" && url.starts_with("file:");
                (!own && !url.starts_with("blob:") && !url.starts_with("data:")).then(|| format!("request to {url}"))
            }
            _ => None,
        };
        self.events.iter().filter_map(bad).collect()
    }

    /// Moves the pointer there.
    pub(crate) fn point(&mut self, x: f64, y: f64) {
        self.call("Input.dispatchMouseEvent", json!({"type": "mouseMoved", "x": x, "y": y}));
    }

    /// Presses a key.
    pub(crate) fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", json!({"type": kind, "key": key, "code": key}));
        }
    }

    /// A picture of the whole page.
    pub(crate) fn screenshot(&mut self, file: &Path) {
        let answer = self.call("Page.captureScreenshot", json!({"captureBeyondViewport": true}));
        decode(answer["data"].as_str().unwrap(), file);
    }

    /// The page printed; gives its bytes.
    pub(crate) fn print(&mut self, file: &Path) -> Vec<u8> {
        let answer = self.call("Page.printToPDF", json!({"printBackground": true}));
        decode(answer["data"].as_str().unwrap(), file);
        std::fs::read(file).unwrap()
    }
}

/// Base64, by the system's own program.
fn decode(text: &str, file: &Path) {
    let out = std::fs::File::create(file).unwrap();
    let mut child = Command::new("base64").arg("-d").stdin(Stdio::piped()).stdout(out).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

impl Drop for Browser {
    fn drop(&mut self) {
        super::processes::descendants(self.child.id()).into_iter().for_each(super::processes::kill);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
