//! The server owns the standard streams: what else writes to them goes to stderr, what else reads them reads nothing.
//!
//! This program is run by `cargo test`, and runs itself once more as the server.

mod common;

use common::{INITIALIZE, INITIALIZED, call, tool};
use ferromcp::{Server, ToolOutput};
use serde_json::Value;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};

const ROLE: &str = "FERROMCP_TEST_ROLE";

fn main() {
    match std::env::var(ROLE).as_deref() {
        Ok("server") => server(),
        _ => {
            client();
            taken_once();
        }
    }
}

/// Writes to file descriptor 1 by its number, as printf of a C library does.
fn shout(text: &str) {
    let copy = std::io::stdout().as_fd().try_clone_to_owned().expect("descriptor 1 is open");
    std::fs::File::from(copy).write_all(text.as_bytes()).expect("descriptor 1 can be written");
}

fn server() {
    shout("");
    let ended = Server::new("noisy", "1")
        .tool(tool("noise"), |_| {
            shout("noise of ours\n");
            Command::new("sh").args(["-c", "echo noise of a child"]).status()?;
            Ok(ToolOutput::text("noise made"))
        })
        .tool(tool("childcat"), |_| {
            // It reads to the end of what it inherits as standard input.
            let read = Command::new("cat").stdin(Stdio::inherit()).output()?.stdout;
            Ok(ToolOutput::text(read.len().to_string()))
        })
        .run_stdio()
        .expect("an orderly end");
    assert_eq!(ended.stuck, 0);
    shout("noise after the end\n");
}

fn client() {
    let mut child = Command::new(std::env::current_exe().expect("this program has a path"))
        .env(ROLE, "server")
        .env("MCP_DEBUG", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("this program runs");
    let mut input = child.stdin.take().expect("piped");
    let requests = [INITIALIZE, INITIALIZED, &call(1, "noise", "{}"), &call(2, "childcat", r#"{"secret":"s3cr3t"}"#)];
    input.write_all(format!("{}\n", requests.join("\n")).as_bytes()).expect("the server reads");
    let (mut output, mut errors) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
    let shown = std::thread::spawn(move || {
        let mut shown = String::new();
        errors.read_to_string(&mut shown).map(|_| shown)
    });
    drop(input);
    let mut wire = String::new();
    output.read_to_string(&mut wire).expect("UTF-8");
    assert!(child.wait().expect("it ends").success());
    let mut answers: Vec<Value> = Vec::new();
    for line in wire.lines() {
        answers.push(serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")));
    }
    answers.sort_by_key(|answer| answer["id"].as_u64());
    assert_eq!(answers.len(), 3, "{wire}");
    assert_eq!(common::text(&answers[1]), "noise made");
    assert_eq!(common::text(&answers[2]), "0", "the child ate the client's bytes");
    let shown = shown.join().expect("no panic").expect("UTF-8");
    for expected in ["noise of ours", "noise of a child", "noise after the end", "\"tools/call\"", "[redacted]", "-> "]
    {
        assert!(shown.contains(expected), "{expected:?} is missing on stderr:\n{shown}");
    }
    assert!(!shown.contains("s3cr3t"), "{shown}");
    println_plain("standard_streams: what others print stays off the wire ... ok");
}

/// A second server can have the streams only when the first has given them back.
fn taken_once() {
    let serve = || Server::new("test", "1").start_stdio();
    let first = serve().expect("the streams are free");
    assert!(matches!(serve(), Err(ferromcp::Error::StdioTaken)));
    first.stop().expect("an orderly end");
    drop(serve().expect("the streams are free again"));
    println_plain("standard_streams: taken once, given back ... ok");
}

fn println_plain(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
