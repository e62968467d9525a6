//! Tasks when something goes wrong or comes at the wrong time: stores that are away, requests that are over meanwhile,
//! limits, and ends.

use super::*;
use ferromcp_engine::DiagnosticKind;
use ferromcp_engine::tasks::TaskStatus;

fn status_of(pair: &Pair, id: &str) -> TaskStatus {
    pair.store.tasks[id].status()
}

fn drained(pair: &mut Pair) -> bool {
    let seen = pair.events.iter().any(|event| matches!(event, Event::Drained { .. }));
    pair.events.clear();
    seen
}

fn cancelled_reason(pair: &mut Pair, call: &Call) -> CancelReason {
    let told = pair.events.iter().find_map(|event| match event {
        Event::Cancelled { key, reason } if *key == call.key => Some(reason.clone()),
        _ => None,
    });
    pair.events.clear();
    told.expect("host code is told")
}

/// Another stream of the same server.
fn open_beside(pair: &mut Pair) -> ferromcp_engine::StreamId {
    pair.server.open(pair.now)
}

fn send_on(pair: &mut Pair, stream: ferromcp_engine::StreamId, id: u32, method: &str, mut params: Value) {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}},
    });
    let line = format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    pair.server.receive(stream, line.as_bytes(), pair.now).expect("an open stream");
    pair.drain();
}

#[test]
fn what_a_task_wants_of_a_store_that_was_away_is_done_in_its_order() {
    let mut pair = legacy_pair();
    let (id, call) = legacy_start(&mut pair, json!({"name": "slow", "task": {}}));
    pair.store.is_down = true;
    let request = InputRequest { key: "a", method: "elicitation/create", params: FORM };
    pair.server.ask(call.key, &[request], Reentry::Replay, None, pair.now).expect("asked");
    pair.drain();
    let asked = taken(&mut pair);
    pair.store.is_down = false;
    pair.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "cancel"}}).to_string());
    assert_eq!(pair.server.respond(call.key, text_result("done", false), pair.now), Ok(true));
    pair.drain();
    assert_eq!(status_of(&pair, &id), TaskStatus::Working, "the question could not be noted yet");
    pair.advance(1_000);
    let record = &pair.store.tasks[&id];
    assert_eq!(record.status(), TaskStatus::Completed);
    assert_eq!(record.inputs.len(), 1, "the question was noted before the end");
}

#[test]
fn the_end_waits_for_what_is_not_stored_within_its_bound() {
    for comes_back in [true, false] {
        let mut pair = pair();
        let (id, call) = start(&mut pair);
        pair.server.end_of_input(pair.stream, pair.now).expect("an open stream");
        pair.store.is_down = true;
        pair.answer_text(call.key, "done");
        assert!(!drained(&mut pair));
        pair.advance(2_500);
        assert!(!drained(&mut pair));
        pair.store.is_down = !comes_back;
        pair.advance(1_000);
        assert_eq!(drained(&mut pair), comes_back);
        assert_eq!(status_of(&pair, &id) == TaskStatus::Completed, comes_back);
        pair.advance(2_000);
        assert_eq!(drained(&mut pair), !comes_back, "the bound is over");
    }
}

#[test]
fn a_task_that_outlives_its_server_has_failed() {
    let mut pair = pair();
    let (id, call) = start(&mut pair);
    pair.server.end_of_input(pair.stream, pair.now).expect("an open stream");
    pair.advance(pair.server.config().limits.drain_ms);
    assert!(pair.events.iter().any(|event| matches!(event, Event::Drained { .. })));
    assert_eq!(cancelled_reason(&mut pair, &call), CancelReason::Drained);
    let record = &pair.store.tasks[&id];
    assert_eq!(record.status(), TaskStatus::Failed);

    // A stream that is closed leaves its tasks to other streams, until the server ends.
    let mut pair = self::pair();
    let (id, call) = start(&mut pair);
    let beside = open_beside(&mut pair);
    pair.server.closed(pair.stream, pair.now).expect("an open stream");
    pair.drain();
    send_on(&mut pair, beside, 1, "tasks/get", json!({"taskId": id}));
    assert_eq!(taken(&mut pair)["result"]["status"], "working");
    pair.server.end_tasks(pair.stream);
    pair.drain();
    assert_eq!(cancelled_reason(&mut pair, &call), CancelReason::Closed);
    send_on(&mut pair, beside, 2, "tasks/get", json!({"taskId": id}));
    let task = taken(&mut pair);
    assert_eq!(task["result"]["error"], json!({"code": -32603, "message": "the server ended before this task did"}));
    assert_eq!(task["result"]["statusMessage"], "the server ended before this task did");
}

