//! Which parts of a tool's arguments nobody is to read in a log.
//!
//! By JSON pointers, and by what the tool's schema marks: `"writeOnly": true` (JSON Schema Validation, 9.4) or
//! `"x-sensitive": true`. The schema is walked together with the value. Where it can't be told which subschema a value
//! falls under, all of them count; where a reference leads nowhere, the value is hidden. So it errs on the side of hiding.

use serde_json::{Map, Value};

const HIDDEN: &str = "[redacted]";

/// Keywords whose subschemas are about the same value.
const IN_PLACE: [&str; 7] = ["allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas"];

/// Keywords whose subschemas may be about any member of an object.
const ANY_MEMBER: [&str; 3] = ["additionalProperties", "unevaluatedProperties", "patternProperties"];

/// Keywords whose subschemas may be about any element of an array.
const ANY_ELEMENT: [&str; 5] = ["items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"];

/// Hides what a pointer leads to; `*` stands for every member and every element.
pub(super) fn hide_pointer(value: &mut Value, pointer: &str) {
    let tokens: Vec<String> =
        pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~")).collect();
    hide(value, &tokens);
}

fn hide(value: &mut Value, tokens: &[String]) {
    let Some((token, rest)) = tokens.split_first() else {
        *value = HIDDEN.into();
        return;
    };
    match value {
        Value::Object(members) => {
            for (_, member) in members.iter_mut().filter(|(key, _)| token == "*" || *key == token) {
                hide(member, rest);
            }
        }
        Value::Array(elements) => {
            for (at, element) in elements.iter_mut().enumerate() {
                if token == "*" || at.to_string() == *token {
                    hide(element, rest);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Hides what a schema marks.
pub(super) fn hide_marked(value: &mut Value, schema: &Value) {
    walk(value, &[schema], schema);
}

/// `schemas` are those that may be about `value`.
fn walk(value: &mut Value, schemas: &[&Value], root: &Value) {
    let mut all = Vec::new();
    for schema in schemas {
        if !gather(schema, root, &mut all) {
            *value = HIDDEN.into();
            return;
        }
    }
    if all.iter().any(|schema| is_marked(schema)) {
        *value = HIDDEN.into();
        return;
    }
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                let below: Vec<&Value> = all.iter().flat_map(|schema| about_member(schema, key)).collect();
                if !below.is_empty() {
                    walk(member, &below, root);
                }
            }
        }
        Value::Array(elements) => {
            let below: Vec<&Value> =
                all.iter().flat_map(|schema| ANY_ELEMENT.iter().flat_map(|key| subschemas(schema.get(*key)))).collect();
            if below.is_empty() {
                return;
            }
            for element in elements {
                walk(element, &below, root);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_marked(schema: &Map<String, Value>) -> bool {
    ["writeOnly", "x-sensitive"].iter().any(|key| schema.get(*key) == Some(&Value::Bool(true)))
}

/// Takes a schema, and all that are about the same value. False: a reference leads nowhere.
fn gather<'a>(schema: &'a Value, root: &'a Value, all: &mut Vec<&'a Map<String, Value>>) -> bool {
    let Value::Object(schema) = schema else { return true };
    if all.iter().any(|known| std::ptr::eq(*known, schema)) {
        return true;
    }
    all.push(schema);
    for reference in ["$ref", "$dynamicRef", "$recursiveRef"].iter().filter_map(|key| schema.get(*key)) {
        let Some(target) = reference.as_str().and_then(|reference| resolve(reference, root)) else { return false };
        if !gather(target, root, all) {
            return false;
        }
    }
    IN_PLACE.iter().flat_map(|key| subschemas(schema.get(*key))).all(|below| gather(below, root, all))
}

/// What a schema says of a member. `properties` alone tells which; the others may be about any.
fn about_member<'a>(schema: &'a Map<String, Value>, key: &str) -> Vec<&'a Value> {
    let own = schema.get("properties").and_then(|properties| properties.get(key));
    let patterns = subschemas(schema.get("patternProperties"));
    match own {
        Some(own) => patterns.into_iter().chain([own]).collect(),
        None => ANY_MEMBER.iter().flat_map(|keyword| subschemas(schema.get(*keyword))).collect(),
    }
}

/// The schemas that a keyword has: one, a list, or an object of them.
fn subschemas(value: Option<&Value>) -> Vec<&Value> {
    match value {
        Some(Value::Array(list)) => list.iter().collect(),
        // An object is a schema or holds schemas by name. Taken as both it can only hide too much.
        Some(object @ Value::Object(members)) => {
            members.values().filter(|member| member.is_object()).chain([object]).collect()
        }
        _ => Vec::new(),
    }
}

/// What a reference within the document leads to.
fn resolve<'a>(reference: &str, root: &'a Value) -> Option<&'a Value> {
    let fragment = reference.strip_prefix('#')?;
    if fragment.is_empty() || fragment.starts_with('/') {
        let plain = percent_decoded(fragment)?;
        return root.pointer(&plain);
    }
    find_anchor(root, fragment)
}

fn find_anchor<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Object(members) => {
            let is_it = |key: &str| members.get(key).and_then(Value::as_str) == Some(name);
            if is_it("$anchor") || is_it("$dynamicAnchor") {
                return Some(value);
            }
            members.values().find_map(|member| find_anchor(member, name))
        }
        Value::Array(elements) => elements.iter().find_map(|element| find_anchor(element, name)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        if *byte == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(*byte);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn pointers_lead_to_members_and_elements() {
        let mut value = json!({"a": {"b": 1, "c/d": 2}, "list": [{"x": 1, "y": 2}, {"x": 3}], "~": 4});
        for pointer in ["/a/c~1d", "/list/*/x", "/~0", "/none/here", "/list/7"] {
            hide_pointer(&mut value, pointer);
        }
        let hidden = json!({"a": {"b": 1, "c/d": HIDDEN}, "list": [{"x": HIDDEN, "y": 2}, {"x": HIDDEN}], "~": HIDDEN});
        assert_eq!(value, hidden);
        hide_pointer(&mut value, "");
        assert_eq!(value, json!(HIDDEN));
    }

    #[test]
    fn marks_are_found_wherever_a_schema_may_have_them() {
        let marked = || json!({"writeOnly": true});
        let schemas = [
            json!({"properties": {"s": {"x-sensitive": true}}}),
            json!({"properties": {"s": {"$ref": "#/$defs/a~1b"}}, "$defs": {"a/b": marked()}}),
            json!({"properties": {"s": {"$ref": "#/$defs/a%20b"}}, "$defs": {"a b": marked()}}),
            json!({"properties": {"s": {"$ref": "#here"}}, "$defs": {"a": {"$anchor": "here", "writeOnly": true}}}),
            json!({"properties": {"s": {"$ref": "elsewhere.json"}}}),
            json!({"allOf": [{"anyOf": [{"properties": {"s": marked()}}]}]}),
            json!({"if": {}, "then": {"properties": {"s": marked()}}}),
            json!({"dependentSchemas": {"open": {"properties": {"s": marked()}}}}),
            json!({"additionalProperties": marked(), "properties": {"open": {}}}),
            json!({"patternProperties": {"^s": marked()}, "properties": {"open": {"x-none": 1}}}),
        ];
        for schema in schemas {
            let mut value = json!({"s": "secret"});
            hide_marked(&mut value, &schema);
            assert_eq!(value, json!({"s": HIDDEN}), "{schema}");
        }
    }

    #[test]
    fn what_nobody_marks_stays() {
        let schema = json!({
            "properties": {
                "open": {"type": "string"},
                "deep": {"properties": {"s": {"writeOnly": true}, "t": {"writeOnly": false}}},
            },
        });
        let mut value = json!({"open": "a", "deep": {"s": 1, "t": 2}, "other": [1]});
        hide_marked(&mut value, &schema);
        assert_eq!(value, json!({"open": "a", "deep": {"s": HIDDEN, "t": 2}, "other": [1]}));
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let schema = json!({"properties": {"next": {"$ref": "#"}, "s": {"writeOnly": true}}, "allOf": [{"$ref": "#"}]});
        let mut value = json!({"next": {"next": {"s": 1}, "s": 2}, "s": 3});
        hide_marked(&mut value, &schema);
        assert_eq!(value, json!({"next": {"next": {"s": HIDDEN}, "s": HIDDEN}, "s": HIDDEN}));
    }
}
