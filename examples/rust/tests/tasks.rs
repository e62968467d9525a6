//! The example whose tool is a task, as a client sees it: a process with pipes, which is killed in the middle.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last_id: u32,
}

impl Client {
    fn start(file: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tasks"))
            .arg(file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the example runs");
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, input, output, last_id: 0 }
    }

    /// A request of a client that takes tasks, and its result.
    fn result(&mut self, method: &str, mut params: Value) -> Value {
        self.last_id += 1;
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities":
                {"elicitation": {}, "sampling": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}},
        });
        let request = json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params});
        writeln!(self.input, "{request}").expect("the server reads");
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the server writes");
        let answer: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].clone()
    }

    fn start_task(&mut self) -> String {
        let task = self.result("tools/call", json!({"name": "write_report", "arguments": {"topic": "rain"}}));
        assert_eq!(task["resultType"], "task");
        task["taskId"].as_str().expect("an id").to_owned()
    }

    /// Looks at a task until it waits for its client, or has ended.
    fn settled(&mut self, id: &str) -> Value {
        let began = Instant::now();
        loop {
            let task = self.result("tasks/get", json!({"taskId": id}));
            if task["status"] != "working" {
                return task;
            }
            assert!(began.elapsed() < Duration::from_secs(20), "{task}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Answers what a task asks.
    fn answer(&mut self, id: &str, answer: &Value) -> String {
        let task = self.settled(id);
        let asked = task["inputRequests"].as_object().unwrap_or_else(|| panic!("questions: {task}"));
        let (key, question) = asked.iter().next().expect("a question");
        let method = question["method"].as_str().expect("a method").to_owned();
        let responses = json!({ key: answer });
        self.result("tasks/update", json!({"taskId": id, "inputResponses": responses}));
        method
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // It may be dead already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder of this test's own, and the file of its tasks.
fn file() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("tasks-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    folder.join("tasks.db")
}

#[test]
fn a_report_is_found_again_after_the_server_was_killed() {
    let file = file();
    let mut client = Client::start(&file);
    let done = client.start_task();
    let two = json!({"action": "accept", "content": {"pages": 2}});
    assert_eq!(client.answer(&done, &two), "elicitation/create");
    for page in ["one", "two"] {
        let written = json!({"role": "assistant", "content": {"type": "text", "text": page}, "model": "m"});
        assert_eq!(client.answer(&done, &written), "sampling/createMessage");
    }
    assert_eq!(client.settled(&done)["status"], "completed");
    let running = client.start_task();
    assert_eq!(client.settled(&running)["status"], "input_required");
    client.child.kill().expect("the server is there");
    drop(client);

    let mut client = Client::start(&file);
    let task = client.result("tasks/get", json!({"taskId": done}));
    assert_eq!(task["result"]["content"][0]["text"], "one\ntwo");
    let task = client.result("tasks/get", json!({"taskId": running}));
    assert_eq!((&task["status"], &task["error"]["code"]), (&json!("failed"), &json!(-32603)));
    drop(client);
    std::fs::remove_dir_all(file.parent().expect("a folder")).expect("the folder is ours");
}
