//! A function that serves requests: what it takes, and what its return value becomes.
//!
//! Everything here was decided when the function was declared (`ferromcp/_declare.py`); this module carries it out for
//! one request at a time. Which thread it happens on is decided in `host.rs` and `bridge.rs`.

use crate::answer::Answer;
use crate::asking::{self, InputRequired};
use crate::call::Call;
use crate::convert::plan::Plan;
use crate::convert::{read, reply};
use crate::error::{self, CallOver};
use crate::hooks;
use crate::leave::is_exit;
use ferromcp_engine::{Reentry, Target};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::sync::Arc;

/// What kind of request a function serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Tool,
    Resource,
    Template,
    Prompt,
    Completion,
    /// A method that is none of MCP.
    Method,
}

impl Kind {
    pub(crate) fn parse(name: &str) -> PyResult<Self> {
        match name {
            "tool" => Ok(Self::Tool),
            "resource" => Ok(Self::Resource),
            "template" => Ok(Self::Template),
            "prompt" => Ok(Self::Prompt),
            "completion" => Ok(Self::Completion),
            "method" => Ok(Self::Method),
            other => Err(PyTypeError::new_err(format!("no kind is called {other:?}"))),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Resource | Self::Template => "resource",
            Self::Prompt => "prompt",
            Self::Completion => "completion",
            Self::Method => "method",
        }
    }
}

/// A declared function.
#[pyclass(frozen, module = "ferromcp._native")]
pub(crate) struct Handler {
    kind: Kind,
    name: String,
    function: Py<PyAny>,
    is_async: bool,
    reentry: Reentry,
    context: Option<Py<PyString>>,
    plans: Arc<[(Py<PyString>, Plan)]>,
    structured: bool,
    defaults: Option<Py<PyAny>>,
    mime_type: Option<String>,
    /// The parameters of a completion: the value, and the arguments chosen so far.
    names: Vec<Py<PyString>>,
}

#[pymethods]
impl Handler {
    #[new]
    #[pyo3(signature = (
        kind, name, function, /, *, is_async, context=None, plans=None, structured=false, defaults=None,
        mime_type=None, names=None, reentry="replay"
    ))]
    #[allow(clippy::too_many_arguments, reason = "named arguments of a Python constructor")]
    fn new(
        py: Python<'_>,
        kind: &str,
        name: String,
        function: Py<PyAny>,
        is_async: bool,
        context: Option<&str>,
        plans: Option<&Bound<'_, PyDict>>,
        structured: bool,
        defaults: Option<Py<PyAny>>,
        mime_type: Option<String>,
        names: Option<Vec<String>>,
        reentry: &str,
    ) -> PyResult<Self> {
        let interned = |name: &str| PyString::intern(py, name).unbind();
        let mut compiled = Vec::new();
        for (key, spec) in plans.into_iter().flat_map(|plans| plans.iter()) {
            if let Some(plan) = Plan::compile(&spec)? {
                compiled.push((interned(&key.extract::<String>()?), plan));
            }
        }
        Ok(Self {
            kind: Kind::parse(kind)?,
            name,
            function,
            is_async,
            reentry: asking::reentry(reentry)?,
            context: context.map(interned),
            plans: compiled.into(),
            structured,
            defaults,
            mime_type,
            names: names.unwrap_or_default().iter().map(|name| interned(name)).collect(),
        })
    }

    /// The same with another function, which takes what this one's takes and gives what this one's gives.
    #[pyo3(signature = (function, /, *, is_async))]
    fn around(&self, py: Python<'_>, function: Py<PyAny>, is_async: bool) -> Self {
        Self {
            kind: self.kind,
            name: self.name.clone(),
            function,
            is_async,
            reentry: self.reentry,
            context: self.context.as_ref().map(|name| name.clone_ref(py)),
            plans: Arc::clone(&self.plans),
            structured: self.structured,
            defaults: self.defaults.as_ref().map(|fill| fill.clone_ref(py)),
            mime_type: self.mime_type.clone(),
            names: self.names.iter().map(|name| name.clone_ref(py)).collect(),
        }
    }
}

