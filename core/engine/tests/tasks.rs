//! Tasks, in both eras (extension `io.modelcontextprotocol/tasks`; 2025-11-25 `basic/utilities/tasks`).

#[path = "tasks/troubles.rs"]
mod troubles;

use ferromcp_engine::testing::Pair;
use ferromcp_engine::{
    Asked, Call, CancelReason, Event, InputRequest, LogLevel, PeerError, Reentry, Reply, ServerConfig,
};
use serde_json::{Value, json};

const FORM: &str = r#"{"message":"Sure?","requestedSchema":{"type":"object","properties":{"ok":{"type":"boolean"}}}}"#;
const LEGACY_CLIENT: &str = r#"{"elicitation":{"form":{}}}"#;

fn pair_with(config: ServerConfig) -> Pair {
    let mut pair = Pair::new(config).expect("a good configuration");
    for (tag, (name, support)) in
        [("slow", "optional"), ("only", "required"), ("quick", "forbidden")].into_iter().enumerate()
    {
        let tool = format!(
            r#"{{"name":"{name}","inputSchema":{{"type":"object"}},"execution":{{"taskSupport":"{support}"}}}}"#
        );
        pair.server.add_tool(&tool, tag as u64, 0).expect("a good tool");
    }
    pair.advance(20);
    pair
}

fn pair() -> Pair {
    let mut config = ServerConfig::new("s", "1");
    config.capabilities.declare("logging", "{}");
    pair_with(config)
}

/// Sends a request of a modern client that takes tasks.
fn send(pair: &mut Pair, id: u32, method: &str, members: Value) {
    send_as(pair, id, method, members, json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}));
}

fn send_as(pair: &mut Pair, id: u32, method: &str, mut params: Value, capabilities: Value) {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    pair.legacy(&id.to_string(), method, &params.to_string());
}

fn taken(pair: &mut Pair) -> Value {
    serde_json::from_str(&pair.take()).expect("JSON")
}

fn code_of(pair: &mut Pair) -> i64 {
    taken(pair)["error"]["code"].as_i64().expect("an error")
}

/// A running task of a modern client: its id and its call.
fn start(pair: &mut Pair) -> (String, Call) {
    send(pair, 1, "tools/call", json!({"name": "slow"}));
    let answer = taken(pair);
    assert_eq!(answer["result"]["resultType"], "task");
    (answer["result"]["taskId"].as_str().expect("an id").to_owned(), pair.take_call())
}

/// The result of `tasks/get`.
fn get(pair: &mut Pair, id: &str) -> Value {
    send(pair, 90, "tasks/get", json!({"taskId": id}));
    let answer = taken(pair);
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    answer["result"].clone()
}

/// The same on a legacy connection.
fn legacy_get(pair: &mut Pair, id: &str) -> Value {
    pair.legacy("90", "tasks/get", &json!({"taskId": id}).to_string());
    taken(pair)["result"].clone()
}

fn legacy_pair() -> Pair {
    let mut pair = pair();
    pair.initialize("2025-11-25", LEGACY_CLIENT);
    pair.events.clear();
    pair
}

fn legacy_start(pair: &mut Pair, params: Value) -> (String, Call) {
    pair.legacy("1", "tools/call", &params.to_string());
    let answer = taken(pair);
    let id = answer["result"]["task"]["taskId"].as_str().unwrap_or_else(|| panic!("a task: {answer}")).to_owned();
    (id, pair.take_call())
}

fn text_result(text: &str, is_error: bool) -> Reply<'_> {
    Reply::Text { text, is_error }
}

#[test]
fn a_task_is_created_polled_and_completed() {
    let mut pair = pair();
    let (id, call) = start(&mut pair);
    let task = get(&mut pair, &id);
    assert_eq!(task["status"], "working");
    assert_eq!((&task["ttlMs"], &task["pollIntervalMs"]), (&json!(3_600_000), &json!(1_000)));
    assert_eq!((task.get("requestState"), task.get("ttl")), (None, None));
    pair.now += 2_000;
    assert_eq!(pair.server.respond(call.key, text_result("done", false), pair.now), Ok(true));
    pair.drain();
    let task = get(&mut pair, &id);
    assert_eq!(task["status"], "completed");
    assert_eq!(task["result"], json!({"content": [{"type": "text", "text": "done"}]}));
    assert!(task["lastUpdatedAt"].as_str() > task["createdAt"].as_str());
    // The first answer stands.
    assert_eq!(pair.server.respond(call.key, text_result("again", false), 0), Ok(false));
}

