//! Several servers that serve the same clients, over a bus in memory and over a Redis server: whatever belongs to a session works
//! on every node, and what changes on one is told on all.

#[path = "common/http_client.rs"]
mod http_client;
#[path = "task_stores/redis_server.rs"]
mod redis_server;

use ferromcp::engine::http::{ClusterUrl, HttpConfig};
use ferromcp::engine::{DiagnosticKind, ListKind};
use ferromcp::http::HttpOptions;
use ferromcp::http::cluster::MemoryBus;
use ferromcp::{Elicited, LogLevel, ResourceOutput, ServeOptions, Server, Serving, ToolOutput};
use http_client::{Answer, LONG, MODERN, send};
use redis_server::RedisServer;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Where the nodes of a test meet.
#[derive(Clone)]
enum Place {
    Memory(MemoryBus),
    Redis(String),
}

#[derive(Deserialize)]
struct Name {
    name: String,
}

/// A node, and what its functions are told and tell.
struct Node {
    server: Serving,
    /// Lets `wait` return.
    go_on: Sender<()>,
    /// Says how `wait` has ended.
    ended: Receiver<String>,
    diagnostics: Receiver<DiagnosticKind>,
}

fn start(place: &Place, name: &str) -> Node {
    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}}).to_string();
    let (go_on, told) = channel::<()>();
    let (ending, ended) = channel();
    let told = Mutex::new(told);
    let server = Server::new("test", "1")
        .resource(json!({"uri": "note:1", "name": "note"}).to_string(), |_| Ok(ResourceOutput::text("text")))
        .tool(tool("big"), |call| {
            let length: Value = call.arguments()?;
            Ok(ToolOutput::text("x".repeat(length["length"].as_u64().unwrap_or(0) as usize)))
        })
        .tool(tool("echo"), |call| {
            let text: Value = call.arguments()?;
            Ok(ToolOutput::text(text["text"].as_str().unwrap_or_default().to_owned()))
        })
        .tool(tool("steps"), |call| {
            call.report_progress(1.0, Some(2.0), None);
            Ok(ToolOutput::text("done"))
        })
        .tool(tool("wait"), move |call| {
            call.report_progress(1.0, None, None);
            let told = told.lock().expect("no handler panics");
            let until = Instant::now() + LONG;
            while told.recv_timeout(Duration::from_millis(1)).is_err() && Instant::now() < until {
                if call.is_cancelled() {
                    let _ = ending.send("cancelled".into());
                    return Ok(ToolOutput::text("cancelled"));
                }
            }
            let _ = ending.send("returned".into());
            Ok(ToolOutput::text("later"))
        })
        .tool(tool("ask"), |call| {
            let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
            Ok(ToolOutput::text(match call.elicit::<Name>("Who are you?", &schema.to_string())? {
                Elicited::Accept(Name { name }) => format!("hello {name}"),
                _ => "nobody".into(),
            }))
        });
    let (diagnosed, diagnostics) = channel();
    let diagnosed = Mutex::new(diagnosed);
    let mut options = ServeOptions {
        diagnostics: Some(Arc::new(move |diagnostic| {
            let _ = diagnosed.lock().expect("nobody panics").send(diagnostic.kind);
        })),
        ..ServeOptions::default()
    };
    let mut config = HttpConfig { cluster_name: name.into(), ..HttpConfig::default() };
    match place {
        Place::Memory(bus) => options.cluster = Some(Arc::new(bus.clone())),
        Place::Redis(url) => config.cluster = Some(ClusterUrl(url.clone())),
    }
    let http = HttpOptions { port: 0, announce: false, config, ..HttpOptions::default() };
    let server = server.options(options).start_http(http).expect("it starts");
    Node { server, go_on, ended, diagnostics }
}

fn pair(place: &Place, name: &str) -> (Node, Node) {
    (start(place, name), start(place, name))
}

/// A session, on whichever node.
struct Session {
    id: String,
}

