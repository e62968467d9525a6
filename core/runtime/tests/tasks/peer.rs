//! A client of a server in a process of its own.

use crate::common::{INITIALIZE, INITIALIZED, LONG};
use crate::served::STORE;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

pub(crate) struct Peer {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    /// What came while something else was waited for.
    aside: VecDeque<Value>,
    next_id: u64,
    is_legacy: bool,
}

impl Peer {
    /// A modern client that takes tasks, of a server whose tasks are kept there.
    pub(crate) fn start(store: &str) -> Self {
        Self::start_with(store, &[])
    }

    /// The same with settings of the server.
    pub(crate) fn start_with(store: &str, settings: &[(&str, &str)]) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this program has a path"))
            .env(STORE, store)
            .envs(settings.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("this program runs");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                // A process that is killed may leave half a line.
                let Ok(message) = serde_json::from_str(&line) else { break };
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let input = child.stdin.take();
        Self { child, input, lines, aside: VecDeque::new(), next_id: 1, is_legacy: false }
    }

    /// A client of 2025-11-25; gives the server's capabilities too.
    pub(crate) fn start_legacy(store: &str) -> (Self, Value) {
        let mut peer = Self::start(store);
        peer.is_legacy = true;
        peer.send_line(INITIALIZE);
        let hello = peer.receive();
        peer.send_line(INITIALIZED);
        (peer, hello["result"]["capabilities"].clone())
    }

    fn send_line(&mut self, line: &str) {
        let input = self.input.as_mut().expect("not closed yet");
        // One that was killed reads no more, which its answers will tell.
        let _ = input.write_all(format!("{line}\n").as_bytes());
    }

    /// Sends a request and gives its id.
    pub(crate) fn send(&mut self, method: &str, mut params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        if !self.is_legacy {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities":
                    {"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}},
            });
        }
        self.send_line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
        id
    }

    fn receive(&mut self) -> Value {
        self.lines.recv_timeout(LONG).expect("a message in time")
    }

    /// The next message that is as wanted; others are kept.
    pub(crate) fn expect(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.aside.iter().position(&wanted) {
            return self.aside.remove(at).expect("it is there");
        }
        loop {
            let message = self.receive();
            if wanted(&message) {
                return message;
            }
            self.aside.push_back(message);
        }
    }

    /// Sends a request and gives its answer.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.expect(|message| message["id"] == id)
    }

    /// Whether an answer is there by now.
    pub(crate) fn has_answer(&mut self, id: u64) -> bool {
        self.aside.extend(self.lines.try_iter());
        self.aside.iter().any(|message| message["id"] == id)
    }

    /// Calls a tool as a task; its id.
    pub(crate) fn start_task(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        assert_eq!(answer["result"]["resultType"], "task", "{answer}");
        answer["result"]["taskId"].as_str().expect("an id").to_owned()
    }

    pub(crate) fn get(&mut self, id: &str) -> Value {
        let answer = self.ask("tasks/get", json!({"taskId": id}));
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].clone()
    }

    /// Looks at a task until it has this status.
    pub(crate) fn get_until(&mut self, id: &str, status: &str) -> Value {
        let begun = Instant::now();
        loop {
            let task = self.ask("tasks/get", json!({"taskId": id}));
            if task["result"]["status"] == status {
                return task["result"].clone();
            }
            assert!(begun.elapsed() < LONG, "it is not {status}: {task}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Ends the server as `kill -9` does. What it had sent can still be read.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it lives");
        self.child.wait().expect("a child of ours");
    }

    /// What has come and nobody has taken, up to the end of the output.
    pub(crate) fn rest(&mut self) -> Vec<Value> {
        self.aside.drain(..).chain(self.lines.iter()).collect()
    }

    /// Closes the client's sending side.
    pub(crate) fn close(&mut self) {
        self.input = None;
    }

    /// The server ends by itself.
    pub(crate) fn expect_end(&mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a child of ours") {
                return status;
            }
            assert!(begun.elapsed() < LONG, "the server goes on");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The text of a tool's result.
pub(crate) fn text_of(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {result}"))
}
