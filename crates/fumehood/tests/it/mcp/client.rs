//! A client that speaks the protocol line by line, so that what is on the wire is what a test sees.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use fumehood_testkit::World;
use serde_json::{Value, json};

use crate::program;

/// A revision of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Era {
    June2025,
    November2025,
    July2026,
}

impl Era {
    pub(super) const ALL: [Self; 3] = [Self::June2025, Self::November2025, Self::July2026];

    fn version(self) -> &'static str {
        match self {
            Self::June2025 => "2025-06-18",
            Self::November2025 => "2025-11-25",
            Self::July2026 => "2026-07-28",
        }
    }

    fn has_handshake(self) -> bool {
        self != Self::July2026
    }
}

/// What the client does when it is asked something while a call is open.
#[derive(Clone, Debug)]
pub(super) enum Asked {
    /// It never said that it can be.
    Cannot,
    /// It gives this result.
    Says(Value),
    /// It never answers.
    Silent,
}

/// One client and the server it started.
pub(super) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    /// Who reads holds it for each line.
    reading: Arc<Mutex<()>>,
    era: Era,
    asked: Asked,
    next: u64,
    /// What came that nobody waited for, oldest first.
    pub(super) heard: VecDeque<Value>,
}

impl Client {
    /// Starts `serve --root skills` with these arguments more, and shakes hands where the revision has that.
    pub(super) fn start(world: &World, era: Era, asked: Asked, arguments: &[&str]) -> Self {
        let mut client = Self::connect(world, era, asked, arguments);
        if era.has_handshake() {
            let capabilities = client.capabilities();
            let answer = client.ask(
                "initialize",
                json!({
                    "protocolVersion": era.version(), "capabilities": capabilities, "clientInfo": {"name": "test", "version": "1"},
                }),
            );
            assert_eq!(answer["result"]["protocolVersion"], era.version(), "{answer}");
            client.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        }
        client
    }

    fn connect(world: &World, era: Era, asked: Asked, arguments: &[&str]) -> Self {
        let mut command = Command::new("setsid");
        command.arg(program()).args(["serve", "--root", "skills"]).args(arguments);
        command.current_dir(world.path(""));
        Self::spawn(command, world, era, asked)
    }

    fn spawn(mut command: Command, world: &World, era: Era, asked: Asked) -> Self {
        command.env_clear().env("HOME", world.path("home")).env("PATH", "/usr/bin:/bin");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let reading = Arc::default();
        let lines = reader(child.stdout.take().unwrap(), Arc::clone(&reading));
        Self { child, stdin, lines, reading, era, asked, next: 0, heard: VecDeque::new() }
    }

    fn capabilities(&self) -> Value {
        match (&self.asked, self.era) {
            (Asked::Cannot, _) => json!({}),
            (_, Era::June2025) => json!({"elicitation": {}}),
            _ => json!({"elicitation": {"form": {}}}),
        }
    }

    /// Sends a request, and does not wait for the answer.
    pub(super) fn send(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        self.send_as(self.next, method, params);
        self.next
    }

