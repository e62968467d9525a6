//! Middleware round the calls of host code: order, refusals, ends, and what is told of them.

mod common;

use common::{Client, LONG, ping, text, tool};
use ferromcp::engine::CallLimits;
use ferromcp::engine::{CancelReason, LocalError};
use ferromcp::middleware::{CallFacts, End, Outcome, Refusal};
use ferromcp::{Error, Middleware, PeerError, Server, ToolError, ToolOutput};
use serde_json::json;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex};

/// Writes down what it sees.
struct Recorder {
    name: &'static str,
    log: Sender<String>,
    ends: Sender<Outcome>,
}

/// What both recorders write down, and the ends that the outermost one sees.
struct Seen {
    log: Receiver<String>,
    ends: Receiver<Outcome>,
}

impl Seen {
    fn end(&self) -> Outcome {
        self.ends.recv_timeout(LONG).expect("an end in time")
    }

    /// The next lines, and there are no others yet.
    fn expect(&self, lines: &[&str]) {
        for line in lines {
            assert_eq!(self.log.recv_timeout(LONG).as_deref(), Ok(*line));
        }
        assert_eq!(self.log.try_recv(), Err(TryRecvError::Empty));
    }
}

impl Recorder {
    fn note(&self, what: &str) {
        // The test may be over.
        let _ = self.log.send(format!("{} {what}", self.name));
    }
}

impl Middleware for Recorder {
    fn before(&self, call: &CallFacts) -> Result<(), Refusal> {
        self.note(&format!("before {}", call.name().unwrap_or_default()));
        Ok(())
    }
    fn leave(&self, _: &CallFacts) {
        self.note("leave");
    }
    fn after(&self, _: &CallFacts, outcome: &Outcome) {
        self.note("after");
        let _ = self.ends.send(outcome.clone());
    }
    fn wants_text(&self) -> bool {
        true
    }
}

/// A server with an outer and an inner recorder, and `between` them.
fn recorded(server: Server, between: impl Middleware) -> (Server, Seen) {
    let ((log, lines), (ends, outcomes)) = (channel(), channel());
    let outer = Recorder { name: "outer", log: log.clone(), ends };
    let inner = Recorder { name: "inner", log, ends: channel().0 };
    (server.middleware(outer).middleware(between).middleware(inner), Seen { log: lines, ends: outcomes })
}

/// Lets everything through.
struct Nothing;
impl Middleware for Nothing {}

struct Refuses(fn() -> Refusal);
impl Middleware for Refuses {
    fn before(&self, _: &CallFacts) -> Result<(), Refusal> {
        Err((self.0)())
    }
}

fn server() -> Server {
    Server::new("test", "1")
        .tool(tool("ok"), |_| Ok(ToolOutput::text("fine")))
        .tool(tool("bad"), |_| Err(ToolError::new("did not work")))
        .tool(tool("worse"), |_| Err(ToolError::protocol(PeerError::invalid_params("never"))))
        .tool(tool("panics"), |_| panic!("as it must"))
        .prompt(r#"{"name":"hello"}"#, |_| Ok(ferromcp::PromptOutput::new().user("hi")))
}

fn prompt(id: u64) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": "prompts/get", "params": {"name": "hello"}}).to_string()
}

#[test]
fn the_first_is_the_outermost() {
    let (server, seen) = recorded(server(), Nothing);
    let mut client = Client::connect(server);
    client.call(1, "ok", "{}");
    client.expect(1);
    let outcome = seen.end();
    seen.expect(&["outer before ok", "inner before ok", "inner leave", "outer leave", "inner after", "outer after"]);
    assert_eq!((outcome.end, outcome.refused, outcome.bytes), (End::Result, false, 4));
    assert_eq!((outcome.text.as_deref(), outcome.task_id), (Some("fine"), None));
}

#[test]
fn each_kind_of_end_is_told() {
    let (server, seen) = recorded(server(), Nothing);
    let mut client = Client::connect(server);
    let cases =
        [("ok", End::Result), ("bad", End::ToolError), ("worse", End::Error(-32602)), ("panics", End::ToolError)];
    for (id, (tool, end)) in (1..).zip(cases) {
        client.call(id, tool, "{}");
        client.expect(id);
        assert_eq!(seen.end().end, end, "{tool}");
    }
    client.send(&[&prompt(9)]);
    client.expect(9);
    assert_eq!(seen.end().end, End::Result);
}

#[test]
fn what_the_engine_answers_itself_passes_by() {
    let (server, seen) = recorded(server(), Nothing);
    let mut client = Client::connect(server);
    client.send(&[&ping(1)]);
    client.expect(1);
    client.call(2, "unknown", "{}");
    assert_eq!(client.expect(2)["error"]["code"], -32602);
    client.call(3, "ok", "{}");
    client.expect(3);
    seen.end();
    seen.expect(&["outer before ok", "inner before ok", "inner leave", "outer leave", "inner after", "outer after"]);
}

