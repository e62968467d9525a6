//! One request in flight, as Python sees it.
//!
//! A thin view of the engine's call: what the peer sent is decoded when it is asked for. Also the callback of the
//! request's asyncio task, if it has one.

use crate::asking::{Question, ask_and_wait, milliseconds};
use crate::bridge::{Bridge, lock};
use crate::carrier::HttpFacts;
use crate::convert::raw::Text;
use crate::convert::{read, write};
use crate::core::{Core, command};
use crate::error;
use crate::handler::Handler;
use ferromcp::{Endpoint, TraceContext};
use ferromcp_engine as engine;
use ferromcp_engine::{LogLevel, Reentry};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A request of the peer that is being served.
#[pyclass(frozen, module = "ferromcp._native")]
pub(crate) struct Call {
    pub(crate) request: engine::Call,
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) core: Arc<Core>,
    /// The declared function; None for a delegate's call.
    pub(crate) handler: Option<Py<Handler>>,
    /// The task that serves it, while it runs.
    task: Mutex<Option<Py<PyAny>>>,
    /// The task was told that nobody waits for the answer any more.
    told: AtomicBool,
}

impl Call {
    pub(crate) fn new(
        request: engine::Call,
        endpoint: Arc<Endpoint>,
        core: Arc<Core>,
        handler: Option<Py<Handler>>,
    ) -> Self {
        Self { request, endpoint, core, handler, task: Mutex::new(None), told: AtomicBool::new(false) }
    }

    /// Nobody waits for the answer any more.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.endpoint.is_cancelled(self.request.key)
    }

    pub(crate) fn set_task(&self, task: Option<Py<PyAny>>) -> Option<Py<PyAny>> {
        std::mem::replace(&mut self.task.lock().unwrap_or_else(PoisonError::into_inner), task)
    }

    /// The task, for cancelling it.
    pub(crate) fn task(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|task| task.clone_ref(py))
    }

    pub(crate) fn tell(&self) {
        self.told.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_told(&self) -> bool {
        self.told.load(Ordering::Relaxed)
    }

    /// What becomes of the function while its client is asked. A delegate is not run twice.
    fn reentry(&self) -> Reentry {
        self.handler.as_ref().map_or(Reentry::Held, |handler| handler.get().reentry())
    }

    /// What the carrier gave along with the request; None where there is no carrier, or it gave nothing.
    pub(crate) fn given(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        // Most servers are given nothing, and need not look for the request.
        if lock(&self.core.given).is_empty() {
            return None;
        }
        self.http(py)?.given(py)
    }

    /// What an error names.
    pub(crate) fn method_name(&self) -> &str {
        self.request.method()
    }
}

#[pymethods]
impl Call {
    /// The request's method.
    #[getter]
    fn method(&self) -> &str {
        self.request.method()
    }

