//! `_native.Server`: one server, from its configuration to its end.
//!
//! Declarations are kept until the server starts, so that one that was made before a fork can run in the child.
//! Starting makes the engine and the runtime's threads; from then on commands go straight through.

use crate::bridge::Bridge;
use crate::call::{log_level, taken};
use crate::carrier::{self, CarriedHead, HttpRequest};
use crate::convert::raw::Text;
use crate::convert::write;
use crate::core::{Core, Entry, command};
use crate::error::{self, ConfigurationError};
use crate::handler::{Handler, Kind};
use crate::start::{Way, start};
use ferromcp::{Endpoint, HttpOptions, Serving};
use ferromcp_engine::{ListKind, ServerConfig, StateKey, StreamId};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::os::fd::RawFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A declaration that waits for the start.
pub(crate) struct Declared {
    pub(crate) kind: Kind,
    definition: String,
    key: String,
    handler: Py<Handler>,
    enabled: bool,
}

/// One MCP server, on standard input and output or over HTTP.
#[pyclass(frozen, module = "ferromcp._native", weakref)]
pub(crate) struct Server {
    pub(crate) core: Arc<Core>,
    pub(crate) config: ServerConfig,
    declared: Mutex<Vec<Declared>>,
}

#[pymethods]
impl Server {
    /// `config` is the JSON text of the engine's configuration.
    #[new]
    #[pyo3(signature = (config, /))]
    fn new(config: Text) -> PyResult<Self> {
        let config = ServerConfig::from_json(&config.utf8()?).map_err(|error| error::local(&error))?;
        Ok(Self { core: Arc::new(Core::new()?), config, declared: Mutex::default() })
    }

    /// Serves a function. `definition` is the JSON text of the MCP object that the lists show; for a completion,
    /// `{"ref": ..., "argument": ...}`.
    #[pyo3(signature = (kind, definition, handler, /))]
    fn add(&self, py: Python<'_>, kind: &str, definition: Text, handler: Py<Handler>) -> PyResult<()> {
        let kind = Kind::parse(kind)?;
        let definition = definition.utf8()?;
        let key = key_of(kind, &definition)?;
        let declared = Declared { kind, definition, key, handler, enabled: true };
        match self.core.endpoint() {
            None => self.declared().push(declared),
            Some(endpoint) => {
                let now = endpoint.now();
                let added = command(py, || endpoint.with_engine(|server| add(&self.core, server, declared, now)))?;
                added.map_err(|error| error::local(&error))?;
            }
        }
        Ok(())
    }

    /// Stops serving; False when there is nothing of this name or URI.
    #[pyo3(signature = (kind, key, /))]
    fn remove(&self, py: Python<'_>, kind: &str, key: String) -> PyResult<bool> {
        let kind = Kind::parse(kind)?;
        let Some(endpoint) = self.core.endpoint() else {
            let mut declared = self.declared();
            let before = declared.len();
            declared.retain(|item| item.kind != kind || item.key != key);
            return Ok(declared.len() < before);
        };
        let now = endpoint.now();
        command(py, || {
            endpoint.with_engine(|server| match kind {
                Kind::Tool => server.remove_tool(&key, now),
                Kind::Resource => server.remove_resource(&key, now),
                Kind::Template => server.remove_resource_template(&key, now),
                Kind::Prompt => server.remove_prompt(&key, now),
                Kind::Completion | Kind::Method => false,
            })
        })
    }

    /// Shows a tool, resource, template or prompt to clients, or hides it; False when there is nothing of this name or URI.
    #[pyo3(signature = (kind, key, enabled, /))]
    fn enable(&self, py: Python<'_>, kind: &str, key: String, enabled: bool) -> PyResult<bool> {
        let kind = Kind::parse(kind)?;
        let Some(endpoint) = self.core.endpoint() else {
            let mut declared = self.declared();
            let found = declared.iter_mut().find(|item| item.kind == kind && item.key == key);
            return Ok(found.map(|item| item.enabled = enabled).is_some());
        };
        let now = endpoint.now();
        command(py, || endpoint.with_engine(|server| enable(server, kind, &key, enabled, now)))
    }

    /// Gives every request that the engine does not answer itself to `handler(call)`, whose coroutine becomes a task.
    #[pyo3(signature = (handler, /))]
    fn set_delegate(&self, handler: Py<PyAny>) {
        self.core.delegates().calls = Some(handler);
    }

