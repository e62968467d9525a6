//! A peer and a server in one process, under a clock that only the test moves.
//!
//! [`Pair`] plays the client's side of one stream: it sends messages, whole or in pieces, and collects what the server
//! sends and wants done. Nothing sleeps and nothing is read from a socket, so every order of events can be written down.

use crate::tasks::{StoreError, StoreOutcome, StoreRequest, TaskCursor, TaskPage, TaskRecord, look};
use crate::{Call, Event, LocalError, Millis, Output, Reply, RequestKey, Server, ServerConfig, StoreKey, StreamId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The `_meta` fields of a modern request, as JSON members.
pub const MODERN_META: &str =
    r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;

/// UNIX milliseconds at the start of every [`Pair`]: 2026-07-28.
pub const EPOCH: u64 = 1_785_196_800_000;

/// Bytes that never repeat and are the same in every run. Nobody but a test may use them.
fn counting() -> impl FnMut(&mut [u8]) + Send {
    let mut next = 0u64;
    move |bytes| {
        for chunk in bytes.chunks_mut(8) {
            next += 1;
            let word = next.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
}

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
    /// Where the server's tasks are kept.
    pub store: Store,
    partial: Vec<u8>,
}

/// A store of tasks in one map.
#[derive(Default)]
pub struct Store {
    /// The tasks, by id.
    pub tasks: BTreeMap<String, TaskRecord>,
    /// What was spent.
    pub spent: BTreeSet<String>,
    /// It can't be reached.
    pub is_down: bool,
    /// What is asked of it waits for [`Pair::serve_store`].
    pub waits: bool,
    waiting: VecDeque<(StoreKey, StoreRequest)>,
}

impl Store {
    /// Does what the engine asks for.
    pub fn execute(&mut self, request: StoreRequest, unix_ms: u64) -> StoreOutcome {
        if self.is_down {
            return StoreOutcome::Failed(StoreError::Unavailable("it is down".into()));
        }
        match request {
            StoreRequest::Create(record) if self.tasks.contains_key(&record.id) => {
                StoreOutcome::Failed(StoreError::IdTaken)
            }
            StoreRequest::Create(record) => {
                self.tasks.insert(record.id.clone(), *record);
                StoreOutcome::Created
            }
            StoreRequest::Get { id, party } => {
                let seen = |task: &mut TaskRecord| look(task, &party, None, unix_ms).map(|_| Box::new(task.clone()));
                StoreOutcome::Task(self.tasks.get_mut(&id).and_then(seen))
            }
            StoreRequest::List { principal, after, limit } => {
                let mut tasks: Vec<_> = self.tasks.values().filter(|task| task.principal == principal).collect();
                tasks.retain(|task| !task.is_expired(unix_ms));
                tasks.sort_by_key(|task| TaskCursor::of(task));
                tasks.retain(|task| after.as_ref().is_none_or(|after| TaskCursor::of(task) > *after));
                let next = (tasks.len() > limit).then(|| TaskCursor::of(tasks[limit - 1]));
                StoreOutcome::Page(TaskPage { tasks: tasks.into_iter().take(limit).cloned().collect(), next })
            }
            StoreRequest::Change { id, party, change } => {
                let Some(task) = self.tasks.get_mut(&id) else { return StoreOutcome::Changed(None) };
                let seen = look(task, &party, Some(&change), unix_ms);
                StoreOutcome::Changed(seen.map(|seen| (seen.applied, Box::new(task.clone()))))
            }
            StoreRequest::Remove { id } => StoreOutcome::Removed(self.tasks.remove(&id).is_some()),
            StoreRequest::Spend { token, .. } => StoreOutcome::Spent { first: self.spent.insert(token) },
        }
    }
}

impl Pair {
    /// A pair whose server has this configuration.
    ///
    /// # Errors
    /// What [`Server::new`] says of it.
    pub fn new(config: ServerConfig) -> Result<Self, LocalError> {
        let mut server = Server::new(config)?;
        server.set_entropy(counting());
        server.set_epoch(EPOCH);
        let stream = server.open(0);
        let mut pair = Self {
            server,
            stream,
            now: 0,
            sent: VecDeque::new(),
            events: VecDeque::new(),
            store: Store::default(),
            partial: Vec::new(),
        };
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

    /// Lets the store do what has waited for it.
    pub fn serve_store(&mut self) {
        while self.serve_store_once() {}
    }

    /// Lets the store do the first thing that has waited for it. False: nothing has.
    pub fn serve_store_once(&mut self) -> bool {
        let Some((op, request)) = self.store.waiting.pop_front() else { return false };
        let outcome = self.store.execute(request, EPOCH + self.now);
        self.server.stored(op, outcome, self.now);
        self.drain();
        true
    }

    /// Lets the store do any of what has waited for it; with `is_lost` nobody hears that it was done. False: nothing has.
    pub fn serve_store_at(&mut self, at: usize, is_lost: bool) -> bool {
        let at = at % self.store.waiting.len().max(1);
        let Some((op, request)) = self.store.waiting.remove(at) else { return false };
        let mut outcome = self.store.execute(request, EPOCH + self.now);
        if is_lost {
            outcome = StoreOutcome::Failed(StoreError::Unavailable("its answer was lost".into()));
        }
        self.server.stored(op, outcome, self.now);
        self.drain();
        true
    }

    /// Takes all outputs, as the contract wants it after every input and command.
    pub fn drain(&mut self) {
        while let Some(output) = self.server.poll_output() {
            match output {
                Output::Event(Event::Store { op, request }) if self.store.waits => {
                    self.store.waiting.push_back((op, request));
                }
                Output::Event(Event::Store { op, request }) => {
                    let outcome = self.store.execute(request, EPOCH + self.now);
                    self.server.stored(op, outcome, self.now);
                }
                Output::Event(event) => self.events.push_back(event),
                // A stream of lines has no lanes.
                Output::Unanswered { .. } => {}
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
