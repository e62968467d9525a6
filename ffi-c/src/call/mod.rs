//! A request that C code answers, in either style.
//!
//! Decides who owns a call and what becomes of one that nobody answers. What can be read from it is in [`read`] and
//! [`arguments`], how it is answered in [`answer`], what may be sent before in [`tell`], how its client is asked in [`ask`],
//! how it becomes a task in [`task`]. Middleware has calls that it can only look at, [`seen`].
//!
//! A call has several owners: the library while the handler runs, and everybody who retained it. When the last one lets
//! go of a call that is not answered, it is answered with an error, so that no client waits for ever.

pub mod answer;
pub mod arguments;
pub mod ask;
pub mod read;
pub mod seen;
pub mod task;
pub mod tell;

use crate::engine::Core;
use crate::error::Error;
use crate::guard;
use crate::handle;
use crate::server::waiting::{Responder, Waiting};
use crate::text::Text;
use ferromcp_engine::{
    self as engine, Asked, CancelReason, InputRequest, LocalError, LogLevel, PeerError, Reentry, Reply, Target,
};
use runtime::{Answered, Endpoint};
use seen::{Seen, for_handlers};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// A request of a client that your code answers. See "Calls" at the top of this file.
pub struct Call {
    request: engine::Call,
    line: Line,
    answered: AtomicBool,
    /// Texts that were asked for and had to be decoded. Each stays where it is.
    decoded: Mutex<Vec<Arc<str>>>,
    /// Why nobody waits for the answer, once that was asked for.
    cancel_reason: OnceLock<String>,
    /// What the client would have to declare, once it could not be asked for want of that.
    missing: OnceLock<&'static str>,
    /// The task that it is, once that was asked for.
    task_id: OnceLock<String>,
    /// Who has called, once that was asked for.
    principal: OnceLock<String>,
}

/// The way back to the engine.
pub(crate) enum Line {
    /// Of the ready-made loop.
    Served { endpoint: Arc<Endpoint>, waiting: Arc<Waiting>, reentry: Reentry },
    /// Of a loop of the caller's own.
    Own(Arc<Core>),
    /// None: middleware looks at the call.
    Seen(Seen),
}

impl Call {
    pub(crate) fn new(request: engine::Call, line: Line) -> Self {
        Self {
            request,
            line,
            answered: AtomicBool::new(false),
            decoded: Mutex::new(Vec::new()),
            cancel_reason: OnceLock::new(),
            missing: OnceLock::new(),
            task_id: OnceLock::new(),
            principal: OnceLock::new(),
        }
    }

    /// Answers once: `send` runs only if nobody has answered before, and a refused answer leaves the call open.
    fn answer(&self, send: impl FnOnce(&Line, &engine::Call) -> Result<bool, Error>) -> Result<(), Error> {
        if self.answered.swap(true, Ordering::AcqRel) {
            return Err(Error::state("this call is answered already"));
        }
        // False: the client does not wait any more, which is no fault of the caller's.
        send(&self.line, &self.request).map(drop).inspect_err(|error| {
            self.note_missing(error);
            self.answered.store(false, Ordering::Release);
        })
    }

    /// Keeps what the client would have to declare, for the answer of a handler that gives none.
    fn note_missing(&self, error: &Error) {
        if let Some(path) = error.capability {
            // The first stands.
            let _ = self.missing.set(path);
        }
    }

    fn is_answered(&self) -> bool {
        self.answered.load(Ordering::Acquire)
    }

    pub(crate) fn respond(&self, reply: Reply<'_>) -> Result<(), Error> {
        self.answer(|line, request| line.respond(request.key, reply))
    }

    fn fail(&self, error: &PeerError) -> Result<(), Error> {
        self.answer(|line, request| line.fail(request.key, error))
    }

    /// Keeps a decoded text as long as the call lives.
    fn keep(&self, text: String) -> Text {
        let text: Arc<str> = text.into();
        let view = Text::of(&text);
        self.decoded.lock().unwrap_or_else(PoisonError::into_inner).push(text);
        view
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.is_answered() {
            let text = match self.request.target {
                Target::Tool(_) => "The tool gave no answer.",
                _ => "The handler gave no answer.",
            };
            // Where this fails too there is nobody left to tell.
            let _ = match self.missing.get() {
                Some(path) => self.line.fail_capability(self.request.key, path),
                None => self.line.fail(self.request.key, &PeerError::internal(text)),
            };
        }
        self.line.forget(self.request.key);
    }
}

