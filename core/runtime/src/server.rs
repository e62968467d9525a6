//! The Rust door: an MCP server out of closures.
//!
//! It holds the handlers and calls them; which handler a request belongs to, whether its arguments fit, and how the
//! answer looks on the wire is the engine's business.

use crate::call::{PromptCall, PromptOutput, ResourceCall, ResourceOutput, ToolCall, ToolError, ToolOutput};
use crate::completion::{CompletionCall, CompletionOutput};
use crate::extension::MethodCall;
use crate::handlers::{CompletionHandler, Handlers, Kind};
use crate::http::{HttpOptions, start_http};
use crate::middleware::Middleware;
use crate::middleware::policy::Policy;
use crate::options::{Error, ServeOptions};
use crate::pool::Host;
use crate::serving::Serving;
use crate::state::Ended;
use crate::stdio::{start_fds, start_stdio};
use crate::store::TaskStoreOption;
use ferromcp_engine::{self as engine, LocalError, PeerError, ServerConfig};
use serde::{Deserialize, Serialize};
use std::os::fd::OwnedFd;
use std::sync::Arc;

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
    options: ServeOptions,
    policy: Option<Policy>,
    middleware: Vec<Arc<dyn Middleware>>,
    handlers: Handlers,
    definitions: Vec<(Kind, String, u64)>,
    /// Of what (a prompt's name or a template's text), which argument, by what.
    completions: Vec<(String, String, CompletionHandler)>,
    /// Which of them clients see.
    shown: Vec<(Kind, String, bool)>,
}

