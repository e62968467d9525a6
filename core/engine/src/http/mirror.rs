//! Headers that say again what the body says, so that who stands between can read it (2026-07-28
//! `basic/transports/streamable-http`, "Request Metadata").
//!
//! Decides which values have a header, how a value is written in one, and whether headers and body agree. A reason for a
//! refusal is what follows "Header mismatch: " in the message of the error.

use super::head::{Field, Head, Headers};
use crate::error::shorten;
use crate::jsonrpc::cursor::Cursor;
use crate::jsonrpc::scan;
use crate::schema;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::borrow::Cow;

const VERSION: &str = "MCP-Protocol-Version";
const METHOD: &str = "Mcp-Method";
const NAME: &str = "Mcp-Name";

/// The keyword of a schema that asks for a header.
const ANNOTATION: &str = "x-mcp-header";

/// The largest integer that a double tells from its neighbours; nothing past it, on either side of zero, is mirrored.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// What encloses a value that can't stand in a header as it is.
const WRAPPER: (&str, &str) = ("=?base64?", "?=");

/// A parameter of a tool whose value stands in a header too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mirror {
    /// The header, as the tool's author writes it: `Mcp-Param-Region`.
    header: String,
    /// The same in lower case, which is how headers are asked for.
    field: String,
    /// The keys that lead to the value in the arguments; at least one.
    path: Vec<String>,
}

/// The member of `params` that `Mcp-Name` mirrors. The methods of tasks are from ext-tasks, "Streamable HTTP: Routing
/// Headers".
pub(crate) fn name_source(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    }
}

/// Holds the headers that every request has against its body ("Server Validation"). `source_name` is the text of the
/// member that [`name_source`] names, if the body has one, and `version` that of `_meta`.
///
/// # Errors
/// What is missing, malformed or different.
pub(crate) fn check_standard(
    head: &Head<'_>,
    method: &str,
    source_name: Option<&str>,
    version: &str,
) -> Result<(), String> {
    // The encoded form is not for these two: they are ASCII by themselves.
    for (header, field, expected) in [(VERSION, "mcp-protocol-version", version), (METHOD, "mcp-method", method)] {
        match head.field(field) {
            Field::One(value) if value == expected => {}
            Field::One(value) => return Err(different(header, &value, expected)),
            Field::Absent => return Err(missing(header)),
            Field::Bad => return Err(bad(header)),
        }
    }
    if name_source(method).is_none() {
        // It mirrors nothing here, so there is nothing that it could contradict.
        return Ok(());
    }
    match (head.field("mcp-name"), source_name) {
        (Field::One(value), expected) => {
            let value = decode(&value).map_err(|reason| undecodable(NAME, reason))?;
            match expected {
                Some(expected) if value != expected => Err(different(NAME, &value, expected)),
                // What the body lacks is said by an error of its own.
                Some(_) | None => Ok(()),
            }
        }
        (Field::Absent, Some(_)) => Err(missing(NAME)),
        (Field::Absent, None) => Ok(()),
        (Field::Bad, _) => Err(bad(NAME)),
    }
}

/// Finds the parameters that a tool wants to be mirrored (2026-07-28 `server/tools`, "x-mcp-header").
///
/// # Errors
/// The rule that an annotation breaks: clients would leave the tool out of their list.
pub(crate) fn compile(input_schema: &str) -> Result<Vec<Mirror>, String> {
    let annotated = schema::annotated(input_schema, ANNOTATION).map_err(|error| error.to_string())?;
    let mut mirrors: Vec<Mirror> = Vec::with_capacity(annotated.len());
    for place in annotated {
        let Some(name) = place.value else { return Err(format!("{ANNOTATION} must be a string")) };
        let refuse = |reason: &str| Err(format!("{ANNOTATION} {:?} {reason}", shorten(&name)));
        if name.is_empty() {
            return refuse("must not be empty");
        }
        if !name.bytes().all(is_token) {
            return refuse("must be a header name: letters, digits and !#$%&'*+-.^_`|~");
        }
        let Some(path) = place.path.filter(|path| !path.is_empty()) else {
            return refuse("must stand at a property that is reached from the root through \"properties\" alone");
        };
        if !matches!(place.kind.as_deref(), Some("string" | "integer" | "boolean")) {
            return refuse("must stand at a property whose \"type\" is \"string\", \"integer\" or \"boolean\"");
        }
        let header = format!("Mcp-Param-{name}");
        let field = header.to_ascii_lowercase();
        if mirrors.iter().any(|mirror| mirror.field == field) {
            return refuse("must be there once, whatever the case of its letters");
        }
        mirrors.push(Mirror { header, field, path });
    }
    Ok(mirrors)
}

/// Holds the headers of a `tools/call` against its `arguments` ("Server Behavior for Custom Headers").
///
/// # Errors
/// What is missing, malformed or different.
pub(crate) fn check(mirrors: &[Mirror], arguments: &str, headers: &dyn Headers) -> Result<(), String> {
    mirrors.iter().try_for_each(|mirror| mirror.check(arguments, headers))
}

