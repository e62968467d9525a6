//! Telling peers of changes: list_changed, resources/updated, subscriptions of both eras, and requests to legacy peers.

mod common;

use common::{error_code, json, pair};
use ferromcp_engine::error::code;
use ferromcp_engine::testing::Pair;
use ferromcp_engine::{Event, ListKind, LocalError, OutgoingError};
use serde_json::json as value;

fn listen(pair: &mut Pair, id: &str, filter: &str) -> serde_json::Value {
    pair.modern(id, "subscriptions/listen", &format!(r#""notifications":{filter}"#));
    json(&pair.take())
}

#[test]
fn the_acknowledgment_comes_first_and_names_what_was_agreed() {
    let mut pair = pair();
    let filter = r#"{"toolsListChanged":true,"promptsListChanged":false,"resourceSubscriptions":["mem://greeting","mem://greeting"]}"#;
    assert_eq!(
        listen(&mut pair, r#""s""#, filter),
        value!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": {
            "_meta": {"io.modelcontextprotocol/subscriptionId": "s"},
            "notifications": {"toolsListChanged": true, "resourceSubscriptions": ["mem://greeting"]}}})
    );
    assert!(matches!(pair.take_event(), Event::Subscribed { uri, .. } if uri == "mem://greeting"));
    assert!(pair.sent.is_empty());
}

