//! One line of bytes, read as a JSON-RPC message.

use super::cursor::{Checked, Cursor, PickError, Picked};
use super::last_meta::LastMeta;
use super::scan;
use crate::error::{PeerError, code};
use std::borrow::Cow;

/// What a message is, by `method` first and `id` second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Has a method and an id.
    Request,
    /// Has a method and no id.
    Notification,
    /// Has no method, and an id with a result or an error.
    Response,
}

/// A message whose envelope was read; everything else is text as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// What it is.
    pub kind: Kind,
    /// The id as written: a string with its quotes, or an integer. Empty for notifications.
    pub id: &'a str,
    /// The method; empty for responses.
    pub method: Cow<'a, str>,
    /// The parameters as written; `null` counts as absent.
    pub params: Option<&'a str>,
    /// A response's result as written.
    pub result: Option<&'a str>,
    /// A response's error object as written.
    pub error: Option<&'a str>,
    pub(crate) fields: Fields<'a>,
}

/// What most methods ask of the parameters, found on the same walk: the values of [`PARAMS`], and of [`META`] in `_meta`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fields<'a> {
    pub(crate) params: Picked<'a, 7>,
    pub(crate) meta: Picked<'a, 5>,
}

const PARAMS: [&str; 7] = ["_meta", "name", "arguments", "uri", "cursor", "inputResponses", "requestState"];
const PARAMS_META: usize = 0;
pub(super) const META: [&str; 5] = [
    "progressToken",
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/clientCapabilities",
    "io.modelcontextprotocol/logLevel",
];

impl Fields<'_> {
    const NONE: Self = Self { params: Ok([None; 7]), meta: Ok([None; 5]) };
}

/// What one line holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "messages are the common case; boxing them costs more than moving them")]
pub enum Incoming<'a> {
    /// A single message, or the fault it has.
    Single(Parsed<'a>),
    /// An array; whether arrays are allowed is the revision's business. Elements as written.
    Batch(&'a str),
}

/// One message, or why it is none.
pub type Parsed<'a> = Result<Message<'a>, Fault<'a>>;

/// Why a text is no message that can be served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault<'a> {
    /// What the sender is told.
    pub error: PeerError,
    /// The id it can be told under, where one could be read.
    pub id: Option<&'a str>,
}

impl<'a> Incoming<'a> {
    /// Reads one frame: a UTF-8 check, and one pass over the text.
    pub fn parse(frame: &'a [u8], max_depth: usize) -> Self {
        Self::parse_after(&mut LastMeta::default(), frame, max_depth)
    }

    /// The same for a frame that is one of many from the same sender.
    pub(crate) fn parse_after(last_meta: &mut LastMeta, frame: &'a [u8], max_depth: usize) -> Self {
        let Ok(text) = std::str::from_utf8(frame) else {
            return Self::Single(Err(not_json("message is not UTF-8")));
        };
        let mut cursor = Cursor::new(text);
        cursor.blanks();
        if cursor.peek() != Some(b'[') {
            return Self::Single(Message::read(cursor, last_meta, max_depth));
        }
        let start = cursor.at;
        let (array, deepest) = match cursor.value().and_then(|()| Ok((text.get(start..cursor.at), cursor.end()?))) {
            Ok((array, ())) => (array.unwrap_or_default(), cursor.deepest),
            Err(malformed) => return Self::Single(Err(not_json(&format!("message is not JSON: {malformed}")))),
        };
        // The array itself is no level of a message.
        if deepest > max_depth + 1 {
            return Self::Single(Err(Fault { error: too_deep(max_depth), id: None }));
        }
        Self::Batch(array)
    }
}

fn not_json<'a>(reason: &str) -> Fault<'a> {
    Fault { error: PeerError::new(code::PARSE_ERROR, format!("Parse error: {reason}")), id: None }
}

fn too_deep(max_depth: usize) -> PeerError {
    PeerError::invalid_request(format!("Invalid Request: nested deeper than {max_depth} levels"))
}

/// The values of [`TOP`], and of what lies in them.
struct Envelope<'a> {
    top: Picked<'a, 6>,
    fields: Fields<'a>,
}

