//! One JSON-RPC message, read by the engine and handed to JavaScript in parts.

use crate::convert::{self, Text};
use crate::error::NativeError;
use ferromcp_engine::jsonrpc::{Fault, Incoming, Kind};
use ferromcp_engine::{Limits, PeerError};
use napi_derive::napi;

/// The parts of one message. Ids, parameters, results and errors are JSON text as the peer wrote them.
#[napi(object, object_from_js = false)]
#[derive(Debug)]
pub struct NativeMessage {
    /// What it is.
    #[napi(ts_type = "'request' | 'notification' | 'response'")]
    pub kind: &'static str,
    /// The id, byte for byte: a string with its quotes, or an integer of any size.
    pub id: Option<String>,
    /// The method, decoded.
    pub method: Option<String>,
    /// The parameters.
    pub params: Option<String>,
    /// A response's result.
    pub result: Option<String>,
    /// A response's error object.
    pub error: Option<String>,
}

/// Either a message or the fault that it has.
#[napi(object, object_from_js = false)]
#[derive(Debug)]
pub struct NativeParsed {
    /// The message.
    pub message: Option<NativeMessage>,
    /// Why there is none.
    pub fault: Option<NativeError>,
}

/// Reads exactly one JSON-RPC message.
#[napi(catch_unwind)]
pub fn parse_message(#[napi(ts_arg_type = "string | Uint8Array")] text: Text) -> NativeParsed {
    match read(convert::bytes(&text)) {
        Ok(message) => NativeParsed { message: Some(message), fault: None },
        Err(fault) => NativeParsed { message: None, fault: Some(fault.into()) },
    }
}

fn read(bytes: &[u8]) -> Result<NativeMessage, Fault<'_>> {
    let message = match Incoming::parse(bytes, Limits::default().max_depth) {
        Incoming::Single(parsed) => parsed?,
        Incoming::Batch(_) => {
            let error = PeerError::invalid_request("Invalid Request: a batch, where one message was expected");
            return Err(Fault { error, id: None });
        }
    };
    Ok(NativeMessage {
        kind: match message.kind {
            Kind::Request => "request",
            Kind::Notification => "notification",
            Kind::Response => "response",
        },
        id: (!message.id.is_empty()).then(|| message.id.to_owned()),
        // A method may be empty, as long as it is there.
        method: (message.kind != Kind::Response).then(|| message.method.into_owned()),
        params: message.params.map(str::to_owned),
        result: message.result.map(str::to_owned),
        error: message.error.map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_as_written() {
        let message = read(br#"{"jsonrpc":"2.0","id":9007199254740993,"method":"a\/b","params":{"x": 1.10}}"#);
        let message = message.expect("a request");
        assert_eq!(message.kind, "request");
        assert_eq!(message.id.as_deref(), Some("9007199254740993"));
        assert_eq!(message.method.as_deref(), Some("a/b"));
        assert_eq!(message.params.as_deref(), Some(r#"{"x": 1.10}"#));
        assert_eq!((message.result, message.error), (None, None));
    }

    #[test]
    fn a_batch_is_not_one_message() {
        let fault = read(br#"[{"jsonrpc":"2.0","method":"a"}]"#).expect_err("a batch");
        assert_eq!((fault.error.code, fault.id), (-32600, None));
    }
}