/// What went wrong before there was an answer.
pub(crate) enum Fault {
    /// An argument is not what its annotation asks for.
    Argument(String, PyErr),
    /// The function raised, or its value has no JSON form.
    Raised(PyErr),
}

impl Fault {
    /// What is to end the program, if it is that.
    pub(crate) fn exit(&self, py: Python<'_>) -> Option<PyErr> {
        let (Self::Argument(_, error) | Self::Raised(error)) = self;
        is_exit(py, error).then(|| error.clone_ref(py))
    }

    /// Whether the function has ended because its call is over.
    pub(crate) fn is_over(&self, py: Python<'_>) -> bool {
        let (Self::Argument(_, error) | Self::Raised(error)) = self;
        error.is_instance_of::<CallOver>(py)
    }
}

impl From<PyErr> for Fault {
    fn from(error: PyErr) -> Self {
        Self::Raised(error)
    }
}

impl Handler {
    pub(crate) fn is_async(&self) -> bool {
        self.is_async
    }

    pub(crate) fn reentry(&self) -> Reentry {
        self.reentry
    }

    pub(crate) fn function<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.function.bind(py)
    }

    /// The keyword arguments of a request.
    pub(crate) fn arguments<'py>(&self, py: Python<'py>, call: &Py<Call>) -> Result<Bound<'py, PyDict>, Fault> {
        let request = &call.get().request;
        let arguments = match &request.target {
            Target::Tool(_) | Target::Prompt(_) => read::object(py, request.arguments_json())
                .map_err(|error| Fault::Argument("arguments".into(), error))?,
            Target::Template { variables, .. } => {
                let arguments = PyDict::new(py);
                for (name, value) in variables {
                    arguments.set_item(name, value)?;
                }
                arguments
            }
            Target::Complete { value, .. } => self.completion_arguments(py, call, value)?,
            Target::Delegated => read::object(py, request.params_json().unwrap_or("{}"))
                .map_err(|error| Fault::Argument("params".into(), error))?,
            _ => PyDict::new(py),
        };
        for (name, plan) in &*self.plans {
            let name = name.bind(py);
            let Some(value) = arguments.get_item(name)? else { continue };
            match plan.apply(&value) {
                Ok(None) => {}
                Ok(Some(value)) => arguments.set_item(name, value)?,
                Err(error) => return Err(Fault::Argument(name.to_string_lossy().into_owned(), error)),
            }
        }
        if let Some(fill) = &self.defaults {
            let filled = fill.bind(py).call1((&arguments,));
            // The parameters of a method that is none of MCP are checked there too.
            filled.map_err(|error| match self.kind {
                Kind::Method => Fault::Argument("params".into(), error),
                _ => Fault::Raised(error),
            })?;
        }
        if let Some(name) = &self.context {
            arguments.set_item(name.bind(py), hooks::get(py)?.context.bind(py).call1((call,))?)?;
        }
        Ok(arguments)
    }

    fn completion_arguments<'py>(
        &self,
        py: Python<'py>,
        call: &Py<Call>,
        value: &str,
    ) -> Result<Bound<'py, PyDict>, Fault> {
        let arguments = PyDict::new(py);
        let mut names = self.names.iter();
        if let Some(name) = names.next() {
            arguments.set_item(name.bind(py), value)?;
        }
        if let Some(name) = names.next() {
            let params = read::object(py, call.get().request.params_json().unwrap_or("{}"))?;
            let context = params.get_item("context")?;
            let chosen = context.and_then(|context| context.get_item("arguments").ok());
            arguments.set_item(name.bind(py), chosen.unwrap_or_else(|| PyDict::new(py).into_any()))?;
        }
        Ok(arguments)
    }

    /// The answer for the function's return value.
    pub(crate) fn answer(&self, call: &Py<Call>, value: &Bound<'_, PyAny>) -> Result<Answer, Fault> {
        let py = value.py();
        if let Ok(round) = value.cast_exact::<InputRequired>() {
            let round = round.get();
            return Ok(Answer::InputRequired { requests: round.requests.clone(), state: round.state.clone() });
        }
        match self.kind {
            Kind::Tool => Ok(reply::tool(value, self.structured)?),
            Kind::Resource | Kind::Template => {
                let params = read::object(py, call.get().request.params_json().unwrap_or("{}"))?;
                let uri = params.get_item("uri")?;
                let result = hooks::get(py)?.resource_result.bind(py).call1((value, uri, self.mime_type.as_deref()))?;
                let (text, is_whole): (Vec<u8>, bool) = result.extract()?;
                Ok(if is_whole { Answer::Result(utf8(text)?) } else { Answer::Contents(utf8(text)?) })
            }
            Kind::Prompt => {
                let result = hooks::get(py)?.prompt_result.bind(py).call1((value,))?;
                let (description, messages, whole): (_, Vec<u8>, Option<Vec<u8>>) = result.extract()?;
                match whole {
                    Some(whole) => Ok(Answer::Result(utf8(whole)?)),
                    None => Ok(Answer::Prompt { description, messages: utf8(messages)? }),
                }
            }
            Kind::Method => {
                Ok(Answer::Result(utf8(hooks::get(py)?.method_result.bind(py).call1((value,))?.extract()?)?))
            }
            Kind::Completion => {
                let result = hooks::get(py)?.completion_result.bind(py).call1((value,))?;
                let (values, total, has_more): (Vec<u8>, Option<u64>, Option<bool>) = result.extract()?;
                Ok(Answer::Completion { values: utf8(values)?, total, has_more })
            }
        }
    }

    /// The answer for what went wrong.
    pub(crate) fn failure(&self, call: &Py<Call>, py: Python<'_>, fault: Fault) -> Answer {
        let (argument, error) = match fault {
            Fault::Argument(name, error) => (Some(name), error),
            Fault::Raised(error) => (None, error),
        };
        match failure(py, self.kind.name(), &self.name, &error, argument.as_deref()) {
            Answer::UnknownResource(uri) if uri.is_empty() => Answer::UnknownResource(requested_uri(py, call)),
            answer => answer,
        }
    }
}

