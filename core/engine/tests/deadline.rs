//! Bounds on one call: `Server::set_deadline`, and what is told of answers.

mod common;

use common::{json, pair};
use ferromcp_engine::testing::Pair;
use ferromcp_engine::{
    AnswerKind, CallLimits, CancelReason, Event, InputRequest, PeerError, Reentry, Reply, RequestKey, Watch,
};

fn start(pair: &mut Pair, id: &str) -> RequestKey {
    pair.send(&format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"x"}},"_meta":{{{},"progressToken":{id}}}}}}}"#,
        ferromcp_engine::testing::MODERN_META
    ));
    pair.take_call().key
}

fn total(ms: u64) -> CallLimits {
    CallLimits { total_ms: Some(ms), idle_ms: None }
}

fn idle(ms: u64) -> CallLimits {
    CallLimits { total_ms: None, idle_ms: Some(ms) }
}

fn expect_deadline(pair: &mut Pair, says: &str) {
    let answer = json(&pair.take());
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(answer["result"]["content"][0]["text"].as_str().is_some_and(|text| text.contains(says)), "{answer}");
    assert!(matches!(pair.take_event(), Event::Cancelled { reason: CancelReason::Deadline, .. }));
}

#[test]
fn a_total_ends_the_call_whatever_it_tells() {
    let mut pair = pair();
    let key = start(&mut pair, "1");
    assert!(pair.server.set_deadline(key, total(100), pair.now));
    pair.advance(60);
    pair.server.progress(key, 1.0, None, None, pair.now).expect("a number");
    pair.drain();
    assert_eq!(json(&pair.take())["method"], "notifications/progress");
    pair.advance(39);
    assert!(pair.sent.is_empty());
    pair.advance(1);
    expect_deadline(&mut pair, "did not end within 100 ms");
    assert_eq!(pair.server.poll_timeout(), None);
    assert!(!pair.server.set_deadline(key, total(100), pair.now));
}

#[test]
fn progress_puts_an_idle_bound_off() {
    let mut pair = pair();
    let key = start(&mut pair, "1");
    pair.server.set_deadline(key, idle(100), pair.now);
    for step in 1..5 {
        pair.advance(99);
        assert_eq!(pair.server.progress(key, f64::from(step), None, None, pair.now), Ok(true));
        pair.drain();
        assert_eq!(json(&pair.take())["method"], "notifications/progress");
    }
    pair.advance(99);
    assert!(pair.sent.is_empty() && pair.events.is_empty());
    pair.advance(1);
    expect_deadline(&mut pair, "no progress for 100 ms");
}

#[test]
fn a_bound_of_its_own_stands_in_the_place_of_the_one_for_all() {
    let mut config = common::config();
    config.limits.call_timeout_ms = 100;
    let mut pair = common::pair_with(config);
    let (longer, shorter, same) = (start(&mut pair, "1"), start(&mut pair, "2"), start(&mut pair, "3"));
    pair.server.set_deadline(longer, total(500), pair.now);
    pair.server.set_deadline(shorter, total(50), pair.now);
    pair.server.set_deadline(same, idle(300), pair.now);
    pair.advance(50);
    assert_eq!(json(&pair.take())["id"], 2);
    pair.advance(50);
    assert_eq!(json(&pair.take())["id"], 3);
    assert!(pair.sent.is_empty());
    pair.advance(400);
    assert_eq!(json(&pair.take())["id"], 1);
}

#[test]
fn an_answer_in_time_leaves_no_timer() {
    let mut pair = pair();
    let key = start(&mut pair, "1");
    pair.server.set_deadline(key, CallLimits { total_ms: Some(100), idle_ms: Some(50) }, pair.now);
    assert!(pair.server.poll_timeout().is_some());
    assert!(pair.answer_text(key, "x"));
    assert_eq!(pair.server.poll_timeout(), None);
    let key = start(&mut pair, "2");
    pair.server.set_deadline(key, total(100), pair.now);
    pair.server.set_deadline(key, CallLimits::default(), pair.now);
    assert_eq!(pair.server.poll_timeout(), None, "a bound can be taken back");
}

fn answered(pair: &mut Pair) -> ferromcp_engine::AnswerFacts {
    pair.drain();
    match pair.take_event() {
        Event::Answered { answer, .. } => answer,
        event => panic!("{event:?}"),
    }
}

