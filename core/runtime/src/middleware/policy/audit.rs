//! Who has called what, and what became of it: one line of JSON for each call.
//!
//! A log that can't be written harms no call: that is said on stderr when it begins, and the lines meanwhile are lost.

use super::TakeLine;
use super::config::AuditConfig;
use super::mask::{hide_marked, hide_pointer};
use crate::debug::write_stderr;
use crate::middleware::{CallFacts, End, Middleware, Outcome};
use crate::options::Error;
use crate::redact::redact;
use ferromcp_engine::tasks::iso_8601;
use ferromcp_engine::{CancelReason, Target};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Schemas that are kept read. 1,024: as many tools as a large server has; beyond it all are read anew.
const MOST_SCHEMAS: usize = 1_024;

/// A tool's definition, and the schema in it.
type Known = (Arc<str>, Arc<Value>);

pub(super) struct Audit {
    sinks: Vec<Sink>,
    arguments: bool,
    pointers: Vec<String>,
    /// By tool.
    schemas: Mutex<HashMap<String, Known>>,
}

/// Where lines go.
pub(super) enum Sink {
    File(LogFile),
    Stderr,
    Callback(TakeLine),
}

pub(super) struct LogFile {
    file: File,
    /// Nothing could be written the last time, and that was said.
    broken: AtomicBool,
    /// The last line is not whole.
    torn: AtomicBool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    principal: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<ClientName>,
    request: &'a RawValue,
    revision: &'a str,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Box<RawValue>>,
    outcome: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<i64>,
    duration_ms: f64,
    bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    traceparent: Option<String>,
}

/// What a client says of itself, without what is for people to look at.
#[derive(Serialize, Deserialize)]
struct ClientName {
    #[serde(default)]
    name: String,
    #[serde(default)]
    version: String,
}

impl Audit {
    pub(super) fn new(config: &AuditConfig, sinks: Vec<Sink>) -> Self {
        let (arguments, pointers) = (config.arguments, config.redact.clone());
        Self { sinks, arguments, pointers, schemas: Mutex::default() }
    }

    /// Without a line end.
    fn line(&self, call: &CallFacts, outcome: &Outcome) -> serde_json::Result<String> {
        let id: &RawValue = serde_json::from_str(call.id_json())?;
        let client = call.client_info_json().and_then(|info| serde_json::from_str(info).ok());
        serde_json::to_string(&Line {
            time: iso_8601(call.unix_ms()),
            principal: call.principal(),
            client,
            request: id,
            revision: call.revision().as_str(),
            method: call.method(),
            name: call.name(),
            arguments: if self.arguments { Some(self.arguments(call)?) } else { None },
            outcome: name(outcome),
            code: match outcome.end {
                End::Error(code) => Some(code),
                End::Result | End::ToolError | End::InputRequired | End::Cancelled(_) => None,
            },
            // To the microsecond, which is what is measured.
            duration_ms: outcome.duration.as_micros() as f64 / 1_000.0,
            bytes: outcome.bytes,
            task: outcome.task_id.as_deref(),
            traceparent: call.trace_context().traceparent,
        })
    }

    /// What may be read of the arguments.
    fn arguments(&self, call: &CallFacts) -> serde_json::Result<Box<RawValue>> {
        // A number that no double holds can't be read here; the engine takes it.
        let mut value: Value = serde_json::from_str(call.arguments_json()).unwrap_or_else(|_| "[unreadable]".into());
        match self.schema(call) {
            Some(schema) => hide_marked(&mut value, &schema),
            // The tool was removed a moment ago, and nobody can tell what of it is to be hidden.
            None if matches!(call.call().target, Target::Tool(_)) => value = "[redacted]".into(),
            None => {}
        }
        for pointer in &self.pointers {
            hide_pointer(&mut value, pointer);
        }
        let text = serde_json::to_string(&value)?;
        // What is named like a credential is hidden in any case.
        RawValue::from_string(redact(&text).into_owned())
    }

    fn schema(&self, call: &CallFacts) -> Option<Arc<Value>> {
        let (tool, definition) = (call.tool()?, call.tool_definition()?);
        let mut schemas = self.schemas.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, schema)) = schemas.get(tool)
            && Arc::ptr_eq(known, definition)
        {
            return Some(Arc::clone(schema));
        }
        if schemas.len() >= MOST_SCHEMAS {
            schemas.clear();
        }
        let mut whole: Value = serde_json::from_str(definition).ok()?;
        let schema = Arc::new(whole.get_mut("inputSchema").map(Value::take)?);
        schemas.insert(tool.to_owned(), (Arc::clone(definition), Arc::clone(&schema)));
        Some(schema)
    }
}

impl Middleware for Audit {
    fn after(&self, call: &CallFacts, outcome: &Outcome) {
        let Ok(mut line) = self.line(call, outcome) else { return };
        for sink in &self.sinks {
            if let Sink::Callback(take) = sink {
                take(&line);
            }
        }
        line.push('\n');
        for sink in &self.sinks {
            match sink {
                Sink::File(file) => file.write(line.as_bytes()),
                Sink::Stderr => write_stderr(line.as_bytes()),
                Sink::Callback(_) => {}
            }
        }
    }
}

fn name(outcome: &Outcome) -> &'static str {
    match &outcome.end {
        End::Cancelled(CancelReason::Deadline) => "timeout",
        End::Cancelled(CancelReason::Suspended) | End::InputRequired => "inputRequired",
        End::Cancelled(CancelReason::Unanswered) => "unanswered",
        End::Cancelled(CancelReason::Closed | CancelReason::Drained) => "closed",
        End::Cancelled(CancelReason::Peer(_)) => "cancelled",
        _ if outcome.refused => "refused",
        End::Result => "ok",
        End::ToolError => "toolError",
        End::Error(_) => "error",
    }
}

impl Sink {
    /// Those of a configuration.
    pub(super) fn open(config: &AuditConfig, callback: Option<TakeLine>) -> Result<Vec<Self>, Error> {
        let mut sinks: Vec<_> = callback.map(Self::Callback).into_iter().collect();
        if let Some(path) = &config.file {
            // Who calls what with which arguments concerns the owner alone.
            let opened = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
            let named = |error: io::Error| io::Error::new(error.kind(), format!("audit log {path:?}: {error}"));
            sinks.push(Self::File(LogFile::new(opened.map_err(named)?)));
        }
        if config.stderr {
            sinks.push(Self::Stderr);
        }
        Ok(sinks)
    }
}

impl LogFile {
    fn new(file: File) -> Self {
        Self { file, broken: AtomicBool::new(false), torn: AtomicBool::new(false) }
    }

    /// One write for each line, so that lines of several processes in one file stay whole.
    fn write(&self, line: &[u8]) {
        let torn = self.torn.load(Ordering::Relaxed);
        let rest;
        let bytes = if torn {
            rest = [b"\n", line].concat();
            &rest[..]
        } else {
            line
        };
        let error = match (&self.file).write(bytes) {
            Ok(written) if written == bytes.len() => {
                self.torn.store(false, Ordering::Relaxed);
                self.broken.store(false, Ordering::Relaxed);
                return;
            }
            Ok(0) => io::Error::from(io::ErrorKind::WriteZero),
            Ok(_) => {
                self.torn.store(true, Ordering::Relaxed);
                io::Error::from(io::ErrorKind::WriteZero)
            }
            Err(error) => error,
        };
        if !self.broken.swap(true, Ordering::Relaxed) {
            let text = format!("ferromcp: the audit log can't be written, and lines are lost: {error}\n");
            write_stderr(text.as_bytes());
        }
    }
}
