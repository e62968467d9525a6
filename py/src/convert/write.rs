//! Python values to JSON text, straight into one buffer.
//!
//! Decides what has a JSON form: None, bool, int, float, str, list, tuple and dict with str keys have their own; for
//! every other value `ferromcp._results.plain` gives one of these in its place or says that there is none. NaN and
//! infinite numbers have none. A refusal names the place.

use super::raw::Json;
use crate::error::{self, SerializationError};
use crate::hooks;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::fmt::Write as _;

/// Levels of lists and dicts. 120: what fits, with the envelope round it, into the 128 that our engine reads itself.
const DEEPEST: usize = 120;

/// Steps that `plain` may take in a row for one value; it needs two at most.
const STEPS: usize = 8;

/// A value that has no JSON form, with the way to it, innermost step first.
pub(crate) struct Problem {
    path: Vec<Step>,
    reason: Reason,
}

enum Step {
    Index(usize),
    Key(String),
}

enum Reason {
    Says(String),
    Raised(PyErr),
}

impl Problem {
    fn says(reason: impl Into<String>) -> Self {
        Self { path: Vec::new(), reason: Reason::Says(reason.into()) }
    }

    fn below(mut self, step: Step) -> Self {
        self.path.push(step);
        self
    }

    /// `SerializationError`, with the path from `root`.
    pub(crate) fn into_error(self, py: Python<'_>, root: &str) -> PyErr {
        let mut path = root.to_owned();
        for step in self.path.iter().rev() {
            match step {
                Step::Index(at) => _ = write!(path, "[{at}]"),
                Step::Key(key) if is_identifier(key) => _ = write!(path, ".{key}"),
                Step::Key(key) => {
                    path.push('[');
                    string(&mut path, key);
                    path.push(']');
                }
            }
        }
        match self.reason {
            Reason::Says(reason) => SerializationError::new_err(format!("{path}: {reason}")),
            Reason::Raised(cause) => {
                let error = SerializationError::new_err(format!("{path}: {}", error::text(py, &cause)));
                error.set_cause(py, Some(cause));
                error
            }
        }
    }
}

impl From<PyErr> for Problem {
    fn from(error: PyErr) -> Self {
        Self { path: Vec::new(), reason: Reason::Raised(error) }
    }
}

/// The JSON text of a value; `root` is what an error's path begins with.
pub(crate) fn dumps(value: &Bound<'_, PyAny>, root: &str) -> PyResult<String> {
    let mut out = String::new();
    self::value(&mut out, value).map_err(|problem| problem.into_error(value.py(), root))?;
    Ok(out)
}

/// Appends the JSON text of a value.
pub(crate) fn value(out: &mut String, value: &Bound<'_, PyAny>) -> Result<(), Problem> {
    Writer { out, depth: 0 }.value(value, 0)
}

struct Writer<'a> {
    out: &'a mut String,
    depth: usize,
}