impl<'a> Envelope<'a> {
    /// Reads the text from the cursor to its end. What is no object has no members.
    fn read(cursor: &mut Cursor<'a>, last_meta: &mut LastMeta) -> Checked<Self> {
        let mut fields = Fields::NONE;
        let top = if cursor.peek() == Some(b'{') {
            cursor.object(&TOP, |cursor, slot| {
                if slot != TOP_PARAMS || cursor.peek() != Some(b'{') {
                    return cursor.value();
                }
                fields.params = cursor.object(&PARAMS, |cursor, slot| {
                    if slot != PARAMS_META || cursor.peek() != Some(b'{') {
                        return cursor.value();
                    }
                    fields.meta = last_meta.read(cursor)?;
                    Ok(())
                })?;
                Ok(())
            })?
        } else {
            cursor.value()?;
            Err(PickError::NotObject)
        };
        cursor.end()?;
        Ok(Self { top, fields })
    }
}

impl<'a> Message<'a> {
    /// Reads a message out of a text of its own (an element of a batch, say).
    pub fn from_json(text: &'a str, max_depth: usize) -> Parsed<'a> {
        Self::read(Cursor::new(text), &mut LastMeta::default(), max_depth)
    }

    fn read(mut cursor: Cursor<'a>, last_meta: &mut LastMeta, max_depth: usize) -> Parsed<'a> {
        let invalid = |reason: &str, id| {
            Err(Fault { error: PeerError::invalid_request(format!("Invalid Request: {reason}")), id })
        };
        cursor.blanks();
        let start = cursor.at;
        let Envelope { top, mut fields } = match Envelope::read(&mut cursor, last_meta) {
            Ok(envelope) => envelope,
            Err(malformed) => return Err(not_json(&format!("message is not JSON: {malformed}"))),
        };
        let [version, id, method, params, result, error] = match top {
            Ok(found) => found,
            Err(PickError::NotObject) => return invalid("not an object", None),
            Err(PickError::Duplicate(key)) => {
                // Another key is there twice: the id is still good to answer under.
                let object = cursor.text.get(start..).unwrap_or_default();
                let id = scan::pick(object, ["id"]).ok().and_then(|[id]| id).filter(|id| is_id(id));
                return invalid(&format!("duplicate key {key:?}"), id);
            }
        };
        let known_id = id.filter(|id| is_id(id));
        // As everybody writes it, or with escapes.
        if version != Some(r#""2.0""#) && version.and_then(scan::plain_string).as_deref() != Some("2.0") {
            return invalid("\"jsonrpc\" must be \"2.0\"", known_id);
        }
        if id.is_some() && known_id.is_none() {
            return invalid("\"id\" must be a string or an integer", None);
        }
        if cursor.deepest > max_depth {
            return Err(Fault { error: too_deep(max_depth), id: known_id });
        }
        let Some(method) = method else {
            return match (known_id, result, error) {
                (Some(id), Some(_), None) | (Some(id), None, Some(_)) => Ok(Self {
                    kind: Kind::Response,
                    id,
                    method: Cow::Borrowed(""),
                    params: None,
                    result,
                    error,
                    fields,
                }),
                // An error may come without an id: it answers a message whose id its sender could not read.
                (None, None, Some(_)) => Ok(Self {
                    kind: Kind::Response,
                    id: "",
                    method: Cow::Borrowed(""),
                    params: None,
                    result,
                    error,
                    fields,
                }),
                (id, ..) => invalid("neither a method nor a result or an error", id),
            };
        };
        let Some(method) = scan::plain_string(method) else {
            return invalid("\"method\" must be a string", known_id);
        };
        let kind = if known_id.is_some() { Kind::Request } else { Kind::Notification };
        let params = params.filter(|params| *params != "null");
        if params.is_some_and(|params| !scan::is_object(params)) {
            fields.params = Err(PickError::NotObject);
        }
        Ok(Self { kind, id: known_id.unwrap_or(""), method, params, result: None, error: None, fields })
    }
}

/// What an envelope has.
const TOP: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];
const TOP_PARAMS: usize = 3;

/// True for an id that MCP allows: a string, or an integer of any size (`basic/index`, "Requests").
fn is_id(value: &str) -> bool {
    value.starts_with('"') || scan::is_integer(value)
}

/// An id as written, kept: nearly all ids are short and need no memory of their own.
pub(crate) type Id = smol_str::SmolStr;

/// The id in the one spelling by which two ids are compared; what is sent back is always the peer's own spelling.
pub fn canonical_id(id: &str) -> Cow<'_, str> {
    if id.starts_with('"')
        && id.contains('\\')
        && let Some(plain) = scan::plain_string(id)
    {
        let mut text = String::with_capacity(id.len());
        super::write::string(&mut text, &plain);
        return Cow::Owned(text);
    }
    Cow::Borrowed(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn single(text: &str) -> Parsed<'_> {
        match Incoming::parse(text.as_bytes(), 8) {
            Incoming::Single(parsed) => parsed,
            Incoming::Batch(_) => panic!("{text} is no batch"),
        }
    }

