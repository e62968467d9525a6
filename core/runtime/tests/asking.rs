//! Closures that ask their client, modern and legacy, and wait for it or run again.

mod common;

use common::{Client, LONG, ended, text, tool};
use ferromcp::engine::CancelReason;
use ferromcp::{
    AskError, Elicited, EndReason, InputRequest, PromptOutput, ResourceOutput, Root, Server, ToolError, ToolOutput,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const NAME: &str = r#"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}"#;
const SURE: &str = r#"{"type":"object","properties":{"sure":{"type":"boolean"}},"required":["sure"]}"#;

#[derive(Deserialize)]
struct Name {
    name: String,
}

#[derive(Deserialize)]
struct Sure {
    sure: bool,
}

fn all() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}})
}

/// A server whose `greet` asks for a name, then whether it is sure, and counts its runs.
fn greeting() -> (Server, Arc<AtomicU32>) {
    let runs = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&runs);
    let server = Server::new("test", "1").tool(tool("greet"), move |call| {
        counted.fetch_add(1, Ordering::SeqCst);
        let Elicited::Accept(Name { name }) = call.elicit("Who are you?", NAME)? else {
            return Ok(ToolOutput::text("Nobody."));
        };
        match call.elicit(&format!("Really {name}?"), SURE)? {
            Elicited::Accept(Sure { sure: true }) => Ok(ToolOutput::text(format!("Hello, {name}!"))),
            Elicited::Accept(_) | Elicited::Decline => Ok(ToolOutput::text("Not you.")),
            Elicited::Cancel => Ok(ToolOutput::text("Never mind.")),
        }
    });
    (server, runs)
}

/// Calls a tool as a modern client that can do everything.
fn call_modern(client: &mut Client, id: u64, name: &str, more: &Value) -> Value {
    let mut members = json!({"name": name});
    for (key, value) in more.as_object().expect("an object") {
        members[key] = value.clone();
    }
    client.modern(id, "tools/call", &members, &all());
    client.expect(id)
}

/// The questions of a round, by key.
fn questions(round: &Value) -> Vec<(String, Value)> {
    assert_eq!(round["result"]["resultType"], "input_required", "{round}");
    let asked = round["result"]["inputRequests"].as_object().unwrap_or_else(|| panic!("no questions in {round}"));
    asked.iter().map(|(key, request)| (key.clone(), request.clone())).collect()
}

/// What a retry carries that answers the only question of a round.
fn answered(round: &Value, answer: Value) -> Value {
    let asked = questions(round);
    assert_eq!(asked.len(), 1);
    json!({"requestState": round["result"]["requestState"], "inputResponses": {&*asked[0].0: answer}})
}

fn accept(content: Value) -> Value {
    json!({"action": "accept", "content": content})
}

#[test]
fn a_closure_that_asks_twice_runs_three_times() {
    let (server, runs) = greeting();
    let mut client = Client::open(server);
    let first = call_modern(&mut client, 1, "greet", &json!({}));
    assert_eq!(questions(&first)[0].1["params"]["message"], "Who are you?");
    let second = call_modern(&mut client, 2, "greet", &answered(&first, accept(json!({"name": "Ada"}))));
    assert_eq!(questions(&second)[0].1["params"]["message"], "Really Ada?");
    let last = call_modern(&mut client, 3, "greet", &answered(&second, accept(json!({"sure": true}))));
    assert_eq!(text(&last), "Hello, Ada!");
    assert_eq!(runs.load(Ordering::SeqCst), 3);
}

#[test]
fn declining_and_cancelling_are_values() {
    let (server, _) = greeting();
    let mut client = Client::open(server);
    for (action, said) in [("decline", "Not you."), ("cancel", "Never mind.")] {
        let first = call_modern(&mut client, 1, "greet", &json!({}));
        let second = call_modern(&mut client, 2, "greet", &answered(&first, accept(json!({"name": "Ada"}))));
        let last = call_modern(&mut client, 3, "greet", &answered(&second, json!({"action": action})));
        assert_eq!(text(&last), said);
    }
}

