//! The engine without a loop: the caller brings bytes and time, and takes outputs.
//!
//! Decides how the engine's contract looks in C: one lock, so that calls may be answered on any thread; the newest time
//! that was told stands for "now" where a function has no time of its own. What comes out is in [`output`].

pub mod asking;
pub mod define;
pub mod output;

use crate::error::{Error, Status};
use crate::guard;
use crate::handle;
use crate::server::waiting::Waiting;
use crate::text::Text;
use ferromcp_engine::tasks::StoreRequest;
use ferromcp_engine::{
    self as engine, Asked, CancelReason, InputRequest, LocalError, Millis, Reentry, RequestKey, ServerConfig, StreamId,
};
use output::Output;
use runtime::store::{MemoryTaskStore, TaskStore as _};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An MCP server without input, output, clock and threads. See "Own loop" at the top of this file.
pub struct Engine(Arc<Core>);

impl Drop for Engine {
    fn drop(&mut self) {
        self.0.waiting.give_up();
    }
}

/// What an engine and its calls share.
pub(crate) struct Core {
    state: Mutex<State>,
    pub(crate) waiting: Waiting,
}

struct State {
    server: engine::Server,
    now: Millis,
    /// What the time 0 is in UNIX milliseconds.
    epoch: u64,
    /// Where tasks are kept: here, as long as the engine is.
    tasks: MemoryTaskStore,
    /// The calls that somebody has.
    calls: HashMap<RequestKey, Handed>,
}

/// A call that was handed out.
#[derive(Default)]
struct Handed {
    /// How many objects there are for it: a call that asked by hand is handed out again under the same key.
    times: usize,
    /// Why nobody waits for its answer.
    cancelled: Option<CancelReason>,
}

impl State {
    /// The next output that is for the caller. What concerns the store of tasks is done here.
    fn next(&mut self) -> Option<engine::Output> {
        loop {
            match self.server.poll_output()? {
                engine::Output::Event(engine::Event::Store { op, request }) => {
                    let unix = self.epoch.saturating_add(self.now);
                    if matches!(request, StoreRequest::Create(_)) {
                        // In memory this can't fail.
                        let _ = self.tasks.expire(unix);
                    }
                    let outcome = self.tasks.execute(request, unix);
                    self.server.stored(op, outcome, self.now);
                }
                output => return Some(output),
            }
        }
    }
}

impl Core {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A command at the newest time that was told.
    pub(crate) fn command<R>(
        &self,
        body: impl FnOnce(&mut engine::Server, Millis) -> Result<R, LocalError>,
    ) -> Result<R, Error> {
        let mut state = self.state();
        let now = state.now;
        Ok(body(&mut state.server, now)?)
    }

    /// An input that brings the time. Time that runs backwards stands still.
    fn at<R>(&self, now: Millis, body: impl FnOnce(&mut engine::Server, Millis) -> R) -> R {
        let mut state = self.state();
        state.now = state.now.max(now);
        let now = state.now;
        body(&mut state.server, now)
    }

    fn set_epoch(&self, unix_ms: u64) {
        let mut state = self.state();
        state.epoch = unix_ms;
        state.server.set_epoch(unix_ms);
    }

    /// The task that a call is.
    pub(crate) fn task_id(&self, key: RequestKey) -> Option<String> {
        self.state().server.task_id(key).map(str::to_owned)
    }

    pub(crate) fn principal(&self, stream: StreamId) -> Option<String> {
        self.state().server.principal(stream).map(str::to_owned)
    }

    /// A call is handed out.
    fn remember(&self, key: RequestKey) {
        self.state().calls.entry(key).or_default().times += 1;
    }

    /// Nobody has the call any more.
    pub(crate) fn forget(&self, key: RequestKey) {
        let mut state = self.state();
        let Some(handed) = state.calls.get_mut(&key) else { return };
        handed.times -= 1;
        if handed.times == 0 {
            state.calls.remove(&key);
        }
    }

    fn cancel(&self, key: RequestKey, reason: CancelReason) {
        if let Some(handed) = self.state().calls.get_mut(&key) {
            handed.cancelled = Some(reason);
        }
    }

    pub(crate) fn is_cancelled(&self, key: RequestKey) -> bool {
        self.state().calls.get(&key).is_some_and(|handed| handed.cancelled.is_some())
    }

    pub(crate) fn cancel_reason(&self, key: RequestKey) -> Option<CancelReason> {
        self.state().calls.get(&key)?.cancelled.clone()
    }