#[test]
fn subscriptions_get_what_they_asked_for_and_nothing_else() {
    let mut pair = pair();
    listen(&mut pair, "1", r#"{"toolsListChanged":true}"#);
    listen(&mut pair, "2", r#"{"promptsListChanged":true,"resourceSubscriptions":["mem://greeting"]}"#);
    for list in [ListKind::Tools, ListKind::Tools, ListKind::Resources] {
        pair.server.notify_changed(list, pair.now);
    }
    pair.server.resource_updated("mem://greeting");
    pair.server.resource_updated("mem://other");
    pair.advance(10);
    let updated = json(&pair.take());
    assert_eq!(updated["method"], "notifications/resources/updated");
    assert_eq!(
        updated["params"],
        value!({"_meta": {"io.modelcontextprotocol/subscriptionId": 2}, "uri": "mem://greeting"})
    );
    let changed = json(&pair.take());
    assert_eq!(changed["method"], "notifications/tools/list_changed");
    assert_eq!(changed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    assert!(pair.sent.is_empty(), "several changes are one notification");
}

#[test]
fn a_cancelled_subscription_is_over_without_an_answer() {
    let mut pair = pair();
    listen(&mut pair, "1", r#"{"toolsListChanged":true,"resourceSubscriptions":["mem://greeting"]}"#);
    pair.events.clear();
    pair.legacy("", "notifications/cancelled", r#"{"requestId":1}"#);
    assert!(matches!(pair.take_event(), Event::Unsubscribed { .. }));
    pair.server.notify_changed(ListKind::Tools, pair.now);
    pair.advance(10);
    assert!(pair.sent.is_empty());
}

#[test]
fn shutdown_ends_subscriptions_with_their_result() {
    let mut pair = pair();
    listen(&mut pair, "7", r#"{"toolsListChanged":true}"#);
    pair.server.shutdown(pair.now);
    pair.drain();
    let answer = json(&pair.take());
    assert_eq!(answer["id"], 7);
    assert_eq!(answer["result"]["resultType"], "complete");
    assert_eq!(answer["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 7);
    let closed = json(&pair.take());
    assert_eq!((&closed["method"], &closed["params"]["requestId"]), (&value!("notifications/cancelled"), &value!(7)));
    pair.modern("8", "tools/call", r#""name":"echo""#);
    assert_eq!(error_code(&pair.take()), code::INTERNAL_ERROR);
}

#[test]
fn a_subscription_that_host_code_serves_ends_with_the_input() {
    let mut config = common::config();
    config.delegate = vec!["subscriptions/listen".into()];
    let mut pair = common::pair_with(config);
    pair.modern("7", "subscriptions/listen", r#""notifications":{}"#);
    let key = pair.take_call().key;
    pair.server.end_of_input(pair.stream, pair.now).expect("open");
    pair.drain();
    assert!(matches!(pair.take_event(), Event::Cancelled { key: over, .. } if over == key));
    assert_eq!(json(&pair.take())["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 7);
    assert_eq!(json(&pair.take())["method"], "notifications/cancelled");
    assert!(matches!(pair.take_event(), Event::Drained { .. }), "at once");
}

#[test]
fn wrong_filters_are_refused() {
    let mut pair = pair();
    for filter in
        [r#"{"toolsListChanged":1}"#, r#"{"resourceSubscriptions":"x"}"#, r#"{"resourceSubscriptions":[1]}"#, "[]"]
    {
        assert_eq!(listen(&mut pair, "1", filter)["error"]["code"], code::INVALID_PARAMS, "{filter}");
    }
    pair.modern("1", "subscriptions/listen", "");
    assert_eq!(error_code(&pair.take()), code::INVALID_PARAMS);
}

#[test]
fn legacy_peers_are_told_once_they_are_initialized() {
    let mut pair = pair();
    let params = r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"b"}}"#;
    pair.legacy("1", "initialize", params);
    pair.take();
    pair.server.notify_changed(ListKind::Tools, pair.now);
    pair.advance(10);
    assert!(pair.sent.is_empty(), "not before notifications/initialized");
    pair.legacy("", "notifications/initialized", "");
    assert!(matches!(pair.take_event(), Event::Initialized { .. }));
    pair.server.notify_changed(ListKind::Tools, pair.now);
    pair.advance(10);
    assert_eq!(pair.take(), r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
}

#[test]
fn legacy_resource_subscriptions() {
    let mut pair = pair();
    pair.initialize("2025-06-18", "{}");
    pair.events.clear();
    pair.legacy("1", "resources/subscribe", r#"{"uri":"mem://greeting"}"#);
    assert_eq!(pair.take(), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    assert!(matches!(pair.take_event(), Event::Subscribed { .. }));
    pair.server.resource_updated("mem://greeting");
    pair.drain();
    assert_eq!(json(&pair.take())["params"], value!({"uri": "mem://greeting"}));
    pair.legacy("2", "resources/unsubscribe", r#"{"uri":"mem://greeting"}"#);
    pair.take();
    assert!(matches!(pair.take_event(), Event::Unsubscribed { .. }));
    pair.server.resource_updated("mem://greeting");
    pair.drain();
    assert!(pair.sent.is_empty());
    pair.legacy("3", "resources/subscribe", r#"{"uri":"mem://none"}"#);
    assert_eq!(error_code(&pair.take()), code::RESOURCE_NOT_FOUND);
}

#[test]
fn a_legacy_peer_can_be_asked() {
    let mut pair = pair();
    pair.initialize("2025-11-25", r#"{"roots":{}}"#);
    pair.events.clear();
    let key = pair.server.request(pair.stream, None, "roots/list", None, Some(50), pair.now).expect("allowed");
    pair.drain();
    let request = json(&pair.take());
    assert_eq!(request["method"], "roots/list");
    pair.send(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"roots":[]}}}}"#, request["id"]));
    match pair.take_event() {
        Event::Response { key: answered, outcome } => {
            assert_eq!((answered, outcome), (key, Ok(r#"{"roots":[]}"#.into())))
        }
        other => panic!("{other:?}"),
    }
    let refused = pair.server.request(pair.stream, None, "sampling/createMessage", None, None, pair.now);
    assert_eq!(refused, Err(LocalError::CapabilityNotDeclared("sampling")));
}

#[test]
fn a_peer_that_does_not_answer() {
    let mut pair = pair();
    pair.initialize("2025-11-25", "{}");
    pair.events.clear();
    let key = pair.server.request(pair.stream, None, "ping", None, Some(50), pair.now).expect("allowed");
    pair.drain();
    pair.take();
    pair.advance(50);
    assert!(pair.take().contains("notifications/cancelled"));
    match pair.take_event() {
        Event::Response { key: over, outcome } => assert_eq!((over, outcome), (key, Err(OutgoingError::TimedOut))),
        other => panic!("{other:?}"),
    }
    pair.send(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, key.0));
    assert!(pair.sent.is_empty(), "a late answer is ignored");
}

#[test]
fn modern_peers_take_no_requests() {
    let mut pair = pair();
    assert_eq!(pair.server.request(pair.stream, None, "ping", None, None, 0), Err(LocalError::NoBackChannel));
    pair.initialize("2025-11-25", r#"{"roots":{}}"#);
    pair.events.clear();
    pair.modern("1", "tools/call", r#""name":"echo","arguments":{"text":"x"}"#);
    let key = pair.take_call().key;
    let refused = pair.server.request(pair.stream, Some(key), "roots/list", None, None, 0);
    assert_eq!(refused, Err(LocalError::NoBackChannel));
}

#[test]
fn what_is_disabled_is_not_there_for_peers_and_comes_back() {
    let mut pair =
        Pair::new(ferromcp_engine::ServerConfig { page_size: 2, ..ferromcp_engine::ServerConfig::new("s", "1") })
            .expect("a good configuration");
    for (tag, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
        let tool = format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#);
        pair.server.add_tool(&tool, tag as u64, 0).expect("a good tool");
    }
    pair.advance(20);
    let listed = |pair: &mut Pair, cursor: &str| {
        pair.modern("1", "tools/list", cursor);
        let page = json(&pair.take())["result"].clone();
        let names: Vec<_> = page["tools"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|tool| tool["name"].as_str().expect("a name").to_owned())
            .collect();
        (names.join(""), page["nextCursor"].as_str().map(str::to_owned))
    };
    let (first, cursor) = listed(&mut pair, "");
    assert_eq!(first, "ab");
    listen(&mut pair, r#""s""#, r#"{"toolsListChanged":true}"#);
    for (name, known) in [("b", true), ("c", true), ("c", true), ("z", false)] {
        assert_eq!(pair.server.enable_tool(name, false, pair.now), known);
    }
    pair.advance(10);
    assert!(pair.take().contains("notifications/tools/list_changed"));
    assert!(pair.sent.is_empty(), "one notification for both");
    assert_eq!(listed(&mut pair, ""), ("ad".into(), None));
    // The place behind an entry that is hidden now is still a place.
    let cursor = format!(r#""cursor":"{}""#, cursor.expect("there is more"));
    assert_eq!(listed(&mut pair, &cursor), ("d".into(), None));
    pair.modern("2", "tools/call", r#""name":"b""#);
    assert_eq!(error_code(&pair.take()), code::INVALID_PARAMS);
    assert!(pair.server.enable_tool("b", true, pair.now));
    let (again, more) = listed(&mut pair, "");
    assert!(again == "ab" && more.is_some());
}
