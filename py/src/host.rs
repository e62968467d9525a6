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
use ferromcp::{CallQueue, Endpoint, Error, Host};
use ferromcp_engine as engine;
use ferromcp_engine::{Event, RequestKey, Target};
use pyo3::prelude::*;
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
            _ if self.core.sync_methods().iter().any(|method| method == call.method()) => return Place::SyncDelegate,
            _ => return Place::Delegate,
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

    /// Serves one call. None: somebody else is going to answer, or nobody waits.
    fn serve(&self, py: Python<'_>, endpoint: &Arc<Endpoint>, (request, entry): Job) -> Option<Answer> {
        let handler = entry.as_ref().map(|entry| entry.handler.clone_ref(py));
        let call = match Py::new(py, Call::new(request, Arc::clone(endpoint), Arc::clone(&self.core), handler)) {
            Ok(call) => call,
            Err(error) => return Some(failure(py, "call", "", &error, None)),
        };
        match &entry {
            Some(entry) => {
                let handler = entry.handler.get();
                self.serve_with(py, handler, &call).unwrap_or_else(|fault| Some(handler.failure(&call, py, fault)))
            }
            None => self
                .ask_delegate(py, &call)
                .unwrap_or_else(|error| Some(failure(py, "request", call.get().method_name(), &error, None))),
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
        // Attached for the thread's life, so that attaching for a call is taking the lock and nothing else.
        let body = OnThisThread(body);
        // None: the interpreter is on its way out, and there is nothing to serve with.
        let _ = Python::try_attach(|py| py.detach(move || body.call()));
        self.core.thread_ended();
    }

    fn run(&self, endpoint: &Arc<Endpoint>, queue: &CallQueue) {
        let mut items = Vec::new();
        let Some(mut next) = self.next(endpoint, queue, &mut items) else { return };
        Python::attach(|py| {
            loop {
                let key = next.0.key;
                let answer = self.serve(py, endpoint, next);
                // Without Python's lock: the answer may have to wait for a client who reads slowly.
                let following = py.detach(|| {
                    if let Some(answer) = &answer {
                        send(endpoint, key, answer);
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
            Event::Response { key, outcome } => bridge.push_one(Item::Response(key, outcome)),
            Event::Notification { stream, method, params } if self.core.delegates().notifications.is_some() => {
                bridge.push_one(Item::Notification { stream: stream.0, method, params });
            }
            Event::Initialized { stream } => bridge.push_one(Item::Stream(stream.0, "initialized")),
            _ => {}
        }
    }
}

/// Gives the engine an answer.
fn send(endpoint: &Endpoint, key: RequestKey, answer: &Answer) {
    let now = endpoint.now();
    let sent = endpoint.with_engine(|server| answer.send(server, key, now));
    if let Ok(false) = sent {
        endpoint.release(key);
    }
    if let Err(Error::Forked) = sent {
        // A function forked, and its child came back. It has none of the server's threads, and the client's answer is
        // the parent's to give: going on here could only do harm.
        eprintln!("ferromcp: a forked child returned from a served function; it has to leave by os._exit");
        // SAFETY: ends the process at once.
        unsafe { libc::_exit(1) };
    }
}

/// A thread's body, which `detach` wants to be `Send` although it calls it at once and on the same thread.
struct OnThisThread<'a>(&'a mut dyn FnMut());

// SAFETY: it is called on the thread that made it; see `enter_thread`.
unsafe impl Send for OnThisThread<'_> {}

impl OnThisThread<'_> {
    fn call(self) {
        (self.0)();
    }
}
