//! Where the subschemas of a schema are.
//!
//! One table for all dialects from draft-04 to 2020-12. A keyword that a dialect does not know is an annotation there,
//! and looking into it does no harm: the passes that read this table count, bound and rewrite references, they do not
//! validate. `enum`, `const`, `default` and `examples` hold data and are not in the table, so what looks like a
//! reference in there is left alone.

use super::document::{Document, Kind};

/// When a subschema is applied, seen from the schema that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// To the same value.
    InPlace,
    /// To a part of the value, or to its members' names.
    Below,
    /// Only through references.
    Definition,
}

/// What a keyword's value looks like.
#[derive(Clone, Copy)]
enum Shape {
    One,
    List,
    /// One or a list: `items` before 2020-12.
    OneOrList,
    /// An object whose values are subschemas; in `dependencies` they may also be lists of names.
    Map,
}

/// The subschemas of the schema at `node`, in order.
pub(super) fn subschemas(document: &Document<'_>, node: u32) -> Vec<(u32, Role)> {
    let mut found = Vec::new();
    for (key, value) in document.members(node) {
        let Some((role, shape)) = keyword(document.string(key)) else { continue };
        match (shape, document.kind(value)) {
            (Shape::One | Shape::OneOrList, Kind::Object | Kind::True | Kind::False) => found.push((value, role)),
            (Shape::List | Shape::OneOrList, Kind::Array) => {
                found.extend(document.elements(value).map(|element| (element, role)));
            }
            (Shape::Map, Kind::Object) => found.extend(document.members(value).map(|(_, schema)| (schema, role))),
            _ => {}
        }
    }
    found.retain(|(node, _)| is_schema(document, *node));
    found
}

/// Whether the value at `node` can be a schema at all.
pub(super) fn is_schema(document: &Document<'_>, node: u32) -> bool {
    matches!(document.kind(node), Kind::Object | Kind::True | Kind::False)
}

/// The keyword that gives a schema an identifier in this document's dialect.
pub(super) fn id_keyword(document: &Document<'_>) -> &'static str {
    let dialect = document.get(Document::ROOT, "$schema").map_or("", |dialect| document.string(dialect));
    if dialect.contains("json-schema.org/draft-04/") { "id" } else { "$id" }
}

/// The identifier that makes the schema at `node` a resource of its own. A lone fragment is none: it is how older
/// dialects write an anchor.
pub(super) fn resource_id<'d>(document: &'d Document<'_>, node: u32, id_keyword: &str) -> Option<&'d str> {
    let id = document.string(document.get(node, id_keyword)?);
    (!id.is_empty() && !id.starts_with('#')).then_some(id)
}

/// A JSON Pointer as it stands in a reference is percent-encoded.
pub(super) fn percent_decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escape = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match escape.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                at += 3;
            }
            None => {
                decoded.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

fn keyword(name: &str) -> Option<(Role, Shape)> {
    Some(match name {
        "allOf" | "anyOf" | "oneOf" => (Role::InPlace, Shape::List),
        "not" | "if" | "then" | "else" => (Role::InPlace, Shape::One),
        "dependentSchemas" | "dependencies" => (Role::InPlace, Shape::Map),
        "properties" | "patternProperties" => (Role::Below, Shape::Map),
        "additionalProperties" | "unevaluatedProperties" | "propertyNames" => (Role::Below, Shape::One),
        "prefixItems" => (Role::Below, Shape::List),
        "items" => (Role::Below, Shape::OneOrList),
        "additionalItems" | "unevaluatedItems" | "contains" | "contentSchema" => (Role::Below, Shape::One),
        "$defs" | "definitions" => (Role::Definition, Shape::Map),
        _ => return None,
    })
}
