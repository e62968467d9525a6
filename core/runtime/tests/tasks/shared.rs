//! Tasks on a Redis server: each of several processes knows those of the others, and what was used up there.

use crate::peer::{Peer, text_of};
use crate::redis_server::RedisServer;
use crate::served::{Job, LEASE};
use serde_json::{Value, json};
use std::time::Duration;
use tempfile::TempDir;

fn is_news(message: &Value) -> bool {
    message["method"] == "notifications/tasks"
}

// requirement: tasks-ext-consistency, tasks-result-blocks
pub(crate) fn another_process_tells_how_a_task_goes() {
    let redis = RedisServer::start();
    let (mut one, mut other) = (Peer::start(&redis.url()), Peer::start(&redis.url()));
    let (mut legacy, _) = Peer::start_legacy(&redis.url());
    let job = Job::new();
    // It is kept before it is acknowledged, so the other process knows it at once.
    let id = one.start_task("wait", job.arguments());
    assert_eq!(other.get(&id)["status"], "working");
    let listens = other.send("subscriptions/listen", json!({"notifications": {"taskIds": [id, "unknown"]}}));
    let agreed = other.expect(|message| message["method"] == "notifications/subscriptions/acknowledged");
    assert_eq!(agreed["params"]["notifications"], json!({"taskIds": [id]}));
    let first = other.expect(is_news);
    assert_eq!((&first["params"]["taskId"], &first["params"]["status"]), (&json!(id), &json!("working")));
    let waits = legacy.send("tasks/result", json!({"taskId": id}));
    legacy.ask("ping", json!({}));
    assert!(!legacy.has_answer(waits));
    job.finish();
    let last = other.expect(is_news);
    assert_eq!((&last["params"]["status"], text_of(&last["params"]["result"])), (&json!("completed"), "it is done"));
    assert_eq!(last["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], listens);
    let result = legacy.expect(|message| message["id"] == waits);
    assert_eq!(text_of(&result["result"]), "it is done");
    assert_eq!(result["result"]["_meta"]["io.modelcontextprotocol/related-task"]["taskId"], id);
}

pub(crate) fn another_process_brings_answers() {
    let redis = RedisServer::start();
    let (mut one, mut other) = (Peer::start(&redis.url()), Peer::start(&redis.url()));
    let id = one.start_task("ask", json!({}));
    let task = other.get_until(&id, "input_required");
    let key = task["inputRequests"].as_object().and_then(|asked| asked.keys().next()).expect("a question").clone();
    let responses = json!({key: {"action": "accept", "content": {"name": "Ada"}}});
    let answer = other.ask("tasks/update", json!({"taskId": id, "inputResponses": responses}));
    assert_eq!(answer["result"]["resultType"], "complete");
    assert_eq!(text_of(&other.get_until(&id, "completed")["result"]), "Hello, Ada!");
}

pub(crate) fn another_process_cancels() {
    let redis = RedisServer::start();
    let (mut one, mut other) = (Peer::start(&redis.url()), Peer::start(&redis.url()));
    let job = Job::new();
    let id = one.start_task("wait", job.arguments());
    job.expect("began");
    assert_eq!(other.ask("tasks/cancel", json!({"taskId": id}))["result"]["resultType"], "complete");
    job.expect("told");
    for peer in [&mut one, &mut other] {
        assert_eq!(peer.get(&id)["status"], "cancelled");
    }
}

pub(crate) fn a_server_that_goes_away_and_comes_back_loses_nothing() {
    let mut redis = RedisServer::start();
    let (mut one, mut other) = (Peer::start(&redis.url()), Peer::start(&redis.url()));
    let (mut legacy, _) = Peer::start_legacy(&redis.url());
    let (job, cancelled) = (Job::new(), Job::new());
    let id = one.start_task("wait", job.arguments());
    let second = one.start_task("wait", cancelled.arguments());
    let waits = legacy.send("tasks/result", json!({"taskId": id}));
    // What is asked of the store is done in turn: it has found the task when this is answered.
    assert_eq!(legacy.get(&id)["status"], "working");
    other.send("subscriptions/listen", json!({"notifications": {"taskIds": [id]}}));
    assert_eq!(other.expect(is_news)["params"]["status"], "working");
    job.expect("began");
    redis.kill();
    job.finish();
    job.expect("done");
    assert_eq!(other.ask("tasks/get", json!({"taskId": id}))["error"]["code"], -32603);
    let refused = one.ask("tools/call", json!({"name": "quick", "arguments": {"n": 1}}));
    assert_eq!(refused["error"]["code"], -32603, "nothing is acknowledged that is not kept");
    redis.start_again();
    assert_eq!(text_of(&other.get_until(&id, "completed")["result"]), "it is done");
    assert_eq!(other.expect(is_news)["params"]["status"], "completed");
    assert_eq!(text_of(&legacy.expect(|message| message["id"] == waits)["result"]), "it is done");
    // What runs goes on, and is still told what others want.
    other.ask("tasks/cancel", json!({"taskId": second}));
    cancelled.expect("told");
}

pub(crate) fn nobody_is_taken_for_gone_while_the_server_is_away() {
    let mut redis = RedisServer::start();
    let (mut one, mut other) = (Peer::start_with(&redis.url(), &[(LEASE, "1000")]), Peer::start(&redis.url()));
    let job = Job::new();
    let id = one.start_task("wait", job.arguments());
    assert_eq!(other.get(&id)["status"], "working");
    job.expect("began");
    redis.kill();
    // Only time makes a lease run out.
    std::thread::sleep(Duration::from_millis(1_200));
    redis.start_again();
    assert_eq!(other.get(&id)["status"], "working");
    job.finish();
    assert_eq!(text_of(&other.get_until(&id, "completed")["result"]), "it is done");
}

pub(crate) fn a_task_of_a_killed_process_has_failed() {
    let redis = RedisServer::start();
    let (mut one, mut other) = (Peer::start_with(&redis.url(), &[(LEASE, "1000")]), Peer::start(&redis.url()));
    let (mut legacy, _) = Peer::start_legacy(&redis.url());
    let job = Job::new();
    let id = one.start_task("wait", job.arguments());
    let waits = legacy.send("tasks/result", json!({"taskId": id}));
    one.kill();
    let task = other.get_until(&id, "failed");
    assert_eq!(task["statusMessage"], "the server process that ran this task is gone");
    assert_eq!(legacy.expect(|message| message["id"] == waits)["error"]["code"], -32603);
}

/// Asks a process, and gives what the client brings back.
fn asked_by(peer: &mut Peer) -> Value {
    let round = peer.ask("tools/call", json!({"name": "question"}));
    let result = &round["result"];
    assert_eq!(result["resultType"], "input_required", "{round}");
    let key = result["inputRequests"].as_object().and_then(|asked| asked.keys().next()).expect("a question").clone();
    let responses = json!({key: {"action": "accept", "content": {"name": "Ada"}}});
    json!({"name": "question", "requestState": result["requestState"], "inputResponses": responses})
}

fn expect_used(peer: &mut Peer, retry: &Value) {
    let refused = peer.ask("tools/call", retry.clone());
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert!(refused["error"]["message"].as_str().is_some_and(|text| text.contains("used before")), "{refused}");
}

fn expect_once(store: &str) {
    let (mut one, mut other) = (Peer::start(store), Peer::start(store));
    for _ in 0..3 {
        let retry = asked_by(&mut one);
        assert_eq!(text_of(&other.ask("tools/call", retry.clone())["result"]), "Hello, Ada!");
        expect_used(&mut one, &retry);
        expect_used(&mut other, &retry);
    }
    // At the same time, one of them is the first.
    let retry = asked_by(&mut one);
    let sent = [one.send("tools/call", retry.clone()), other.send("tools/call", retry.clone())];
    let answers = [one.expect(|message| message["id"] == sent[0]), other.expect(|message| message["id"] == sent[1])];
    assert_eq!(answers.iter().filter(|answer| answer["result"].is_object()).count(), 1, "{answers:?}");
    // A process that begins later knows it too.
    expect_used(&mut Peer::start(store), &retry);
}

// requirement: mrtr-state-single-use
pub(crate) fn a_state_opens_once_among_all_who_share_a_server() {
    let redis = RedisServer::start();
    expect_once(&redis.url());
}

// requirement: mrtr-state-single-use
pub(crate) fn a_state_opens_once_among_all_who_share_a_file() {
    let folder = TempDir::new().expect("a folder");
    expect_once(&format!("sqlite:{}", folder.path().join("tasks.db").display()));
}

pub(crate) fn a_state_does_not_open_while_the_server_is_away() {
    let mut redis = RedisServer::start();
    let (mut one, mut other) = (Peer::start(&redis.url()), Peer::start(&redis.url()));
    let retry = asked_by(&mut one);
    // It has opened the store when it answers.
    asked_by(&mut other);
    redis.kill();
    for peer in [&mut one, &mut other] {
        assert_eq!(peer.ask("tools/call", retry.clone())["error"]["code"], -32603);
        let round = peer.ask("tools/call", json!({"name": "question"}));
        assert_eq!(round["result"]["resultType"], "input_required", "what brings no state needs no store");
    }
    redis.start_again();
    assert_eq!(text_of(&other.ask("tools/call", retry.clone())["result"]), "Hello, Ada!");
    expect_used(&mut one, &retry);
}
