//! What a handler of the Rust door sees of a request, and what it gives back.
//!
//! Values cross here between Rust and JSON text; nothing of the protocol is decided.

use crate::context::Context;
use ferromcp_engine::error::code;
use ferromcp_engine::{InputRequest, PeerError, Reply, Target};
use serde::{Deserialize, Serialize};
use std::ops::Deref;

/// A `tools/call`, its arguments already checked against the tool's input schema.
pub struct ToolCall<'a>(pub(crate) Context<'a>);

impl<'a> Deref for ToolCall<'a> {
    type Target = Context<'a>;
    fn deref(&self) -> &Context<'a> {
        &self.0
    }
}

impl ToolCall<'_> {
    /// The arguments as JSON text; `{}` when there are none.
    pub fn arguments_json(&self) -> &str {
        self.0.call.arguments_json()
    }

    /// The arguments as a type of yours.
    ///
    /// # Errors
    /// A tool error that says what does not fit, for the model to read.
    pub fn arguments<'s, T: Deserialize<'s>>(&'s self) -> Result<T, ToolError> {
        serde_json::from_str(self.arguments_json())
            .map_err(|error| ToolError::new(format!("Invalid arguments: {error}")))
    }
}

/// A `resources/read`.
pub struct ResourceCall<'a>(pub(crate) Context<'a>);

impl<'a> Deref for ResourceCall<'a> {
    type Target = Context<'a>;
    fn deref(&self) -> &Context<'a> {
        &self.0
    }
}

#[derive(Deserialize)]
struct ReadParams {
    uri: String,
}

impl ResourceCall<'_> {
    /// The URI that is read.
    pub fn uri(&self) -> String {
        // The engine has routed by it, so it is there.
        let params = self.0.call.params_json().unwrap_or_default();
        serde_json::from_str::<ReadParams>(params).map(|params| params.uri).unwrap_or_default()
    }

    /// What the URI gave a variable of the template, percent-decoded.
    pub fn variable(&self, name: &str) -> Option<&str> {
        let Target::Template { variables, .. } = &self.0.call.target else { return None };
        variables.iter().find(|(variable, _)| variable == name).map(|(_, value)| value.as_str())
    }

    /// The error for a URI that fits the template and names nothing, in the code that the client's revision has for it.
    pub fn not_found(&self) -> PeerError {
        PeerError::new(code::RESOURCE_NOT_FOUND, format!("Resource not found: {}", self.uri()))
    }
}

/// A `prompts/get`.
pub struct PromptCall<'a>(pub(crate) Context<'a>);

impl<'a> Deref for PromptCall<'a> {
    type Target = Context<'a>;
    fn deref(&self) -> &Context<'a> {
        &self.0
    }
}

impl PromptCall<'_> {
    /// The arguments as a type of yours; prompts have strings only.
    ///
    /// # Errors
    /// Invalid parameters, naming what does not fit.
    pub fn arguments<'s, T: Deserialize<'s>>(&'s self) -> Result<T, PeerError> {
        serde_json::from_str(self.0.call.arguments_json())
            .map_err(|error| PeerError::invalid_params(format!("Invalid arguments: {error}")))
    }
}

/// What a tool answers: content blocks for the model, and perhaps a value for programs.
#[derive(Clone, Debug, Default)]
pub struct ToolOutput {
    content: Content,
    structured: Option<String>,
    meta: Option<String>,
    is_error: bool,
}

#[derive(Clone, Debug)]
enum Content {
    Text(String),
    /// The JSON text of an array of blocks.
    Blocks(String),
    Round(Round),
}

impl Default for Content {
    fn default() -> Self {
        Self::Blocks("[]".into())
    }
}

