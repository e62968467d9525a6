//! Asking the client in the middle of a call.
//!
//! What async functions ask in one turn of the loop goes out together, so that `asyncio.gather` of several questions is
//! one round for a modern client. A sync function's thread waits in the runtime, without Python's lock. What a question is
//! made from and what its answer becomes is decided in Python (`ferromcp/asking.py`).

use crate::bridge::{Bridge, lock};
use crate::call::{Call, taken};
use crate::convert::raw::Text;
use crate::core::command;
use crate::error::{self, CallOver};
use crate::futures::is_done;
use ferromcp::{Answered, Answers, InputRequest};
use ferromcp_engine::{AskKey, Asked, Era, OutgoingError, Reentry, RequestKey};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use std::collections::HashMap;
use std::time::Duration;

/// One thing to ask: its key (empty: by the order of asking), method and parameters.
pub(crate) struct Question {
    key: String,
    method: String,
    params: String,
}

impl<'py> FromPyObject<'_, 'py> for Question {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let (key, method, params): (String, String, Text) = value.extract()?;
        Ok(Self { key, method, params: params.utf8()? })
    }
}

impl Question {
    fn borrowed(&self) -> InputRequest<'_> {
        InputRequest { key: &self.key, method: &self.method, params: &self.params }
    }
}

/// What async functions have asked.
#[derive(Default)]
pub(crate) struct Asks {
    /// In this turn of the loop.
    queued: Vec<Queued>,
    /// And wait for, by call.
    waiting: HashMap<RequestKey, Vec<Waiting>>,
}

/// Questions that are asked at the end of this turn of the loop.
struct Queued {
    call: Py<Call>,
    questions: Vec<Question>,
    reentry: Reentry,
    timeout_ms: Option<u64>,
    /// Of the list of answers.
    future: Py<PyAny>,
}

/// Questions that went out together.
struct Waiting {
    /// None: nobody answers them in this run of the call, which is over.
    ask: Option<AskKey>,
    /// A future, and how many of the questions are its own.
    parts: Vec<(Py<PyAny>, usize)>,
}

/// A round written by hand: what a function returns to ask, and to be called again with the answers.
#[pyclass(frozen, module = "ferromcp._native")]
pub(crate) struct InputRequired {
    pub(crate) requests: Option<String>,
    pub(crate) state: Option<String>,
}

#[pymethods]
impl InputRequired {
    /// `requests` is the JSON text of an object with a `method` and `params` under each key; `state` comes back sealed.
    #[new]
    #[pyo3(signature = (requests=None, state=None, /))]
    fn new(requests: Option<Text>, state: Option<String>) -> PyResult<Self> {
        Ok(Self { requests: requests.map(Text::one_line).transpose()?, state })
    }

    fn __repr__(&self) -> String {
        format!("<InputRequired {}>", self.requests.as_deref().unwrap_or("{}"))
    }
}

/// What becomes of a function while a modern client is asked.
pub(crate) fn reentry(name: &str) -> PyResult<Reentry> {
    match name {
        "replay" => Ok(Reentry::Replay),
        "held" => Ok(Reentry::Held),
        other => Err(PyValueError::new_err(format!("reentry {other:?}: one of 'replay', 'held'"))),
    }
}

/// Seconds of Python's as the engine's milliseconds.
pub(crate) fn milliseconds(seconds: Option<f64>) -> Option<u64> {
    let bound = seconds.map(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX));
    bound.map(|bound| u64::try_from(bound.as_millis()).unwrap_or(u64::MAX))
}

/// Asks the client of a call, and blocks this thread until it has answered.
pub(crate) fn ask_and_wait<'py>(
    py: Python<'py>,
    call: &Call,
    questions: &[Question],
    reentry: Reentry,
    timeout_ms: Option<u64>,
) -> PyResult<Bound<'py, PyList>> {
    let key = call.request.key;
    let requests: Vec<_> = questions.iter().map(Question::borrowed).collect();
    match py.detach(|| call.endpoint.ask_and_wait(key, &requests, reentry, timeout_ms)) {
        Ok(Answered::Answers(answers)) => list(py, answers),
        Ok(Answered::Over(reason)) => Err(CallOver::new_err(reason.to_string())),
        // A function that goes on although its call is over.
        Err(_) if call.is_cancelled() => Err(CallOver::new_err("the call is over")),
        Err(error) => taken(Err(error)),
    }
}

