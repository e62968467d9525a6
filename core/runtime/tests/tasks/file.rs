//! Tasks in a file: they survive their server, however that ends.

use crate::common::Client;
use crate::peer::{Peer, text_of};
use crate::served::{DRAIN, Job, server};
use serde_json::{Value, json};
use std::collections::HashMap;
use tempfile::TempDir;

const GONE: &str = "the server process that ran this task is gone";

fn url(folder: &TempDir) -> String {
    format!("sqlite:{}", folder.path().join("tasks.db").display())
}

/// What is known of a task that was acknowledged.
#[derive(Clone, Copy, PartialEq)]
enum Known {
    /// It waits for what never comes.
    Waits,
    /// It gives this number, unless it is killed before.
    Gives(u64),
    /// It was seen to have given this number.
    Gave(u64),
}

// requirement: tasks-ext-durable, tasks-failed-message
pub(crate) fn acknowledged_tasks_survive_a_kill() {
    const ROUNDS: u64 = 3;
    const BEFORE: u64 = 10;
    const BURST: u64 = 60;
    let folder = TempDir::new().expect("a folder");
    let job = Job::new();
    let mut known: HashMap<String, Known> = HashMap::new();
    for round in 0..ROUNDS {
        let mut peer = Peer::start(&url(&folder));
        for n in 0..BEFORE {
            let id = peer.start_task("quick", json!({"n": n}));
            peer.get_until(&id, "completed");
            known.insert(id, Known::Gave(n));
        }
        let mut sent = HashMap::new();
        for n in 0..BURST {
            let (tool, arguments, kind) = match n % 6 {
                0 => ("wait", job.arguments(), Known::Waits),
                _ => ("quick", json!({"n": n}), Known::Gives(n)),
            };
            sent.insert(peer.send("tools/call", json!({"name": tool, "arguments": arguments})), kind);
        }
        let is_task = |message: &Value| message["result"]["resultType"] == "task";
        let mut read: Vec<Value> = (0..BURST / 3 + round).map(|_| peer.expect(is_task)).collect();
        peer.kill();
        read.extend(peer.rest().into_iter().filter(is_task));
        for message in read {
            let id = message["result"]["taskId"].as_str().expect("an id").to_owned();
            known.insert(id, sent[&message["id"].as_u64().expect("our ids are numbers")]);
        }
    }
    assert!(known.values().any(|known| *known == Known::Waits));

    let mut peer = Peer::start(&url(&folder));
    for (id, known) in &known {
        let task = peer.get(id);
        let failed = task["status"] == "failed";
        match *known {
            Known::Waits => assert!(failed, "{task}"),
            Known::Gives(_) => assert!(failed || task["status"] == "completed", "{task}"),
            Known::Gave(_) => assert_eq!(task["status"], "completed"),
        }
        if failed {
            assert_eq!(task["statusMessage"], GONE);
            assert_eq!(task["error"], json!({"code": -32603, "message": GONE}));
        } else if let Known::Gives(n) | Known::Gave(n) = *known {
            assert_eq!(text_of(&task["result"]), format!("number {n}"));
        }
    }
    // To the other era too. It is shown no list, since nobody knows whose tasks these are.
    let (mut legacy, capabilities) = Peer::start_legacy(&url(&folder));
    assert_eq!(capabilities["tasks"].get("list"), None);
    for (id, known) in known.iter().take(20) {
        let answer = legacy.ask("tasks/result", json!({"taskId": id}));
        match known {
            Known::Gave(n) => assert_eq!(text_of(&answer["result"]), format!("number {n}")),
            Known::Waits => assert_eq!(answer["error"]["message"], GONE),
            Known::Gives(_) => assert_ne!(answer["result"].is_null(), answer["error"].is_null()),
        }
    }
}

// requirement: tasks-ext-auth
pub(crate) fn a_task_belongs_to_its_principal() {
    let folder = TempDir::new().expect("a folder");
    let takes_tasks = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let open = |principal: Option<&str>| {
        let client = Client::open(server(&url(&folder)));
        let endpoint = client.server.endpoint();
        let set =
            endpoint.with_engine(|engine| engine.set_principal(endpoint.stream().expect("over pipes"), principal));
        set.expect("it runs").expect("an open stream");
        client
    };
    let job = Job::new();
    let mut alice = open(Some("alice"));
    alice.modern(1, "tools/call", &json!({"name": "wait", "arguments": job.arguments()}), &takes_tasks);
    let id = alice.expect(1)["result"]["taskId"].clone();
    for (principal, found) in [(Some("bob"), false), (None, false), (Some("alice"), true)] {
        let mut client = open(principal);
        for (at, method) in ["tasks/get", "tasks/update", "tasks/cancel"].into_iter().enumerate() {
            let params = json!({"taskId": id, "inputResponses": {}});
            client.modern(at as u64, method, &params, &takes_tasks);
            let answer = client.expect(at as u64);
            assert_eq!(answer["result"].is_object(), found, "{principal:?} {method}: {answer}");
            assert_eq!(answer["error"]["code"] == -32602, !found);
        }
    }
    // The last one was her own.
    job.expect("told");
}

pub(crate) fn a_running_task_is_stored_when_the_input_ends() {
    let folder = TempDir::new().expect("a folder");
    let job = Job::new();
    let mut peer = Peer::start(&url(&folder));
    let id = peer.start_task("wait", job.arguments());
    job.expect("began");
    peer.close();
    job.finish();
    assert!(peer.expect_end().success());
    let task = Peer::start(&url(&folder)).get(&id);
    assert_eq!((&task["status"], text_of(&task["result"])), (&json!("completed"), "it is done"));
}

pub(crate) fn a_task_that_takes_too_long_at_the_end_has_failed() {
    let folder = TempDir::new().expect("a folder");
    let job = Job::new();
    let mut peer = Peer::start_with(&url(&folder), &[(DRAIN, "50")]);
    let id = peer.start_task("wait", job.arguments());
    job.expect("began");
    peer.close();
    assert!(peer.expect_end().success());
    job.expect("told");
    let task = Peer::start(&url(&folder)).get(&id);
    assert_eq!(task["status"], "failed");
    assert_eq!(task["statusMessage"], "the server ended before this task did");
}
