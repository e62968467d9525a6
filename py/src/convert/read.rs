//! JSON text to Python values.
//!
//! jiter is quick and refuses a few things that Python's own parser takes: unpaired surrogate escapes, integers past
//! its bound, deep nesting. Whatever it refuses goes to `json.loads`, so that the peer's text decides and not the
//! parser.

use jiter::{FloatMode, PartialMode, PythonParse, StringCacheMode};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCFunction, PyDict};

const PARSE: PythonParse = PythonParse {
    allow_inf_nan: false,
    // Keys come again and again, values do not: caching them costs more than it saves.
    cache_mode: StringCacheMode::Keys,
    partial_mode: PartialMode::Off,
    catch_duplicate_keys: false,
    float_mode: FloatMode::Float,
};

/// The Python value that a JSON text stands for.
pub(crate) fn loads<'py>(py: Python<'py>, text: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    match PARSE.python_parse(py, text) {
        Ok(value) => Ok(value),
        Err(_) => slowly(py, text),
    }
}

/// As [`loads`], for a text that is an object.
pub(crate) fn object<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyDict>> {
    loads(py, text.as_bytes())?.cast_into::<PyDict>().map_err(|_| PyValueError::new_err("not a JSON object"))
}

/// As [`loads`], for a text that may be absent.
pub(crate) fn optional<'py>(py: Python<'py>, text: Option<&str>) -> PyResult<Option<Bound<'py, PyAny>>> {
    text.map(|text| loads(py, text.as_bytes())).transpose()
}

#[cold]
fn slowly<'py>(py: Python<'py>, text: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    static LOADS: PyOnceLock<(Py<PyAny>, Py<PyDict>)> = PyOnceLock::new();
    let (loads, options) = LOADS.get_or_try_init(py, || -> PyResult<_> {
        // `json.loads` takes NaN and Infinity, which are no JSON, unless it is told what to do with them.
        let refuse = PyCFunction::new_closure(py, None, None, |arguments, _| -> PyResult<()> {
            let name: String = arguments.get_item(0)?.extract()?;
            Err(PyValueError::new_err(format!("{name} is not JSON")))
        })?;
        let options = PyDict::new(py);
        options.set_item("parse_constant", refuse)?;
        Ok((py.import("json")?.getattr("loads")?.unbind(), options.unbind()))
    })?;
    let text = std::str::from_utf8(text).map_err(|error| PyValueError::new_err(error.to_string()))?;
    loads.bind(py).call((text,), Some(options.bind(py)))
}
