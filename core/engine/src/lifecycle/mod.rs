//! Which rules a request falls under.
//!
//! Decides, from what the connection has agreed on and what the request carries, whether it is served by a legacy
//! revision, by a modern one, or not at all (2026-07-28 `basic/versioning`, "Backward Compatibility"; 2025-11-25
//! `basic/lifecycle`). Knows nothing of what methods do.
//!
//! | the request carries a version in `_meta` | the connection has | the method is | it falls under |
//! |---|---|---|---|
//! | yes | anything | any | the modern revision it names, or -32022 / -32602 |
//! | no | initialized | `initialize` | nothing: -32600 |
//! | no | initialized | any other | the revision that was negotiated |
//! | no | not initialized | `initialize` | the handshake |
//! | no | not initialized | `ping` | the latest legacy revision |
//! | no | not initialized | any other | nothing: -32602, for the missing `_meta` |

use crate::error::PeerError;
use crate::wire::Revision;
use crate::wire::meta::{Declared, Meta};

/// The rules for one request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ruling<'a> {
    /// The handshake itself.
    Handshake,
    /// A legacy revision.
    Legacy(Revision),
    /// A modern revision, with what the request declares.
    Modern(Declared<'a>),
}

/// Applies the table above. `negotiated` is what `initialize` agreed on for this connection.
pub(crate) fn rule<'a>(
    method: &str,
    meta: &Meta<'a>,
    negotiated: Option<Revision>,
    served: &[Revision],
) -> Result<Ruling<'a>, PeerError> {
    if meta.protocol_version.is_some() {
        return meta.declared(served).map(Ruling::Modern);
    }
    let latest_legacy = served.iter().copied().filter(|revision| !revision.is_modern()).max();
    match (negotiated, method, latest_legacy) {
        (Some(_), "initialize", _) => {
            Err(PeerError::invalid_request("Invalid Request: this connection is already initialized"))
        }
        (Some(revision), ..) => Ok(Ruling::Legacy(revision)),
        (None, "initialize", Some(_)) => Ok(Ruling::Handshake),
        (None, "ping", Some(latest)) => Ok(Ruling::Legacy(latest)),
        (None, ..) => match meta.declared(served) {
            Ok(declared) => Ok(Ruling::Modern(declared)),
            Err(mut error) => {
                if latest_legacy.is_some() {
                    error.message.push_str("; a client of an earlier revision sends \"initialize\" first");
                }
                Err(error)
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::code;

    const MODERN: &str =
        r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

    fn ruled(method: &str, meta: Option<&str>, negotiated: Option<Revision>) -> Result<&'static str, i64> {
        let params = meta.map(|meta| format!(r#","params":{{"_meta":{meta}}}"#)).unwrap_or_default();
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"{params}}}"#);
        let message = crate::jsonrpc::Message::from_json(&text, 8).expect("a message");
        let [meta, ..] = message.fields.params.expect("an object");
        let meta = Meta::read(meta, &message.fields).expect("readable");
        match rule(method, &meta, negotiated, &Revision::ALL) {
            Ok(Ruling::Handshake) => Ok("handshake"),
            Ok(Ruling::Legacy(revision)) => Ok(revision.as_str()),
            Ok(Ruling::Modern(declared)) => Ok(declared.revision.as_str()),
            Err(error) => Err(error.code),
        }
    }

    #[test]
    fn the_table_holds() {
        let legacy = Some(Revision::V2025_03_26);
        assert_eq!(ruled("tools/list", Some(MODERN), None), Ok("2026-07-28"));
        assert_eq!(ruled("tools/list", Some(MODERN), legacy), Ok("2026-07-28"));
        assert_eq!(ruled("initialize", None, legacy), Err(code::INVALID_REQUEST));
        assert_eq!(ruled("tools/list", None, legacy), Ok("2025-03-26"));
        assert_eq!(ruled("initialize", None, None), Ok("handshake"));
        assert_eq!(ruled("ping", None, None), Ok("2025-11-25"));
        assert_eq!(ruled("tools/list", None, None), Err(code::INVALID_PARAMS));
        assert_eq!(ruled("server/discover", None, None), Err(code::INVALID_PARAMS));
    }

    #[test]
    fn versions_that_a_request_cannot_choose() {
        for version in ["1900-01-01", "2025-11-25", ""] {
            let meta = format!(
                r#"{{"io.modelcontextprotocol/protocolVersion":"{version}","io.modelcontextprotocol/clientCapabilities":{{}}}}"#
            );
            assert_eq!(ruled("tools/list", Some(&meta), None), Err(code::UNSUPPORTED_PROTOCOL_VERSION));
        }
    }
}
