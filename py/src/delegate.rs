//! What delegates may return.
//!
//! A delegate serves whole requests for an application of another SDK (`ferromcp/adapters`). It gives the result itself
//! or an awaitable of it; which thread awaits is decided in `host.rs` and `bridge.rs`.

use crate::answer::Answer;
use crate::convert::{raw::Text, write};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString};

/// Whether a value is to be awaited for the value that is meant.
pub(crate) fn is_awaitable(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let plain = value.is_exact_instance_of::<PyString>()
        || value.is_exact_instance_of::<PyBytes>()
        || value.is_exact_instance_of::<PyDict>()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyList>()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_none();
    Ok(!plain && value.get_type().hasattr(pyo3::intern!(value.py(), "__await__"))?)
}

/// A delegate's result: JSON text, a dict, or None for an empty object.
pub(crate) fn delegated(value: &Bound<'_, PyAny>) -> PyResult<Answer> {
    if value.is_none() {
        return Ok(Answer::Result("{}".to_owned()));
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        let text = std::str::from_utf8(bytes.as_bytes()).map_err(|error| PyTypeError::new_err(error.to_string()))?;
        if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_none() {
            return Ok(Answer::Result(text.to_owned()));
        }
        return Ok(Answer::Result(Text::Str(text.to_owned()).one_line()?));
    }
    if value.is_instance_of::<PyDict>() {
        return Ok(Answer::Result(write::dumps(value, "result")?));
    }
    Err(PyTypeError::new_err("a delegate gives bytes, a dict or None"))
}
