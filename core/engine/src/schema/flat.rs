//! Flat schemas, checked in one pass over a value's text.
//!
//! Most tools take an object whose properties have one of the simple types each. For such a schema a walk over the text
//! tells that a value fits, at a fraction of what building nodes and asking the validator takes. It decides nothing else:
//! what it is not sure of (a key with escapes, a key that comes twice, `1.0` for an integer) and what does not fit goes to
//! the validator, which has the last word and the words.

use super::document::{Document, Kind};
use crate::jsonrpc::cursor::{Checked, Cursor};
use crate::jsonrpc::scan;

/// Properties of a flat schema: as many as a set of bits holds. Keys are compared one by one, so there should be few.
const MOST_PROPERTIES: usize = 32;

/// The simple types that a value may have, one bit each.
type Types = u8;
const NULL: Types = 1;
const BOOLEAN: Types = 2;
const INTEGER: Types = 4;
/// Any number, integers among them.
const NUMBER: Types = 8;
const STRING: Types = 16;
const ARRAY: Types = 32;
const OBJECT: Types = 64;
const ANY: Types = Types::MAX;

/// An object schema that asks no more of a value than that some properties are there, and of what types they are.
#[derive(Clone, Debug)]
pub(super) struct Flat {
    properties: Vec<Property>,
    /// Those that have to be there, by their place.
    required: u32,
    /// No other properties are allowed.
    closed: bool,
}

#[derive(Clone, Debug)]
struct Property {
    key: String,
    types: Types,
}

impl Flat {
    /// The flat form of a schema that is valid by its dialect, if it has one.
    pub(super) fn of(schema: &Document<'_>) -> Option<Self> {
        let mut flat = Self { properties: Vec::new(), required: 0, closed: false };
        let mut is_object = false;
        let members = || schema.members(Document::ROOT);
        for (key, value) in members() {
            match schema.string(key) {
                "$schema" | "$id" | "$defs" | "definitions" | "required" => {}
                key if is_annotation(key) => {}
                "type" if schema.string(value) == "object" => is_object = true,
                "properties" => flat.properties = properties(schema, value)?,
                "additionalProperties" => match schema.kind(value) {
                    Kind::True => {}
                    Kind::False => flat.closed = true,
                    _ => return None,
                },
                _ => return None,
            }
        }
        for (_, names) in members().filter(|(key, _)| schema.string(*key) == "required") {
            for name in schema.elements(names) {
                // A name of no property: the validator knows what to do.
                let place = flat.properties.iter().position(|property| property.key == schema.string(name))?;
                flat.required |= 1 << place;
            }
        }
        is_object.then_some(flat)
    }

    /// Whether a value fits. False: it may fit all the same.
    pub(super) fn surely_fits(&self, text: &str, max_depth: usize) -> bool {
        let mut cursor = Cursor::new(text);
        self.walk(&mut cursor).unwrap_or(false) && cursor.deepest <= max_depth
    }

    fn walk(&self, cursor: &mut Cursor<'_>) -> Checked<bool> {
        let mut seen = 0_u32;
        cursor.blanks();
        cursor.members(|cursor, key, escaped| {
            let fits = match self.properties.iter().position(|property| property.key.as_bytes() == key) {
                _ if escaped => false,
                None => !self.closed && cursor.value().is_ok(),
                Some(place) => {
                    let is_first = seen & 1 << place == 0;
                    seen |= 1 << place;
                    is_first && has_type(cursor, self.properties[place].types)
                }
            };
            if fits { Ok(()) } else { cursor.unexpected() }
        })?;
        cursor.end()?;
        Ok(seen & self.required == self.required)
    }
}

/// Moves over a value and tells whether it is surely of one of the types.
fn has_type(cursor: &mut Cursor<'_>, types: Types) -> bool {
    let start = cursor.at;
    let first = cursor.peek();
    let is_valid = cursor.value().is_ok();
    let fits = match first {
        Some(b'"') => STRING,
        Some(b'{') => OBJECT,
        Some(b'[') => ARRAY,
        Some(b't' | b'f') => BOOLEAN,
        Some(b'n') => NULL,
        // What is written with a fraction or an exponent is an integer in some dialects.
        _ if scan::is_integer(cursor.text.get(start..cursor.at).unwrap_or_default()) => INTEGER | NUMBER,
        _ => NUMBER,
    };
    is_valid && types & fits != 0
}

fn properties(schema: &Document<'_>, object: u32) -> Option<Vec<Property>> {
    if schema.count(object) > MOST_PROPERTIES {
        return None;
    }
    schema
        .members(object)
        .map(|(key, value)| Some(Property { key: schema.string(key).to_owned(), types: types(schema, value)? }))
        .collect()
}

/// The types that a subschema allows, if it speaks of nothing else.
fn types(schema: &Document<'_>, subschema: u32) -> Option<Types> {
    match schema.kind(subschema) {
        Kind::True => return Some(ANY),
        Kind::Object => {}
        _ => return None,
    }
    let mut types = ANY;
    for (key, value) in schema.members(subschema) {
        match schema.string(key) {
            key if is_annotation(key) => {}
            "type" if schema.kind(value) == Kind::Array => {
                types &= schema.elements(value).map(|name| named(schema.string(name))).try_fold(0, union)?;
            }
            "type" => types &= named(schema.string(value))?,
            // As Pydantic writes what may be left out: `"anyOf":[{"type":"integer"},{"type":"null"}]`.
            "anyOf" => types &= schema.elements(value).map(|choice| self::types(schema, choice)).try_fold(0, union)?,
            _ => return None,
        }
    }
    Some(types)
}

