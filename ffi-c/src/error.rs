//! Errors as objects: a status that a program can switch on, JSON-RPC's own code where there is one, and a text.
//!
//! The engine's two families stay apart: [`Status::Protocol`] is the peer's fault and carries the JSON-RPC code that the
//! peer should be told; every other status is the caller's fault or ours.

use crate::guard;
use crate::handle;
use crate::text::Text;
use ferromcp_engine::LocalError;
use ferromcp_engine::jsonrpc::Fault;

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
}

/// What went wrong. Owned by whoever received it; freed with fmcp_error_free().
#[derive(Debug)]
pub struct Error {
    pub(crate) status: Status,
    pub(crate) text: String,
    /// JSON-RPC's code; zero, which JSON-RPC never uses, for the other family.
    code: i64,
    /// The id that the peer can be answered under, as JSON text.
    id: Option<String>,
}

impl Error {
    /// The caller's fault; `text` names the argument and what is wrong with it.
    pub(crate) fn argument(text: impl Into<String>) -> Self {
        Self { status: Status::InvalidArgument, text: text.into(), code: 0, id: None }
    }

    /// Nobody's fault, or a matter of timing: what was asked can't be done now.
    pub(crate) fn state(text: impl Into<String>) -> Self {
        Self { status: Status::State, text: text.into(), code: 0, id: None }
    }

    /// Our own fault; `text` is what the panic said.
    pub(crate) fn panic(text: &str) -> Self {
        Self { status: Status::Panic, text: text.to_owned(), code: 0, id: None }
    }
}

impl From<Fault<'_>> for Error {
    fn from(fault: Fault<'_>) -> Self {
        Self {
            status: Status::Protocol,
            text: fault.error.message,
            code: fault.error.code,
            id: fault.id.map(str::to_owned),
        }
    }
}

impl From<LocalError> for Error {
    fn from(error: LocalError) -> Self {
        let text = error.to_string();
        match error {
            LocalError::NoBackChannel | LocalError::CapabilityNotDeclared(_) | LocalError::Limit(_) => {
                Self::state(text)
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
            runtime::Error::Io(_) => Self { status: Status::Io, text, code: 0, id: None },
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

/// The JSON-RPC error code to answer the peer with, or 0 when the status is not FMCP_STATUS_PROTOCOL.
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

/// Frees an error. NULL does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_error_free(error: *mut Error) {
    // SAFETY: the caller gives up its handle, by the header's contract.
    guard::value((), || unsafe { handle::free(error) });
}
