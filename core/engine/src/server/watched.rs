//! What whoever stands between the engine and host code gets to see: how calls are answered, and facts of a call that its
//! text does not have.

use super::Server;
use super::event::{Event, Reply, RequestKey, StreamId};
use super::reply::trimmed;
use crate::error::PeerError;
use crate::jsonrpc::scan;
use std::sync::Arc;

/// What is told of the answers that host code gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Watch {
    /// Nothing.
    #[default]
    Nothing,
    /// [`Event::Answered`] without the answer's text.
    Facts,
    /// The text too, which is a copy of it.
    Text,
}

/// How host code has answered a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerFacts {
    /// What the answer says.
    pub kind: AnswerKind,
    /// Bytes of it, as host code gave it.
    pub bytes: usize,
    /// Where [`Watch::Text`] was asked for: the JSON of its main part, or the text of a text block or an error.
    pub text: Option<String>,
    /// The id of the task that it ends.
    pub task_id: Option<String>,
}

/// What an answer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerKind {
    /// It is a result.
    Result,
    /// It is a result that says that the tool failed (`isError`), also because it does not fit the output schema.
    ToolError,
    /// It is an error of this code.
    Error(i64),
    /// The client has to say something first; host code runs again then.
    InputRequired,
}

impl Server {
    /// Has every answer of host code told as [`Event::Answered`].
    pub fn watch_answers(&mut self, watch: Watch) {
        self.watch = watch;
    }

    /// The task that a call is, if it is one.
    pub fn task_id(&self, call: RequestKey) -> Option<&str> {
        Some(&self.requests.get(call)?.run.as_ref()?.id)
    }

    /// Who is behind a stream, as [`Server::set_principal`] said.
    pub fn principal(&self, stream: StreamId) -> Option<&str> {
        self.streams.get(&stream)?.principal.as_deref()
    }

    /// The definition of a tool of the static catalogue.
    pub fn tool_definition(&self, name: &str) -> Option<Arc<str>> {
        self.catalogue.tools.definition(name)
    }

    /// What is to be told of a reply, before it is given.
    #[inline]
    pub(super) fn watch_reply(&self, call: RequestKey, reply: &Reply<'_>) -> Option<AnswerFacts> {
        if self.watch == Watch::Nothing {
            return None;
        }
        Some(self.reply_facts(call, reply))
    }

    #[cold]
    fn reply_facts(&self, call: RequestKey, reply: &Reply<'_>) -> AnswerFacts {
        let (kind, text, rest) = match *reply {
            Reply::Tool { content, structured, is_error, meta } => {
                (kind_of(is_error), content, structured.map_or(0, str::len) + meta.map_or(0, str::len))
            }
            Reply::Text { text, is_error } => (kind_of(is_error), text, 0),
            Reply::Contents(contents) => (AnswerKind::Result, contents, 0),
            Reply::Prompt { description, messages } => (AnswerKind::Result, messages, description.map_or(0, str::len)),
            Reply::Completion { values, .. } => (AnswerKind::Result, values, 0),
            Reply::InputRequired { requests, state } => {
                (AnswerKind::InputRequired, requests.unwrap_or_default(), state.map_or(0, str::len))
            }
            Reply::Result(result) => (kind_of_result(result), result, 0),
        };
        self.facts(call, kind, text, rest)
    }

    /// The same for an error.
    pub(super) fn watch_error(&self, call: RequestKey, error: &PeerError) -> Option<AnswerFacts> {
        if self.watch == Watch::Nothing {
            return None;
        }
        let code = self.requests.get(call)?.revision.error_code(error.code);
        Some(self.facts(call, AnswerKind::Error(code), &error.message, error.data.as_ref().map_or(0, String::len)))
    }

    fn facts(&self, call: RequestKey, kind: AnswerKind, text: &str, rest: usize) -> AnswerFacts {
        let task_id = self.task_id(call).map(str::to_owned);
        let bytes = text.len() + rest;
        AnswerFacts { kind, bytes, text: (self.watch == Watch::Text).then(|| text.to_owned()), task_id }
    }

    pub(super) fn tell_answered(&mut self, key: RequestKey, answer: Option<AnswerFacts>) {
        if let Some(answer) = answer {
            self.event(Event::Answered { key, answer });
        }
    }
}

fn kind_of(is_error: bool) -> AnswerKind {
    if is_error { AnswerKind::ToolError } else { AnswerKind::Result }
}

fn kind_of_result(result: &str) -> AnswerKind {
    match scan::pick(trimmed(result), ["isError", "resultType"]) {
        Ok([Some("true"), _]) => AnswerKind::ToolError,
        Ok([_, Some(r#""input_required""#)]) => AnswerKind::InputRequired,
        _ => AnswerKind::Result,
    }
}