fn union(all: Types, one: Option<Types>) -> Option<Types> {
    Some(all | one?)
}

fn named(name: &str) -> Option<Types> {
    Some(match name {
        "null" => NULL,
        "boolean" => BOOLEAN,
        "integer" => INTEGER,
        "number" => NUMBER,
        "string" => STRING,
        "array" => ARRAY,
        "object" => OBJECT,
        _ => return None,
    })
}

/// Keywords that ask nothing of a value, in every dialect (`format`: see [`super`]).
fn is_annotation(key: &str) -> bool {
    matches!(
        key,
        "$comment"
            | "title"
            | "description"
            | "default"
            | "examples"
            | "deprecated"
            | "readOnly"
            | "writeOnly"
            | "format"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    const DEPTH: usize = 4;

    fn flat(schema: &str) -> Option<Flat> {
        Flat::of(&Document::parse(schema, 16).expect("JSON"))
    }

    #[test]
    fn simple_objects_are_flat() {
        let schema = r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","title":"T",
            "properties":{"a":{"type":"string","description":"d"},"b":{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null},
            "c":{"type":["number","boolean"]},"d":true},"required":["a"]}"#;
        let schema = flat(schema).expect("flat");
        for value in [
            r#"{"a":"x"}"#,
            r#" { "e" : [1] , "a" : "x", "b" : null , "c" : 1.5e3, "d":{"x":[1]} } "#,
            r#"{"b":-7,"c":true,"a":""}"#,
            r#"{"c":12,"a":"\u0061"}"#,
        ] {
            assert!(schema.surely_fits(value, DEPTH), "{value}");
        }
        for value in [
            "{}",
            "[]",
            r#"{"a":1}"#,
            r#"{"a":"x","b":1.0}"#,
            r#"{"a":"x","b":"1"}"#,
            r#"{"a":"x","c":null}"#,
            r#"{"a":1,"a":"x"}"#,
            r#"{"\u0061":1,"a":"x"}"#,
            r#"{"a":"x","d":[[[[]]]]}"#,
            r#"{"a":"x"} x"#,
            r#"{"a":"x""#,
            r#"{"a":"x",}"#,
        ] {
            assert!(!schema.surely_fits(value, DEPTH), "{value}");
        }
    }

    #[test]
    fn closed_objects_have_no_other_properties() {
        let schema = flat(r#"{"type":"object","properties":{"a":{}},"additionalProperties":false}"#).expect("flat");
        assert!(schema.surely_fits(r#"{"a":[]}"#, DEPTH) && schema.surely_fits("{}", DEPTH));
        assert!(!schema.surely_fits(r#"{"b":1}"#, DEPTH));
    }

    #[test]
    fn whatever_else_a_schema_says_makes_it_no_flat_one() {
        for schema in [
            r#"{"properties":{"a":{"type":"string"}}}"#,
            r#"{"type":["object"],"properties":{}}"#,
            r#"{"type":"object","minProperties":1}"#,
            r#"{"type":"object","additionalProperties":{"type":"string"}}"#,
            r#"{"type":"object","required":["a"]}"#,
            r#"{"type":"object","properties":{"a":{"type":"string","minLength":1}}}"#,
            r#"{"type":"object","properties":{"a":{"enum":["x"]}}}"#,
            r#"{"type":"object","properties":{"a":{"anyOf":[{"const":1},{"type":"null"}]}}}"#,
            r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{}}}"##,
            r#"{"type":"object","properties":{"a":false}}"#,
        ] {
            assert!(flat(schema).is_none(), "{schema}");
        }
    }

    fn any_of(choices: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
        prop::sample::select(choices)
    }

    fn object(member: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
        prop::collection::vec(member, 0..4).prop_map(|members| format!("{{{}}}", members.join(",")))
    }

    prop_compose! {
        fn simple_schema()(
            properties in object((any_of(&["a", "b", "c"]), any_of(&[
                "{}", "true", r#"{"type":"string"}"#, r#"{"type":"integer"}"#, r#"{"type":["number","null"]}"#,
                r#"{"anyOf":[{"type":"array"},{"type":"object"}]}"#, r#"{"type":"boolean","default":1}"#,
            ])).prop_map(|(key, schema)| format!(r#""{key}":{schema}"#))),
            required in any_of(&["[]", r#"["a"]"#, r#"["b","a"]"#]),
            more in any_of(&["true", "false"]),
        ) -> String {
            format!(r#"{{"type":"object","properties":{properties},"required":{required},"additionalProperties":{more}}}"#)
        }
    }

    fn simple_value() -> impl Strategy<Value = String> {
        let values = any_of(&[r#""x""#, "1", "-2", "1.0", "1.5", "true", "null", "[1]", r#"{"a":1}"#]);
        object(
            (any_of(&["a", "b", "c", "d", r"\u0061"]), values).prop_map(|(key, value)| format!(r#""{key}":{value}"#)),
        )
    }

    proptest! {
        #[test]
        fn what_surely_fits_is_what_the_validator_takes(schema in simple_schema(), value in simple_value()) {
            let parsed = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
            let fits = jsonschema::validator_for(&parsed(&schema)).expect("a schema").is_valid(&parsed(&value));
            if let Some(flat) = flat(&schema) {
                let sure = flat.surely_fits(&value, DEPTH);
                prop_assert!(fits || !sure, "{schema} {value}");
                // Where nothing is written in an unusual way, it is sure of all that fits.
                let unusual = value.contains('\\') || value.contains("1.0") || value.matches(":").count() != parsed(&value).to_string().matches(":").count();
                prop_assert!(sure || !fits || unusual, "{schema} {value}");
            }
        }
    }
}
