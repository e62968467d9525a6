//! What a handler of the Rust door sees of a request, and what it gives back.
//!
//! Values cross here between Rust and JSON text; nothing of the protocol is decided.

use crate::endpoint::Endpoint;
use ferromcp_engine::error::code;
use ferromcp_engine::{Call, CancelReason, LogLevel, PeerError, Reply, Target};
use serde::{Deserialize, Serialize};
use std::ops::Deref;

/// What all handlers can do while they run.
pub struct Context<'a> {
    endpoint: &'a Endpoint,
    call: &'a Call,
}

impl<'a> Context<'a> {
    pub(crate) fn new(endpoint: &'a Endpoint, call: &'a Call) -> Self {
        Self { endpoint, call }
    }

    /// The request itself: its id, revision, client.
    pub fn request(&self) -> &Call {
        self.call
    }

    /// Tells the client how far this is, out of `total` where that is known. False: it has not asked, or the value has
    /// not risen, or the call is over.
    pub fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) -> bool {
        // Numbers that JSON lacks are not sent.
        self.endpoint.progress(self.call.key, progress, total, message).unwrap_or(false)
    }

    /// Sends the client a log message, if it wants one of this level.
    pub fn log(&self, level: LogLevel, data: impl Serialize) -> bool {
        let Ok(data) = serde_json::to_string(&data) else { return false };
        self.endpoint.log(self.call.key, level, None, &data).unwrap_or(false)
    }

    /// True as soon as nobody waits for the answer: a handler that takes its time should look now and then, and return.
    pub fn is_cancelled(&self) -> bool {
        self.endpoint.is_cancelled(self.call.key)
    }

    /// Why that is so: the client's reason, if it gave one, is in it.
    pub fn cancel_reason(&self) -> Option<CancelReason> {
        self.endpoint.cancel_reason(self.call.key)
    }
}

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

    /// The result's own `_meta`, as the JSON text of an object.
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
}

impl ToolError {
    /// A failure that the model reads.
    pub fn new(text: impl Into<String>) -> Self {
        Self(ToolFailure::Text(text.into()))
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
pub struct ResourceOutput(Held);

#[derive(Clone, Debug)]
enum Held {
    One { field: &'static str, value: String, mime_type: Option<String> },
    Contents(String),
}

impl ResourceOutput {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self(Held::One { field: "text", value: text.into(), mime_type: None })
    }

    /// Bytes, in base64.
    pub fn blob_base64(blob: impl Into<String>) -> Self {
        Self(Held::One { field: "blob", value: blob.into(), mime_type: None })
    }

    /// Contents as the JSON text of an array, in the newest revision's form.
    pub fn contents_json(contents: impl Into<String>) -> Self {
        Self(Held::Contents(contents.into()))
    }

    /// Says what kind of text or bytes it is.
    #[must_use]
    pub fn mime_type(mut self, name: impl Into<String>) -> Self {
        if let Held::One { mime_type, .. } = &mut self.0 {
            *mime_type = Some(name.into());
        }
        self
    }

    pub(crate) fn contents(self, uri: &str) -> String {
        match self.0 {
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
        }
    }
}

/// Messages of a prompt.
#[derive(Clone, Debug, Default)]
pub struct PromptOutput {
    messages: String,
    description: Option<String>,
}

impl PromptOutput {
    /// No message yet.
    pub fn new() -> Self {
        Self::default()
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

    fn message(self, role: &str, text: &str) -> Self {
        let mut message = format!(r#"{{"role":"{role}","content":{{"type":"text","text":"#);
        push_string(&mut message, text);
        message.push_str("}}");
        self.message_json(&message)
    }

    pub(crate) fn parts(mut self) -> (Option<String>, String) {
        self.messages.push_str(if self.messages.is_empty() { "[]" } else { "]" });
        (self.description, self.messages)
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
