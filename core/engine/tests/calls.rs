//! Requests that reach host code: what is checked before, and the form of the answers.

mod common;

use common::{ASK, ECHO, FORECAST, GREETING, ITEM, error_code, json, pair};
use ferromcp_engine::error::code;
use ferromcp_engine::{LocalError, OutputValidation, PeerError, Reply, Target};
use serde_json::json as value;

#[test]
fn ids_come_back_byte_for_byte() {
    let mut pair = pair();
    for id in [
        "0",
        "-7",
        "9007199254740993",
        "123456789012345678901234567890",
        r#""""#,
        r#""001""#,
        r#""\u0061""#,
        r#""\ud83d""#,
    ] {
        pair.modern(id, "tools/call", r#""name":"echo","arguments":{"text":"x"}"#);
        let call = pair.take_call();
        assert_eq!(call.id_json(), id);
        pair.answer_text(call.key, "x");
        assert!(pair.take().starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#)), "{id}");
        pair.modern(id, "no/such", "");
        assert!(pair.take().starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":"#)), "{id}");
    }
}

#[test]
fn an_id_in_flight_is_not_given_twice() {
    let mut pair = pair();
    pair.modern("1", "tools/call", r#""name":"echo","arguments":{"text":"a"}"#);
    pair.modern("1", "tools/list", "");
    assert_eq!(error_code(&pair.take()), code::INVALID_REQUEST);
    pair.modern(r#""1""#, "tools/call", r#""name":"echo","arguments":{"text":"b"}"#);
    let (first, second) = (pair.take_call(), pair.take_call());
    assert_ne!(first.key, second.key, "1 is not \"1\"");
    assert!(pair.answer_text(first.key, "a"));
    pair.modern("1", "tools/list", "");
    pair.take();
    assert_eq!(json(&pair.take())["id"], 1, "an answered id is free again");
}

#[test]
fn a_call_carries_what_host_code_needs() {
    let mut pair = pair();
    pair.send(
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x","n":1.10e+400},"_meta":{"progressToken":0,"traceparent":"00-1","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c"},"io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/logLevel":"error"}}}"#,
    );
    let call = pair.take_call();
    assert_eq!(call.target, Target::Tool(ECHO));
    assert_eq!(call.arguments_json(), r#"{"text":"x","n":1.10e+400}"#);
    assert_eq!(call.progress_token_json(), Some("0"));
    assert_eq!(call.client_info_json(), Some(r#"{"name":"c"}"#));
    assert_eq!(call.client_capabilities_json(), r#"{"roots":{}}"#);
    assert!(call.meta_json().is_some_and(|meta| meta.contains("traceparent")));
}

#[test]
fn wrong_requests_for_tools() {
    let mut pair = pair();
    for (members, code) in [
        (r#""name":"nope""#, code::INVALID_PARAMS),
        (r#""arguments":{}"#, code::INVALID_PARAMS),
        (r#""name":5"#, code::INVALID_PARAMS),
        (r#""name":"echo","arguments":[]"#, code::INVALID_PARAMS),
        (r#""name":"echo","name":"echo","arguments":{"text":"x"}"#, code::INVALID_PARAMS),
    ] {
        pair.modern("1", "tools/call", members);
        assert_eq!(error_code(&pair.take()), code, "{members}");
    }
    pair.legacy("1", "tools/call", "[1]");
    assert_eq!(error_code(&pair.take()), code::INVALID_PARAMS);
}

#[test]
fn bad_arguments_are_a_tool_error_in_every_revision() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "modern"] {
        let mut pair = pair();
        if version == "modern" {
            pair.modern("1", "tools/call", r#""name":"echo","arguments":{"text":5}"#);
        } else {
            pair.initialize(version, "{}");
            pair.events.clear();
            pair.legacy("1", "tools/call", r#"{"name":"echo","arguments":{"text":5}}"#);
        }
        let result = &json(&pair.take())["result"];
        assert_eq!(result["isError"], true, "{version}");
        assert!(result["content"][0]["text"].as_str().is_some_and(|text| text.contains("text")), "{version}");
        assert!(pair.events.is_empty(), "host code is not called");
    }
}

#[test]
fn missing_and_null_arguments_are_empty() {
    let mut pair = pair();
    for members in [r#""name":"forecast""#, r#""name":"forecast","arguments":null"#] {
        pair.modern("1", "tools/call", members);
        let call = pair.take_call();
        assert_eq!((call.target.clone(), call.arguments_json()), (Target::Tool(FORECAST), "{}"));
        pair.server.fail(call.key, &PeerError::internal("done"), 0).expect("valid");
        pair.drain();
    }
}

#[test]
fn structured_results_by_revision() {
    let structured = Reply::Tool { content: "[]", structured: Some("[1,2]"), is_error: false, meta: None };
    let expected = [
        ("2025-03-26", None),
        ("2025-06-18", Some(value!({"result": [1, 2]}))),
        ("2025-11-25", Some(value!({"result": [1, 2]}))),
        ("modern", Some(value!([1, 2]))),
    ];
    for (version, expected) in expected {
        let mut pair = pair();
        let schema = if version == "modern" {
            pair.modern("2", "tools/list", "");
            json(&pair.take())["result"]["tools"][1].get("outputSchema").cloned()
        } else {
            pair.initialize(version, "{}");
            pair.events.clear();
            pair.legacy("2", "tools/list", "");
            json(&pair.take())["result"]["tools"][1].get("outputSchema").cloned()
        };
        if version == "modern" {
            pair.modern("1", "tools/call", r#""name":"forecast""#);
        } else {
            pair.legacy("1", "tools/call", r#"{"name":"forecast"}"#);
        }
        let call = pair.take_call();
        pair.server.respond(call.key, structured, 0).expect("valid");
        pair.drain();
        let result = json(&pair.take())["result"].clone();
        assert_eq!(result.get("structuredContent"), expected.as_ref(), "{version}");
        match version {
            "2025-03-26" => assert_eq!(schema, None),
            "modern" => assert_eq!(schema, Some(value!({"type": "array", "items": {"type": "integer"}}))),
            _ => assert_eq!(schema.expect("a schema")["properties"]["result"]["type"], "array"),
        }
    }
}

#[test]
fn results_that_do_not_fit_their_schema() {
    for (mode, is_error) in
        [(OutputValidation::Strict, true), (OutputValidation::Warn, false), (OutputValidation::Off, false)]
    {
        for structured in [Some(r#"["x"]"#), None] {
            let mut config = common::config();
            config.output_validation = mode;
            let mut pair = common::pair_with(config);
            pair.modern("1", "tools/call", r#""name":"forecast""#);
            let key = pair.take_call().key;
            let reply = Reply::Tool { content: "[]", structured, is_error: false, meta: None };
            pair.server.respond(key, reply, 0).expect("valid");
            pair.drain();
            assert_eq!(json(&pair.take())["result"].get("isError").is_some(), is_error, "{mode:?} {structured:?}");
            assert_eq!(pair.events.is_empty(), mode == OutputValidation::Off, "a diagnostic unless off");
        }
    }
}

#[test]
fn tool_errors_are_not_held_against_the_schema() {
    let mut pair = pair();
    pair.modern("1", "tools/call", r#""name":"forecast""#);
    let key = pair.take_call().key;
    let reply =
        Reply::Tool { content: r#"[{"type":"text","text":"no"}]"#, structured: None, is_error: true, meta: None };
    pair.server.respond(key, reply, 0).expect("valid");
    pair.drain();
    assert_eq!(json(&pair.take())["result"]["content"][0]["text"], "no");
}

#[test]
fn host_text_that_is_no_json_never_reaches_the_wire() {
    let mut pair = pair();
    pair.modern("1", "tools/call", r#""name":"echo","arguments":{"text":"x"}"#);
    let key = pair.take_call().key;
    for content in ["", "{}", "[NaN]", "[1", "[1] 2"] {
        let reply = Reply::Tool { content, structured: None, is_error: false, meta: None };
        let refused = pair.server.respond(key, reply, 0);
        assert!(matches!(refused, Err(LocalError::NotJson { .. })), "{content}: {refused:?}");
    }
    assert!(matches!(pair.server.respond(key, Reply::Contents("[]"), 0), Err(LocalError::WrongReply { .. })));
    let reply = Reply::Tool { content: "[\n1\r\n]", structured: None, is_error: false, meta: None };
    assert_eq!(pair.server.respond(key, reply, 0), Ok(true), "the call is still open");
    pair.drain();
    assert!(pair.take().contains(r#""content":[ 1  ]"#), "one line");
    assert_eq!(pair.server.respond(key, reply, 0), Ok(false), "and now it is over");
}

#[test]
fn resources_by_uri_by_template_and_not_at_all() {
    let mut pair = pair();
    pair.modern("1", "resources/read", r#""uri":"mem://greeting""#);
    let call = pair.take_call();
    assert_eq!(call.target, Target::Resource(GREETING));
    let contents = r#"[{"uri":"mem://greeting","text":"hi"}]"#;
    pair.server.respond(call.key, Reply::Contents(contents), 0).expect("valid");
    pair.drain();
    let result = &json(&pair.take())["result"];
    assert_eq!((&result["contents"][0]["text"], &result["ttlMs"]), (&value!("hi"), &value!(0)));
    pair.modern("2", "resources/read", r#""uri":"mem://item/a%20b""#);
    let variables = vec![("id".to_owned(), "a b".to_owned())];
    assert_eq!(pair.take_call().target, Target::Template { tag: ITEM, variables });
    pair.modern("3", "resources/read", r#""uri":"mem://none""#);
    let error = &json(&pair.take())["error"];
    assert_eq!((&error["code"], &error["data"]["uri"]), (&value!(-32602), &value!("mem://none")));
    pair.initialize("2025-11-25", "{}");
    pair.legacy("4", "resources/read", r#"{"uri":"mem://none"}"#);
    assert_eq!(error_code(&pair.take()), code::RESOURCE_NOT_FOUND);
}

#[test]
fn prompts_check_their_arguments() {
    let mut pair = pair();
    for (members, code) in [
        (r#""name":"nope""#, code::INVALID_PARAMS),
        (r#""name":"ask""#, code::INVALID_PARAMS),
        (r#""name":"ask","arguments":{"tone":"x"}"#, code::INVALID_PARAMS),
        (r#""name":"ask","arguments":{"topic":1}"#, code::INVALID_PARAMS),
    ] {
        pair.modern("1", "prompts/get", members);
        assert_eq!(error_code(&pair.take()), code, "{members}");
    }
    pair.modern("1", "prompts/get", r#""name":"ask","arguments":{"topic":"x"}"#);
    let call = pair.take_call();
    assert_eq!(call.target, Target::Prompt(ASK));
    let messages = r#"[{"role":"user","content":{"type":"text","text":"x"}}]"#;
    pair.server.respond(call.key, Reply::Prompt { description: Some("d"), messages }, 0).expect("valid");
    pair.drain();
    assert_eq!(json(&pair.take())["result"]["messages"][0]["role"], "user");
}

#[test]
fn completions_are_bounded() {
    let mut pair = pair();
    pair.modern(
        "1",
        "completion/complete",
        r#""ref":{"type":"ref/prompt","name":"ask"},"argument":{"name":"topic","value":"a"}"#,
    );
    let call = pair.take_call();
    let expected = Target::Complete { tag: ASK, prompt: true, argument: "topic".into(), value: "a".into() };
    assert_eq!(call.target, expected);
    let values = serde_json::to_string(&vec!["v"; 150]).expect("valid");
    pair.server
        .respond(call.key, Reply::Completion { values: &values, total: Some(150), has_more: None }, 0)
        .expect("valid");
    pair.drain();
    let completion = &json(&pair.take())["result"]["completion"];
    assert_eq!(completion["values"].as_array().map(Vec::len), Some(100));
    assert_eq!((&completion["total"], &completion["hasMore"]), (&value!(150), &value!(true)));
    for members in [
        r#""ref":{"type":"ref/prompt","name":"nope"},"argument":{"name":"topic","value":"a"}"#,
        r#""ref":{"type":"ref/prompt","name":"ask"},"argument":{"name":"nope","value":"a"}"#,
        r#""ref":{"type":"ref/nope","name":"ask"},"argument":{"name":"topic","value":"a"}"#,
        r#""ref":{"type":"ref/prompt","name":"ask"},"argument":{"name":"topic"}"#,
        r#""argument":{"name":"topic","value":"a"}"#,
    ] {
        pair.modern("2", "completion/complete", members);
        assert_eq!(error_code(&pair.take()), code::INVALID_PARAMS, "{members}");
    }
    pair.modern(
        "3",
        "completion/complete",
        r#""ref":{"type":"ref/resource","uri":"mem://item/{id}"},"argument":{"name":"id","value":""}"#,
    );
    assert!(matches!(pair.take_call().target, Target::Complete { tag: ITEM, prompt: false, .. }));
}
