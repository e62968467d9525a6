//! Definitions (tools, resources, prompts, implementations, capabilities) in the form of a given revision.
//!
//! Definitions are kept as the newest revision writes them; a peer of an older one gets them without the fields that
//! its revision does not know. Fields that no revision defines pass through: they are extensions, and every revision
//! lets objects carry them.

use super::Revision;
use crate::jsonrpc::scan;
use crate::jsonrpc::write;

/// A field that not every revision has, or whose value holds such fields.
pub(crate) struct Field {
    name: &'static str,
    since: Revision,
    until: Revision,
    inner: &'static [Field],
}

const fn since(name: &'static str, since: Revision) -> Field {
    Field { name, since, until: Revision::V2026_07_28, inner: &[] }
}

const fn only(name: &'static str, revision: Revision) -> Field {
    Field { name, since: revision, until: revision, inner: &[] }
}

const fn within(name: &'static str, inner: &'static [Field]) -> Field {
    Field { name, since: Revision::V2024_11_05, until: Revision::V2026_07_28, inner }
}

const TITLE: Field = since("title", Revision::V2025_06_18);
const META: Field = since("_meta", Revision::V2025_06_18);
const ICONS: Field = since("icons", Revision::V2025_11_25);
const ANNOTATIONS: Field = within("annotations", &[since("lastModified", Revision::V2025_06_18)]);

/// `Implementation`: serverInfo and clientInfo.
pub(crate) const IMPLEMENTATION: &[Field] =
    &[TITLE, ICONS, since("description", Revision::V2025_11_25), since("websiteUrl", Revision::V2025_11_25)];
/// `ServerCapabilities`.
pub(crate) const CAPABILITIES: &[Field] = &[
    since("completions", Revision::V2025_03_26),
    only("tasks", Revision::V2025_11_25),
    since("extensions", Revision::V2026_07_28),
];
/// `Tool`.
pub(crate) const TOOL: &[Field] = &[
    TITLE,
    ICONS,
    META,
    since("annotations", Revision::V2025_03_26),
    since("outputSchema", Revision::V2025_06_18),
    only("execution", Revision::V2025_11_25),
];
/// `Resource` and `ResourceTemplate`.
pub(crate) const RESOURCE: &[Field] = &[TITLE, ICONS, META, ANNOTATIONS];
/// `Prompt`.
pub(crate) const PROMPT: &[Field] = &[TITLE, ICONS, META, within("arguments", &[TITLE])];
/// The content blocks of results and prompt messages, and what they embed.
pub(crate) const CONTENT: &[Field] = &[TITLE, ICONS, META, ANNOTATIONS, within("resource", &[META, ANNOTATIONS])];
/// `PromptMessage`.
pub(crate) const MESSAGE: &[Field] = &[within("content", CONTENT)];
/// `ResourceContents`.
pub(crate) const CONTENTS: &[Field] = &[META];

impl Field {
    fn is_in(&self, revision: Revision) -> bool {
        (self.since..=self.until).contains(&revision)
    }
}

/// Appends `value` (an object, or an array of objects) as `revision` knows it.
pub(crate) fn sieve(out: &mut String, value: &str, fields: &[Field], revision: Revision) {
    if scan::is_array(value) {
        out.push('[');
        for (at, element) in scan::elements(value).enumerate() {
            if at > 0 {
                out.push(',');
            }
            sieve(out, element, fields, revision);
        }
        out.push(']');
        return;
    }
    if !scan::is_object(value) {
        return write::raw(out, value);
    }
    out.push('{');
    let mut first = true;
    for (key, value) in scan::members(value) {
        let field = scan::plain_string(key).and_then(|key| fields.iter().find(|field| field.name == key));
        if field.is_some_and(|field| !field.is_in(revision)) {
            continue;
        }
        if !first {
            out.push(',');
        }
        first = false;
        write::raw(out, key);
        out.push(':');
        match field {
            Some(field) if !field.inner.is_empty() => sieve(out, value, field.inner, revision),
            _ => write::raw(out, value),
        }
    }
    out.push('}');
}

/// Appends a tool definition as `revision` knows it; an output schema that is no object schema is wrapped where the
/// revision wants an object (see [`super::result::structured`], which wraps the value).
pub(crate) fn tool(out: &mut String, definition: &str, revision: Revision) {
    let mut wrapped = None;
    if revision.has_structured_content()
        && !revision.structured_content_is_free()
        && let Ok([Some(schema)]) = scan::pick(definition, ["outputSchema"])
    {
        wrapped = crate::schema::wrap_in_object(schema);
    }
    let Some(wrapped) = wrapped else { return sieve(out, definition, TOOL, revision) };
    let mut changed = String::from("{");
    for (key, value) in scan::members(definition) {
        if changed.len() > 1 {
            changed.push(',');
        }
        changed.push_str(key);
        changed.push(':');
        changed.push_str(if key == r#""outputSchema""# { &wrapped } else { value });
    }
    changed.push('}');
    sieve(out, &changed, TOOL, revision);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sieved(value: &str, fields: &[Field], revision: Revision) -> String {
        let mut out = String::new();
        sieve(&mut out, value, fields, revision);
        out
    }

    #[test]
    fn tools_lose_what_a_revision_does_not_know() {
        let tool =
            r#"{"name":"a","title":"A","icons":[],"annotations":{},"outputSchema":{},"execution":{},"_meta":{},"x":1}"#;
        assert_eq!(sieved(tool, TOOL, Revision::V2024_11_05), r#"{"name":"a","x":1}"#);
        assert_eq!(sieved(tool, TOOL, Revision::V2025_03_26), r#"{"name":"a","annotations":{},"x":1}"#);
        assert_eq!(
            sieved(tool, TOOL, Revision::V2025_06_18),
            r#"{"name":"a","title":"A","annotations":{},"outputSchema":{},"_meta":{},"x":1}"#
        );
        assert_eq!(sieved(tool, TOOL, Revision::V2025_11_25), tool);
        assert_eq!(sieved(tool, TOOL, Revision::V2026_07_28), tool.replace(r#""execution":{},"#, ""));
    }

    #[test]
    fn inner_fields_are_sieved_too() {
        let prompt = r#"{"name":"p","arguments":[{"name":"a","title":"A"},{"name":"b"}]}"#;
        assert_eq!(
            sieved(prompt, PROMPT, Revision::V2025_03_26),
            r#"{"name":"p","arguments":[{"name":"a"},{"name":"b"}]}"#
        );
    }
}
