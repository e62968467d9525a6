//! A peer and a server in one process, under a clock that only the test moves.
//!
//! [`Pair`] plays the client's side of one stream: it sends messages, whole or in pieces, and collects what the server
//! sends and wants done. Nothing sleeps and nothing is read from a socket, so every order of events can be written down.

use crate::{Call, Event, LocalError, Millis, Output, Reply, RequestKey, Server, ServerConfig, StreamId};
use std::collections::VecDeque;

/// The `_meta` fields of a modern request, as JSON members.
pub const MODERN_META: &str =
    r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;

/// One server, one stream, and the time.
pub struct Pair {
    /// The server under test.
    pub server: Server,
    /// The stream between the two.
    pub stream: StreamId,
    /// The time, in milliseconds.
    pub now: Millis,
    /// Whole messages that the server has sent and nobody has taken yet.
    pub sent: VecDeque<String>,
    /// Events that nobody has taken yet.
    pub events: VecDeque<Event>,
    partial: Vec<u8>,
}

impl Pair {
    /// A pair whose server has this configuration.
    ///
    /// # Errors
    /// What [`Server::new`] says of it.
    pub fn new(config: ServerConfig) -> Result<Self, LocalError> {
        let mut server = Server::new(config)?;
        let stream = server.open(0);
        let mut pair =
            Self { server, stream, now: 0, sent: VecDeque::new(), events: VecDeque::new(), partial: Vec::new() };
        pair.drain();
        Ok(pair)
    }

    /// Sends one line.
    pub fn send(&mut self, line: &str) {
        self.send_bytes(line.as_bytes());
        self.send_bytes(b"\n");
    }

    /// Sends bytes as they are.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        // The stream is open for as long as the pair lives, unless a test closed it.
        let _ = self.server.receive(self.stream, bytes, self.now);
        self.drain();
    }

    /// Sends a legacy request, or a notification when `id` is empty. `params` is JSON text or empty.
    pub fn legacy(&mut self, id: &str, method: &str, params: &str) {
        let id = if id.is_empty() { String::new() } else { format!(r#""id":{id},"#) };
        let params = if params.is_empty() { String::new() } else { format!(r#","params":{params}"#) };
        self.send(&format!(r#"{{"jsonrpc":"2.0",{id}"method":"{method}"{params}}}"#));
    }

    /// Sends a modern request; `members` are the members of `params` besides `_meta`, as JSON text.
    pub fn modern(&mut self, id: &str, method: &str, members: &str) {
        let comma = if members.is_empty() { "" } else { "," };
        let params = format!(r#"{{{members}{comma}"_meta":{{{MODERN_META}}}}}"#);
        self.legacy(id, method, &params);
    }

    /// Shakes hands as a client of `version` and takes the answer off the queue.
    pub fn initialize(&mut self, version: &str, capabilities: &str) -> String {
        let params = format!(
            r#"{{"protocolVersion":"{version}","capabilities":{capabilities},"clientInfo":{{"name":"test","version":"0"}}}}"#
        );
        self.legacy("\"init\"", "initialize", &params);
        let answer = self.sent.pop_back().unwrap_or_default();
        self.legacy("", "notifications/initialized", "");
        answer
    }

    /// Moves the clock, stopping wherever the server wants to be woken.
    pub fn advance(&mut self, ms: u64) {
        let end = self.now + ms;
        while let Some(due) = self.server.poll_timeout().filter(|due| *due <= end) {
            self.now = due.max(self.now);
            self.server.handle_timeout(self.now);
            self.drain();
        }
        self.now = end;
    }

    /// The next message that the server sent.
    ///
    /// # Panics
    /// When there is none: the test expected one.
    pub fn take(&mut self) -> String {
        self.sent.pop_front().expect("the server has sent a message")
    }

    /// The next call that host code is to run.
    ///
    /// # Panics
    /// When the next event is no call: the test expected one.
    pub fn take_call(&mut self) -> Call {
        match self.take_event() {
            Event::Call(call) => call,
            other => panic!("expected a call, got {other:?}"),
        }
    }

    /// The next event that is no diagnostic.
    ///
    /// # Panics
    /// When there is none: the test expected one.
    pub fn take_event(&mut self) -> Event {
        loop {
            match self.events.pop_front().expect("an event is there") {
                Event::Diagnostic(_) => {}
                event => return event,
            }
        }
    }

    /// Answers a tool call with one text block.
    ///
    /// # Panics
    /// When the engine refuses the answer.
    pub fn answer_text(&mut self, key: RequestKey, text: &str) -> bool {
        let content = format!(r#"[{{"type":"text","text":"{text}"}}]"#);
        let reply = Reply::Tool { content: &content, structured: None, is_error: false, meta: None };
        let sent = self.server.respond(key, reply, self.now).expect("a valid answer");
        self.drain();
        sent
    }

    /// Takes all outputs, as the contract wants it after every input and command.
    pub fn drain(&mut self) {
        while let Some(output) = self.server.poll_output() {
            match output {
                Output::Event(event) => self.events.push_back(event),
                Output::Transmit { bytes, .. } => {
                    self.partial.extend(bytes);
                    while let Some(end) = self.partial.iter().position(|b| *b == b'\n') {
                        let line: Vec<u8> = self.partial.drain(..=end).collect();
                        self.sent.push_back(String::from_utf8_lossy(&line[..end]).into_owned());
                    }
                }
            }
        }
    }
}
