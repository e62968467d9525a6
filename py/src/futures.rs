//! Futures of the loop for what is told later: results of our own requests, and calls that become tasks.

use crate::asking::milliseconds;
use crate::bridge::{Bridge, lock};
use crate::call::{Call, taken};
use crate::core::{Core, command};
use crate::error;
use ferromcp::Endpoint;
use ferromcp_engine::{OutgoingError, OutgoingKey, RequestKey, StreamId};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCFunction};
use std::collections::HashMap;
use std::sync::Arc;

/// What the loop waits for.
#[derive(Default)]
pub(crate) struct Futures {
    /// Results of our own requests.
    requests: HashMap<OutgoingKey, Py<PyAny>>,
    /// Ids of tasks that calls are about to become.
    begins: HashMap<RequestKey, Py<PyAny>>,
}

impl Bridge {
    /// Sends a request of ours and gives the future of its result. `to`: whom, and the call that it belongs to.
    pub(crate) fn request<'py>(
        py: Python<'py>,
        core: &Arc<Core>,
        endpoint: &Arc<Endpoint>,
        to: (StreamId, Option<RequestKey>),
        method: &str,
        params: Option<&str>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let future = core.bridge.side()?.future(py)?;
        let (now, timeout_ms) = (endpoint.now(), milliseconds(timeout));
        let sent =
            command(py, || endpoint.with_engine(|server| server.request(to.0, to.1, method, params, timeout_ms, now)))?;
        let key = sent.map_err(|error| error::local(&error))?;
        lock(&core.bridge.futures).requests.insert(key, future.clone().unbind());
        let (core, endpoint) = (Arc::clone(core), Arc::clone(endpoint));
        let abandon = PyCFunction::new_closure(py, None, None, move |arguments, _| -> PyResult<()> {
            let cancelled = arguments.get_item(0)?.call_method0("cancelled")?.is_truthy()?;
            if cancelled {
                let _future = lock(&core.bridge.futures).requests.remove(&key);
                taken(endpoint.abandon(key, None))?;
            }
            Ok(())
        })?;
        future.call_method1("add_done_callback", (abandon,))?;
        Ok(future)
    }

    /// A request of ours is over.
    pub(crate) fn resolve(
        &self,
        py: Python<'_>,
        key: OutgoingKey,
        outcome: Result<String, OutgoingError>,
    ) -> PyResult<()> {
        let Some(future) = lock(&self.futures).requests.remove(&key) else { return Ok(()) };
        let future = future.bind(py);
        if is_done(future)? {
            return Ok(());
        }
        match outcome {
            Ok(result) => future.call_method1("set_result", (PyBytes::new(py, result.as_bytes()),))?,
            Err(error) => future.call_method1("set_exception", (error::outgoing(py, &error).into_value(py),))?,
        };
        Ok(())
    }

    /// Turns a call into a task; a future of the task's id, or of None where the call goes on without.
    pub(crate) fn begin_task<'py>(call: &Bound<'py, Call>) -> PyResult<Bound<'py, PyAny>> {
        let py = call.py();
        let (state, key) = (call.get(), call.get().request.key);
        let bridge = &state.core.bridge;
        let future = bridge.side()?.future(py)?;
        // What comes of it is told on the loop, whose thread this is: it can't be told too early.
        if command(py, || state.endpoint.begin_task(key))? {
            lock(&bridge.futures).begins.insert(key, future.clone().unbind());
        } else {
            future.call_method1("set_result", (state.endpoint.task_id(key),))?;
        }
        Ok(future)
    }

    /// A call is a task now, or can't be.
    pub(crate) fn task_begun(&self, py: Python<'_>, call: RequestKey, id: Option<String>) -> PyResult<()> {
        let Some(future) = lock(&self.futures).begins.remove(&call) else { return Ok(()) };
        if !is_done(future.bind(py))? {
            future.call_method1(py, "set_result", (id,))?;
        }
        Ok(())
    }

    /// A call is over: nobody in it waits any more.
    pub(crate) fn forget(&self, py: Python<'_>, call: RequestKey) -> PyResult<()> {
        let begin = lock(&self.futures).begins.remove(&call);
        if let Some(future) = begin {
            future.call_method0(py, "cancel")?;
        }
        self.forget_asks(py, call)
    }
}

/// Whether a future has its result, or is cancelled.
pub(crate) fn is_done(future: &Bound<'_, PyAny>) -> PyResult<bool> {
    future.call_method0(pyo3::intern!(future.py(), "done"))?.is_truthy()
}
