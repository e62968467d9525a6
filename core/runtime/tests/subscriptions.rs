//! Closures that are told which resources are watched.

mod common;

use common::{Client, LONG, call, text, tool};
use ferromcp::{ResourceOutput, Server, ToolOutput};
use std::sync::mpsc::{Receiver, channel};

fn watched() -> (Server, Receiver<String>) {
    let (begun, told) = channel();
    let ended = begun.clone();
    let server = Server::new("test", "1")
        .resource(r#"{"uri":"mem://a","name":"a"}"#, |_| Ok(ResourceOutput::text("a")))
        .tool(tool("quick"), |_| Ok(ToolOutput::text("quick")))
        .on_subscribed(move |uri| begun.send(format!("began {uri}")).expect("the test listens"))
        .on_unsubscribed(move |uri| ended.send(format!("ended {uri}")).expect("the test listens"));
    (server, told)
}

const SUBSCRIBE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"mem://a"}}"#;
const UNSUBSCRIBE: &str = r#"{"jsonrpc":"2.0","id":2,"method":"resources/unsubscribe","params":{"uri":"mem://a"}}"#;

#[test]
fn the_first_watcher_and_the_last_one_are_told_of() {
    let (server, told) = watched();
    let mut client = Client::connect(server);
    for _ in 0..2 {
        client.send(&[SUBSCRIBE]);
        client.expect(1);
    }
    client.send(&[UNSUBSCRIBE]);
    client.expect(2);
    assert_eq!(told.recv_timeout(LONG).as_deref(), Ok("began mem://a"));
    assert_eq!(told.recv_timeout(LONG).as_deref(), Ok("ended mem://a"));
}

#[test]
fn what_is_watched_at_the_end_of_the_input_is_not_watched_any_more() {
    let (server, told) = watched();
    let mut client = Client::connect(server);
    client.send(&[SUBSCRIBE]);
    client.expect(1);
    assert_eq!(told.recv_timeout(LONG).as_deref(), Ok("began mem://a"));
    client.close();
    assert_eq!(told.recv_timeout(LONG).as_deref(), Ok("ended mem://a"));
}

#[test]
fn a_closure_that_panics_ends_nothing() {
    let server = watched().0.on_subscribed(|uri| panic!("no {uri}"));
    let mut client = Client::connect(server);
    client.send(&[SUBSCRIBE, &call(3, "quick", "{}")]);
    client.expect(1);
    assert_eq!(text(&client.expect(3)), "quick");
}