    /// Asks `handler(call)` first for requests of these methods, on the thread that took the request from the input.
    /// None leaves it to the other delegate; an awaitable is awaited on the loop.
    #[pyo3(signature = (handler, methods=None, /))]
    fn set_sync_delegate(&self, handler: Py<PyAny>, methods: Option<Vec<String>>) -> PyResult<()> {
        if !self.core.set_sync_methods(methods.unwrap_or_else(|| vec!["tools/call".to_owned()])) {
            return Err(ConfigurationError::new_err("the sync delegate was set already"));
        }
        self.core.delegates().sync = Some(handler);
        Ok(())
    }

    /// Gives every notification that the engine does not consume to `handler(stream, method, params)`.
    #[pyo3(signature = (handler, /))]
    fn set_notification_handler(&self, handler: Py<PyAny>) {
        self.core.delegates().notifications = Some(handler);
    }

    /// Calls `handler(stream, "initialized" | "closed")`.
    #[pyo3(signature = (handler, /))]
    fn set_stream_handler(&self, handler: Py<PyAny>) {
        self.core.delegates().streams = Some(handler);
    }

    /// Calls `handler(uri, subscribed)` when the first watcher of a resource is there, and when the last one is gone. An
    /// awaitable is awaited on the loop.
    #[pyo3(signature = (handler, /))]
    fn set_subscription_handler(&self, handler: Py<PyAny>) {
        self.core.delegates().subscriptions = Some(handler);
    }

    /// Tells whoever asked for it that the list of `"tools"`, `"prompts"` or `"resources"` has changed.
    #[pyo3(signature = (list, /))]
    fn notify_changed(&self, py: Python<'_>, list: &str) -> PyResult<()> {
        let list = match list {
            "tools" => ListKind::Tools,
            "prompts" => ListKind::Prompts,
            "resources" => ListKind::Resources,
            other => return Err(PyValueError::new_err(format!("no list is called {other:?}"))),
        };
        let Some(endpoint) = self.core.endpoint() else { return Ok(()) };
        command(py, || endpoint.notify_changed(list))
    }

    /// Tells the watchers of a resource that it has changed.
    #[pyo3(signature = (uri, /))]
    fn resource_updated(&self, py: Python<'_>, uri: String) -> PyResult<()> {
        let Some(endpoint) = self.core.endpoint() else { return Ok(()) };
        command(py, || endpoint.resource_updated(&uri))
    }

    /// Tells the client that was asked for a visit to a URL that it is complete.
    #[pyo3(signature = (elicitation_id, /))]
    fn complete_elicitation(&self, py: Python<'_>, elicitation_id: String) -> PyResult<bool> {
        let Some(endpoint) = self.core.endpoint() else { return Ok(false) };
        command(py, || endpoint.complete_elicitation(&elicitation_id))
    }

    /// Keys for `requestState`, each 32 bytes in base64, newest first: the first seals, all of them open. None: the
    /// server goes on with a key of its own.
    #[pyo3(signature = (keys, /))]
    fn set_state_keys(&self, py: Python<'_>, keys: Vec<String>) -> PyResult<()> {
        let keys = keys.iter().map(|key| StateKey::from_base64(key)).collect::<Result<Vec<_>, _>>();
        let keys = keys.map_err(|error| error::local(&error))?;
        let endpoint = self.endpoint()?;
        command(py, || endpoint.with_engine(|server| server.set_state_keys(&keys)))
    }

    /// Sends a notification that belongs to no request; legacy peers only.
    #[pyo3(signature = (stream, method, params=None))]
    fn notify_stream(&self, py: Python<'_>, stream: u32, method: String, params: Option<Text>) -> PyResult<bool> {
        let params = params.map(Text::one_line).transpose()?;
        let endpoint = self.endpoint()?;
        let sent = command(py, || {
            endpoint.with_engine(|server| server.notify_stream(StreamId(stream), &method, params.as_deref()))
        })?;
        sent.map_err(|error| error::local(&error))
    }

