//! A client at the other end of two pipes.

#![allow(dead_code, unreachable_pub, reason = "each test file is a crate of its own and uses a part of it")]

use ferromcp::{Error, Server, Serving};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Far longer than anything should take, so that a loaded machine fails no test.
pub const LONG: Duration = Duration::from_secs(20);

pub const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;
pub const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// A server over pipes, and what a client has of it.
pub struct Served {
    pub server: Serving,
    pub input: Option<PipeWriter>,
    pub output: Option<PipeReader>,
}

pub fn serve(server: Server) -> Served {
    let (input, to_server) = std::io::pipe().expect("a pipe");
    let (output, from_server) = std::io::pipe().expect("a pipe");
    let server = server.start_fds(input.into(), from_server.into()).expect("the server starts");
    Served { server, input: Some(to_server), output: Some(output) }
}

/// A client that reads as fast as it can.
pub struct Client {
    pub server: Serving,
    input: Option<PipeWriter>,
    lines: Receiver<Value>,
}

impl Client {
    /// A client past the handshake.
    pub fn connect(server: Server) -> Self {
        let mut client = Self::open(server);
        client.send(&[INITIALIZE]);
        assert_eq!(client.receive()["id"], "init");
        client.send(&[INITIALIZED]);
        client
    }

    /// A client that has said nothing yet.
    pub fn open(server: Server) -> Self {
        let mut served = serve(server);
        let output = served.output.take().expect("not taken yet");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                let Ok(line) = line else { break };
                let message = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        Self { server: served.server, input: served.input, lines }
    }

    /// A client of 2025-11-25 past the handshake, with these capabilities.
    pub fn connect_with(server: Server, capabilities: &Value) -> Self {
        let mut client = Self::open(server);
        let mut initialize: Value = serde_json::from_str(INITIALIZE).expect("written above");
        initialize["params"]["capabilities"] = capabilities.clone();
        client.send(&[&initialize.to_string()]);
        assert_eq!(client.receive()["id"], "init");
        client.send(&[INITIALIZED]);
        client
    }

    /// Sends a modern request of a client with these capabilities.
    pub fn modern(&mut self, id: u64, method: &str, members: &Value, capabilities: &Value) {
        let mut params = members.clone();
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        });
        self.send(&[&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()]);
    }

    /// Sends messages with one system call.
    pub fn send(&mut self, messages: &[&str]) {
        let mut text = messages.join("\n");
        text.push('\n');
        self.send_bytes(text.as_bytes());
    }

    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.input.as_mut().expect("not closed yet").write_all(bytes).expect("the server reads");
    }

    /// Calls a tool.
    pub fn call(&mut self, id: u64, tool: &str, arguments: &str) {
        self.send(&[&call(id, tool, arguments)]);
    }

    /// The next message.
    pub fn receive(&mut self) -> Value {
        self.lines.recv_timeout(LONG).expect("an answer in time")
    }

    /// The next message, if it is there.
    pub fn try_receive(&mut self) -> Option<Value> {
        self.lines.try_recv().ok()
    }

    /// The next message, which must answer `id`.
    pub fn expect(&mut self, id: u64) -> Value {
        let message = self.receive();
        assert_eq!(message["id"], id, "{message}");
        message
    }

    /// Proves that nothing was sent: what answers a ping is the very next message.
    pub fn expect_silence(&mut self) {
        self.send(&[r#"{"jsonrpc":"2.0","id":"silence","method":"ping"}"#]);
        assert_eq!(self.receive()["id"], "silence");
    }

    /// Closes the client's sending side.
    pub fn close(&mut self) {
        self.input = None;
    }

    /// The server has closed its side, and has sent nothing more.
    pub fn expect_end(&mut self) {
        let rest = self.lines.recv_timeout(LONG);
        assert_eq!(rest, Err(RecvTimeoutError::Disconnected));
    }
}

pub fn call(id: u64, tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    )
}

pub fn ping(id: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)
}

/// The definition of a tool that takes anything.
pub fn tool(name: &str) -> String {
    format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#)
}

/// The text of a tool's answer.
pub fn text(message: &Value) -> &str {
    message["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {message}"))
}

/// Waits for the server's end.
pub fn ended(server: &Serving) -> Result<ferromcp::Ended, Error> {
    Ok(server.wait_for(LONG)?.expect("an end in time"))
}
