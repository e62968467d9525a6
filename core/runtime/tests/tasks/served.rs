//! The server of these tests, in this process or in one of its own.

use crate::common;
use ferromcp::engine::StateKey;
use ferromcp::{Elicited, Server, TaskStoreOption, ToolCall, ToolError, ToolOutput};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Where a process that serves keeps its tasks: a URL, or nothing for its memory.
pub(crate) const STORE: &str = "FERROMCP_TEST_STORE";
/// Milliseconds of its leases and of its draining, where they are not the defaults.
pub(crate) const LEASE: &str = "FERROMCP_TEST_LEASE_MS";
pub(crate) const DRAIN: &str = "FERROMCP_TEST_DRAIN_MS";

const NAME: &str = r#"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}"#;

#[derive(Deserialize)]
struct Wait {
    /// The work is done when this file is there. Beside it stand `began`, `told` (it was cancelled) and `done`.
    file: PathBuf,
}

#[derive(Deserialize)]
struct Number {
    n: u64,
}

#[derive(Deserialize)]
struct Name {
    name: String,
}

/// Serves standard input and output until the client goes away.
pub(crate) fn run(store: &str) {
    server(store).run_stdio().expect("an orderly end");
}

pub(crate) fn server(store: &str) -> Server {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse().expect("a number"));
    let store = if store.is_empty() { TaskStoreOption::Memory } else { TaskStoreOption::Url(store.to_owned()) };
    Server::new("test", "1")
        .task_store(store)
        .configure(|config| {
            // Others' tasks are looked up as often, so that the tests are quick.
            config.tasks.poll_ms = 100;
            config.state_keys = vec![StateKey([7; 32])];
            config.tasks.lease_ms = number(LEASE).unwrap_or(config.tasks.lease_ms);
            config.limits.drain_ms = number(DRAIN).unwrap_or(config.limits.drain_ms);
        })
        .tool(task_tool("quick"), |call| {
            let Number { n } = call.arguments()?;
            Ok(ToolOutput::text(format!("number {n}")))
        })
        .tool(task_tool("wait"), wait)
        .tool(task_tool("ask"), |call| match call.elicit("Who are you?", NAME)? {
            Elicited::Accept(Name { name }) => Ok(ToolOutput::text(format!("Hello, {name}!"))),
            Elicited::Decline | Elicited::Cancel => Ok(ToolOutput::text("Nobody.")),
        })
        .tool(common::tool("question"), |call| match call.elicit("Who are you?", NAME)? {
            Elicited::Accept(Name { name }) => Ok(ToolOutput::text(format!("Hello, {name}!"))),
            Elicited::Decline | Elicited::Cancel => Ok(ToolOutput::text("Nobody.")),
        })
        .tool(common::tool("begin"), |call| {
            let before = call.task_id();
            let begun = call.begin_task();
            if begun.is_some() {
                call.report_progress(1.0, None, Some("begun"));
                wait(call)?;
            }
            Ok(ToolOutput::text(format!("{before:?} {begun:?} {}", begun == call.task_id())))
        })
}

/// The definition of a tool that may be a task.
fn task_tool(name: &str) -> String {
    format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}},"execution":{{"taskSupport":"optional"}}}}"#)
}

fn wait(call: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
    let Wait { file } = call.arguments()?;
    note(&file, "began");
    while !file.exists() {
        if call.is_cancelled() {
            note(&file, "told");
            return Ok(ToolOutput::text("nobody waits"));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    note(&file, "done");
    Ok(ToolOutput::text("it is done"))
}

fn note(file: &Path, what: &str) {
    std::fs::write(beside(file, what), "").expect("a folder that can be written");
}

fn beside(file: &Path, what: &str) -> PathBuf {
    file.with_extension(what)
}

/// What a call of `wait` waits for.
pub(crate) struct Job {
    folder: tempfile::TempDir,
}

impl Job {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::TempDir::new().expect("a folder") }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("job")
    }

    pub(crate) fn arguments(&self) -> serde_json::Value {
        serde_json::json!({"file": self.file()})
    }

    /// Lets the work be done.
    pub(crate) fn finish(&self) {
        std::fs::write(self.file(), "").expect("a folder that can be written");
    }

    /// Waits until the tool has noted something.
    pub(crate) fn expect(&self, what: &str) {
        let begun = Instant::now();
        while !beside(&self.file(), what).exists() {
            assert!(begun.elapsed() < common::LONG, "the tool has not noted {what:?}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}
