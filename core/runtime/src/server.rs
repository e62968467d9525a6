//! The Rust door: an MCP server out of closures.
//!
//! It holds the handlers and calls them; which handler a request belongs to, whether its arguments fit, and how the
//! answer looks on the wire is the engine's business.

use crate::call::{
    Context, PromptCall, PromptOutput, ResourceCall, ResourceOutput, ToolCall, ToolError, ToolFailure, ToolOutput,
};
use crate::endpoint::Endpoint;
use crate::options::{Error, StdioOptions};
use crate::pool::{CallQueue, Host};
use crate::state::Ended;
use crate::stdio::{StdioServer, serve_fds, serve_stdio};
use ferromcp_engine::error::code;
use ferromcp_engine::{self as engine, Call, Event, LocalError, PeerError, Reply, ServerConfig, Target};
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

type ToolHandler = Box<dyn Fn(&ToolCall<'_>) -> Result<ToolOutput, ToolError> + Send + Sync>;
type ResourceHandler = Box<dyn Fn(&ResourceCall<'_>) -> Result<ResourceOutput, PeerError> + Send + Sync>;
type PromptHandler = Box<dyn Fn(&PromptCall<'_>) -> Result<PromptOutput, PeerError> + Send + Sync>;

/// An MCP server of closures.
///
/// Definitions are the JSON that the specification shows for a `Tool`, `Resource`, `ResourceTemplate` or `Prompt`, in
/// its newest revision; older clients get it in theirs. Handlers may block: other requests go on meanwhile. They run on
/// several threads at once, and a panic in one is an error for its caller only.
///
/// ```no_run
/// use ferromcp::{Server, ToolError, ToolOutput};
///
/// #[derive(serde::Deserialize)]
/// struct Sum { a: i64, b: i64 }
///
/// let add = r#"{
///     "name": "add",
///     "description": "Add two integers",
///     "inputSchema": {
///         "type": "object",
///         "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
///         "required": ["a", "b"]
///     }
/// }"#;
///
/// Server::new("calculator", "1.0")
///     .tool(add, |call| {
///         let Sum { a, b } = call.arguments()?;
///         let sum = a.checked_add(b).ok_or(ToolError::new("too large"))?;
///         Ok(ToolOutput::text(sum.to_string()))
///     })
///     .run_stdio()?;
/// # Ok::<(), ferromcp::Error>(())
/// ```
pub struct Server {
    config: ServerConfig,
    options: StdioOptions,
    handlers: Handlers,
    definitions: Vec<(Kind, String, u64)>,
}

#[derive(Clone, Copy)]
enum Kind {
    Tool,
    Resource,
    Template,
    Prompt,
}

impl Server {
    /// A server of this name and version, without tools.
    pub fn new(name: &str, version: &str) -> Self {
        let mut config = ServerConfig::new(name, version);
        // Any handler may log; the lists are declared by the engine when they hold something.
        config.capabilities.declare("logging", "{}");
        Self { config, options: StdioOptions::default(), handlers: Handlers::default(), definitions: Vec::new() }
    }

    /// Tells the model how to use this server.
    #[must_use]
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.config.instructions = Some(text.into());
        self
    }

    /// Changes any part of the engine's configuration.
    #[must_use]
    pub fn configure(mut self, change: impl FnOnce(&mut ServerConfig)) -> Self {
        change(&mut self.config);
        self
    }

    /// Sets how it reads, writes and runs calls.
    #[must_use]
    pub fn options(mut self, options: StdioOptions) -> Self {
        self.options = options;
        self
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool<F>(mut self, definition: impl Into<String>, handler: F) -> Self
    where
        F: Fn(&ToolCall<'_>) -> Result<ToolOutput, ToolError> + Send + Sync + 'static,
    {
        self.define(Kind::Tool, definition.into(), self.handlers.tools.len());
        self.handlers.tools.push(Box::new(handler));
        self
    }

    /// Adds a resource.
    #[must_use]
    pub fn resource<F>(mut self, definition: impl Into<String>, handler: F) -> Self
    where
        F: Fn(&ResourceCall<'_>) -> Result<ResourceOutput, PeerError> + Send + Sync + 'static,
    {
        self.define(Kind::Resource, definition.into(), self.handlers.resources.len());
        self.handlers.resources.push(Box::new(handler));
        self
    }

    /// Adds a resource template; the handler finds its variables by [`ResourceCall::variable`].
    #[must_use]
    pub fn resource_template<F>(mut self, definition: impl Into<String>, handler: F) -> Self
    where
        F: Fn(&ResourceCall<'_>) -> Result<ResourceOutput, PeerError> + Send + Sync + 'static,
    {
        self.define(Kind::Template, definition.into(), self.handlers.resources.len());
        self.handlers.resources.push(Box::new(handler));
        self
    }

    /// Adds a prompt.
    #[must_use]
    pub fn prompt<F>(mut self, definition: impl Into<String>, handler: F) -> Self
    where
        F: Fn(&PromptCall<'_>) -> Result<PromptOutput, PeerError> + Send + Sync + 'static,
    {
        self.define(Kind::Prompt, definition.into(), self.handlers.prompts.len());
        self.handlers.prompts.push(Box::new(handler));
        self
    }

    fn define(&mut self, kind: Kind, definition: String, tag: usize) {
        self.definitions.push((kind, definition, tag as u64));
    }

    /// Serves standard input and output until the client goes away. What the process prints afterwards goes to stderr.
    ///
    /// # Errors
    /// [`Error::Engine`] for a configuration or definition that can't be served, else as [`StdioServer::wait`].
    pub fn run_stdio(self) -> Result<Ended, Error> {
        let server = self.serve_stdio()?;
        server.keep_redirected();
        server.wait()
    }

    /// The same without waiting.
    ///
    /// # Errors
    /// As [`crate::serve_stdio`], and [`Error::Engine`] for a configuration or definition that can't be served.
    pub fn serve_stdio(self) -> Result<StdioServer, Error> {
        let (server, host, options) = self.build()?;
        serve_stdio(server, host, options)
    }

    /// The same on any two descriptors.
    ///
    /// # Errors
    /// As [`crate::serve_fds`], and [`Error::Engine`] for a configuration or definition that can't be served.
    pub fn serve_fds(self, input: OwnedFd, output: OwnedFd) -> Result<StdioServer, Error> {
        let (server, host, options) = self.build()?;
        serve_fds(server, host, input, output, options)
    }

    fn build(self) -> Result<(engine::Server, Arc<dyn Host>, StdioOptions), LocalError> {
        let mut server = engine::Server::new(self.config)?;
        for (kind, definition, tag) in &self.definitions {
            match kind {
                Kind::Tool => server.add_tool(definition, *tag, 0)?,
                Kind::Resource => server.add_resource(definition, *tag, 0)?,
                Kind::Template => server.add_resource_template(definition, *tag, 0)?,
                Kind::Prompt => server.add_prompt(definition, *tag, 0)?,
            }
        }
        Ok((server, Arc::new(self.handlers), self.options))
    }
}

/// The closures, found by their tag.
#[derive(Default)]
struct Handlers {
    tools: Vec<ToolHandler>,
    resources: Vec<ResourceHandler>,
    prompts: Vec<PromptHandler>,
}

impl Host for Handlers {
    fn run(&self, endpoint: &Arc<Endpoint>, queue: &CallQueue) {
        while let Some(call) = queue.next() {
            if let Err(error) = self.answer(endpoint, &call) {
                // What the handler gave is not what the protocol can carry; its caller gets that as the answer.
                let error = PeerError::internal(format!("The handler's answer can't be sent: {error}"));
                // A second failure means that the endpoint itself is of no more use.
                let _ = endpoint.fail(call.key, &error);
            }
        }
    }

    fn notice(&self, _endpoint: &Arc<Endpoint>, _event: Event) {
        // Handlers ask whether they are cancelled; nothing else concerns closures.
    }
}

impl Handlers {
    fn answer(&self, endpoint: &Endpoint, call: &Call) -> Result<bool, Error> {
        let context = Context::new(endpoint, call);
        match &call.target {
            Target::Tool(tag) => self.tool(*tag, endpoint, &ToolCall(context)),
            Target::Resource(tag) | Target::Template { tag, .. } => {
                self.resource(*tag, endpoint, &ResourceCall(context))
            }
            Target::Prompt(tag) => self.prompt(*tag, endpoint, &PromptCall(context)),
            // Neither completion nor delegation is declared by this door.
            _ => endpoint.fail(call.key, &PeerError::method_not_found(call.method())),
        }
    }

    fn tool(&self, tag: u64, endpoint: &Endpoint, call: &ToolCall<'_>) -> Result<bool, Error> {
        let key = call.request().key;
        let Some(handler) = self.tools.get(tag as usize) else { return unknown(endpoint, call) };
        match guarded(|| handler(call)) {
            Some(Ok(output)) => endpoint.respond(key, output.reply()),
            Some(Err(ToolError(ToolFailure::Text(text)))) => endpoint.respond(key, ToolOutput::failed(&text).reply()),
            Some(Err(ToolError(ToolFailure::Protocol(error)))) => endpoint.fail(key, &error),
            None => endpoint.respond(key, ToolOutput::failed("The tool failed unexpectedly (it panicked).").reply()),
        }
    }

    fn resource(&self, tag: u64, endpoint: &Endpoint, call: &ResourceCall<'_>) -> Result<bool, Error> {
        let key = call.request().key;
        let Some(handler) = self.resources.get(tag as usize) else { return unknown(endpoint, call) };
        match guarded(|| handler(call)) {
            Some(Ok(output)) => endpoint.respond(key, Reply::Contents(&output.contents(&call.uri()))),
            Some(Err(error)) if error.code == code::RESOURCE_NOT_FOUND => {
                endpoint.fail_unknown_resource(key, &call.uri())
            }
            Some(Err(error)) => endpoint.fail(key, &error),
            None => endpoint.fail(key, &PeerError::internal("The resource could not be read (its handler panicked).")),
        }
    }

    fn prompt(&self, tag: u64, endpoint: &Endpoint, call: &PromptCall<'_>) -> Result<bool, Error> {
        let key = call.request().key;
        let Some(handler) = self.prompts.get(tag as usize) else { return unknown(endpoint, call) };
        match guarded(|| handler(call)) {
            Some(Ok(output)) => {
                let (description, messages) = output.parts();
                endpoint.respond(key, Reply::Prompt { description: description.as_deref(), messages: &messages })
            }
            Some(Err(error)) => endpoint.fail(key, &error),
            None => endpoint.fail(key, &PeerError::internal("The prompt could not be made (its handler panicked).")),
        }
    }
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
