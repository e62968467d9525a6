//! How a server ends, and that nothing holds the end up.

mod common;

use common::{Client, LONG, call, ended, ping, serve, text, tool};
use ferromcp::{EndReason, Error, ServeOptions, Server, ToolOutput};
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// A tool `block` that says that it has started, and waits for a message.
fn blocking(server: Server) -> (Server, Receiver<()>, Sender<()>) {
    let (start, started) = channel::<()>();
    let (release, released) = channel::<()>();
    let both = Mutex::new((start, released));
    let server = server.tool(tool("block"), move |_| {
        let (start, released) = &*both.lock().expect("nobody panics with it");
        start.send(())?;
        // Dropping the sender releases as well.
        let _ = released.recv_timeout(LONG);
        Ok(ToolOutput::text("released"))
    });
    (server, started, release)
}

#[test]
fn calls_in_flight_are_answered_after_the_end_of_input() {
    let (server, started, release) = blocking(Server::new("test", "1"));
    let mut client = Client::connect(server);
    client.call(1, "block", "{}");
    started.recv_timeout(LONG).expect("the call runs");
    client.send(&[&ping(2)]);
    client.close();
    client.expect(2);
    release.send(()).expect("the tool waits");
    assert_eq!(text(&client.expect(1)), "released");
    client.expect_end();
    let end = ended(&client.server).expect("an orderly end");
    assert_eq!((end.reason, end.stuck, end.unsent), (EndReason::EndOfInput, 0, 0));
}

#[test]
fn a_message_without_its_line_end_counts_at_the_end_of_input() {
    let mut client = Client::connect(Server::new("test", "1"));
    client.send_bytes(ping(1).as_bytes());
    client.close();
    client.expect(1);
    client.expect_end();
}

#[test]
fn a_call_that_never_ends_does_not_hold_up_the_end() {
    let (server, started, _release) = blocking(Server::new("test", "1"));
    let mut client = Client::connect(server.configure(|config| config.limits.drain_ms = 50));
    client.call(1, "block", "{}");
    started.recv_timeout(LONG).expect("the call runs");
    let start = Instant::now();
    client.close();
    let end = ended(&client.server).expect("an orderly end");
    assert!(start.elapsed() >= Duration::from_millis(50));
    assert_eq!((end.reason, end.stuck), (EndReason::EndOfInput, 1));
    assert_eq!(client.server.stuck(), 1);
}

#[test]
fn a_reader_that_vanishes_ends_the_server() {
    let (server, started, _release) = blocking(Server::new("test", "1"));
    let mut served = serve(server);
    let mut input = served.input.take().expect("not taken yet");
    let text = format!("{}\n{}\n{}\n", common::INITIALIZE, common::INITIALIZED, call(1, "block", "{}"));
    std::io::Write::write_all(&mut input, text.as_bytes()).expect("the server reads");
    started.recv_timeout(LONG).expect("the call runs");
    served.output = None;
    // Its input stays open, and nothing is sent: the hang-up alone must tell.
    let end = ended(&served.server).expect("an orderly end");
    assert_eq!((end.reason, end.stuck), (EndReason::ReaderGone, 1));
    drop(input);
}

#[test]
fn a_socket_in_both_roles_serves_and_ends() {
    let (ours, theirs) = UnixStream::pair().expect("a socket pair");
    let copy = theirs.try_clone().expect("a second descriptor");
    let server = Server::new("test", "1").start_fds(theirs.into(), copy.into()).expect("the server starts");
    std::io::Write::write_all(&mut &ours, format!("{}\n", common::INITIALIZE).as_bytes()).expect("the server reads");
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(&ours), &mut line).expect("the server answers");
    assert!(line.contains("\"init\""));
    drop(ours);
    ended(&server).expect("an orderly end");
}

#[test]
fn stopping_does_not_wait_for_calls() {
    let (server, started, _release) = blocking(Server::new("test", "1"));
    let mut client = Client::connect(server);
    client.call(1, "block", "{}");
    started.recv_timeout(LONG).expect("the call runs");
    let start = Instant::now();
    let end = client.server.stop().expect("an orderly end");
    assert!(start.elapsed() < LONG / 4);
    assert_eq!((end.reason, end.stuck), (EndReason::Stopped, 1));
    assert_eq!(client.server.stop().expect("stopping again is no error"), end);
}

#[test]
fn an_answer_after_the_end_goes_nowhere() {
    let (server, started, release) = blocking(Server::new("test", "1"));
    let mut client = Client::connect(server);
    client.call(1, "block", "{}");
    started.recv_timeout(LONG).expect("the call runs");
    client.server.stop().expect("an orderly end");
    release.send(()).expect("the tool waits");
    let start = Instant::now();
    while client.server.stuck() > 0 {
        assert!(start.elapsed() < LONG);
        std::thread::yield_now();
    }
    drop(client.server);
}

#[test]
fn a_client_that_takes_nothing_does_not_hold_up_the_end() {
    let options = ServeOptions { linger: Duration::from_millis(50), ..ServeOptions::default() };
    let server =
        Server::new("test", "1").options(options).tool(tool("large"), |_| Ok(ToolOutput::text("x".repeat(1 << 20))));
    let mut served = serve(server);
    let text = format!("{}\n{}\n{}\n", common::INITIALIZE, common::INITIALIZED, call(1, "large", "{}"));
    let mut input = served.input.take().expect("not taken yet");
    std::io::Write::write_all(&mut input, text.as_bytes()).expect("the server reads");
    drop(input);
    let end = ended(&served.server).expect("an orderly end");
    assert_eq!(end.reason, EndReason::EndOfInput);
    assert!(end.unsent > 0);
}

#[test]
#[allow(unsafe_code, reason = "forking is what is tested")]
fn a_forked_child_is_told_so() {
    let client = Client::connect(Server::new("test", "1"));
    let endpoint = client.server.endpoint();
    // SAFETY: the child only loads an atomic, compares, and leaves by _exit.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let forked = matches!(endpoint.resource_updated("x:y"), Err(Error::Forked))
            && matches!(client.server.wait(), Err(Error::Forked))
            && matches!(client.server.stop(), Err(Error::Forked));
        // SAFETY: ends the child at once, without running anything of the parent's.
        unsafe { libc::_exit(i32::from(!forked)) };
    }
    assert!(child > 0, "a child process");
    let mut status = 0;
    // SAFETY: waits for our own child; the status is a valid place.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    // The parent goes on.
    assert!(endpoint.resource_updated("x:y").is_ok());
}
