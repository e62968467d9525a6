//! The closures of the Rust door: which of them a request belongs to, and what becomes of what they give.

use crate::call::{
    PromptCall, PromptOutput, ResourceCall, ResourceOutput, ToolCall, ToolError, ToolFailure, ToolOutput,
};
use crate::completion::{CompletionCall, CompletionOutput};
use crate::context::Context;
use crate::endpoint::Endpoint;
use crate::extension::MethodCall;
use crate::options::Error;
use crate::pool::{CallQueue, Host};
use ferromcp_engine::error::code;
use ferromcp_engine::{Call, Era, Event, LocalError, PeerError, Reentry, Reply, Target};
use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

pub(crate) type ToolHandler = Box<dyn Fn(&ToolCall<'_>) -> Result<ToolOutput, ToolError> + Send + Sync>;
pub(crate) type ResourceHandler = Box<dyn Fn(&ResourceCall<'_>) -> Result<ResourceOutput, PeerError> + Send + Sync>;
pub(crate) type PromptHandler = Box<dyn Fn(&PromptCall<'_>) -> Result<PromptOutput, PeerError> + Send + Sync>;
pub(crate) type CompletionHandler =
    Box<dyn Fn(&CompletionCall<'_>) -> Result<CompletionOutput, PeerError> + Send + Sync>;
pub(crate) type MethodHandler = Box<dyn Fn(&MethodCall<'_>) -> Result<String, PeerError> + Send + Sync>;
pub(crate) type NotificationHandler = Box<dyn Fn(Option<&str>) + Send + Sync>;
pub(crate) type UriHandler = Box<dyn Fn(&str) + Send + Sync>;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Tool,
    Resource,
    Template,
    Prompt,
}

/// The closures, found by their tag.
#[derive(Default)]
pub(crate) struct Handlers {
    pub(crate) tools: Vec<ToolHandler>,
    pub(crate) resources: Vec<ResourceHandler>,
    pub(crate) prompts: Vec<PromptHandler>,
    /// Those that wait in this process while their client is asked.
    pub(crate) held: HashSet<(Kind, u64)>,
    /// By the argument's name.
    pub(crate) completions: HashMap<(Kind, u64), HashMap<String, CompletionHandler>>,
    pub(crate) methods: HashMap<String, MethodHandler>,
    pub(crate) notifications: HashMap<String, NotificationHandler>,
    pub(crate) subscribed: Option<UriHandler>,
    pub(crate) unsubscribed: Option<UriHandler>,
}

impl Host for Handlers {
    fn run(&self, endpoint: &Arc<Endpoint>, queue: &CallQueue) {
        while let Some(call) = queue.next() {
            // What the handler gave is not what the protocol can carry; its caller gets that as the answer. A second
            // failure means that the endpoint itself is of no more use.
            let _ = match self.answer(endpoint, &call) {
                Ok(sent) => Ok(sent),
                Err(Error::Engine(LocalError::CapabilityNotDeclared(path))) => endpoint.fail_capability(call.key, path),
                Err(error) => {
                    let error = PeerError::internal(format!("The handler's answer can't be sent: {error}"));
                    endpoint.fail(call.key, &error)
                }
            };
        }
    }

    fn notice(&self, _endpoint: &Arc<Endpoint>, event: Event) {
        let (handler, uri) = match event {
            Event::Subscribed { uri, .. } => (&self.subscribed, uri),
            Event::Unsubscribed { uri, .. } => (&self.unsubscribed, uri),
            Event::Notification { method, params, .. } => {
                if let Some(handler) = self.notifications.get(&method) {
                    let _ = guarded(|| handler(params.as_deref()));
                }
                return;
            }
            // Handlers ask whether they are cancelled; nothing else concerns closures.
            _ => return,
        };
        if let Some(handler) = handler {
            // Nobody waits for it: that it panicked is said by the panic hook, and changes nothing.
            let _ = guarded(|| handler(&uri));
        }
    }
}

impl Handlers {
    fn answer(&self, endpoint: &Endpoint, call: &Call) -> Result<bool, Error> {
        #[cfg(feature = "tracing")]
        let _span = crate::middleware::span(call).entered();
        let kind = match &call.target {
            Target::Tool(_) => Kind::Tool,
            Target::Resource(_) => Kind::Resource,
            Target::Template { .. } => Kind::Template,
            _ => Kind::Prompt,
        };
        let held = |tag| !self.held.is_empty() && self.held.contains(&(kind, tag));
        let context = |tag| Context::new(endpoint, call, if held(tag) { Reentry::Held } else { Reentry::Replay });
        match &call.target {
            Target::Tool(tag) => self.tool(*tag, endpoint, &ToolCall(context(*tag))),
            Target::Resource(tag) | Target::Template { tag, .. } => {
                self.resource(*tag, endpoint, &ResourceCall(context(*tag)))
            }
            Target::Prompt(tag) => self.prompt(*tag, endpoint, &PromptCall(context(*tag))),
            Target::Delegated => self.method(endpoint, &MethodCall(Context::new(endpoint, call, Reentry::Replay))),
            Target::Complete { tag, prompt, .. } => {
                let kind = if *prompt { Kind::Prompt } else { Kind::Template };
                // A completion asks nobody.
                self.completion((kind, *tag), endpoint, &CompletionCall(Context::new(endpoint, call, Reentry::Replay)))
            }
            _ => endpoint.fail(call.key, &PeerError::method_not_found(call.method())),
        }
    }

    fn method(&self, endpoint: &Endpoint, call: &MethodCall<'_>) -> Result<bool, Error> {
        let key = call.request().key;
        let Some(handler) = self.methods.get(call.request().method()) else {
            return endpoint.fail(key, &PeerError::method_not_found(call.request().method()));
        };
        match guarded(|| handler(call)) {
            Some(Ok(result)) => endpoint.respond(key, Reply::Result(&result)),
            Some(Err(error)) => fail(endpoint, call, error),
            None => endpoint.fail(key, &PeerError::internal("The request could not be served (its handler panicked).")),
        }
    }

    fn tool(&self, tag: u64, endpoint: &Endpoint, call: &ToolCall<'_>) -> Result<bool, Error> {
        let key = call.request().key;
        let Some(handler) = self.tools.get(tag as usize) else { return unknown(endpoint, call) };
        match guarded(|| handler(call)) {
            Some(Ok(output)) => endpoint.respond(key, output.reply()),
            Some(Err(ToolError(ToolFailure::Text(text)))) => endpoint.respond(key, ToolOutput::failed(&text).reply()),
            Some(Err(ToolError(ToolFailure::Protocol(error)))) => endpoint.fail(key, &error),
            Some(Err(ToolError(ToolFailure::Capability(path)))) => endpoint.fail_capability(key, path),
            None => endpoint.respond(key, ToolOutput::failed("The tool failed unexpectedly (it panicked).").reply()),
        }
    }

    fn resource(&self, tag: u64, endpoint: &Endpoint, call: &ResourceCall<'_>) -> Result<bool, Error> {
        let key = call.request().key;
        let Some(handler) = self.resources.get(tag as usize) else { return unknown(endpoint, call) };
        match guarded(|| handler(call)) {
            Some(Ok(output)) => {
                let uri = call.uri();
                let output = match output.lacks_mime_type() {
                    true => output.maybe_mime_type(endpoint.with_engine(|server| server.resource_mime_type(&uri))?),
                    false => output,
                };
                output.reply(&uri, |reply| endpoint.respond(key, reply))
            }
            Some(Err(error)) if error.code == code::RESOURCE_NOT_FOUND => {
                endpoint.fail_unknown_resource(key, &call.uri())
            }
            Some(Err(error)) => fail(endpoint, call, error),
            None => endpoint.fail(key, &PeerError::internal("The resource could not be read (its handler panicked).")),
        }
    }

    fn prompt(&self, tag: u64, endpoint: &Endpoint, call: &PromptCall<'_>) -> Result<bool, Error> {
        let key = call.request().key;
        let Some(handler) = self.prompts.get(tag as usize) else { return unknown(endpoint, call) };
        match guarded(|| handler(call)) {
            Some(Ok(output)) => output.reply(|reply| endpoint.respond(key, reply)),
            Some(Err(error)) => fail(endpoint, call, error),
            None => endpoint.fail(key, &PeerError::internal("The prompt could not be made (its handler panicked).")),
        }
    }

    fn completion(&self, of: (Kind, u64), endpoint: &Endpoint, call: &CompletionCall<'_>) -> Result<bool, Error> {
        let key = call.request().key;
        let handler = self.completions.get(&of).and_then(|handlers| handlers.get(call.argument()));
        // An argument that nobody completes has no suggestions.
        let Some(handler) = handler else {
            return endpoint.respond(key, Reply::Completion { values: "[]", total: None, has_more: None });
        };
        match guarded(|| handler(call)) {
            Some(Ok(output)) => output.reply(|reply| endpoint.respond(key, reply)),
            Some(Err(error)) => fail(endpoint, call, error),
            None => {
                endpoint.fail(key, &PeerError::internal("The argument could not be completed (its handler panicked)."))
            }
        }
    }
}

/// Fails a call with the error of its handler. The code for a capability that is missing came with 2026-07-28; older clients
/// know none for it.
fn fail(endpoint: &Endpoint, call: &Context<'_>, mut error: PeerError) -> Result<bool, Error> {
    let is_legacy = call.request().revision.era() == Era::Legacy;
    if is_legacy && error.code == code::MISSING_REQUIRED_CLIENT_CAPABILITY {
        error.code = code::INTERNAL_ERROR;
    }
    endpoint.fail(call.request().key, &error)
}

/// The tags are ours, so this does not happen; the client gets an answer all the same.
fn unknown(endpoint: &Endpoint, call: &Context<'_>) -> Result<bool, Error> {
    endpoint.fail(call.request().key, &PeerError::internal("No handler has this tag."))
}

/// Runs a handler. None: it panicked, which the panic hook has reported on stderr.
fn guarded<T>(handler: impl FnOnce() -> T) -> Option<T> {
    // A handler that panics leaves its own state as it is, like any thread's; ours it can't reach.
    catch_unwind(AssertUnwindSafe(handler)).ok()
}
