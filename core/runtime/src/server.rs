//! The Rust door: an MCP server out of closures.
//!
//! It holds the handlers and calls them; which handler a request belongs to, whether its arguments fit, and how the
//! answer looks on the wire is the engine's business.

use crate::call::{
    PromptCall, PromptOutput, ResourceCall, ResourceOutput, ToolCall, ToolError, ToolFailure, ToolOutput,
};
use crate::context::Context;
use crate::endpoint::Endpoint;
use crate::extension::MethodCall;
use crate::middleware::Middleware;
use crate::middleware::policy::Policy;
use crate::options::{Error, StdioOptions};
use crate::pool::{CallQueue, Host};
use crate::state::Ended;
use crate::stdio::{StdioServer, start_fds, start_stdio};
use crate::store::TaskStoreOption;
use ferromcp_engine::error::code;
use ferromcp_engine::{self as engine, Call, Era, Event, LocalError, PeerError, Reentry, Reply, ServerConfig, Target};
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

type ToolHandler = Box<dyn Fn(&ToolCall<'_>) -> Result<ToolOutput, ToolError> + Send + Sync>;
type ResourceHandler = Box<dyn Fn(&ResourceCall<'_>) -> Result<ResourceOutput, PeerError> + Send + Sync>;
type PromptHandler = Box<dyn Fn(&PromptCall<'_>) -> Result<PromptOutput, PeerError> + Send + Sync>;
type MethodHandler = Box<dyn Fn(&MethodCall<'_>) -> Result<String, PeerError> + Send + Sync>;
type NotificationHandler = Box<dyn Fn(Option<&str>) + Send + Sync>;
type UriHandler = Box<dyn Fn(&str) + Send + Sync>;

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
    policy: Option<Policy>,
    middleware: Vec<Arc<dyn Middleware>>,
    handlers: Handlers,
    definitions: Vec<(Kind, String, u64)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
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
        Self {
            config,
            options: StdioOptions::default(),
            policy: None,
            middleware: Vec::new(),
            handlers: Handlers::default(),
            definitions: Vec::new(),
        }
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

    /// Sets how it reads, writes and runs calls, and where tasks are kept.
    #[must_use]
    pub fn options(mut self, options: StdioOptions) -> Self {
        self.options = options;
        self
    }

    /// Says where tasks are kept: in memory if nothing is said, so that they end with the process.
    ///
    /// ```no_run
    /// use ferromcp::{Server, TaskStoreOption, ToolOutput};
    ///
    /// let report = r#"{
    ///     "name": "report",
    ///     "inputSchema": {"type": "object"},
    ///     "execution": {"taskSupport": "optional"}
    /// }"#;
    ///
    /// Server::new("reports", "1.0")
    ///     .task_store(TaskStoreOption::Url("sqlite:/var/lib/reports/tasks.db".into()))
    ///     .tool(report, |call| {
    ///         for page in 1..=100 {
    ///             if call.is_cancelled() {
    ///                 break;
    ///             }
    ///             call.report_progress(f64::from(page), Some(100.0), Some(&format!("page {page}")));
    ///         }
    ///         Ok(ToolOutput::text("done"))
    ///     })
    ///     .run_stdio()?;
    /// # Ok::<(), ferromcp::Error>(())
    /// ```
    #[must_use]
    pub fn task_store(mut self, store: TaskStoreOption) -> Self {
        self.options.task_store = store;
        self
    }

    /// Puts something round every call of a handler; what is added first is the outermost. See [`crate::middleware`].
    #[must_use]
    pub fn middleware(mut self, layer: impl Middleware) -> Self {
        self.middleware.push(Arc::new(layer));
        self
    }

    /// Sets the policy: limits, timeouts, the audit log. It stands outside of what [`Server::middleware`] adds.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// Declares an extension with its settings, the JSON of an object. Clients of 2025-11-25 and earlier know no extensions:
    /// they are not told of it, and its methods are there for them.
    #[must_use]
    pub fn extension(mut self, name: &str, settings_json: &str) -> Self {
        self.config.capabilities.declare_within("extensions", name, settings_json);
        self
    }

    /// Serves a method that is no method of MCP. What the handler gives becomes the result, which must be a JSON object.
    #[must_use]
    pub fn method<F, R>(mut self, name: &str, handler: F) -> Self
    where
        F: Fn(&MethodCall<'_>) -> Result<R, PeerError> + Send + Sync + 'static,
        R: Serialize,
    {
        self.config.extra_methods.push(name.to_owned());
        let handler = move |call: &MethodCall<'_>| {
            let result = handler(call)?;
            serde_json::to_string(&result)
                .map_err(|error| PeerError::internal(format!("The result has no JSON form: {error}")))
        };
        self.handlers.methods.insert(name.to_owned(), Box::new(handler));
        self
    }

    /// Sets what is called with the parameters of a notification that is none of MCP. As [`Server::on_subscribed`].
    #[must_use]
    pub fn on_notification<F>(mut self, method: &str, handler: F) -> Self
    where
        F: Fn(Option<&str>) + Send + Sync + 'static,
    {
        self.handlers.notifications.insert(method.to_owned(), Box::new(handler));
        self
    }

    /// Adds a tool. One whose definition has `"execution": {"taskSupport": "optional"}` (or `"required"`) runs as a task for
    /// clients that take tasks; the handler is written like any other.
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

    /// Sets what is called with a resource's URI when its first watcher is there: from then on
    /// [`Endpoint::resource_updated`] has somebody to tell. It runs on the thread that reads, so it must return soon.
    #[must_use]
    pub fn on_subscribed<F: Fn(&str) + Send + Sync + 'static>(mut self, handler: F) -> Self {
        self.handlers.subscribed = Some(Box::new(handler));
        self
    }

    /// Sets what is called with a resource's URI when its last watcher is gone, be it with the connection. As
    /// [`Server::on_subscribed`].
    #[must_use]
    pub fn on_unsubscribed<F: Fn(&str) + Send + Sync + 'static>(mut self, handler: F) -> Self {
        self.handlers.unsubscribed = Some(Box::new(handler));
        self
    }

    /// Lets the handler that was added last wait in this process while a modern client is asked; else it ends, and runs
    /// again with the answer ([`Reentry`]). For handlers that must not run twice. Each waiting one holds a thread.
    #[must_use]
    pub fn held(mut self) -> Self {
        if let Some((kind, _, tag)) = self.definitions.last() {
            self.handlers.held.insert((*kind, *tag));
        }
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
        let server = self.start_stdio()?;
        server.keep_redirected();
        server.wait()
    }

    /// The same without waiting.
    ///
    /// # Errors
    /// As [`crate::start_stdio`], and [`Error::Engine`] for a configuration or definition that can't be served.
    pub fn start_stdio(self) -> Result<StdioServer, Error> {
        let (server, host, options) = self.build()?;
        start_stdio(server, host, options)
    }

    /// The same on any two descriptors.
    ///
    /// # Errors
    /// As [`crate::start_fds`], and [`Error::Engine`] for a configuration or definition that can't be served.
    pub fn start_fds(self, input: OwnedFd, output: OwnedFd) -> Result<StdioServer, Error> {
        let (server, host, options) = self.build()?;
        start_fds(server, host, input, output, options)
    }

    fn build(mut self) -> Result<(engine::Server, Arc<dyn Host>, StdioOptions), Error> {
        if let Some(policy) = self.policy.take() {
            self.options.middleware.extend(policy.build()?);
        }
        self.options.middleware.append(&mut self.middleware);
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
    /// Those that wait in this process while their client is asked.
    held: HashSet<(Kind, u64)>,
    methods: HashMap<String, MethodHandler>,
    notifications: HashMap<String, NotificationHandler>,
    subscribed: Option<UriHandler>,
    unsubscribed: Option<UriHandler>,
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
            // Completion is not declared by this door.
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
            Some(Ok(output)) => output.reply(&call.uri(), |reply| endpoint.respond(key, reply)),
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