fn requested_uri(py: Python<'_>, call: &Py<Call>) -> String {
    let params = read::object(py, call.get().request.params_json().unwrap_or("{}")).ok();
    let uri = params.and_then(|params| params.get_item("uri").ok().flatten());
    uri.and_then(|uri| uri.extract().ok()).unwrap_or_default()
}

/// What an exception tells the peer, as `ferromcp/_failures.py` decides.
pub(crate) fn failure(py: Python<'_>, kind: &str, name: &str, error: &PyErr, argument: Option<&str>) -> Answer {
    let decided = || -> PyResult<Answer> {
        // `into_value` is what puts the traceback onto the exception.
        let raised = error.clone_ref(py).into_value(py);
        let parts = hooks::get(py)?.failure.bind(py).call1((kind, name, raised, argument))?;
        let (what, text, data): (Bound<'_, PyAny>, Bound<'_, PyString>, Option<Vec<u8>>) = parts.extract()?;
        let text = text.to_string_lossy().into_owned();
        let data = data.map(utf8).transpose()?;
        if let Ok(code) = what.extract::<i64>() {
            return Ok(Answer::Failed { code, text, data });
        }
        match what.extract::<String>()?.as_str() {
            "tool" => Ok(reply::failed(text)),
            "invalid_params" => Ok(Answer::Failed { code: ferromcp_engine::error::code::INVALID_PARAMS, text, data }),
            "unknown_resource" => Ok(Answer::UnknownResource(text)),
            "capability" => Ok(Answer::MissingCapability(text)),
            _ => Ok(Answer::Failed { code: ferromcp_engine::error::code::INTERNAL_ERROR, text, data }),
        }
    };
    decided().unwrap_or_else(|second| Answer::Failed {
        code: ferromcp_engine::error::code::INTERNAL_ERROR,
        text: format!("Error in {kind} '{name}': {}", error::text(py, &second)),
        data: None,
    })
}

/// Text that came out of our own serializer.
pub(crate) fn utf8(bytes: Vec<u8>) -> PyResult<String> {
    String::from_utf8(bytes).map_err(PyErr::from)
}
