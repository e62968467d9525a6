//! Sequences of what clients, host code and the store do with tasks, in both protocols at once, against what must hold of each:
//! a request is answered once, no task is told of before it is kept, and a task moves only as it may.

use super::check_line;
use ferromcp_engine::tasks::{Party, TaskChange, TaskStatus, look};
use ferromcp_engine::testing::{EPOCH, Pair};
use ferromcp_engine::{AskKey, Event, InputRequest, PeerError, Reentry, Reply, RequestKey, ServerConfig};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const FORM: &str = r#"{"message":"?","requestedSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}"#;
const CLIENT: Party = Party::Client { principal: None };

/// How many operations there are.
const OPERATIONS: u8 = 22;

#[derive(Default)]
struct Model {
    next: u64,
    /// What was sent, and how often it was answered.
    sent: BTreeMap<u64, usize>,
    cancelled: BTreeSet<u64>,
    /// Subscriptions, which are answered at their end.
    listens: BTreeSet<u64>,
    /// Retries, and the state that each brings.
    retries: BTreeMap<u64, String>,
    /// The states that have opened.
    opened: BTreeSet<String>,
    /// Calls that host code runs.
    running: Vec<RequestKey>,
    asks: BTreeSet<AskKey>,
    /// The tasks that a client was told of, and whether it knows that they have ended.
    tasks: BTreeMap<String, bool>,
    /// How each task that is kept was seen last.
    kept: BTreeMap<String, (TaskStatus, u64)>,
    /// Requests of the server that a legacy client has not answered.
    asked: Vec<Value>,
    states: Vec<String>,
}

fn pair() -> Pair {
    let mut config = ServerConfig::new("fuzz", "1");
    config.limits.max_tasks = 6;
    config.limits.max_in_flight = 24;
    config.limits.max_rounds = 4;
    config.tasks.ttl_ms = 20_000;
    // The store is one of several processes: tasks have leases, and states are spent there.
    config.tasks.owner = "a".into();
    let mut pair = Pair::new(config).expect("valid");
    for (tag, (name, support)) in [("t", "optional"), ("p", "forbidden")].into_iter().enumerate() {
        let execution = format!(r#"{{"taskSupport":"{support}"}}"#);
        let tool = format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}},"execution":{execution}}}"#);
        pair.server.add_tool(&tool, tag as u64, 0).expect("valid");
    }
    pair.initialize("2025-11-25", r#"{"elicitation":{"form":{}}}"#);
    pair.advance(20);
    pair.events.clear();
    pair.sent.clear();
    pair
}

