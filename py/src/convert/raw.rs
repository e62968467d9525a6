//! `Json`: text that is JSON already and is not to be built and written a second time.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::value::RawValue;

/// Already serialized JSON text, as `bytes` or `str`. Wherever a value can be returned, this can stand in its place.
#[pyclass(frozen, module = "ferromcp._native", eq, hash)]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Json {
    pub(crate) text: String,
}

#[pymethods]
impl Json {
    #[new]
    #[pyo3(signature = (text, /))]
    fn new(text: Text) -> PyResult<Self> {
        text.one_line().map(|text| Self { text })
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.text.as_bytes())
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        format!("Json({:?})", self.text)
    }
}

/// JSON text given by Python.
#[derive(FromPyObject)]
pub(crate) enum Text {
    Str(String),
    Bytes(Vec<u8>),
}

impl Text {
    /// The text as UTF-8, not looked at further.
    pub(crate) fn utf8(self) -> PyResult<String> {
        match self {
            Self::Str(text) => Ok(text),
            Self::Bytes(bytes) => String::from_utf8(bytes).map_err(|error| PyValueError::new_err(error.to_string())),
        }
    }

    /// The text checked to be one JSON value, without line breaks, which would end the message it is sent in.
    pub(crate) fn one_line(self) -> PyResult<String> {
        let text = self.utf8()?;
        let value: &RawValue =
            serde_json::from_str(&text).map_err(|error| PyValueError::new_err(format!("not JSON: {error}")))?;
        let value = value.get();
        // Inside strings a raw line break is no JSON, so these all stand between tokens.
        if memchr::memchr2(b'\n', b'\r', value.as_bytes()).is_some() {
            return Ok(value.replace(['\n', '\r'], " "));
        }
        Ok(if value.len() == text.len() { text } else { value.to_owned() })
    }
}