    /// Asks a legacy client something outside of any call; a future of the result as JSON text. `timeout` is in
    /// seconds.
    #[pyo3(signature = (stream, method, params=None, timeout=None))]
    fn request<'py>(
        &self,
        py: Python<'py>,
        stream: u32,
        method: String,
        params: Option<Text>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let params = params.map(Text::one_line).transpose()?;
        let endpoint = self.endpoint()?;
        Bridge::request(py, &self.core, endpoint, (StreamId(stream), None), &method, params.as_deref(), timeout)
    }

    /// Sends a log message that belongs to no request; legacy peers only.
    #[pyo3(signature = (stream, level, data, logger=None))]
    fn log_stream(
        &self,
        py: Python<'_>,
        stream: u32,
        level: &str,
        data: &Bound<'_, PyAny>,
        logger: Option<String>,
    ) -> PyResult<bool> {
        let level = log_level(level)?;
        let data = write::dumps(data, "data")?;
        let endpoint = self.endpoint()?;
        let sent = command(py, || {
            endpoint.with_engine(|server| server.log_stream(StreamId(stream), level, logger.as_deref(), &data))
        })?;
        sent.map_err(|error| error::local(&error))
    }

    /// Starts to serve standard input and output, and returns. `options`: `drain_ms`, `max_threads`, `debug`,
    /// `task_store` (`"memory"`, or a URL), `policy` (JSON text), `fds` (descriptors to read and to write instead, which
    /// from now on are the server's), and `grace_ms`: the time in which Python must `acknowledge()` the end before the process is ended without it.
    #[pyo3(signature = (event_loop, options=None, /))]
    fn start_stdio(
        slf: &Bound<'_, Self>,
        event_loop: Option<&Bound<'_, PyAny>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        start(slf, event_loop, options, Way::Stdio)
    }

    /// Starts to listen and to serve over HTTP, and returns. `http` is the JSON text of the listener's options, `options`
    /// are those of `start_stdio` without `fds`.
    #[pyo3(signature = (event_loop, http, options=None, /))]
    fn start_http(
        slf: &Bound<'_, Self>,
        event_loop: Option<&Bound<'_, PyAny>>,
        http: Text,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let http = taken(HttpOptions::from_json(&http.utf8()?))?;
        start(slf, event_loop, options, Way::Http(Box::new(http)))
    }

    /// Starts to serve the requests that `http_request` brings, and returns. `http` is the JSON text of what is served over
    /// HTTP.
    #[pyo3(signature = (event_loop, http, options=None, /))]
    fn start_carrier(
        slf: &Bound<'_, Self>,
        event_loop: &Bound<'_, PyAny>,
        http: Text,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        start(slf, Some(event_loop), options, Way::Carrier(Box::new(carrier::config(&http.utf8()?)?)))
    }

    /// Looks at the head of a request that a carrier brings: the request, or its response where nothing else has to be looked
    /// at. `headers` are pairs of bytes. The context of every call that comes of the request has run `given.enter()`.
    #[pyo3(signature = (method, path, query, headers, principal=None, given=None, /))]
    #[expect(clippy::too_many_arguments, reason = "the parts of a request's head, each of which has another type")]
    fn http_request<'py>(
        &self,
        py: Python<'py>,
        method: String,
        path: String,
        query: &[u8],
        headers: &Bound<'py, PyAny>,
        principal: Option<String>,
        given: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let query = (!query.is_empty()).then(|| String::from_utf8_lossy(query).into_owned());
        let headers = Arc::new(carrier::fields(headers)?);
        let head = CarriedHead { method, path, query, headers, principal, given };
        HttpRequest::admit(py, &self.core, self.endpoint()?, head)
    }

    /// Lets clients call the server by one more name or address.
    #[pyo3(signature = (host, /))]
    fn allow_host(&self, host: &str) -> PyResult<()> {
        self.endpoint()?.allow_http_host(host);
        Ok(())
    }

    /// What is listened on: address and port. None where nothing is.
    #[getter]
    fn local_addr(&self) -> Option<String> {
        self.core.serving.get().and_then(Serving::local_addr).map(|address| address.to_string())
    }

    /// Gives a server that was started without a loop one, from which on async functions are served.
    #[pyo3(signature = (event_loop, /))]
    fn set_loop(slf: &Bound<'_, Self>, event_loop: &Bound<'_, PyAny>) -> PyResult<()> {
        slf.get().core.bridge.set_loop(slf, event_loop)
    }

    /// A future of the loop that is done when the server is over.
    fn finished(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.core.bridge.finished(py)
    }

    /// The tasks that are not done: of calls, and of those who are told of subscriptions.
    fn tasks(&self, py: Python<'_>) -> Vec<Py<PyAny>> {
        self.core.bridge.tasks(py)
    }

    /// Without a loop: waits until the server is over (`"over"`) or something needs a loop (`"loop"`). `signals` is a
    /// descriptor that is readable when a signal has come.
    #[pyo3(signature = (signals=None, /))]
    fn wait(&self, py: Python<'_>, signals: Option<RawFd>) -> PyResult<&'static str> {
        self.core.bridge.wait(py, &self.core, signals)
    }

    /// Begins to end the server in good order; `code` is what the process is going to end with.
    #[pyo3(signature = (code=0, /))]
    fn stop(&self, py: Python<'_>, code: i32) -> PyResult<()> {
        self.core.exit_code.store(code, Ordering::Release);
        let Some(endpoint) = self.core.endpoint() else { return Ok(()) };
        // Tells a forked child that the server is not its own.
        command(py, || endpoint.flush())?;
        let core = Arc::clone(&self.core);
        // On a thread: the runtime waits for the end, and the caller may be a signal handler.
        std::thread::Builder::new()
            .name("ferromcp-stop".into())
            .spawn(move || core.serving.get().map(Serving::stop))?;
        Ok(())
    }

    /// Python has seen that the server is over, and takes care of the rest.
    fn acknowledge(&self) {
        self.core.acknowledge();
    }

    /// Whether the server has been started, be it over by now.
    #[getter]
    fn started(&self) -> bool {
        self.core.serving.get().is_some()
    }

    /// Whether this process was forked from the one that runs the server.
    #[getter]
    fn forked(&self) -> bool {
        self.core.is_forked()
    }

    /// What the process is going to end with.
    #[getter]
    fn exit_code(&self) -> i32 {
        self.core.exit_code.load(Ordering::Acquire)
    }

    /// Whether threads of the server's are still inside Python, after a moment for them to leave.
    #[pyo3(signature = (bound=0.2, /))]
    fn stuck(&self, py: Python<'_>, bound: f64) -> bool {
        let bound = Duration::try_from_secs_f64(bound).unwrap_or_default();
        py.detach(|| self.core.threads_left(bound)) > 0
    }

    /// The loop's callback for what the server's threads handed over.
    fn _drain(&self, py: Python<'_>) -> PyResult<()> {
        self.core.bridge.drain(py, &self.core)
    }

    /// The loop's callback at the end of a turn with answers.
    fn _flush(&self, py: Python<'_>) -> PyResult<()> {
        self.core.bridge.flush(py, &self.core)
    }
}

