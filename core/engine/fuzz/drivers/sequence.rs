//! Sequences of operations by both sides, against a small model of what has to come of them.

use super::{check_line, pair};
use ferromcp_engine::testing::{MODERN_META, Pair};
use ferromcp_engine::{Event, ListKind, LogLevel, Reply, RequestKey};
use std::collections::BTreeMap;

/// What the model knows of a request that was sent.
#[derive(Default)]
struct Sent {
    key: Option<RequestKey>,
    cancelled: bool,
    answers: usize,
    last_progress: Option<f64>,
}

/// Bytes as operations: each request is answered at most once, a cancelled one never again, progress rises and ends.
pub fn sequence(data: &[u8]) {
    let mut pair = pair();
    let mut requests: BTreeMap<u64, Sent> = BTreeMap::new();
    let mut next = 0;
    let mut over = false;
    let mut bytes = data.iter().copied();
    while let (Some(operation), Some(argument)) = (bytes.next(), bytes.next()) {
        let chosen = requests.keys().nth(usize::from(argument) % requests.len().max(1)).copied();
        let key = chosen.and_then(|id| requests[&id].key);
        match operation % 14 {
            0 | 1 if !over => {
                let name = if operation % 14 == 0 { "a" } else { "b" };
                let fields = format!(r#"{{"name":"{name}","_meta":{{"progressToken":{next},{MODERN_META}}}}}"#);
                requests.insert(next, Sent::default());
                pair.legacy(&next.to_string(), "tools/call", &fields);
                next += 1;
            }
            2 if !over => {
                requests.insert(next, Sent::default());
                pair.modern(&next.to_string(), "tools/list", "");
                next += 1;
            }
            3 if !over => {
                requests.insert(next, Sent::default());
                let filter = r#""notifications":{"toolsListChanged":true,"resourceSubscriptions":["m://r"]}"#;
                pair.modern(&next.to_string(), "subscriptions/listen", filter);
                next += 1;
            }
            4 if !over => {
                if let Some(id) = chosen {
                    let sent = requests.get_mut(&id).expect("chosen from the map");
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
                    let _ = pair.server.progress(key, f64::from(argument), None, None);
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
            _ => {}
        }
        pair.drain();
        observe(&mut pair, &mut requests);
    }
    if over {
        pair.advance(pair.server.config().limits.drain_ms);
        assert!(
            pair.events.iter().any(|event| matches!(event, Event::Drained { .. })) || drained_before(&pair),
            "drains in time"
        );
        observe(&mut pair, &mut requests);
    }
}

fn drained_before(pair: &Pair) -> bool {
    // `observe` takes the event away; the engine asks for no more time once it has drained.
    pair.server.poll_timeout().is_none()
}

fn observe(pair: &mut Pair, requests: &mut BTreeMap<u64, Sent>) {
    while let Some(event) = pair.events.pop_front() {
        if let Event::Call(call) = event
            && let Ok(id) = call.id_json().parse::<u64>()
            && let Some(sent) = requests.get_mut(&id)
        {
            sent.key = Some(call.key);
        }
    }
    while let Some(line) = pair.sent.pop_front() {
        check_line(&line);
        let message: serde_json::Value = serde_json::from_str(&line).expect("checked");
        if message.get("method").is_some() {
            if message["method"] == "notifications/progress" {
                let id = message["params"]["progressToken"].as_u64().expect("our tokens are ids");
                let sent = requests.get_mut(&id).expect("a token that was given");
                assert!(sent.answers == 0, "no progress after the answer");
                let value = message["params"]["progress"].as_f64().expect("a number");
                assert!(sent.last_progress.is_none_or(|last| value > last), "progress rises");
                sent.last_progress = Some(value);
            }
            continue;
        }
        let id = message["id"].as_u64().expect("our ids are numbers");
        let sent = requests.get_mut(&id).expect("an answer to something that was asked");
        sent.answers += 1;
        assert_eq!(sent.answers, 1, "one answer: {line}");
    }
}
