//! The example that asks, as a client sees it: a process with pipes.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

fn capabilities() -> Value {
    json!({"elicitation": {}, "sampling": {}, "roots": {}})
}

impl Client {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_asking"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the example runs");
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, input, output }
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").expect("the server reads");
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the server writes");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Sends a `tools/call` in the modern way, and takes its result.
    fn call(&mut self, params: &Value) -> Value {
        let mut params = params.clone();
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": capabilities(),
        });
        self.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
        self.receive()["result"].clone()
    }

    /// Calls a tool that asks one thing: what it asks, and what it says to the answer.
    fn ask(&mut self, tool: &str, arguments: &Value, answer: &Value) -> (Value, String) {
        let mut params = json!({"name": tool, "arguments": arguments});
        let round = self.call(&params);
        assert_eq!(round["resultType"], "input_required", "{round}");
        let asked = round["inputRequests"].as_object().expect("questions");
        let (key, question) = asked.iter().next().expect("a question");
        params["requestState"] = round["requestState"].clone();
        params["inputResponses"] = json!({ key: answer });
        let result = self.call(&params);
        (question.clone(), result["content"][0]["text"].as_str().expect("text").to_owned())
    }

    fn end(mut self) {
        drop(self.input);
        assert!(self.child.wait().expect("it ends").success());
    }
}

fn accept(content: &Value) -> Value {
    json!({"action": "accept", "content": content})
}

#[test]
fn a_modern_client_is_asked() {
    let mut client = Client::start();
    let (asked, said) = client.ask("greet", &json!({}), &accept(&json!({"name": "Ada"})));
    assert_eq!((&asked["method"], &*said), (&json!("elicitation/create"), "Hello, Ada!"));
    assert_eq!(client.ask("greet", &json!({}), &json!({"action": "cancel"})).1, "Hello!");

    let tax = json!({"note": "tax"});
    for no in [json!({"action": "decline"}), accept(&json!({"sure": false}))] {
        assert_eq!(client.ask("delete", &tax, &no).1, "Nothing was deleted.");
    }
    assert_eq!(client.ask("delete", &tax, &accept(&json!({"sure": true}))).1, "Deleted \"tax\".");
    assert_eq!(client.call(&json!({"name": "delete", "arguments": tax}))["isError"], true);

    let message = json!({"role": "assistant", "content": {"type": "text", "text": "Roses\nare red"}, "model": "m"});
    let (asked, said) = client.ask("poem", &json!({"topic": "roses"}), &message);
    assert_eq!((&asked["params"]["maxTokens"], &*said), (&json!(100), "Roses\nare red\n(m)"));

    let roots = json!({"roots": [{"uri": "file:///a", "name": "A"}, {"uri": "file:///b"}]});
    assert_eq!(client.ask("folders", &json!({}), &roots).1, "A\nfile:///b");
    client.end();
}

#[test]
fn while_a_deletion_waits_nobody_else_deletes() {
    let mut client = Client::start();
    let milk = json!({"name": "delete", "arguments": {"note": "milk"}});
    assert_eq!(client.call(&milk)["resultType"], "input_required");
    assert_eq!(client.call(&milk)["isError"], true);
    // The client goes away without an answer; what waits does not hold up the end.
    client.end();
}

#[test]
fn a_legacy_client_is_asked_by_requests() {
    let mut client = Client::start();
    client.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": capabilities(), "clientInfo": {"name": "test", "version": "1"}
    }}));
    assert_eq!(client.receive()["result"]["protocolVersion"], "2025-06-18");
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let call = json!({"name": "delete", "arguments": {"note": "milk"}});
    client.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}));
    let asked = client.receive();
    assert_eq!(asked["method"], "elicitation/create");
    client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": accept(&json!({"sure": true}))}));
    assert_eq!(client.receive()["result"]["content"][0]["text"], "Deleted \"milk\".");
    client.end();
}
