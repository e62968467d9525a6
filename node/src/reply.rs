//! Answers on their way to the engine: a batch is one text, each line of it one answer.
//!
//! A line is a letter, the number of the call, a blank, and JSON text without line ends. So one crossing takes any
//! number of answers, and nothing is copied but what the engine writes.

use crate::bridge::uri_of;
use crate::error::NativeFailure;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ferromcp::engine::{Call, Millis, PeerError, Reply, Server};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// One answer, its texts borrowed from the batch.
pub(crate) struct Answer<'a> {
    kind: u8,
    pub(crate) number: u64,
    json: &'a str,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolParts<'a> {
    #[serde(borrow)]
    content: &'a RawValue,
    #[serde(borrow, default, deserialize_with = "present")]
    structured_content: Option<&'a RawValue>,
    #[serde(default)]
    is_error: bool,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

/// A member that may be null: that is a value too.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

#[derive(Deserialize)]
struct PromptParts<'a> {
    #[serde(borrow, default)]
    description: Option<Cow<'a, str>>,
    #[serde(borrow)]
    messages: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CompletionParts<'a> {
    #[serde(borrow)]
    values: &'a RawValue,
    #[serde(default)]
    total: Option<u64>,
    #[serde(default)]
    has_more: Option<bool>,
}

/// A round that host code writes itself.
#[derive(Deserialize)]
struct RoundParts<'a> {
    #[serde(borrow, default)]
    requests: Option<&'a RawValue>,
    #[serde(borrow, default)]
    state: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct ErrorParts<'a> {
    code: i64,
    message: String,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
}

