//! A `requestState` where several processes share a store: it opens once among all of them (2026-07-28
//! `basic/patterns/mrtr`, "Server Requirements").

use ferromcp_engine::testing::Pair;
use ferromcp_engine::{Asked, Call, CatalogueKind, Event, InputRequest, Reentry, ServerConfig, StateKey};
use serde_json::{Value, json};

const FORM: &str = r#"{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}"#;

/// One of the processes.
fn node(owner: &str) -> Pair {
    node_with(owner, |_| {})
}

fn node_with(owner: &str, change: impl FnOnce(&mut ServerConfig)) -> Pair {
    let mut config = ServerConfig::new("s", "1");
    config.state_keys = vec![StateKey([7; 32])];
    change(&mut config);
    let mut pair = Pair::new(config).expect("a good configuration");
    pair.server.set_task_owner(owner, true);
    if pair.server.config().catalogue == CatalogueKind::Static {
        let tool = r#"{"name":"greet","inputSchema":{"type":"object","required":["n"]}}"#;
        pair.server.add_tool(tool, 1, 0).expect("a good tool");
    }
    pair.advance(20);
    pair
}

fn send(pair: &mut Pair, id: u32, more: &Value) {
    let mut params = json!({"name": "greet", "arguments": {"n": 1}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        "io.modelcontextprotocol/logLevel": "debug",
        "progressToken": id,
    }});
    for (key, value) in more.as_object().expect("an object") {
        params[key] = value.clone();
    }
    pair.legacy(&id.to_string(), "tools/call", &params.to_string());
}

fn taken(pair: &mut Pair) -> Value {
    serde_json::from_str(&pair.take()).expect("JSON")
}

fn ask(pair: &mut Pair, call: &Call, reentry: Reentry) -> Asked {
    let request = InputRequest { key: "who", method: "elicitation/create", params: FORM };
    let asked = pair.server.ask(call.key, &[request], reentry, None, pair.now).expect("it can be asked");
    pair.drain();
    asked
}

/// A call that has asked; gives what its client brings back.
fn asked(pair: &mut Pair, reentry: Reentry) -> Value {
    send(pair, 1, &json!({}));
    let call = pair.take_call();
    ask(pair, &call, reentry);
    pair.events.clear();
    let round = taken(pair);
    let answer = json!({"who": {"action": "decline"}});
    json!({"requestState": round["result"]["requestState"], "inputResponses": answer})
}

fn refusal(pair: &mut Pair) -> (i64, String) {
    let answer = taken(pair);
    let error = &answer["error"];
    (error["code"].as_i64().expect("an error"), error["message"].as_str().expect("a message").to_owned())
}