impl Line {
    fn respond(&self, key: engine::RequestKey, reply: Reply<'_>) -> Result<bool, Error> {
        match self {
            Self::Served { endpoint, .. } => Ok(endpoint.respond(key, reply)?),
            Self::Own(core) => core.command(|server, now| server.respond(key, reply, now)),
            Self::Seen(_) => Err(for_handlers()),
        }
    }

    fn fail(&self, key: engine::RequestKey, error: &PeerError) -> Result<bool, Error> {
        match self {
            Self::Served { endpoint, .. } => Ok(endpoint.fail(key, error)?),
            Self::Own(core) => core.command(|server, now| server.fail(key, error, now)),
            Self::Seen(seen) => seen.fail(error),
        }
    }

    fn fail_unknown_resource(&self, key: engine::RequestKey, uri: &str) -> Result<bool, Error> {
        match self {
            Self::Served { endpoint, .. } => Ok(endpoint.fail_unknown_resource(key, uri)?),
            Self::Own(core) => core.command(|server, now| server.fail_unknown_resource(key, uri, now)),
            Self::Seen(_) => Err(for_handlers()),
        }
    }

    fn resource_mime_type(&self, uri: &str) -> Result<Option<String>, Error> {
        match self {
            Self::Served { endpoint, .. } => Ok(endpoint.with_engine(|server| server.resource_mime_type(uri))?),
            Self::Own(core) => core.command(|server, _| Ok(server.resource_mime_type(uri))),
            Self::Seen(_) => Err(for_handlers()),
        }
    }

    fn fail_capability(&self, key: engine::RequestKey, path: &str) -> Result<bool, Error> {
        match self {
            Self::Served { endpoint, .. } => Ok(endpoint.fail_capability(key, path)?),
            Self::Own(core) => core.command(|server, now| server.fail_capability(key, path, now)),
            Self::Seen(_) => Err(for_handlers()),
        }
    }

    fn progress(
        &self,
        key: engine::RequestKey,
        progress: f64,
        total: Option<f64>,
        message: Option<&str>,
    ) -> Result<bool, Error> {
        match self {
            Self::Served { endpoint, .. } => Ok(endpoint.progress(key, progress, total, message)?),
            Self::Own(core) => core.command(|server, now| server.progress(key, progress, total, message, now)),
            Self::Seen(_) => Err(for_handlers()),
        }
    }

    fn log(&self, key: engine::RequestKey, level: LogLevel, logger: Option<&str>, data: &str) -> Result<bool, Error> {
        match self {
            Self::Served { endpoint, .. } => Ok(endpoint.log(key, level, logger, data)?),
            Self::Own(core) => core.command(|server, _| server.log(key, level, logger, data)),
            Self::Seen(_) => Err(for_handlers()),
        }
    }

    fn notify(&self, key: engine::RequestKey, method: &str, params: Option<&str>) -> Result<bool, Error> {
        match self {
            Self::Served { endpoint, .. } => Ok(endpoint.notify(key, method, params)?),
            Self::Own(core) => core.command(|server, _| server.notify(key, method, params)),
            Self::Seen(_) => Err(for_handlers()),
        }
    }

    /// Ends the connection of a call's stream, and not the call.
    fn close_sse_stream(&self, key: engine::RequestKey) -> Result<bool, Error> {
        match self {
            Self::Served { endpoint, .. } => Ok(endpoint.close_sse_stream(key)?),
            Self::Own(_) => Ok(false), // It is no HTTP.
            Self::Seen(_) => Err(for_handlers()),
        }
    }

    /// Asks the client. The responder is kept until the answer is there; a refused request leaves it to the caller.
    fn request(
        &self,
        call: &engine::Call,
        method: &str,
        params: Option<&str>,
        timeout_ms: Option<u64>,
        responder: Responder,
    ) -> Result<(), Error> {
        match self {
            Self::Served { endpoint, waiting, .. } => {
                waiting.ask(responder, || Ok(endpoint.request(Some(call.key), method, params, timeout_ms)?))
            }
            Self::Own(core) => core.waiting.ask(responder, || {
                core.command(|server, now| server.request(call.stream, Some(call.key), method, params, timeout_ms, now))
            }),
            Self::Seen(_) => Err(for_handlers()),
        }
    }