impl Server {
    pub(crate) fn declared(&self) -> MutexGuard<'_, Vec<Declared>> {
        self.declared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn endpoint(&self) -> PyResult<&Arc<Endpoint>> {
        self.core.endpoint().ok_or_else(|| ConfigurationError::new_err("this server was not started"))
    }
}

/// Under what name a definition is found again.
fn key_of(kind: Kind, definition: &str) -> PyResult<String> {
    let object: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(definition).map_err(|error| PyValueError::new_err(format!("definition: {error}")))?;
    let text = |name: &str| {
        let value = object.get(name).and_then(serde_json::Value::as_str);
        value.map(str::to_owned).ok_or_else(|| PyValueError::new_err(format!("definition: {name} must be a string")))
    };
    match kind {
        Kind::Tool | Kind::Prompt => text("name"),
        Kind::Resource => text("uri"),
        Kind::Template => text("uriTemplate"),
        Kind::Method => text("method"),
        Kind::Completion => Ok(format!("{}\n{}", text("ref")?, text("argument")?)),
    }
}

/// Adds a declaration to the engine and to the functions by tag.
pub(crate) fn add(
    core: &Core,
    server: &mut ferromcp_engine::Server,
    item: Declared,
    now: u64,
) -> Result<(), ferromcp_engine::LocalError> {
    let tag = core.next_tag.fetch_add(1, Ordering::Relaxed);
    match item.kind {
        Kind::Tool => server.add_tool(&item.definition, tag, now)?,
        Kind::Resource => server.add_resource(&item.definition, tag, now)?,
        Kind::Template => server.add_resource_template(&item.definition, tag, now)?,
        Kind::Prompt => server.add_prompt(&item.definition, tag, now)?,
        Kind::Completion | Kind::Method => {}
    }
    if !item.enabled {
        enable(server, item.kind, &item.key, false, now);
    }
    let is_async = item.handler.get().is_async();
    let entry = Arc::new(Entry { handler: item.handler, is_async, key: item.key });
    let mut catalogue = core.catalogue.write().unwrap_or_else(PoisonError::into_inner);
    if item.kind == Kind::Completion {
        if let Some((reference, argument)) = entry.key.split_once('\n') {
            let key = (reference.to_owned(), argument.to_owned());
            catalogue.completions.insert(key, entry);
        }
    } else if item.kind == Kind::Method {
        catalogue.methods.insert(entry.key.clone(), entry);
    } else {
        catalogue.by_tag.insert(tag, entry);
    }
    Ok(())
}

/// Shows or hides a definition; false when there is none.
fn enable(server: &mut ferromcp_engine::Server, kind: Kind, key: &str, enabled: bool, now: u64) -> bool {
    match kind {
        Kind::Tool => server.enable_tool(key, enabled, now),
        Kind::Resource => server.enable_resource(key, enabled, now),
        Kind::Template => server.enable_resource_template(key, enabled, now),
        Kind::Prompt => server.enable_prompt(key, enabled, now),
        Kind::Completion | Kind::Method => false,
    }
}