    /// Asks the client of a call.
    pub(crate) fn ask(
        &self,
        key: RequestKey,
        requests: &[InputRequest<'_>],
        reentry: Reentry,
        timeout_ms: Option<u64>,
    ) -> Result<Asked, Error> {
        let asked = self.command(|server, now| server.ask(key, requests, reentry, timeout_ms, now))?;
        if asked == Asked::Suspended {
            // The call knows it at once, and not only when the event is taken.
            self.cancel(key, CancelReason::Suspended);
        }
        Ok(asked)
    }
}

/// Makes an engine from a configuration, the same JSON object as that of fmcp_server_from_config().
///
/// \param out where to write the new engine; required
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_engine_new(config: Text, out: *mut *mut Engine, err: *mut *mut Error) -> Status {
    let body = || {
        handle::wanted(out, "out")?;
        // SAFETY: readable bytes, by the header's contract.
        let config = unsafe { handle::text(config, "config") }?;
        let mut server = engine::Server::new(ServerConfig::from_json(config)?)?;
        server.set_entropy(runtime::system_entropy());
        // Nobody else has the store, so that it needs no leases.
        server.set_task_owner("", false);
        let tasks = MemoryTaskStore::with_most_ended(server.config().tasks.max_ended);
        let state = State { server, now: 0, epoch: 0, tasks, calls: HashMap::new() };
        let core = Core { state: Mutex::new(state), waiting: Waiting::default() };
        // SAFETY: checked for null above, and writable by the header's contract.
        unsafe { handle::give(out, Engine(Arc::new(core))) };
        Ok(())
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Opens a stream: a client is there.
///
/// \param now    milliseconds on your clock
/// \param stream where to write the stream's number; required
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_engine_open(
    engine: *mut Engine,
    now: u64,
    stream: *mut u32,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: a live engine or null, by the header's contract.
        let engine = unsafe { handle::required(engine, "engine") }?;
        handle::wanted(stream, "stream")?;
        let opened = engine.0.at(now, |server, now| server.open(now));
        // SAFETY: checked for null above, and writable by the header's contract.
        unsafe { handle::put(stream, opened.0) };
        Ok(())
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Feeds bytes of a client's, cut anywhere. What the client does wrong is answered to the client and no error here.
///
/// \param bytes not needed after the call; may be NULL when `len` is 0
/// \param now   milliseconds on your clock
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_engine_receive(
    engine: *mut Engine,
    stream: u32,
    bytes: *const u8,
    len: usize,
    now: u64,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: a live engine or null, and `len` readable bytes or null, by the header's contract.
        let (engine, bytes) = unsafe { (handle::required(engine, "engine")?, handle::array(bytes, len)) };
        let bytes = bytes.ok_or_else(|| Error::argument("bytes is NULL, or len is larger than any object"))?;
        Ok(engine.0.at(now, |server, now| server.receive(StreamId(stream), bytes, now))?)
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// The client sends no more. FMCP_EVENT_DRAINED tells when everything of it is answered or given up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_engine_end_of_input(
    engine: *mut Engine,
    stream: u32,
    now: u64,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: a live engine or null, by the header's contract.
        let engine = unsafe { handle::required(engine, "engine") }?;
        Ok(engine.0.at(now, |server, now| server.end_of_input(StreamId(stream), now))?)
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Nothing can be sent to the client any more: everything of its stream is over, and the stream is forgotten.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_engine_close(engine: *mut Engine, stream: u32, now: u64, err: *mut *mut Error) -> Status {
    let body = || {
        // SAFETY: a live engine or null, by the header's contract.
        let engine = unsafe { handle::required(engine, "engine") }?;
        Ok(engine.0.at(now, |server, now| server.closed(StreamId(stream), now))?)
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Ends every subscription and refuses new requests. Calls that run may still be answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_engine_shutdown(engine: *mut Engine, now: u64, err: *mut *mut Error) -> Status {
    let body = || {
        // SAFETY: a live engine or null, by the header's contract.
        let engine = unsafe { handle::required(engine, "engine") }?;
        engine.0.at(now, |server, now| server.shutdown(now));
        Ok(())
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Takes what is to be done next. After every input, answer and timeout, take outputs until there are none.
///
/// \param out where to write the new output, or NULL where there is nothing to do; required
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_engine_poll(engine: *mut Engine, out: *mut *mut Output, err: *mut *mut Error) -> Status {
    let body = || {
        // SAFETY: a live engine or null, by the header's contract.
        let engine = unsafe { handle::required(engine, "engine") }?;
        handle::wanted(out, "out")?;
        // SAFETY: checked for null above, and writable by the header's contract.
        match output::next(&engine.0) {
            Some(output) => unsafe { handle::give(out, output) },
            None => unsafe { handle::put(out, std::ptr::null_mut()) },
        }
        Ok(())
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// When fmcp_engine_handle_timeout() wants to be called if nothing else happens before, on your clock; UINT64_MAX: never.
/// The same for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_engine_poll_timeout(engine: *const Engine) -> u64 {
    guard::value(u64::MAX, || {
        // SAFETY: a live engine or null, by the header's contract.
        let engine = unsafe { handle::borrow(engine) };
        engine.and_then(|engine| engine.0.state().server.poll_timeout()).unwrap_or(u64::MAX)
    })
}

/// Does what is due. Calling it early or late does no harm.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_engine_handle_timeout(engine: *mut Engine, now: u64, err: *mut *mut Error) -> Status {
    let body = || {
        // SAFETY: a live engine or null, by the header's contract.
        let engine = unsafe { handle::required(engine, "engine") }?;
        engine.0.at(now, |server, now| server.handle_timeout(now));
        Ok(())
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Frees an engine. Calls that were retained live on, and their answers reach nobody. NULL does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_engine_free(engine: *mut Engine) {
    // SAFETY: the caller gives up its handle, by the header's contract.
    guard::value((), || unsafe { handle::free(engine) });
}