#[test]
fn who_waits_for_a_result_hears_that_the_task_is_gone() {
    let mut pair = legacy_pair();
    let (id, _) = legacy_start(&mut pair, json!({"name": "slow", "task": {"ttl": 2_000}}));
    pair.legacy("5", "tasks/result", &json!({"taskId": id}).to_string());
    pair.advance(2_000);
    let answer = taken(&mut pair);
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(5), &json!(-32602)));
}

// requirement: tasks-result-blocks
#[test]
fn a_result_is_waited_for_longer_than_calls_may_take() {
    let mut config = ServerConfig::new("s", "1");
    config.limits.call_timeout_ms = 1_000;
    let mut pair = pair_with(config);
    pair.initialize("2025-11-25", LEGACY_CLIENT);
    pair.events.clear();
    let (id, call) = legacy_start(&mut pair, json!({"name": "slow", "task": {}}));
    pair.legacy("5", "tasks/result", &json!({"taskId": id}).to_string());
    pair.advance(60_000);
    assert!(pair.sent.is_empty() && pair.events.is_empty());
    pair.answer_text(call.key, "done");
    assert_eq!(taken(&mut pair)["id"], 5);
}

#[test]
fn followers_of_a_task_elsewhere_wait_for_a_store_that_is_away() {
    let (mut here, mut there) = (legacy_pair(), legacy_pair());
    let (id, call) = legacy_start(&mut there, json!({"name": "slow", "task": {}}));
    here.store.tasks.clone_from(&there.store.tasks);
    here.legacy("5", "tasks/result", &json!({"taskId": id}).to_string());
    here.store.is_down = true;
    here.advance(5_000);
    assert!(here.sent.is_empty());
    there.answer_text(call.key, "done");
    here.store.tasks.clone_from(&there.store.tasks);
    here.store.is_down = false;
    here.advance(1_000);
    assert_eq!(taken(&mut here)["result"]["content"][0]["text"], "done");
}

#[test]
fn a_call_becomes_one_task_and_is_answered_once() {
    let mut pair = pair();
    pair.store.waits = true;
    send(&mut pair, 1, "tools/call", json!({"name": "quick"}));
    let call = pair.take_call();
    assert_eq!(pair.server.begin_task(call.key, pair.now), Ok(true));
    assert_eq!(pair.server.begin_task(call.key, pair.now), Ok(false), "it is about to be one");
    pair.drain();
    pair.serve_store();
    let task = taken(&mut pair);
    let Event::TaskBegun { call: key, id } = pair.take_event() else { panic!("host code is told") };
    assert_eq!((key, id.as_deref()), (call.key, task["result"]["taskId"].as_str()));
    assert_eq!(pair.server.task_id(call.key), id.as_deref());
    assert!(pair.sent.is_empty());

    // Answered before the task is kept.
    send(&mut pair, 2, "tools/call", json!({"name": "quick"}));
    let call = pair.take_call();
    assert_eq!(pair.server.begin_task(call.key, pair.now), Ok(true));
    pair.drain();
    assert!(pair.answer_text(call.key, "at once"));
    pair.serve_store();
    assert_eq!(taken(&mut pair)["result"]["content"][0]["text"], "at once");
    assert!(pair.sent.is_empty());
    assert_eq!(pair.store.tasks.len(), 1);
}

#[test]
fn a_call_that_asks_before_its_task_is_kept_has_none() {
    let mut pair = pair();
    pair.store.waits = true;
    send(&mut pair, 1, "tools/call", json!({"name": "quick"}));
    let call = pair.take_call();
    assert_eq!(pair.server.begin_task(call.key, pair.now), Ok(true));
    let request = InputRequest { key: "a", method: "elicitation/create", params: FORM };
    let asked = pair.server.ask(call.key, &[request], Reentry::Held, None, pair.now);
    assert!(matches!(asked, Ok(Asked::Waiting(_))));
    pair.drain();
    pair.serve_store();
    assert_eq!(taken(&mut pair)["result"]["resultType"], "input_required");
    assert!(pair.sent.is_empty() && pair.store.tasks.is_empty());
    assert!(pair.events.iter().any(|event| matches!(event, Event::TaskBegun { id: None, .. })));
}