impl Bridge {
    /// A future of the answers to questions, which are asked at the end of this turn of the loop.
    pub(crate) fn ask<'py>(
        call: &Bound<'py, Call>,
        questions: Vec<Question>,
        reentry: Reentry,
        timeout_ms: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = call.py();
        let bridge = &call.get().core.bridge;
        let side = bridge.side()?;
        let future = side.future(py)?;
        let queued =
            Queued { call: call.clone().unbind(), questions, reentry, timeout_ms, future: future.clone().unbind() };
        let is_first = {
            let mut asks = lock(&bridge.asks);
            asks.queued.push(queued);
            asks.queued.len() == 1
        };
        if is_first {
            side.call_soon.bind(py).call1((&side.flush,))?;
        }
        Ok(future)
    }

    /// Asks what was asked in this turn of the loop.
    pub(crate) fn ask_queued(&self, py: Python<'_>) -> PyResult<()> {
        let queued = std::mem::take(&mut lock(&self.asks).queued);
        let mut rounds: Vec<Vec<Queued>> = Vec::new();
        for item in queued {
            // Cancelled since.
            if is_done(item.future.bind(py))? {
                continue;
            }
            let key = item.call.get().request.key;
            let is_modern = item.call.get().request.revision.era() == Era::Modern;
            // A legacy client is asked by a request for each, and each is answered on its own.
            let same = |round: &&mut Vec<Queued>| {
                round.first().is_some_and(|first| {
                    is_modern && first.call.get().request.key == key && first.reentry == item.reentry
                })
            };
            match rounds.iter_mut().find(same) {
                Some(round) => round.push(item),
                None => rounds.push(vec![item]),
            }
        }
        for round in rounds {
            self.ask_round(py, round)?;
        }
        Ok(())
    }

    fn ask_round(&self, py: Python<'_>, round: Vec<Queued>) -> PyResult<()> {
        let Some(first) = round.first() else { return Ok(()) };
        let call = first.call.get();
        let key = call.request.key;
        let asked = {
            let requests: Vec<_> = round.iter().flat_map(|item| &item.questions).map(Question::borrowed).collect();
            let (reentry, timeout_ms) = (first.reentry, first.timeout_ms);
            command(py, || call.endpoint.ask(key, &requests, reentry, timeout_ms))
        };
        let parts = || round.iter().map(|item| (item.future.clone_ref(py), item.questions.len())).collect::<Vec<_>>();
        let ask = match asked {
            Ok(Asked::Answered(results)) => return resolve(py, parts(), results.into_iter().map(Ok).collect()),
            Ok(Asked::Waiting(ask)) => Some(ask),
            Ok(Asked::Suspended) => None,
            // The task is told of it next, and its futures with it; what asks even after that gets no second chance.
            Err(_) if call.is_cancelled() && !call.is_told() => None,
            Err(_) if call.is_cancelled() => return cancel(py, parts()),
            Err(error) => {
                for item in &round {
                    let raised = error.clone_ref(py).into_value(py);
                    item.future.bind(py).call_method1(pyo3::intern!(py, "set_exception"), (raised,))?;
                }
                return Ok(());
            }
        };
        lock(&self.asks).waiting.entry(key).or_default().push(Waiting { ask, parts: parts() });
        Ok(())
    }

    /// The client has answered.
    pub(crate) fn answered(&self, py: Python<'_>, call: RequestKey, ask: AskKey, answers: Answers) -> PyResult<()> {
        let waiting = {
            let mut asks = lock(&self.asks);
            let Some(of_call) = asks.waiting.get_mut(&call) else { return Ok(()) };
            let at = of_call.iter().position(|waiting| waiting.ask == Some(ask));
            at.map(|at| of_call.swap_remove(at))
        };
        waiting.map_or(Ok(()), |waiting| resolve(py, waiting.parts, answers))
    }

    /// A call is over: whoever still waits for answers in it is cancelled.
    pub(crate) fn forget_asks(&self, py: Python<'_>, call: RequestKey) -> PyResult<()> {
        let waiting = lock(&self.asks).waiting.remove(&call);
        waiting.into_iter().flatten().try_for_each(|waiting| cancel(py, waiting.parts))
    }
}

/// Gives each future its part of the answers.
fn resolve(py: Python<'_>, parts: Vec<(Py<PyAny>, usize)>, answers: Answers) -> PyResult<()> {
    let mut answers = answers.into_iter();
    for (future, count) in parts {
        let own = list(py, answers.by_ref().take(count))?;
        let future = future.bind(py);
        if !is_done(future)? {
            future.call_method1(pyo3::intern!(py, "set_result"), (own,))?;
        }
    }
    Ok(())
}

fn cancel(py: Python<'_>, parts: Vec<(Py<PyAny>, usize)>) -> PyResult<()> {
    parts.iter().try_for_each(|(future, _)| future.bind(py).call_method0(pyo3::intern!(py, "cancel")).map(drop))
}

/// Each answer as the JSON text of its result, or as the exception that says why there is none.
fn list(
    py: Python<'_>,
    answers: impl IntoIterator<Item = Result<String, OutgoingError>>,
) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for answer in answers {
        match answer {
            Ok(result) => list.append(PyBytes::new(py, result.as_bytes()))?,
            Err(error) => list.append(error::outgoing(py, &error).into_value(py))?,
        }
    }
    Ok(list)
}
