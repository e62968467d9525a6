//! The two families of errors, and the only list of JSON-RPC error codes.
//!
//! [`PeerError`] is what goes over the wire or comes from it: the other side did something wrong, or is told that we
//! could not serve it. [`LocalError`] is for our own caller: a call that breaks the engine's contract. They are
//! different types so that neither can be mistaken for the other.

use std::fmt;

/// Error codes that MCP uses, by the names of the schema (2026-07-28 `basic/index`, "Error Codes").
pub mod code {
    /// What JSON-RPC leaves to implementations and MCP has divided: -32000 to -32019 are retired, the rest is MCP's own
    /// (2026-07-28 `basic/index`, "Error Codes").
    pub const SERVER_ERRORS: std::ops::RangeInclusive<i64> = -32099..=-32000;
    /// The bytes are not one JSON text (JSON-RPC 2.0, section 5.1).
    pub const PARSE_ERROR: i64 = -32700;
    /// JSON, but no JSON-RPC message that may be sent here.
    pub const INVALID_REQUEST: i64 = -32600;
    /// The method does not exist in this revision, or its capability is not offered.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The method exists and its parameters are wrong.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The server could not do its work.
    pub const INTERNAL_ERROR: i64 = -32603;
    /// Unknown resource, up to 2025-11-25 (`server/resources`, "Error Handling"); never sent to modern peers.
    pub const RESOURCE_NOT_FOUND: i64 = -32002;
    /// A URL has to be visited first (2025-11-25 `client/elicitation`); never sent to modern peers.
    pub const URL_ELICITATION_REQUIRED: i64 = -32042;
    /// The HTTP headers contradict the body (2026-07-28 `basic/transports/streamable-http`).
    pub const HEADER_MISMATCH: i64 = -32020;
    /// A request needs a client capability that was not declared (2026-07-28 `basic/index`, "`_meta`").
    pub const MISSING_REQUIRED_CLIENT_CAPABILITY: i64 = -32021;
    /// The request's protocol version is not served (2026-07-28 `basic/versioning`).
    pub const UNSUPPORTED_PROTOCOL_VERSION: i64 = -32022;
}

/// An error object of JSON-RPC: what a peer gets, or what a peer sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerError {
    /// One of [`code`], or a code of the application's own.
    pub code: i64,
    /// One plain sentence.
    pub message: String,
    /// JSON text of `data`, where there is any.
    pub data: Option<String>,
}

impl PeerError {
    /// An error without `data`.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The same error with `data`, given as JSON text.
    #[must_use]
    pub fn with_data(mut self, json: impl Into<String>) -> Self {
        self.data = Some(json.into());
        self
    }

    /// [`code::INVALID_REQUEST`].
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_REQUEST, message)
    }

    /// [`code::INVALID_PARAMS`].
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }

    /// [`code::METHOD_NOT_FOUND`], naming the method.
    pub fn method_not_found(method: &str) -> Self {
        Self::new(code::METHOD_NOT_FOUND, format!("Method not found: {}", shorten(method)))
    }

    /// [`code::URL_ELICITATION_REQUIRED`]: the user has to visit URLs before this can be served. `elicitations` is the JSON of an
    /// array of `{"mode":"url","message":...,"url":...}`, each with an `elicitationId` if it matters which. What becomes of it is
    /// the client's revision's ([`crate::Server::fail`]).
    pub fn url_elicitation_required(message: impl Into<String>, elicitations: &str) -> Self {
        Self::new(code::URL_ELICITATION_REQUIRED, message).with_data(format!(r#"{{"elicitations":{elicitations}}}"#))
    }

    /// [`code::INTERNAL_ERROR`].
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(code::INTERNAL_ERROR, message)
    }
}

impl fmt::Display for PeerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for PeerError {}

/// A peer's text, cut to a length that is fit for an error message.
pub(crate) fn shorten(text: &str) -> &str {
    const LONGEST: usize = 120;
    if text.len() <= LONGEST {
        return text;
    }
    let mut end = LONGEST;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The caller broke the engine's contract. Nothing was changed and nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LocalError {
    /// No open stream has this number.
    UnknownStream,
    /// The configuration can't be served; the text says which part and why.
    Config(String),
    /// A tool, resource, template or prompt definition can't be served.
    Definition {
        /// The definition's name or URI, as far as it could be read.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A text that must be JSON of a given shape is not; `what` names it.
    NotJson {
        /// Which argument it was.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The reply's kind does not fit the request's method.
    WrongReply {
        /// The method that was to be answered.
        method: String,
    },
    /// Requests to the peer exist only on an initialized legacy connection (2026-07-28 has none).
    NoBackChannel,
    /// The peer has not declared the capability that this request needs.
    CapabilityNotDeclared(&'static str),
    /// What is to be asked of a client is not what the specification allows.
    InputRequest {
        /// The method that was to be asked; empty where it could not be told.
        method: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Something has to be unpredictable, and [`crate::Server::set_entropy`] was not called.
    NoEntropy,
    /// A number that JSON can't carry (NaN or infinite).
    NotANumber,
    /// A limit of [`crate::Limits`] is reached; the text names it.
    Limit(&'static str),
}

impl fmt::Display for LocalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownStream => write!(f, "no open stream has this number"),
            Self::Config(reason) => write!(f, "configuration: {reason}"),
            Self::Definition { name, reason } => write!(f, "definition of {name:?}: {reason}"),
            Self::NotJson { what, reason } => write!(f, "{what}: {reason}"),
            Self::WrongReply { method } => write!(f, "this kind of reply does not answer {method}"),
            Self::NoBackChannel => {
                write!(f, "this peer takes no requests: only an initialized connection of 2025-11-25 or earlier does")
            }
            Self::CapabilityNotDeclared(name) => write!(f, "the client has not declared the capability {name:?}"),
            Self::InputRequest { method, reason } => write!(f, "request to the client {method:?}: {reason}"),
            Self::NoEntropy => write!(f, "no source of random bytes was set"),
            Self::NotANumber => write!(f, "NaN and infinite numbers do not exist in JSON"),
            Self::Limit(name) => write!(f, "limit {name} is reached"),
        }
    }
}

impl std::error::Error for LocalError {}
