//! What a function's return value becomes on the wire.
//!
//! A plain value of a tool is decided here; everything else, and all of the other kinds, in `ferromcp/_results.py`.

use super::raw::Json;
use super::write;
use crate::answer::{Answer, Text};
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

const ROOT: &str = "result";

/// Bytes from which on a text is not copied. 16 KiB: below it a copy costs less than a second owner.
const LONG: usize = 16 << 10;

/// A tool's return value. `structured`: it has an output schema, so the value goes into `structuredContent` as well.
pub(crate) fn tool(value: &Bound<'_, PyAny>, structured: bool) -> PyResult<Answer> {
    if let Ok(text) = value.cast_exact::<PyString>() {
        // A text with an unpaired surrogate has no UTF-8 form, and so is written by the serializer below.
        if !structured && let Ok(plain) = text.to_str() {
            let long = plain.len() >= LONG;
            let text = if long { Text::Python(text.clone().try_into()?) } else { Text::Own(plain.to_owned()) };
            return Ok(Answer::Text { text, is_error: false });
        }
        return written(value, structured);
    }
    if value.is_none() {
        let structured = structured.then(|| "null".to_owned());
        return Ok(Answer::Tool(ToolParts { content: "[]".to_owned(), structured, is_error: false, meta: None }));
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

/// A failed tool's result: one block with the text.
pub(crate) fn failed(text: String) -> Answer {
    Answer::Text { text: Text::Own(text), is_error: true }
}

/// A value, as JSON: the text is the same, and is written by the engine where there is a structured one.
fn shown(json: String, structured: bool) -> Answer {
    if !structured {
        return Answer::Text { text: Text::Own(json), is_error: false };
    }
    Answer::Tool(ToolParts { content: "[]".to_owned(), structured: Some(json), is_error: false, meta: None })
}

/// A string, as a block whose text is that string.
fn written(value: &Bound<'_, PyAny>, structured: bool) -> PyResult<Answer> {
    let json = write::dumps(value, ROOT)?;
    let content = format!(r#"[{{"type":"text","text":{json}}}]"#);
    Ok(Answer::Tool(ToolParts { content, structured: structured.then_some(json), is_error: false, meta: None }))
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
fn slowly(value: &Bound<'_, PyAny>, structured: bool) -> PyResult<Answer> {
    type Parts = (Vec<u8>, Option<Vec<u8>>, bool, Option<Vec<u8>>);
    let py = value.py();
    let parts = hooks::get(py)?.tool_result.bind(py).call1((value, structured))?;
    let (content, structured, is_error, meta): Parts = parts.extract()?;
    // All of it comes out of our own `dumps`.
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).map_err(PyErr::from);
    Ok(Answer::Tool(ToolParts {
        content: text(content)?,
        structured: structured.map(text).transpose()?,
        is_error,
        meta: meta.map(text).transpose()?,
    }))
}