impl Session {
    fn open(node: &Node) -> Self {
        let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
            "capabilities": {"elicitation": {}}, "clientInfo": {"name": "t", "version": "1"}}});
        let answer = send(&node.server, "POST", &[], &initialize.to_string());
        let id = answer.header("mcp-session-id").expect("a session").to_owned();
        // 2025-11-25 `basic/transports`, "Session Management", 1: visible ASCII.
        assert!(id.bytes().all(|byte| (0x21..=0x7e).contains(&byte)), "{id}");
        let session = Self { id };
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(session.post(node, &initialized).status, 202);
        session
    }

    fn send(&self, node: &Node, method: &str, more: &[(&str, &str)], body: &str) -> Answer {
        let mut headers = vec![("Mcp-Session-Id", self.id.as_str()), ("MCP-Protocol-Version", "2025-11-25")];
        headers.extend_from_slice(more);
        send(&node.server, method, &headers, body)
    }

    fn post(&self, node: &Node, message: &Value) -> Answer {
        self.send(node, "POST", &[], &message.to_string())
    }

    fn call(&self, node: &Node, tool: &str, arguments: &Value) -> Answer {
        self.post(
            node,
            &json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call",
                "params": {"name": tool, "arguments": arguments, "_meta": {"progressToken": 1}}}),
        )
    }

    fn stream(&self, node: &Node, after: Option<&str>) -> Answer {
        let mut headers = vec![("Accept", "text/event-stream")];
        headers.extend(after.map(|event| ("Last-Event-ID", event)));
        self.send(node, "GET", &headers, "")
    }
}

fn listen(node: &Node) -> Answer {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{{{MODERN},"notifications":{{"toolsListChanged":true,"resourceSubscriptions":["note:1"]}}}}}}"#
    );
    let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "subscriptions/listen")];
    let mut stream = send(&node.server, "POST", &headers, &body);
    stream.until("notifications/subscriptions/acknowledged");
    stream
}

fn text(answer: &mut Answer) -> String {
    answer.json()["result"]["content"][0]["text"].as_str().expect("a text").to_owned()
}

/// The id of the last event.
fn last_event(events: &str) -> &str {
    events.lines().rev().find_map(|line| line.strip_prefix("id: ")).expect("an event to come back for")
}

/// Waits for what another thread brings about.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn every_verb_works_on_the_other_node(place: &Place, name: &str) {
    let (a, b) = pair(place, name);
    let session = Session::open(&a);
    assert_eq!(text(&mut session.call(&b, "echo", &json!({"text": "caf\u{e9}\n"}))), "caf\u{e9}\n");
    // A request and a response that take several frames.
    let long = "y".repeat(700_000);
    assert_eq!(text(&mut session.call(&b, "echo", &json!({"text": long}))), long);
    assert_eq!(text(&mut session.call(&b, "big", &json!({"length": 3_000_000}))).len(), 3_000_000);
    let mut steps = session.call(&b, "steps", &json!({}));
    assert_eq!(steps.header("content-type"), Some("text/event-stream"));
    let events = steps.rest();
    assert!(events.contains("notifications/progress") && events.contains("done"), "{events}");
    let unknown = session.post(&b, &json!({"jsonrpc": "2.0", "id": 6, "method": "no/such"})).json();
    assert_eq!(unknown["error"]["code"], -32601);
    assert_eq!(session.send(&b, "POST", &[], "{").status, 400);
    let mut stream = session.stream(&b, None);
    assert_eq!((stream.status, stream.header("x-accel-buffering")), (200, Some("no")));
    stream.until("retry:");
    assert_eq!(session.send(&b, "DELETE", &[], "").status, 204);
    assert_eq!(stream.rest(), "");
    for node in [&a, &b] {
        assert_eq!(session.call(node, "echo", &json!({})).status, 404);
    }
    // What names no node, and what names one that was never there.
    for id in ["other", "nobody.x", ".x", "a*b.x", "a b.x"] {
        let nowhere = Session { id: id.into() };
        assert_eq!(nowhere.call(&b, "echo", &json!({})).status, 404, "{id}");
    }
}

/// 2025-11-25 `basic/transports`, "Resumability and Redelivery".
fn a_lost_stream_is_opened_again_on_the_other_node(place: &Place, name: &str) {
    let (a, b) = pair(place, name);
    let session = Session::open(&a);
    let mut call = session.call(&b, "wait", &json!({}));
    let begun = call.until("notifications/progress");
    drop(call);
    let mut again = session.stream(&b, Some(last_event(&begun)));
    a.go_on.send(()).expect("the call waits");
    // 2025-11-25 `basic/transports`, "Sending Messages to the Server": a connection that ends cancels nothing.
    assert_eq!(a.ended.recv_timeout(LONG).expect("it ends"), "returned");
    let rest = again.rest();
    assert!(rest.contains("later") && !rest.contains("notifications/progress"), "{rest}");
    assert!(session.stream(&a, Some(last_event(&begun))).rest().contains("later"));
}