#[test]
fn a_state_opens_on_one_of_two_processes() {
    let (mut one, mut other) = (node("a"), node("b"));
    let retry = asked(&mut one, Reentry::Replay);
    other.store.waits = true;
    send(&mut other, 2, &retry);
    assert!(other.sent.is_empty() && other.events.is_empty(), "nothing runs before the store has said so");
    other.serve_store();
    let call = other.take_call();
    assert_eq!(call.input_responses_json(), Some(r#"{"who":{"action":"decline"}}"#));
    // The retry is the request that it was, with all that it says of itself.
    assert_eq!((call.id_json(), call.progress_token_json()), ("2", Some("2")));
    assert!(call.log_level().is_some() && call.client_capabilities_json().contains("elicitation"));
    assert_eq!(call.arguments_json(), r#"{"n":1}"#);
    assert!(matches!(ask(&mut other, &call, Reentry::Replay), Asked::Answered(_)), "the answer is there");
    assert!(other.answer_text(call.key, "done"));
    assert_eq!(taken(&mut other)["result"]["content"][0]["text"], "done");
    // The store is the one that all of them have.
    one.store.spent = other.store.spent.clone();
    for pair in [&mut one, &mut other] {
        send(pair, 3, &retry);
        pair.serve_store();
        let (code, message) = refusal(pair);
        assert_eq!((code, message.contains("used before")), (-32602, true), "{message}");
        assert!(!pair.events.iter().any(|event| matches!(event, Event::Call(_))));
    }
}

#[test]
fn a_store_that_is_away_opens_no_state_and_uses_none_up() {
    let mut pair = node("a");
    let retry = asked(&mut pair, Reentry::Replay);
    pair.store.is_down = true;
    for id in [2, 3] {
        send(&mut pair, id, &retry);
        assert_eq!(refusal(&mut pair).0, -32603);
    }
    send(&mut pair, 4, &json!({}));
    pair.take_call();
    pair.store.is_down = false;
    send(&mut pair, 5, &retry);
    pair.take_call();
    send(&mut pair, 6, &retry);
    assert_eq!(refusal(&mut pair).0, -32602);
}

#[test]
fn what_becomes_of_a_retry_that_waits_for_the_store() {
    let mut pair = node("a");
    let (first, second) = (asked(&mut pair, Reentry::Replay), asked(&mut pair, Reentry::Replay));
    pair.store.waits = true;
    // Its id is taken while it waits, and it may be cancelled.
    send(&mut pair, 2, &first);
    send(&mut pair, 2, &second);
    assert_eq!(refusal(&mut pair).0, -32600);
    pair.legacy("", "notifications/cancelled", r#"{"requestId":2}"#);
    pair.serve_store();
    assert!(pair.sent.is_empty() && pair.events.is_empty(), "nobody waits for it, and host code never knew of it");
    send(&mut pair, 3, &first);
    pair.serve_store();
    assert_eq!(refusal(&mut pair).0, -32602, "it was used");
    // The end of input waits for it.
    send(&mut pair, 4, &second);
    pair.server.end_of_input(pair.stream, pair.now).expect("an open stream");
    pair.drain();
    assert!(!pair.events.iter().any(|event| matches!(event, Event::Drained { .. })));
    pair.serve_store();
    let call = pair.take_call();
    assert!(pair.answer_text(call.key, "done"));
    assert!(pair.events.iter().any(|event| matches!(event, Event::Drained { .. })));
}

#[test]
fn a_retry_that_does_not_fit_is_refused_as_any_request() {
    let mut pair = node("a");
    let retry = asked(&mut pair, Reentry::Replay);
    // The tool changes meanwhile, so that the retry's arguments are no good any more.
    pair.server.remove_tool("greet", pair.now);
    pair.server
        .add_tool(r#"{"name":"greet","inputSchema":{"type":"object","required":["m"]}}"#, 2, pair.now)
        .expect("a good tool");
    pair.advance(20);
    pair.store.waits = true;
    send(&mut pair, 2, &retry);
    pair.serve_store();
    assert_eq!(taken(&mut pair)["result"]["isError"], true);
    assert!(!pair.events.iter().any(|event| matches!(event, Event::Call(_))));
}

#[test]
fn calls_without_a_state_and_held_calls_ask_no_store() {
    let mut pair = node("a");
    let retry = asked(&mut pair, Reentry::Held);
    pair.store.is_down = true;
    send(&mut pair, 2, &retry);
    assert!(matches!(pair.take_event(), Event::Answers { .. }));
    send(&mut pair, 3, &retry);
    assert_eq!(refusal(&mut pair).0, -32602);
    assert!(pair.store.spent.is_empty());
}

#[test]
fn a_store_of_one_process_is_not_asked() {
    let mut pair = node("");
    let retry = asked(&mut pair, Reentry::Replay);
    pair.store.is_down = true;
    send(&mut pair, 2, &retry);
    pair.take_call();
    send(&mut pair, 3, &retry);
    assert_eq!(refusal(&mut pair).0, -32602);
}

#[test]
fn a_delegated_catalogue_gets_its_retry_too() {
    let mut pair = node_with("a", |config| {
        config.catalogue = CatalogueKind::Delegated;
        config.capabilities.declare("tools", "{}");
    });
    let retry = asked(&mut pair, Reentry::Replay);
    pair.store.waits = true;
    send(&mut pair, 2, &retry);
    pair.serve_store();
    assert_eq!(pair.take_call().id_json(), "2");
    send(&mut pair, 3, &retry);
    pair.serve_store();
    assert_eq!(refusal(&mut pair).0, -32602);
}
