//! Errors as data. They are not thrown from here: `ts/errors.cts` makes the classes, so that there is one set of them.

use ferromcp::Error;
use ferromcp_engine::LocalError;
use ferromcp_engine::error::code;
use ferromcp_engine::jsonrpc::Fault;
use napi_derive::napi;

/// What the peer did wrong, and what it should be told.
#[napi(object, object_from_js = false)]
#[derive(Debug)]
pub struct NativeError {
    /// The JSON-RPC error code.
    pub code: i64,
    /// One plain sentence.
    pub message: String,
    /// JSON text of the error's data.
    pub data: Option<String>,
    /// JSON text of the id that the peer can be answered under.
    pub id: Option<String>,
}

impl From<Fault<'_>> for NativeError {
    fn from(fault: Fault<'_>) -> Self {
        Self {
            code: fault.error.code,
            message: fault.error.message,
            data: fault.error.data,
            id: fault.id.map(str::to_owned),
        }
    }
}

/// The error codes that the facade has a use for.
#[napi(object, object_from_js = false)]
#[derive(Debug)]
pub struct ErrorCodes {
    /// The parameters are wrong.
    pub invalid_params: i64,
    /// The server could not do its work.
    pub internal_error: i64,
    /// The newest of those that JSON-RPC leaves to implementations; SDKs say with it that a connection is closed.
    pub connection_closed: i64,
}

/// The numbers of error codes, which the engine knows.
#[napi]
pub fn error_codes() -> ErrorCodes {
    ErrorCodes {
        invalid_params: code::INVALID_PARAMS,
        internal_error: code::INTERNAL_ERROR,
        connection_closed: *code::SERVER_ERRORS.end(),
    }
}

/// Why the native module could not do what it was asked for.
#[napi(object, object_from_js = false)]
#[derive(Debug)]
pub struct NativeFailure {
    /// Which class it becomes.
    #[napi(
        ts_type = "'configuration' | 'noBackChannel' | 'capabilityNotDeclared' | 'serialization' | 'taskStore' | 'system'"
    )]
    pub kind: &'static str,
    /// One plain sentence.
    pub message: String,
    /// The capability that the client has not declared, where it is that.
    pub capability: Option<&'static str>,
}

impl From<LocalError> for NativeFailure {
    fn from(error: LocalError) -> Self {
        let capability = if let LocalError::CapabilityNotDeclared(name) = error { Some(name) } else { None };
        let kind = match error {
            LocalError::NoBackChannel | LocalError::UnknownStream => "noBackChannel",
            LocalError::CapabilityNotDeclared(_) => "capabilityNotDeclared",
            LocalError::NotJson { .. } | LocalError::NotANumber => "serialization",
            _ => "configuration",
        };
        Self { kind, message: error.to_string(), capability }
    }
}

/// A text of the facade's that is not what it should be.
impl From<serde_json::Error> for NativeFailure {
    fn from(error: serde_json::Error) -> Self {
        Self { kind: "serialization", message: error.to_string(), capability: None }
    }
}

impl From<Error> for NativeFailure {
    fn from(error: Error) -> Self {
        match error {
            Error::Engine(error) => error.into(),
            Error::StdioTaken => Self {
                kind: "configuration",
                message: "standard input and output belong to a server that this process runs, or has run: \
                          there is one client there"
                    .into(),
                capability: None,
            },
            Error::TaskStore(_) => Self { kind: "taskStore", message: error.to_string(), capability: None },
            error => Self { kind: "system", message: error.to_string(), capability: None },
        }
    }
}
