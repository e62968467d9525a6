//! The asyncio loop as the bridge uses it: what is called on it for each request, and how a task is made.

use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The loop, and what is called on it for each request, looked up once.
pub(crate) struct LoopSide {
    pub(crate) event_loop: Py<PyAny>,
    create_task: Py<PyAny>,
    /// `asyncio.Task`, where tasks can be made without asking the loop's Python code.
    task_class: Option<Py<PyAny>>,
    pub(crate) call_soon: Py<PyAny>,
    pub(crate) flush: Py<PyAny>,
    pub(crate) finished: Py<PyAny>,
    coroutine_type: Py<PyAny>,
    awaited: Py<PyAny>,
    /// Tasks take a context (Python 3.11 and later).
    takes_context: bool,
}

impl LoopSide {
    /// What is needed of `event_loop`. `server` is the Python object whose `_flush` the loop calls.
    pub(crate) fn new(server: &Bound<'_, PyAny>, event_loop: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = server.py();
        let takes_context = py.version_info() >= (3, 11);
        let asyncio = py.import("asyncio")?;
        let own_factory = event_loop.call_method0("get_task_factory")?;
        let task_class =
            if own_factory.is_none() && takes_context { Some(asyncio.getattr("Task")?.unbind()) } else { None };
        Ok(Self {
            event_loop: event_loop.clone().unbind(),
            create_task: event_loop.getattr("create_task")?.unbind(),
            task_class,
            call_soon: event_loop.getattr("call_soon")?.unbind(),
            flush: server.getattr("_flush")?.unbind(),
            finished: event_loop.call_method0("create_future")?.unbind(),
            coroutine_type: py.import("types")?.getattr("CoroutineType")?.unbind(),
            awaited: py.import("ferromcp._aio")?.getattr("awaited")?.unbind(),
            takes_context,
        })
    }

    /// A future of the loop.
    pub(crate) fn future<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.event_loop.bind(py).call_method0(pyo3::intern!(py, "create_future"))
    }

    /// A task for what a function gave to be awaited.
    pub(crate) fn task<'py>(
        &self,
        py: Python<'py>,
        context: &Bound<'py, PyAny>,
        awaitable: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let coroutine = if awaitable.get_type().is(&self.coroutine_type) {
            awaitable
        } else {
            self.awaited.bind(py).call1((awaitable,))?
        };
        if let Some(class) = &self.task_class {
            let options = PyDict::new(py);
            options.set_item(pyo3::intern!(py, "loop"), &self.event_loop)?;
            options.set_item(pyo3::intern!(py, "context"), context)?;
            class.bind(py).call((coroutine,), Some(&options))
        } else if self.takes_context {
            let options = PyDict::new(py);
            options.set_item(pyo3::intern!(py, "context"), context)?;
            self.create_task.bind(py).call((coroutine,), Some(&options))
        } else {
            context.call_method1(pyo3::intern!(py, "run"), (&self.create_task, coroutine))
        }
    }
}
