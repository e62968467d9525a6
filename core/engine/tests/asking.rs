//! Asking the client in the middle of a call, in both eras (2026-07-28 `basic/patterns/mrtr`; 2025-11-25
//! `client/elicitation`, `client/sampling`, `client/roots`).

use ferromcp_engine::testing::Pair;
use ferromcp_engine::{
    Asked, Call, CancelReason, Event, InputRequest, LocalError, OutgoingError, Reentry, Reply, ServerConfig, StateKey,
};
use serde_json::{Value, json};

const FORM: &str = r#"{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}"#;
const ALL: &str = r#"{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}}"#;

fn name(key: &str) -> InputRequest<'_> {
    InputRequest { key, method: "elicitation/create", params: FORM }
}

fn sample(key: &str) -> InputRequest<'_> {
    InputRequest { key, method: "sampling/createMessage", params: r#"{"messages":[],"maxTokens":5}"# }
}

fn pair_with(config: ServerConfig) -> Pair {
    let mut pair = Pair::new(config).expect("a good configuration");
    let tool = r#"{"name":"greet","inputSchema":{"type":"object"}}"#;
    pair.server.add_tool(tool, 1, 0).expect("a good tool");
    pair.server.add_resource(r#"{"uri":"mem://a","name":"a"}"#, 2, 0).expect("a good resource");
    pair.server.add_prompt(r#"{"name":"p"}"#, 3, 0).expect("a good prompt");
    // Nobody is there yet to be told of these.
    pair.advance(20);
    pair
}

fn pair() -> Pair {
    pair_with(ServerConfig::new("s", "1"))
}

/// Sends a modern request of a client that declares `capabilities`, and takes the call.
fn send(pair: &mut Pair, id: u32, method: &str, members: &Value, capabilities: &str) {
    let mut params = members.clone();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": serde_json::from_str::<Value>(capabilities).expect("JSON"),
    });
    pair.legacy(&id.to_string(), method, &params.to_string());
}

fn call_tool(pair: &mut Pair, id: u32, more: Value) {
    let mut members = json!({"name": "greet", "arguments": {"n": 1}});
    for (key, value) in more.as_object().expect("an object") {
        members[key] = value.clone();
    }
    send(pair, id, "tools/call", &members, ALL);
}

