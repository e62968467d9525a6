//! What goes back: statuses, header fields, bodies.

use crate::error::{PeerError, code};
use crate::jsonrpc::write;
use std::borrow::Cow;

/// The head of a response, and its body where that is there already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// Field names in lower case, and values.
    pub headers: Vec<(&'static str, Cow<'static, str>)>,
    /// The body. None: it comes in pieces.
    pub body: Option<Vec<u8>>,
}

/// Every field that a response may have.
const FIELDS: [&str; 14] = [
    "accept-encoding",
    "access-control-allow-headers",
    "access-control-allow-methods",
    "access-control-allow-origin",
    "access-control-expose-headers",
    "access-control-max-age",
    "allow",
    "cache-control",
    "content-type",
    "mcp-session-id",
    "retry-after",
    "vary",
    "www-authenticate",
    "x-accel-buffering",
];

/// A piece of a response, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The first piece. With a whole body it is the last as well.
    Response(Response),
    /// More of the body.
    Data(Vec<u8>),
    /// The body is complete.
    End,
}

impl Response {
    /// The name of a field that a response may have, as it stands in [`Response::headers`]: for a response that came from
    /// elsewhere.
    pub fn field_name(name: &str) -> Option<&'static str> {
        FIELDS.iter().find(|field| **field == name).copied()
    }

    pub(crate) fn empty(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Some(Vec::new()) }
    }

    pub(crate) fn json(status: u16, body: Vec<u8>) -> Self {
        Self { status, headers: vec![("content-type", "application/json".into())], body: Some(body) }
    }

    pub(crate) fn stream() -> Self {
        let headers = vec![
            ("content-type", "text/event-stream".into()),
            ("cache-control", "no-cache, no-transform".into()),
            // Otherwise nginx holds events back (2026-07-28 `basic/transports/streamable-http`, "Receiving Messages": SHOULD).
            ("x-accel-buffering", "no".into()),
        ];
        Self { status: 200, headers, body: None }
    }

    /// A JSON-RPC error under a status of its own.
    pub(crate) fn error(status: u16, id: Option<&str>, error: &PeerError) -> Self {
        let mut body = String::new();
        write::error(&mut body, id, error);
        Self::json(status, body.into_bytes())
    }

    /// An error of HTTP, told as a JSON-RPC error without an id.
    pub(crate) fn refusal(status: u16, reason: &str) -> Self {
        Self::error(status, None, &PeerError::invalid_request(reason))
    }

    #[must_use]
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        debug_assert!(FIELDS.contains(&name), "{name} has to be among the known fields");
        self.headers.push((name, value.into()));
        self
    }
}

/// The status of an answer to a modern request (2026-07-28 `basic/transports/streamable-http`, "Protocol Version Header" and
/// "Server Validation"): what the client did wrong is 400, a method that is not there 404. Everything else is an answer.
pub(crate) fn modern_status(error: Option<i64>) -> u16 {
    match error {
        Some(code::METHOD_NOT_FOUND) => 404,
        Some(
            code::PARSE_ERROR
            | code::INVALID_REQUEST
            | code::INVALID_PARAMS
            | code::HEADER_MISMATCH
            | code::MISSING_REQUIRED_CLIENT_CAPABILITY
            | code::UNSUPPORTED_PROTOCOL_VERSION,
        ) => 400,
        _ => 200,
    }
}

/// The status of an answer to a legacy request: only what is no message that can be served is an error of HTTP (2025-11-25
/// `basic/transports`, "Sending Messages to the Server").
pub(crate) fn legacy_status(error: Option<i64>) -> u16 {
    match error {
        Some(code::PARSE_ERROR | code::INVALID_REQUEST) => 400,
        _ => 200,
    }
}
