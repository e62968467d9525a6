//! What a door of another language relies on: a lock of its own round host code, answers from its own threads, events
//! in order.

mod common;

use common::{INITIALIZE, INITIALIZED, LONG, call, ended, ping, tool};
use ferromcp::engine::{self, Call, Event, PeerError, Reply, ServerConfig};
use ferromcp::{CallQueue, EndReason, Endpoint, Error, Host, ServeOptions, Serving, start_fds};
use serde_json::Value;
use std::collections::HashSet;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

struct Door {
    server: Serving,
    input: PipeWriter,
    output: BufReader<PipeReader>,
}

impl Door {
    fn open(host: Arc<dyn Host>, options: ServeOptions) -> Self {
        Self::open_with(host, options, "{}")
    }

    /// For a client with these capabilities.
    fn open_with(host: Arc<dyn Host>, options: ServeOptions, capabilities: &str) -> Self {
        let mut engine = engine::Server::new(ServerConfig::new("door", "1")).expect("a configuration");
        engine.add_tool(&tool("any"), 0, 0).expect("a definition");
        let (input, to_server) = std::io::pipe().expect("a pipe");
        let (output, from_server) = std::io::pipe().expect("a pipe");
        let server = start_fds(engine, host, input.into(), from_server.into(), options).expect("the server starts");
        let mut door = Self { server, input: to_server, output: BufReader::new(output) };
        door.send(&INITIALIZE.replace(r#""capabilities":{}"#, &format!(r#""capabilities":{capabilities}"#)));
        door.expect("init");
        door.send(INITIALIZED);
        door
    }

    fn send(&mut self, message: &str) {
        self.input.write_all(format!("{message}\n").as_bytes()).expect("the server reads");
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the server writes");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn expect(&mut self, id: impl Into<Value>) -> Value {
        let message = self.receive();
        assert_eq!(message["id"], id.into(), "{message}");
        message
    }
}

fn done() -> Reply<'static> {
    Reply::Tool { content: r#"[{"type":"text","text":"done"}]"#, structured: None, is_error: false, meta: None }
}

/// A host whose code needs a lock, like an interpreter's. Counts the threads that come to its door.
#[derive(Default)]
struct Locked {
    lock: Mutex<()>,
    entered: AtomicUsize,
    at_door: AtomicUsize,
}

impl Host for Locked {
    fn run(&self, endpoint: &Arc<Endpoint>, queue: &CallQueue) {
        self.at_door.fetch_add(1, Ordering::SeqCst);
        let _held = self.lock.lock().expect("nobody panics with it");
        self.entered.fetch_add(1, Ordering::SeqCst);
        while let Some(call) = queue.next() {
            endpoint.respond(call.key, done()).expect("an answer that fits");
        }
    }

    fn notice(&self, _: &Arc<Endpoint>, _: Event) {}
}

#[test]
fn no_line_of_threads_forms_at_a_lock_of_the_host() {
    let host = Arc::new(Locked::default());
    let mut door = Door::open(Arc::clone(&host) as Arc<dyn Host>, ServeOptions::default());
    let held = host.lock.lock().expect("nobody panics with it");
    for id in 0..50 {
        door.send(&call(id, "any", "{}"));
        // The protocol is served all the time.
        door.send(&ping(1_000 + id));
        door.expect(1_000 + id);
    }
    assert_eq!(host.at_door.load(Ordering::SeqCst), 1);
    drop(held);
    for id in 0..50 {
        door.expect(id);
    }
    // The thread that waited has run all of them.
    assert_eq!(host.entered.load(Ordering::SeqCst), 1);
    door.send(&call(50, "any", "{}"));
    door.expect(50);
}

/// A host whose first call does not return before it may, behind a lock.
struct Stuck {
    lock: Mutex<()>,
    begun: Mutex<Sender<()>>,
    may_return: Mutex<Receiver<()>>,
}

impl Host for Stuck {
    fn run(&self, endpoint: &Arc<Endpoint>, queue: &CallQueue) {
        drop(self.lock.lock().expect("nobody panics with it"));
        while let Some(call) = queue.next() {
            if call.id_json() == "0" {
                self.begun.lock().expect("nobody panics with it").send(()).expect("the test waits");
                self.may_return.lock().expect("nobody panics with it").recv().expect("the test says so");
            }
            endpoint.respond(call.key, done()).expect("an answer that fits");
        }
    }

    fn notice(&self, _: &Arc<Endpoint>, _: Event) {}
}

#[test]
fn a_call_that_had_to_wait_for_the_lock_and_then_gets_stuck_holds_nobody_up() {
    let (begin, begun) = channel();
    let (end, may_return) = channel();
    let host = Arc::new(Stuck { lock: Mutex::new(()), begun: Mutex::new(begin), may_return: Mutex::new(may_return) });
    let mut door = Door::open(Arc::clone(&host) as Arc<dyn Host>, ServeOptions::default());
    let held = host.lock.lock().expect("nobody panics with it");
    door.send(&call(0, "any", "{}"));
    // Answered by a thread that has taken the lead from the one at the lock.
    door.send(&ping(1));
    door.expect(1);
    drop(held);
    begun.recv_timeout(LONG).expect("the call begins");
    for id in 2..5 {
        door.send(&call(id, "any", "{}"));
        door.expect(id);
    }
    end.send(()).expect("the call waits");
    door.expect(0);
}

/// A call, and where to answer it.
type Given = (Arc<Endpoint>, Call);

/// A host that gives its calls away.
struct Elsewhere(Mutex<Sender<Given>>);

impl Host for Elsewhere {
    fn run(&self, endpoint: &Arc<Endpoint>, queue: &CallQueue) {
        while let Some(call) = queue.next() {
            let sender = self.0.lock().expect("nobody panics with it");
            // The test may be over.
            let _ = sender.send((Arc::clone(endpoint), call));
        }
    }

    fn notice(&self, _: &Arc<Endpoint>, _: Event) {}
}

#[test]
fn a_call_that_host_code_has_left_is_not_kept_for_it_when_it_is_cancelled() {
    let (give, given) = channel();
    let host = Arc::new(Elsewhere(Mutex::new(give)));
    let mut door = Door::open_with(host, ServeOptions::default(), r#"{"roots":{}}"#);
    let requests = Some(r#"{"r":{"method":"roots/list"}}"#);
    for (id, leaves) in [(1, true), (2, false)] {
        door.send(&call(id, "any", "{}"));
        let (endpoint, call) = given.recv_timeout(LONG).expect("a call");
        if leaves {
            assert!(endpoint.respond(call.key, Reply::InputRequired { requests, state: None }).expect("a round"));
            assert_eq!(door.receive()["method"], "roots/list");
        }
        let params = format!(r#"{{"requestId":{id}}}"#);
        door.send(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}"#));
        if leaves {
            assert_eq!(door.receive()["method"], "notifications/cancelled");
        }
        door.send(&ping(10 + id));
        door.expect(10 + id);
        assert_eq!(endpoint.is_cancelled(call.key), !leaves, "only who runs has to hear of it");
    }
}

fn elsewhere() -> (Arc<dyn Host>, Receiver<Given>) {
    let (sender, calls) = channel();
    (Arc::new(Elsewhere(Mutex::new(sender))), calls)
}

#[test]
fn calls_are_answered_from_any_thread() {
    let (host, calls) = elsewhere();
    let mut door = Door::open(host, ServeOptions::default());
    for id in 0..100 {
        door.send(&call(id, "any", "{}"));
    }
    let taken: Vec<_> = (0..100).map(|_| calls.recv_timeout(LONG).expect("a call")).collect();
    // Held back: the ping's answer, given by another thread, takes them along at the latest.
    let endpoint = Arc::clone(door.server.endpoint());
    let deferred = endpoint.defer();
    for (endpoint, call) in &taken {
        assert!(endpoint.respond(call.key, done()).expect("an answer that fits"));
    }
    drop(deferred);
    for id in 0..100 {
        door.expect(id);
    }
    let (endpoint, call) = &taken[0];
    assert!(!endpoint.respond(call.key, done()).expect("answering twice is no error"));
}

#[test]
fn a_thread_of_the_host_is_not_held_up_by_a_slow_client() {
    let (host, calls) = elsewhere();
    let mut door = Door::open(host, ServeOptions::default());
    door.send(&call(1, "any", "{}"));
    let (endpoint, taken) = calls.recv_timeout(LONG).expect("a call");
    let content = format!(r#"[{{"type":"text","text":"{}"}}]"#, "x".repeat(4 << 20));
    let reply = Reply::Tool { content: &content, structured: None, is_error: false, meta: None };
    // Far more than the pipe holds, and nobody reads: this returns all the same.
    assert!(endpoint.respond(taken.key, reply).expect("an answer that fits"));
    let answer = door.expect(1);
    assert_eq!(common::text(&answer).len(), 4 << 20);
}

/// Asks the client back, and shows the events.
struct Asking {
    events: Mutex<Sender<String>>,
    asked: Mutex<Vec<(engine::OutgoingKey, engine::RequestKey)>>,
}

impl Host for Asking {
    fn run(&self, endpoint: &Arc<Endpoint>, queue: &CallQueue) {
        while let Some(call) = queue.next() {
            match endpoint.request(Some(call.key), "roots/list", None, None) {
                Ok(key) => self.asked.lock().expect("nobody panics with it").push((key, call.key)),
                Err(error) => {
                    let error = PeerError::internal(error.to_string());
                    assert!(endpoint.fail(call.key, &error).expect("an error that fits"));
                }
            }
        }
    }

    fn notice(&self, endpoint: &Arc<Endpoint>, event: Event) {
        let name = match &event {
            Event::Initialized { .. } => "initialized",
            Event::Notification { .. } => "notification",
            Event::Response { .. } => "response",
            Event::Cancelled { .. } => "cancelled",
            Event::Drained { .. } => "drained",
            _ => "other",
        };
        self.events.lock().expect("nobody panics with it").send(name.into()).expect("the test listens");
        if let Event::Response { key, .. } = event {
            let asked = self.asked.lock().expect("nobody panics with it");
            let (_, call) = asked.iter().find(|(asked, _)| *asked == key).expect("it was asked for");
            assert!(endpoint.respond(*call, done()).expect("an answer that fits"));
        }
    }
}

#[test]
fn events_come_in_order_and_may_be_answered_on_the_spot() {
    let (sender, events) = channel();
    let host = Arc::new(Asking { events: Mutex::new(sender), asked: Mutex::new(Vec::new()) });
    let (input, to_server) = std::io::pipe().expect("a pipe");
    let (output, from_server) = std::io::pipe().expect("a pipe");
    let mut engine = engine::Server::new(ServerConfig::new("door", "1")).expect("a configuration");
    engine.add_tool(&tool("any"), 0, 0).expect("a definition");
    let server = start_fds(engine, host, input.into(), from_server.into(), ServeOptions::default()).expect("it starts");
    let mut door = Door { server, input: to_server, output: BufReader::new(output) };
    door.send(&INITIALIZE.replace(r#""capabilities":{}"#, r#""capabilities":{"roots":{}}"#));
    door.expect("init");
    door.send(INITIALIZED);
    door.send(&call(1, "any", "{}"));
    let request = door.receive();
    assert_eq!(request["method"], "roots/list");
    door.send(r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#);
    door.send(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"roots":[]}}}}"#, request["id"]));
    door.expect(1);
    let Door { server, input, .. } = door;
    drop(input);
    ended(&server).expect("an orderly end");
    let seen: Vec<_> = (0..4).map(|_| events.recv_timeout(LONG).expect("an event")).collect();
    assert_eq!(seen, ["initialized", "notification", "response", "drained"]);
}

/// Panics where a host must not.
struct Broken;

impl Host for Broken {
    fn run(&self, _: &Arc<Endpoint>, _: &CallQueue) {
        panic!("on purpose");
    }

    fn notice(&self, _: &Arc<Endpoint>, _: Event) {}
}

#[test]
fn a_host_that_panics_ends_the_server_with_an_error() {
    let mut door = Door::open(Arc::new(Broken), ServeOptions::default());
    door.send(&call(1, "any", "{}"));
    assert!(matches!(ended(&door.server), Err(Error::Panicked)));
}

/// Calls that are neither quick nor long, from a client that keeps many in flight.
#[test]
fn a_crowd_of_blocking_calls_is_served_by_as_many_threads_as_allowed() {
    struct Sleepy(Mutex<HashSet<std::thread::ThreadId>>);
    impl Host for Sleepy {
        fn run(&self, endpoint: &Arc<Endpoint>, queue: &CallQueue) {
            while let Some(call) = queue.next() {
                self.0.lock().expect("nobody panics with it").insert(std::thread::current().id());
                std::thread::sleep(Duration::from_millis(20));
                endpoint.respond(call.key, done()).expect("an answer that fits");
            }
        }
        fn notice(&self, _: &Arc<Endpoint>, _: Event) {}
    }
    let host = Arc::new(Sleepy(Mutex::default()));
    let options = ServeOptions { max_threads: 8, ..ServeOptions::default() };
    let mut door = Door::open(Arc::clone(&host) as Arc<dyn Host>, options);
    let start = Instant::now();
    for id in 0..70 {
        door.send(&call(id, "any", "{}"));
    }
    let ids: HashSet<_> = (0..70).map(|_| door.receive()["id"].as_u64().expect("a number")).collect();
    assert_eq!(ids, (0..70).collect());
    // 1.4 s one after another; seven at a time take 0.2 s. Half of the former leaves room for a loaded machine.
    assert!(start.elapsed() < Duration::from_millis(700), "{:?}", start.elapsed());
    assert!(host.0.lock().expect("nobody panics with it").len() <= 8);
    let Door { server, input, .. } = door;
    drop(input);
    assert_eq!(ended(&server).expect("an orderly end").reason, EndReason::EndOfInput);
}
