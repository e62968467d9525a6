//! Python as the runtime's host: where each call is served.
//!
//! Sync functions run here, on the thread that took the call from the queue, one after another with Python's lock taken
//! once. Async functions and delegates go to the loop (`bridge.rs`), which is woken once for all that one run of the
//! queue found. What a function takes and gives is decided in `handler.rs`.

use crate::answer::Answer;
use crate::bridge::Item;
use crate::call::Call;
use crate::core::{Core, Entry};
use crate::delegate::{delegated, is_awaitable};
use crate::handler::{Fault, Handler, failure};
use crate::leave::end_fork;
use ferromcp::{CallQueue, Endpoint, Host};
use ferromcp_engine as engine;
use ferromcp_engine::{Event, RequestKey, Target};
use pyo3::ffi;
use pyo3::prelude::*;
use std::cell::Cell;
use std::sync::Arc;

pub(crate) struct PyHost {
    pub(crate) core: Arc<Core>,
}

/// Where a call is served.
enum Place {
    Here(Arc<Entry>),
    Loop(Arc<Entry>),
    Delegate,
    /// The sync delegate is asked first.
    SyncDelegate,
    /// No function: the answer is known.
    Nowhere(Answer),
}

/// A call that is served on this thread, by its function or else by the sync delegate.
type Job = (engine::Call, Option<Arc<Entry>>);

/// What came of a call.
struct Served {
    /// None: somebody else is going to answer, or nobody waits.
    answer: Option<Answer>,
    /// The function asked for the end of the program.
    exit: Option<PyErr>,
}

impl PyHost {
    fn place(&self, call: &engine::Call) -> Place {
        let entry = match &call.target {
            Target::Tool(tag) | Target::Resource(tag) | Target::Prompt(tag) => self.core.entry(*tag),
            Target::Template { tag, .. } => self.core.entry(*tag),
            Target::Complete { tag, argument, .. } => match self.core.completion(*tag, argument) {
                Some(entry) => Some(entry),
                None => {
                    return Place::Nowhere(Answer::Completion { values: "[]".into(), total: None, has_more: None });
                }
            },
            _ => match self.core.method(call.method()) {
                Some(entry) => Some(entry),
                None if self.core.sync_methods().iter().any(|method| method == call.method()) => {
                    return Place::SyncDelegate;
                }
                None => return Place::Delegate,
            },
        };
        match entry {
            Some(entry) if entry.is_async => Place::Loop(entry),
            Some(entry) => Place::Here(entry),
            // Removed after the engine had taken the call.
            None => Place::Nowhere(Answer::Failed {
                code: engine::error::code::INVALID_PARAMS,
                text: "this was removed a moment ago".into(),
                data: None,
            }),
        }
    }

    /// Takes calls until one has to be served here; the others are put on `items` or answered.
    fn next(&self, endpoint: &Arc<Endpoint>, queue: &CallQueue, items: &mut Vec<Item>) -> Option<Job> {
        loop {
            let Some(call) = queue.next() else {
                self.core.bridge.push(items);
                return None;
            };
            match self.place(&call) {
                Place::Here(entry) => {
                    // The function may take its time; those for the loop must not wait for it.
                    self.core.bridge.push(items);
                    return Some((call, Some(entry)));
                }
                Place::SyncDelegate => {
                    self.core.bridge.push(items);
                    return Some((call, None));
                }
                Place::Loop(entry) => items.push(Item::Start(call, Arc::clone(endpoint), entry)),
                Place::Delegate => items.push(Item::Delegate(call, Arc::clone(endpoint))),
                Place::Nowhere(answer) => send(endpoint, call.key, &answer),
            }
        }
    }

    /// Serves one call.
    fn serve(&self, py: Python<'_>, endpoint: &Arc<Endpoint>, (request, entry): Job) -> Served {
        let handler = entry.as_ref().map(|entry| entry.handler.clone_ref(py));
        let call = match Py::new(py, Call::new(request, Arc::clone(endpoint), Arc::clone(&self.core), handler)) {
            Ok(call) => call,
            Err(error) => return Served { answer: Some(failure(py, "call", "", &error, None)), exit: None },
        };
        let (served, handler) = match &entry {
            Some(entry) => (self.serve_with(py, entry.handler.get(), &call), Some(entry.handler.get())),
            None => (self.ask_delegate(py, &call).map_err(Fault::Raised), None),
        };
        match served {
            Ok(answer) => Served { answer, exit: None },
            Err(fault) if fault.is_over(py) => {
                endpoint.release(call.get().request.key);
                Served { answer: None, exit: None }
            }
            Err(fault) => Served { exit: fault.exit(py), answer: Some(failed(py, handler, &call, fault)) },
        }
    }

    fn serve_with(&self, py: Python<'_>, handler: &Handler, call: &Py<Call>) -> Result<Option<Answer>, Fault> {
        let arguments = handler.arguments(py, call)?;
        let context = self.core.copied_context(py, call)?;
        let value = context.call_method(pyo3::intern!(py, "run"), (handler.function(py),), Some(&arguments))?;
        if is_awaitable(&value)? {
            self.core.bridge.push_one(Item::Await(call.clone_ref(py), value.unbind(), context.unbind()));
            return Ok(None);
        }
        handler.answer(call, &value).map(Some)
    }