    /// The request's parameters as JSON text; `b"{}"` when it has none.
    #[getter]
    fn params<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.request.params_json().unwrap_or("{}").as_bytes())
    }

    /// `params.name`, where there is one.
    #[getter]
    fn name(&self) -> Option<String> {
        #[derive(serde::Deserialize)]
        struct Named<'a> {
            #[serde(borrow)]
            name: Option<Cow<'a, str>>,
        }
        let named: Named<'_> = serde_json::from_str(self.request.params_json()?).ok()?;
        named.name.map(Cow::into_owned)
    }

    /// The id that the peer gave the request.
    #[getter]
    fn request_id<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        read::loads(py, self.request.id_json().as_bytes())
    }

    /// The revision in force for this request.
    #[getter]
    fn protocol_version(&self) -> &'static str {
        self.request.revision.as_str()
    }

    /// The number of the connection.
    #[getter]
    fn stream(&self) -> u32 {
        self.request.stream.0
    }

    /// The request's `_meta`.
    #[getter]
    fn meta<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        read::optional(py, self.request.meta_json())
    }

    /// The client's name, version and more, when it told.
    #[getter]
    fn client_info<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        read::optional(py, self.request.client_info_json())
    }

    /// `meta` as JSON text.
    #[getter]
    fn meta_json<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.request.meta_json().map(|text| PyBytes::new(py, text.as_bytes()))
    }

    /// `client_info` as JSON text.
    #[getter]
    fn client_info_json<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.request.client_info_json().map(|text| PyBytes::new(py, text.as_bytes()))
    }

    /// `client_capabilities` as JSON text.
    #[getter]
    fn client_capabilities_json<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.request.client_capabilities_json().as_bytes())
    }

    /// What the client can do.
    #[getter]
    fn client_capabilities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        read::object(py, self.request.client_capabilities_json())
    }

    /// Whether nobody waits for the answer any more.
    #[getter]
    fn cancelled(&self) -> bool {
        self.is_cancelled()
    }

    /// Why nobody waits for the answer any more: the client's words where it gave some. None: somebody waits.
    #[getter]
    fn cancel_reason(&self) -> Option<String> {
        self.endpoint.cancel_reason(self.request.key).map(|reason| reason.to_string())
    }

    /// The token for progress notifications, when the client wants them.
    #[getter]
    fn progress_token<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        read::optional(py, self.request.progress_token_json())
    }

    /// Reports progress; False when nothing was sent.
    #[pyo3(signature = (progress, total=None, message=None))]
    fn progress(&self, py: Python<'_>, progress: f64, total: Option<f64>, message: Option<String>) -> PyResult<bool> {
        let key = self.request.key;
        command(py, || self.endpoint.progress(key, progress, total, message.as_deref()))
    }

    /// Sends a log message; False when the client does not want its level.
    #[pyo3(signature = (level, data, logger=None))]
    fn log(&self, py: Python<'_>, level: &str, data: &Bound<'_, PyAny>, logger: Option<String>) -> PyResult<bool> {
        let level = log_level(level)?;
        let data = write::dumps(data, "data")?;
        command(py, || self.endpoint.log(self.request.key, level, logger.as_deref(), &data))
    }

    /// Sends a notification that belongs to this request; False when the request is over.
    #[pyo3(signature = (method, params=None))]
    fn notify(&self, py: Python<'_>, method: String, params: Option<Text>) -> PyResult<bool> {
        let params = params.map(Text::one_line).transpose()?;
        command(py, || self.endpoint.notify(self.request.key, &method, params.as_deref()))
    }

    /// Asks a legacy client something; a future of the result as JSON text. `timeout` is in seconds.
    #[pyo3(signature = (method, params=None, timeout=None))]
    fn request<'py>(
        slf: &Bound<'py, Self>,
        method: String,
        params: Option<Text>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let call = slf.get();
        let params = params.map(Text::one_line).transpose()?;
        let to = (call.request.stream, Some(call.request.key));
        Bridge::request(py, &call.core, &call.endpoint, to, &method, params.as_deref(), timeout)
    }

    /// Asks the client, all of it in one round: each question is its key (empty: by the order of asking), method and
    /// parameters as JSON text. A future of the answers in the same order, each the JSON text of a result or an
    /// exception. `timeout` is in seconds.
    #[pyo3(signature = (questions, timeout=None))]
    fn ask<'py>(slf: &Bound<'py, Self>, questions: Vec<Question>, timeout: Option<f64>) -> PyResult<Bound<'py, PyAny>> {
        Bridge::ask(slf, questions, slf.get().reentry(), milliseconds(timeout))
    }

    /// The same, and blocks this thread until the answers are there.
    #[pyo3(signature = (questions, timeout=None))]
    fn ask_and_wait<'py>(
        &self,
        py: Python<'py>,
        questions: Vec<Question>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyList>> {
        ask_and_wait(py, self, &questions, self.reentry(), milliseconds(timeout))
    }

    /// The id of the task that this request is; None where it is none.
    #[getter]
    fn task_id(&self) -> Option<String> {
        self.endpoint.task_id(self.request.key)
    }

    /// Turns this request into a task; a future of the task's id, or of None where the client does not take tasks.
    fn begin_task<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Bridge::begin_task(slf)
    }

    /// The same, and blocks this thread until the task is kept.
    fn begin_task_and_wait(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let key = self.request.key;
        let begun = command(py, || self.endpoint.begin_task_and_wait(key))?;
        Ok(begun.or_else(|| self.endpoint.task_id(key)))
    }

    /// Who has called, as far as it was verified.
    #[getter]
    fn principal(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let stream = self.request.stream;
        command(py, || self.endpoint.with_engine(|server| server.principal(stream).map(str::to_owned)))
    }

    /// `traceparent`, `tracestate` and `baggage` of the request's `_meta`, each None where it is no text.
    #[getter]
    fn trace_context(&self) -> (Option<String>, Option<String>, Option<String>) {
        let TraceContext { traceparent, tracestate, baggage } = TraceContext::of(&self.request);
        (traceparent, tracestate, baggage)
    }

    /// What the client has answered to a round by hand: results by key. None outside of a retry.
    #[getter]
    fn input_responses<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        read::optional(py, self.request.input_responses_json())
    }

    /// The state of the last round by hand, as it was given.
    #[getter]
    fn request_state(&self) -> Option<&str> {
        self.request.request_state()
    }

    /// The HTTP request that this request came in; None over a pipe, and when its response is over.
    #[getter]
    fn http(&self, py: Python<'_>) -> Option<HttpFacts> {
        let headers = self.endpoint.request_headers(self.request.key)?;
        Some(HttpFacts::new(py, &self.core, headers))
    }

    /// Ends the connection of this request's stream, and not the request: a legacy client comes back for what it has missed.
    /// False where there is nothing that it could come back to.
    fn close_sse_stream(&self, py: Python<'_>) -> PyResult<bool> {
        command(py, || self.endpoint.close_sse_stream(self.request.key))
    }

    /// The task of this request is done.
    fn __call__(slf: &Bound<'_, Self>, task: &Bound<'_, PyAny>) -> PyResult<()> {
        Bridge::task_done(slf, task)
    }

    fn __repr__(&self) -> String {
        format!("<Call {} {}>", self.request.method(), self.request.id_json())
    }
}

/// A log level by its name.
pub(crate) fn log_level(name: &str) -> PyResult<LogLevel> {
    LogLevel::parse(name).ok_or_else(|| PyValueError::new_err(format!("{name:?} is not a log level")))
}

/// A command's outcome for Python.
pub(crate) fn taken<R>(result: Result<R, ferromcp::Error>) -> PyResult<R> {
    result.map_err(|error| match &error {
        ferromcp::Error::Engine(error) => error::local(error),
        ferromcp::Error::Forked => error::ForkedError::new_err(error.to_string()),
        ferromcp::Error::TaskStore(_) => error::TaskStoreError::new_err(error.to_string()),
        ferromcp::Error::StdioTaken => error::ConfigurationError::new_err(
            "standard input and output belong to a server that this process runs, or has run: there is one client there",
        ),
        _ => pyo3::exceptions::PyOSError::new_err(error.to_string()),
    })
}