impl ToolOutput {
    /// One text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: Content::Text(text.into()), ..Self::default() }
    }

    /// Content blocks as the JSON text of an array, in the newest revision's form.
    pub fn content_json(content: impl Into<String>) -> Self {
        Self { content: Content::Blocks(content.into()), ..Self::default() }
    }

    /// A value as `structuredContent`, and the same as text for clients that do not know it (`server/tools`,
    /// "Structured Content").
    ///
    /// # Errors
    /// When the value has no JSON form.
    pub fn structured(value: &impl Serialize) -> Result<Self, ToolError> {
        Ok(Self { structured: Some(serde_json::to_string(value)?), ..Self::default() })
    }

    /// No answer yet: the client is asked, and the handler runs again with the answers (2026-07-28 `basic/patterns/mrtr`).
    /// For handlers that keep their own account of where they are; the others have [`Context::ask`], which does this for
    /// them. Each request has a key of its own, under which [`Context::input_responses`] has its answer then; `state` comes
    /// back as [`Context::request_state`]. One of both is needed. A client without the capability for it is told so.
    pub fn input_required(requests: &[InputRequest<'_>], state: Option<&str>) -> Self {
        Self { content: Content::Round(Round::new(requests, state)), ..Self::default() }
    }

    /// The result's own `_meta`, as the JSON text of an object. A round has none.
    #[must_use]
    pub fn with_meta(mut self, json: impl Into<String>) -> Self {
        if let Content::Text(text) = &self.content {
            let mut blocks = String::from(r#"[{"type":"text","text":"#);
            push_string(&mut blocks, text);
            blocks.push_str("}]");
            self.content = Content::Blocks(blocks);
        }
        self.meta = Some(json.into());
        self
    }

    pub(crate) fn failed(text: &str) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    pub(crate) fn reply(&self) -> Reply<'_> {
        match &self.content {
            Content::Text(text) => Reply::Text { text, is_error: self.is_error },
            Content::Round(round) => round.reply(),
            Content::Blocks(content) => Reply::Tool {
                content,
                structured: self.structured.as_deref(),
                is_error: self.is_error,
                meta: self.meta.as_deref(),
            },
        }
    }
}

/// Why a tool has no result. Anything that is an error becomes one with `?`: the model reads its text
/// (`isError: true`). [`ToolError::protocol`] is for what the model can't mend.
#[derive(Debug)]
pub struct ToolError(pub(crate) ToolFailure);

#[derive(Debug)]
pub(crate) enum ToolFailure {
    Text(String),
    Protocol(PeerError),
    Capability(&'static str),
}

impl ToolError {
    /// A failure that the model reads.
    pub fn new(text: impl Into<String>) -> Self {
        Self(ToolFailure::Text(text.into()))
    }

    /// The client lacks a capability.
    pub(crate) fn capability(path: &'static str) -> Self {
        Self(ToolFailure::Capability(path))
    }

    /// A JSON-RPC error in the place of a result.
    pub fn protocol(error: PeerError) -> Self {
        Self(ToolFailure::Protocol(error))
    }
}

impl<E: std::error::Error> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self::new(error.to_string())
    }
}

/// What a resource holds.
#[derive(Clone, Debug)]
pub struct ResourceOutput {
    held: Held,
    meta: Option<String>,
}

#[derive(Clone, Debug)]
enum Held {
    One { field: &'static str, value: String, mime_type: Option<String> },
    Contents(String),
    Round(Round),
}

impl ResourceOutput {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::of(Held::One { field: "text", value: text.into(), mime_type: None })
    }

    /// Bytes, in base64.
    pub fn blob_base64(blob: impl Into<String>) -> Self {
        Self::of(Held::One { field: "blob", value: blob.into(), mime_type: None })
    }

    /// Contents as the JSON text of an array, in the newest revision's form.
    pub fn contents_json(contents: impl Into<String>) -> Self {
        Self::of(Held::Contents(contents.into()))
    }