impl Writer<'_> {
    fn value(&mut self, value: &Bound<'_, PyAny>, steps: usize) -> Result<(), Problem> {
        // Exact types first, the commonest first: each test is one comparison of pointers.
        if let Ok(text) = value.cast_exact::<PyString>() {
            return self.text(text);
        }
        if value.is_exact_instance_of::<PyInt>() {
            return self.int(value);
        }
        if let Ok(float) = value.cast_exact::<PyFloat>() {
            return self.float(float.value());
        }
        if let Ok(truth) = value.cast_exact::<PyBool>() {
            self.out.push_str(if truth.is_true() { "true" } else { "false" });
            return Ok(());
        }
        if value.is_none() {
            self.out.push_str("null");
            return Ok(());
        }
        if let Ok(dict) = value.cast_exact::<PyDict>() {
            return self.nested(|writer| writer.dict(dict));
        }
        if let Ok(list) = value.cast_exact::<PyList>() {
            return self.nested(|writer| writer.items(list.iter()));
        }
        if let Ok(tuple) = value.cast::<PyTuple>() {
            return self.nested(|writer| writer.items(tuple.iter()));
        }
        self.other(value, steps)
    }

    fn nested(&mut self, write: impl FnOnce(&mut Self) -> Result<(), Problem>) -> Result<(), Problem> {
        if self.depth == DEEPEST {
            return Err(Problem::says(format!("nested deeper than {DEEPEST} levels")));
        }
        self.depth += 1;
        write(self)?;
        self.depth -= 1;
        Ok(())
    }

    fn items<'py>(&mut self, items: impl Iterator<Item = Bound<'py, PyAny>>) -> Result<(), Problem> {
        self.out.push('[');
        for (at, item) in items.enumerate() {
            if at > 0 {
                self.out.push(',');
            }
            self.value(&item, 0).map_err(|problem| problem.below(Step::Index(at)))?;
        }
        self.out.push(']');
        Ok(())
    }

    fn dict(&mut self, dict: &Bound<'_, PyDict>) -> Result<(), Problem> {
        let size = dict.len();
        self.out.push('{');
        let mut first = true;
        // Written against PyDict_Next itself: pyo3's iterator panics when code that runs for a value changes the dict.
        let mut position: ffi::Py_ssize_t = 0;
        loop {
            let (mut key, mut item) = (std::ptr::null_mut(), std::ptr::null_mut());
            // SAFETY: `dict` is a dict that we hold; key and item are borrowed from it and given references of their
            // own before any Python code can run.
            let (key, item) = unsafe {
                if ffi::PyDict_Next(dict.as_ptr(), &mut position, &mut key, &mut item) == 0 {
                    break;
                }
                (Bound::from_borrowed_ptr(dict.py(), key), Bound::from_borrowed_ptr(dict.py(), item))
            };
            if !std::mem::take(&mut first) {
                self.out.push(',');
            }
            let Ok(name) = key.cast::<PyString>() else {
                let shown = key.repr()?.to_string_lossy().into_owned();
                return Err(Problem::says(format!("key {shown} is not a string")));
            };
            self.text(name)?;
            self.out.push(':');
            if let Err(problem) = self.value(&item, 0) {
                return Err(problem.below(Step::Key(name.to_string_lossy().into_owned())));
            }
            if dict.len() != size {
                return Err(Problem::says("changed while it was written"));
            }
        }
        self.out.push('}');
        Ok(())
    }

    fn text(&mut self, text: &Bound<'_, PyString>) -> Result<(), Problem> {
        match text.to_str() {
            Ok(text) => string(self.out, text),
            // Only an unpaired surrogate has no UTF-8 form.
            Err(_) => surrogates(self.out, text)?,
        }
        Ok(())
    }

    fn int(&mut self, value: &Bound<'_, PyAny>) -> Result<(), Problem> {
        let mut overflow = 0;
        // SAFETY: `value` is an int; the call sets no exception for one.
        let small = unsafe { ffi::PyLong_AsLongLongAndOverflow(value.as_ptr(), &mut overflow) };
        if overflow == 0 {
            integer(self.out, small);
            return Ok(());
        }
        // SAFETY: `value` is an int; a new reference or an exception comes back.
        let digits = unsafe { Bound::from_owned_ptr_or_err(value.py(), ffi::PyNumber_ToBase(value.as_ptr(), 10)) }?;
        self.out.push_str(digits.cast::<PyString>().map_err(PyErr::from)?.to_str()?);
        Ok(())
    }

    fn float(&mut self, value: f64) -> Result<(), Problem> {
        if value.is_finite() {
            // The shortest text that reads back as the same number, with a point or an exponent: 1.0 stays 1.0.
            _ = write!(self.out, "{value:?}");
            return Ok(());
        }
        Err(Problem::says(match value {
            f64::INFINITY => "Infinity is not JSON",
            f64::NEG_INFINITY => "-Infinity is not JSON",
            _ => "NaN is not JSON",
        }))
    }

    #[cold]
    fn other(&mut self, value: &Bound<'_, PyAny>, steps: usize) -> Result<(), Problem> {
        if let Ok(json) = value.cast::<Json>() {
            self.out.push_str(&json.get().text);
            return Ok(());
        }
        let py = value.py();
        let is_enum = value.get_type().hasattr(pyo3::intern!(py, "_member_map_"))?;
        if !is_enum {
            if let Ok(text) = value.cast::<PyString>() {
                return self.text(text);
            }
            if value.is_instance_of::<PyInt>() {
                return self.int(value);
            }
            if let Ok(float) = value.cast::<PyFloat>() {
                return self.float(float.value());
            }
            if let Ok(dict) = value.cast::<PyDict>() {
                return self.nested(|writer| writer.dict(dict));
            }
            if let Ok(list) = value.cast::<PyList>() {
                return self.nested(|writer| writer.items(list.iter()));
            }
        }
        if steps == STEPS {
            return Err(Problem::says("has no JSON form"));
        }
        let plain = hooks::get(py)?.plain.bind(py).call1((value,))?;
        self.value(&plain, steps + 1)
    }
}

/// Appends an integer.
pub(crate) fn integer(out: &mut String, value: i64) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push('-');
    }
    out.extend(digits[at..].iter().map(|digit| char::from(*digit)));
}

/// Appends a string in quotes, escaped where JSON asks for it and nowhere else.
pub(crate) fn string(out: &mut String, text: &str) {
    out.reserve(text.len() + 2);
    out.push('"');
    escaped(out, text);
    out.push('"');
}

fn escaped(out: &mut String, text: &str) {
    let bytes = text.as_bytes();
    let mut written = 0;
    let mut at = 0;
    while at < bytes.len() {
        // A block without anything to escape is passed over as a whole; the compiler makes vector code of this.
        if let Some(block) = bytes.get(at..at + 32)
            && !block.iter().fold(false, |found, byte| found | (*byte < 0x20) | (*byte == b'"') | (*byte == b'\\'))
        {
            at += 32;
            continue;
        }
        let byte = bytes[at];
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            at += 1;
            continue;
        }
        out.push_str(&text[written..at]);
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            control => _ = write!(out, "\\u{control:04x}"),
        }
        at += 1;
        written = at;
    }
    out.push_str(&text[written..]);
}

/// Appends a string with unpaired surrogates: those as `\uXXXX`, the rest as always.
#[cold]
fn surrogates(out: &mut String, text: &Bound<'_, PyString>) -> PyResult<()> {
    // "surrogatepass" writes a surrogate in the three bytes ED A0..BF 80..BF, which no valid UTF-8 holds.
    let encoded = text.call_method1(pyo3::intern!(text.py(), "encode"), ("utf-8", "surrogatepass"))?;
    let mut rest = encoded.cast::<PyBytes>().map_err(PyErr::from)?.as_bytes();
    out.push('"');
    while !rest.is_empty() {
        let valid = match std::str::from_utf8(rest) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&rest[..error.valid_up_to()]).unwrap_or_default(),
        };
        escaped(out, valid);
        rest = &rest[valid.len()..];
        if let [0xED, second, third, after @ ..] = rest {
            let unit = 0xD000 | (u32::from(*second) & 0x3F) << 6 | (u32::from(*third) & 0x3F);
            _ = write!(out, "\\u{unit:04x}");
            rest = after;
        }
    }
    out.push('"');
    Ok(())
}

fn is_identifier(key: &str) -> bool {
    let mut characters = key.chars();
    characters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && characters.all(|character| character.is_alphanumeric() || character == '_')
}
