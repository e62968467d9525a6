//! Errors as data. They are not thrown from here: `ts/errors.cts` makes the classes, so that there is one set of them.

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
