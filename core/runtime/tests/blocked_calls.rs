//! A call that blocks delays nobody, and a call that does not costs no thread.

mod common;

use common::{Client, LONG, call, ping, text, tool};
use ferromcp::{ServeOptions, Server, ToolOutput};
use std::collections::HashSet;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier, Mutex};
use std::thread::{ThreadId, current};
use std::time::Duration;

/// A tool `block` that waits for a message, and a way to send it one.
fn blocking(server: Server) -> (Server, Sender<()>) {
    let (release, released) = channel::<()>();
    let released = Mutex::new(released);
    let server = server.tool(tool("block"), move |_| {
        let released: &Receiver<()> = &released.lock().expect("nobody panics with it");
        released.recv_timeout(LONG)?;
        Ok(ToolOutput::text("released"))
    });
    (server, release)
}

fn quick(server: Server) -> Server {
    server.tool(tool("quick"), |_| Ok(ToolOutput::text("quick")))
}

#[test]
fn ping_and_lists_are_answered_while_a_call_blocks() {
    let (server, release) = blocking(Server::new("test", "1"));
    let mut client = Client::connect(server);
    client.call(1, "block", "{}");
    client.send(&[&ping(2)]);
    client.expect(2);
    client.send(&[r#"{"jsonrpc":"2.0","id":3,"method":"tools/list"}"#]);
    client.expect(3);
    release.send(()).expect("the tool waits");
    assert_eq!(text(&client.expect(1)), "released");
}

#[test]
fn a_ping_behind_a_blocking_call_in_the_same_write_is_answered() {
    let (server, release) = blocking(Server::new("test", "1"));
    let mut client = Client::connect(server);
    client.send(&[&call(1, "block", "{}"), &ping(2)]);
    client.expect(2);
    release.send(()).expect("the tool waits");
    client.expect(1);
}

#[test]
fn blocking_calls_run_at_once() {
    const CALLS: u64 = 5;
    let barrier = Arc::new(Barrier::new(CALLS as usize));
    let server = Server::new("test", "1").tool(tool("meet"), move |_| {
        // Returns only when all of them are here.
        barrier.wait();
        Ok(ToolOutput::text("met"))
    });
    let mut client = Client::connect(server);
    let calls: Vec<_> = (0..CALLS).map(|id| call(id, "meet", "{}")).collect();
    client.send(&calls.iter().map(String::as_str).collect::<Vec<_>>());
    let ids: HashSet<_> = (0..CALLS).map(|_| client.receive()["id"].as_u64().expect("a number")).collect();
    assert_eq!(ids, (0..CALLS).collect());
}

#[test]
fn answers_before_a_blocking_call_are_not_held_back_by_it() {
    let (server, release) = blocking(quick(Server::new("test", "1")));
    let mut client = Client::connect(server);
    client.send(&[&call(1, "quick", "{}"), &call(2, "quick", "{}"), &call(3, "block", "{}"), &call(4, "quick", "{}")]);
    for id in [1, 2, 4] {
        client.expect(id);
    }
    release.send(()).expect("the tool waits");
    client.expect(3);
}

#[test]
fn quick_calls_stay_on_one_thread() {
    let threads = Arc::new(Mutex::new(HashSet::<ThreadId>::new()));
    let seen = Arc::clone(&threads);
    // A loaded machine may keep a thread from running for longer than the default.
    let options = ServeOptions { takeover_after: Duration::from_millis(500), ..ServeOptions::default() };
    let server = Server::new("test", "1").options(options).tool(tool("who"), move |_| {
        seen.lock().expect("nobody panics with it").insert(current().id());
        Ok(ToolOutput::text("me"))
    });
    let mut client = Client::connect(server);
    for id in 0..500 {
        client.call(id, "who", "{}");
        client.expect(id);
    }
    let calls: Vec<_> = (0..500).map(|id| call(id, "who", "{}")).collect();
    client.send(&calls.iter().map(String::as_str).collect::<Vec<_>>());
    for id in 0..500 {
        client.expect(id);
    }
    assert_eq!(threads.lock().expect("nobody panics with it").len(), 1);
}

#[test]
fn with_every_thread_blocked_the_protocol_is_still_served() {
    let options = ServeOptions { max_threads: 4, ..ServeOptions::default() };
    let (server, release) = blocking(quick(Server::new("test", "1").options(options)));
    let mut client = Client::connect(server);
    // Three threads are held up by these, the fourth must not be.
    for id in 1..=3 {
        client.call(id, "block", "{}");
    }
    client.send(&[&call(4, "block", "{}"), &call(5, "quick", "{}")]);
    client.send(&[&ping(6), r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#]);
    client.expect(6);
    client.expect(7);
    // A call that waits can be cancelled before any thread has seen it.
    client.send(&[r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}"#]);
    client.expect_silence();
    assert_eq!(client.server.stuck(), 3);
    for _ in 1..=3 {
        release.send(()).expect("the tool waits");
    }
    let ids: HashSet<_> = (0..4).map(|_| client.receive()["id"].as_u64().expect("a number")).collect();
    assert_eq!(ids, HashSet::from([1, 2, 3, 5]));
    client.expect_silence();
}

#[test]
fn progress_is_sent_while_its_call_blocks() {
    let (go, gone) = channel::<()>();
    let gone = Mutex::new(gone);
    let server = Server::new("test", "1").tool(tool("steps"), move |call| {
        for step in [1.0, 2.0] {
            assert!(call.report_progress(step, Some(2.0), None));
            gone.lock().expect("nobody panics with it").recv_timeout(LONG)?;
        }
        Ok(ToolOutput::text("done"))
    });
    let mut client = Client::connect(server);
    client.send(&[
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"steps","_meta":{"progressToken":"t"}}}"#,
    ]);
    for step in [1, 2] {
        let message = client.receive();
        assert_eq!(message["params"]["progressToken"], "t");
        assert_eq!(message["params"]["progress"], step);
        go.send(()).expect("the tool waits");
    }
    client.expect(1);
}