fn ask(pair: &mut Pair, call: &Call, requests: &[InputRequest<'_>], reentry: Reentry) -> Result<Asked, LocalError> {
    let asked = pair.server.ask(call.key, requests, reentry, None, pair.now);
    pair.drain();
    asked
}

fn taken(pair: &mut Pair) -> Value {
    serde_json::from_str(&pair.take()).expect("JSON")
}

/// The first round of a replayed call, and what it was answered with.
fn first_round(pair: &mut Pair) -> Value {
    call_tool(pair, 1, json!({}));
    let call = pair.take_call();
    assert_eq!(ask(pair, &call, &[name("who")], Reentry::Replay), Ok(Asked::Suspended));
    let Event::Cancelled { key, reason: CancelReason::Suspended } = pair.take_event() else { panic!("suspended") };
    assert_eq!(key, call.key);
    taken(pair)
}

fn retry(round: &Value, answers: Value) -> Value {
    json!({"requestState": round["result"]["requestState"], "inputResponses": answers})
}

fn accepted() -> Value {
    json!({"who": {"action": "accept", "content": {"name": "Ada"}}})
}

/// The error that the next message carries.
fn refusal(pair: &mut Pair) -> (i64, String) {
    let answer = taken(pair);
    let error = &answer["error"];
    (error["code"].as_i64().expect("an error"), error["message"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn replay_asks_and_runs_again_with_the_answer() {
    let mut pair = pair();
    let round = first_round(&mut pair);
    assert_eq!(round["id"], 1);
    assert_eq!(round["result"]["resultType"], "input_required");
    let asked = &round["result"]["inputRequests"]["who"];
    assert_eq!(asked["method"], "elicitation/create");
    assert_eq!(asked["params"], serde_json::from_str::<Value>(FORM).expect("JSON"));
    // What host code says after it was suspended goes nowhere.
    call_tool(&mut pair, 2, retry(&round, accepted()));
    let call = pair.take_call();
    let answers = ask(&mut pair, &call, &[name("who")], Reentry::Replay);
    assert_eq!(answers, Ok(Asked::Answered(vec![r#"{"action":"accept","content":{"name":"Ada"}}"#.into()])));
    assert!(pair.answer_text(call.key, "Hello, Ada!"));
    let answer = taken(&mut pair);
    assert_eq!((&answer["id"], &answer["result"]["resultType"]), (&json!(2), &json!("complete")));
}

#[test]
fn a_suspended_run_says_nothing_more() {
    let mut pair = pair();
    call_tool(&mut pair, 1, json!({"_meta": {}}));
    let call = pair.take_call();
    assert_eq!(ask(&mut pair, &call, &[name("who")], Reentry::Replay), Ok(Asked::Suspended));
    taken(&mut pair);
    assert_eq!(pair.server.progress(call.key, 1.0, None, None, 0), Ok(false));
    assert!(!pair.answer_text(call.key, "late"));
    assert_eq!(ask(&mut pair, &call, &[name("again")], Reentry::Replay), Err(LocalError::NoBackChannel));
    assert!(pair.sent.is_empty());
}

#[test]
fn several_rounds_keep_their_answers_and_never_share_a_state() {
    let mut pair = pair();
    let first = first_round(&mut pair);
    call_tool(&mut pair, 2, retry(&first, accepted()));
    let call = pair.take_call();
    assert!(matches!(ask(&mut pair, &call, &[name("who")], Reentry::Replay), Ok(Asked::Answered(_))));
    assert_eq!(ask(&mut pair, &call, &[sample("color")], Reentry::Replay), Ok(Asked::Suspended));
    pair.take_event();
    let second = taken(&mut pair);
    assert_ne!(first["result"]["requestState"], second["result"]["requestState"]);
    let message = json!({"role": "assistant", "content": {"type": "text", "text": "red"}, "model": "m"});
    call_tool(&mut pair, 3, retry(&second, json!({"color": message})));
    let call = pair.take_call();
    assert!(matches!(ask(&mut pair, &call, &[name("who")], Reentry::Replay), Ok(Asked::Answered(_))));
    assert!(matches!(ask(&mut pair, &call, &[sample("color")], Reentry::Replay), Ok(Asked::Answered(_))));
}

#[test]
fn several_requests_in_one_round_and_only_what_is_missing_is_asked_again() {
    let mut pair = pair();
    call_tool(&mut pair, 1, json!({}));
    let call = pair.take_call();
    let roots = InputRequest { key: "roots", method: "roots/list", params: "{}" };
    let all = [name("who"), sample("greeting"), roots];
    assert_eq!(ask(&mut pair, &call, &all, Reentry::Replay), Ok(Asked::Suspended));
    pair.take_event();
    let round = taken(&mut pair);
    let asked = round["result"]["inputRequests"].as_object().expect("an object");
    assert_eq!(asked.len(), 3);
    assert_eq!(asked["roots"], json!({"method": "roots/list"}));
    // One answer, and one that nobody asked for.
    let mut given = accepted();
    given["stranger"] = json!({"action": "accept"});
    call_tool(&mut pair, 2, retry(&round, given));
    let call = pair.take_call();
    assert_eq!(ask(&mut pair, &call, &all, Reentry::Replay), Ok(Asked::Suspended));
    pair.take_event();
    let round = taken(&mut pair);
    let asked = round["result"]["inputRequests"].as_object().expect("an object");
    assert_eq!(asked.keys().collect::<Vec<_>>(), ["greeting", "roots"]);
}

// requirement: mrtr-keys-unique
#[test]
fn two_questions_never_share_a_key() {
    let mut pair = pair();
    call_tool(&mut pair, 1, json!({}));
    let call = pair.take_call();
    for reentry in [Reentry::Replay, Reentry::Held] {
        let refused = ask(&mut pair, &call, &[name("who"), sample("who")], reentry);
        assert!(matches!(refused, Err(LocalError::InputRequest { .. })), "{refused:?}");
    }
    let twice =
        format!(r#"{{"who":{{"method":"elicitation/create","params":{FORM}}},"who":{{"method":"roots/list"}}}}"#);
    let refused = pair.server.respond(call.key, Reply::InputRequired { requests: Some(&twice), state: None }, 0);
    assert!(refused.is_err());
    pair.drain();
    assert!(pair.sent.is_empty());
    // A key that the engine makes is none of host code's.
    let none = InputRequest { key: "", ..name("-") };
    assert_eq!(ask(&mut pair, &call, &[none, name("who"), none], Reentry::Replay), Ok(Asked::Suspended));
    let round = taken(&mut pair);
    assert_eq!(round["result"]["inputRequests"].as_object().map(serde_json::Map::len), Some(3));
}

#[test]
fn an_answer_that_does_not_fit_is_asked_for_again() {
    let mut pair = pair();
    for wrong in [json!({"who": 12345}), json!({"who": {"action": "accept", "content": {"name": 5}}}), json!({})] {
        let round = first_round(&mut pair);
        call_tool(&mut pair, 2, retry(&round, wrong));
        let call = pair.take_call();
        assert_eq!(ask(&mut pair, &call, &[name("who")], Reentry::Replay), Ok(Asked::Suspended));
        pair.take_event();
        let round = taken(&mut pair);
        assert_eq!(round["result"]["resultType"], "input_required");
        // The wrong answer does not stand in the way of the right one.
        call_tool(&mut pair, 3, retry(&round, accepted()));
        let call = pair.take_call();
        assert!(matches!(ask(&mut pair, &call, &[name("who")], Reentry::Replay), Ok(Asked::Answered(_))));
        pair.answer_text(call.key, "well");
        taken(&mut pair);
    }
    let round = first_round(&mut pair);
    call_tool(&mut pair, 3, retry(&round, json!([1])));
    assert_eq!(refusal(&mut pair).0, -32602);
}

#[test]
fn declining_and_cancelling_are_answers() {
    let mut pair = pair();
    for action in ["decline", "cancel"] {
        let round = first_round(&mut pair);
        call_tool(&mut pair, 2, retry(&round, json!({"who": {"action": action}})));
        let call = pair.take_call();
        let expected = format!(r#"{{"action":"{action}"}}"#);
        assert_eq!(ask(&mut pair, &call, &[name("who")], Reentry::Replay), Ok(Asked::Answered(vec![expected])));
        pair.answer_text(call.key, "well");
        taken(&mut pair);
    }
}

#[test]
fn a_changed_question_is_not_answered_by_the_old_answer() {
    let mut pair = pair();
    let round = first_round(&mut pair);
    call_tool(&mut pair, 2, retry(&round, accepted()));
    let call = pair.take_call();
    let other = FORM.replace("Who?", "Whom shall I delete?");
    let other = InputRequest { key: "who", method: "elicitation/create", params: &other };
    assert_eq!(ask(&mut pair, &call, &[other], Reentry::Replay), Ok(Asked::Suspended));
}

// requirement: mrtr-state-untrusted, mrtr-state-integrity, mrtr-state-rejected, mrtr-state-replay-request, mrtr-state-single-use
#[test]
fn states_that_are_tampered_with_foreign_or_used_twice_are_refused() {
    let mut pair = pair();
    let round = first_round(&mut pair);
    let state = round["result"]["requestState"].as_str().expect("a state").to_owned();
    let attempt = |pair: &mut Pair, more: Value| {
        call_tool(pair, 9, more);
        refusal(pair)
    };
    for wrong in [json!(format!("{state}-TAMPERED")), json!(&state[..state.len() - 1]), json!("x"), json!(""), json!(5)]
    {
        assert_eq!(attempt(&mut pair, json!({"requestState": wrong})).0, -32602, "{wrong}");
    }
    // The same state with other parameters, or for another method.
    let other = json!({"requestState": state, "arguments": {"n": 2}});
    assert_eq!(attempt(&mut pair, other).0, -32602);
    send(&mut pair, 9, "prompts/get", &json!({"name": "p", "requestState": state}), ALL);
    assert_eq!(refusal(&mut pair).0, -32602);
    // None of that has used it up, nor how the parameters are written.
    call_tool(&mut pair, 10, json!({"arguments": {"n": 1}, "requestState": state, "inputResponses": {}}));
    let call = pair.take_call();
    pair.answer_text(call.key, "x");
    taken(&mut pair);
    let again = attempt(&mut pair, json!({"requestState": state}));
    assert_eq!(again.0, -32602);
    assert!(again.1.contains("used before"), "{}", again.1);
}

// requirement: mrtr-state-replay-expiry
#[test]
fn states_expire() {
    let mut pair = pair();
    let round = first_round(&mut pair);
    let ttl = pair.server.config().limits.request_state_ttl_ms;
    pair.advance(ttl);
    call_tool(&mut pair, 2, retry(&round, accepted()));
    let refused = refusal(&mut pair);
    assert!(refused.0 == -32602 && refused.1.contains("expired"), "{}", refused.1);
}

// requirement: mrtr-state-replay-principal, mrtr-state-rejected
#[test]
fn states_belong_to_a_principal() {
    let mut pair = pair();
    pair.server.set_principal(pair.stream, Some("alice")).expect("an open stream");
    let round = first_round(&mut pair);
    for other in [Some("bob"), None, Some("")] {
        pair.server.set_principal(pair.stream, other).expect("an open stream");
        call_tool(&mut pair, 2, retry(&round, accepted()));
        assert_eq!(refusal(&mut pair).0, -32602);
    }
    pair.server.set_principal(pair.stream, Some("alice")).expect("an open stream");
    call_tool(&mut pair, 2, retry(&round, accepted()));
    pair.take_call();
}

#[test]
fn nodes_that_share_the_keys_serve_each_others_retries() {
    let keyed = |keys: &[u8]| {
        let mut config = ServerConfig::new("s", "1");
        config.state_keys = keys.iter().map(|key| StateKey([*key; 32])).collect();
        pair_with(config)
    };
    let (mut old, mut new, mut stranger) = (keyed(&[1]), keyed(&[2, 1]), keyed(&[3]));
    let round = first_round(&mut old);
    call_tool(&mut new, 2, retry(&round, accepted()));
    let call = new.take_call();
    assert!(matches!(ask(&mut new, &call, &[name("who")], Reentry::Replay), Ok(Asked::Answered(_))));
    call_tool(&mut stranger, 2, retry(&round, accepted()));
    assert_eq!(refusal(&mut stranger).0, -32602);
    // A rotation: the newest key seals, and who has only the old one can't open.
    let round = first_round(&mut new);
    call_tool(&mut old, 2, retry(&round, accepted()));
    assert_eq!(refusal(&mut old).0, -32602);
    old.server.set_state_keys(&[StateKey([2; 32])]);
    call_tool(&mut old, 3, retry(&round, accepted()));
    old.take_call();
}

#[test]
fn states_and_rounds_are_bounded() {
    let mut config = ServerConfig::new("s", "1");
    config.limits.max_request_state_bytes = 600;
    config.limits.max_rounds = 2;
    let mut pair = pair_with(config);
    let round = first_round(&mut pair);
    let long = json!({"who": {"action": "accept", "content": {"name": "x".repeat(600)}}});
    call_tool(&mut pair, 2, retry(&round, long));
    let call = pair.take_call();
    let refused = ask(&mut pair, &call, &[sample("more")], Reentry::Replay);
    assert_eq!(refused, Err(LocalError::Limit("maxRequestStateBytes")));
    // Nothing was sent, and the call is still open.
    assert!(pair.sent.is_empty() && pair.answer_text(call.key, "without"));
    taken(&mut pair);

    let mut round = first_round(&mut pair);
    call_tool(&mut pair, 3, retry(&round, json!({})));
    let call = pair.take_call();
    assert_eq!(ask(&mut pair, &call, &[name("who")], Reentry::Replay), Ok(Asked::Suspended));
    pair.take_event();
    round = taken(&mut pair);
    call_tool(&mut pair, 4, retry(&round, json!({})));
    let call = pair.take_call();
    assert_eq!(ask(&mut pair, &call, &[name("who")], Reentry::Replay), Err(LocalError::Limit("maxRounds")));
}

#[test]
fn what_the_client_has_not_declared_is_never_asked() {
    let mut pair = pair();
    let params = json!({"name": "greet"});
    send(&mut pair, 1, "tools/call", &params, r#"{"elicitation":{"url":{}},"sampling":{}}"#);
    let call = pair.take_call();
    for reentry in [Reentry::Replay, Reentry::Held] {
        let refused = ask(&mut pair, &call, &[sample("a"), name("b")], reentry);
        assert_eq!(refused, Err(LocalError::CapabilityNotDeclared("elicitation.form")));
    }
    assert!(pair.sent.is_empty());
    assert_eq!(pair.server.fail_capability(call.key, "elicitation.form", 0), Ok(true));
    pair.drain();
    let answer = taken(&mut pair);
    assert_eq!(answer["error"]["code"], -32021);
    assert_eq!(answer["error"]["data"], json!({"requiredCapabilities": {"elicitation": {"form": {}}}}));
}

#[test]
fn prompts_and_resources_ask_too_and_nothing_else_does() {
    let mut pair = pair();
    for (method, params) in [("prompts/get", json!({"name": "p"})), ("resources/read", json!({"uri": "mem://a"}))] {
        send(&mut pair, 1, method, &params, ALL);
        let call = pair.take_call();
        assert_eq!(ask(&mut pair, &call, &[name("who")], Reentry::Replay), Ok(Asked::Suspended));
        pair.take_event();
        let round = taken(&mut pair);
        let mut again = params.clone();
        again["requestState"] = round["result"]["requestState"].clone();
        again["inputResponses"] = accepted();
        send(&mut pair, 2, method, &again, ALL);
        let call = pair.take_call();
        assert!(matches!(ask(&mut pair, &call, &[name("who")], Reentry::Replay), Ok(Asked::Answered(_))));
        pair.server.fail(call.key, &ferromcp_engine::PeerError::internal("enough"), 0).expect("a good error");
        pair.drain();
        taken(&mut pair);
    }
    let mut config = ServerConfig::new("s", "1");
    config.extra_methods = vec!["example/ask".into()];
    let mut pair = pair_with(config);
    send(&mut pair, 1, "example/ask", &json!({}), ALL);
    let call = pair.take_call();
    assert_eq!(ask(&mut pair, &call, &[name("who")], Reentry::Replay), Err(LocalError::NoBackChannel));
}

#[test]
fn a_held_call_goes_on_with_the_retry() {
    let mut pair = pair();
    call_tool(&mut pair, 1, json!({}));
    let call = pair.take_call();
    let Ok(Asked::Waiting(waiting)) = ask(&mut pair, &call, &[name("who")], Reentry::Held) else { panic!("waiting") };
    let round = taken(&mut pair);
    assert_eq!((&round["id"], &round["result"]["resultType"]), (&json!(1), &json!("input_required")));
    // Nothing of the call can be said while there is no request; the id is free.
    assert_eq!(pair.server.progress(call.key, 1.0, None, None, 0), Ok(false));
    call_tool(&mut pair, 1, retry(&round, accepted()));
    let Event::Answers { ask: key, call: of, answers } = pair.take_event() else { panic!("answers") };
    assert_eq!((key, of), (waiting, call.key));
    assert_eq!(answers, [Ok(r#"{"action":"accept","content":{"name":"Ada"}}"#.to_owned())]);
    assert!(pair.answer_text(call.key, "Hello, Ada!"));
    let answer = taken(&mut pair);
    assert_eq!((&answer["id"], &answer["result"]["resultType"]), (&json!(1), &json!("complete")));
    // The call is gone, and its state with it.
    call_tool(&mut pair, 3, retry(&round, accepted()));
    assert_eq!(refusal(&mut pair).0, -32602);
}

#[test]
fn a_held_call_is_asked_again_for_what_is_missing_or_new() {
    let mut pair = pair();
    call_tool(&mut pair, 1, json!({}));
    let call = pair.take_call();
    assert!(matches!(ask(&mut pair, &call, &[name("who")], Reentry::Held), Ok(Asked::Waiting(_))));
    let round = taken(&mut pair);
    let Ok(Asked::Waiting(second)) = ask(&mut pair, &call, &[name("other")], Reentry::Held) else { panic!("waiting") };
    assert!(pair.sent.is_empty(), "there is no request to answer");
    let twice = ask(&mut pair, &call, &[name("who")], Reentry::Held);
    assert!(matches!(twice, Err(LocalError::InputRequest { .. })), "one key, one question");
    call_tool(&mut pair, 2, retry(&round, json!({"who": {"action": "accept", "content": {}}})));
    let round = taken(&mut pair);
    let asked: Vec<_> = round["result"]["inputRequests"].as_object().expect("an object").keys().cloned().collect();
    assert_eq!((round["id"].clone(), asked), (json!(2), vec!["other".to_owned(), "who".to_owned()]));
    call_tool(&mut pair, 3, retry(&round, accepted()));
    let Event::Answers { ask: first, .. } = pair.take_event() else { panic!("answers") };
    assert_ne!(first, second);
    let round = taken(&mut pair);
    let answer = json!({"other": {"action": "decline"}});
    call_tool(&mut pair, 4, retry(&round, answer));
    let Event::Answers { ask: key, .. } = pair.take_event() else { panic!("answers") };
    assert_eq!(key, second);
    assert!(pair.answer_text(call.key, "done"));
    assert_eq!(taken(&mut pair)["id"], 4);
}

#[test]
fn a_held_call_that_asks_in_another_way_answers_no_request_twice() {
    let mut pair = pair();
    call_tool(&mut pair, 1, json!({}));
    let call = pair.take_call();
    assert!(matches!(ask(&mut pair, &call, &[name("who")], Reentry::Held), Ok(Asked::Waiting(_))));
    let round = taken(&mut pair);
    let by_hand = Reply::InputRequired { requests: None, state: Some("x") };
    assert!(matches!(pair.server.respond(call.key, by_hand, 0), Err(LocalError::InputRequest { .. })));
    assert!(matches!(ask(&mut pair, &call, &[sample("more")], Reentry::Replay), Ok(Asked::Waiting(_))));
    assert!(pair.sent.is_empty() && pair.events.is_empty());
    // Asked with what follows.
    call_tool(&mut pair, 2, retry(&round, accepted()));
    assert!(matches!(pair.take_event(), Event::Answers { .. }));
    let asked = taken(&mut pair)["result"]["inputRequests"].clone();
    assert_eq!(asked.as_object().map(serde_json::Map::len), Some(1));
    assert_eq!(asked["more"]["method"], "sampling/createMessage");
}

#[test]
fn what_a_held_call_answers_early_is_kept_for_the_retry() {
    let mut pair = pair();
    call_tool(&mut pair, 1, json!({}));
    let call = pair.take_call();
    assert!(matches!(ask(&mut pair, &call, &[name("who")], Reentry::Held), Ok(Asked::Waiting(_))));
    let round = taken(&mut pair);
    assert!(pair.answer_text(call.key, "never mind"));
    assert!(pair.sent.is_empty());
    call_tool(&mut pair, 2, retry(&round, accepted()));
    let answer = taken(&mut pair);
    assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!(2), &json!("never mind")));
    assert!(!pair.answer_text(call.key, "again"));
}

// requirement: mrtr-no-fulfilment-assumed
#[test]
fn held_calls_are_bounded_in_number_and_time() {
    let mut config = ServerConfig::new("s", "1");
    config.limits.max_held = 1;
    let mut pair = pair_with(config);
    call_tool(&mut pair, 1, json!({}));
    let first = pair.take_call();
    assert!(matches!(ask(&mut pair, &first, &[name("who")], Reentry::Held), Ok(Asked::Waiting(_))));
    let round = taken(&mut pair);
    call_tool(&mut pair, 2, json!({}));
    let second = pair.take_call();
    assert_eq!(ask(&mut pair, &second, &[name("who")], Reentry::Held), Err(LocalError::Limit("maxHeld")));
    let held_ms = pair.server.config().limits.held_ms;
    pair.advance(held_ms);
    let Event::Cancelled { key, reason: CancelReason::Unanswered } = pair.take_event() else { panic!("over") };
    assert_eq!(key, first.key);
    call_tool(&mut pair, 3, retry(&round, accepted()));
    assert_eq!(refusal(&mut pair).0, -32602);
    assert!(
        matches!(ask(&mut pair, &second, &[name("who")], Reentry::Held), Ok(Asked::Waiting(_))),
        "there is room again"
    );
}

#[test]
fn held_calls_end_with_their_stream() {
    let mut pair = pair();
    call_tool(&mut pair, 1, json!({}));
    let call = pair.take_call();
    assert!(matches!(ask(&mut pair, &call, &[name("who")], Reentry::Held), Ok(Asked::Waiting(_))));
    pair.server.end_of_input(pair.stream, pair.now).expect("an open stream");
    pair.drain();
    let mut events: Vec<_> = pair.events.drain(..).collect();
    assert!(matches!(events.pop(), Some(Event::Drained { .. })), "nothing is in flight");
    assert!(matches!(events.pop(), Some(Event::Cancelled { key, reason: CancelReason::Drained }) if key == call.key));
}

#[test]
fn a_legacy_client_is_asked_by_requests() {
    let mut pair = pair();
    pair.initialize("2025-11-25", ALL);
    pair.events.clear();
    pair.legacy("1", "tools/call", r#"{"name":"greet"}"#);
    let call = pair.take_call();
    for reentry in [Reentry::Replay, Reentry::Held] {
        let Ok(Asked::Waiting(waiting)) = ask(&mut pair, &call, &[name("who"), sample("more")], reentry) else {
            panic!("waiting")
        };
        let (form, sampling) = (taken(&mut pair), taken(&mut pair));
        assert_eq!(form["method"], "elicitation/create");
        assert_eq!(sampling["method"], "sampling/createMessage");
        let refused = json!({"jsonrpc": "2.0", "id": sampling["id"], "error": {"code": -1, "message": "no"}});
        pair.send(&refused.to_string());
        assert!(pair.events.is_empty(), "one answer is missing");
        let given = json!({"jsonrpc": "2.0", "id": form["id"], "result": {"action": "decline"}});
        pair.send(&given.to_string());
        let Event::Answers { ask: key, answers, .. } = pair.take_event() else { panic!("answers") };
        assert_eq!(key, waiting);
        assert_eq!(answers[0].as_deref(), Ok(r#"{"action":"decline"}"#));
        assert!(matches!(&answers[1], Err(OutgoingError::Peer(error)) if error.code == -1));
    }
}

#[test]
fn legacy_answers_that_do_not_fit_time_out_or_never_come_are_told() {
    let mut pair = pair();
    pair.initialize("2025-06-18", ALL);
    pair.events.clear();
    pair.legacy("1", "tools/call", r#"{"name":"greet"}"#);
    let call = pair.take_call();
    let outcome = |pair: &mut Pair| match pair.take_event() {
        Event::Answers { mut answers, .. } => answers.remove(0).expect_err("no answer"),
        other => panic!("answers, not {other:?}"),
    };
    ask(&mut pair, &call, &[name("who")], Reentry::Replay).expect("asked");
    let id = taken(&mut pair)["id"].clone();
    pair.send(&json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept", "content": {}}}).to_string());
    assert!(matches!(outcome(&mut pair), OutgoingError::Invalid(reason) if reason.contains("name")));

    pair.server.ask(call.key, &[name("who")], Reentry::Replay, Some(50), pair.now).expect("asked");
    pair.advance(50);
    assert_eq!(outcome(&mut pair), OutgoingError::TimedOut);
    taken(&mut pair);
    assert_eq!(taken(&mut pair)["method"], "notifications/cancelled");

    ask(&mut pair, &call, &[name("who")], Reentry::Replay).expect("asked");
    pair.server.end_of_input(pair.stream, pair.now).expect("an open stream");
    pair.drain();
    assert_eq!(outcome(&mut pair), OutgoingError::Closed);
}

#[test]
fn a_legacy_call_that_ends_takes_its_questions_back() {
    let mut pair = pair();
    pair.initialize("2025-11-25", ALL);
    pair.events.clear();
    pair.legacy("1", "tools/call", r#"{"name":"greet"}"#);
    let call = pair.take_call();
    ask(&mut pair, &call, &[name("who")], Reentry::Replay).expect("asked");
    let id = taken(&mut pair)["id"].clone();
    pair.legacy("", "notifications/cancelled", r#"{"requestId":1}"#);
    let cancelled = taken(&mut pair);
    assert_eq!((&cancelled["method"], &cancelled["params"]["requestId"]), (&json!("notifications/cancelled"), &id));
    assert!(matches!(pair.take_event(), Event::Cancelled { .. }));
}

#[test]
fn a_round_by_hand_comes_back_in_both_eras() {
    let requests = format!(r#"{{"who":{{"method":"elicitation/create","params":{FORM}}}}}"#);
    let round_by_hand = |pair: &mut Pair, call: &Call| {
        assert_eq!((call.input_responses_json(), call.request_state()), (None, None));
        let reply = Reply::InputRequired { requests: Some(&requests), state: Some("step 1") };
        assert_eq!(pair.server.respond(call.key, reply, pair.now), Ok(true));
        pair.drain();
        taken(pair)
    };
    let came_back = |pair: &mut Pair| {
        let call = pair.take_call();
        assert_eq!(call.request_state(), Some("step 1"));
        let given = serde_json::from_str::<Value>(call.input_responses_json().expect("answers")).expect("JSON");
        assert_eq!(given, accepted());
        assert_eq!(call.arguments_json(), r#"{"n":1}"#);
        assert!(pair.answer_text(call.key, "Hello, Ada!"));
        taken(pair)
    };
    let mut pair = pair();
    call_tool(&mut pair, 1, json!({}));
    let call = pair.take_call();
    let round = round_by_hand(&mut pair, &call);
    assert!(!round.to_string().contains("step 1"), "host code's state is sealed");
    let mut given = accepted();
    given["stranger"] = json!(1);
    call_tool(&mut pair, 2, retry(&round, given));
    assert_eq!(came_back(&mut pair)["id"], 2);

    pair.initialize("2025-11-25", ALL);
    pair.events.clear();
    pair.legacy("1", "tools/call", r#"{"name":"greet","arguments":{"n":1}}"#);
    let call = pair.take_call();
    let asked = round_by_hand(&mut pair, &call);
    pair.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": accepted()["who"]}).to_string());
    let answer = came_back(&mut pair);
    assert_eq!((&answer["id"], answer["result"].get("resultType")), (&json!(1), None));
}

// requirement: mrtr-requests-or-state
#[test]
fn a_round_of_a_state_alone_and_a_round_of_nothing() {
    let mut pair = pair();
    call_tool(&mut pair, 1, json!({}));
    let call = pair.take_call();
    let nothing = Reply::InputRequired { requests: None, state: None };
    assert!(matches!(pair.server.respond(call.key, nothing, 0), Err(LocalError::InputRequest { .. })));
    let state = Reply::InputRequired { requests: None, state: Some("\"odd\u{0}\n😀") };
    assert_eq!(pair.server.respond(call.key, state, 0), Ok(true));
    pair.drain();
    let round = taken(&mut pair);
    assert_eq!(round["result"].get("inputRequests"), None);
    call_tool(&mut pair, 2, json!({"requestState": round["result"]["requestState"]}));
    assert_eq!(pair.take_call().request_state(), Some("\"odd\u{0}\n😀"));
}

#[test]
fn a_legacy_client_without_the_capability_or_with_an_error_fails_the_call() {
    let requests = format!(r#"{{"who":{{"method":"elicitation/create","params":{FORM}}}}}"#);
    let by_hand = Reply::InputRequired { requests: Some(&requests), state: None };
    let mut plain = pair();
    plain.initialize("2025-11-25", "{}");
    plain.events.clear();
    plain.legacy("1", "tools/call", r#"{"name":"greet"}"#);
    let call = plain.take_call();
    let refused = plain.server.respond(call.key, by_hand, 0);
    assert_eq!(refused, Err(LocalError::CapabilityNotDeclared("elicitation.form")));
    assert_eq!(plain.server.fail_capability(call.key, "elicitation.form", 0), Ok(true));
    plain.drain();
    assert_eq!(taken(&mut plain)["result"]["isError"], true);

    let mut pair = pair();
    pair.initialize("2025-11-25", ALL);
    pair.events.clear();
    pair.legacy("1", "tools/call", r#"{"name":"greet"}"#);
    let call = pair.take_call();
    assert_eq!(pair.server.respond(call.key, by_hand, 0), Ok(true));
    pair.drain();
    let id = taken(&mut pair)["id"].clone();
    pair.send(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": "no UI"}}).to_string());
    let answer = taken(&mut pair);
    assert_eq!(answer["result"]["isError"], true);
    assert!(answer["result"]["content"][0]["text"].as_str().expect("text").contains("no UI"));
}

#[test]
fn answers_without_a_state_are_for_rounds_by_hand_alone() {
    let mut pair = pair();
    call_tool(&mut pair, 1, json!({"inputResponses": accepted()}));
    let call = pair.take_call();
    assert_eq!(call.input_responses_json(), Some(accepted().to_string().as_str()));
    assert_eq!(ask(&mut pair, &call, &[name("who")], Reentry::Replay), Ok(Asked::Suspended));
}

#[test]
fn questions_without_a_key_are_told_apart_by_their_order() {
    let mut pair = pair();
    let none = |request: InputRequest<'static>| InputRequest { key: "", ..request };
    call_tool(&mut pair, 1, json!({}));
    let call = pair.take_call();
    assert_eq!(ask(&mut pair, &call, &[none(name("-"))], Reentry::Replay), Ok(Asked::Suspended));
    pair.take_event();
    let first = taken(&mut pair);
    let key = |round: &Value| {
        let asked = round["result"]["inputRequests"].as_object().expect("an object");
        asked.keys().next().expect("a question").clone()
    };
    let decline = |key: String| json!({ key: {"action": "decline"} });
    call_tool(&mut pair, 2, retry(&first, decline(key(&first))));
    let call = pair.take_call();
    assert!(matches!(ask(&mut pair, &call, &[none(name("-"))], Reentry::Replay), Ok(Asked::Answered(_))));
    assert_eq!(ask(&mut pair, &call, &[none(name("-"))], Reentry::Replay), Ok(Asked::Suspended));
    pair.take_event();
    assert_ne!(key(&first), key(&taken(&mut pair)));
}