#[test]
fn answers_are_told_to_whoever_asks() {
    let mut pair = pair();
    let key = start(&mut pair, "1");
    assert!(pair.answer_text(key, "x"));
    assert!(pair.events.is_empty(), "nobody has asked");

    pair.server.watch_answers(Watch::Facts);
    let key = start(&mut pair, "2");
    assert!(pair.answer_text(key, "four"));
    let answer = answered(&mut pair);
    assert_eq!((answer.kind, &answer.text, &answer.task_id), (AnswerKind::Result, &None, &None));

    pair.server.watch_answers(Watch::Text);
    let key = start(&mut pair, "3");
    let refused =
        pair.server.respond(key, Reply::Tool { content: "[", structured: None, is_error: false, meta: None }, 0);
    assert!(refused.is_err());
    pair.drain();
    assert!(pair.events.is_empty(), "it is open still");
    assert_eq!(pair.server.respond(key, Reply::Text { text: "bad", is_error: true }, 0), Ok(true));
    let answer = answered(&mut pair);
    assert_eq!((answer.kind, answer.text.as_deref(), answer.bytes), (AnswerKind::ToolError, Some("bad"), 3));

    let key = start(&mut pair, "4");
    assert_eq!(pair.server.fail(key, &PeerError::invalid_params("no").with_data("{}"), 0), Ok(true));
    let answer = answered(&mut pair);
    assert_eq!((answer.kind, answer.text.as_deref(), answer.bytes), (AnswerKind::Error(-32602), Some("no"), 4));
    assert_eq!(pair.server.fail(key, &PeerError::invalid_params("no"), 0), Ok(false));
    pair.drain();
    assert!(pair.events.is_empty(), "it was over");
}

#[test]
fn other_methods_end_with_an_internal_error() {
    let mut pair = pair();
    pair.send(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{{"uri":"mem://greeting","_meta":{{{}}}}}}}"#,
        ferromcp_engine::testing::MODERN_META
    ));
    let key = pair.take_call().key;
    pair.server.set_deadline(key, total(5), pair.now);
    pair.advance(5);
    assert_eq!(common::error_code(&pair.take()), -32603);
}

/// A running task of a modern client: its id and its call.
fn task(pair: &mut Pair) -> (String, RequestKey) {
    let tool = r#"{"name":"slow","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}"#;
    pair.server.add_tool(tool, 9, pair.now).expect("valid");
    pair.advance(20);
    pair.sent.clear();
    pair.send(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}"#,
    );
    let answer = json(&pair.take());
    let id = answer["result"]["taskId"].as_str().unwrap_or_else(|| panic!("no task: {answer}"));
    (id.to_owned(), pair.take_call().key)
}

#[test]
fn a_task_that_takes_too_long_ends_with_a_tool_error() {
    let mut pair = pair();
    let (id, key) = task(&mut pair);
    assert_eq!(pair.server.task_id(key), Some(id.as_str()));
    pair.server.set_deadline(key, CallLimits { total_ms: Some(1_000), idle_ms: Some(100) }, pair.now);
    pair.advance(99);
    // Progress counts, whether or not the client gets to see it.
    pair.server.progress(key, 1.0, None, None, pair.now).expect("a number");
    pair.advance(99);
    assert!(pair.events.is_empty());
    pair.advance(1);
    assert!(matches!(pair.take_event(), Event::Cancelled { reason: CancelReason::Deadline, .. }));
    let outcome = format!("{:?}", pair.store.tasks[&id].outcome);
    assert!(outcome.contains("isError") && outcome.contains("no progress for 100 ms"), "{outcome}");
    assert!(!pair.answer_text(key, "late"));
}

#[test]
fn the_end_of_a_task_is_told_with_its_id() {
    let mut pair = pair();
    pair.server.watch_answers(Watch::Facts);
    let (id, key) = task(&mut pair);
    assert_eq!(pair.server.respond(key, Reply::Text { text: "done", is_error: false }, pair.now), Ok(true));
    assert_eq!(answered(&mut pair).task_id, Some(id));
}

/// What a person is asked may take its time: only the total counts meanwhile.
#[test]
fn a_call_that_waits_for_its_client_is_not_idle() {
    let mut pair = pair();
    pair.initialize("2025-11-25", r#"{"elicitation":{"form":{}}}"#);
    pair.events.clear();
    pair.legacy("7", "tools/call", r#"{"name":"echo","arguments":{"text":"x"}}"#);
    let key = pair.take_call().key;
    pair.server.set_deadline(key, idle(100), pair.now);
    let form = r#"{"message":"Sure?","requestedSchema":{"type":"object","properties":{"ok":{"type":"boolean"}}}}"#;
    let request = InputRequest { key: "", method: "elicitation/create", params: form };
    pair.server.ask(key, &[request], Reentry::Held, None, pair.now).expect("it can be asked");
    pair.drain();
    let asked = json(&pair.take());
    for _ in 0..10 {
        pair.advance(100);
    }
    assert!(pair.sent.is_empty() && pair.events.is_empty());
    pair.send(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"action":"decline"}}}}"#, asked["id"]));
    assert!(matches!(pair.take_event(), Event::Answers { .. }));
    pair.advance(100);
    expect_deadline(&mut pair, "no progress for 100 ms");
}