#[test]
fn a_held_closure_runs_once() {
    let (server, runs) = greeting();
    let mut client = Client::open(server.held());
    let first = call_modern(&mut client, 1, "greet", &json!({}));
    let second = call_modern(&mut client, 2, "greet", &answered(&first, accept(json!({"name": "Ada"}))));
    let last = call_modern(&mut client, 3, "greet", &answered(&second, accept(json!({"sure": true}))));
    assert_eq!(text(&last), "Hello, Ada!");
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[test]
fn held_closures_wait_side_by_side() {
    const CALLS: u64 = 4;
    let (server, runs) = greeting();
    let mut client = Client::open(server.held());
    let rounds: Vec<_> = (0..CALLS).map(|id| call_modern(&mut client, id, "greet", &json!({}))).collect();
    assert_eq!(u64::from(runs.load(Ordering::SeqCst)), CALLS);
    for (at, round) in rounds.iter().enumerate().rev() {
        let name = format!("number {at}");
        let second = call_modern(&mut client, 10, "greet", &answered(round, accept(json!({"name": name}))));
        let last = call_modern(&mut client, 11, "greet", &answered(&second, accept(json!({"sure": true}))));
        assert_eq!(text(&last), format!("Hello, {name}!"));
    }
}

#[test]
fn questions_go_by_their_keys() {
    let server = Server::new("test", "1").tool(tool("all"), |call| {
        let Elicited::Accept(Name { name }) = call.asking().key("who").elicit("Who?", NAME)? else {
            return Ok(ToolOutput::text("nobody"));
        };
        call.asking().key("page").elicit_url("Log in", "https://example.com/login")?;
        let poem: Value = call.asking().key("poem").sample(json!({"messages": [], "maxTokens": 9}))?;
        let roots = call.asking().key("where").list_roots()?;
        Ok(ToolOutput::text(format!("{name}, {}, {}", poem["model"], roots[0].uri)))
    });
    let mut client = Client::open(server);
    let answers = [
        ("who", accept(json!({"name": "Ada"}))),
        ("page", json!({"action": "accept"})),
        ("poem", json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "."}})),
        ("where", json!({"roots": [{"uri": "file:///a"}]})),
    ];
    let mut round = call_modern(&mut client, 1, "all", &json!({}));
    for (key, answer) in answers {
        assert_eq!(questions(&round)[0].0, key);
        let retry = answered(&round, answer);
        round = call_modern(&mut client, 1, "all", &retry);
    }
    assert_eq!(text(&round), r#"Ada, "m", file:///a"#);
}

#[test]
fn a_question_has_its_own_time() {
    let server = Server::new("test", "1").tool(tool("ask"), |call| {
        let name = call.asking().timeout(Duration::from_millis(1)).elicit::<Name>("Who?", NAME);
        Ok(ToolOutput::text(name.err().map_or_else(|| "answered".to_owned(), |error| error.to_string())))
    });
    let mut client = Client::connect_with(server, &all());
    client.call(1, "ask", "{}");
    let asked = client.receive();
    assert_eq!(asked["method"], "elicitation/create");
    // `basic/lifecycle`, "Timeouts": the sender gives the request up.
    let taken_back = client.receive();
    assert_eq!(taken_back["method"], "notifications/cancelled");
    assert_eq!(taken_back["params"]["requestId"], asked["id"]);
    assert_eq!(text(&client.expect(1)), "the client did not answer in time");
}

#[test]
fn several_questions_share_a_round() {
    let server = Server::new("test", "1").tool(tool("all"), |call| {
        let form = format!(r#"{{"message":"Who?","requestedSchema":{NAME}}}"#);
        let answers = call.ask(&[
            InputRequest { key: "who", method: "elicitation/create", params: &form },
            InputRequest { key: "poem", method: "sampling/createMessage", params: r#"{"messages":[],"maxTokens":9}"# },
            InputRequest { key: "where", method: "roots/list", params: "{}" },
        ])?;
        Ok(ToolOutput::text(answers.join("\n")))
    });
    let mut client = Client::open(server);
    let round = call_modern(&mut client, 1, "all", &json!({}));
    let keys: Vec<_> = questions(&round).into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["poem", "where", "who"]);
    let given = json!({
        "where": {"roots": [{"uri": "file:///a"}]},
        "who": {"action": "decline"},
        "poem": {"role": "assistant", "content": {"type": "text", "text": "x"}, "model": "m"},
    });
    let retry = json!({"requestState": round["result"]["requestState"], "inputResponses": given});
    let last = call_modern(&mut client, 2, "all", &retry);
    let lines: Vec<Value> = text(&last).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines, [given["who"].clone(), given["poem"].clone(), given["where"].clone()]);
}

