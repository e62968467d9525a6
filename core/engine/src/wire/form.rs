//! The schemas of forms: flat objects of primitive values (2026-07-28 `client/elicitation`, "Requested Schema").

use super::Revision;
use crate::jsonrpc::{scan, write};

/// Says what of a `requestedSchema` is not allowed, if anything.
pub(crate) fn check(schema: &str) -> Result<(), String> {
    let [kind, properties] = pick(schema, ["type", "properties"], "the schema")?;
    if kind != Some(r#""object""#) {
        return Err("the schema must have \"type\": \"object\"".into());
    }
    let properties = properties.filter(|value| scan::is_object(value)).ok_or("the schema must have \"properties\"")?;
    for (name, property) in scan::members(properties) {
        primitive(property).map_err(|reason| format!("property {name}: {reason}"))?;
    }
    Ok(())
}

fn pick<'a, const N: usize>(
    object: &'a str,
    keys: [&'static str; N],
    what: &str,
) -> Result<[Option<&'a str>; N], String> {
    scan::pick(object, keys).map_err(|_| format!("{what} must be an object without doubled keys"))
}

/// `PrimitiveSchemaDefinition`.
fn primitive(schema: &str) -> Result<(), String> {
    let [kind, titled, items] = pick(schema, ["type", "oneOf", "items"], "it")?;
    match kind {
        Some(r#""string""#) => titled.map_or(Ok(()), options),
        Some(r#""number""# | r#""integer""# | r#""boolean""#) => Ok(()),
        Some(r#""array""#) => {
            let items = items.ok_or("an array must have \"items\" with the choices")?;
            match pick(items, ["anyOf", "enum"], "\"items\"")? {
                [Some(titled), _] => options(titled),
                [None, Some(values)] if scan::is_array(values) => Ok(()),
                _ => Err("an array is a choice of several: its items need \"enum\" or \"anyOf\"".into()),
            }
        }
        _ => Err("only strings, numbers, booleans and choices are allowed in a form".into()),
    }
}

/// Choices with titles.
fn options(list: &str) -> Result<(), String> {
    let good = |option| matches!(scan::pick(option, ["const", "title"]), Ok([Some(value), Some(title)]) if value.starts_with('"') && title.starts_with('"'));
    if scan::is_array(list) && scan::elements(list).all(good) {
        return Ok(());
    }
    Err("choices with titles are objects with the strings \"const\" and \"title\"".into())
}

/// Appends a schema that passed [`check`] as `revision` knows it: 2025-06-18 writes titles of choices beside them, and has
/// no choice of several.
pub(crate) fn adapted(out: &mut String, schema: &str, revision: Revision) -> Result<(), String> {
    if revision.has_titled_choices() {
        write::raw(out, schema);
        return Ok(());
    }
    out.push('{');
    for (at, (key, value)) in scan::members(schema).enumerate() {
        if at > 0 {
            out.push(',');
        }
        out.push_str(key);
        out.push(':');
        if key == r#""properties""# { properties(out, value)? } else { write::raw(out, value) }
    }
    out.push('}');
    Ok(())
}

fn properties(out: &mut String, properties: &str) -> Result<(), String> {
    out.push('{');
    for (at, (name, property)) in scan::members(properties).enumerate() {
        if at > 0 {
            out.push(',');
        }
        out.push_str(name);
        out.push(':');
        let [kind, titled] = scan::pick(property, ["type", "oneOf"]).unwrap_or_default();
        if kind == Some(r#""array""#) {
            return Err(format!("property {name}: the client's revision has no choice of several"));
        }
        let Some(titled) = titled else {
            write::raw(out, property);
            continue;
        };
        out.push('{');
        for (key, value) in scan::members(property).filter(|(key, _)| *key != r#""oneOf""#) {
            out.push_str(key);
            out.push(':');
            write::raw(out, value);
            out.push(',');
        }
        for (field, key, end) in [("enum", "const", ","), ("enumNames", "title", "}")] {
            out.push_str(&format!("\"{field}\":["));
            for (at, option) in scan::elements(titled).enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write::raw(out, scan::pick(option, [key]).ok().and_then(|[value]| value).unwrap_or("null"));
            }
            out.push(']');
            out.push_str(end);
        }
    }
    out.push('}');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(property: &str) -> String {
        format!(r#"{{"type":"object","properties":{{"p":{property}}}}}"#)
    }

    #[test]
    fn flat_forms_of_primitives_and_choices_are_allowed() {
        for property in [
            r#"{"type":"string","minLength":3,"format":"email","default":"a@b.c"}"#,
            r#"{"type":"integer","minimum":0}"#,
            r#"{"type":"number"}"#,
            r#"{"type":"boolean","default":false}"#,
            r#"{"type":"string","enum":["a"]}"#,
            r#"{"type":"string","oneOf":[{"const":"a","title":"A"}]}"#,
            r#"{"type":"array","items":{"type":"string","enum":["a"]},"maxItems":2}"#,
            r#"{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}"#,
        ] {
            assert_eq!(check(&form(property)), Ok(()), "{property}");
        }
        for property in [
            r#"{"type":"object","properties":{}}"#,
            r#"{"type":"array","items":{"type":"string"}}"#,
            r#"{"type":"array"}"#,
            r#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#,
            r#"{"type":["string","null"]}"#,
            r#"{"type":"string","oneOf":[{"const":"a"}]}"#,
            "true",
        ] {
            assert!(check(&form(property)).is_err(), "{property}");
        }
        assert!(check(r#"{"type":"string"}"#).is_err() && check(r#"{"type":"object"}"#).is_err());
    }

    #[test]
    fn titles_of_choices_stand_beside_them_in_2025_06_18() {
        let schema =
            form(r#"{"type":"string","title":"T","oneOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]}"#);
        let mut out = String::new();
        adapted(&mut out, &schema, Revision::V2025_06_18).expect("there is a form for it");
        assert_eq!(out, form(r#"{"type":"string","title":"T","enum":["a","b"],"enumNames":["A","B"]}"#));
        out.clear();
        adapted(&mut out, &schema, Revision::V2025_11_25).expect("as it is");
        assert_eq!(out, schema);
        let several = form(r#"{"type":"array","items":{"enum":["a"]}}"#);
        assert!(adapted(&mut String::new(), &several, Revision::V2025_06_18).is_err());
    }
}