#[test]
fn a_store_that_is_away_leaves_a_running_call_without_a_task() {
    let mut pair = pair();
    pair.store.is_down = true;
    send(&mut pair, 1, "tools/call", json!({"name": "quick"}));
    let call = pair.take_call();
    assert_eq!(pair.server.begin_task(call.key, pair.now), Ok(true));
    pair.drain();
    let Event::TaskBegun { id: None, .. } = pair.take_event() else { panic!("host code is told") };
    assert!(pair.answer_text(call.key, "after all"));
    assert_eq!(taken(&mut pair)["result"]["resultType"], "complete");
}

// requirement: tasks-concurrency-limit
#[test]
fn each_requestor_has_a_bound_of_its_own() {
    let mut config = ServerConfig::new("s", "1");
    config.limits.max_tasks = 1;
    let mut pair = pair_with(config);
    // One that is about to be kept counts.
    pair.store.waits = true;
    send(&mut pair, 1, "tools/call", json!({"name": "slow"}));
    send(&mut pair, 2, "tools/call", json!({"name": "slow"}));
    assert_eq!(code_of(&mut pair), -32603);
    pair.serve_store();
    taken(&mut pair);
    let first = pair.take_call();
    pair.store.waits = false;
    let beside = open_beside(&mut pair);
    send_on(&mut pair, beside, 1, "tools/call", json!({"name": "slow"}));
    assert_eq!(taken(&mut pair)["result"]["resultType"], "task");
    // One that has ended does not.
    pair.answer_text(first.key, "done");
    send(&mut pair, 3, "tools/call", json!({"name": "slow"}));
    assert_eq!(taken(&mut pair)["result"]["resultType"], "task");
    // Several streams of one principal share its bound.
    let streams = [open_beside(&mut pair), open_beside(&mut pair)];
    for stream in streams {
        pair.server.set_principal(stream, Some("alice")).expect("an open stream");
    }
    send_on(&mut pair, streams[0], 1, "tools/call", json!({"name": "slow"}));
    assert_eq!(taken(&mut pair)["result"]["resultType"], "task");
    send_on(&mut pair, streams[1], 1, "tools/call", json!({"name": "slow"}));
    assert_eq!(code_of(&mut pair), -32603);
}

// requirement: tasks-list-not-declared
#[test]
fn a_list_is_offered_where_clients_can_be_told_apart() {
    for (owner, principal, list, offered) in [
        ("", None, None, true),
        ("node", None, None, false),
        ("node", Some("alice"), None, true),
        ("node", None, Some(true), true),
        ("", None, Some(false), false),
    ] {
        let mut config = ServerConfig::new("s", "1");
        config.tasks.list = list;
        let mut pair = pair_with(config);
        pair.server.set_task_owner(owner, false);
        pair.server.set_principal(pair.stream, principal).expect("an open stream");
        let hello: Value = serde_json::from_str(&pair.initialize("2025-11-25", LEGACY_CLIENT)).expect("JSON");
        assert_eq!(hello["result"]["capabilities"]["tasks"].get("list").is_some(), offered);
        pair.legacy("2", "tasks/list", "{}");
        let answer = taken(&mut pair);
        if offered {
            assert_eq!(answer["result"]["tasks"], json!([]));
        } else {
            assert_eq!(answer["error"]["code"], -32601);
        }
    }
}

// requirement: tasks-rate-limit
#[test]
fn requests_about_tasks_have_a_rate() {
    let mut config = ServerConfig::new("s", "1");
    config.tasks.requests_per_second = 3;
    let mut pair = pair_with(config);
    pair.now = 5_000;
    let (id, _) = start(&mut pair);
    for _ in 0..3 {
        get(&mut pair, &id);
    }
    pair.now += 999;
    send(&mut pair, 2, "tasks/get", json!({"taskId": id}));
    assert_eq!(code_of(&mut pair), -32603);
    let beside = open_beside(&mut pair);
    send_on(&mut pair, beside, 1, "tasks/get", json!({"taskId": id}));
    assert_eq!(taken(&mut pair)["result"]["status"], "working", "another stream has its own");
    pair.now += 1;
    get(&mut pair, &id);
}

