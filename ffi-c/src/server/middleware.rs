//! Functions of C's that stand round every call of a handler.

use super::Server;
use super::host::Registry;
use crate::call::Call;
use crate::error::{Error, Status};
use crate::guard;
use crate::handle;
use crate::handler::{CallHandler, Destroy, UserData};
use crate::text::Text;
use runtime::middleware::{self, CallFacts, Middleware, Refusal};
use std::ffi::c_void;
use std::sync::Arc;

/// How a call ended, as middleware is told. Numbers are never reused.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With a result.
    Result = 1,
    /// With a result that says that the tool failed.
    ToolError = 2,
    /// With a JSON-RPC error.
    Error = 3,
    /// The client is asked, and the call comes again.
    InputRequired = 4,
    /// Nobody waits for its answer any more; fmcp_call_cancel_reason() says why.
    Cancelled = 5,
}

/// What became of a call. The library makes it, and it lives until the function returns that it is given to; later versions may
/// have more at its end.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CallOutcome {
    /// How it ended.
    pub end: End,
    /// Whether a middleware, or the policy, has refused it.
    pub refused: bool,
    /// The code with FMCP_END_ERROR, else 0.
    pub error_code: i64,
    /// Microseconds from the moment that the handler was to get it.
    pub duration_us: u64,
    /// Bytes of the answer; 0 without one.
    pub bytes: u64,
    /// The answer's main part, for a middleware that wants texts: the text of a text block or an error, else JSON. Else none.
    pub text: Text,
}

/// Is told what became of a call: after it, in a middleware. It runs on the thread that reads, so it must return soon.
pub type AfterHandler =
    Option<unsafe extern "C" fn(call: *const Call, outcome: *const CallOutcome, user_data: *mut c_void)>;

/// One middleware's functions.
#[derive(Debug)]
pub(super) struct Layer {
    before: CallHandler,
    after: AfterHandler,
    wants_text: bool,
    user_data: UserData,
}

/// A middleware as the runtime calls it. Its functions are looked up, so that they end with the server and not with the last
/// call that somebody keeps.
struct Place {
    registry: Arc<Registry>,
    at: usize,
    wants_text: bool,
}

/// All of a server, the outermost first.
pub(super) fn layers(registry: &Arc<Registry>) -> Vec<Arc<dyn Middleware>> {
    let place = |(at, layer): (usize, &Arc<Layer>)| -> Arc<dyn Middleware> {
        Arc::new(Place { registry: Arc::clone(registry), at, wants_text: layer.wants_text })
    };
    registry.read().layers.iter().enumerate().map(place).collect()
}

impl Place {
    fn layer(&self) -> Option<Arc<Layer>> {
        self.registry.read().layers.get(self.at).cloned()
    }
}

impl Middleware for Place {
    fn before(&self, facts: &CallFacts) -> Result<(), Refusal> {
        let Some(layer) = self.layer() else { return Ok(()) };
        let Some(before) = layer.before else { return Ok(()) };
        let call = Call::before(facts);
        // SAFETY: the caller's function with the caller's pointer, and a call that outlives it.
        unsafe { before(handle::peek(&call), layer.user_data.pointer) };
        call.verdict()
    }

    fn after(&self, facts: &CallFacts, outcome: &middleware::Outcome) {
        let Some(layer) = self.layer() else { return };
        let Some(after) = layer.after else { return };
        let call = Call::after(facts, outcome);
        // SAFETY: the caller's function with the caller's pointer, and a call and an outcome that outlive it.
        unsafe { after(handle::peek(&call), &CallOutcome::of(outcome), layer.user_data.pointer) };
    }

    fn wants_text(&self) -> bool {
        self.wants_text
    }
}

impl CallOutcome {
    /// A view of it.
    fn of(outcome: &middleware::Outcome) -> Self {
        let (end, error_code) = match outcome.end {
            middleware::End::Result => (End::Result, 0),
            middleware::End::ToolError => (End::ToolError, 0),
            middleware::End::Error(code) => (End::Error, code),
            middleware::End::InputRequired => (End::InputRequired, 0),
            middleware::End::Cancelled(_) => (End::Cancelled, 0),
        };
        Self {
            end,
            refused: outcome.refused,
            error_code,
            duration_us: u64::try_from(outcome.duration.as_micros()).unwrap_or(u64::MAX),
            bytes: outcome.bytes as u64,
            text: Text::of_option(outcome.text.as_deref()),
        }
    }
}

impl Server {
    /// Adds it inside of those that are there. On failure its user data stays the caller's.
    fn add_middleware(&self, layer: Layer) -> Result<(), Error> {
        let mut layer = Some(layer);
        let added = self.set(|_| self.registry.write().layers.extend(layer.take().map(Arc::new)));
        if let Some(layer) = &mut layer {
            layer.user_data.give_back();
        }
        added
    }
}

/// Puts two functions round every call of a handler: tools, resources, prompts, completions, methods of extensions. What is
/// added first is the outermost; the policy is outside of all. What the library answers by itself does not come here: lists,
/// arguments that do not fit. Both functions get the call to look at: fmcp_call_method(), fmcp_call_name(),
/// fmcp_call_arguments() and the others that read; fmcp_call_key() is the same in both. The server must not run yet.
///
/// \param before     called before the handler, on its thread; may refuse the call by fmcp_call_refuse() or fmcp_call_fail(),
///                   and lets it in if it does not. May be NULL
/// \param after      called when a call has ended that `before` let in or was not asked about, be it refused further in; a
///                   moment after the answer. May be NULL where `before` is not
/// \param wants_text whether `after` wants texts of answers, which are copied for it
/// \param user_data  passed to both, which run on several threads; taken over on FMCP_STATUS_OK only
/// \param destroy    called with user_data when the server is freed and neither function runs any more; or NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_add_middleware(
    server: *mut Server,
    before: CallHandler,
    after: AfterHandler,
    wants_text: bool,
    user_data: *mut c_void,
    destroy: Destroy,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: a live server or null, by the header's contract.
        let server = unsafe { handle::required(server, "server") }?;
        if before.is_none() && after.is_none() {
            return Err(Error::argument("before and after are NULL"));
        }
        server.add_middleware(Layer { before, after, wants_text, user_data: UserData::new(user_data, destroy) })
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}
