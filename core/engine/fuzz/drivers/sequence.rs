//! Sequences of operations by both sides, against a small model of what has to come of them.

use super::{check_line, pair};
use ferromcp_engine::testing::Pair;
use ferromcp_engine::{AskKey, Asked, Event, InputRequest, ListKind, LogLevel, Reentry, Reply, RequestKey};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const FORM: &str =
    r#"{"message":"?","requestedSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}"#;

/// What the model knows of a request that was sent.
#[derive(Default)]
struct Sent {
    tool: &'static str,
    key: Option<RequestKey>,
    cancelled: bool,
    answers: usize,
    last_progress: Option<f64>,
    /// It brings a state that is no good: its answer is an error.
    refused: bool,
}

/// A round that the client was asked for.
struct Round {
    tool: &'static str,
    state: String,
    keys: Vec<String>,
    /// The state was brought back and was good.
    used: bool,
}

#[derive(Default)]
struct Model {
    requests: BTreeMap<u64, Sent>,
    rounds: Vec<Round>,
    /// Answers that host code waits for.
    asks: BTreeSet<AskKey>,
    next: u64,
}

/// Bytes as operations: each request is answered at most once, a cancelled one never again, progress rises and ends; each
/// state is good once and as it was given, and what is asked and waited for is answered at most once.
pub fn sequence(data: &[u8]) {
    let mut pair = pair();
    let mut model = Model::default();
    let mut over = false;
    let mut bytes = data.iter().copied();
    while let (Some(operation), Some(argument)) = (bytes.next(), bytes.next()) {
        let chosen = model.requests.keys().nth(usize::from(argument) % model.requests.len().max(1)).copied();
        let key = chosen.and_then(|id| model.requests[&id].key);
        match operation % 19 {
            0 | 1 if !over => {
                let tool = if operation % 19 == 0 { "a" } else { "b" };
                model.call(&mut pair, tool, json!({}));
            }
            2 if !over => {
                let id = model.add(Sent::default());
                pair.modern(&id.to_string(), "tools/list", "");
            }
            3 if !over => {
                let id = model.add(Sent::default());
                let filter = r#""notifications":{"toolsListChanged":true,"resourceSubscriptions":["m://r"]}"#;
                pair.modern(&id.to_string(), "subscriptions/listen", filter);
            }
            4 if !over => {
                if let Some(id) = chosen {
                    let sent = model.requests.get_mut(&id).expect("chosen from the map");
                    sent.cancelled = true;
                    pair.legacy("", "notifications/cancelled", &format!(r#"{{"requestId":{id}}}"#));
                }
            }
            5 | 6 => {
                if let Some(key) = key {
                    let reply =
                        Reply::Tool { content: "[]", structured: Some("[]"), is_error: argument % 2 == 0, meta: None };
                    let _ = pair.server.respond(key, reply, pair.now);
                }
            }
            7 => {
                if let Some(key) = key {
                    let _ = pair.server.progress(key, f64::from(argument), None, None, pair.now);
                }
            }
            8 => {
                if let Some(key) = key {
                    let _ = pair.server.log(key, LogLevel::Error, None, "1");
                }
            }
            9 => pair.advance(u64::from(argument)),
            10 => pair.server.notify_changed(ListKind::Tools, pair.now),
            11 => pair.server.resource_updated("m://r"),
            12 if argument == 0 && !over => {
                over = true;
                let _ = pair.server.end_of_input(pair.stream, pair.now);
            }
            13 if argument < 8 => pair.server.shutdown(pair.now),
            14 | 15 => {
                if let Some(key) = key {
                    let reentry = if operation % 19 == 14 { Reentry::Replay } else { Reentry::Held };
                    model.ask(&mut pair, key, reentry, argument);
                }
            }
            16 => {
                if let Some(key) = key {
                    let requests = format!(r#"{{"h":{{"method":"elicitation/create","params":{FORM}}}}}"#);
                    let requests = (argument % 3 != 0).then_some(&*requests);
                    let state = (argument % 3 != 1).then_some("host");
                    let _ = pair.server.respond(key, Reply::InputRequired { requests, state }, pair.now);
                }
            }
            17 if !over => model.retry(&mut pair, argument),
            18 if !over => model.retry_changed(&mut pair, argument),
            _ => {}
        }
        pair.drain();
        model.observe(&mut pair);
    }
    if over {
        pair.advance(pair.server.config().limits.drain_ms);
        assert!(
            pair.events.iter().any(|event| matches!(event, Event::Drained { .. })) || drained_before(&pair),
            "drains in time"
        );
        model.observe(&mut pair);
    }
}

fn drained_before(pair: &Pair) -> bool {
    // `observe` takes the event away; the engine asks for no more time once it has drained.
    pair.server.poll_timeout().is_none()
}

impl Model {
    fn add(&mut self, sent: Sent) -> u64 {
        let id = self.next;
        self.next += 1;
        self.requests.insert(id, sent);
        id
    }

    /// Calls a tool; `a` by a client that can be asked, `b` by one that can't.
    fn call(&mut self, pair: &mut Pair, tool: &'static str, more: Value) -> u64 {
        let id = self.add(Sent { tool, ..Sent::default() });
        let mut params = more;
        params["name"] = json!(tool);
        params["_meta"] = json!({
            "progressToken": id,
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": if tool == "a" { json!({"elicitation": {}}) } else { json!({}) },
        });
        pair.legacy(&id.to_string(), "tools/call", &params.to_string());
        id
    }

    fn ask(&mut self, pair: &mut Pair, key: RequestKey, reentry: Reentry, argument: u8) {
        // The same questions in every run, one with a name and one without.
        let named = InputRequest { key: "q", method: "elicitation/create", params: FORM };
        let unnamed = InputRequest { key: "", ..named };
        let asked = match argument % 3 {
            0 => pair.server.ask(key, &[named], reentry, None, pair.now),
            1 => pair.server.ask(key, &[unnamed], reentry, None, pair.now),
            _ => pair.server.ask(key, &[named, unnamed], reentry, None, pair.now),
        };
        match asked {
            Ok(Asked::Answered(answers)) => {
                for answer in answers {
                    let answer: Value = serde_json::from_str(&answer).expect("an answer is JSON");
                    assert!(answer["action"] == "decline" || answer["content"]["n"].is_i64(), "it fits: {answer}");
                }
            }
            Ok(Asked::Waiting(ask)) => assert!(self.asks.insert(ask), "a key is given once"),
            Ok(Asked::Suspended) => {
                let late = Reply::Text { text: "late", is_error: false };
                assert_eq!(pair.server.respond(key, late, pair.now), Ok(false), "the run is over");
            }
            Err(_) => {}
        }
    }

    /// Brings a state back as it was given, with answers as `argument` has them.
    fn retry(&mut self, pair: &mut Pair, argument: u8) {
        let Some(at) = usize::from(argument >> 2).checked_rem(self.rounds.len()) else { return };
        let round = &self.rounds[at];
        let answer = match argument % 4 {
            0 => json!({"action": "accept", "content": {"n": 1}}),
            1 => json!({"action": "accept", "content": {"n": "1"}}),
            2 => json!({"action": "decline"}),
            _ => Value::Null,
        };
        let answers: serde_json::Map<_, _> = round.keys.iter().map(|key| (key.clone(), answer.clone())).collect();
        let (tool, used) = (round.tool, round.used);
        let more = json!({"requestState": round.state, "inputResponses": answers});
        let id = self.call(pair, tool, more);
        self.requests.get_mut(&id).expect("just added").refused = used;
        // A server that is busy or about to end looks at nothing.
        let unseen = pair.sent.iter().any(|line| {
            let message: Value = serde_json::from_str(line).unwrap_or_default();
            message["id"] == id && message["error"]["code"].as_i64().is_some_and(|code| code != -32602)
        });
        self.rounds[at].used |= !unseen;
    }

    /// Brings a state back that is not as it was given.
    fn retry_changed(&mut self, pair: &mut Pair, argument: u8) {
        let Some(at) = usize::from(argument).checked_rem(self.rounds.len()) else { return };
        let round = &self.rounds[at];
        let mut state = round.state.clone().into_bytes();
        let place = usize::from(argument) * 31 % state.len();
        state[place] = if state[place] == b'A' { b'B' } else { b'A' };
        let state = String::from_utf8(state).expect("ASCII");
        let tool = round.tool;
        let id = self.call(pair, tool, json!({"requestState": state}));
        self.requests.get_mut(&id).expect("just added").refused = true;
    }

    fn observe(&mut self, pair: &mut Pair) {
        while let Some(event) = pair.events.pop_front() {
            match event {
                Event::Call(call) => {
                    if let Ok(id) = call.id_json().parse::<u64>()
                        && let Some(sent) = self.requests.get_mut(&id)
                    {
                        assert!(!sent.refused, "a state that is no good brings nothing about");
                        sent.key = Some(call.key);
                    }
                }
                Event::Answers { ask, answers, .. } => {
                    assert!(self.asks.remove(&ask), "answers come once, to who waits");
                    assert!(!answers.is_empty());
                }
                _ => {}
            }
        }
        while let Some(line) = pair.sent.pop_front() {
            check_line(&line);
            let message: Value = serde_json::from_str(&line).expect("checked");
            if message.get("method").is_some() {
                if message["method"] == "notifications/progress" {
                    let id = message["params"]["progressToken"].as_u64().expect("our tokens are ids");
                    let sent = self.requests.get_mut(&id).expect("a token that was given");
                    assert!(sent.answers == 0, "no progress after the answer");
                    let value = message["params"]["progress"].as_f64().expect("a number");
                    assert!(sent.last_progress.is_none_or(|last| value > last), "progress rises");
                    sent.last_progress = Some(value);
                }
                continue;
            }
            let id = message["id"].as_u64().expect("our ids are numbers");
            let sent = self.requests.get_mut(&id).expect("an answer to something that was asked");
            sent.answers += 1;
            assert_eq!(sent.answers, 1, "one answer: {line}");
            assert!(!sent.refused || message.get("error").is_some(), "refused: {line}");
            if message["result"]["resultType"] == "input_required" {
                let tool = sent.tool;
                self.remember(tool, &message["result"]);
            }
        }
    }

    fn remember(&mut self, tool: &'static str, result: &Value) {
        let requests = result["inputRequests"].as_object();
        let keys: Vec<_> = requests.map(|requests| requests.keys().cloned().collect()).unwrap_or_default();
        let state = result["requestState"].as_str().expect("every round has a state of ours").to_owned();
        assert!(tool == "a" || keys.is_empty(), "who can't be asked is not asked");
        assert!(self.rounds.iter().all(|round| round.state != state), "no state is given twice");
        self.rounds.push(Round { tool, state, keys, used: false });
    }
}