#[test]
fn a_refused_call_is_no_business_of_what_is_inside() {
    let (server, seen) = recorded(server(), Refuses(|| Refusal::new("Not today.")));
    let mut client = Client::connect(server);
    client.call(1, "ok", "{}");
    let answer = client.expect(1);
    assert_eq!((answer["result"]["isError"].as_bool(), text(&answer)), (Some(true), "Not today."));
    let outcome = seen.end();
    assert_eq!((outcome.end, outcome.refused), (End::ToolError, true));
    seen.expect(&["outer before ok", "outer leave", "outer after"]);
}

#[test]
fn methods_without_tool_errors_are_refused_by_a_protocol_error() {
    let wait = || Refusal::new("Slow down.").retry_after(std::time::Duration::from_micros(1_500_001));
    let (server, _seen) = recorded(server(), Refuses(wait));
    let mut client = Client::connect(server);
    client.send(&[&prompt(1)]);
    let error = &client.expect(1)["error"];
    assert_eq!(error["code"], -32603);
    assert_eq!(error["message"], "Slow down. Try again in 1.501 s.");
    assert_eq!(error["data"], json!({"retryAfterMs": 1501}));
    client.call(2, "ok", "{}");
    assert_eq!(client.expect(2)["result"]["_meta"]["ferromcp/retryAfterMs"], 1501);
}

#[test]
fn a_refusal_may_be_any_error() {
    let (server, seen) = recorded(server(), Refuses(|| Refusal::error(PeerError::new(1234, "no").with_data("[1]"))));
    let mut client = Client::connect(server);
    client.call(1, "ok", "{}");
    assert_eq!(client.expect(1)["error"], json!({"code": 1234, "message": "no", "data": [1]}));
    assert_eq!(seen.end().end, End::Error(1234));
    // What can't be sent is an internal error, not a client that waits.
    let (server, _seen) = recorded(self::server(), Refuses(|| Refusal::error(PeerError::new(1, "no").with_data("{"))));
    let mut client = Client::connect(server);
    client.call(1, "ok", "{}");
    assert_eq!(client.expect(1)["error"]["code"], -32603);
}

struct Panics;
impl Middleware for Panics {
    fn before(&self, call: &CallFacts) -> Result<(), Refusal> {
        assert_ne!(call.name(), Some("bad"), "as it must");
        Ok(())
    }
    fn after(&self, _: &CallFacts, _: &Outcome) {
        panic!("as it must");
    }
    fn leave(&self, _: &CallFacts) {
        panic!("as it must");
    }
}

#[test]
fn middleware_that_panics_takes_nothing_with_it() {
    let (server, seen) = recorded(server(), Panics);
    let mut client = Client::connect(server);
    client.call(1, "ok", "{}");
    assert_eq!(text(&client.expect(1)), "fine");
    assert_eq!(seen.end().end, End::Result);
    client.call(2, "bad", "{}");
    assert_eq!(client.expect(2)["error"]["code"], -32603);
    assert_eq!(seen.end().end, End::Error(-32603));
}

/// A server with a tool that waits until it is told to go on, and what tells it.
fn waiting() -> (Server, Sender<()>, Receiver<()>) {
    let (go, gone) = channel::<()>();
    let (entered, here) = channel();
    let gone = Mutex::new(gone);
    let server = Server::new("test", "1").tool(tool("wait"), move |call| {
        entered.send(()).expect("the test waits");
        gone.lock().expect("nobody panicked").recv_timeout(LONG).expect("the test goes on");
        let _ = call.is_cancelled();
        Ok(ToolOutput::text("late"))
    });
    (server, go, here)
}

#[test]
fn a_cancelled_call_is_told_at_once_and_left_when_host_code_has_done() {
    let (server, go, here) = waiting();
    let (server, seen) = recorded(server, Nothing);
    let mut client = Client::connect(server);
    client.call(1, "wait", "{}");
    here.recv_timeout(LONG).expect("it runs");
    client.send(&[r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"bored"}}"#]);
    assert_eq!(seen.end().end, End::Cancelled(CancelReason::Peer(Some("bored".into()))));
    seen.expect(&["outer before wait", "inner before wait", "inner after", "outer after"]);
    go.send(()).expect("it waits");
    seen.expect(&["inner leave", "outer leave"]);
}

#[test]
fn calls_in_flight_at_the_end_are_told() {
    let (server, _go, here) = waiting();
    let (server, seen) = recorded(server, Nothing);
    let mut client = Client::connect(server);
    client.call(1, "wait", "{}");
    here.recv_timeout(LONG).expect("it runs");
    client.server.stop().expect("it is served");
    assert_eq!(seen.end().end, End::Cancelled(CancelReason::Closed));
}

/// Holds a call up in `before`.
struct Gate {
    here: Mutex<Sender<()>>,
    go: Mutex<Receiver<()>>,
}

