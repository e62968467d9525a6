//! What host code answers with: whether it fits the method, and how it is written in the revision of the request.

use super::event::Reply;
use super::inflight::InFlight;
use crate::error::LocalError;
use crate::jsonrpc::check::check;
use crate::jsonrpc::cursor::Malformed;
use crate::jsonrpc::{scan, write};
use crate::wire::Revision;
use crate::wire::content;
use crate::wire::entry::{self, CONTENTS};
use crate::wire::method::Method;
use crate::wire::result::{Stamp, structured};

/// Appends the result object of an answer that [`check_reply`] let pass.
pub(super) fn write(out: &mut String, reply: &Reply<'_>, stamp: &Stamp, record: &InFlight, most_values: usize) {
    let (method, revision) = (record.method.known(), record.revision);
    if let Reply::Result(result) = reply {
        return stamp.whole(out, trimmed(result), method, revision);
    }
    out.push('{');
    stamp.open(out, method, revision);
    let meta = members(out, reply, record, revision, most_values);
    stamp.close(out, meta, revision);
    out.push('}');
}

/// The same in the newest revision's form and without what each answer carries besides: as tasks are kept.
pub(super) fn write_bare(out: &mut String, reply: &Reply<'_>, record: &InFlight, most_values: usize) {
    if let Reply::Result(result) = reply {
        return out.push_str(trimmed(result));
    }
    out.push('{');
    if let Some(meta) = members(out, reply, record, Revision::NEWEST, most_values) {
        out.push_str(r#","_meta":"#);
        out.push_str(meta);
    }
    out.push('}');
}

/// Appends the members of a result that is not given whole. Gives host code's own `_meta`.
fn members<'a>(
    out: &mut String,
    reply: &Reply<'a>,
    record: &InFlight,
    revision: Revision,
    most_values: usize,
) -> Option<&'a str> {
    let mut own_meta = None;
    match *reply {
        Reply::Tool { content, structured: value, is_error, meta } => {
            // One allocation for a long answer, not one for each doubling.
            out.reserve(content.len() + value.map_or(0, str::len) + 256);
            out.push_str(r#""content":"#);
            match value {
                // Structured content goes out as text too, for peers that read only that
                // (`server/tools`, "Structured Content": SHOULD).
                Some(value) if scan::elements(trimmed(content)).next().is_none() => {
                    out.push_str(r#"[{"type":"text","text":"#);
                    write::string(out, trimmed(value));
                    out.push_str("}]");
                }
                _ => content::blocks(out, trimmed(content), revision),
            }
            if let Some(value) = value.filter(|_| revision.has_structured_content()) {
                out.push_str(r#","structuredContent":"#);
                let wrapped = record.tool.as_ref().is_some_and(|tool| tool.wrapped);
                structured(out, trimmed(value), wrapped, revision);
            }
            if is_error {
                out.push_str(r#","isError":true"#);
            }
            own_meta = meta.map(trimmed);
        }
        Reply::Text { text, is_error } => text_block(out, text, is_error),
        Reply::Contents(contents) => {
            out.push_str(r#""contents":"#);
            entry::sieve(out, trimmed(contents), CONTENTS, revision);
        }
        Reply::Prompt { description, messages } => {
            if let Some(description) = description {
                out.push_str(r#""description":"#);
                write::string(out, description);
                out.push(',');
            }
            out.push_str(r#""messages":"#);
            content::messages(out, trimmed(messages), revision);
        }
        Reply::Completion { values, total, has_more } => {
            completion(out, trimmed(values), total, has_more, most_values);
        }
        // The one is written above, the other is no answer.
        Reply::Result(_) | Reply::InputRequired { .. } => {}
    }
    own_meta
}
/// Whether a whole result says `input_required` (2026-07-28 `basic/patterns/mrtr`).
pub(super) fn asks_for_input(reply: &Reply<'_>) -> bool {
    let Reply::Result(result) = reply else { return false };
    matches!(scan::pick(trimmed(result), ["resultType"]), Ok([Some(r#""input_required""#)]))
}

/// The members of a tool result that is one block of text.
pub(super) fn text_block(out: &mut String, text: &str, is_error: bool) {
    out.push_str(r#""content":[{"type":"text","text":"#);
    write::string(out, text);
    out.push_str("}]");
    if is_error {
        out.push_str(r#","isError":true"#);
    }
}

/// `completion` with at most `most` values, and `hasMore` true where some were cut off.
fn completion(out: &mut String, values: &str, total: Option<u64>, has_more: Option<bool>, most: usize) {
    out.push_str(r#""completion":{"values":["#);
    let mut cut = false;
    for (at, value) in scan::elements(values).enumerate() {
        if at == most {
            cut = true;
            break;
        }
        if at > 0 {
            out.push(',');
        }
        write::raw(out, value);
    }
    out.push(']');
    if let Some(total) = total {
        out.push_str(r#","total":"#);
        out.push_str(&total.to_string());
    }
    if let Some(more) = has_more.map(|more| more || cut).or(cut.then_some(true)) {
        out.push_str(r#","hasMore":"#);
        out.push_str(if more { "true" } else { "false" });
    }
    out.push('}');
}

/// Checks that a reply's kind fits the method and that its texts are the JSON that they must be.
pub(super) fn check_reply(method: Option<Method>, name: &str, reply: &Reply<'_>) -> Result<(), LocalError> {
    let fits = match reply {
        Reply::Tool { content, structured, meta, .. } => {
            array("content", content)?;
            if let Some(value) = structured {
                check(value).map_err(|fault| not_json("structured", &fault))?;
            }
            if let Some(meta) = meta {
                object("meta", meta)?;
            }
            method == Some(Method::ToolsCall)
        }
        Reply::Text { .. } => method == Some(Method::ToolsCall),
        Reply::Contents(contents) => {
            array("contents", contents)?;
            method == Some(Method::ResourcesRead)
        }
        Reply::Prompt { messages, .. } => {
            array("messages", messages)?;
            method == Some(Method::PromptsGet)
        }
        Reply::Completion { values, .. } => {
            if scan::elements(array("values", values)?).any(|value| !value.starts_with('"')) {
                return Err(LocalError::NotJson { what: "values", reason: "must be an array of strings".into() });
            }
            method == Some(Method::Complete)
        }
        // Looked at where it is asked.
        Reply::InputRequired { .. } => true,
        Reply::Result(result) => {
            object("result", result)?;
            true
        }
    };
    if fits { Ok(()) } else { Err(LocalError::WrongReply { method: name.to_owned() }) }
}

pub(super) fn not_json(what: &'static str, fault: &Malformed) -> LocalError {
    LocalError::NotJson { what, reason: fault.to_string() }
}

fn array<'a>(what: &'static str, text: &'a str) -> Result<&'a str, LocalError> {
    let text = check(text).map_err(|fault| not_json(what, &fault))?;
    if scan::is_array(text) { Ok(text) } else { Err(LocalError::NotJson { what, reason: "must be an array".into() }) }
}

pub(super) fn object<'a>(what: &'static str, text: &'a str) -> Result<&'a str, LocalError> {
    let text = check(text).map_err(|fault| not_json(what, &fault))?;
    if scan::is_object(text) { Ok(text) } else { Err(LocalError::NotJson { what, reason: "must be an object".into() }) }
}

/// Text that [`check_reply`] accepted, without the blanks that may stand round it.
pub(super) fn trimmed(json: &str) -> &str {
    json.trim_matches([' ', '\t', '\n', '\r'])
}