/// An answer in which marks stand for bytes: the marks replaced by the bytes in base64, encoded into their place.
pub(crate) fn embedded(line: &str, mark: &str, bytes: &[impl AsRef<[u8]>]) -> String {
    let encoded: usize = bytes.iter().map(|bytes| bytes.as_ref().len().div_ceil(3) * 4).sum();
    let mut out = String::with_capacity(line.len() + encoded);
    let opening = format!("\"{mark}#");
    let mut rest = line;
    while let Some((before, behind)) = rest.split_once(&opening) {
        out.push_str(before);
        let (number, behind) = behind.split_once('"').unwrap_or((behind, ""));
        out.push('"');
        if let Some(bytes) = number.parse().ok().and_then(|at: usize| bytes.get(at)) {
            STANDARD.encode_string(bytes.as_ref(), &mut out);
        }
        out.push('"');
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// The answers of a batch.
pub(crate) fn answers(batch: &str) -> impl Iterator<Item = Answer<'_>> {
    batch.split('\n').filter_map(|line| {
        let (head, json) = line.split_once(' ')?;
        let (kind, number) = head.split_at_checked(1)?;
        Some(Answer { kind: kind.as_bytes()[0], number: number.parse().ok()?, json })
    })
}

impl Answer<'_> {
    /// Gives the answer to the engine; false when nobody waits for it. What the engine does not take becomes an error
    /// for the peer.
    pub(crate) fn send(&self, server: &mut Server, call: &Call, now: Millis) -> bool {
        self.try_send(server, call, now).unwrap_or_else(|failure| self.send_failure(&failure, server, call, now))
    }

    fn send_failure(&self, failure: &NativeFailure, server: &mut Server, call: &Call, now: Millis) -> bool {
        if let Some(path) = failure.capability {
            return server.fail_capability(call.key, path, now).unwrap_or(false);
        }
        // An error without data is always taken, so the peer gets an answer in every case.
        let sent = match self.kind {
            // Asking for what can't be asked is a failure of the function, as it would be before its return.
            b'I' if call.method() == "tools/call" => {
                server.respond(call.key, Reply::Text { text: &failure.message, is_error: true }, now)
            }
            _ => {
                let text = format!("The result can't be sent: {}", failure.message);
                server.fail(call.key, &PeerError::internal(text), now)
            }
        };
        sent.unwrap_or(false)
    }

    /// Gives the answer to the engine; false when nobody waits for it. What the engine does not take leaves the call open.
    pub(crate) fn try_send(&self, server: &mut Server, call: &Call, now: Millis) -> Result<bool, NativeFailure> {
        let (json, key) = (self.json, call.key);
        let done = match self.kind {
            b'T' | b'E' => {
                let is_error = self.kind == b'E';
                match plain(json) {
                    Some(text) => server.respond(key, Reply::Text { text, is_error }, now),
                    // As JSON, because an unpaired surrogate has no other form.
                    None => {
                        let content = format!(r#"[{{"type":"text","text":{json}}}]"#);
                        let reply = Reply::Tool { content: &content, structured: None, is_error, meta: None };
                        server.respond(key, reply, now)
                    }
                }
            }
            b'S' => server.respond(
                key,
                Reply::Tool { content: "[]", structured: Some(json), is_error: false, meta: None },
                now,
            ),
            b'B' => {
                let parts: ToolParts<'_> = serde_json::from_str(json)?;
                let reply = Reply::Tool {
                    content: parts.content.get(),
                    structured: parts.structured_content.map(RawValue::get),
                    is_error: parts.is_error,
                    meta: parts.meta.map(RawValue::get),
                };
                server.respond(key, reply, now)
            }
            b'C' => server.respond(key, Reply::Contents(json), now),
            b'P' => {
                let parts: PromptParts<'_> = serde_json::from_str(json)?;
                let description = parts.description.as_deref();
                server.respond(key, Reply::Prompt { description, messages: parts.messages.get() }, now)
            }
            b'V' => {
                let parts: CompletionParts<'_> = serde_json::from_str(json)?;
                let CompletionParts { values, total, has_more } = parts;
                server.respond(key, Reply::Completion { values: values.get(), total, has_more }, now)
            }
            b'R' => server.respond(key, Reply::Result(json), now),
            b'I' => {
                let RoundParts { requests, state } = serde_json::from_str(json)?;
                let reply = Reply::InputRequired { requests: requests.map(RawValue::get), state: state.as_deref() };
                server.respond(key, reply, now)
            }
            b'F' => {
                let ErrorParts { code, message, data } = serde_json::from_str(json)?;
                let data = data.map(|data| data.get().to_owned());
                server.fail(key, &PeerError { code, message, data }, now)
            }
            b'N' => server.fail_capability(key, &text_of(json)?, now),
            // Without a URI it is the one that was asked for.
            b'U' if json.len() <= 2 => server.fail_unknown_resource(key, &uri_of(call), now),
            b'U' => server.fail_unknown_resource(key, &text_of(json)?, now),
            // Given up: nobody waits for it.
            _ => return Ok(false),
        };
        done.map_err(NativeFailure::from)
    }
}

/// A JSON string's text, where it lies if it has no escapes.
fn text_of(json: &str) -> Result<Cow<'_, str>, serde_json::Error> {
    match plain(json) {
        Some(text) => Ok(Cow::Borrowed(text)),
        None => serde_json::from_str(json).map(Cow::Owned),
    }
}

/// The text of a JSON string without escapes.
fn plain(json: &str) -> Option<&str> {
    json.strip_prefix('"')?.strip_suffix('"').filter(|text| !text.contains(['\\', '"']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_answers() {
        let found: Vec<_> =
            answers("T1 \"a b\"\nX2 \n\nF30 {\"code\":1}\n").map(|a| (a.kind, a.number, a.json)).collect();
        assert_eq!(found, [(b'T', 1, "\"a b\""), (b'X', 2, ""), (b'F', 30, "{\"code\":1}")]);
    }

    #[test]
    fn bytes_take_the_places_of_their_marks() {
        let line = r#"B1 [{"data":"~#1"},"~","~#0"]"#;
        assert_eq!(embedded(line, "~", &["a", "bc"]), r#"B1 [{"data":"YmM="},"~","YQ=="]"#);
    }

    #[test]
    fn texts_lose_their_escapes() {
        assert_eq!(text_of(r#""plain é""#).expect("text"), "plain é");
        assert_eq!(text_of(r#""a\n\"b\"""#).expect("text"), "a\n\"b\"");
        assert!(text_of("5").is_err());
    }
}