    /// Asks the client, and waits.
    fn ask(
        &self,
        key: engine::RequestKey,
        requests: &[InputRequest<'_>],
        timeout_ms: Option<u64>,
    ) -> Result<Answered, Error> {
        match self {
            Self::Served { endpoint, reentry, .. } => Ok(endpoint.ask_and_wait(key, requests, *reentry, timeout_ms)?),
            Self::Own(_) => Err(Error::state("a loop of one's own can't wait here: fmcp_call_begin_ask() asks there")),
            Self::Seen(_) => Err(for_handlers()),
        }
    }

    /// Asks the client without waiting.
    fn begin_ask(
        &self,
        key: engine::RequestKey,
        requests: &[InputRequest<'_>],
        reentry: Reentry,
        timeout_ms: Option<u64>,
    ) -> Result<Asked, Error> {
        match self {
            Self::Served { .. } => Err(Error::state("the ready-made loop waits by itself: fmcp_call_ask() asks there")),
            Self::Own(core) => core.ask(key, requests, reentry, timeout_ms),
            Self::Seen(_) => Err(for_handlers()),
        }
    }

    /// Turns a call into a task. Whether it is one, or will be.
    fn begin_task(&self, key: engine::RequestKey) -> Result<bool, Error> {
        match self {
            Self::Served { endpoint, .. } => Ok(endpoint.begin_task_and_wait(key)?.is_some()),
            Self::Own(core) => core.command(|server, now| server.begin_task(key, now)),
            Self::Seen(_) => Err(for_handlers()),
        }
    }

    fn task_id(&self, key: engine::RequestKey) -> Option<String> {
        match self {
            Self::Served { endpoint, .. } => endpoint.task_id(key),
            Self::Own(core) => core.task_id(key),
            Self::Seen(_) => None, // It was told when the call was made.
        }
    }

    fn principal(&self, stream: engine::StreamId) -> Option<String> {
        match self {
            // It fails in a forked child only, which serves nobody.
            Self::Served { endpoint, .. } => {
                endpoint.with_engine(|server| server.principal(stream).map(str::to_owned)).ok().flatten()
            }
            Self::Own(core) => core.principal(stream),
            Self::Seen(_) => None, // It was told when the call was made.
        }
    }

    fn is_cancelled(&self, key: engine::RequestKey) -> bool {
        match self {
            Self::Served { endpoint, .. } => endpoint.is_cancelled(key),
            Self::Own(core) => core.is_cancelled(key),
            Self::Seen(seen) => seen.cancel_reason().is_some(),
        }
    }

    fn cancel_reason(&self, key: engine::RequestKey) -> Option<CancelReason> {
        match self {
            Self::Served { endpoint, .. } => endpoint.cancel_reason(key),
            Self::Own(core) => core.cancel_reason(key),
            Self::Seen(seen) => seen.cancel_reason(),
        }
    }

    /// Nobody will ask for this call any more.
    fn forget(&self, key: engine::RequestKey) {
        match self {
            // An answer has made it forget, and `drop` has just given one; or there was nothing to remember.
            Self::Served { .. } | Self::Seen(_) => {}
            Self::Own(core) => core.forget(key),
        }
    }
}

/// The level that C's number stands for.
fn level_of(level: i32) -> Result<LogLevel, Error> {
    let known = usize::try_from(level).ok().and_then(|at| LogLevel::ALL.get(at));
    known.copied().ok_or_else(|| Error::argument("level is not an fmcp_log_level"))
}

/// A JSON string with this text.
fn json_string(text: &str) -> Result<String, Error> {
    serde_json::to_string(text).map_err(|error| LocalError::NotJson { what: "text", reason: error.to_string() }.into())
}

/// Makes the call yours too: it lives on when the handler has returned, and is answered later, on any thread. Give it
/// back with fmcp_call_free(). The result is the same pointer; NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_retain(call: *mut Call) -> *mut Call {
    guard::value(std::ptr::null_mut(), || {
        // SAFETY: a live call or null, by the header's contract.
        unsafe { handle::retain(call) };
        call
    })
}

/// Gives back a call that was retained. When it was not answered and nobody else has it, the client gets an error. NULL
/// does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_free(call: *mut Call) {
    // SAFETY: the caller gives up a share that fmcp_call_retain() gave, by the header's contract.
    guard::value((), || unsafe { handle::release(call) });
}
