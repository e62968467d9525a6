//! What may be said before a call is answered: progress, log messages, notifications, questions to the client.
//!
//! Whether the client gets it (it asked for progress, it wants this level, ...) the engine decides; what is not sent is no
//! error.

use super::{Call, json_string, level_of};
use crate::error::{Error, Status};
use crate::guard;
use crate::handle;
use crate::handler::Destroy;
use crate::server::waiting::{Responder, ResponseHandler};
use crate::text::Text;
use std::ffi::c_void;

/// How severe a log message is, as RFC 5424 has it. Numbers are never reused.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// Detailed debugging information.
    Debug = 0,
    /// General information.
    Info = 1,
    /// Normal but significant.
    Notice = 2,
    /// Warning conditions.
    Warning = 3,
    /// Error conditions.
    Error = 4,
    /// Critical conditions.
    Critical = 5,
    /// Action must be taken at once.
    Alert = 6,
    /// The system is unusable.
    Emergency = 7,
}

/// Tells the client how far the work is, if it asked. Values that do not rise are not sent.
///
/// \param progress how far it is; a finite number
/// \param total    out of how much; NAN where that is not known
/// \param message  one line for a person, or none
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_report_progress(
    call: *mut Call,
    progress: f64,
    total: f64,
    message: Text,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: a live call or null, and readable bytes, by the header's contract.
        let (call, message) = unsafe { (handle::required(call, "call")?, handle::optional_text(message, "message")?) };
        let total = (!total.is_nan()).then_some(total);
        call.line.progress(call.request.key, progress, total, message).map(drop)
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Sends the client a line of text as a log message, if it wants one of this level.
///
/// \param level an fmcp_log_level
/// \param text  the line
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_log(call: *mut Call, level: i32, text: Text, err: *mut *mut Error) -> Status {
    let body = || {
        // SAFETY: a live call or null, and readable bytes, by the header's contract.
        let (call, text) = unsafe { (handle::required(call, "call")?, handle::text(text, "text")?) };
        call.line.log(call.request.key, level_of(level)?, None, &json_string(text)?).map(drop)
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// The same with any value, and with a name of who logs.
///
/// \param level  an fmcp_log_level
/// \param logger who logs, or none
/// \param data   the value, as JSON text
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_log_json(
    call: *mut Call,
    level: i32,
    logger: Text,
    data: Text,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: a live call or null, and readable bytes, by the header's contract.
        let (call, logger, data) = unsafe {
            let logger = handle::optional_text(logger, "logger")?;
            (handle::required(call, "call")?, logger, handle::text(data, "data")?)
        };
        call.line.log(call.request.key, level_of(level)?, logger, data).map(drop)
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Sends a notification that belongs to this call.
///
/// \param method its method
/// \param params the JSON text of an object, or none
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_notify(call: *mut Call, method: Text, params: Text, err: *mut *mut Error) -> Status {
    let body = || {
        // SAFETY: a live call or null, and readable bytes, by the header's contract.
        let (call, method, params) = unsafe {
            let method = handle::text(method, "method")?;
            (handle::required(call, "call")?, method, handle::optional_text(params, "params")?)
        };
        call.line.notify(call.request.key, method, params).map(drop)
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Over HTTP, ends the connection on which a client of revision 2025-11-25 or earlier waits for the answer, and not the call: the
/// client comes back for it, and gets what was sent meanwhile. For calls that take minutes, so that nothing on the way has to
/// hold a connection for so long. Where there is no such connection nothing happens.
///
/// \param closed where to write whether there was one; or NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_close_sse_stream(
    call: *mut Call,
    closed: *mut bool,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: a live call or null, by the header's contract.
        let call = unsafe { handle::required(call, "call") }?;
        let was_closed = call.line.close_sse_stream(call.request.key)?;
        if !closed.is_null() {
            // SAFETY: not null, and writable by the header's contract.
            unsafe { handle::put(closed, was_closed) };
        }
        Ok(())
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Sends the client a request of any method and returns at once; the handler gets the answer, once. In an own loop
/// fmcp_engine_poll() calls it. FMCP_STATUS_STATE where this client takes no requests: in revision 2026-07-28 none does.
/// FMCP_STATUS_CAPABILITY_NOT_DECLARED where it takes others. What clients of every revision can be asked (elicitation,
/// sampling, roots), fmcp_call_ask() and its like ask them.
///
/// \param method     the request's method
/// \param params     the JSON text of an object, or none
/// \param timeout_ms how long the client has, 0 for ever, a negative number: as the server's limits say
/// \param handler    what gets the answer; required. Must return soon.
/// \param user_data  passed to the handler; taken over on FMCP_STATUS_OK only
/// \param destroy    called with user_data after the handler, or when there will be no answer; or NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_request(
    call: *mut Call,
    method: Text,
    params: Text,
    timeout_ms: i64,
    handler: ResponseHandler,
    user_data: *mut c_void,
    destroy: Destroy,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: a live call or null, and readable bytes, by the header's contract.
        let (call, method, params) = unsafe {
            let method = handle::text(method, "method")?;
            (handle::required(call, "call")?, method, handle::optional_text(params, "params")?)
        };
        let responder = Responder::new(handler, user_data, destroy)?;
        call.line.request(&call.request, method, params, u64::try_from(timeout_ms).ok(), responder)
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}
