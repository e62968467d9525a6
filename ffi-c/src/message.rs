//! One JSON-RPC message, read by the engine and kept for C to look at.

use crate::error::{Error, Status};
use crate::guard;
use crate::handle;
use crate::text::Text;
use ferromcp_engine::jsonrpc::{self, Fault, Incoming};
use ferromcp_engine::{Limits, PeerError};

/// What a message is, decided by its method first and its id second. Numbers are never reused.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No message: the handle was NULL.
    None = 0,
    /// A method and an id; wants an answer.
    Request = 1,
    /// A method without an id; wants none.
    Notification = 2,
    /// A result or an error, under the id of the request that it answers.
    Response = 3,
}

/// A JSON-RPC message. Owned by whoever received it; freed with fmcp_message_free().
#[derive(Debug)]
pub struct Message {
    kind: Kind,
    id: Option<String>,
    method: Option<String>,
    params: Option<String>,
    result: Option<String>,
    error: Option<String>,
}

impl Message {
    /// Reads exactly one message.
    fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let message = match Incoming::parse(bytes, Limits::default().max_depth) {
            Incoming::Single(parsed) => parsed?,
            Incoming::Batch(_) => {
                let error = PeerError::invalid_request("Invalid Request: a batch, where one message was expected");
                return Err(Fault { error, id: None }.into());
            }
        };
        let kept = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Ok(Self {
            kind: match message.kind {
                jsonrpc::Kind::Request => Kind::Request,
                jsonrpc::Kind::Notification => Kind::Notification,
                jsonrpc::Kind::Response => Kind::Response,
            },
            id: kept(message.id),
            // A method may be empty, as long as it is there.
            method: (message.kind != jsonrpc::Kind::Response).then(|| message.method.into_owned()),
            params: message.params.map(str::to_owned),
            result: message.result.map(str::to_owned),
            error: message.error.map(str::to_owned),
        })
    }
}

/// Reads one JSON-RPC message out of `len` bytes of UTF-8 JSON text; blanks and line ends around it are fine. On success
/// `*out` is a new message. On FMCP_STATUS_PROTOCOL the error says what the peer should be told.
///
/// \param bytes the text; not needed after the call; may be NULL when `len` is 0
/// \param len   its length in bytes
/// \param out   where to write the new message; required
/// \param err   where to write what went wrong, or NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_message_parse(
    bytes: *const u8,
    len: usize,
    out: *mut *mut Message,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        if out.is_null() {
            return Err(Error::argument("out is NULL"));
        }
        // SAFETY: `len` readable bytes or null, by the header's contract.
        let bytes = unsafe { handle::array(bytes, len) };
        let bytes = bytes.ok_or_else(|| Error::argument("bytes is NULL, or len is larger than any object"))?;
        let message = Message::parse(bytes)?;
        // SAFETY: checked for null above, and writable by the header's contract.
        unsafe { handle::give(out, message) };
        Ok(())
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// What the message is; FMCP_KIND_NONE for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_message_kind(message: *const Message) -> Kind {
    guard::value(Kind::None, || {
        // SAFETY: a live handle or null, by the header's contract.
        unsafe { handle::borrow(message) }.map_or(Kind::None, |message| message.kind)
    })
}

/// The id as JSON text, byte for byte as the peer wrote it: a string with its quotes, or an integer of any size. None for
/// notifications, and for an error response that answers a message whose id could not be read. Lives as long as the message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_message_id(message: *const Message) -> Text {
    // SAFETY: a live handle or null, by the header's contract.
    unsafe { part(message, |message| message.id.as_deref()) }
}

/// The method, decoded; none for responses. Lives as long as the message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_message_method(message: *const Message) -> Text {
    // SAFETY: a live handle or null, by the header's contract.
    unsafe { part(message, |message| message.method.as_deref()) }
}

/// The parameters as JSON text, as the peer wrote them. Lives as long as the message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_message_params(message: *const Message) -> Text {
    // SAFETY: a live handle or null, by the header's contract.
    unsafe { part(message, |message| message.params.as_deref()) }
}

/// A response's result as JSON text, as the peer wrote it. Lives as long as the message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_message_result(message: *const Message) -> Text {
    // SAFETY: a live handle or null, by the header's contract.
    unsafe { part(message, |message| message.result.as_deref()) }
}

/// A response's error object as JSON text, as the peer wrote it. Lives as long as the message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_message_error(message: *const Message) -> Text {
    // SAFETY: a live handle or null, by the header's contract.
    unsafe { part(message, |message| message.error.as_deref()) }
}

/// Frees a message, and with it every text that was asked from it. NULL does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_message_free(message: *mut Message) {
    // SAFETY: the caller gives up its handle, by the header's contract.
    guard::value((), || unsafe { handle::free(message) });
}

/// One part of a message as a view, or none.
///
/// # Safety
/// As [`handle::borrow`]; the view is used only while the message lives.
unsafe fn part(message: *const Message, get: impl FnOnce(&Message) -> Option<&str>) -> Text {
    guard::value(Text::NONE, || {
        // SAFETY: passed on from our caller.
        Text::of_option(unsafe { handle::borrow(message) }.and_then(get))
    })
}
