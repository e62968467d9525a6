//! The policy: limits, timeouts and the audit log, over pipes.

mod common;

use common::{Client, LONG, ended, text, tool};
use ferromcp::middleware::policy::{AuditConfig, ConcurrencyLimit, CountBy, Policy, RateLimit, TimeoutConfig};
use ferromcp::{Server, ToolOutput};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A clock that the test moves.
#[derive(Clone, Default)]
struct Hand(Arc<AtomicU64>);

impl Hand {
    fn advance(&self, ms: u64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
    fn read(&self) -> impl Fn() -> Duration + Send + Sync + 'static {
        let ms = Arc::clone(&self.0);
        move || Duration::from_millis(ms.load(Ordering::SeqCst))
    }
}

fn server() -> Server {
    Server::new("test", "1")
        .tool(tool("a"), |_| Ok(ToolOutput::text("a")))
        .tool(tool("b"), |_| Ok(ToolOutput::text("b")))
}

/// Calls a tool and says whether it was refused.
fn refused(client: &mut Client, tool: &str) -> Option<u64> {
    client.call(1, tool, "{}");
    let answer = client.expect(1);
    if answer["result"]["isError"] != true {
        return None;
    }
    assert!(text(&answer).contains("Try again in"), "{answer}");
    Some(answer["result"]["_meta"]["ferromcp/retryAfterMs"].as_u64().expect("a number"))
}

// requirement: tools-rate-limit
#[test]
fn a_rate_refills_with_time() {
    let hand = Hand::default();
    let policy = Policy::new().rate_limit("few", RateLimit::new(2, 1_000)).clock(hand.read());
    let mut client = Client::connect(server().policy(policy));
    assert_eq!([refused(&mut client, "a"), refused(&mut client, "b")], [None, None]);
    assert_eq!(refused(&mut client, "a"), Some(500));
    hand.advance(499);
    assert_eq!(refused(&mut client, "a"), Some(1));
    hand.advance(1);
    assert_eq!(refused(&mut client, "a"), None);
    assert_eq!(refused(&mut client, "a"), Some(500));
}

#[test]
fn rates_count_apart_what_they_are_told_to() {
    let hand = Hand::default();
    let policy = Policy::new()
        .rate_limit("each", RateLimit::new(1, 1_000).by([CountBy::Tool, CountBy::Principal]))
        .rate_limit("only b", RateLimit::new(10, 1_000).burst(2).tools(["b"]))
        .clock(hand.read());
    let mut client = Client::connect(server().policy(policy));
    assert_eq!([refused(&mut client, "a"), refused(&mut client, "b")], [None, None]);
    assert!(refused(&mut client, "a").is_some() && refused(&mut client, "b").is_some());
    hand.advance(1_000);
    assert_eq!([refused(&mut client, "a"), refused(&mut client, "b")], [None, None]);
}

