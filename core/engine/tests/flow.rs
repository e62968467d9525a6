//! What happens while a call runs and around it: progress, logs, cancellation, batches, deadlines, the end of input.

mod common;

use common::{error_code, json, pair};
use ferromcp_engine::error::code;
use ferromcp_engine::testing::Pair;
use ferromcp_engine::{CancelReason, Event, LocalError, LogLevel, Reply, RequestKey};
use serde_json::json as value;

fn start(pair: &mut Pair, id: &str, meta: &str) -> RequestKey {
    let meta = if meta.is_empty() { String::new() } else { format!(",{meta}") };
    let fields = ferromcp_engine::testing::MODERN_META;
    let params = format!(r#"{{"name":"echo","arguments":{{"text":"x"}},"_meta":{{{fields}{meta}}}}}"#);
    pair.legacy(id, "tools/call", &params);
    pair.take_call().key
}

#[test]
fn progress_only_rises_and_ends_with_the_answer() {
    for token in ["0", r#""a/b""#, "123456789012345678901234567890"] {
        let mut pair = pair();
        let key = start(&mut pair, "1", &format!(r#""progressToken":{token}"#));
        let sent: Vec<_> = [5.0, 5.0, 3.0, 5.5]
            .iter()
            .map(|value| pair.server.progress(key, *value, Some(10.0), Some("m"), 0).expect("a number"))
            .collect();
        assert_eq!(sent, [true, false, false, true]);
        pair.answer_text(key, "x");
        assert_eq!(pair.server.progress(key, 9.0, None, None, 0), Ok(false));
        pair.drain();
        assert_eq!(
            pair.take(),
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":5,"total":10,"message":"m"}}}}"#
            )
        );
        assert_eq!(json(&pair.take())["params"]["progress"], 5.5);
        assert!(pair.take().contains(r#""result""#));
        assert!(pair.sent.is_empty());
    }
}

#[test]
fn no_progress_by_hand_without_a_token_either() {
    let mut pair = pair();
    let key = start(&mut pair, "1", "");
    let params = r#"{"progressToken":1,"progress":1}"#;
    assert_eq!(pair.server.notify(key, "notifications/progress", Some(params)), Ok(false));
    pair.answer_text(key, "x");
    let key = start(&mut pair, "2", r#""progressToken":1"#);
    assert_eq!(pair.server.notify(key, "notifications/progress", Some(params)), Ok(true));
    pair.drain();
    assert!(pair.take().contains(r#""result""#));
    assert_eq!(json(&pair.take())["params"]["progressToken"], 1);
}

#[test]
fn no_progress_where_none_was_asked_for() {
    let mut pair = pair();
    let key = start(&mut pair, "1", "");
    assert_eq!(pair.server.progress(key, 1.0, None, None, 0), Ok(false));
    assert_eq!(pair.server.progress(key, f64::NAN, None, None, 0), Err(LocalError::NotANumber));
    pair.legacy("2", "tools/call", r#"{"_meta":{"progressToken":1.5}}"#);
    assert_eq!(error_code(&pair.take()), code::INVALID_PARAMS);
}

#[test]
fn modern_logs_need_a_level_in_the_request() {
    for (meta, expected) in [
        ("", 0),
        (r#""io.modelcontextprotocol/logLevel":"error""#, 1),
        (r#""io.modelcontextprotocol/logLevel":"debug""#, 2),
    ] {
        let mut pair = pair();
        let key = start(&mut pair, "1", meta);
        for level in [LogLevel::Debug, LogLevel::Error] {
            pair.server.log(key, level, Some("db"), r#"{"a":1}"#).expect("valid");
        }
        pair.drain();
        assert_eq!(pair.sent.len(), expected, "{meta}");
        pair.answer_text(key, "x");
        assert_eq!(pair.server.log(key, LogLevel::Emergency, None, "1"), Ok(false), "nothing after the answer");
    }
    let mut pair = pair();
    pair.modern("1", "tools/list", "");
    pair.legacy(
        "2",
        "tools/list",
        &format!(
            r#"{{"_meta":{{{},"io.modelcontextprotocol/logLevel":"loud"}}}}"#,
            ferromcp_engine::testing::MODERN_META
        ),
    );
    pair.take();
    assert_eq!(error_code(&pair.take()), code::INVALID_PARAMS);
}

#[test]
fn modern_peers_get_no_notification_that_they_did_not_ask_for() {
    let mut pair = pair();
    let key = start(&mut pair, "1", "");
    for method in ["notifications/tools/list_changed", "notifications/resources/updated", "notifications/message"] {
        assert_eq!(pair.server.notify(key, method, Some("{}")), Ok(false), "{method}");
    }
    assert_eq!(pair.server.notify(key, "notifications/x", None), Ok(true));
    pair.initialize("2025-11-25", "{}");
    pair.sent.clear();
    pair.events.clear();
    pair.legacy("2", "tools/call", r#"{"name":"echo","arguments":{"text":"x"}}"#);
    let key = pair.take_call().key;
    assert_eq!(pair.server.notify(key, "notifications/tools/list_changed", None), Ok(true));
}

#[test]
fn legacy_logs_follow_the_connection() {
    let mut pair = pair();
    pair.initialize("2025-11-25", "{}");
    pair.events.clear();
    assert_eq!(pair.server.log_stream(pair.stream, LogLevel::Debug, None, "1"), Ok(false), "info by default");
    assert_eq!(pair.server.log_stream(pair.stream, LogLevel::Info, None, "1"), Ok(true));
    pair.legacy("1", "logging/setLevel", r#"{"level":"error"}"#);
    assert_eq!(pair.server.log_stream(pair.stream, LogLevel::Warning, None, "1"), Ok(false));
    pair.legacy("2", "logging/setLevel", r#"{"level":"loud"}"#);
    pair.drain();
    assert!(pair.take().contains("notifications/message"));
    assert_eq!(pair.take(), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    assert_eq!(error_code(&pair.take()), code::INVALID_PARAMS);
}

#[test]
fn a_cancelled_request_gets_nothing_any_more() {
    for id in ["0", r#""a""#, "5"] {
        let mut pair = pair();
        let key = start(&mut pair, id, r#""progressToken":1"#);
        pair.legacy("", "notifications/cancelled", &format!(r#"{{"requestId":{id},"reason":"enough"}}"#));
        match pair.take_event() {
            Event::Cancelled { key: cancelled, reason: CancelReason::Peer(Some(reason)) } => {
                assert_eq!((cancelled, reason.as_str()), (key, "enough"));
            }
            other => panic!("{other:?}"),
        }
        assert!(!pair.answer_text(key, "x"));
        assert_eq!(pair.server.progress(key, 1.0, None, None, 0), Ok(false));
        pair.drain();
        assert!(pair.sent.is_empty());
        pair.modern(id, "tools/list", "");
        assert_eq!(pair.sent.len(), 1, "the id is free again");
    }
}

#[test]
fn strange_cancellations_are_ignored() {
    let mut pair = pair();
    let key = start(&mut pair, "5", "");
    for params in [
        r#"{"requestId":"5"}"#,
        r#"{"requestId":6}"#,
        "{}",
        r#"{"requestId":null}"#,
        "[]",
        r#"{"requestId":5,"requestId":5}"#,
        "",
    ] {
        pair.legacy("", "notifications/cancelled", params);
    }
    assert!(pair.sent.is_empty() && pair.events.is_empty());
    assert!(pair.answer_text(key, "x"));
    pair.legacy("", "notifications/cancelled", r#"{"requestId":5}"#);
    assert_eq!(pair.sent.len(), 1);
}

#[test]
fn batches_are_answered_in_one_array_where_they_exist() {
    let mut pair = pair();
    pair.initialize("2025-03-26", "{}");
    pair.events.clear();
    pair.send(r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}},{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":2,"method":"ping"},7,{"jsonrpc":"2.0","id":3,"method":"initialize"}]"#);
    assert!(pair.sent.is_empty(), "one is still running");
    let call = loop {
        if let Event::Call(call) = pair.take_event() {
            break call;
        }
    };
    pair.answer_text(call.key, "x");
    let answers = json(&pair.take());
    let answers = answers.as_array().expect("an array");
    assert_eq!(answers.len(), 4);
    assert_eq!(answers.iter().filter(|answer| answer.get("error").is_some()).count(), 2);
    pair.send(r#"[{"jsonrpc":"2.0","method":"notifications/x"}]"#);
    assert!(pair.sent.is_empty(), "nothing to answer");
    pair.send("[]");
    assert_eq!(error_code(&pair.take()), code::INVALID_REQUEST);
}

#[test]
fn cancelling_a_member_lets_the_batch_end() {
    let mut pair = pair();
    pair.initialize("2025-03-26", "{}");
    pair.events.clear();
    pair.send(r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#);
    pair.legacy("", "notifications/cancelled", r#"{"requestId":1}"#);
    assert_eq!(json(&pair.take()), value!([{"jsonrpc": "2.0", "id": 2, "result": {}}]));
}

#[test]
fn no_batches_elsewhere() {
    for version in ["", "2024-11-05", "2025-06-18", "2025-11-25"] {
        let mut pair = pair();
        if !version.is_empty() {
            pair.initialize(version, "{}");
        }
        pair.send(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#);
        assert_eq!(error_code(&pair.take()), code::INVALID_REQUEST, "{version}");
    }
}

#[test]
fn faults_before_an_id_is_known() {
    for (version, id) in [("", None), ("2025-06-18", Some(value!(null))), ("2025-11-25", None)] {
        let mut pair = pair();
        if !version.is_empty() {
            pair.initialize(version, "{}");
        }
        for (line, code) in [("{", code::PARSE_ERROR), ("5", code::INVALID_REQUEST), ("null", code::INVALID_REQUEST)] {
            pair.send(line);
            let answer = json(&pair.take());
            assert_eq!(
                (answer["error"]["code"].as_i64(), answer.get("id")),
                (Some(code), id.as_ref()),
                "{version} {line}"
            );
        }
        pair.legacy("1", "ping", "");
        assert_eq!(json(&pair.take())["id"], 1, "and the connection lives on");
    }
}

#[test]
fn too_long_and_too_deep_messages_are_refused_by_name() {
    let mut config = common::config();
    config.limits.max_message_bytes = 1_000;
    let mut pair = common::pair_with(config);
    pair.send(&"x".repeat(5_000));
    assert!(pair.take().contains("longer than 1000 bytes"));
    let deep = "[".repeat(200) + &"]".repeat(200);
    pair.send(&format!(r#"{{"jsonrpc":"2.0","id":"deep","method":"ping","params":{{"a":{deep}}}}}"#));
    let answer = json(&pair.take());
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&value!("deep"), &value!(code::INVALID_REQUEST)));
    assert!(pair.sent.is_empty());
}

#[test]
fn too_many_requests_are_shed_by_name() {
    let mut config = common::config();
    config.limits.max_in_flight = 2;
    let mut pair = common::pair_with(config);
    let first = start(&mut pair, "1", "");
    start(&mut pair, "2", "");
    pair.modern("3", "tools/call", r#""name":"echo","arguments":{"text":"x"}"#);
    let answer = json(&pair.take());
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&value!(3), &value!(code::INTERNAL_ERROR)));
    pair.answer_text(first, "x");
    start(&mut pair, "4", "");
}

#[test]
fn calls_that_run_too_long_are_ended() {
    let mut config = common::config();
    config.limits.call_timeout_ms = 100;
    let mut pair = common::pair_with(config);
    let key = start(&mut pair, "1", "");
    pair.advance(99);
    assert!(pair.sent.is_empty());
    pair.advance(1);
    assert_eq!(json(&pair.take())["result"]["isError"], true);
    assert!(matches!(pair.take_event(), Event::Cancelled { reason: CancelReason::Deadline, .. }));
    assert!(!pair.answer_text(key, "x"));
    assert_eq!(pair.server.poll_timeout(), None);
}

#[test]
fn the_end_of_input_drains() {
    let mut pair = pair();
    let key = start(&mut pair, "1", "");
    pair.server.end_of_input(pair.stream, pair.now).expect("open");
    pair.drain();
    assert!(pair.events.is_empty());
    pair.answer_text(key, "x");
    assert_eq!(pair.sent.len(), 1);
    assert!(matches!(pair.take_event(), Event::Drained { .. }));
}

#[test]
fn draining_has_an_end() {
    let mut pair = pair();
    start(&mut pair, "1", "");
    pair.send_bytes(br#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#);
    pair.server.end_of_input(pair.stream, pair.now).expect("open");
    pair.drain();
    assert_eq!(json(&pair.take())["id"], 2, "a last line needs no line end");
    pair.advance(4_999);
    assert!(pair.events.is_empty());
    pair.advance(1);
    assert!(matches!(pair.take_event(), Event::Cancelled { reason: CancelReason::Drained, .. }));
    assert!(matches!(pair.take_event(), Event::Drained { .. }));
    assert!(pair.sent.is_empty());
}

#[test]
fn a_closed_stream_takes_its_calls_with_it() {
    let mut pair = pair();
    let key = start(&mut pair, "1", "");
    pair.server.closed(pair.stream, 0).expect("open");
    pair.drain();
    assert!(matches!(pair.take_event(), Event::Cancelled { reason: CancelReason::Closed, .. }));
    assert_eq!(pair.server.respond(key, Reply::Result("{}"), 0), Ok(false));
    assert_eq!(pair.server.closed(pair.stream, 0), Err(LocalError::UnknownStream));
}
