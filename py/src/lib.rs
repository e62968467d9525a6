//! The Python door's native half, `ferromcp._native`.
//!
//! It moves values, errors, threads and lifetimes between Python and the runtime. No rule of the protocol is decided
//! here (that is the engine's work), and no value of the user's is interpreted here beyond JSON's own types (that is
//! the work of the Python package, which reaches this module through the names below and is reached through
//! `hooks.rs`).

mod answer;
mod apps;
mod asking;
mod bridge;
mod call;
mod carrier;
mod convert;
mod core;
mod delegate;
mod error;
mod futures;
mod handler;
mod hooks;
mod host;
mod leave;
mod loop_side;
mod schema;
mod server;
mod signals;
mod start;
mod told;

use pyo3::prelude::*;

/// For the memory of this module alone; Python's own objects have Python's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The native half of the package.
#[pymodule(gil_used = false)]
mod _native {
    use crate::convert::{plan::Plan, raw::Text, read, write};
    use pyo3::exceptions::PyImportError;
    use pyo3::ffi;
    use pyo3::prelude::*;
    use pyo3::types::PyBytes;

    #[pymodule_export]
    use crate::apps::AppView;
    #[pymodule_export]
    use crate::asking::InputRequired;
    #[pymodule_export]
    use crate::call::Call;
    #[pymodule_export]
    use crate::carrier::{HttpFacts, HttpRequest};
    #[pymodule_export]
    use crate::convert::raw::Json;
    #[pymodule_export]
    use crate::handler::Handler;
    #[pymodule_export]
    use crate::leave::end_within;
    #[pymodule_export]
    use crate::schema::{Schema, validate};
    #[pymodule_export]
    use crate::server::Server;
    #[pymodule_export]
    use crate::signals::{answer_within, early_signals, signal_answered};

    /// Refuses subinterpreters everywhere. Python does so itself from 3.12 on; before, a second interpreter would get
    /// the first one's objects.
    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        // SAFETY: the thread is attached to an interpreter, so there is a current one.
        let interpreter = unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) };
        if interpreter == 0 {
            return Ok(());
        }
        let text = "ferromcp can be used in the main interpreter only, not in a subinterpreter";
        Err(PyImportError::new_err(text))
    }

    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "Python's name for it")]
    const app_extension: &str = crate::apps::EXTENSION;

    /// The JSON text of a value; `root` is what the path in an error begins with.
    #[pyfunction]
    #[pyo3(signature = (value, root="value", /))]
    fn dumps<'py>(value: &Bound<'py, PyAny>, root: &str) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(value.py(), write::dumps(value, root)?.as_bytes()))
    }

    /// The value of a JSON text.
    #[pyfunction]
    #[pyo3(signature = (text, /))]
    fn loads<'py>(py: Python<'py>, text: Text) -> PyResult<Bound<'py, PyAny>> {
        read::loads(py, text.utf8()?.as_bytes())
    }

    /// Carries out a plan (see `ferromcp/_schema.py`) on a value.
    #[pyfunction]
    #[pyo3(signature = (value, plan, /))]
    fn convert<'py>(value: Bound<'py, PyAny>, plan: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let Some(plan) = Plan::compile(plan)? else { return Ok(value) };
        Ok(plan.apply(&value)?.unwrap_or(value))
    }
}