    fn fault(text: &str) -> (i64, Option<&str>) {
        let fault = single(text).expect_err(text);
        (fault.error.code, fault.id)
    }

    #[test]
    fn method_first_then_id() {
        let kind = |text| single(text).map(|m| m.kind);
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":0,"method":"a"}"#), Ok(Kind::Request));
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":"","method":"a","result":{}}"#), Ok(Kind::Request));
        assert_eq!(kind(r#"{"jsonrpc":"2.0","method":"a"}"#), Ok(Kind::Notification));
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), Ok(Kind::Response));
        assert_eq!(kind(r#"{"jsonrpc":"2.0","error":{"code":1,"message":""}}"#), Ok(Kind::Response));
    }

    #[test]
    fn ids_are_strings_or_integers_of_any_size() {
        for id in ["0", "-1", "9007199254740993", "123456789012345678901234567890", r#""1""#, r#""""#, r#""\ud83d""#] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"a"}}"#);
            assert_eq!(single(&text).expect(id).id, id);
        }
        for id in ["null", "1.5", "1.0", "1e3", "true", "[]", "{}"] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"a"}}"#);
            assert_eq!(fault(&text), (code::INVALID_REQUEST, None), "{id}");
        }
    }

    #[test]
    fn faults_name_their_code_and_keep_a_readable_id() {
        assert_eq!(fault("{"), (code::PARSE_ERROR, None));
        assert_eq!(fault("{} x"), (code::PARSE_ERROR, None));
        assert_eq!(fault("5"), (code::INVALID_REQUEST, None));
        assert_eq!(fault("{}"), (code::INVALID_REQUEST, None));
        assert_eq!(fault(r#"{"jsonrpc":"2.0","id":2,"method":42}"#), (code::INVALID_REQUEST, Some("2")));
        assert_eq!(fault(r#"{"id":2,"method":"a"}"#), (code::INVALID_REQUEST, Some("2")));
        assert_eq!(fault(r#"{"jsonrpc":"2.0","id":2,"id":3,"method":"a"}"#), (code::INVALID_REQUEST, None));
        assert_eq!(fault(r#"{"jsonrpc":"2.0","id":2,"method":"a","method":"b"}"#), (code::INVALID_REQUEST, Some("2")));
        assert_eq!(
            fault(r#"{"jsonrpc":"2.0","id":2,"method":"a","params":[[[[[[[[1]]]]]]]]}"#),
            (code::INVALID_REQUEST, Some("2"))
        );
        let bytes = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xb0\xa1\"}";
        let Incoming::Single(Err(fault)) = Incoming::parse(bytes, 8) else { panic!("not UTF-8") };
        assert_eq!(fault.error.code, code::PARSE_ERROR);
    }

    #[test]
    fn two_spellings_of_a_string_are_one_id() {
        assert_eq!(canonical_id(r#""\u0061""#), r#""a""#);
        assert_eq!(canonical_id(r#""\ud83d""#), r#""\ud83d""#);
        assert_eq!(canonical_id("1"), "1");
    }

    #[test]
    fn null_params_count_as_absent() {
        assert_eq!(single(r#"{"jsonrpc":"2.0","id":1,"method":"a","params":null}"#).expect("valid").params, None);
    }
}