#[test]
fn other_methods_are_free_unless_they_are_named() {
    let hand = Hand::default();
    let policy = Policy::from_json(
        r#"{"rateLimits":{"reads":{"calls":1,"periodMs":1000,"methods":["resources/read"],"tools":["mem://a"]}}}"#,
    );
    let policy = policy.expect("valid").clock(hand.read());
    let server = server()
        .resource(r#"{"uri":"mem://a","name":"a"}"#, |_| Ok(ferromcp::ResourceOutput::text("x")))
        .resource(r#"{"uri":"mem://b","name":"b"}"#, |_| Ok(ferromcp::ResourceOutput::text("x")));
    let mut client = Client::connect(server.policy(policy));
    let mut read = |uri: &str| {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": uri}});
        client.send(&[&request.to_string()]);
        client.expect(1)
    };
    assert!(read("mem://a")["result"].is_object());
    assert_eq!(read("mem://a")["error"]["data"], json!({"retryAfterMs": 1000}));
    assert!(read("mem://b")["result"].is_object() && read("mem://b")["result"].is_object());
    assert_eq!([refused(&mut client, "a"), refused(&mut client, "a")], [None, None]);
}

/// A server whose tool `wait` goes on when told so.
fn waiting() -> (Server, std::sync::mpsc::Sender<()>, Receiver<()>) {
    let (go, gone) = channel::<()>();
    let (entered, here) = channel();
    let gone = Mutex::new(gone);
    let server = server().tool(tool("wait"), move |_| {
        entered.send(()).expect("the test waits");
        gone.lock().expect("nobody panicked").recv_timeout(LONG).expect("the test goes on");
        Ok(ToolOutput::text("done"))
    });
    (server, go, here)
}

#[test]
fn calls_at_once_are_limited_until_one_has_ended() {
    let (server, go, here) = waiting();
    let policy = Policy::new().concurrency("one", ConcurrencyLimit::new(1).tools(["wait"]));
    let mut client = Client::connect(server.policy(policy));
    client.call(1, "wait", "{}");
    here.recv_timeout(LONG).expect("it runs");
    client.call(2, "wait", "{}");
    let answer = client.expect(2);
    assert_eq!(answer["result"]["isError"], true);
    assert!(text(&answer).contains("\"one\" allows 1"), "{answer}");
    client.call(3, "a", "{}");
    assert_eq!(text(&client.expect(3)), "a");
    // The place is free as soon as the client can know that the call has ended, each time.
    for id in 4..50 {
        go.send(()).expect("it waits");
        assert_eq!(text(&client.receive()), "done");
        client.call(id, "wait", "{}");
        here.recv_timeout(LONG).expect("it runs");
    }
    go.send(()).expect("it waits");
    client.expect(49);
}

#[test]
fn a_call_that_is_cancelled_keeps_its_place_while_it_runs() {
    let (server, go, here) = waiting();
    let policy = Policy::new().concurrency("one", ConcurrencyLimit::new(1).tools(["wait"]));
    let mut client = Client::connect(server.policy(policy));
    client.call(1, "wait", "{}");
    here.recv_timeout(LONG).expect("it runs");
    client.send(&[r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#]);
    client.call(2, "wait", "{}");
    assert_eq!(client.expect(2)["result"]["isError"], true);
    go.send(()).expect("it waits");
    // The handler has yet to come back: the place is free when it has.
    let (mut id, start) = (3, Instant::now());
    client.call(id, "wait", "{}");
    while here.try_recv().is_err() {
        assert!(start.elapsed() < LONG, "it comes back");
        if let Some(answer) = client.try_receive() {
            assert_eq!(answer["result"]["isError"], true);
            id += 1;
            client.call(id, "wait", "{}");
        }
        std::thread::yield_now();
    }
    go.send(()).expect("it waits");
    client.expect(id);
}

#[test]
fn tools_have_times_of_their_own() {
    let (server, go, here) = waiting();
    let policy = Policy::from_json(r#"{"timeouts":{"default":{"totalMs":60000},"tools":{"wait":{"idleMs":15}}}}"#);
    let mut client = Client::connect(server.policy(policy.expect("valid")));
    client.call(1, "wait", "{}");
    here.recv_timeout(LONG).expect("it runs");
    let answer = client.expect(1);
    assert!(text(&answer).contains("no progress for 15 ms"), "{answer}");
    client.call(2, "a", "{}");
    assert_eq!(text(&client.expect(2)), "a");
    go.send(()).expect("it waits");
}

/// A server whose audit log the test reads.
fn audited(server: Server, audit: AuditConfig) -> (Client, Receiver<String>) {
    let (sender, lines) = channel();
    let policy = Policy::new().audit(audit).audit_to(move |line| {
        // The test may be over.
        let _ = sender.send(line.to_owned());
    });
    (Client::connect(server.policy(policy)), lines)
}

fn line(lines: &Receiver<String>) -> Value {
    let line = lines.recv_timeout(LONG).expect("a line in time");
    assert!(!line.contains('\n'));
    serde_json::from_str(&line).expect("it is JSON")
}

#[test]
fn a_line_says_who_what_and_how_it_ended() {
    let fails = |_: &ferromcp::ToolCall<'_>| -> Result<ToolOutput, _> {
        Err(ferromcp::ToolError::protocol(ferromcp::PeerError::invalid_params("no")))
    };
    let (mut client, lines) = audited(server().tool(tool("fails"), fails), AuditConfig::default());
    client.call(1, "a", r#"{"x":[1,"two"]}"#);
    client.expect(1);
    let mut first = line(&lines);
    let time = first["time"].take();
    let time = time.as_str().expect("a text");
    assert!(time.len() == 24 && time.ends_with('Z') && time.as_bytes()[10] == b'T', "{time}");
    assert!(first["durationMs"].take().as_f64().is_some_and(|ms| (0.0..20_000.0).contains(&ms)));
    let expected = json!({
        "time": null, "client": {"name": "test", "version": "1"}, "request": 1, "revision": "2025-11-25",
        "method": "tools/call", "name": "a", "arguments": {"x": [1, "two"]}, "outcome": "ok", "durationMs": null, "bytes": 1,
    });
    assert_eq!(first, expected);
    client.call(2, "fails", "{}");
    client.expect(2);
    let second = line(&lines);
    assert_eq!((&second["outcome"], &second["code"]), (&json!("error"), &json!(-32602)));
}

#[test]
fn refusals_and_timeouts_are_in_the_log() {
    let (server, go, here) = waiting();
    let (sender, lines) = channel();
    let hand = Hand::default();
    let policy = Policy::new()
        .rate_limit("two", RateLimit::new(2, 1_000))
        .timeout("wait", TimeoutConfig { total_ms: Some(10), idle_ms: None })
        .clock(hand.read())
        .audit_to(move |line| {
            let _ = sender.send(line.to_owned());
        });
    let mut client = Client::connect(server.policy(policy));
    client.call(1, "wait", "{}");
    here.recv_timeout(LONG).expect("it runs");
    client.expect(1);
    assert_eq!(line(&lines)["outcome"], "timeout");
    assert_eq!([refused(&mut client, "a").is_some(), refused(&mut client, "a").is_some()], [false, true]);
    assert_eq!([line(&lines)["outcome"].clone(), line(&lines)["outcome"].clone()], ["ok", "refused"]);
    go.send(()).expect("it waits");
}

#[test]
fn a_file_is_appended_to_and_whole_at_the_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("audit.jsonl");
    std::fs::write(&path, "before\n").expect("a file");
    let audit = AuditConfig { file: Some(path.display().to_string()), arguments: false, ..AuditConfig::default() };
    let mut client = Client::connect(server().policy(Policy::new().audit(audit)));
    for id in 1..=20 {
        client.call(id, "a", "{}");
    }
    client.close();
    for id in 1..=20 {
        client.expect(id);
    }
    ended(&client.server).expect("a good end");
    let text = std::fs::read_to_string(&path).expect("a file");
    let lines: Vec<_> = text.lines().collect();
    assert_eq!((lines[0], lines.len()), ("before", 21));
    for (at, line) in lines.iter().enumerate().skip(1) {
        let line: Value = serde_json::from_str(line).expect("it is JSON");
        assert_eq!((&line["request"], line.get("arguments")), (&json!(at), None));
    }
}

#[test]
fn a_full_disk_harms_no_call() {
    let full = AuditConfig { file: Some("/dev/full".into()), ..AuditConfig::default() };
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    let mut client = Client::connect(server().policy(Policy::new().audit(full)));
    for id in 1..=3 {
        client.call(id, "a", "{}");
        assert_eq!(text(&client.expect(id)), "a");
    }
    client.close();
    ended(&client.server).expect("a good end");
}

#[test]
fn a_log_that_can_not_be_opened_starts_no_server() {
    let nowhere = AuditConfig { file: Some("/nowhere/at/all.jsonl".into()), ..AuditConfig::default() };
    let built = Policy::new().audit(nowhere).build();
    assert!(matches!(built, Err(ferromcp::Error::Io(error)) if error.to_string().contains("/nowhere/at/all.jsonl")));
}

const SECRETIVE: &str = r##"{"name":"secretive","inputSchema":{
    "type":"object",
    "properties":{
        "open":{},
        "pin":{"x-sensitive":true},
        "login":{"properties":{"word":{"writeOnly":true}}},
        "cards":{"items":{"$ref":"#/$defs/card"}}
    },
    "$defs":{"card":{"properties":{"number":{"x-sensitive":true},"next":{"$ref":"#/$defs/card"}}}}
}}"##;

/// Any JSON, without the marker of a secret.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[^§]{0,12}".prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("[a-z\"\\\\ ~/]{0,6}", inner, 0..4).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

/// Any JSON with the marker in each of its texts and keys.
fn secret() -> impl Strategy<Value = Value> {
    fn mark(value: Value) -> Value {
        match value {
            Value::Object(members) => {
                members.into_iter().map(|(key, value)| (format!("{key}§"), mark(value))).collect()
            }
            Value::Array(elements) if elements.is_empty() => json!(["§"]),
            Value::Array(elements) => elements.into_iter().map(mark).collect(),
            other => json!(format!("{other}§")),
        }
    }
    any_json().prop_map(mark)
}

fn card() -> impl Strategy<Value = Value> {
    (any_json(), secret(), secret())
        .prop_map(|(open, one, two)| json!({"open": open, "number": one, "next": {"number": two, "next": {}}}))
}

#[test]
fn nothing_that_is_hidden_is_in_the_line() {
    let redact = ["/pointed", "/list/*/at", "/deep/*/*/in~1side"].map(str::to_owned).to_vec();
    let server = Server::new("test", "1").tool(SECRETIVE.replace('\n', ""), |_| Ok(ToolOutput::text("")));
    let (client, lines) = audited(server, AuditConfig { redact, ..AuditConfig::default() });
    let client = Mutex::new(client);
    let arguments = (any_json(), secret(), secret(), prop::collection::vec(card(), 0..3), secret(), secret());
    proptest!(ProptestConfig::with_cases(300), |((open, pin, word, cards, pointed, at) in arguments)| {
        let arguments = json!({
            "open": open, "pin": pin, "login": {"user": open, "word": word}, "cards": cards,
            "pointed": pointed, "list": [{"at": at}, {"at": pin, "open": 1}], "deep": {"a": [{"in/side": word}]},
            "client_secret": pin, "headers": {"note": "Bearer x§y"},
        });
        client.lock().expect("nobody panicked").call(1, "secretive", &arguments.to_string());
        client.lock().expect("nobody panicked").expect(1);
        let text = lines.recv_timeout(LONG).expect("a line in time");
        prop_assert!(!text.contains('§') && !text.contains("\\u00a7"), "{}", text);
        let line: Value = serde_json::from_str(&text).expect("it is JSON");
        // Not everything is hidden, or it would be no log.
        prop_assert_eq!(&line["arguments"]["list"][1]["open"], &json!(1));
        prop_assert_eq!(&line["arguments"]["pin"], "[redacted]");
    });
}

#[test]
fn a_task_is_logged_when_it_ends() {
    let slow = r#"{"name":"slow","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}"#;
    let (sender, lines) = channel();
    let policy = Policy::new().audit_to(move |line| sender.send(line.to_owned()).expect("the test waits"));
    let mut client = Client::open(server().tool(slow, |_| Ok(ToolOutput::text("done"))).policy(policy));
    let takes = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    client.modern(1, "tools/call", &json!({"name": "slow"}), &takes);
    let id = client.expect(1)["result"]["taskId"].clone();
    let line = line(&lines);
    assert!(id.is_string());
    assert_eq!((&line["task"], &line["outcome"]), (&id, &json!("ok")));
}

#[test]
fn a_policy_is_an_object() {
    for text in ["[]", "null", "5", "\"x\"", ""] {
        assert!(Policy::from_json(text).is_err(), "{text}");
    }
    assert!(Policy::from_json(" {} ").is_ok());
}