/// Bytes as operations, two each.
pub fn tasks(data: &[u8]) {
    let mut pair = pair();
    let mut model = Model::default();
    let mut over = false;
    let mut bytes = data.iter().copied();
    while let (Some(operation), Some(argument)) = (bytes.next(), bytes.next()) {
        let at = usize::from(argument);
        let id = model.tasks.keys().nth(at % model.tasks.len().max(1)).cloned().unwrap_or_else(|| "none".into());
        let key = model.running.get(at % model.running.len().max(1)).copied();
        let modern = argument.is_multiple_of(2);
        match operation % OPERATIONS {
            0 if !over => model.send(&mut pair, modern, "tools/call", json!({"name": "t", "task": {}})),
            1 if !over => model.send(&mut pair, true, "tools/call", json!({"name": "p"})),
            2 if !over => model.send(&mut pair, modern, "tasks/get", json!({"taskId": id})),
            3 if !over => model.send(&mut pair, modern, "tasks/cancel", json!({"taskId": id})),
            4 if !over => model.update(&mut pair, &id, argument),
            5 if !over => model.send(&mut pair, false, "tasks/result", json!({"taskId": id})),
            6 if !over => model.send(&mut pair, false, "tasks/list", json!({})),
            7 if !over => model.answer(&mut pair, argument),
            8 if !over => model.cancel(&mut pair, at),
            9 if !over => {
                model.listens.insert(model.next);
                model.send(&mut pair, true, "subscriptions/listen", json!({"notifications": {"taskIds": [id]}}));
            }
            10 => model.end(&mut pair, key, argument),
            11 => model.ask(&mut pair, key, argument),
            12 => {
                if let Some(key) = key {
                    let note = argument.to_string();
                    let _ = pair.server.progress(key, f64::from(argument), None, Some(&note), pair.now);
                }
            }
            13 => {
                if let Some(key) = key {
                    let _ = pair.server.begin_task(key, pair.now);
                }
            }
            14 => {
                if let Some(key) = key {
                    let requests = format!(r#"{{"h{argument}":{{"method":"elicitation/create","params":{FORM}}}}}"#);
                    let reply = Reply::InputRequired { requests: Some(&requests), state: Some("host") };
                    if pair.server.respond(key, reply, pair.now).is_ok() {
                        model.running.retain(|running| *running != key);
                    }
                }
            }
            // The store answers late, in any order, not at all, or does what it says that it could not.
            15 => drop(pair.serve_store_at(at, false)),
            16 => drop(pair.serve_store_at(at, true)),
            17 => pair.store.waits = modern,
            18 => pair.store.is_down = argument.is_multiple_of(3),
            19 => model.other_process(&mut pair, &id, argument),
            20 => pair.advance(u64::from(argument) * 16),
            21 if argument < 4 && !over => {
                over = true;
                let _ = pair.server.end_of_input(pair.stream, pair.now);
            }
            _ => {}
        }
        pair.drain();
        model.observe(&mut pair);
    }
    model.finish(&mut pair, over);
}

impl Model {
    fn send(&mut self, pair: &mut Pair, modern: bool, method: &str, mut params: Value) {
        let id = self.next;
        self.next += 1;
        self.sent.insert(id, 0);
        if modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities":
                    {"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}},
            });
        }
        pair.legacy(&id.to_string(), method, &params.to_string());
    }

    /// A modern client answers what a task asks, or what was never asked; or brings a state back.
    fn update(&mut self, pair: &mut Pair, id: &str, argument: u8) {
        if argument % 4 == 3 {
            let Some(state) = self.states.get(usize::from(argument) % self.states.len().max(1)).cloned() else {
                return;
            };
            self.retries.insert(self.next, state.clone());
            return self.send(pair, true, "tools/call", json!({"name": "p", "requestState": state}));
        }
        let asked = pair.store.tasks.get(id).and_then(|task| task.inputs.last()).map(|input| input.key.clone());
        let answer = json!({"action": if argument.is_multiple_of(4) { "decline" } else { "nonsense" }});
        let responses = json!({ asked.unwrap_or_else(|| "x".into()): answer, "y": 1 });
        self.send(pair, true, "tasks/update", json!({"taskId": id, "inputResponses": responses}));
    }

    /// A legacy client answers a request of the server.
    fn answer(&mut self, pair: &mut Pair, argument: u8) {
        if self.asked.is_empty() {
            return;
        }
        let id = self.asked.remove(usize::from(argument) % self.asked.len());
        let answer = match argument % 3 {
            0 => json!({"jsonrpc": "2.0", "id": id, "result": {"action": "cancel"}}),
            1 => json!({"jsonrpc": "2.0", "id": id, "result": {"action": 1}}),
            _ => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -1, "message": "no"}}),
        };
        pair.send(&answer.to_string());
    }

    fn cancel(&mut self, pair: &mut Pair, at: usize) {
        let Some(id) = self.sent.keys().nth(at % self.sent.len().max(1)).copied() else { return };
        self.cancelled.insert(id);
        pair.legacy("", "notifications/cancelled", &format!(r#"{{"requestId":{id}}}"#));
    }

    /// Host code ends a call.
    fn end(&mut self, pair: &mut Pair, key: Option<RequestKey>, argument: u8) {
        let Some(key) = key else { return };
        self.running.retain(|running| *running != key);
        if argument.is_multiple_of(3) {
            let _ = pair.server.fail(key, &PeerError::new(i64::from(argument), "no"), pair.now);
        } else {
            let _ = pair.server.respond(key, Reply::Text { text: "done", is_error: argument % 3 == 1 }, pair.now);
        }
    }

    fn ask(&mut self, pair: &mut Pair, key: Option<RequestKey>, argument: u8) {
        let Some(key) = key else { return };
        let name = argument.to_string();
        let name = if argument.is_multiple_of(5) { "" } else { &*name };
        let request = InputRequest { key: name, method: "elicitation/create", params: FORM };
        let reentry = if argument.is_multiple_of(2) { Reentry::Replay } else { Reentry::Held };
        if let Ok(ferromcp_engine::Asked::Waiting(ask)) = pair.server.ask(key, &[request], reentry, None, pair.now) {
            assert!(self.asks.insert(ask), "a key is given once");
        }
    }

    /// Another process changes a task in the store, and this one hears of it, or does not.
    fn other_process(&mut self, pair: &mut Pair, id: &str, argument: u8) {
        let Some(task) = pair.store.tasks.get_mut(id) else { return };
        let change = match argument % 3 {
            0 => TaskChange::Cancel { message: None },
            1 => TaskChange::RequestCancel,
            // It takes this process for gone, if the lease is over.
            _ => TaskChange::Take(Vec::new()),
        };
        look(task, &CLIENT, Some(&change), EPOCH + pair.now);
        let task = task.clone();
        if argument % 4 != 3 {
            pair.server.task_touched(&task, pair.now);
        }
    }

    fn observe(&mut self, pair: &mut Pair) {
        for (id, task) in &pair.store.tasks {
            let now = (task.status(), task.version);
            if let Some((status, version)) = self.kept.insert(id.clone(), now) {
                assert!(status == now.0 || status.may_become(now.0), "{status} became {}", now.0);
                assert!(version <= now.1, "a version is never given twice");
            }
        }
        while let Some(event) = pair.events.pop_front() {
            match event {
                Event::Call(call) => {
                    assert!(!self.running.contains(&call.key), "a call is not given out while it runs");
                    self.running.push(call.key);
                    if let Some(state) = call.id_json().parse().ok().and_then(|id: u64| self.retries.remove(&id)) {
                        assert!(self.opened.insert(state), "a state opens once");
                    }
                }
                Event::Cancelled { key, .. } => self.running.retain(|running| *running != key),
                Event::Answers { ask, .. } => assert!(self.asks.remove(&ask), "answers come once, to who waits"),
                _ => {}
            }
        }
        while let Some(line) = pair.sent.pop_front() {
            check_line(&line);
            let message: Value = serde_json::from_str(&line).expect("checked");
            self.look_at(pair, &message);
            if message.get("method").is_some() {
                // Cancelled questions stay, as those of a client that answers all the same.
                self.asked.extend(message.get("id").cloned());
                continue;
            }
            let id = message["id"].as_u64().expect("our ids are numbers");
            let answers = self.sent.get_mut(&id).expect("an answer to something that was asked");
            *answers += 1;
            assert_eq!(*answers, 1, "one answer: {line}");
            self.states.extend(message["result"]["requestState"].as_str().map(str::to_owned));
        }
    }

    /// What a message says of tasks is true, and never goes back from an end.
    fn look_at(&mut self, pair: &Pair, message: &Value) {
        let parts = [&message["result"], &message["result"]["task"], &message["params"]];
        let listed = message["result"]["tasks"].as_array().into_iter().flatten();
        for part in parts.into_iter().chain(listed) {
            let (Some(id), Some(status)) = (part["taskId"].as_str(), part["status"].as_str()) else { continue };
            let task = pair.store.tasks.get(id).expect("a task is kept before anybody hears of it");
            let ended = ["completed", "failed", "cancelled"].contains(&status);
            // 2025-11-25 calls a result with `isError` failed.
            let same = task.status().as_str() == status || task.status() == TaskStatus::Completed && status == "failed";
            assert!(!ended || same, "an end is told as it is kept: {message}");
            let knew = self.tasks.entry(id.to_owned()).or_default();
            assert!(ended || !*knew, "nothing follows an end: {message}");
            *knew |= ended;
        }
    }

    /// The store comes back, host code ends, and time passes: then nobody waits any more.
    fn finish(&mut self, pair: &mut Pair, over: bool) {
        pair.store.is_down = false;
        pair.store.waits = false;
        for round in 0..60 {
            pair.serve_store();
            for key in std::mem::take(&mut self.running) {
                let _ = pair.server.respond(key, Reply::Text { text: "late", is_error: false }, pair.now);
            }
            pair.drain();
            self.observe(pair);
            while !self.asked.is_empty() {
                self.answer(pair, 0);
            }
            self.observe(pair);
            pair.advance(if round < 30 { 1_000 } else { 60_000 });
            self.observe(pair);
        }
        if over {
            return;
        }
        for (id, answers) in &self.sent {
            let may_wait = self.cancelled.contains(id) || self.listens.contains(id);
            assert!(*answers == 1 || may_wait, "request {id} is answered");
        }
    }
}
