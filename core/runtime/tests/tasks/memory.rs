//! Tasks that end with their server, and what handlers can do in them.

use crate::common::{Client, LONG, ended};
use crate::peer::text_of;
use crate::served::{Job, server};
use ferromcp::EndReason;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn takes_tasks() -> Value {
    json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}})
}

fn start(client: &mut Client, tool: &str, arguments: &Value) -> String {
    client.modern(1, "tools/call", &json!({"name": tool, "arguments": arguments}), &takes_tasks());
    let answer = client.expect(1);
    answer["result"]["taskId"].as_str().unwrap_or_else(|| panic!("no task: {answer}")).to_owned()
}

fn get_until(client: &mut Client, id: &str, is_there: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        client.modern(2, "tasks/get", &json!({"taskId": id}), &takes_tasks());
        let task = client.expect(2)["result"].clone();
        if is_there(&task) {
            return task;
        }
        assert!(begun.elapsed() < LONG, "{task}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A task of a client of 2025-11-25.
fn start_legacy(client: &mut Client, tool: &str, arguments: &Value) -> String {
    let params = json!({"name": tool, "arguments": arguments, "task": {}});
    client.send(&[&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()]);
    let answer = client.expect(1);
    answer["result"]["task"]["taskId"].as_str().unwrap_or_else(|| panic!("no task: {answer}")).to_owned()
}

fn ask_result(client: &mut Client, id: &str) {
    let params = json!({"taskId": id});
    client.send(&[&json!({"jsonrpc": "2.0", "id": 3, "method": "tasks/result", "params": params}).to_string()]);
}

/// The next message that is no news of a task's status.
fn next(client: &mut Client) -> Value {
    loop {
        let message = client.receive();
        if message["method"] != "notifications/tasks/status" {
            return message;
        }
    }
}

pub(crate) fn a_modern_client_polls_its_task() {
    let mut client = Client::open(server(""));
    let job = Job::new();
    let id = start(&mut client, "wait", &job.arguments());
    job.expect("began");
    assert_eq!(get_until(&mut client, &id, |_| true)["status"], "working");
    job.finish();
    let task = get_until(&mut client, &id, |task| task["status"] == "completed");
    assert_eq!(text_of(&task["result"]), "it is done");
}

pub(crate) fn a_legacy_client_waits_for_its_task() {
    let mut client = Client::connect(server(""));
    let job = Job::new();
    let id = start_legacy(&mut client, "wait", &job.arguments());
    ask_result(&mut client, &id);
    job.expect("began");
    client.expect_silence();
    job.finish();
    let result = next(&mut client);
    assert_eq!((&result["id"], text_of(&result["result"])), (&json!(3), "it is done"));
}

pub(crate) fn a_task_asks_a_modern_client() {
    let mut client = Client::open(server(""));
    let id = start(&mut client, "ask", &json!({}));
    let task = get_until(&mut client, &id, |task| task["status"] == "input_required");
    let requests = task["inputRequests"].as_object().expect("questions");
    let (key, request) = requests.iter().next().expect("a question");
    assert_eq!(request["params"]["message"], "Who are you?");
    let responses = json!({key: {"action": "accept", "content": {"name": "Ada"}}});
    client.modern(4, "tasks/update", &json!({"taskId": id, "inputResponses": responses}), &takes_tasks());
    client.expect(4);
    let task = get_until(&mut client, &id, |task| task["status"] == "completed");
    assert_eq!(text_of(&task["result"]), "Hello, Ada!");
}

pub(crate) fn a_task_asks_a_legacy_client() {
    let mut client = Client::connect_with(server(""), &json!({"elicitation": {}}));
    let id = start_legacy(&mut client, "ask", &json!({}));
    let asked = next(&mut client);
    assert_eq!(asked["method"], "elicitation/create");
    assert_eq!(asked["params"]["_meta"]["io.modelcontextprotocol/related-task"]["taskId"], id);
    let answer = json!({"action": "accept", "content": {"name": "Ada"}});
    client.send(&[&json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer}).to_string()]);
    ask_result(&mut client, &id);
    assert_eq!(text_of(&next(&mut client)["result"]), "Hello, Ada!");
}

pub(crate) fn a_handler_turns_its_call_into_a_task() {
    let mut client = Client::open(server(""));
    let job = Job::new();
    let id = start(&mut client, "begin", &job.arguments());
    get_until(&mut client, &id, |task| task["statusMessage"] == "begun");
    job.finish();
    let task = get_until(&mut client, &id, |task| task["status"] == "completed");
    assert_eq!(text_of(&task["result"]), format!("None Some({id:?}) true"));
    // For a client that does not take tasks it stays a call.
    client.modern(5, "tools/call", &json!({"name": "begin", "arguments": job.arguments()}), &json!({}));
    assert_eq!(text_of(&client.expect(5)["result"]), "None None true");
}

pub(crate) fn a_task_is_given_time_when_the_input_ends() {
    let mut client = Client::open(server(""));
    let job = Job::new();
    start(&mut client, "wait", &job.arguments());
    job.expect("began");
    client.close();
    assert_eq!(client.server.wait_for(Duration::from_millis(50)).expect("no error"), None);
    job.finish();
    assert_eq!(ended(&client.server).expect("an orderly end").reason, EndReason::EndOfInput);
    job.expect("done");
}

pub(crate) fn stopping_ends_a_task() {
    let mut client = Client::open(server(""));
    let job = Job::new();
    start(&mut client, "wait", &job.arguments());
    job.expect("began");
    assert_eq!(client.server.stop().expect("an orderly end").reason, EndReason::Stopped);
    job.expect("told");
}
