//! What the native module calls in the Python package, looked up once.
//!
//! Everything that is decided in Python and needed here comes through this list, and through nothing else.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// Functions and objects of the Python package.
pub(crate) struct Hooks {
    /// `_results.plain(value)`: one step towards a value that JSON has.
    pub(crate) plain: Py<PyAny>,
    /// `_results.tool(value, structured)`.
    pub(crate) tool_result: Py<PyAny>,
    /// `_results.resource(value, uri, mime_type)`.
    pub(crate) resource_result: Py<PyAny>,
    /// `_results.prompt(value)`.
    pub(crate) prompt_result: Py<PyAny>,
    /// `_results.completion(value)`.
    pub(crate) completion_result: Py<PyAny>,
    /// `_results.method(value)`.
    pub(crate) method_result: Py<PyAny>,
    /// `_failures.failure(kind, name, error, argument)`.
    pub(crate) failure: Py<PyAny>,
    /// `_failures.report(message, error)`.
    pub(crate) report: Py<PyAny>,
    /// `context.Context`.
    pub(crate) context: Py<PyAny>,
    /// `context._current.set`.
    pub(crate) set_current: Py<PyAny>,
    /// `contextvars.copy_context`.
    pub(crate) copy_context: Py<PyAny>,
}

/// The hooks; the package is imported by the time anything can be called.
pub(crate) fn get(py: Python<'_>) -> PyResult<&'static Hooks> {
    static HOOKS: PyOnceLock<Hooks> = PyOnceLock::new();
    HOOKS.get_or_try_init(py, || {
        let results = py.import("ferromcp._results")?;
        let failures = py.import("ferromcp._failures")?;
        let context = py.import("ferromcp.context")?;
        let contextvars = py.import("contextvars")?;
        Ok(Hooks {
            plain: results.getattr("plain")?.unbind(),
            tool_result: results.getattr("tool")?.unbind(),
            resource_result: results.getattr("resource")?.unbind(),
            prompt_result: results.getattr("prompt")?.unbind(),
            completion_result: results.getattr("completion")?.unbind(),
            method_result: results.getattr("method")?.unbind(),
            failure: failures.getattr("failure")?.unbind(),
            report: failures.getattr("report")?.unbind(),
            context: context.getattr("Context")?.unbind(),
            set_current: context.getattr("_current")?.getattr("set")?.unbind(),
            copy_context: contextvars.getattr("copy_context")?.unbind(),
        })
    })
}