impl Mirror {
    fn check(&self, arguments: &str, headers: &dyn Headers) -> Result<(), String> {
        let given = match Field::of(headers, &self.field) {
            Field::Absent => None,
            Field::One(value) => Some(value),
            Field::Bad => return Err(bad(&self.header)),
        };
        let given = given.as_deref().map(decode).transpose().map_err(|reason| undecodable(&self.header, reason))?;
        let value = find(arguments, &self.path).map_or(Value::Absent, Value::of);
        match (value, given) {
            (Value::Absent | Value::Composite, None) => Ok(()),
            (Value::Absent, Some(given)) => Err(self.without_value(&given, "no value")),
            (Value::Composite, Some(given)) => Err(self.without_value(&given, "an object or array")),
            (Value::Unfit(why), _) => Err(format!("{} can't carry the body value: {why}", self.header)),
            (Value::Text(_) | Value::Word(_) | Value::Number(_), None) => Err(missing(&self.header)),
            (Value::Text(expected), Some(given)) => self.compare(&given, &expected, given == expected),
            (Value::Word(expected), Some(given)) => self.compare(&given, expected, given == expected),
            (Value::Number(expected), Some(given)) => {
                let same = is_number(&given) && schema::same_number(&given, expected);
                self.compare(&given, expected, same)
            }
        }
    }

    fn compare(&self, given: &str, expected: &str, same: bool) -> Result<(), String> {
        if same { Ok(()) } else { Err(different(&self.header, given, expected)) }
    }

    /// Who reads the header alone would take the call for one that it is not.
    fn without_value(&self, given: &str, instead: &str) -> String {
        format!("{} header has value '{}', and the body has {instead} for it", self.header, shorten(given))
    }
}

/// A value of the arguments, by what it is and not by what the schema wants: a client mirrors whatever it was given, and
/// that it does not fit is for the schema to say, in words that the model reads.
enum Value<'a> {
    /// Not there, or null.
    Absent,
    /// An object or array. There is no way to write it in a header, and no annotated property that it fits.
    Composite,
    Text(Cow<'a, str>),
    /// `true` or `false`.
    Word(&'a str),
    Number(&'a str),
    /// Past what may be mirrored.
    Unfit(&'static str),
}

impl<'a> Value<'a> {
    fn of(written: &'a str) -> Self {
        match written.as_bytes().first() {
            Some(b'"') => scan::plain_string(written).map_or(Self::Unfit("it is no Unicode text"), Self::Text),
            Some(b't' | b'f') => Self::Word(written),
            Some(b'{' | b'[') => Self::Composite,
            Some(b'-' | b'0'..=b'9') => match written.parse::<f64>() {
                Ok(number) if number.abs() <= MAX_SAFE_INTEGER => Self::Number(written),
                _ => Self::Unfit("integers from -(2^53-1) to 2^53-1 are mirrored"),
            },
            _ => Self::Absent,
        }
    }
}

/// What stands at a place of the arguments. The last of equal keys counts, as it does for the schema and for host code.
fn find<'a>(arguments: &'a str, path: &[String]) -> Option<&'a str> {
    path.iter().try_fold(arguments, |value, key| {
        let is_key = |name: &str| scan::plain_string(name).is_some_and(|name| name == *key);
        let members = scan::is_object(value).then(|| scan::members(value))?;
        members.filter(|(name, _)| is_key(name)).last().map(|(_, value)| value)
    })
}

fn is_number(text: &str) -> bool {
    let mut cursor = Cursor::new(text);
    cursor.number().is_ok() && cursor.at == text.len()
}

/// Writes a value so that it can stand in a header ("Value Encoding").
#[cfg_attr(not(test), expect(dead_code, reason = "what a client does; the tests hold `decode` to it"))]
pub(crate) fn encode(value: &str) -> Cow<'_, str> {
    let is_plain =
        value.bytes().all(|byte| matches!(byte, b' '..=b'~')) && value.trim_matches(' ').len() == value.len();
    let looks_encoded = value.starts_with(WRAPPER.0) && value.ends_with(WRAPPER.1);
    if is_plain && !looks_encoded {
        return Cow::Borrowed(value);
    }
    Cow::Owned(format!("{}{}{}", WRAPPER.0, STANDARD.encode(value), WRAPPER.1))
}

/// Reads a value that stands in a header. What lacks a half of the wrapper is the value itself.
///
/// # Errors
/// Why what is in the wrapper can't be read.
pub(crate) fn decode(header: &str) -> Result<Cow<'_, str>, &'static str> {
    let Some(encoded) = header.strip_prefix(WRAPPER.0).and_then(|rest| rest.strip_suffix(WRAPPER.1)) else {
        return Ok(Cow::Borrowed(header));
    };
    // The standard alphabet with its padding and no stray bits: one text has one encoding.
    let bytes = STANDARD.decode(encoded).map_err(|_| "it is not valid base64")?;
    String::from_utf8(bytes).map(Cow::Owned).map_err(|_| "what is encoded in it is not UTF-8")
}

/// Bytes of a header's name (RFC 9110, 5.6.2).
pub(super) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn different(header: &str, given: &str, expected: &str) -> String {
    format!("{header} header value '{}' does not match body value '{}'", shorten(given), shorten(expected))
}

fn missing(header: &str) -> String {
    format!("{header} header is missing")
}

fn bad(header: &str) -> String {
    format!("{header} header is given more than once, or contains invalid characters")
}

fn undecodable(header: &str, reason: &str) -> String {
    format!("{header} header value can't be decoded: {reason}")
}

#[cfg(test)]
mod tests;