#[test]
fn each_kind_of_question_has_a_call_of_its_own() {
    let server = Server::new("test", "1")
        .tool(tool("visit"), |call| {
            Ok(ToolOutput::text(match call.elicit_url("Log in", "https://example.com/login")? {
                Elicited::Accept(()) => "going",
                Elicited::Decline => "staying",
                Elicited::Cancel => "gone",
            }))
        })
        .tool(tool("sample"), |call| {
            let message: Value = call.sample(json!({"messages": [], "maxTokens": 7}))?;
            Ok(ToolOutput::text(message["content"]["text"].as_str().unwrap_or_default()))
        })
        .tool(tool("roots"), |call| {
            let roots = call.list_roots()?;
            let named = |root: &Root| format!("{} {}", root.uri, root.name.as_deref().unwrap_or("-"));
            Ok(ToolOutput::text(roots.iter().map(named).collect::<Vec<_>>().join(", ")))
        });
    let mut client = Client::open(server);
    let message = json!({"role": "assistant", "content": {"type": "text", "text": "a poem"}, "model": "m"});
    let roots = json!({"roots": [{"uri": "file:///a", "name": "A"}, {"uri": "file:///b"}]});
    for (name, params, answer, said) in [
        (
            "visit",
            json!({"mode": "url", "message": "Log in", "url": "https://example.com/login"}),
            json!({"action": "accept"}),
            "going",
        ),
        ("visit", Value::Null, json!({"action": "decline"}), "staying"),
        ("visit", Value::Null, json!({"action": "cancel"}), "gone"),
        ("sample", json!({"messages": [], "maxTokens": 7}), message, "a poem"),
        ("roots", Value::Null, roots, "file:///a A, file:///b -"),
    ] {
        let round = call_modern(&mut client, 1, name, &json!({}));
        if !params.is_null() {
            assert_eq!(questions(&round)[0].1["params"], params);
        }
        assert_eq!(text(&call_modern(&mut client, 2, name, &answered(&round, answer))), said);
    }
}

/// A server that asks by its own hand, wherever one can.
fn by_hand() -> Server {
    let question = r#"{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}"#;
    let requests = move || [InputRequest { key: "who", method: "elicitation/create", params: question }];
    let given = |responses: Option<&str>, state: Option<&str>| -> Option<String> {
        let responses: Value = serde_json::from_str(responses?).expect("JSON");
        let name = responses["who"]["content"]["name"].as_str().unwrap_or("nobody").to_owned();
        Some(format!("{name} after {}", state.unwrap_or("nothing")))
    };
    Server::new("test", "1")
        .tool(tool("hand"), move |call| {
            Ok(match given(call.input_responses(), call.request_state()) {
                Some(text) => ToolOutput::text(text),
                None => ToolOutput::input_required(&requests(), Some("step 1")),
            })
        })
        .tool(tool("later"), |call| {
            Ok(match call.request_state() {
                Some(state) => ToolOutput::text(state),
                None => ToolOutput::input_required(&[], Some("come \"again\"")),
            })
        })
        .tool(tool("empty"), |_| Ok(ToolOutput::input_required(&[], None)))
        .resource(r#"{"uri":"mem://hand","name":"hand"}"#, move |call| {
            Ok(match given(call.input_responses(), call.request_state()) {
                Some(text) => ResourceOutput::text(text),
                None => ResourceOutput::input_required(&requests(), Some("step 2")),
            })
        })
        .prompt(r#"{"name":"hand"}"#, move |call| {
            Ok(match given(call.input_responses(), call.request_state()) {
                Some(text) => PromptOutput::new().user(text),
                None => PromptOutput::input_required(&requests(), Some("step 3")),
            })
        })
}

#[test]
fn rounds_by_hand_come_back_with_answers_and_state() {
    let mut client = Client::open(by_hand());
    for (method, members, at, said) in [
        ("tools/call", json!({"name": "hand"}), "/result/content/0/text", "Ada after step 1"),
        ("resources/read", json!({"uri": "mem://hand"}), "/result/contents/0/text", "Ada after step 2"),
        ("prompts/get", json!({"name": "hand"}), "/result/messages/0/content/text", "Ada after step 3"),
    ] {
        client.modern(1, method, &members, &all());
        let round = client.expect(1);
        assert!(!round.to_string().contains("step"), "the state is sealed");
        let mut members = members;
        let retry = answered(&round, accept(json!({"name": "Ada"})));
        members["requestState"] = retry["requestState"].clone();
        members["inputResponses"] = retry["inputResponses"].clone();
        client.modern(2, method, &members, &all());
        assert_eq!(client.expect(2).pointer(at), Some(&json!(said)));
    }
}

