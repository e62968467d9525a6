//! Visits to URLs that have to come before a call (2025-11-25 `client/elicitation`, "URL Elicitation Required Error"), where
//! messages alone do not show it: tasks, held calls, connections that end, bounds.

use ferromcp_engine::testing::Pair;
use ferromcp_engine::{Asked, CatalogueKind, DiagnosticKind, Event, InputRequest, PeerError, Reentry, ServerConfig};
use serde_json::{Value, json};

const VISIT: &str = r#"[{"mode":"url","message":"Log in","url":"https://example.com/login","elicitationId":"e-1"}]"#;

fn pair_with(change: impl FnOnce(&mut ServerConfig)) -> Pair {
    let mut config = ServerConfig::new("s", "1");
    change(&mut config);
    let mut pair = Pair::new(config).expect("a good configuration");
    if pair.server.config().catalogue == CatalogueKind::Static {
        let tool = r#"{"name":"t","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}"#;
        pair.server.add_tool(tool, 1, 0).expect("a good tool");
        pair.advance(20);
    }
    pair
}

fn legacy() -> Pair {
    legacy_with(|_| {})
}

fn legacy_with(change: impl FnOnce(&mut ServerConfig)) -> Pair {
    let mut pair = pair_with(change);
    pair.initialize("2025-11-25", r#"{"elicitation":{"form":{},"url":{}}}"#);
    pair.events.clear();
    pair
}

fn modern(pair: &mut Pair, id: u32, extensions: Value, mut params: Value) {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"url": {}}, "extensions": extensions},
    });
    pair.legacy(&id.to_string(), "tools/call", &params.to_string());
}

fn taken(pair: &mut Pair) -> Value {
    serde_json::from_str(&pair.take()).expect("JSON")
}

fn required(elicitations: &str) -> PeerError {
    PeerError::url_elicitation_required("Log in first", elicitations)
}

/// Host code of the next call fails; gives the answer.
fn fail(pair: &mut Pair, elicitations: &str) -> Value {
    let call = pair.take_call();
    assert_eq!(pair.server.fail(call.key, &required(elicitations), pair.now), Ok(true));
    pair.drain();
    taken(pair)
}

fn visit(id: &str) -> String {
    VISIT.replace("e-1", id)
}

fn completes(pair: &mut Pair, id: &str) -> bool {
    let told = pair.server.complete_elicitation(id);
    pair.drain();
    told
}