fn the_client_is_asked_across_nodes(place: &Place, name: &str) {
    let (a, b) = pair(place, name);
    let session = Session::open(&a);
    let mut call = session.call(&b, "ask", &json!({}));
    let asked = call.until("elicitation/create");
    let question = asked.lines().filter_map(|line| line.strip_prefix("data: ")).find(|data| data.contains("create"));
    let question: Value = serde_json::from_str(question.expect("a question")).expect("JSON");
    let answer = json!({"jsonrpc": "2.0", "id": question["id"],
        "result": {"action": "accept", "content": {"name": "Ann"}}});
    assert_eq!(session.post(&b, &answer).status, 202);
    assert!(call.rest().contains("hello Ann"));
}

fn changes_are_told_on_every_node(place: &Place, name: &str) {
    let (a, b) = pair(place, name);
    let session = Session::open(&a);
    let watch = json!({"jsonrpc": "2.0", "id": 7, "method": "resources/subscribe", "params": {"uri": "note:1"}});
    assert_eq!(session.post(&b, &watch).json()["result"], json!({}));
    // A stream of a session of the one node, fetched from the other, and a modern one there.
    let mut legacy = session.stream(&b, None);
    legacy.until("retry:");
    let (mut here, mut there) = (listen(&a), listen(&b));
    for (node, tool) in [(&a, "a"), (&b, "b")] {
        node.server.endpoint().notify_changed(ListKind::Tools).expect("it serves");
        node.server.endpoint().resource_updated("note:1").expect("it serves");
        node.server.endpoint().log_clients(LogLevel::Error, Some(tool), "\"news\"").expect("it serves");
        node.server.endpoint().notify_clients("notifications/own", None).expect("it serves");
        // Changes of a list are told a little later, once for all of them.
        let wanted =
            ["notifications/tools/list_changed", "notifications/resources/updated", "\"news\"", "notifications/own"];
        exactly_once(&mut legacy, &wanted);
        exactly_once(&mut here, &wanted[..2]);
        exactly_once(&mut there, &wanted[..2]);
    }
}

/// Reads until all of them have come.
fn exactly_once(stream: &mut Answer, wanted: &[&str]) {
    let mut told = String::new();
    while !wanted.iter().all(|wanted| told.contains(wanted)) {
        told.push_str(&stream.chunk().unwrap_or_else(|| panic!("the stream ended: {told}")));
    }
    for wanted in wanted {
        assert_eq!(told.matches(wanted).count(), 1, "{wanted}: {told}");
    }
}

fn a_session_is_gone_with_its_node(place: &Place, name: &str) {
    let (a, b) = pair(place, name);
    let session = Session::open(&a);
    let mut stream = session.stream(&b, None);
    stream.until("retry:");
    let mut call = session.call(&b, "wait", &json!({}));
    call.until("notifications/progress");
    drop(call);
    a.server.stop().expect("it ends");
    stream.rest();
    // 2025-11-25 `basic/transports`, "Session Management", 3: 404, and the client opens a new session.
    let mut answer = session.call(&b, "echo", &json!({}));
    assert_eq!((answer.status, answer.json()["id"].clone()), (404, Value::Null));
    let session = Session::open(&b);
    assert_eq!(text(&mut session.call(&b, "echo", &json!({"text": "x"}))), "x");
}

/// The end of the node that clients have come to: streams of changes end, an answer that is due is waited for.
fn a_node_ends_in_good_order(place: &Place, name: &str) {
    let (a, b) = pair(place, name);
    let session = Session::open(&a);
    let mut stream = session.stream(&b, None);
    stream.until("retry:");
    let mut call = session.call(&b, "wait", &json!({}));
    call.until("notifications/progress");
    let ender = std::thread::spawn(move || b.server.stop());
    assert_eq!(stream.rest(), "");
    a.go_on.send(()).expect("the call waits");
    assert!(call.rest().contains("later"));
    ender.join().expect("no panic").expect("it ends");
    assert_eq!(text(&mut session.call(&a, "echo", &json!({"text": "x"}))), "x");
}