#[test]
fn rounds_by_hand_of_a_state_alone_and_of_nothing() {
    let mut client = Client::open(by_hand());
    let round = call_modern(&mut client, 1, "later", &json!({}));
    assert_eq!(round["result"].get("inputRequests"), None);
    let last = call_modern(&mut client, 2, "later", &json!({"requestState": round["result"]["requestState"]}));
    assert_eq!(text(&last), "come \"again\"");
    assert_eq!(call_modern(&mut client, 3, "empty", &json!({}))["error"]["code"], -32603);
}

#[test]
fn rounds_by_hand_reach_a_legacy_client_too() {
    let mut client = Client::connect_with(by_hand(), &all());
    for id in 1..=2 {
        client.call(id, "hand", "{}");
        let asked = client.receive();
        assert_eq!(asked["method"], "elicitation/create");
        client.send(&[
            &json!({"jsonrpc": "2.0", "id": asked["id"], "result": accept(json!({"name": "Ada"}))}).to_string()
        ]);
        assert_eq!(text(&client.expect(id)), "Ada after step 1");
    }
}

#[test]
fn a_capability_that_is_missing_is_named() {
    let (server, _) = greeting();
    let ask = |call: &ferromcp::Context<'_>| -> Result<(), AskError> { call.elicit::<Name>("Who?", NAME).map(drop) };
    let server = server
        .resource(r#"{"uri":"mem://ask","name":"ask"}"#, move |call| {
            ask(call)?;
            Ok(ResourceOutput::text(""))
        })
        .prompt(r#"{"name":"ask"}"#, move |call| {
            ask(call)?;
            Ok(PromptOutput::new())
        })
        .tool(tool("hand"), |_| {
            Ok(ToolOutput::input_required(&[InputRequest { key: "r", method: "roots/list", params: "{}" }], None))
        });
    let mut client = Client::open(server);
    let form = json!({"elicitation": {"form": {}}});
    for (method, members, required) in [
        ("tools/call", json!({"name": "greet"}), &form),
        ("resources/read", json!({"uri": "mem://ask"}), &form),
        ("prompts/get", json!({"name": "ask"}), &form),
        ("tools/call", json!({"name": "hand"}), &json!({"roots": {}})),
    ] {
        client.modern(1, method, &members, &json!({"elicitation": {"url": {}}}));
        let error = client.expect(1)["error"].clone();
        assert_eq!((&error["code"], &error["data"]["requiredCapabilities"]), (&json!(-32021), required));
    }
}