// requirement: elicit-complete-id
#[test]
fn a_visit_can_be_completed_when_its_call_is_over() {
    let mut pair = legacy();
    pair.legacy("1", "tools/call", r#"{"name":"t"}"#);
    assert_eq!(fail(&mut pair, VISIT)["error"]["code"], -32042);
    assert!(!completes(&mut pair, "e-2") && pair.sent.is_empty());
    assert!(completes(&mut pair, "e-1"));
    let told = taken(&mut pair);
    assert_eq!(told["method"], "notifications/elicitation/complete");
    assert_eq!(told["params"], json!({"elicitationId": "e-1"}));
    assert!(!completes(&mut pair, "e-1") && pair.sent.is_empty(), "once");
}

#[test]
fn of_too_many_visits_the_oldest_is_forgotten() {
    let mut pair = legacy_with(|config| config.limits.max_visits = 2);
    for id in ["a", "b", "c"] {
        pair.legacy("1", "tools/call", r#"{"name":"t"}"#);
        fail(&mut pair, &visit(id));
    }
    assert_eq!(["a", "b", "c"].map(|id| completes(&mut pair, id)), [false, true, true]);
}

#[test]
fn the_visits_of_a_client_that_is_gone_are_forgotten() {
    let mut pair = legacy();
    pair.legacy("1", "tools/call", r#"{"name":"t"}"#);
    fail(&mut pair, VISIT);
    pair.server.closed(pair.stream, pair.now).expect("an open stream");
    assert!(!completes(&mut pair, "e-1"));
}

// requirement: elicit-complete-to-initiator
#[test]
fn no_other_client_is_told() {
    let mut pair = legacy();
    pair.legacy("1", "tools/call", r#"{"name":"t"}"#);
    fail(&mut pair, VISIT);
    let params = Some(r#"{"elicitationId":"e-1"}"#);
    let other = pair.server.open(pair.now);
    let method = "notifications/elicitation/complete";
    assert_eq!(pair.server.notify_stream(other, method, params), Ok(false));
    assert_eq!(pair.server.notify_stream(pair.stream, method, None), Ok(false));
    assert_eq!(pair.server.notify_stream(pair.stream, method, params), Ok(true));
    assert_eq!(pair.server.notify_stream(pair.stream, method, params), Ok(false));
}

// requirement: elicit-required-error-list
#[test]
fn a_legacy_task_fails_with_the_list() {
    let mut pair = legacy();
    pair.legacy("1", "tools/call", r#"{"name":"t","task":{}}"#);
    let id = taken(&mut pair)["result"]["task"]["taskId"].as_str().expect("a task").to_owned();
    let call = pair.take_call();
    pair.server.fail(call.key, &required(VISIT), pair.now).expect("it runs");
    pair.drain();
    pair.sent.clear();
    pair.legacy("2", "tasks/result", &json!({"taskId": id}).to_string());
    let error = taken(&mut pair)["error"].clone();
    assert_eq!(error["code"], -32042);
    assert_eq!(error["data"]["elicitations"], serde_json::from_str::<Value>(VISIT).expect("JSON"));
}

#[test]
fn a_modern_task_asks_for_the_visits_and_goes_on() {
    let mut pair = pair_with(|_| {});
    modern(&mut pair, 1, json!({"io.modelcontextprotocol/tasks": {}}), json!({"name": "t"}));
    let id = taken(&mut pair)["result"]["taskId"].as_str().expect("a task").to_owned();
    let call = pair.take_call();
    assert_eq!(pair.server.fail(call.key, &required(VISIT), pair.now), Ok(true));
    pair.drain();
    let task = &pair.store.tasks[&id];
    assert_eq!(task.status().as_str(), "input_required");
    assert_eq!(task.inputs.len(), 1);
}

#[test]
fn a_held_call_that_fails_so_fails_as_any_other() {
    let mut pair = pair_with(|_| {});
    modern(&mut pair, 1, json!({}), json!({"name": "t"}));
    let call = pair.take_call();
    let params = VISIT.trim_matches(['[', ']']);
    let request = InputRequest { key: "v", method: "elicitation/create", params };
    let asked = pair.server.ask(call.key, &[request], Reentry::Held, None, pair.now);
    assert!(matches!(asked, Ok(Asked::Waiting(_))));
    pair.drain();
    let state = taken(&mut pair)["result"]["requestState"].clone();
    assert_eq!(pair.server.fail(call.key, &required(VISIT), pair.now), Ok(true));
    modern(&mut pair, 2, json!({}), json!({"name": "t", "requestState": state}));
    let error = taken(&mut pair)["error"].clone();
    assert_eq!((&error["code"], &error["message"]), (&json!(-32603), &json!("Log in first")));
}

// requirement: elicit-required-error-only
#[test]
fn what_is_wrong_with_a_list_is_told_to_the_author() {
    let mut pair = legacy();
    pair.legacy("1", "tools/call", r#"{"name":"t"}"#);
    assert_eq!(fail(&mut pair, "[]")["error"]["code"], -32603);
    let told = pair.events.iter().any(|event| {
        matches!(event, Event::Diagnostic(told) if told.kind == DiagnosticKind::BadResult && told.detail.contains("-32042"))
    });
    assert!(told);
}

#[test]
fn a_delegated_catalogue_has_its_own_account() {
    let mut pair = legacy_with(|config| {
        config.catalogue = CatalogueKind::Delegated;
        config.capabilities.declare("tools", "{}");
    });
    pair.legacy("1", "tools/call", r#"{"name":"t"}"#);
    assert_eq!(fail(&mut pair, VISIT)["error"]["code"], -32042);
    let params = Some(r#"{"elicitationId":"any"}"#);
    assert_eq!(pair.server.notify_stream(pair.stream, "notifications/elicitation/complete", params), Ok(true));
}