/// More than the window, and nothing of it lost or out of order.
fn a_slow_client_gets_all_of_it(place: &Place, name: &str) {
    let (a, b) = pair(place, name);
    let session = Session::open(&a);
    let mut stream = session.stream(&b, None);
    stream.until("retry:");
    // Less than `max_backlog_bytes`, past which a stream of changes is ended.
    for number in 0..900 {
        let data = json!(format!("{number:04} {}", "z".repeat(900))).to_string();
        a.server.endpoint().log_clients(LogLevel::Error, None, &data).expect("it serves");
    }
    let all = stream.until("0899 ");
    let numbers: Vec<&str> =
        all.match_indices("\"data\":\"").map(|(at, found)| &all[at + found.len()..][..4]).collect();
    assert_eq!(numbers, (0..900).map(|number| format!("{number:04}")).collect::<Vec<_>>());
}

type Scenario = (&'static str, fn(&Place, &str));

const SCENARIOS: [Scenario; 7] = [
    ("verbs", every_verb_works_on_the_other_node),
    ("again", a_lost_stream_is_opened_again_on_the_other_node),
    ("asking", the_client_is_asked_across_nodes),
    ("changes", changes_are_told_on_every_node),
    ("gone", a_session_is_gone_with_its_node),
    ("end", a_node_ends_in_good_order),
    ("slow", a_slow_client_gets_all_of_it),
];

#[test]
fn nodes_in_one_process() {
    for (name, scenario) in SCENARIOS {
        eprintln!("{name}");
        scenario(&Place::Memory(MemoryBus::default()), name);
    }
}

#[test]
fn nodes_that_meet_on_a_redis_server() {
    let redis = RedisServer::start();
    for (name, scenario) in SCENARIOS {
        eprintln!("{name}");
        scenario(&Place::Redis(redis.url()), name);
    }
    // Those that have gone listen no more; theirs were no other names.
    eventually("nobody listens", || redis.ask("PUBSUB CHANNELS") == "*0");
}

#[test]
fn a_node_that_is_alone_serves_its_own_clients_and_finds_back() {
    let mut redis = RedisServer::start();
    let (a, b) = pair(&Place::Redis(redis.url()), "alone");
    let session = Session::open(&a);
    let mut stream = session.stream(&b, None);
    stream.until("retry:");
    redis.kill();
    // Broken off, so that the client comes back: it is no end.
    eventually("both say so", || {
        let mut answer = session.call(&b, "echo", &json!({}));
        answer.status == 503 && answer.header("retry-after").is_some() && answer.json()["id"] == Value::Null
    });
    assert_eq!(text(&mut session.call(&a, "echo", &json!({"text": "x"}))), "x");
    for node in [&a, &b] {
        let kind = node.diagnostics.recv_timeout(LONG).expect("a diagnostic");
        assert_eq!(kind, DiagnosticKind::Cluster);
        node.server.endpoint().notify_changed(ListKind::Tools).expect("it serves");
    }
    redis.start_again();
    eventually("they find each other", || session.call(&b, "echo", &json!({"text": "x"})).status == 200);
    let mut stream = session.stream(&b, None);
    stream.until("retry:");
    b.server.endpoint().notify_changed(ListKind::Tools).expect("it serves");
    stream.until("notifications/tools/list_changed");
    for node in [&a, &b] {
        assert_eq!(node.diagnostics.try_recv().ok(), None, "once");
    }
}

#[test]
fn a_place_that_is_none_is_refused() {
    for (url, name) in [("http://x", "n"), ("redis://", ""), ("redis://h:port", "n")] {
        let config = HttpConfig { cluster: Some(url.into()), cluster_name: name.into(), ..HttpConfig::default() };
        let options = HttpOptions { port: 0, announce: false, config, ..HttpOptions::default() };
        let refused = Server::new("test", "1").start_http(options).err().expect("it is wrong");
        assert!(refused.to_string().contains("cluster"), "{refused}");
    }
    let secret = HttpConfig { cluster: Some("redis://u:secret@h".into()), ..HttpConfig::default() };
    assert!(!format!("{secret:?}").contains("secret"));
}
