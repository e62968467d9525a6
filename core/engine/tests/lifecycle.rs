//! Both eras on one stream: the handshake, requests that come too early, versions, and methods that a revision lacks.

mod common;

use common::{error_code, json, pair};
use ferromcp_engine::error::code;
use ferromcp_engine::{PeerError, Reply};
use serde_json::json as value;

#[test]
fn initialize_answers_with_the_version_asked_for() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let answer = json(&pair().initialize(version, "{}"));
        assert_eq!(answer["result"]["protocolVersion"], version);
        assert_eq!(answer["result"]["serverInfo"], value!({"name": "test", "version": "1"}));
        assert_eq!(answer["id"], "init");
    }
    assert_eq!(json(&pair().initialize("1999-01-01", "{}"))["result"]["protocolVersion"], "2025-11-25");
}

#[test]
fn capabilities_are_those_of_the_revision() {
    let of = |version: &str| json(&pair().initialize(version, "{}"))["result"]["capabilities"].clone();
    assert!(of("2024-11-05").get("completions").is_none());
    assert_eq!(
        of("2025-11-25"),
        value!({"logging": {}, "completions": {}, "tools": {"listChanged": true}, "prompts": {"listChanged": true},
                "resources": {"listChanged": true, "subscribe": true}})
    );
}

#[test]
fn a_second_initialize_is_refused_and_changes_nothing() {
    let mut pair = pair();
    pair.initialize("2025-03-26", "{}");
    let answer = pair.initialize("2024-11-05", "{}");
    assert_eq!(error_code(&answer), code::INVALID_REQUEST);
    pair.send("[]");
    assert!(pair.take().contains("the batch is empty"), "still 2025-03-26, which has batches");
}

fn asking_host_code_to_initialize() -> ferromcp_engine::testing::Pair {
    let mut config = common::config();
    config.delegate = vec!["initialize".into()];
    common::pair_with(config)
}

const INITIALIZE: &str =
    r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"b"}}"#;