impl Server {
    /// A server of this name and version, without tools.
    pub fn new(name: &str, version: &str) -> Self {
        let mut config = ServerConfig::new(name, version);
        // Any handler may log; the lists are declared by the engine when they hold something.
        config.capabilities.declare("logging", "{}");
        Self {
            config,
            options: ServeOptions::default(),
            policy: None,
            middleware: Vec::new(),
            handlers: Handlers::default(),
            definitions: Vec::new(),
            completions: Vec::new(),
            shown: Vec::new(),
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
    pub fn options(mut self, options: ServeOptions) -> Self {
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

    /// Completes one argument of a prompt (by its name) or of a resource template (by its URI template): from the text so far
    /// to the values that fit, of which the first 100 are sent (`server/utilities/completion`). Declares `completions`; an
    /// argument without a handler has no values.
    ///
    /// ```no_run
    /// use ferromcp::{CompletionOutput, PromptOutput, Server};
    ///
    /// Server::new("reviews", "1.0")
    ///     .prompt(r#"{"name": "review", "arguments": [{"name": "language"}]}"#, |_| {
    ///         Ok(PromptOutput::new().user("Review this, please."))
    ///     })
    ///     .completion("review", "language", |call| {
    ///         let known = ["Python", "Rust", "TypeScript"];
    ///         Ok(CompletionOutput::new(known.into_iter().filter(|name| name.starts_with(call.value()))))
    ///     })
    ///     .run_stdio()?;
    /// # Ok::<(), ferromcp::Error>(())
    /// ```
    #[must_use]
    pub fn completion<F>(mut self, reference: &str, argument: &str, handler: F) -> Self
    where
        F: Fn(&CompletionCall<'_>) -> Result<CompletionOutput, PeerError> + Send + Sync + 'static,
    {
        self.completions.push((reference.to_owned(), argument.to_owned(), Box::new(handler)));
        self
    }

    /// Shows a tool to clients, or hides it: a hidden one is in no list, and calling it is calling nothing. What was added is
    /// shown. While the server runs, [`engine::Server::enable_tool`] does it, through
    /// [`Endpoint::with_engine`](crate::Endpoint::with_engine).
    #[must_use]
    pub fn enable_tool(self, name: &str, enabled: bool) -> Self {
        self.enable(Kind::Tool, name, enabled)
    }

    /// Shows a resource to clients, or hides it. As [`Server::enable_tool`].
    #[must_use]
    pub fn enable_resource(self, uri: &str, enabled: bool) -> Self {
        self.enable(Kind::Resource, uri, enabled)
    }

    /// Shows a resource template to clients, or hides it. As [`Server::enable_tool`].
    #[must_use]
    pub fn enable_resource_template(self, uri_template: &str, enabled: bool) -> Self {
        self.enable(Kind::Template, uri_template, enabled)
    }

    /// Shows a prompt to clients, or hides it. As [`Server::enable_tool`].
    #[must_use]
    pub fn enable_prompt(self, name: &str, enabled: bool) -> Self {
        self.enable(Kind::Prompt, name, enabled)
    }

    fn enable(mut self, kind: Kind, key: &str, enabled: bool) -> Self {
        self.shown.push((kind, key.to_owned(), enabled));
        self
    }

    /// Sets what is called with a resource's URI when its first watcher is there: from then on
    /// [`Endpoint::resource_updated`](crate::Endpoint::resource_updated) has somebody to tell. It runs on the thread that reads,
    /// so it must return soon.
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
    /// again with the answer ([`engine::Reentry`]). For handlers that must not run twice. Each waiting one holds a thread.
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
    /// [`Error::Engine`] for a configuration or definition that can't be served, else as [`Serving::wait`].
    pub fn run_stdio(self) -> Result<Ended, Error> {
        let server = self.start_stdio()?;
        server.keep_redirected();
        server.wait()
    }

    /// The same without waiting.
    ///
    /// # Errors
    /// As [`crate::start_stdio`], and [`Error::Engine`] for a configuration or definition that can't be served.
    pub fn start_stdio(self) -> Result<Serving, Error> {
        let (server, host, options) = self.build()?;
        start_stdio(server, host, options)
    }

    /// The same on any two descriptors.
    ///
    /// # Errors
    /// As [`crate::start_fds`], and [`Error::Engine`] for a configuration or definition that can't be served.
    pub fn start_fds(self, input: OwnedFd, output: OwnedFd) -> Result<Serving, Error> {
        let (server, host, options) = self.build()?;
        start_fds(server, host, input, output, options)
    }

    /// Serves whoever comes over HTTP, until the process ends.
    ///
    /// # Errors
    /// As [`Server::start_http`].
    pub fn run_http(self, http: HttpOptions) -> Result<(), Error> {
        self.start_http(http)?.wait().map(drop)
    }

    /// Begins to listen, and comes back. Dropping the result is [`Serving::stop`].
    ///
    /// # Errors
    /// As [`crate::http::start_http`], and [`Error::Engine`] for a configuration or definition that can't be served.
    pub fn start_http(self, http: HttpOptions) -> Result<Serving, Error> {
        let (server, host, options) = self.build()?;
        start_http(server, host, http, options)
    }

    fn build(mut self) -> Result<(engine::Server, Arc<dyn Host>, ServeOptions), Error> {
        if let Some(policy) = self.policy.take() {
            self.options.middleware.extend(policy.build()?);
        }
        self.options.middleware.append(&mut self.middleware);
        if !self.completions.is_empty() {
            self.config.capabilities.declare("completions", "{}");
        }
        let mut server = engine::Server::new(self.config)?;
        for (kind, definition, tag) in &self.definitions {
            match kind {
                Kind::Tool => server.add_tool(definition, *tag, 0)?,
                Kind::Resource => server.add_resource(definition, *tag, 0)?,
                Kind::Template => server.add_resource_template(definition, *tag, 0)?,
                Kind::Prompt => server.add_prompt(definition, *tag, 0)?,
            }
        }
        for (reference, argument, handler) in self.completions {
            let found =
                self.definitions.iter().find(|(kind, text, _)| completable(*kind, text) == Some(reference.clone()));
            let Some((kind, _, tag)) = found else {
                return Err(missing(reference, "there is no prompt or resource template of this name to complete"));
            };
            self.handlers.completions.entry((*kind, *tag)).or_default().insert(argument, handler);
        }
        for (kind, key, enabled) in self.shown {
            let known = match kind {
                Kind::Tool => server.enable_tool(&key, enabled, 0),
                Kind::Resource => server.enable_resource(&key, enabled, 0),
                Kind::Template => server.enable_resource_template(&key, enabled, 0),
                Kind::Prompt => server.enable_prompt(&key, enabled, 0),
            };
            if !known {
                return Err(missing(key, "there is none of this name to show or hide"));
            }
        }
        Ok((server, Arc::new(self.handlers), self.options))
    }
}

/// What completions know a definition by; None where there is nothing to complete.
fn completable(kind: Kind, definition: &str) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Named {
        name: String,
        uri_template: Option<String>,
    }
    // The engine has read it before, so it is JSON with these members.
    let named = || serde_json::from_str::<Named>(definition).ok();
    match kind {
        Kind::Prompt => named().map(|named| named.name),
        Kind::Template => named()?.uri_template,
        Kind::Tool | Kind::Resource => None,
    }
}

fn missing(name: String, reason: &str) -> Error {
    LocalError::Definition { name, reason: reason.into() }.into()
}
