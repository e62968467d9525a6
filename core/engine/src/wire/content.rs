//! Content blocks for peers of revisions that do not know all of them.
//!
//! What an older revision has no form for is sent in the nearest form that it has, so that nothing is lost: a resource
//! link (2025-06-18) becomes a text with the URI, audio (2025-03-26) an embedded resource with the same bytes.

use super::Revision;
use super::entry::{self, CONTENT, MESSAGE};
use crate::jsonrpc::{scan, write};

/// Appends an array of content blocks as `revision` knows them.
pub(crate) fn blocks(out: &mut String, array: &str, revision: Revision) {
    if revision.knows_all_content() {
        return write::raw(out, array);
    }
    out.push('[');
    for (at, element) in scan::elements(array).enumerate() {
        if at > 0 {
            out.push(',');
        }
        block(out, element, revision);
    }
    out.push(']');
}

/// Appends an array of prompt messages as `revision` knows them.
pub(crate) fn messages(out: &mut String, array: &str, revision: Revision) {
    if revision.knows_all_content() {
        return write::raw(out, array);
    }
    out.push('[');
    for (at, message) in scan::elements(array).enumerate() {
        if at > 0 {
            out.push(',');
        }
        let Ok([Some(content)]) = scan::pick(message, ["content"]) else {
            entry::sieve(out, message, MESSAGE, revision);
            continue;
        };
        out.push('{');
        for (key, value) in scan::members(message).filter(|(_, value)| *value != content) {
            out.push_str(key);
            out.push(':');
            write::raw(out, value);
            out.push(',');
        }
        out.push_str(r#""content":"#);
        block(out, content, revision);
        out.push('}');
    }
    out.push(']');
}

fn block(out: &mut String, block: &str, revision: Revision) {
    let [kind, uri, name, data, mime] =
        scan::pick(block, ["type", "uri", "name", "data", "mimeType"]).unwrap_or_default();
    match kind.and_then(scan::plain_string).as_deref() {
        Some("resource_link") if revision < Revision::V2025_06_18 => {
            let text = |value: Option<&str>| value.and_then(scan::plain_string).unwrap_or_default().into_owned();
            out.push_str(r#"{"type":"text","text":"#);
            write::string(out, format!("{}: {}", text(name), text(uri)).trim_start_matches(": "));
            out.push('}');
        }
        Some("audio") if revision < Revision::V2025_03_26 => {
            out.push_str(r#"{"type":"resource","resource":{"uri":"content:audio","mimeType":"#);
            write::raw(out, mime.unwrap_or(r#""application/octet-stream""#));
            out.push_str(r#","blob":"#);
            write::raw(out, data.unwrap_or(r#""""#));
            out.push_str("}}");
        }
        _ => entry::sieve(out, block, CONTENT, revision),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(array: &str, revision: Revision) -> String {
        let mut out = String::new();
        blocks(&mut out, array, revision);
        out
    }

    #[test]
    fn older_peers_get_the_nearest_form() {
        let link = r#"[{"type":"resource_link","uri":"file:///a","name":"a"}]"#;
        assert_eq!(written(link, Revision::V2025_03_26), r#"[{"type":"text","text":"a: file:///a"}]"#);
        assert_eq!(written(link, Revision::V2025_06_18), link);
        let audio = r#"[{"type":"audio","data":"AA==","mimeType":"audio/wav"}]"#;
        assert_eq!(
            written(audio, Revision::V2024_11_05),
            r#"[{"type":"resource","resource":{"uri":"content:audio","mimeType":"audio/wav","blob":"AA=="}}]"#
        );
        assert_eq!(written(audio, Revision::V2025_03_26), audio);
    }

    #[test]
    fn messages_are_changed_inside() {
        let mut out = String::new();
        let message = r#"[{"role":"user","content":{"type":"text","text":"x","_meta":{}}}]"#;
        messages(&mut out, message, Revision::V2025_03_26);
        assert_eq!(out, r#"[{"role":"user","content":{"type":"text","text":"x"}}]"#);
    }
}
