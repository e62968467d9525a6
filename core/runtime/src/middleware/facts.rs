//! What middleware is told: of a call, and of its end.

use super::trace::TraceContext;
use ferromcp_engine::{AnswerKind, Call, CancelReason, Revision, Server};
use serde::Deserialize;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// What is known of a call before host code sees it.
#[derive(Debug)]
pub struct CallFacts {
    call: Call,
    name: Option<String>,
    principal: Option<String>,
    definition: Option<Arc<str>>,
    task: Option<String>,
    unix_ms: u64,
}

/// What of the parameters names what is called.
#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    uri: Option<Cow<'a, str>>,
}

impl CallFacts {
    pub(super) fn new(call: &Call, server: &Server, unix_ms: u64) -> Self {
        let name = name_of(call);
        let is_tool = call.method() == "tools/call";
        Self {
            definition: name.as_deref().filter(|_| is_tool).and_then(|name| server.tool_definition(name)),
            name,
            principal: server.principal(call.stream).map(str::to_owned),
            task: server.task_id(call.key).map(str::to_owned),
            call: call.clone(),
            unix_ms,
        }
    }

    /// The request's method.
    pub fn method(&self) -> &str {
        self.call.method()
    }

    /// The name of the tool or prompt, or the URI of the resource.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The name, where it is a tool's.
    pub fn tool(&self) -> Option<&str> {
        self.name().filter(|_| self.method() == "tools/call")
    }

    /// Who has called, as far as it was verified. None over standard input and output, where there is one client.
    pub fn principal(&self) -> Option<&str> {
        self.principal.as_deref()
    }

    /// Under which principal calls are counted: those of a connection whose principal nobody knows belong together.
    pub(crate) fn party(&self) -> String {
        match &self.principal {
            Some(principal) => format!("principal {principal}"),
            None => format!("stream {}", self.call.stream.0),
        }
    }

    /// The request's id as written.
    pub fn id_json(&self) -> &str {
        self.call.id_json()
    }

    /// The revision that the call is served under.
    pub fn revision(&self) -> Revision {
        self.call.revision
    }

    /// What the client says of itself: an `Implementation` object. Not verified.
    pub fn client_info_json(&self) -> Option<&str> {
        self.call.client_info_json()
    }

    /// The arguments of a tool or prompt as JSON text; `{}` when there are none.
    pub fn arguments_json(&self) -> &str {
        self.call.arguments_json()
    }

    /// The definition of the tool, where the engine has its catalogue.
    pub fn tool_definition(&self) -> Option<&Arc<str>> {
        self.definition.as_ref()
    }

    /// The id of the task that the call is, if it is one already.
    pub fn task_id(&self) -> Option<&str> {
        self.task.as_deref()
    }

    /// When host code was to get it, in UNIX milliseconds.
    pub fn unix_ms(&self) -> u64 {
        self.unix_ms
    }

    /// What the request says of the trace that it belongs to.
    pub fn trace_context(&self) -> TraceContext {
        TraceContext::of(&self.call)
    }

    /// All of it.
    pub fn call(&self) -> &Call {
        &self.call
    }
}

/// The name of the tool or prompt, or the URI of the resource, that a request is about.
pub(super) fn name_of(call: &Call) -> Option<String> {
    // A method of an extension may have anything there.
    let named = serde_json::from_str::<Named<'_>>(call.params_json()?).ok()?;
    named.name.or(named.uri).map(Cow::into_owned)
}

/// What became of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// A middleware has refused it.
    pub refused: bool,
    /// From the moment that host code was to get it.
    pub duration: Duration,
    /// Bytes of the answer.
    pub bytes: usize,
    /// The answer's main part, where [`super::Middleware::wants_text`]: the text of a text block or an error, else JSON.
    pub text: Option<String>,
    /// The id of the task that it was.
    pub task_id: Option<String>,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// With a result.
    Result,
    /// With a result that says that the tool failed.
    ToolError,
    /// With a JSON-RPC error of this code.
    Error(i64),
    /// The client is asked, and the call comes again.
    InputRequired,
    /// Nobody waits for its answer any more.
    Cancelled(CancelReason),
}

impl From<AnswerKind> for End {
    fn from(kind: AnswerKind) -> Self {
        match kind {
            AnswerKind::Result => Self::Result,
            AnswerKind::ToolError => Self::ToolError,
            AnswerKind::Error(code) => Self::Error(code),
            AnswerKind::InputRequired => Self::InputRequired,
        }
    }
}
