//! What a function's return value becomes on the wire.
//!
//! A plain value of a tool is decided here; everything else, and all of the other kinds, in `ferromcp/_results.py`.

use super::raw::Json;
use super::write;
use crate::hooks;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// The parts of a tool result, as JSON text.
pub(crate) struct ToolParts {
    pub(crate) content: String,
    pub(crate) structured: Option<String>,
    pub(crate) is_error: bool,
    pub(crate) meta: Option<String>,
}

/// A tool's return value. `structured`: it has an output schema, so the value goes into `structuredContent` as well.
pub(crate) fn tool(value: &Bound<'_, PyAny>, structured: bool) -> PyResult<ToolParts> {
    let py = value.py();
    if let Ok(text) = value.cast_exact::<PyString>() {
        let mut content = String::with_capacity(64);
        content.push_str(TEXT_OPEN);
        write::value(&mut content, text).map_err(|problem| problem.into_error(py, ROOT))?;
        let json = structured.then(|| content[TEXT_OPEN.len()..].to_owned());
        content.push_str(TEXT_CLOSE);
        return Ok(ToolParts { content, structured: json, is_error: false, meta: None });
    }
    if value.is_none() {
        let json = structured.then(|| "null".to_owned());
        return Ok(ToolParts { content: "[]".to_owned(), structured: json, is_error: false, meta: None });
    }
    if is_data(value) {
        let json = write::dumps(value, ROOT)?;
        return Ok(shown(json, structured));
    }
    if let Ok(json) = value.cast::<Json>() {
        return Ok(shown(json.get().text.clone(), structured));
    }
    slowly(value, structured)
}

const ROOT: &str = "result";
const TEXT_OPEN: &str = r#"[{"type":"text","text":"#;
const TEXT_CLOSE: &str = "}]";

/// A failed tool's result: one block with the text.
pub(crate) fn failed(text: &str) -> ToolParts {
    ToolParts { content: text_block(text), structured: None, is_error: true, meta: None }
}

fn shown(json: String, structured: bool) -> ToolParts {
    ToolParts { content: text_block(&json), structured: structured.then_some(json), is_error: false, meta: None }
}

fn text_block(text: &str) -> String {
    let mut content = String::with_capacity(text.len() + 48);
    content.push_str(TEXT_OPEN);
    write::string(&mut content, text);
    content.push_str(TEXT_CLOSE);
    content
}

/// Whether this is a number, or a dict, or a list in which no item can be a content block.
fn is_data(value: &Bound<'_, PyAny>) -> bool {
    let one = |item: &Bound<'_, PyAny>| {
        item.is_exact_instance_of::<PyString>()
            || item.is_exact_instance_of::<PyInt>()
            || item.is_exact_instance_of::<PyFloat>()
            || item.is_exact_instance_of::<PyBool>()
            || item.is_exact_instance_of::<PyDict>()
            || item.is_none()
    };
    if let Ok(list) = value.cast_exact::<PyList>() {
        return list.iter().all(|item| one(&item) || item.is_exact_instance_of::<PyList>());
    }
    if let Ok(tuple) = value.cast_exact::<PyTuple>() {
        return tuple.iter().all(|item| one(&item));
    }
    one(value)
}

#[cold]
fn slowly(value: &Bound<'_, PyAny>, structured: bool) -> PyResult<ToolParts> {
    type Parts = (Vec<u8>, Option<Vec<u8>>, bool, Option<Vec<u8>>);
    let py = value.py();
    let parts = hooks::get(py)?.tool_result.bind(py).call1((value, structured))?;
    let (content, structured, is_error, meta): Parts = parts.extract()?;
    // All of it comes out of our own `dumps`.
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).map_err(PyErr::from);
    Ok(ToolParts {
        content: text(content)?,
        structured: structured.map(text).transpose()?,
        is_error,
        meta: meta.map(text).transpose()?,
    })
}