#[test]
fn of_quick_messages_the_last_is_noted_and_the_end_has_none() {
    let mut pair = pair();
    let (id, call) = start(&mut pair);
    for (at, message) in ["one", "two", "three"].into_iter().enumerate() {
        assert_eq!(pair.server.progress(call.key, at as f64, None, Some(message), pair.now), Ok(true));
        pair.drain();
        assert_eq!(get(&mut pair, &id)["statusMessage"], "one");
    }
    pair.advance(250);
    assert_eq!(get(&mut pair, &id)["statusMessage"], "three");
    pair.answer_text(call.key, "done");
    assert_eq!(get(&mut pair, &id).get("statusMessage"), None);
}

#[test]
fn what_went_wrong_takes_the_place_of_progress() {
    let mut pair = legacy_pair();
    let (id, call) = legacy_start(&mut pair, json!({"name": "slow", "task": {}}));
    // Without a token there is no progress, but the status can be read.
    assert_eq!(pair.server.progress(call.key, 1.0, None, Some("half"), pair.now), Ok(true));
    pair.drain();
    let told = taken(&mut pair);
    assert_eq!(
        (&told["method"], &told["params"]["statusMessage"]),
        (&json!("notifications/tasks/status"), &json!("half"))
    );
    assert_eq!(pair.server.respond(call.key, text_result("no such city", true), pair.now), Ok(true));
    pair.drain();
    pair.sent.clear();
    assert_eq!(legacy_get(&mut pair, &id)["statusMessage"], "no such city");
}

