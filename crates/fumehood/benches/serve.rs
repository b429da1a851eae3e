//! What a call costs that does nothing much, beside a server of the same library that does nothing at all.
//!
//! Both are processes of their own, started here, and asked in turns over pipes, one call at a time; the bare one answers each call with
//! what the other answered the first time. Printed are the median and the time that 99 in 100 were under. Nothing here passes or
//! fails. Its state is a folder of its own below `/var/tmp`.
#![expect(clippy::disallowed_methods, reason = "a benchmark makes the files that it reads")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run has nothing to say")]

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler, ServiceExt as _};
use serde_json::{Value, json};

fn main() {
    let mut arguments = std::env::args().skip_while(|argument| argument != BARE).skip(1);
    if let Some(answers) = arguments.next() {
        return bare(serde_json::from_str(&answers).unwrap());
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let folder = folder.path().canonicalize().unwrap();
    make_skills(&folder);
    println!("| revision | call | bare: median, 99 in 100 | fumehood: median, 99 in 100 | times |");
    println!("|---|---|---|---|---|");
    for version in [OLD, NEW] {
        let mut ours = Server::of_fumehood(&folder, version, "skills");
        let artifact = ours.leave_a_result();
        let calls = [
            ("`list_skills`, one skill", "list_skills", json!({})),
            ("`load_skill`", "load_skill", json!({"skill_name": "quick"})),
            (
                "`read_skill_resource`",
                "read_skill_resource",
                json!({"skill_name": "quick", "resource_name": "a.txt"}),
            ),
            ("`artifact_byte_length`", "artifact_byte_length", json!({"artifact": artifact})),
            ("a tool's arguments refused", "artifact_head", json!({})),
        ];
        compare(version, &mut ours, &calls);
        let mut none = Server::of_fumehood(&folder, version, "empty");
        compare(version, &mut none, &[("`list_skills`, no skills", "list_skills", json!({}))]);
        let mut many = Server::of_fumehood(&folder, version, "many");
        compare(version, &mut many, &[("`list_skills`, 20 skills", "list_skills", json!({}))]);
    }
    let _ = fs::remove_dir_all(folder);
}

/// Makes the calls in turns with a bare server that gives the same answers.
fn compare(version: &'static str, ours: &mut Server, calls: &[(&str, &str, Value)]) {
    let answers: Vec<Value> =
        calls.iter().map(|(_, tool, arguments)| ours.call(tool, arguments)["result"].clone()).collect();
    let mut bare = Server::bare(version, &answers);
    let mut times = vec![[Vec::new(), Vec::new()]; calls.len()];
    for round in 0..ROUNDS + WARM {
        for (index, (_, tool, arguments)) in calls.iter().enumerate() {
            // Whoever comes second finds the processor awake, so that changes.
            for which in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
                let began = Instant::now();
                if which == 0 {
                    bare.call(&index.to_string(), arguments);
                } else {
                    ours.call(tool, arguments);
                }
                if round >= WARM {
                    times[index][which].push(began.elapsed());
                }
            }
        }
    }
    for ((name, ..), [bare, ours]) in calls.iter().zip(times) {
        let (bare, ours) = (Times::of(bare), Times::of(ours));
        let ratio = |a: Duration, b: Duration| a.as_secs_f64() / b.as_secs_f64();
        println!(
            "| {version} | {name} | {} | {} | {:.2}, {:.2} |",
            bare.shown(),
            ours.shown(),
            ratio(ours.median, bare.median),
            ratio(ours.high, bare.high)
        );
    }
}

struct Times {
    median: Duration,
    high: Duration,
}

impl Times {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self { median: times[times.len() / 2], high: times[times.len() * 99 / 100] }
    }

    fn shown(&self) -> String {
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        format!("{:.0}, {:.0}", micros(self.median), micros(self.high))
    }
}

/// A server and the line to it.
struct Server {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    version: &'static str,
    next: u64,
}

impl Server {
    fn of_fumehood(folder: &Path, version: &'static str, root: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fumehood"));
        command.args(["serve", "--root", root]).current_dir(folder.join("project"));
        command.env_clear().env("FUMEHOOD_HOME", folder.join("home"));
        Self::start(command, version)
    }

