//! Errors as objects: a status that a program can switch on, JSON-RPC's own code where there is one, and a text.
//!
//! The engine's two families stay apart: [`Status::Protocol`] is the peer's fault and carries the JSON-RPC code that the
//! peer should be told; every other status is the caller's fault or ours.

use crate::guard;
use crate::handle;
use crate::text::Text;
use ferromcp_engine::jsonrpc::Fault;
use ferromcp_engine::{CancelReason, LocalError, OutgoingError};

/// How a call went. Numbers are never reused.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It did what it should; the results were written.
    Ok = 0,
    /// The caller passed something that can't be used, for example NULL for a required pointer.
    InvalidArgument = 1,
    /// The peer's text breaks the protocol; fmcp_error_code() tells how.
    Protocol = 2,
    /// A defect in the library. The object that was worked on must not be used again, except to free it.
    Panic = 3,
    /// The operating system refused something.
    Io = 4,
    /// Not now: the call is answered, the server is not in this state, a limit is reached, the client takes no requests.
    State = 5,
    /// No failure: the client is asked, and sends its request again with the answer; then the handler runs again and has it.
    /// This run is over: return at once. Nothing that it still says of the call is sent.
    Suspended = 6,
    /// Nobody waits for the answer to this call any more, and so the client was not asked, or its answer not waited for.
    /// fmcp_call_cancel_reason() says why. The handler should return.
    Cancelled = 7,
    /// The client has not declared the capability of fmcp_error_capability(), and was not asked. A handler that returns
    /// without another answer tells it so.
    CapabilityNotDeclared = 8,
    /// The client was asked, and gave no answer: an error of its own (fmcp_error_code() and fmcp_error_text() are its), one
    /// that does not fit the question, or none in time.
    NoAnswer = 9,
    /// The store of tasks can't be opened.
    TaskStore = 10,
}

/// What went wrong. Owned by whoever received it; freed with fmcp_error_free().
#[derive(Debug)]
pub struct Error {
    pub(crate) status: Status,
    pub(crate) text: String,
    /// The peer's JSON-RPC code; zero, which JSON-RPC never uses, where it has nothing to do with a peer.
    code: i64,
    /// The id that the peer can be answered under, as JSON text.
    id: Option<String>,
    /// What the client would have to declare.
    pub(crate) capability: Option<&'static str>,
}

impl Error {
    /// The caller's fault; `text` names the argument and what is wrong with it.
    pub(crate) fn argument(text: impl Into<String>) -> Self {
        Self::new(Status::InvalidArgument, text)
    }

    /// Nobody's fault, or a matter of timing: what was asked can't be done now.
    pub(crate) fn state(text: impl Into<String>) -> Self {
        Self::new(Status::State, text)
    }

    /// This run of a call is over.
    pub(crate) fn over(reason: &CancelReason) -> Self {
        let is_suspension = *reason == CancelReason::Suspended;
        Self::new(if is_suspension { Status::Suspended } else { Status::Cancelled }, reason.to_string())
    }

    /// The client was asked and gave no answer.
    pub(crate) fn no_answer(why: &OutgoingError) -> Self {
        match why {
            OutgoingError::Peer(error) => {
                Self { code: error.code, ..Self::new(Status::NoAnswer, error.message.clone()) }
            }
            OutgoingError::Invalid(reason) => {
                Self::new(Status::NoAnswer, format!("the client answered wrongly: {reason}"))
            }
            OutgoingError::TimedOut => Self::new(Status::NoAnswer, "the client did not answer in time"),
            OutgoingError::Closed => Self::new(Status::NoAnswer, "the client is gone"),
        }
    }

    /// Our own fault; `text` is what the panic said.
    pub(crate) fn panic(text: &str) -> Self {
        Self::new(Status::Panic, text)
    }

    fn new(status: Status, text: impl Into<String>) -> Self {
        Self { status, text: text.into(), code: 0, id: None, capability: None }
    }
}

impl From<Fault<'_>> for Error {
    fn from(fault: Fault<'_>) -> Self {
        Self {
            code: fault.error.code,
            id: fault.id.map(str::to_owned),
            ..Self::new(Status::Protocol, fault.error.message)
        }
    }
}

impl From<LocalError> for Error {
    fn from(error: LocalError) -> Self {
        let text = error.to_string();
        match error {
            LocalError::NoBackChannel | LocalError::Limit(_) => Self::state(text),
            LocalError::CapabilityNotDeclared(path) => {
                Self { capability: Some(path), ..Self::new(Status::CapabilityNotDeclared, text) }
            }
            // Whatever else there is or will be is about what was passed.
            _ => Self::argument(text),
        }
    }
}

impl From<runtime::Error> for Error {
    fn from(error: runtime::Error) -> Self {
        let text = error.to_string();
        match error {
            runtime::Error::Engine(error) => error.into(),
            runtime::Error::Io(_) => Self::new(Status::Io, text),
            runtime::Error::TaskStore(_) => Self::new(Status::TaskStore, text),
            runtime::Error::Panicked => Self::panic(&text),
            // A forked child, standard streams that are taken: and what may come, is about the moment.
            _ => Self::state(text),
        }
    }
}

/// The status with which the failed call returned. FMCP_STATUS_OK for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_error_status(error: *const Error) -> Status {
    guard::value(Status::Panic, || {
        // SAFETY: a live handle or null, by the header's contract.
        unsafe { handle::borrow(error) }.map_or(Status::Ok, |error| error.status)
    })
}

/// With FMCP_STATUS_PROTOCOL the JSON-RPC error code to answer the peer with; with FMCP_STATUS_NO_ANSWER that of the client's
/// own error, if it gave one. Else 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_error_code(error: *const Error) -> i64 {
    guard::value(0, || {
        // SAFETY: a live handle or null, by the header's contract.
        unsafe { handle::borrow(error) }.map_or(0, |error| error.code)
    })
}

/// What went wrong, for a person; do not compare it in programs. Lives as long as the error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_error_text(error: *const Error) -> Text {
    guard::value(Text::NONE, || {
        // SAFETY: a live handle or null, by the header's contract.
        unsafe { handle::borrow(error) }.map_or(Text::NONE, |error| Text::of(&error.text))
    })
}

/// The id that the peer can be answered under, as JSON text, where one could be read. Lives as long as the error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_error_id(error: *const Error) -> Text {
    guard::value(Text::NONE, || {
        // SAFETY: a live handle or null, by the header's contract.
        unsafe { handle::borrow(error) }.map_or(Text::NONE, |error| Text::of_option(error.id.as_deref()))
    })
}

/// With FMCP_STATUS_CAPABILITY_NOT_DECLARED what the client would have to declare, as names with a dot between them, for
/// example "elicitation.url"; none for other statuses. Lives as long as the error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_error_capability(error: *const Error) -> Text {
    guard::value(Text::NONE, || {
        // SAFETY: a live handle or null, by the header's contract.
        unsafe { handle::borrow(error) }.map_or(Text::NONE, |error| Text::of_option(error.capability))
    })
}

/// Frees an error. NULL does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_error_free(error: *mut Error) {
    // SAFETY: the caller gives up its handle, by the header's contract.
    guard::value((), || unsafe { handle::free(error) });
}