// requirement: tasks-ext-durable, tasks-errors, tasks-ext-errors
#[test]
fn the_task_is_kept_before_its_client_hears_of_it() {
    let mut pair = pair();
    pair.store.waits = true;
    send(&mut pair, 1, "tools/call", json!({"name": "slow"}));
    assert!(pair.sent.is_empty() && pair.events.is_empty(), "nothing is said and nothing runs");
    pair.serve_store();
    assert_eq!(taken(&mut pair)["result"]["resultType"], "task");
    pair.take_call();

    pair.store.is_down = true;
    send(&mut pair, 2, "tools/call", json!({"name": "slow"}));
    pair.serve_store();
    assert_eq!(code_of(&mut pair), -32603);
    assert!(!pair.events.iter().any(|event| matches!(event, Event::Call(_))));
}

#[test]
fn a_request_that_is_cancelled_before_its_task_is_kept_leaves_none() {
    let mut pair = pair();
    pair.store.waits = true;
    send(&mut pair, 1, "tools/call", json!({"name": "slow"}));
    pair.legacy("", "notifications/cancelled", r#"{"requestId":1}"#);
    pair.serve_store();
    assert!(pair.sent.is_empty() && pair.events.is_empty() && pair.store.tasks.is_empty());
}

#[test]
fn who_may_have_tasks_in_the_modern_era() {
    let mut pair = pair();
    pair.modern("1", "tools/call", r#""name":"slow""#);
    let call = pair.take_call();
    assert!(pair.answer_text(call.key, "at once"));
    assert_eq!(taken(&mut pair)["result"]["resultType"], "complete");
    pair.modern("2", "tools/call", r#""name":"only""#);
    let refused = taken(&mut pair);
    assert_eq!(refused["error"]["code"], -32021);
    let required = json!({"requiredCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}});
    assert_eq!(refused["error"]["data"], required);
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        pair.modern("3", method, r#""taskId":"x","inputResponses":{}"#);
        assert_eq!(code_of(&mut pair), -32021, "{method}");
    }
    // A tool that is never a task, and a parameter of another revision.
    send(&mut pair, 4, "tools/call", json!({"name": "quick", "task": {"ttl": 5}}));
    let call = pair.take_call();
    assert!(pair.answer_text(call.key, "x"));
    assert_eq!(taken(&mut pair)["result"]["resultType"], "complete");
    for method in ["tasks/result", "tasks/list"] {
        send(&mut pair, 5, method, json!({"taskId": "x"}));
        assert_eq!(code_of(&mut pair), -32601, "{method}");
    }
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        send(&mut pair, 6, method, json!({"taskId": "x", "inputResponses": {}}));
        assert_eq!(code_of(&mut pair), -32602, "{method}");
    }
}

#[test]
fn capabilities_in_each_revision() {
    let mut pair = pair();
    send(&mut pair, 1, "server/discover", json!({}));
    let modern = taken(&mut pair)["result"]["capabilities"].clone();
    assert_eq!(modern["extensions"], json!({"io.modelcontextprotocol/tasks": {}}));
    assert_eq!(modern.get("tasks"), None);
    let legacy: Value = serde_json::from_str(&pair.initialize("2025-11-25", "{}")).expect("JSON");
    let legacy = &legacy["result"]["capabilities"];
    assert_eq!(legacy["tasks"], json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}));
    assert_eq!(legacy.get("extensions"), None);
    let mut old = self::pair();
    let older: Value = serde_json::from_str(&old.initialize("2025-06-18", "{}")).expect("JSON");
    assert_eq!(older["result"]["capabilities"].get("tasks"), None);
    old.legacy("5", "tasks/get", r#"{"taskId":"x"}"#);
    assert_eq!(code_of(&mut old), -32601);
}

#[test]
fn failed_and_tool_errors_differ_between_the_eras() {
    let mut pair = pair();
    let (id, call) = start(&mut pair);
    pair.server.respond(call.key, text_result("no such city", true), 0).expect("an answer");
    pair.drain();
    let task = get(&mut pair, &id);
    assert_eq!((&task["status"], &task["result"]["isError"]), (&json!("completed"), &json!(true)));
    let (id, call) = start(&mut pair);
    pair.server.fail(call.key, &PeerError::new(-32000, "broken").with_data("{\"a\":1}"), 0).expect("an error");
    pair.drain();
    let task = get(&mut pair, &id);
    assert_eq!((&task["status"], &task["error"]["message"]), (&json!("failed"), &json!("broken")));
    assert_eq!(task.get("result"), None);

    let mut pair = legacy_pair();
    let (id, call) = legacy_start(&mut pair, json!({"name": "slow", "task": {}}));
    pair.server.respond(call.key, text_result("no such city", true), 0).expect("an answer");
    pair.drain();
    pair.sent.clear();
    let task = legacy_get(&mut pair, &id);
    assert_eq!((&task["status"], &task["statusMessage"]), (&json!("failed"), &json!("no such city")));
    pair.legacy("2", "tasks/result", &json!({"taskId": id}).to_string());
    assert_eq!(taken(&mut pair)["result"]["isError"], true);
}

#[test]
fn legacy_clients_decide_for_themselves() {
    let mut pair = legacy_pair();
    let (id, call) = legacy_start(&mut pair, json!({"name": "slow", "task": {"ttl": 60_000}}));
    let task = legacy_get(&mut pair, &id);
    assert_eq!((&task["status"], &task["ttl"]), (&json!("working"), &json!(60_000)));
    assert_eq!((task.get("ttlMs"), task.get("resultType")), (None, None));
    // `tasks/result` waits, and tells which task it is about.
    pair.legacy("5", "tasks/result", &json!({"taskId": id}).to_string());
    assert!(pair.sent.is_empty());
    assert!(pair.answer_text(call.key, "done"));
    let result = taken(&mut pair);
    assert_eq!(result["id"], 5);
    assert_eq!(result["result"]["content"][0]["text"], "done");
    assert_eq!(result["result"]["_meta"]["io.modelcontextprotocol/related-task"], json!({"taskId": id}));
    let status = taken(&mut pair);
    assert_eq!(status["method"], "notifications/tasks/status");
    assert_eq!(status["params"]["status"], "completed");

    for (params, code) in [
        (json!({"name": "only"}), -32601),
        (json!({"name": "quick", "task": {}}), -32601),
        (json!({"name": "slow", "task": 5}), -32602),
        (json!({"name": "slow", "task": {"ttl": -1}}), -32602),
    ] {
        pair.legacy("9", "tools/call", &params.to_string());
        assert_eq!(code_of(&mut pair), code, "{params}");
    }
    pair.legacy("9", "tools/call", r#"{"name":"slow"}"#);
    let call = pair.take_call();
    assert!(pair.answer_text(call.key, "plain"));
    assert_eq!(taken(&mut pair)["result"]["content"][0]["text"], "plain");
}

// requirement: tasks-ttl-limit, tasks-expired-cleaned
#[test]
fn a_ttl_is_at_most_the_longest_and_then_the_task_is_gone() {
    let mut pair = legacy_pair();
    let max = pair.server.config().tasks.max_ttl_ms;
    let (id, _) = legacy_start(&mut pair, json!({"name": "slow", "task": {"ttl": max + 1}}));
    assert_eq!(legacy_get(&mut pair, &id)["ttl"], json!(max));
    let (short, call) = legacy_start(&mut pair, json!({"name": "slow", "task": {"ttl": 1_000}}));
    pair.advance(1_000);
    let Event::Cancelled { key, reason: CancelReason::Deadline } = pair.take_event() else { panic!("over") };
    assert_eq!(key, call.key);
    pair.sent.clear();
    pair.legacy("3", "tasks/get", &json!({"taskId": short}).to_string());
    assert_eq!(code_of(&mut pair), -32602);
}

#[test]
fn cancelling_in_each_era() {
    let mut pair = pair();
    let (id, call) = start(&mut pair);
    for _ in 0..2 {
        send(&mut pair, 2, "tasks/cancel", json!({"taskId": id}));
        let answer = taken(&mut pair);
        assert_eq!(answer["result"]["resultType"], "complete");
        assert_eq!(answer["result"].get("status"), None, "an acknowledgment");
    }
    let Event::Cancelled { key, .. } = pair.take_event() else { panic!("cancelled") };
    assert_eq!(key, call.key);
    assert_eq!(get(&mut pair, &id)["status"], "cancelled");
    assert_eq!(pair.server.respond(call.key, text_result("late", false), 0), Ok(false));
    assert_eq!(get(&mut pair, &id)["status"], "cancelled");

    let mut pair = legacy_pair();
    let (id, _) = legacy_start(&mut pair, json!({"name": "slow", "task": {}}));
    pair.legacy("2", "tasks/cancel", &json!({"taskId": id}).to_string());
    assert_eq!(taken(&mut pair)["result"]["status"], "cancelled");
    pair.sent.clear();
    pair.legacy("3", "tasks/cancel", &json!({"taskId": id}).to_string());
    assert_eq!(code_of(&mut pair), -32602);
    pair.legacy("4", "tasks/result", &json!({"taskId": id}).to_string());
    assert_eq!(code_of(&mut pair), -32603);
}

#[test]
fn a_modern_task_asks_through_its_status() {
    let mut pair = pair();
    let (id, call) = start(&mut pair);
    let ask = |pair: &mut Pair, key| {
        let request = InputRequest { key, method: "elicitation/create", params: FORM };
        let asked = pair.server.ask(call.key, &[request], Reentry::Replay, None, pair.now);
        pair.drain();
        asked
    };
    let Ok(Asked::Waiting(first)) = ask(&mut pair, "a") else { panic!("waiting") };
    let Ok(Asked::Waiting(_)) = ask(&mut pair, "b") else { panic!("waiting") };
    let task = get(&mut pair, &id);
    assert_eq!(task["status"], "input_required");
    assert_eq!(task["inputRequests"].as_object().expect("an object").len(), 2);
    assert_eq!(task["inputRequests"]["a"]["method"], "elicitation/create");
    // Part of the answers, and one that nobody asked for.
    let some = json!({"a": {"action": "accept", "content": {"ok": true}}, "x": {"action": "accept"}});
    send(&mut pair, 2, "tasks/update", json!({"taskId": id, "inputResponses": some}));
    assert_eq!(taken(&mut pair)["result"]["resultType"], "complete");
    let Event::Answers { ask: key, answers, .. } = pair.take_event() else { panic!("answers") };
    assert_eq!(key, first);
    assert_eq!(answers, [Ok(r#"{"action":"accept","content":{"ok":true}}"#.to_owned())]);
    let task = get(&mut pair, &id);
    assert_eq!(task["inputRequests"].as_object().expect("an object").keys().collect::<Vec<_>>(), ["b"]);
    send(&mut pair, 3, "tasks/update", json!({"taskId": id, "inputResponses": {"b": {"action": "decline"}}}));
    taken(&mut pair);
    assert!(matches!(pair.take_event(), Event::Answers { .. }));
    assert_eq!(get(&mut pair, &id)["status"], "working");
    assert!(ask(&mut pair, "a").is_err(), "a key is used once");
    send(&mut pair, 4, "tasks/update", json!({"taskId": id, "inputResponses": 5}));
    assert_eq!(code_of(&mut pair), -32602);
}

#[test]
fn a_legacy_task_asks_by_requests_that_name_it() {
    let mut pair = legacy_pair();
    let (id, call) = legacy_start(&mut pair, json!({"name": "slow", "task": {}, "_meta": {"progressToken": "p"}}));
    let request = InputRequest { key: "a", method: "elicitation/create", params: FORM };
    pair.server.ask(call.key, &[request], Reentry::Replay, None, 0).expect("asked");
    pair.drain();
    let asked = taken(&mut pair);
    let related = json!({"io.modelcontextprotocol/related-task": {"taskId": id}});
    assert_eq!((&asked["method"], &asked["params"]["_meta"]), (&json!("elicitation/create"), &related));
    assert_eq!(taken(&mut pair)["params"]["status"], "input_required");
    assert_eq!(legacy_get(&mut pair, &id)["status"], "input_required");
    pair.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "cancel"}}).to_string());
    assert!(matches!(pair.take_event(), Event::Answers { .. }));
    assert_eq!(taken(&mut pair)["params"]["status"], "working");
    // Progress and logs go on, and name the task.
    assert_eq!(pair.server.progress(call.key, 1.0, None, None, 0), Ok(true));
    assert_eq!(pair.server.log(call.key, LogLevel::Error, None, "1"), Ok(true));
    pair.drain();
    for method in ["notifications/progress", "notifications/message"] {
        let message = taken(&mut pair);
        assert_eq!((&message["method"], &message["params"]["_meta"]), (&json!(method), &related));
    }
}

#[test]
fn modern_tasks_have_no_progress_but_a_message() {
    let mut pair = pair();
    send(&mut pair, 1, "tools/call", json!({"name": "slow"}));
    let id = taken(&mut pair)["result"]["taskId"].as_str().expect("an id").to_owned();
    let call = pair.take_call();
    assert_eq!(pair.server.progress(call.key, 1.0, None, Some("half"), pair.now), Ok(true));
    assert_eq!(pair.server.log(call.key, LogLevel::Error, None, "1"), Ok(false));
    assert_eq!(pair.server.notify(call.key, "notifications/x", None), Ok(false));
    pair.drain();
    assert!(pair.sent.is_empty());
    assert_eq!(get(&mut pair, &id)["statusMessage"], "half");
}

#[test]
fn subscriptions_hear_of_their_tasks() {
    let mut pair = pair();
    let (id, call) = start(&mut pair);
    send(&mut pair, 7, "subscriptions/listen", json!({"notifications": {"taskIds": [id, "unknown"]}}));
    let acknowledged = taken(&mut pair);
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(acknowledged["params"]["notifications"], json!({"taskIds": [id]}));
    let first = taken(&mut pair);
    assert_eq!((&first["method"], &first["params"]["status"]), (&json!("notifications/tasks"), &json!("working")));
    assert_eq!(first["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 7);
    pair.answer_text(call.key, "done");
    let last = taken(&mut pair);
    assert_eq!((&last["params"]["status"], &last["params"]["taskId"]), (&json!("completed"), &json!(id)));
    assert_eq!(last["params"]["result"]["content"][0]["text"], "done");
    assert!(pair.sent.is_empty());
    pair.modern("8", "subscriptions/listen", &format!(r#""notifications":{{"taskIds":["{id}"]}}"#));
    assert_eq!(code_of(&mut pair), -32021);
}

#[test]
fn tasks_belong_to_their_principal() {
    let mut pair = pair();
    pair.server.set_principal(pair.stream, Some("alice")).expect("an open stream");
    let (id, _) = start(&mut pair);
    for other in [Some("bob"), None] {
        pair.server.set_principal(pair.stream, other).expect("an open stream");
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            send(&mut pair, 2, method, json!({"taskId": id, "inputResponses": {}}));
            assert_eq!(code_of(&mut pair), -32602, "{method}");
        }
    }
    assert!(!pair.events.iter().any(|event| matches!(event, Event::Cancelled { .. })));
}

// requirement: tasks-list-paginated, tasks-list-next-cursor
#[test]
fn lists_have_pages() {
    let mut pair = legacy_pair();
    let mut ids = Vec::new();
    for _ in 0..101 {
        ids.push(legacy_start(&mut pair, json!({"name": "slow", "task": {}})).0);
        pair.now += 1;
    }
    pair.legacy("2", "tasks/list", "{}");
    let first = taken(&mut pair)["result"].clone();
    let cursor = first["nextCursor"].as_str().expect("there is more");
    pair.legacy("3", "tasks/list", &json!({"cursor": cursor}).to_string());
    let second = taken(&mut pair)["result"].clone();
    assert_eq!(second.get("nextCursor"), None);
    let pages = [&first, &second].into_iter().flat_map(|page| page["tasks"].as_array().expect("a list"));
    let listed: Vec<_> = pages.map(|task| task["taskId"].as_str().expect("an id").to_owned()).collect();
    assert_eq!(listed, ids);
    pair.legacy("4", "tasks/list", r#"{"cursor":"nonsense"}"#);
    assert_eq!(code_of(&mut pair), -32602);
}

#[test]
fn a_store_that_is_down_for_a_while_loses_nothing() {
    let mut pair = pair();
    let (id, call) = start(&mut pair);
    pair.store.is_down = true;
    assert!(pair.answer_text(call.key, "done"));
    send(&mut pair, 2, "tasks/get", json!({"taskId": id}));
    assert_eq!(code_of(&mut pair), -32603);
    pair.advance(3_000);
    pair.store.is_down = false;
    pair.advance(1_000);
    assert_eq!(get(&mut pair, &id)["status"], "completed");
}

#[test]
fn leases_are_kept_and_a_task_without_an_owner_is_failed() {
    let mut pair = pair();
    let lease = pair.server.config().tasks.lease_ms;
    let (id, call) = start(&mut pair);
    pair.advance(4 * lease);
    assert_eq!(get(&mut pair, &id)["status"], "working");
    // The process stands still for too long, and somebody looks.
    pair.now += 2 * lease;
    let task = get(&mut pair, &id);
    assert_eq!((&task["status"], &task["error"]["code"]), (&json!("failed"), &json!(-32603)));
    let Event::Cancelled { key, reason: CancelReason::Closed } = pair.take_event() else { panic!("over") };
    assert_eq!(key, call.key);
}

#[test]
fn a_task_of_another_process_is_followed() {
    let (mut here, mut there) = (legacy_pair(), legacy_pair());
    let (id, call) = legacy_start(&mut there, json!({"name": "slow", "task": {}}));
    here.store.tasks.clone_from(&there.store.tasks);
    here.legacy("5", "tasks/result", &json!({"taskId": id}).to_string());
    here.advance(5_000);
    assert!(here.sent.is_empty());
    there.answer_text(call.key, "done");
    here.store.tasks.clone_from(&there.store.tasks);
    here.advance(1_000);
    assert_eq!(taken(&mut here)["result"]["content"][0]["text"], "done");
    there.sent.clear();
    // What is done elsewhere to a task that runs here comes through the store as well.
    let (id, call) = legacy_start(&mut there, json!({"name": "slow", "task": {}}));
    here.store.tasks.clone_from(&there.store.tasks);
    here.legacy("6", "tasks/cancel", &json!({"taskId": id}).to_string());
    assert_eq!(taken(&mut here)["result"]["status"], "cancelled");
    there.server.task_touched(&here.store.tasks[&id], there.now);
    there.drain();
    let cancelled = std::iter::from_fn(|| there.events.pop_front())
        .any(|event| matches!(event, Event::Cancelled { key, .. } if key == call.key));
    assert!(cancelled);
}

#[test]
fn a_call_may_become_a_task_while_it_runs() {
    let mut pair = pair();
    send(&mut pair, 1, "tools/call", json!({"name": "quick"}));
    let call = pair.take_call();
    // What has to be known first is asked in rounds of the request.
    let request = InputRequest { key: "a", method: "elicitation/create", params: FORM };
    let asked = pair.server.ask(call.key, &[request], Reentry::Replay, None, 0);
    assert_eq!(asked, Ok(Asked::Suspended));
    pair.drain();
    let state = taken(&mut pair)["result"]["requestState"].clone();
    pair.events.clear();
    let answers = json!({"a": {"action": "accept", "content": {}}});
    send(&mut pair, 2, "tools/call", json!({"name": "quick", "requestState": state, "inputResponses": answers}));
    let call = pair.take_call();
    assert_eq!(pair.server.begin_task(call.key, 0), Ok(true));
    pair.drain();
    let task = taken(&mut pair);
    assert_eq!((&task["id"], &task["result"]["resultType"]), (&json!(2), &json!("task")));
    assert_eq!(task["result"].get("requestState"), None);
    assert!(pair.answer_text(call.key, "done"));
    let id = task["result"]["taskId"].as_str().expect("an id").to_owned();
    assert_eq!(get(&mut pair, &id)["status"], "completed");
    assert!(matches!(pair.take_event(), Event::TaskBegun { id: Some(begun), .. } if begun == id));

    send_as(&mut pair, 3, "tools/call", json!({"name": "quick"}), json!({}));
    let call = pair.take_call();
    assert_eq!(pair.server.begin_task(call.key, 0), Ok(false));
}

#[test]
fn a_server_without_tasks_begins_none_unless_it_declares_them() {
    for (declared, begins) in [(false, false), (true, true)] {
        let mut config = ServerConfig::new("s", "1");
        if declared {
            config.capabilities.declare("extensions", r#"{"io.modelcontextprotocol/tasks":{}}"#);
        }
        let mut pair = Pair::new(config).expect("a good configuration");
        pair.server.add_tool(r#"{"name":"quick","inputSchema":{"type":"object"}}"#, 0, 0).expect("a good tool");
        pair.advance(20);
        send(&mut pair, 1, "tools/call", json!({"name": "quick"}));
        let call = pair.take_call();
        assert_eq!(pair.server.begin_task(call.key, 0), Ok(begins));
        pair.drain();
        if begins {
            let id = taken(&mut pair)["result"]["taskId"].as_str().expect("an id").to_owned();
            assert_eq!(get(&mut pair, &id)["status"], "working");
        }
    }
}

#[test]
fn tasks_are_bounded_and_given_time_when_the_input_ends() {
    let mut config = ServerConfig::new("s", "1");
    config.limits.max_tasks = 1;
    let mut pair = pair_with(config);
    let (_, call) = start(&mut pair);
    send(&mut pair, 2, "tools/call", json!({"name": "slow"}));
    assert_eq!(code_of(&mut pair), -32603);
    pair.server.end_of_input(pair.stream, pair.now).expect("an open stream");
    pair.drain();
    assert!(pair.events.iter().all(|event| matches!(event, Event::Diagnostic(_))), "it waits");
    assert!(pair.answer_text(call.key, "done"));
    assert!(matches!(pair.take_event(), Event::Drained { .. }));
}