    fn bare(version: &'static str, answers: &[Value]) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg(BARE).arg(json!(answers).to_string()).env_clear();
        Self::start(command, version)
    }

    fn start(mut command: Command, version: &'static str) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut server = Self { child, stdin, stdout, version, next: 0 };
        if version == OLD {
            let hello = json!({
                "protocolVersion": OLD, "capabilities": {"elicitation": {"form": {}}}, "clientInfo": {"name": "bench", "version": "1"},
            });
            assert_eq!(server.ask("initialize", hello)["result"]["protocolVersion"], OLD);
            server.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        }
        server
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    fn ask(&mut self, method: &str, mut params: Value) -> Value {
        if self.version == NEW {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": NEW,
                "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
            });
        }
        self.next += 1;
        let id = self.next;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let message = self.read();
            if message["method"] == "elicitation/create" {
                self.write(&json!({"jsonrpc": "2.0", "id": message["id"], "result": yes()}));
            } else if message["id"] == json!(id) {
                assert!(message["result"].is_object(), "{message}");
                return message;
            }
        }
    }

    /// Runs a script, with a yes of this client's; its output is the result.
    fn leave_a_result(&mut self) -> Value {
        let arguments = json!({"skill_name": "quick", "script_name": "quick.sh"});
        let mut ran = self.call("run_skill_script", &arguments);
        if ran["result"]["resultType"] == "input_required" {
            let state = &ran["result"]["requestState"];
            let again = json!({
                "name": "run_skill_script", "arguments": arguments, "requestState": state, "inputResponses": {"approve": yes()},
            });
            ran = self.ask("tools/call", again);
        }
        let artifact = ran["result"]["structuredContent"]["stdout"]["artifact"].clone();
        assert!(artifact.is_string(), "{ran}");
        artifact
    }

    fn write(&mut self, message: &Value) {
        // In one piece: two writes would be two times to wake for whoever reads.
        let line = format!("{message}\n");
        self.stdin.write_all(line.as_bytes()).unwrap();
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.stdout.read_line(&mut line).unwrap() > 0, "the server is gone");
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn yes() -> Value {
    json!({"action": "accept", "content": {"choice": "once"}})
}

fn make_skills(folder: &Path) {
    let write = |path: &str, text: &str| {
        let path = folder.join("project").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let skill = |name: &str| format!("---\nname: {name}\ndescription: Does little.\n---\nRun `quick.sh`.\n");
    write("skills/quick/SKILL.md", &skill("quick"));
    write("skills/quick/quick.sh", "#!/bin/sh\necho done\n");
    write("skills/quick/a.txt", "one line\n");
    for number in 0..20 {
        write(&format!("many/quick-{number}/SKILL.md"), &skill(&format!("quick-{number}")));
        write(&format!("many/quick-{number}/quick.sh"), "#!/bin/sh\necho done\n");
    }
    fs::create_dir_all(folder.join("project/empty")).unwrap();
    // Beside the project: its state may not lie in one.
    fs::create_dir(folder.join("home")).unwrap();
    fs::set_permissions(folder.join("home"), fs::Permissions::from_mode(0o700)).unwrap();
}

/// The server to compare with: tool 3 gives answer 3.
struct Bare(Vec<Value>);

impl ServerHandler for Bare {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let answer = &self.0[request.name.parse::<usize>().unwrap()];
        let value = answer["structuredContent"].clone();
        let content = vec![ContentBlock::text(value.to_string())];
        let mut result = if answer["isError"] == true {
            CallToolResult::error(content)
        } else {
            CallToolResult::success(content)
        };
        result.structured_content = Some(value);
        Ok(result.into())
    }
}

fn bare(answers: Vec<Value>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let running = Bare(answers).serve(rmcp::transport::stdio()).await.unwrap();
        running.waiting().await.unwrap();
    });
}

const OLD: &str = "2025-11-25";
const NEW: &str = "2026-07-28";
const BARE: &str = "--bare";
const ROUNDS: usize = 2000;
const WARM: usize = 200;