    fn ask_delegate(&self, py: Python<'_>, call: &Py<Call>) -> PyResult<Option<Answer>> {
        let delegate = self.core.delegates().sync.as_ref().map(|delegate| delegate.clone_ref(py));
        if let Some(delegate) = delegate {
            let context = self.core.copied_context(py, call)?;
            let value = context.call_method1(pyo3::intern!(py, "run"), (delegate, call))?;
            if is_awaitable(&value)? {
                self.core.bridge.push_one(Item::Await(call.clone_ref(py), value.unbind(), context.unbind()));
                return Ok(None);
            }
            if !value.is_none() {
                return delegated(&value).map(Some);
            }
        }
        self.core.bridge.push_one(Item::Handed(call.clone_ref(py)));
        Ok(None)
    }
}

impl Host for PyHost {
    fn enter_thread(&self, body: &mut dyn FnMut()) {
        self.core.thread_began();
        body();
        leave_python();
        self.core.thread_ended();
    }

    fn run(&self, endpoint: &Arc<Endpoint>, queue: &CallQueue) {
        // A client may be quicker than the thread that starts the server, and its first call add a tool.
        self.core.serving.wait();
        let mut items = Vec::new();
        let Some(mut next) = self.next(endpoint, queue, &mut items) else { return };
        Python::attach(|py| {
            stay_in_python(py);
            loop {
                let key = next.0.key;
                let Served { answer, exit } = self.serve(py, endpoint, next);
                end_fork(py, &self.core, exit.as_ref());
                // Without Python's lock: the answer may have to wait for a client who reads slowly.
                let following = py.detach(|| {
                    if let Some(answer) = &answer {
                        send(endpoint, key, answer);
                    }
                    if let Some(error) = exit {
                        // Behind the answer, which is sent before the program ends.
                        self.core.bridge.push_one(Item::Exit(error));
                    }
                    self.next(endpoint, queue, &mut items)
                });
                let Some(following) = following else { return };
                next = following;
            }
        });
    }

    fn notice(&self, _endpoint: &Arc<Endpoint>, event: Event) {
        let bridge = &self.core.bridge;
        match event {
            // A sync function sees it by `cancelled`; a task is cancelled, or not started.
            Event::Cancelled { key, .. } if bridge.has_loop() => bridge.push_one(Item::Cancel(key)),
            Event::Answers { ask, call, answers } => bridge.push_one(Item::Answers(call, ask, answers)),
            Event::TaskBegun { call, id } => bridge.push_one(Item::TaskBegun(call, id)),
            Event::Response { key, outcome } => bridge.push_one(Item::Response(key, outcome)),
            Event::Notification { stream, method, params } if self.core.delegates().notifications.is_some() => {
                bridge.push_one(Item::Notification { stream: stream.0, method, params });
            }
            Event::Initialized { stream } => bridge.push_one(Item::Stream(stream.0, "initialized")),
            Event::Closed { stream } if self.core.delegates().streams.is_some() => {
                bridge.push_one(Item::Stream(stream.0, "closed"));
            }
            Event::Subscribed { uri, .. } if self.core.delegates().subscriptions.is_some() => {
                bridge.push_one(Item::Subscription(uri, true));
            }
            Event::Unsubscribed { uri, .. } if self.core.delegates().subscriptions.is_some() => {
                bridge.push_one(Item::Subscription(uri, false));
            }
            _ => {}
        }
    }
}

/// The answer for what went wrong, in the words of the function or of a delegate.
fn failed(py: Python<'_>, handler: Option<&Handler>, call: &Py<Call>, fault: Fault) -> Answer {
    match (handler, fault) {
        (Some(handler), fault) => handler.failure(call, py, fault),
        (None, Fault::Argument(_, error) | Fault::Raised(error)) => {
            failure(py, "request", call.get().method_name(), &error, None)
        }
    }
}

/// Gives the engine an answer.
fn send(endpoint: &Endpoint, key: RequestKey, answer: &Answer) {
    let now = endpoint.now();
    if let Ok(false) = endpoint.with_engine(|server| answer.send(server, key, now)) {
        endpoint.release(key);
    }
}

thread_local! {
    /// Python knows this thread until the thread ends.
    static KNOWN: Cell<bool> = const { Cell::new(false) };
}

/// Lets Python keep what it knows of this thread, so that the next call takes the lock and nothing else. Not done when
/// the thread begins: one that only reads or watches must not wait for a lock that some function holds for long.
fn stay_in_python(_py: Python<'_>) {
    if !KNOWN.replace(true) {
        // SAFETY: the thread is attached. What this counts is taken back by `leave_python`.
        unsafe { ffi::PyGILState_Ensure() };
    }
}

/// Takes back what [`stay_in_python`] did.
fn leave_python() {
    if KNOWN.replace(false) {
        // None: the interpreter is on its way out, and forgets the thread by itself.
        // SAFETY: the thread is attached, and stays so, as it was when the counterpart was called.
        let _ = Python::try_attach(|_| unsafe { ffi::PyGILState_Release(ffi::PyGILState_STATE::PyGILState_LOCKED) });
    }
}
