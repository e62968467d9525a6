//! Output schemas for revisions that know only object schemas.
//!
//! Up to 2025-11-25 a tool's `outputSchema` has `"type": "object"` at its root; 2026-07-28 takes any schema. A schema of
//! another kind is shown to older peers as an object with the one property `result`, and the values that go with it are
//! wrapped the same way.
//!
//! The schema moves one level down by this, so references that start at the root of the document must start two steps
//! further down. Apart from those the text stays as it is: order of keys, spelling of numbers, blanks inside values.

use std::collections::HashSet;

use super::document::{Document, Kind};
use super::keywords;

/// Where the schema stands in the wrapper.
const PLACE: &str = "#/properties/result";

/// The schema in an object, `{"type":"object","properties":{"result":SCHEMA},"required":["result"]}`, or `None` where it
/// is an object schema already (`"type": "object"` at its root), or is no schema at all.
///
/// `$schema` is lifted to the wrapper. A schema with an `$id` of its own is a resource of its own, within which
/// references go on to mean what they meant; in others the local references (`#`, `#/...`) are rewritten.
pub fn wrap_in_object(schema_text: &str) -> Option<String> {
    let document = Document::parse(schema_text, usize::MAX).ok()?;
    if !keywords::is_schema(&document, Document::ROOT) || is_object_schema(&document) {
        return None;
    }
    let edits = rewritten_references(&document);

    let mut wrapper = String::with_capacity(schema_text.len() + 128);
    wrapper.push('{');
    if let Some(dialect) = document.get(Document::ROOT, "$schema") {
        wrapper.push_str(r#""$schema":"#);
        wrapper.push_str(document.raw(dialect));
        wrapper.push(',');
    }
    wrapper.push_str(r#""type":"object","properties":{"result":"#);
    if document.kind(Document::ROOT) == Kind::Object {
        wrapper.push('{');
        let mut is_first = true;
        for (key, value) in document.members(Document::ROOT) {
            if document.string(key) == "$schema" {
                continue;
            }
            if !is_first {
                wrapper.push(',');
            }
            is_first = false;
            push_edited(&mut wrapper, &document, key, &edits);
            wrapper.push(':');
            push_edited(&mut wrapper, &document, value, &edits);
        }
        wrapper.push('}');
    } else {
        wrapper.push_str(document.raw(Document::ROOT));
    }
    wrapper.push_str(r#"},"required":["result"]}"#);
    Some(wrapper)
}

/// Whether the root says `"type": "object"`, as older revisions want it.
pub(super) fn is_object_schema(document: &Document<'_>) -> bool {
    document.get(Document::ROOT, "type").is_some_and(|kind| document.string(kind) == "object")
}

/// New texts for nodes: those of the keywords and values that refer to the root of the document.
type Edits = Vec<(u32, String)>;

/// Follows the keywords that hold subschemas, and the references to places that no keyword leads to. Schemas with an
/// identifier are resources of their own and left alone. The edits come in the order of the text.
fn rewritten_references(document: &Document<'_>) -> Edits {
    let mut edits = Vec::new();
    let mut reached =
        Reached { document, id_keyword: keywords::id_keyword(document), seen: HashSet::new(), pending: Vec::new() };
    reached.add(Document::ROOT);
    while let Some(schema) = reached.pending.pop() {
        for (key, value) in document.members(schema) {
            let keyword = document.string(key);
            if !matches!(keyword, "$ref" | "$dynamicRef" | "$recursiveRef") || document.kind(value) != Kind::String {
                continue;
            }
            let pointer = match document.string(value).strip_prefix('#') {
                Some(rest) if rest.is_empty() || rest.starts_with('/') => rest,
                _ => continue,
            };
            if let Some(target) = document.pointer(Document::ROOT, &keywords::percent_decode(pointer)) {
                reached.add(target);
            }
            if keyword == "$recursiveRef" {
                // 2019-09: it can say nothing but "#". With a single resource `$ref` means the same.
                if document.get(schema, "$ref").is_some() {
                    continue;
                }
                edits.push((key, "\"$ref\"".to_owned()));
            }
            edits.push((value, serde_json::Value::from(format!("{PLACE}{pointer}")).to_string()));
        }
        for (subschema, _) in keywords::subschemas(document, schema) {
            reached.add(subschema);
        }
    }
    edits.sort_unstable_by_key(|edit| edit.0);
    edits
}

/// The subschemas that have been reached, and those still to be looked at.
struct Reached<'d> {
    document: &'d Document<'d>,
    id_keyword: &'static str,
    seen: HashSet<u32>,
    pending: Vec<u32>,
}

impl Reached<'_> {
    fn add(&mut self, schema: u32) {
        let is_own_resource = keywords::resource_id(self.document, schema, self.id_keyword).is_some();
        if keywords::is_schema(self.document, schema) && !is_own_resource && self.seen.insert(schema) {
            self.pending.push(schema);
        }
    }
}

/// Appends a node's text with the edits that lie in it.
fn push_edited(text: &mut String, document: &Document<'_>, node: u32, edits: &[(u32, String)]) {
    let span = document.span(node);
    let raw = document.raw(node);
    let first = edits.partition_point(|edit| edit.0 < node);
    let mut copied = 0;
    for (edited, replacement) in &edits[first..] {
        if *edited >= document.after(node) {
            break;
        }
        let place = document.span(*edited);
        text.push_str(&raw[copied..place.start - span.start]);
        text.push_str(replacement);
        copied = place.end - span.start;
    }
    text.push_str(&raw[copied..]);
}

#[cfg(test)]
mod tests {
    use super::wrap_in_object;

    /// The wrapper's text round a schema's.
    fn around(schema: &str) -> String {
        format!(r#"{{"type":"object","properties":{{"result":{schema}}},"required":["result"]}}"#)
    }

    #[track_caller]
    fn assert_wrapped(schema: &str, expected: &str) {
        assert_eq!(wrap_in_object(schema), Some(around(expected)), "{schema}");
    }

    #[test]
    fn object_schemas_and_what_is_no_schema_stay_as_they_are() {
        for text in [r#"{"type":"object"}"#, r#"{"x":1,"type":"\u006fbject","properties":{}}"#, "5", "[]", "{", ""] {
            assert_eq!(wrap_in_object(text), None, "{text}");
        }
    }

    #[test]
    fn other_schemas_become_a_property() {
        assert_wrapped("{}", "{}");
        assert_wrapped("true", "true");
        assert_wrapped(r#"{"type":["object","null"]}"#, r#"{"type":["object","null"]}"#);
        assert_wrapped(r#"{"anyOf":[{"type":"object"}]}"#, r#"{"anyOf":[{"type":"object"}]}"#);
    }

    #[test]
    fn text_is_kept_as_it_is() {
        assert_wrapped(
            r#" { "z" : 1.10e+400 , "a": { "b" : [ 1 , 2.0 ] }, "title":"\u00e9\ud83d"} "#,
            r#"{"z":1.10e+400,"a":{ "b" : [ 1 , 2.0 ] },"title":"\u00e9\ud83d"}"#,
        );
    }

    #[test]
    fn the_dialect_moves_to_the_wrapper() {
        assert_eq!(
            wrap_in_object(r#"{"type":"array","$schema":"http://json-schema.org/draft-07/schema#","items":{}}"#),
            Some(format!(
                r#"{{"$schema":"http://json-schema.org/draft-07/schema#",{}"#,
                &around(r#"{"type":"array","items":{}}"#)[1..]
            ))
        );
    }

    #[test]
    fn local_references_move_along() {
        assert_wrapped(
            r##"{"items":{"$ref":"#/$defs/a"},"$defs":{"a":{"anyOf":[{"$ref":"#"},{"properties":{"n":{"$ref":"#/$defs/a"}}}]}}}"##,
            r##"{"items":{"$ref":"#/properties/result/$defs/a"},"$defs":{"a":{"anyOf":[{"$ref":"#/properties/result"},{"properties":{"n":{"$ref":"#/properties/result/$defs/a"}}}]}}}"##,
        );
        assert_wrapped(
            r##"{"$ref":"\u0023\/$defs/%7e\"","$defs":{"~\"":{}}}"##,
            r##"{"$ref":"#/properties/result/$defs/%7e\"","$defs":{"~\"":{}}}"##,
        );
        assert_wrapped(
            r##"{"prefixItems":[{"$dynamicRef":"#/$defs/x"}],"$defs":{"x":{}}}"##,
            r##"{"prefixItems":[{"$dynamicRef":"#/properties/result/$defs/x"}],"$defs":{"x":{}}}"##,
        );
        assert_wrapped(r##"{"items":{"$recursiveRef":"#"}}"##, r##"{"items":{"$ref":"#/properties/result"}}"##);
    }

    #[test]
    fn references_in_places_of_the_authors_own_move_along() {
        assert_wrapped(
            r##"{"$ref":"#/components/a~1b","components":{"a/b":{"items":{"$ref":"#"}},"unused":{"$ref":"#"}}}"##,
            r##"{"$ref":"#/properties/result/components/a~1b","components":{"a/b":{"items":{"$ref":"#/properties/result"}},"unused":{"$ref":"#"}}}"##,
        );
    }

    #[test]
    fn names_and_data_that_look_like_references_stay() {
        for schema in [
            r##"{"properties":{"$ref":{"const":"#/x"}}}"##,
            r##"{"enum":[{"$ref":"#"}],"const":{"$ref":"#/a"},"default":{"items":{"$ref":"#"}},"examples":[{"$ref":"#"}]}"##,
            r##"{"required":["$ref"],"$comment":"#/x","x-own":{"$ref":"#"}}"##,
            r##"{"$ref":5}"##,
        ] {
            assert_wrapped(schema, schema);
        }
    }

    #[test]
    fn anchors_and_other_resources_stay() {
        for schema in [
            r##"{"items":{"$ref":"#name"},"$defs":{"a":{"$anchor":"name"}}}"##,
            r##"{"items":{"$dynamicRef":"#node"},"$dynamicAnchor":"node"}"##,
            r##"{"$id":"https://example.com/a","items":{"$ref":"#/$defs/a"},"$defs":{"a":{}}}"##,
            r##"{"$defs":{"a":{"$id":"https://example.com/a","items":{"$ref":"#"}}}}"##,
            r##"{"$ref":"other.json#/a"}"##,
        ] {
            assert_wrapped(schema, schema);
        }
        // `id` is an identifier in draft-04 and nothing at all since.
        assert_wrapped(r##"{"id":"a","not":{"$ref":"#"}}"##, r##"{"id":"a","not":{"$ref":"#/properties/result"}}"##);
    }

    #[test]
    fn deep_schemas_need_no_stack() {
        let deep = format!("{}{{\"$ref\":\"#\"}}{}", r#"{"not":"#.repeat(100_000), "}".repeat(100_000));
        assert!(wrap_in_object(&deep).is_some_and(|text| text.contains("#/properties/result")));
    }
}