    /// Sends a request under this id.
    pub(super) fn send_as(&mut self, id: u64, method: &str, mut params: Value) {
        if !self.era.has_handshake() {
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = json!(self.era.version());
            meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "test", "version": "1"});
            meta["io.modelcontextprotocol/clientCapabilities"] = self.capabilities();
        }
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    pub(super) fn notify(&mut self, method: &str, params: &Value) {
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a message as it is.
    pub(super) fn write(&mut self, message: &Value) {
        let mut line = message.to_string();
        line.push('\n');
        self.say(line.as_bytes());
    }

    /// Sends bytes, which may be no whole line.
    pub(super) fn say(&mut self, bytes: &[u8]) {
        // A server that is gone shows when something is waited for.
        let _ = self.stdin.as_mut().unwrap().write_all(bytes);
    }

    /// How much memory the server has in use, in KiB; nothing once it has ended.
    pub(super) fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or_default()
    }

    /// The answer to a request. What else comes until then is kept.
    pub(super) fn wait(&mut self, id: u64) -> Value {
        let is_it = |message: &Value| message["id"] == json!(id) && message["method"].is_null();
        if let Some(found) = self.heard.iter().position(is_it) {
            return self.heard.remove(found).unwrap();
        }
        loop {
            let message = self.receive().unwrap_or_else(|| panic!("no answer to {id}"));
            if is_it(&message) {
                return message;
            }
            self.heard.push_back(message);
        }
    }

    /// Waits until something comes of which this is true, and takes it.
    pub(super) fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(found) = self.heard.iter().position(&is_it) {
            return self.heard.remove(found).unwrap();
        }
        loop {
            let message = self.receive().expect("what is waited for");
            if is_it(&message) {
                return message;
            }
            self.heard.push_back(message);
        }
    }

    /// The next message; questions are answered on the way. `None` if the server is gone.
    fn receive(&mut self) -> Option<Value> {
        loop {
            let message = match self.lines.recv_timeout(PATIENCE) {
                Ok(message) => message,
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => panic!("nothing came for {PATIENCE:?}"),
            };
            let is_question = message["method"] == "elicitation/create";
            match self.asked.clone() {
                Asked::Says(result) if is_question => {
                    self.write(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
                    self.heard.push_back(message);
                }
                _ => return Some(message),
            }
        }
    }

    pub(super) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.wait(id)
    }

    /// Makes a call until it is refused with this code: for what the server notices in a moment.
    pub(super) fn again_until(&mut self, name: &str, arguments: &Value, code: &str) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let id = self.send("tools/call", json!({"name": name, "arguments": arguments}));
            let answer =
                self.until(|message| message["method"] == "elicitation/create" || message["id"] == json!(id));
            if answer["result"]["structuredContent"]["code"] == code {
                return answer["result"].clone();
            }
            assert!(Instant::now() < until, "{answer}");
            self.notify("notifications/cancelled", &json!({"requestId": id}));
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// The result of a call of a tool, which must be the same as a value and as text.
    pub(super) fn tool(&mut self, name: &str, arguments: &Value) -> Value {
        let answer = self.ask("tools/call", json!({"name": name, "arguments": arguments}));
        let result = answer["result"].clone();
        assert!(result.is_object(), "{answer}");
        if result["resultType"] != "input_required" {
            assert_same(&result);
        }
        result
    }

    /// Answers a question of the server's.
    pub(super) fn reply(&mut self, id: &Value, result: &Value) {
        self.write(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    /// Starts as [`Client::start`] does a server of the usual sources, in a folder of the world.
    pub(super) fn within(world: &World, era: Era, below: &str) -> Self {
        let mut command = Command::new("setsid");
        command.arg(program()).arg("serve").current_dir(world.path(below));
        Self::spawn(command, world, era, Asked::Cannot)
    }

    /// The names of the tools on offer.
    pub(super) fn names(&mut self) -> Vec<String> {
        let answer = self.ask("tools/list", json!({}));
        crate::texts(&answer["result"]["tools"], "name").into_iter().map(str::to_owned).collect()
    }

    /// The client reads nothing any more, and keeps its end of the pipe.
    pub(super) fn only_talk(&self) {
        // Whoever reads waits for it as long as this process lives.
        std::mem::forget(self.reading.lock());
    }

    /// The client reads nothing any more, and closes its end of the pipe.
    pub(super) fn stop_reading(&mut self) {
        let (_, none) = channel();
        self.lines = none;
    }

    /// The client has nothing more to say.
    pub(super) fn stop_writing(&mut self) {
        self.stdin = None;
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The server is killed.
    pub(super) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// The client goes, and the server must do so too: its exit code.
    pub(super) fn leave(mut self) -> Option<i32> {
        self.stop_writing();
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < until, "the server does not end");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The text of a result is its value.
pub(super) fn assert_same(result: &Value) {
    let text = crate::text(&result["content"][0]["text"]);
    let value: Value = serde_json::from_str(text).unwrap();
    assert_eq!(value, result["structuredContent"], "{result}");
}

fn reader(stdout: ChildStdout, reading: Arc<Mutex<()>>) -> Receiver<Value> {
    let (say, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines() {
            let Ok(line) = line else { return };
            drop(reading.lock());
            let message = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no message: {line}"));
            if say.send(message).is_err() {
                return;
            }
        }
    });
    lines
}

const PATIENCE: Duration = Duration::from_mins(1);