impl Middleware for Gate {
    fn before(&self, _: &CallFacts) -> Result<(), Refusal> {
        self.here.lock().expect("nobody panicked").send(()).expect("the test waits");
        self.go.lock().expect("nobody panicked").recv_timeout(LONG).expect("the test goes on");
        Ok(())
    }
}

#[test]
fn host_code_never_sees_a_call_that_is_cancelled_in_between() {
    let ((here, at_gate), (go, gone)) = (channel(), channel());
    let ran = Arc::new(Mutex::new(false));
    let mark = Arc::clone(&ran);
    let server = Server::new("test", "1").tool(tool("t"), move |_| {
        *mark.lock().expect("nobody panicked") = true;
        Ok(ToolOutput::text("no"))
    });
    let (server, seen) = recorded(server, Gate { here: Mutex::new(here), go: Mutex::new(gone) });
    let mut client = Client::connect(server);
    client.call(1, "t", "{}");
    at_gate.recv_timeout(LONG).expect("it is looked at");
    client.send(&[r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#]);
    // Whoever has read the cancellation answers this.
    client.send(&[&ping(2)]);
    client.expect(2);
    go.send(()).expect("it waits");
    assert_eq!(seen.end().end, End::Cancelled(CancelReason::Peer(None)));
    assert!(!*ran.lock().expect("nobody panicked"));
}

struct Short;
impl Middleware for Short {
    fn limits(&self, _: &CallFacts) -> CallLimits {
        CallLimits { total_ms: Some(20), idle_ms: None }
    }
}

#[test]
fn limits_reach_the_engine() {
    let (server, go, here) = waiting();
    let (server, seen) = recorded(server, Short);
    let mut client = Client::connect(server);
    client.call(1, "wait", "{}");
    here.recv_timeout(LONG).expect("it runs");
    let answer = client.expect(1);
    assert_eq!(answer["result"]["isError"], true);
    assert!(text(&answer).contains("20 ms"), "{answer}");
    let outcome = seen.end();
    assert_eq!(outcome.end, End::Cancelled(CancelReason::Deadline));
    assert!(outcome.duration.as_millis() >= 19, "{:?}", outcome.duration);
    go.send(()).expect("it waits");
}

#[test]
fn facts_are_those_of_the_request() {
    struct Looks(Sender<serde_json::Value>);
    impl Middleware for Looks {
        fn before(&self, call: &CallFacts) -> Result<(), Refusal> {
            let trace = call.trace_context();
            let facts = json!([
                call.method(),
                call.name(),
                call.tool(),
                call.principal(),
                call.id_json(),
                call.revision().as_str(),
                call.client_info_json(),
                call.arguments_json(),
                call.tool_definition().map(|text| text.to_string()),
                trace.traceparent,
                trace.tracestate,
                trace.baggage,
            ]);
            self.0.send(facts).expect("the test waits");
            Ok(())
        }
    }
    let (sender, facts) = channel();
    let server = Server::new("test", "1").tool(tool("t"), |_| Ok(ToolOutput::text(""))).middleware(Looks(sender));
    let mut client = Client::open(server);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name":"c","version":"2"},
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01",
        "tracestate": 7, "baggage": "a=b",
    });
    let params = json!({"name": "t", "arguments": {"x": 1.50}, "_meta": meta});
    client.send(&[&json!({"jsonrpc": "2.0", "id": "one", "method": "tools/call", "params": params}).to_string()]);
    assert_eq!(client.receive()["id"], "one");
    let expected = json!([
        "tools/call",
        "t",
        "t",
        null,
        "\"one\"",
        "2026-07-28",
        r#"{"name":"c","version":"2"}"#,
        r#"{"x":1.5}"#,
        tool("t"),
        "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01",
        null,
        "a=b",
    ]);
    assert_eq!(facts.recv_timeout(LONG).expect("it was looked at"), expected);
}

#[test]
fn a_wrong_policy_starts_no_server() {
    let wrong = [
        r#"{"rate":{}}"#,
        r#"{"rateLimits":{"a":{"calls":0,"periodMs":1}}}"#,
        r#"{"rateLimits":{"a":{"calls":1,"periodMs":1,"by":["day"]}}}"#,
        r#"{"rateLimits":{"a":{"calls":1,"periodMs":18446744073709551615}}}"#,
        r#"{"rateLimits":{"a":{"calls":1,"periodMs":86400000,"burst":4294967295}}}"#,
        r#"{"concurrency":{"a":{"most":0}}}"#,
        r#"{"audit":{}}"#,
        r#"{"audit":{"stderr":true,"redact":["password"]}}"#,
    ];
    for json in wrong {
        let built = ferromcp::middleware::policy::Policy::from_json(json).and_then(|policy| policy.build());
        let Err(Error::Engine(LocalError::Config(reason))) = built else { panic!("{json} is taken") };
        assert!(reason.starts_with("policy: "), "{reason}");
    }
}