#[test]
fn legacy_clients_get_no_code_that_they_do_not_know() {
    let (server, _) = greeting();
    let server = server.resource(r#"{"uri":"mem://ask","name":"ask"}"#, |call| {
        call.list_roots()?;
        Ok(ResourceOutput::text(""))
    });
    let mut client = Client::connect(server);
    client.call(1, "greet", "{}");
    let refused = client.expect(1);
    assert!(refused["result"]["isError"] == true && text(&refused).contains("elicitation.form"), "{refused}");
    client.send(&[r#"{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"mem://ask"}}"#]);
    assert_eq!(client.expect(2)["error"]["code"], -32603);
}

#[test]
fn a_legacy_client_is_asked_by_requests_and_others_are_served_meanwhile() {
    let (server, runs) = greeting();
    let mut client = Client::connect_with(server.tool(tool("quick"), |_| Ok(ToolOutput::text("quick"))), &all());
    client.call(1, "greet", "{}");
    for (id, content) in [(2, json!({"name": "Ada"})), (3, json!({"sure": true}))] {
        let asked = client.receive();
        assert_eq!(asked["method"], "elicitation/create");
        client.call(id, "quick", "{}");
        assert_eq!(text(&client.expect(id)), "quick");
        client.send(&[&json!({"jsonrpc": "2.0", "id": asked["id"], "result": accept(content)}).to_string()]);
    }
    assert_eq!(text(&client.expect(1)), "Hello, Ada!");
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[test]
fn what_a_legacy_client_answers_wrongly_is_an_error_of_the_question() {
    let (server, _) = greeting();
    let mut client = Client::connect_with(server, &all());
    for (outcome, said) in [
        (json!({"error": {"code": -1, "message": "no display"}}), "no display"),
        (json!({"result": {"action": "accept", "content": {}}}), "wrongly"),
    ] {
        client.call(1, "greet", "{}");
        let mut answer = json!({"jsonrpc": "2.0", "id": client.receive()["id"]});
        for (key, value) in outcome.as_object().expect("an object") {
            answer[key] = value.clone();
        }
        client.send(&[&answer.to_string()]);
        let failed = client.expect(1);
        assert!(failed["result"]["isError"] == true && text(&failed).contains(said), "{failed}");
    }
}

/// A server whose `ask` tells how its question ended.
fn telling() -> (Server, Receiver<String>) {
    let (told, ends) = channel();
    let server = Server::new("test", "1").tool(tool("ask"), move |call| {
        let outcome = call.elicit::<Name>("Who?", NAME);
        let error = outcome.err().map_or_else(|| "answered".to_owned(), |error| error.to_string());
        told.send(error.clone())?;
        Err(ToolError::new(error))
    });
    (server, ends)
}

/// Every thread has come back from host code.
fn expect_nobody_stuck(client: &Client) {
    let start = Instant::now();
    while client.server.stuck() > 0 {
        assert!(start.elapsed() < LONG);
        std::thread::yield_now();
    }
}

#[test]
fn a_waiting_closure_is_told_that_its_client_is_gone() {
    for (modern, said) in [(true, CancelReason::Drained.to_string()), (false, "the client is gone".to_owned())] {
        let (server, ends) = telling();
        let server = server.held();
        let mut client = if modern { Client::open(server) } else { Client::connect_with(server, &all()) };
        if modern {
            questions(&call_modern(&mut client, 1, "ask", &json!({})));
        } else {
            client.call(1, "ask", "{}");
            assert_eq!(client.receive()["method"], "elicitation/create");
        }
        client.close();
        assert_eq!(ends.recv_timeout(LONG), Ok(said));
        assert_eq!(ended(&client.server).expect("an orderly end").reason, EndReason::EndOfInput);
        expect_nobody_stuck(&client);
    }
}

#[test]
fn stopping_ends_a_waiting_closure() {
    for modern in [true, false] {
        let (server, ends) = telling();
        let server = server.held();
        let mut client = if modern { Client::open(server) } else { Client::connect_with(server, &all()) };
        if modern {
            questions(&call_modern(&mut client, 1, "ask", &json!({})));
        } else {
            client.call(1, "ask", "{}");
            assert_eq!(client.receive()["method"], "elicitation/create");
        }
        assert_eq!(client.server.stop().expect("an orderly end").reason, EndReason::Stopped);
        ends.recv_timeout(LONG).expect("the closure goes on");
        expect_nobody_stuck(&client);
    }
}

#[test]
fn a_legacy_client_that_cancels_the_call_ends_the_question() {
    let (server, ends) = telling();
    let mut client = Client::connect_with(server, &all());
    client.call(1, "ask", "{}");
    let asked = client.receive();
    client.send(&[r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"bored"}}"#]);
    let taken_back = client.receive();
    assert_eq!(taken_back["method"], "notifications/cancelled");
    assert_eq!(taken_back["params"]["requestId"], asked["id"]);
    assert!(ends.recv_timeout(LONG).expect("the closure goes on").contains("bored"));
    expect_nobody_stuck(&client);
    client.expect_silence();
}

#[test]
fn a_held_closure_whose_client_stays_away_is_ended() {
    let (server, ends) = telling();
    let mut client = Client::open(server.held().configure(|config| config.limits.held_ms = 50));
    let round = call_modern(&mut client, 1, "ask", &json!({}));
    assert_eq!(ends.recv_timeout(LONG), Ok(CancelReason::Unanswered.to_string()));
    let late = call_modern(&mut client, 2, "ask", &answered(&round, accept(json!({"name": "Ada"}))));
    assert_eq!(late["error"]["code"], -32602);
}

#[test]
fn closures_can_tell_a_suspension_from_the_end() {
    let (told, ends) = channel();
    let server = Server::new("test", "1").tool(tool("ask"), move |call| match call.elicit::<Name>("Who?", NAME) {
        Ok(_) => Ok(ToolOutput::text("answered")),
        Err(error) => {
            told.send((error.is_suspension(), error.missing_capability()))?;
            Err(error.into())
        }
    });
    let mut client = Client::open(server);
    let round = call_modern(&mut client, 1, "ask", &json!({}));
    assert_eq!(ends.recv_timeout(LONG), Ok((true, None)));
    client.modern(2, "tools/call", &json!({"name": "ask"}), &json!({}));
    client.expect(2);
    assert_eq!(ends.recv_timeout(LONG), Ok((false, Some("elicitation.form"))));
    assert_eq!(text(&call_modern(&mut client, 3, "ask", &answered(&round, json!({"action": "cancel"})))), "answered");
}
