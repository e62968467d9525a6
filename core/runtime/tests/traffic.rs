//! Bytes on the wire: every cut, every size, slow readers, noise; cancellation; what people see of it.

mod common;

use common::{Client, LONG, call, ping, serve, text, tool};
use ferromcp::engine::DiagnosticKind;
use ferromcp::{ServeOptions, Server, ToolError, ToolOutput};
use serde_json::Value;
use std::collections::HashSet;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

fn echo(server: Server) -> Server {
    server.tool(tool("echo"), |call| {
        let arguments: Value = call.arguments()?;
        Ok(ToolOutput::text(arguments["text"].as_str().ok_or(ToolError::new("no text"))?))
    })
}

#[test]
fn any_cut_of_the_input_gives_the_same_answers() {
    let mut client = Client::connect(echo(Server::new("test", "1")));
    let message = format!("{}\n", call(1, "echo", r#"{"text":"— 🍸 é"}"#));
    for cut in 0..message.len() {
        client.send_bytes(&message.as_bytes()[..cut]);
        client.send_bytes(&message.as_bytes()[cut..]);
        assert_eq!(text(&client.expect(1)), "— 🍸 é");
    }
}

#[test]
fn carriage_returns_and_blank_lines_are_no_matter() {
    let mut client = Client::connect(echo(Server::new("test", "1")));
    client.send_bytes(format!("\r\n\n{}\r\n\r\n", ping(1)).as_bytes());
    client.expect(1);
    client.expect_silence();
}

#[test]
fn noise_is_reported_and_passed_over() {
    let (tell, told) = channel();
    let tell = Mutex::new(tell);
    let options = ServeOptions {
        diagnostics: Some(Arc::new(move |diagnostic| {
            // The test may be over.
            let _ = tell.lock().expect("nobody panics with it").send(diagnostic.kind);
        })),
        ..ServeOptions::default()
    };
    let mut client = Client::connect(Server::new("test", "1").options(options));
    client.send(&["Server ready", "Content-Length: 46\r"]);
    assert_eq!(told.recv_timeout(LONG), Ok(DiagnosticKind::Noise));
    assert_eq!(told.recv_timeout(LONG), Ok(DiagnosticKind::Noise));
    client.send(&[&ping(1)]);
    // The two lines were answered by errors, or not: both are allowed. The ping must be.
    while client.receive()["id"] != 1 {}
}

/// 500 requests with answers of 64 KiB; the number of calls that were handled so far.
fn large_answers(high_water: usize) -> (common::Served, Arc<AtomicUsize>) {
    let handled = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&handled);
    let options = ServeOptions { high_water, ..ServeOptions::default() };
    let server = Server::new("test", "1").options(options).tool(tool("large"), move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(ToolOutput::text("x".repeat(64 << 10)))
    });
    let mut served = serve(server);
    let mut input = served.input.take().expect("not taken yet");
    std::thread::spawn(move || {
        let mut text = format!("{}\n{}\n", common::INITIALIZE, common::INITIALIZED);
        for id in 0..500 {
            text.push_str(&call(id, "large", "{}"));
            text.push('\n');
        }
        // Pieces of many sizes, none of which ends with a message.
        let (mut rest, mut size) = (text.as_bytes(), 1);
        while !rest.is_empty() {
            size = (size * 7 + 3) % 1_999;
            let piece = rest.len().min(size + 1);
            input.write_all(&rest[..piece]).expect("the server reads");
            rest = &rest[piece..];
        }
    });
    (served, handled)
}

#[test]
fn a_slow_reader_gets_every_answer() {
    let (mut served, _) = large_answers(1 << 20);
    let mut output = served.output.take().expect("not taken yet");
    let mut buffer = vec![0; 48 << 10];
    let mut line = Vec::new();
    let mut ids = HashSet::new();
    let mut reads = 0u32;
    while ids.len() < 500 {
        reads += 1;
        if reads.is_multiple_of(16) {
            // What makes it slow.
            sleep(Duration::from_millis(1));
        }
        let count = output.read(&mut buffer).expect("the server writes");
        assert!(count > 0, "closed after {} answers", ids.len());
        for piece in buffer[..count].split_inclusive(|byte| *byte == b'\n') {
            line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                let message: Value = serde_json::from_slice(&line).expect("a message");
                if let Some(id) = message["id"].as_u64() {
                    assert_eq!(text(&message).len(), 64 << 10);
                    assert!(ids.insert(id), "{id} was answered twice");
                }
                line.clear();
            }
        }
    }
    assert_eq!(ids, (0..500).collect());
    common::ended(&served.server).expect("the client has closed its side");
}

#[test]
fn a_reader_that_stops_is_not_worked_for() {
    let (mut served, handled) = large_answers(1 << 20);
    // Nothing is read: the server comes to rest.
    let (mut before, start) = (usize::MAX, Instant::now());
    while before != handled.load(Ordering::Relaxed) || before == 0 {
        before = handled.load(Ordering::Relaxed);
        sleep(Duration::from_millis(200));
        assert!(start.elapsed() < LONG);
    }
    // 16 answers are the high-water mark; what a pipe holds, and the answer that crosses the mark, come on top.
    assert!(before <= 20, "{before} calls were run for a client that takes no answers");
    let mut output = served.output.take().expect("not taken yet");
    let mut all = Vec::new();
    output.read_to_end(&mut all).expect("the server writes");
    assert_eq!(all.iter().filter(|byte| **byte == b'\n').count(), 501);
    assert_eq!(handled.load(Ordering::Relaxed), 500);
}

#[test]
fn a_cancelled_call_sees_it_and_is_not_answered() {
    let (tell, told) = channel();
    let tell = Mutex::new(tell);
    let server = Server::new("test", "1").tool(tool("wait"), move |call| {
        let say = |text: &'static str| tell.lock().expect("nobody panics with it").send(text);
        say("started")?;
        let start = Instant::now();
        while !call.is_cancelled() && start.elapsed() < LONG {
            sleep(Duration::from_millis(1));
        }
        say(if call.is_cancelled() { "cancelled" } else { "forgotten" })?;
        assert!(!call.report_progress(1.0, None, None));
        Ok(ToolOutput::text("late"))
    });
    let mut client = Client::connect(server);
    client.call(0, "wait", "{}");
    assert_eq!(told.recv_timeout(LONG), Ok("started"));
    client.send(&[r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}"#]);
    assert_eq!(told.recv_timeout(LONG), Ok("cancelled"));
    client.expect_silence();
    client.close();
    client.expect_end();
}

#[test]
fn a_panic_is_an_error_of_its_call_only() {
    let server = echo(Server::new("test", "1")).tool(tool("panics"), |_| panic!("on purpose"));
    let mut client = Client::connect(server);
    client.call(1, "panics", "{}");
    assert_eq!(client.expect(1)["result"]["isError"], true);
    client.call(2, "echo", r#"{"text":"alive"}"#);
    assert_eq!(text(&client.expect(2)), "alive");
}

#[test]
fn the_last_messages_can_be_dumped_without_credentials() {
    let options = ServeOptions { recent: 3, ..ServeOptions::default() };
    let mut client = Client::connect(echo(Server::new("test", "1").options(options)));
    client.call(1, "echo", r#"{"text":"shown","token":"hidden"}"#);
    client.expect(1);
    let lines = client.server.endpoint().recent();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[0].contains("notifications/initialized"));
    assert!(lines[1].contains("<-") && lines[1].contains("shown") && !lines[1].contains("hidden"), "{}", lines[1]);
    assert!(lines[2].contains("->") && lines[2].contains("shown"));
}