    /// No contents yet: see [`ToolOutput::input_required`].
    pub fn input_required(requests: &[InputRequest<'_>], state: Option<&str>) -> Self {
        Self::of(Held::Round(Round::new(requests, state)))
    }

    fn of(held: Held) -> Self {
        Self { held, meta: None }
    }

    /// The result's own `_meta`, as the JSON text of an object. A round has none.
    #[must_use]
    pub fn with_meta(mut self, json: impl Into<String>) -> Self {
        self.meta = Some(json.into());
        self
    }

    /// Says what kind of text or bytes it is, where that is not what the definition says.
    #[must_use]
    pub fn mime_type(self, name: impl Into<String>) -> Self {
        self.maybe_mime_type(Some(name.into()))
    }

    pub(crate) fn maybe_mime_type(mut self, name: Option<String>) -> Self {
        if let Held::One { mime_type, .. } = &mut self.held {
            *mime_type = name;
        }
        self
    }

    pub(crate) fn lacks_mime_type(&self) -> bool {
        matches!(self.held, Held::One { mime_type: None, .. })
    }

    /// Answers with it: `uri` is what was read.
    pub(crate) fn reply<R>(self, uri: &str, respond: impl FnOnce(Reply<'_>) -> R) -> R {
        let contents = match self.held {
            Held::Round(round) => return respond(round.reply()),
            Held::Contents(contents) => contents,
            Held::One { field, value, mime_type } => {
                let mut out = String::with_capacity(value.len() + uri.len() + 64);
                out.push_str(r#"[{"uri":"#);
                push_string(&mut out, uri);
                if let Some(mime_type) = mime_type {
                    out.push_str(r#","mimeType":"#);
                    push_string(&mut out, &mime_type);
                }
                out.push_str(",\"");
                out.push_str(field);
                out.push_str("\":");
                push_string(&mut out, &value);
                out.push_str("}]");
                out
            }
        };
        match self.meta {
            None => respond(Reply::Contents(&contents)),
            Some(meta) => respond(Reply::Result(&format!(r#"{{"contents":{contents},"_meta":{meta}}}"#))),
        }
    }
}

/// Messages of a prompt.
#[derive(Clone, Debug, Default)]
pub struct PromptOutput {
    messages: String,
    description: Option<String>,
    meta: Option<String>,
    round: Option<Round>,
}

impl PromptOutput {
    /// No message yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// No messages yet: see [`ToolOutput::input_required`].
    pub fn input_required(requests: &[InputRequest<'_>], state: Option<&str>) -> Self {
        Self { round: Some(Round::new(requests, state)), ..Self::default() }
    }

    /// Adds a text of the user's.
    #[must_use]
    pub fn user(self, text: impl AsRef<str>) -> Self {
        self.message("user", text.as_ref())
    }

    /// Adds a text of the assistant's.
    #[must_use]
    pub fn assistant(self, text: impl AsRef<str>) -> Self {
        self.message("assistant", text.as_ref())
    }

    /// Adds a message as JSON text, in the newest revision's form.
    #[must_use]
    pub fn message_json(mut self, message: &str) -> Self {
        self.messages.push(if self.messages.is_empty() { '[' } else { ',' });
        self.messages.push_str(message);
        self
    }

    /// Says what the prompt is for.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }

    /// The result's own `_meta`, as the JSON text of an object. A round has none.
    #[must_use]
    pub fn with_meta(mut self, json: impl Into<String>) -> Self {
        self.meta = Some(json.into());
        self
    }

    fn message(self, role: &str, text: &str) -> Self {
        let mut message = format!(r#"{{"role":"{role}","content":{{"type":"text","text":"#);
        push_string(&mut message, text);
        message.push_str("}}");
        self.message_json(&message)
    }

    /// Answers with them.
    pub(crate) fn reply<R>(mut self, respond: impl FnOnce(Reply<'_>) -> R) -> R {
        if let Some(round) = &self.round {
            return respond(round.reply());
        }
        self.messages.push_str(if self.messages.is_empty() { "[]" } else { "]" });
        let Some(meta) = self.meta else {
            return respond(Reply::Prompt { description: self.description.as_deref(), messages: &self.messages });
        };
        let mut result = String::from("{");
        if let Some(description) = &self.description {
            result.push_str(r#""description":"#);
            push_string(&mut result, description);
            result.push(',');
        }
        result.push_str(&format!(r#""messages":{},"_meta":{meta}}}"#, self.messages));
        respond(Reply::Result(&result))
    }
}

/// What a handler asks by its own hand, as the engine takes it.
#[derive(Clone, Debug)]
struct Round {
    requests: Option<String>,
    state: Option<String>,
}

impl Round {
    fn new(requests: &[InputRequest<'_>], state: Option<&str>) -> Self {
        let mut out = String::new();
        for InputRequest { key, method, params } in requests {
            out.push(if out.is_empty() { '{' } else { ',' });
            push_string(&mut out, key);
            out.push_str(r#":{"method":"#);
            push_string(&mut out, method);
            out.push_str(r#","params":"#);
            out.push_str(params);
            out.push('}');
        }
        if !out.is_empty() {
            out.push('}');
        }
        Self { requests: Some(out).filter(|out| !out.is_empty()), state: state.map(str::to_owned) }
    }

    fn reply(&self) -> Reply<'_> {
        Reply::InputRequired { requests: self.requests.as_deref(), state: self.state.as_deref() }
    }
}

/// Appends `text` as a JSON string.
fn push_string(out: &mut String, text: &str) {
    struct Append<'a>(&'a mut String);
    impl std::io::Write for Append<'_> {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            // The serializer of a string passes whole pieces of it.
            let text = std::str::from_utf8(bytes).map_err(|_| std::io::ErrorKind::InvalidData)?;
            self.0.push_str(text);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let written = serde_json::to_writer(Append(out), text);
    debug_assert!(written.is_ok(), "a string always has a JSON form");
}