#[test]
fn host_code_may_answer_the_handshake() {
    let mut pair = asking_host_code_to_initialize();
    pair.legacy("1", "initialize", INITIALIZE);
    let call = pair.take_call();
    assert_eq!((call.method(), call.client_info_json()), ("initialize", Some(r#"{"name":"a","version":"b"}"#)));
    // It answers with an older version: that is what the connection speaks.
    let result = r#"{"protocolVersion":"2025-03-26","capabilities":{},"serverInfo":{"name":"host","version":"1"}}"#;
    assert!(pair.server.respond(call.key, Reply::Result(result), pair.now).expect("a result"));
    pair.drain();
    assert_eq!(json(&pair.take())["result"]["serverInfo"]["name"], "host");
    pair.send("[]");
    assert!(pair.take().contains("the batch is empty"), "2025-03-26, which has batches");
}

#[test]
fn host_code_may_refuse_the_handshake() {
    let mut pair = asking_host_code_to_initialize();
    pair.legacy("1", "initialize", INITIALIZE);
    let call = pair.take_call();
    assert!(pair.server.fail(call.key, &PeerError::new(-32000, "not you"), pair.now).expect("an error"));
    pair.drain();
    assert_eq!(error_code(&pair.take()), -32000);
    pair.legacy("2", "tools/list", "{}");
    assert_eq!(error_code(&pair.take()), code::INVALID_PARAMS, "the connection is not open");
    pair.legacy("3", "initialize", INITIALIZE);
    assert_eq!(pair.take_call().method(), "initialize", "the client may try again");
}

#[test]
fn a_handshake_is_not_to_be_cancelled() {
    let mut pair = asking_host_code_to_initialize();
    pair.legacy("1", "initialize", INITIALIZE);
    let call = pair.take_call();
    pair.legacy("", "notifications/cancelled", r#"{"requestId":1}"#);
    assert!(pair.events.is_empty());
    assert!(pair.server.respond(call.key, Reply::Result("{}"), pair.now).expect("a result"));
}

#[test]
fn initialize_needs_its_three_fields() {
    for params in [
        "{}",
        r#"{"protocolVersion":1,"capabilities":{},"clientInfo":{"name":"a","version":"b"}}"#,
        r#"{"protocolVersion":"2025-11-25","clientInfo":{"name":"a","version":"b"}}"#,
        r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#,
        r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a"}}"#,
        r#"{"protocolVersion":"2025-11-25","protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"b"}}"#,
    ] {
        let mut pair = pair();
        pair.legacy("1", "initialize", params);
        assert_eq!(error_code(&pair.take()), code::INVALID_PARAMS, "{params}");
    }
}

#[test]
fn ping_is_answered_before_and_after_the_handshake() {
    let mut pair = pair();
    pair.legacy("1", "ping", "");
    assert_eq!(pair.take(), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    pair.initialize("2025-11-25", "{}");
    pair.legacy("2", "ping", r#"{"_meta":{"x":1}}"#);
    assert_eq!(pair.take(), r#"{"jsonrpc":"2.0","id":2,"result":{}}"#);
}

#[test]
fn requests_that_come_too_early_are_told_what_is_missing() {
    let mut pair = pair();
    pair.legacy("1", "tools/list", "");
    let answer = pair.take();
    assert_eq!(error_code(&answer), code::INVALID_PARAMS);
    assert!(answer.contains("io.modelcontextprotocol/protocolVersion") && answer.contains("initialize"));
}

#[test]
fn a_request_may_follow_the_answer_to_initialize_at_once() {
    let mut pair = pair();
    let params = r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"b"}}"#;
    pair.legacy("1", "initialize", params);
    pair.legacy("2", "tools/list", "");
    assert_eq!(json(&pair.take())["id"], 1);
    assert_eq!(json(&pair.take())["result"]["tools"].as_array().expect("a list").len(), 2);
}

#[test]
fn modern_requests_need_their_meta_fields() {
    let cases = [
        (r#"{"io.modelcontextprotocol/clientCapabilities":{}}"#, code::INVALID_PARAMS),
        (r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#, code::INVALID_PARAMS),
        (
            r#"{"io.modelcontextprotocol/protocolVersion":20260728,"io.modelcontextprotocol/clientCapabilities":{}}"#,
            code::INVALID_PARAMS,
        ),
        (
            r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":[]}"#,
            code::INVALID_PARAMS,
        ),
        (
            r#"{"io.modelcontextprotocol/protocolVersion":"v999.0.0","io.modelcontextprotocol/clientCapabilities":{}}"#,
            code::UNSUPPORTED_PROTOCOL_VERSION,
        ),
        (r#"{"io.modelcontextprotocol/protocolVersion":"v999.0.0"}"#, code::UNSUPPORTED_PROTOCOL_VERSION),
        (r#"7"#, code::INVALID_PARAMS),
    ];
    for (meta, code) in cases {
        let mut pair = pair();
        pair.legacy("1", "tools/list", &format!(r#"{{"_meta":{meta}}}"#));
        assert_eq!(error_code(&pair.take()), code, "{meta}");
    }
}

#[test]
fn an_unsupported_version_is_answered_with_what_is_supported() {
    let mut pair = pair();
    pair.legacy("1", "server/discover", r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"1900-01-01","io.modelcontextprotocol/clientCapabilities":{}}}"#);
    let error = &json(&pair.take())["error"];
    assert_eq!(error["data"], value!({"supported": ["2026-07-28"], "requested": "1900-01-01"}));
}

#[test]
fn discover_tells_versions_capabilities_and_identity() {
    let mut config = common::config();
    config.instructions = Some("Use it.".into());
    let mut pair = common::pair_with(config);
    pair.modern("1", "server/discover", "");
    let result = &json(&pair.take())["result"];
    assert_eq!(result["supportedVersions"], value!(["2026-07-28"]));
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["instructions"], "Use it.");
    assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&value!(0), &value!("private")));
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "test");
}

#[test]
fn both_eras_live_on_one_stream() {
    let mut pair = pair();
    pair.initialize("2025-06-18", "{}");
    pair.modern("1", "tools/list", "");
    pair.legacy("2", "tools/list", "");
    let (modern, legacy) = (json(&pair.take()), json(&pair.take()));
    assert_eq!(modern["result"]["resultType"], "complete");
    assert!(legacy["result"].get("resultType").is_none() && legacy["result"].get("ttlMs").is_none());
}

#[test]
fn methods_of_another_time_do_not_exist() {
    let mut pair = pair();
    for method in
        ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "tools/Call"]
    {
        pair.modern("1", method, "");
        assert_eq!(error_code(&pair.take()), code::METHOD_NOT_FOUND, "{method}");
    }
    pair.initialize("2025-11-25", "{}");
    for method in ["server/discover", "subscriptions/listen", "tasks/get"] {
        pair.legacy("1", method, "{}");
        assert_eq!(error_code(&pair.take()), code::METHOD_NOT_FOUND, "{method}");
    }
}

#[test]
fn a_modern_only_server_names_its_versions_to_initialize() {
    let mut config = common::config();
    config.revisions = vec![ferromcp_engine::Revision::V2026_07_28];
    let mut pair = common::pair_with(config);
    let answer = pair.initialize("2025-11-25", "{}");
    assert!(answer.contains("2026-07-28"), "{answer}");
    pair.legacy("1", "ping", "");
    assert_eq!(error_code(&pair.take()), code::INVALID_PARAMS);
}

#[test]
fn capabilities_that_are_not_offered_hide_their_methods() {
    let mut pair = ferromcp_engine::testing::Pair::new(ferromcp_engine::ServerConfig::new("bare", "1")).expect("valid");
    for method in ["tools/list", "tools/call", "resources/list", "prompts/list", "completion/complete"] {
        pair.modern("1", method, "");
        assert_eq!(error_code(&pair.take()), code::METHOD_NOT_FOUND, "{method}");
    }
}
