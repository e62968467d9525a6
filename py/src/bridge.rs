//! The way from the server's threads to the asyncio loop, and what happens there.
//!
//! Threads put items on a list and wake the loop once for all that gathers until it looks; the loop starts a task for
//! each call, in a copy of the context that was current when the server started. Answers are collected for one turn of
//! the loop and given to the engine under one taking of its lock. What else needs the loop's thread is
//! in `asking.rs`, `futures.rs` and `told.rs`; which calls come here is decided in `host.rs`. Items may wait here before there is a loop at all.

use crate::answer::Answer;
use crate::asking::Asks;
use crate::call::{Call, taken};
use crate::core::{Core, Entry};
use crate::delegate::{delegated, is_awaitable};
use crate::futures::Futures;
use crate::handler::{Fault, failure};
use crate::leave::{end_fork, is_exit};
use crate::loop_side::LoopSide;
use crate::told::{release, report, tell, tell_news};
use ferromcp::{Answers, Endpoint};
use ferromcp_engine as engine;
use ferromcp_engine::{AskKey, OutgoingError, OutgoingKey, RequestKey};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::collections::HashMap;
use std::io::{PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Something for the loop's thread.
pub(crate) enum Item {
    /// A call of an async function.
    Start(engine::Call, Arc<Endpoint>, Arc<Entry>),
    /// A call for the delegate.
    Delegate(engine::Call, Arc<Endpoint>),
    /// A call that the sync delegate left to the other one.
    Handed(Py<Call>),
    /// A function that looked sync gave an awaitable; with the context it was called in.
    Await(Py<Call>, Py<PyAny>, Py<PyAny>),
    /// Nobody waits for this call's answer any more.
    Cancel(RequestKey),
    /// The client has answered what this call asked.
    Answers(RequestKey, AskKey, Answers),
    /// The end of a request of ours.
    Response(OutgoingKey, Result<String, OutgoingError>),
    /// This call is a task of this id now, or goes on without.
    TaskBegun(RequestKey, Option<String>),
    Notification {
        stream: u32,
        method: String,
        params: Option<String>,
    },
    Stream(u32, &'static str),
    /// There is more of the response to a carrier's request.
    Ready(u64),
    /// This resource is watched from now on, or not any more.
    Subscription(String, bool),
    /// Who was told something gave an awaitable; with the context it was called in.
    Told(Py<PyAny>, Py<PyAny>),
    /// A function asked for the end of the program.
    Exit(PyErr),
    /// The server is over.
    Ended,
}

impl Item {
    fn needs_loop(&self) -> bool {
        matches!(self, Self::Start(..) | Self::Delegate(..) | Self::Handed(..) | Self::Await(..) | Self::Told(..))
    }
}

pub(crate) struct Bridge {
    items: Mutex<Vec<Item>>,
    /// A byte is in the pipe, or about to be.
    woken: AtomicBool,
    pipe: (PipeReader, PipeWriter),
    side: Mutex<Option<Arc<LoopSide>>>,
    /// Calls whose task runs. Only the loop's thread changes it.
    running: Mutex<HashMap<RequestKey, Py<Call>>>,
    /// Tasks of those who are told something: the loop keeps none alive by itself.
    pub(crate) told: Mutex<Vec<Py<PyAny>>>,
    /// Of what is told later.
    pub(crate) futures: Mutex<Futures>,
    /// What async functions have asked of their clients.
    pub(crate) asks: Mutex<Asks>,
    /// Who waits for more of the response to which of a carrier's requests.
    pub(crate) carried: Mutex<HashMap<u64, Py<PyAny>>>,
    /// Answers of this turn of the loop.
    answers: Mutex<Vec<(RequestKey, Answer)>>,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Bridge {
    pub(crate) fn new() -> PyResult<Self> {
        Ok(Self {
            items: Mutex::default(),
            woken: AtomicBool::new(false),
            pipe: std::io::pipe()?,
            side: Mutex::default(),
            running: Mutex::default(),
            told: Mutex::default(),
            futures: Mutex::default(),
            asks: Mutex::default(),
            carried: Mutex::default(),
            answers: Mutex::default(),
        })
    }

    /// Hands items over. Needs no lock of Python's.
    pub(crate) fn push(&self, items: &mut Vec<Item>) {
        if items.is_empty() {
            return;
        }
        lock(&self.items).append(items);
        if !self.woken.swap(true, Ordering::AcqRel) {
            // At most one byte is in the pipe, so this neither blocks nor fails.
            let _ = (&self.pipe.1).write(&[1]);
        }
    }

    pub(crate) fn push_one(&self, item: Item) {
        self.push(&mut vec![item]);
    }

    fn take(&self) -> Vec<Item> {
        if self.woken.swap(false, Ordering::AcqRel) {
            let _ = (&self.pipe.0).read(&mut [0; 1]);
        }
        std::mem::take(&mut lock(&self.items))
    }

    pub(crate) fn has_loop(&self) -> bool {
        lock(&self.side).is_some()
    }

    pub(crate) fn side(&self) -> PyResult<Arc<LoopSide>> {
        lock(&self.side).clone().ok_or_else(|| PyRuntimeError::new_err("the server has no event loop"))
    }

    /// Gives the bridge its loop. `server` is the Python object whose `_drain` and `_flush` the loop calls.
    pub(crate) fn set_loop(&self, server: &Bound<'_, PyAny>, event_loop: &Bound<'_, PyAny>) -> PyResult<()> {
        if lock(&self.side).is_some() {
            return Err(PyRuntimeError::new_err("the server has an event loop already"));
        }
        let side = LoopSide::new(server, event_loop)?;
        *lock(&self.side) = Some(Arc::new(side));
        event_loop.call_method1("add_reader", (self.pipe.0.as_raw_fd(), server.getattr("_drain")?))?;
        Ok(())
    }

    /// A future that is done when the server is over.
    pub(crate) fn finished(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(self.side()?.finished.clone_ref(py))
    }

    /// The tasks that are not done: of calls, and of those who are told something.
    pub(crate) fn tasks(&self, py: Python<'_>) -> Vec<Py<PyAny>> {
        let mut tasks: Vec<_> = lock(&self.running).values().filter_map(|call| call.get().task(py)).collect();
        tasks.extend(lock(&self.told).iter().map(|task| task.clone_ref(py)));
        tasks
    }

    /// Waits, without Python's lock, for the end of the server or for something that needs a loop after all. `signals`
    /// becomes readable when the process has received one. Raises what a function raised to end the program.
    pub(crate) fn wait(&self, py: Python<'_>, core: &Core, signals: Option<RawFd>) -> PyResult<&'static str> {
        loop {
            let descriptor = self.pipe.0.as_raw_fd();
            // poll passes over a negative descriptor.
            let signalled = py.detach(|| readable(descriptor, signals.unwrap_or(-1)))?;
            // A signal handler may have forked.
            end_fork(py, core, None);
            if signalled {
                py.check_signals()?;
                continue;
            }
            let mut items = self.take();
            if let Some(at) = items.iter().position(|item| matches!(item, Item::Exit(_)))
                && let Item::Exit(error) = items.swap_remove(at)
            {
                return Err(error);
            }
            // Functions that wait for nothing need no loop.
            let mut told = Vec::new();
            for item in items.extract_if(.., |item| item.is_news()) {
                told.extend(tell_news(py, core, &item)?);
            }
            // Who was told of a subscription is also told of its end, which comes with the server's at the latest.
            let owes_news = !told.is_empty();
            items.splice(0..0, told);
            if !owes_news && items.iter().any(|item| matches!(item, Item::Ended)) {
                release(core);
                return Ok("over");
            }
            if items.iter().any(Item::needs_loop) {
                let mut kept = items;
                // In front of what has come since.
                let mut queue = lock(&self.items);
                kept.append(&mut queue);
                *queue = kept;
                drop(queue);
                if !self.woken.swap(true, Ordering::AcqRel) {
                    let _ = (&self.pipe.1).write(&[1]);
                }
                return Ok("loop");
            }
        }
    }

    /// Everything that has gathered, on the loop's thread. Raises, through the loop, what a function raised to end the
    /// program.
    pub(crate) fn drain(&self, py: Python<'_>, core: &Arc<Core>) -> PyResult<()> {
        end_fork(py, core, None);
        let side = self.side()?;
        let mut exit = Ok(());
        for item in self.take() {
            // The items behind it must not be lost with an error.
            match self.handle(py, core, &side, item) {
                Ok(()) => {}
                Err(error) if is_exit(py, &error) => exit = Err(error),
                Err(error) => report(py, &error)?,
            }
        }
        exit
    }

    fn handle(&self, py: Python<'_>, core: &Arc<Core>, side: &LoopSide, item: Item) -> PyResult<()> {
        match item {
            Item::Start(request, endpoint, entry) => self.start(py, core, side, request, endpoint, &entry)?,
            Item::Delegate(request, endpoint) => {
                let call = Py::new(py, Call::new(request, endpoint, Arc::clone(core), None))?;
                if !abandoned(&call) {
                    self.delegate(py, core, side, &call)?;
                }
            }
            Item::Handed(call) => self.delegate(py, core, side, &call)?,
            Item::Await(call, awaitable, context) => {
                self.spawn(py, side, context.bind(py), awaitable.into_bound(py), &call)?;
            }
            Item::Cancel(key) => {
                let call = lock(&self.running).get(&key).map(|call| call.clone_ref(py));
                if let Some(call) = call {
                    call.get().tell();
                    if let Some(task) = call.get().task(py) {
                        task.bind(py).call_method0(pyo3::intern!(py, "cancel"))?;
                    }
                }
                self.forget(py, key)?;
            }
            Item::Answers(call, ask, answers) => self.answered(py, call, ask, answers)?,
            Item::Response(key, outcome) => self.resolve(py, key, outcome)?,
            Item::TaskBegun(call, id) => self.task_begun(py, call, id)?,
            Item::Ready(number) => self.carried_is_ready(py, number)?,
            Item::Stream(stream, what) => {
                let handler = core.delegates().streams.as_ref().map(|handler| handler.clone_ref(py));
                if let Some(told) = tell(py, core, handler, (stream, what))? {
                    self.handle(py, core, side, told)?;
                }
            }
            Item::Notification { .. } | Item::Subscription(..) => {
                if let Some(told) = tell_news(py, core, &item)? {
                    self.handle(py, core, side, told)?;
                }
            }
            Item::Told(awaitable, context) => {
                self.await_told(py, core, side, context.bind(py), awaitable.into_bound(py))?;
            }
            Item::Exit(error) => return Err(error),
            Item::Ended => {
                // The loop holds the Python server, and the bridge the loop: without this neither would be freed.
                *lock(&self.side) = None;
                release(core);
                side.event_loop.bind(py).call_method1("remove_reader", (self.pipe.0.as_raw_fd(),))?;
                let finished = side.finished.bind(py);
                if !finished.call_method0("done")?.is_truthy()? {
                    finished.call_method1("set_result", (py.None(),))?;
                }
            }
        }
        Ok(())
    }

    fn start(
        &self,
        py: Python<'_>,
        core: &Arc<Core>,
        side: &LoopSide,
        request: engine::Call,
        endpoint: Arc<Endpoint>,
        entry: &Arc<Entry>,
    ) -> PyResult<()> {
        let key = request.key;
        let handler = entry.handler.clone_ref(py);
        let call = Py::new(py, Call::new(request, endpoint, Arc::clone(core), Some(handler)))?;
        if abandoned(&call) {
            return Ok(());
        }
        let context = core.copied_context(py, &call)?;
        let handler = entry.handler.get();
        let coroutine = handler
            .arguments(py, &call)
            .and_then(|arguments| handler.function(py).call((), Some(&arguments)).map_err(Fault::Raised));
        match coroutine {
            Ok(coroutine) => self.spawn(py, side, &context, coroutine, &call),
            Err(fault) => {
                let exit = fault.exit(py);
                self.answer(py, side, key, handler.failure(&call, py, fault))?;
                exit.map_or(Ok(()), Err)
            }
        }
    }

    fn delegate(&self, py: Python<'_>, core: &Arc<Core>, side: &LoopSide, call: &Py<Call>) -> PyResult<()> {
        let key = call.get().request.key;
        let handler = core.delegates().calls.as_ref().map(|handler| handler.clone_ref(py));
        let served = handler.ok_or_else(|| PyRuntimeError::new_err("nobody serves this method")).and_then(|handler| {
            let context = core.copied_context(py, call)?;
            Ok((context.call_method1(pyo3::intern!(py, "run"), (handler, call))?, context))
        });
        let answer = match served {
            Ok((value, context)) if is_awaitable(&value)? => return self.spawn(py, side, &context, value, call),
            Ok((value, _)) => delegated(&value),
            Err(error) => Err(error),
        };
        let exit = answer.as_ref().err().filter(|error| is_exit(py, error)).map(|error| error.clone_ref(py));
        let answer = answer.unwrap_or_else(|error| failure(py, "request", call.get().method_name(), &error, None));
        self.answer(py, side, key, answer)?;
        exit.map_or(Ok(()), Err)
    }

    /// Makes the task that serves a call.
    fn spawn(
        &self,
        py: Python<'_>,
        side: &LoopSide,
        context: &Bound<'_, PyAny>,
        awaitable: Bound<'_, PyAny>,
        call: &Py<Call>,
    ) -> PyResult<()> {
        let state = call.get();
        let task = side.task(py, context, awaitable)?;
        lock(&self.running).insert(state.request.key, call.clone_ref(py));
        state.set_task(Some(task.clone().unbind()));
        if state.is_cancelled() {
            task.call_method0(pyo3::intern!(py, "cancel"))?;
        }
        task.call_method1(pyo3::intern!(py, "add_done_callback"), (call,))?;
        Ok(())
    }

    /// The callback of a call's task.
    pub(crate) fn task_done(call: &Bound<'_, Call>, task: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = call.py();
        let state = call.get();
        let bridge = &state.core.bridge;
        let key = state.request.key;
        // Outside the lock: dropping these may run Python code.
        let _task = state.set_task(None);
        let _call = lock(&bridge.running).remove(&key);
        bridge.forget(py, key)?;
        let result = task.call_method0(pyo3::intern!(py, "result"));
        end_fork(py, &state.core, result.as_ref().err());
        // After the end of the server there is nobody to answer.
        let Ok(side) = bridge.side() else { return Ok(()) };
        let answer = match (&state.handler, result) {
            (_, Err(_)) if abandoned(call.as_unbound()) => return Ok(()),
            (Some(handler), result) => {
                let handler = handler.get();
                let answer = result.map_err(Fault::Raised).and_then(|value| handler.answer(call.as_unbound(), &value));
                answer.unwrap_or_else(|fault| handler.failure(call.as_unbound(), py, fault))
            }
            (None, result) => result
                .and_then(|value| delegated(&value))
                .unwrap_or_else(|error| failure(py, "request", state.method_name(), &error, None)),
        };
        bridge.answer(py, &side, key, answer)
    }

    /// Keeps an answer for the end of this turn of the loop.
    fn answer(&self, py: Python<'_>, side: &LoopSide, key: RequestKey, answer: Answer) -> PyResult<()> {
        let first = {
            let mut answers = lock(&self.answers);
            answers.push((key, answer));
            answers.len() == 1
        };
        if first {
            side.call_soon.bind(py).call1((&side.flush,))?;
        }
        Ok(())
    }

    /// Gives the engine all questions and all answers of this turn.
    pub(crate) fn flush(&self, py: Python<'_>, core: &Core) -> PyResult<()> {
        end_fork(py, core, None);
        self.ask_queued(py)?;
        let answers = std::mem::take(&mut *lock(&self.answers));
        let Some(endpoint) = core.endpoint().filter(|_| !answers.is_empty()) else { return Ok(()) };
        let now = endpoint.now();
        let unsent = endpoint.with_engine(|server| {
            let unsent = answers.iter().filter(|(key, answer)| !answer.send(server, *key, now));
            unsent.map(|(key, _)| *key).collect::<Vec<_>>()
        });
        for key in taken(unsent)? {
            endpoint.release(key);
        }
        Ok(())
    }
}

/// Whether nobody waits for a call any more, which then is given up here: it may have been cancelled on its way.
fn abandoned(call: &Py<Call>) -> bool {
    let call = call.get();
    let cancelled = call.is_cancelled();
    if cancelled {
        call.endpoint.release(call.request.key);
    }
    cancelled
}

/// Waits until one of two descriptors is readable; true when it is the second, whose bytes are taken out.
fn readable(first: RawFd, second: RawFd) -> std::io::Result<bool> {
    let interest = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let mut interests = [interest(first), interest(second)];
    // SAFETY: the array is ours and has two elements; a negative descriptor is passed over.
    if unsafe { libc::poll(interests.as_mut_ptr(), 2, -1) } < 0 {
        let error = std::io::Error::last_os_error();
        // A signal: whoever called us looks after it.
        return if error.kind() == std::io::ErrorKind::Interrupted { Ok(true) } else { Err(error) };
    }
    if interests[1].revents == 0 {
        return Ok(false);
    }
    let mut buffer = [0_u8; 64];
    // SAFETY: the buffer is ours; the descriptor is a non-blocking pipe that was just reported as readable.
    unsafe { libc::read(second, buffer.as_mut_ptr().cast(), buffer.len()) };
    Ok(true)
}
