//! The example as a client sees it: a process with pipes.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Client {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ferromcp-example"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the example runs");
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, input, output }
    }

    /// Asks in the modern way, where every request stands alone.
    fn ask(&mut self, method: &str, mut params: Value) -> Value {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "progressToken": "steps",
        });
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        writeln!(self.input, "{request}").expect("the server reads");
        let answer = self.receive();
        if answer.get("error").is_some() { answer["error"].clone() } else { answer["result"].clone() }
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the server writes");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn tool(&mut self, name: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": name, "arguments": arguments}))
    }

    fn end(mut self) {
        drop(self.input);
        assert!(self.child.wait().expect("it ends").success());
    }
}

#[test]
fn tools_answer() {
    let mut client = Client::start();
    let tools = client.ask("tools/list", json!({}));
    let names: Vec<_> = tools["tools"].as_array().expect("a list").iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(names, ["echo", "add", "slow", "block", "fail", "progress"]);
    assert_eq!(client.tool("echo", json!({"text": "é\n"}))["content"][0]["text"], "é\n");
    assert_eq!(client.tool("add", json!({"a": 2, "b": 40}))["content"][0]["text"], "42");
    assert_eq!(client.tool("add", json!({"a": i64::MAX, "b": 1}))["isError"], true);
    assert_eq!(client.tool("add", json!({"a": "two"}))["isError"], true);
    assert_eq!(client.tool("slow", json!({"ms": 1}))["content"][0]["text"], "done");
    assert_eq!(client.tool("block", json!({"ms": 1}))["content"][0]["text"], "done");
    let failed = client.tool("fail", json!({"msg": "why"}));
    assert_eq!((&failed["isError"], &failed["content"][0]["text"]), (&json!(true), &json!("why")));
    client.end();
}

#[test]
fn progress_comes_before_the_answer() {
    let mut client = Client::start();
    client.tool("progress", json!({"n": 0}));
    let request = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"progress","arguments":{"n":2},"_meta":{"progressToken":0,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    writeln!(client.input, "{request}").expect("the server reads");
    for step in 1..=2 {
        let message = client.receive();
        assert_eq!(message["params"], json!({"progressToken": 0, "progress": step, "total": 2}));
    }
    assert_eq!(client.receive()["id"], 2);
    client.end();
}

#[test]
fn resources_and_prompts_answer() {
    let mut client = Client::start();
    let about = client.ask("resources/read", json!({"uri": "example://about"}));
    assert_eq!(about["contents"][0]["mimeType"], "text/plain");
    let square = client.ask("resources/read", json!({"uri": "example://square/12"}));
    assert_eq!(square["contents"][0], json!({"uri": "example://square/12", "mimeType": "text/plain", "text": "144"}));
    let unknown = client.ask("resources/read", json!({"uri": "example://square/round"}));
    assert_eq!(unknown["code"], -32602);
    let prompt = client.ask("prompts/get", json!({"name": "greet", "arguments": {"name": "Ada"}}));
    assert_eq!(prompt["messages"][0]["content"]["text"], "Greet Ada in one sentence.");
    client.end();
}
