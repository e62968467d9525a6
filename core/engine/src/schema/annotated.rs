//! Where a keyword stands in a schema that is no word of JSON Schema, such as `x-mcp-header`.
//!
//! What such a keyword means, and where it may stand, is for whoever asks to say.

use super::document::{Document, Kind};
use super::error::SchemaError;
use super::keywords;
use super::limits::SchemaLimits;

/// A subschema that has the keyword.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Annotated {
    /// The keys under `properties` that lead to it from the root, one after the other; none for the root itself. `None`
    /// where the way leads through any other keyword.
    pub(crate) path: Option<Vec<String>>,
    /// The keyword's value, if that is a string.
    pub(crate) value: Option<String>,
    /// The subschema's `type`, if that is one name.
    pub(crate) kind: Option<String>,
}

/// The subschemas that have `keyword`. Data (`default`, `enum`, ...) is not looked into, and references are not followed.
///
/// # Errors
/// The text is no JSON, or too deep.
pub(crate) fn annotated(schema: &str, keyword: &str) -> Result<Vec<Annotated>, SchemaError> {
    let document = Document::parse(schema, SchemaLimits::default().max_depth)?;
    let mut walk = Walk { document: &document, keyword, found: Vec::new() };
    walk.look_at(Document::ROOT, Some(&mut Vec::new()));
    Ok(walk.found)
}

struct Walk<'d> {
    document: &'d Document<'d>,
    keyword: &'d str,
    found: Vec<Annotated>,
}

impl<'d> Walk<'d> {
    /// Recursive: the document's depth is bounded.
    fn look_at(&mut self, node: u32, mut path: Option<&mut Vec<&'d str>>) {
        let document = self.document;
        if let Some(value) = document.get(node, self.keyword) {
            self.found.push(Annotated {
                path: path.as_deref().map(|keys| keys.iter().map(|key| (*key).to_owned()).collect()),
                value: self.text(value),
                kind: document.get(node, "type").and_then(|kind| self.text(kind)),
            });
        }
        let properties = document.get(node, "properties").filter(|node| document.kind(*node) == Kind::Object);
        if let Some(properties) = properties {
            for (key, schema) in document.members(properties) {
                match path.as_deref_mut() {
                    Some(keys) => {
                        keys.push(document.string(key));
                        self.look_at(schema, Some(&mut *keys));
                        keys.pop();
                    }
                    None => self.look_at(schema, None),
                }
            }
        }
        let seen = properties.map_or(0..0, |node| node..document.after(node));
        for (schema, _) in keywords::subschemas(document, node) {
            if !seen.contains(&schema) {
                self.look_at(schema, None);
            }
        }
    }

    fn text(&self, node: u32) -> Option<String> {
        (self.document.kind(node) == Kind::String).then(|| self.document.string(node).to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(schema: &str) -> Vec<Option<String>> {
        let found = annotated(schema, "x-here").expect("a schema");
        found.into_iter().map(|place| place.path.map(|keys| keys.join("."))).collect()
    }

    #[test]
    fn chains_of_properties_are_told_from_other_ways() {
        let own = r#"{"x-here":"","properties":{"a":{"x-here":""},"b":{"properties":{"c":{"x-here":""}}}}}"#;
        assert_eq!(places(own), [Some(String::new()), Some("a".into()), Some("b.c".into())]);
        for one in ["items", "not", "if", "then", "else", "contains", "additionalProperties", "unevaluatedItems"] {
            assert_eq!(places(&format!(r#"{{"{one}":{{"x-here":""}}}}"#)), [None], "{one}");
        }
        for list in ["allOf", "anyOf", "oneOf", "prefixItems", "items"] {
            assert_eq!(places(&format!(r#"{{"{list}":[{{"x-here":""}}]}}"#)), [None], "{list}");
        }
        for map in ["$defs", "definitions", "patternProperties", "dependentSchemas"] {
            assert_eq!(places(&format!(r#"{{"{map}":{{"p":{{"x-here":""}}}}}}"#)), [None], "{map}");
        }
        // Once off the chain, never on it again.
        assert_eq!(places(r#"{"items":{"properties":{"a":{"x-here":""}}}}"#), [None]);
    }

    #[test]
    fn data_and_names_are_no_annotations() {
        for schema in [
            r#"{"default":{"x-here":""}}"#,
            r#"{"const":{"x-here":""},"enum":[{"x-here":""}],"examples":[{"x-here":""}]}"#,
            r#"{"properties":{"x-here":{"type":"string"}}}"#,
            r#"{"$defs":{"x-here":{"type":"string"}}}"#,
            r#"{"dependentRequired":{"x-here":["a"]}}"#,
        ] {
            assert_eq!(places(schema), [], "{schema}");
        }
    }

    #[test]
    fn the_last_of_equal_keys_counts() {
        let found = annotated(r#"{"x-here":"a","\u0078-here":"b","type":"string","type":["string"]}"#, "x-here");
        let here = Annotated { path: Some(Vec::new()), value: Some("b".into()), kind: None };
        assert_eq!(found, Ok(vec![here]));
    }
}