// requirement: cancel-tasks-by-request
#[test]
fn a_task_frees_the_id_of_its_request_and_is_not_cancelled_by_it() {
    let mut pair = pair();
    let (id, call) = start(&mut pair);
    pair.legacy("", "notifications/cancelled", r#"{"requestId":1}"#);
    assert!(pair.events.is_empty());
    send(&mut pair, 1, "tools/call", json!({"name": "slow"}));
    assert_eq!(taken(&mut pair)["result"]["resultType"], "task");
    assert_eq!(get(&mut pair, &id)["status"], "working");
    assert!(pair.answer_text(call.key, "done"));
}

#[test]
fn a_request_that_is_cancelled_while_the_store_is_asked_gets_no_answer() {
    let mut pair = pair();
    let (id, _) = start(&mut pair);
    pair.store.waits = true;
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        send(&mut pair, 7, method, json!({"taskId": id, "inputResponses": {}}));
        pair.legacy("", "notifications/cancelled", r#"{"requestId":7}"#);
    }
    pair.serve_store();
    assert!(pair.sent.is_empty());
    send(&mut pair, 7, "tasks/get", json!({"taskId": id}));
    pair.serve_store();
    let answer = taken(&mut pair);
    assert_eq!((&answer["id"], &answer["result"]["status"]), (&json!(7), &json!("cancelled")));
}

#[test]
fn a_subscription_can_end_before_it_is_open() {
    for by_closing in [false, true] {
        let mut pair = pair();
        let (id, call) = start(&mut pair);
        pair.store.waits = true;
        send(&mut pair, 7, "subscriptions/listen", json!({"notifications": {"taskIds": [id]}}));
        if by_closing {
            pair.server.closed(pair.stream, pair.now).expect("an open stream");
        } else {
            pair.legacy("", "notifications/cancelled", r#"{"requestId":7}"#);
        }
        pair.serve_store();
        pair.store.waits = false;
        pair.answer_text(call.key, "done");
        assert!(pair.sent.is_empty());
    }
}

#[test]
fn a_subscription_begins_with_the_newest_state() {
    let mut pair = pair();
    let (one, call) = start(&mut pair);
    let (other, _) = start(&mut pair);
    pair.store.waits = true;
    send(&mut pair, 7, "subscriptions/listen", json!({"notifications": {"taskIds": [one, other]}}));
    // The first task is looked up before its end, the second one after it.
    pair.serve_store_once();
    pair.store.waits = false;
    pair.answer_text(call.key, "done");
    pair.serve_store();
    assert_eq!(taken(&mut pair)["method"], "notifications/subscriptions/acknowledged");
    let mut told = [taken(&mut pair), taken(&mut pair)].map(|message| message["params"]["status"].clone());
    told.sort_by_key(Value::to_string);
    assert_eq!(told, ["completed", "working"]);
    assert!(pair.sent.is_empty());
}

#[test]
fn subscriptions_that_are_not_open_yet_count() {
    let mut config = ServerConfig::new("s", "1");
    config.limits.max_subscriptions = 1;
    let mut pair = pair_with(config);
    let (id, _) = start(&mut pair);
    pair.store.waits = true;
    for (number, refused) in [(7, false), (8, true)] {
        send(&mut pair, number, "subscriptions/listen", json!({"notifications": {"taskIds": [id]}}));
        assert_eq!(pair.sent.is_empty(), !refused);
    }
    assert_eq!(code_of(&mut pair), -32603);
}

#[test]
fn a_subscription_needs_the_store() {
    let mut pair = pair();
    let (id, _) = start(&mut pair);
    pair.store.is_down = true;
    send(&mut pair, 7, "subscriptions/listen", json!({"notifications": {"taskIds": [id]}}));
    assert_eq!(code_of(&mut pair), -32603);
}

#[test]
fn a_task_ends_with_a_result_or_an_error_of_its_era() {
    let mut pair = pair();
    let (id, call) = start(&mut pair);
    let question = r#"{"resultType":"input_required","requestState":"x"}"#;
    assert_eq!(pair.server.respond(call.key, Reply::Result(question), pair.now), Ok(true));
    pair.drain();
    let task = get(&mut pair, &id);
    assert_eq!((&task["status"], &task["error"]["code"]), (&json!("failed"), &json!(-32603)));
    // A code that the newest revision has retired.
    let (id, call) = start(&mut pair);
    assert_eq!(pair.server.fail(call.key, &PeerError::new(-32002, "no such thing"), pair.now), Ok(true));
    pair.drain();
    assert_eq!(get(&mut pair, &id)["error"], json!({"code": -32602, "message": "no such thing"}));
}

#[test]
fn a_result_that_does_not_fit_its_schema_is_reported() {
    let mut pair = pair();
    let tool = r#"{"name":"typed","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"},
        "outputSchema":{"type":"object","required":["n"]}}"#;
    pair.server.add_tool(tool, 9, 0).expect("a good tool");
    pair.advance(20);
    send(&mut pair, 1, "tools/call", json!({"name": "typed"}));
    let id = taken(&mut pair)["result"]["taskId"].as_str().expect("an id").to_owned();
    let call = pair.take_call();
    let reply = Reply::Tool { content: "[]", structured: Some("{}"), is_error: false, meta: None };
    assert_eq!(pair.server.respond(call.key, reply, pair.now), Ok(true));
    pair.drain();
    let reported = pair
        .events
        .iter()
        .any(|event| matches!(event, Event::Diagnostic(diagnostic) if diagnostic.kind == DiagnosticKind::BadResult));
    assert!(reported);
    assert_eq!(get(&mut pair, &id)["status"], "completed");
}

// requirement: tasks-related-metadata
#[test]
fn a_question_that_is_taken_back_names_its_task() {
    let mut pair = legacy_pair();
    let (id, call) = legacy_start(&mut pair, json!({"name": "slow", "task": {}}));
    let request = InputRequest { key: "a", method: "elicitation/create", params: FORM };
    pair.server.ask(call.key, &[request], Reentry::Replay, None, pair.now).expect("asked");
    pair.drain();
    let asked = taken(&mut pair);
    pair.sent.clear();
    pair.legacy("2", "tasks/cancel", &json!({"taskId": id}).to_string());
    let messages: Vec<_> = std::iter::from_fn(|| pair.sent.pop_front()).collect();
    let messages: Vec<Value> = messages.iter().map(|text| serde_json::from_str(text).expect("JSON")).collect();
    let back = messages.iter().find(|message| message["method"] == "notifications/cancelled").expect("taken back");
    assert_eq!(back["params"]["requestId"], asked["id"]);
    assert_eq!(back["params"]["_meta"], json!({"io.modelcontextprotocol/related-task": {"taskId": id}}));
}

#[test]
fn revisions_with_batches_have_no_tasks() {
    let mut pair = pair();
    pair.initialize("2025-03-26", "{}");
    pair.events.clear();
    let call =
        |id: u32| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "slow", "task": {}}});
    pair.send(&json!([call(1), call(2)]).to_string());
    for _ in 0..2 {
        let call = pair.take_call();
        assert!(pair.answer_text(call.key, "plain"));
    }
    let answers = taken(&mut pair);
    assert_eq!(answers.as_array().map(Vec::len), Some(2));
    assert!(pair.store.tasks.is_empty());
}

#[test]
fn a_task_is_there_for_one_look_at_least() {
    let mut pair = legacy_pair();
    let (id, _) = legacy_start(&mut pair, json!({"name": "slow", "task": {"ttl": 0}}));
    assert_eq!(legacy_get(&mut pair, &id)["ttl"], json!(pair.server.config().tasks.poll_ms));
}
