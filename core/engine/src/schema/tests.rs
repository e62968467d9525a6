//! What the specification says of schemas, and what has gone wrong elsewhere.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::document::tests::any_json;
use super::*;

fn compile(schema: &str) -> Schema {
    Schema::compile(schema, &SchemaLimits::default()).unwrap_or_else(|error| panic!("{schema}: {error}"))
}

fn refusal(schema: &str) -> SchemaError {
    match Schema::compile(schema, &SchemaLimits::default()) {
        Ok(_) => panic!("accepted {schema}"),
        Err(error) => error,
    }
}

/// What is said of `value`, empty if it fits.
fn said(schema: &str, value: &str) -> String {
    compile(schema).validate(value).err().map_or(String::new(), |violations| violations.to_string())
}

fn assert_fits(schema: &str, values: &[&str]) {
    for value in values {
        assert_eq!(said(schema, value), "", "{value} in {schema}");
    }
}

fn assert_misfits(schema: &str, values: &[&str]) {
    for value in values {
        assert_ne!(said(schema, value), "", "{value} in {schema}");
    }
}

/// 2026-07-28 `basic/index`, "Example Usage".
const EXAMPLE: &str = r#""type":"object","properties":{"name":{"type":"string"},
    "age":{"type":"integer","minimum":0}},"required":["name"]"#;

#[test]
fn the_specifications_examples_work_in_every_dialect() {
    let dialects = [
        "https://json-schema.org/draft/2020-12/schema",
        "http://json-schema.org/draft/2020-12/schema#",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2019-09/schema#",
        "http://json-schema.org/draft-07/schema#",
        "http://json-schema.org/draft-07/schema",
        "https://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft-07/schema",
        "http://json-schema.org/draft-06/schema#",
        "http://json-schema.org/draft-04/schema#",
    ];
    let declared = dialects.map(|dialect| format!(r#"{{"$schema":"{dialect}",{EXAMPLE}}}"#));
    for schema in declared.iter().chain([&format!("{{{EXAMPLE}}}")]) {
        assert_fits(schema, &[r#"{"name":"Ada","age":36}"#, r#"{"name":"Ada"}"#]);
        assert_misfits(schema, &["{}", r#"{"name":1}"#, r#"{"name":"Ada","age":-1}"#, "[]"]);
    }
}

#[test]
fn a_schema_is_read_by_its_own_dialect() {
    // Up to draft-07 an array in `items` is one schema for each position; since 2020-12 that is `prefixItems`.
    let tuple = r#"{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}]}"#;
    assert_misfits(tuple, &["[1]"]);
    assert!(matches!(refusal(r#"{"items":[{"type":"string"}]}"#), SchemaError::Invalid { .. }));
    assert_misfits(r#"{"prefixItems":[{"type":"string"}]}"#, &["[1]"]);
    // Draft-04 goes by how a number is written, and writes exclusive bounds differently.
    let old =
        r#"{"$schema":"http://json-schema.org/draft-04/schema#","type":"integer","minimum":1,"exclusiveMinimum":true}"#;
    assert_fits(old, &["2"]);
    assert_misfits(old, &["1", "2.0"]);
    assert_fits(r#"{"type":"integer"}"#, &["2.0"]);
}

#[test]
fn an_unknown_dialect_is_named_with_those_that_are_supported() {
    let error = refusal(r#"{"$schema":"https://example.com/my-schema","type":"object"}"#);
    assert_eq!(error, SchemaError::UnsupportedDialect("https://example.com/my-schema".into()));
    let text = error.to_string();
    for dialect in ["https://example.com/my-schema", "2020-12", "2019-09", "draft-07"] {
        assert!(text.contains(dialect), "{text}");
    }
    assert!(matches!(refusal(r#"{"$schema":5}"#), SchemaError::UnsupportedDialect(_)));
    assert!(matches!(refusal(r#"{"$schema":""}"#), SchemaError::UnsupportedDialect(_)));
}

#[test]
fn schemas_must_follow_the_rules_of_their_dialect() {
    for (schema, place) in [
        (r#"{"type":"nope"}"#, "/type"),
        (r#"{"required":null}"#, "/required"),
        (r#"{"properties":{"a":{"minLength":-1}}}"#, "/properties/a/minLength"),
        (r#"{"properties":{"a":{"pattern":"(["}}}"#, "/properties/a/pattern"),
        (r#"{"$schema":"http://json-schema.org/draft-07/schema#","required":["a","a"]}"#, "/required"),
    ] {
        match refusal(schema) {
            SchemaError::Invalid { pointer, message } => {
                assert_eq!(pointer, place, "{message}");
                assert!(!message.is_empty());
            }
            other => panic!("{schema}: {other:?}"),
        }
    }
    for schema in ["5", "null", r#""object""#, "[]"] {
        assert_eq!(refusal(schema), SchemaError::NotASchema);
    }
    assert_eq!(refusal(r#"{"type":"#), SchemaError::NotJson { offset: 8 });
}

#[test]
fn references_to_elsewhere_are_refused_and_never_fetched() {
    for reference in [
        "http://127.0.0.1:9/x",
        "https://example.com/schema.json#/definitions/a",
        "file:///etc/hostname",
        "other.json",
        "urn:example:other",
    ] {
        for schema in [
            json!({ "$ref": reference }),
            json!({"properties": {"a": {"anyOf": [{"$ref": reference}]}}}),
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"unused": {"$ref": reference}}}),
            json!({"$dynamicRef": reference}),
        ] {
            let error = refusal(&schema.to_string());
            let SchemaError::ExternalReference(named) = &error else { panic!("{schema}: {error:?}") };
            assert!(reference.starts_with(named), "{named}");
        }
    }
    for schema in [r##"{"$ref":"#/$defs/none"}"##, r##"{"$ref":"#none"}"##] {
        assert!(matches!(refusal(schema), SchemaError::UnresolvedReference(_)));
    }
}

#[test]
fn references_within_the_schema_work() {
    let definitions = r##"{"type":"object","properties":{"q":{"$ref":"#/$defs/Q"}},"$defs":{"Q":{"type":"string"}}}"##;
    assert_fits(definitions, &[r#"{"q":"x"}"#]);
    assert_misfits(definitions, &[r#"{"q":1}"#]);
    assert_misfits(r##"{"$ref":"#here","$defs":{"x":{"$anchor":"here","type":"string"}}}"##, &["1"]);
    let embedded = r#"{"$id":"https://example.com/root.json","$ref":"part.json#/$defs/deep",
        "$defs":{"p":{"$id":"part.json","$defs":{"deep":{"type":"string"}}}}}"#;
    assert_fits(embedded, &[r#""x""#]);
    assert_misfits(embedded, &["1"]);
    let old = r##"{"$schema":"http://json-schema.org/draft-07/schema#","items":{"$ref":"#name"},
        "definitions":{"a":{"$id":"#name","type":"string"}}}"##;
    assert_misfits(old, &["[1]"]);
    // The dialect's own meta-schema is known without being fetched.
    let schema_of_schemas = r#"{"$ref":"https://json-schema.org/draft/2020-12/schema"}"#;
    assert_fits(schema_of_schemas, &[r#"{"type":"string","properties":{"a":{"items":true}}}"#]);
    assert_misfits(schema_of_schemas, &[r#"{"properties":{"a":{"type":1}}}"#]);
}

#[test]
fn recursion_ends() {
    let tree = r##"{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#"}},"v":{"type":"integer"}},
        "required":["v"]}"##;
    assert_fits(tree, &[r#"{"v":1,"children":[{"v":2,"children":[]},{"v":3}]}"#]);
    assert_eq!(
        said(tree, r#"{"v":1,"children":[{"v":2},{"v":2,"children":[{}]}]}"#),
        r#"at /children/1/children/0: "v" is a required property"#
    );
    // A tree that is strict in all its parts through `$dynamicRef` (2020-12 core, 8.2.3.2).
    let strict = r##"{"$id":"https://example.com/strict","$dynamicAnchor":"node","$ref":"tree","unevaluatedProperties":false,
        "$defs":{"tree":{"$id":"tree","$dynamicAnchor":"node","properties":{"data":true,
        "children":{"items":{"$dynamicRef":"#node"}}}}}}"##;
    assert_fits(strict, &[r#"{"children":[{"data":1,"children":[{}]}]}"#]);
    assert_misfits(strict, &[r#"{"children":[{"daat":1}]}"#]);
    // Loops that never reach another value.
    assert_fits(r##"{"$ref":"#"}"##, &["1"]);
    assert_fits(r##"{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}"##, &["1"]);
}

#[test]
fn optional_and_null_are_different() {
    let optional =
        r#"{"type":"object","properties":{"x":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null}}}"#;
    assert_fits(optional, &["{}", r#"{"x":null}"#, r#"{"x":"x"}"#]);
    assert_eq!(
        said(optional, r#"{"x":5}"#),
        r#"at /x: 5 fits none of the alternatives; 1) 5 is not of type "string"; 2) 5 is not of type "null""#
    );
    let nested = r#"{"properties":{"u":{"oneOf":[{"required":["a"]},{"properties":{"b":{"type":"integer"}}}]}}}"#;
    assert_eq!(
        said(nested, r#"{"u":{"b":"x"}}"#),
        concat!(
            r#"at /u: {"b":"x"} fits none of the alternatives; 1) "a" is a required property; "#,
            r#"2) inside it, at /b: "x" is not of type "integer""#
        )
    );
    let never_null = r#"{"type":"object","properties":{"x":{"type":"string"}}}"#;
    assert_fits(never_null, &["{}"]);
    assert_misfits(never_null, &[r#"{"x":null}"#]);
}

#[test]
fn numbers_of_any_size_are_exact() {
    let integer = r#"{"type":"integer"}"#;
    for text in [
        "2047948614742839297",
        "-9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "123456789012345678901234567890",
        "-123456789012345678901234567890",
        "1e400",
        "1.0",
        "12.50e1",
    ] {
        assert_fits(integer, &[text]);
        assert_fits(r#"{"type":"number"}"#, &[text]);
    }
    assert_misfits(integer, &["0.1", "1e-400", "123456789012345678901234567890.5"]);

    let int64 = r#"{"minimum":-9223372036854775808,"maximum":9223372036854775807}"#;
    assert_fits(int64, &["-9223372036854775808", "9223372036854775807"]);
    assert_misfits(int64, &["-9223372036854775809", "9223372036854775808", "1e400", "-1e400"]);
    assert_fits(r#"{"minimum":0}"#, &["1e400", "123456789012345678901234567890"]);
    assert_fits(r#"{"exclusiveMaximum":0}"#, &["-1e400"]);

    let sevens = r#"{"multipleOf":7}"#;
    assert_fits(sevens, &["700000000000000000000000000007", "-7e300", "7.0", "0"]);
    assert_misfits(sevens, &["700000000000000000000000000008", "7e-1", "9007199254740993"]);
    assert_fits(r#"{"multipleOf":0.1}"#, &["0.3", "1.0", "3"]);

    assert_fits(r#"{"uniqueItems":true}"#, &["[9007199254740992,9007199254740993]", "[1e400,1e401]"]);
    assert_misfits(r#"{"uniqueItems":true}"#, &["[1,1.0]", r#"[{"a":1,"b":[2]},{"b":[2.0],"a":1}]"#, "[[],[]]"]);
    assert_fits(r#"{"const":9007199254740993}"#, &["9007199254740993", "9007199254740993.0"]);
    assert_misfits(r#"{"const":9007199254740993}"#, &["9007199254740992"]);
    assert_fits(r#"{"enum":[0.1,1e400]}"#, &["0.10", "1e400"]);
}

#[test]
fn schemas_may_hold_what_serde_json_refuses() {
    assert_fits(r#"{"default":1e400,"description":"\ud83d","type":"string"}"#, &[r#""x""#]);
    assert_fits(r#"{"maximum":1e400}"#, &["1e300"]);
}

#[test]
fn unpaired_surrogates_are_text() {
    let schema = r#"{"type":"object","properties":{"t":{"type":"string","minLength":2,"maxLength":2}}}"#;
    assert_fits(schema, &[r#"{"t":"a\ud83d"}"#, r#"{"\ud83d":1,"t":"\ud83c\udf78x"}"#]);
    assert_eq!(said(schema, r#"{"t":"\ud83d"}"#), r#"at /t: "\ud83d" is shorter than 2 characters"#,);
}

#[test]
fn the_last_of_equal_keys_is_checked() {
    let schema = r#"{"properties":{"a":{"type":"integer"}},"maxProperties":1}"#;
    assert_fits(schema, &[r#"{"a":"x","a":1}"#]);
    assert_misfits(schema, &[r#"{"a":1,"a":"x"}"#]);
}

#[test]
fn format_is_an_annotation() {
    assert_fits(r#"{"format":"date"}"#, &[r#""yesterday""#]);
    assert_fits(r#"{"$schema":"http://json-schema.org/draft-07/schema#","items":{"format":"uri"}}"#, &[r#"["?"]"#]);
}

#[test]
fn schemas_without_demands_do_not_look_at_the_value() {
    for schema in ["true", "{}", r#"{"title":"T","description":"D","$defs":{"x":{"type":"string"}}}"#] {
        assert!(matches!(compile(schema).check, Check::Anything), "{schema}");
    }
    for schema in [
        r#"{"type":"object"}"#,
        r#"{"type":"object","properties":{},"title":"T","additionalProperties":true}"#,
        r#"{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","required":[],"additionalProperties":{}}"#,
    ] {
        assert!(matches!(compile(schema).check, Check::AnyObject), "{schema}");
        assert_fits(schema, &["{}", " {\"a\":1}"]);
        assert_eq!(said(schema, "[1]"), r#"an array is not of type "object""#);
    }
    for schema in ["false", r#"{"not":{}}"#, r#"{"type":"object","additionalProperties":false}"#, r#"{"x":1}"#] {
        assert!(matches!(compile(schema).check, Check::Compiled(_)), "{schema}");
    }
    // What needs no checking still has to be valid.
    assert!(matches!(refusal(r#"{"title":5}"#), SchemaError::Invalid { .. }));
}

#[test]
fn violations_come_in_the_order_of_the_text() {
    let schema = r#"{"properties":{"a":{"type":"string"},"b":{"items":{"type":"string"}},"c":{"type":"string"}}}"#;
    let violations = compile(schema).validate(r#"{"c":1,"b":["x",2,3],"a":4}"#).expect_err("four are wrong");
    let places: Vec<_> = violations.entries().iter().map(|violation| violation.instance_path.as_str()).collect();
    assert_eq!(places, ["/c", "/b/1", "/b/2", "/a"]);
    assert!(!violations.has_more());
    assert_eq!(violations.to_string().lines().next(), Some(r#"at /c: 1 is not of type "string""#));
}

#[test]
fn there_are_at_most_eight_violations() {
    let violations = compile(r#"{"items":{"type":"string"}}"#)
        .validate(&format!("[{}0]", "0,".repeat(100_000)))
        .expect_err("all are wrong");
    assert_eq!(violations.entries().len(), 8);
    assert_eq!(violations.entries()[7].instance_path, "/7");
    assert!(violations.has_more());
    assert_eq!(violations.to_string().lines().last(), Some("(there are more)"));
}

#[test]
fn messages_are_single_short_lines() {
    let long = "x".repeat(10_000);
    let schema = r#"{"properties":{"a":{"type":"integer"},"b":{"enum":["p","q"]},"c":{"pattern":"^\n$"},"d":{"not":{}},
        "e":{"oneOf":[{"type":"string"},{"maxLength":1000000}]},"f":{"const":1},"g":false,"h":{"uniqueItems":true}},
        "patternProperties":{"^x":false},"additionalProperties":false,"propertyNames":{"maxLength":100},
        "dependentRequired":{"a":["zz"]}}"#;
    let long_name = format!("x\n{long}");
    let mut value = json!({"h": [long, long], long_name: long, "other\nkey": 1});
    for key in ["a", "b", "c", "d", "e", "f", "g"] {
        value[key] = json!([long.as_str(), "\n"]);
    }
    value["c"] = json!(format!("\n{long}"));
    value["e"] = json!(long);
    let limits = SchemaLimits { max_violations: 64, ..SchemaLimits::default() };
    let schema = Schema::compile(schema, &limits).expect("valid");
    let violations = schema.validate(&value.to_string()).expect_err("nearly all is wrong");
    assert!(violations.entries().len() >= 11, "{violations}");
    assert_eq!(violations.to_string().lines().count(), violations.entries().len());
    assert!(violations.to_string().lines().all(|line| line.len() < 1400), "{violations}");
    for violation in violations.entries() {
        assert!(violation.message.len() < 1100, "{}", violation.message.len());
        assert!(!violation.message.contains(char::is_control), "{}", violation.message);
        assert!(!violation.message.contains(&long[..300]), "{}", violation.message);
    }
}

#[test]
fn values_that_are_no_json_or_too_deep_are_violations() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let schema = r##"{"type":"array","items":{"$ref":"#"}}"##;
    assert_fits(schema, &[&nested(128)]);
    assert_eq!(said(schema, &nested(129)), "the value is nested deeper than 128 levels");
    assert_eq!(said(schema, &nested(1_000_000)), "the value is nested deeper than 128 levels");
    assert_eq!(said(schema, "[1,"), "the value is not valid JSON at byte 3");
    assert_eq!(said(schema, ""), "the value is not valid JSON at byte 0");
}

#[test]
fn deep_schemas_and_long_chains_do_not_exhaust_the_stack() {
    let wrapped = |open: &str, close: &str, depth: usize| format!("{}{{}}{}", open.repeat(depth), close.repeat(depth));
    assert_fits(&wrapped(r#"{"items":"#, "}", 127), &["[[[1]]]"]);
    assert_misfits(&wrapped(r#"{"not":"#, "}", 127), &["1"]);
    assert!(matches!(refusal(&wrapped(r#"{"not":"#, "}", 128)), SchemaError::PastLimit { limit: 128, .. }));

    let chain = |length: usize| {
        let links: Vec<String> = (1..length).map(|n| format!(r##""d{n}":{{"$ref":"#/$defs/d{}"}}"##, n + 1)).collect();
        format!(
            r##"{{"$ref":"#/$defs/d1","$defs":{{{},"d{length}":{{"type":"array","items":{{"$ref":"#"}}}}}}}}"##,
            links.join(",")
        )
    };
    let schema = compile(&chain(100));
    assert!((8..128).contains(&schema.max_instance_depth()));
    let deepest = schema.max_instance_depth();
    assert_eq!(schema.validate(&format!("{}{}", "[".repeat(deepest), "]".repeat(deepest))), Ok(()));
    assert!(schema.validate(&format!("{}1{}", "[".repeat(deepest), "]".repeat(deepest))).is_err());
    assert!(matches!(refusal(&chain(1000)), SchemaError::PastLimit { .. }));
}

#[test]
fn sizes_are_bounded() {
    let limits = SchemaLimits { max_text_bytes: 20, ..SchemaLimits::default() };
    assert!(Schema::compile(r#"{"type":"object"}"#, &limits).is_ok());
    let error = Schema::compile(r#"{"type":"object"}     "#, &limits).expect_err("too long");
    assert_eq!(error.to_string(), "the schema has more than 20 bytes");
}

/// Every level of the value can be any of several kinds that all look into the next level, and the innermost fits none.
/// Finding out what is wrong would try four to the power of the depth.
#[test]
fn explaining_alternatives_within_alternatives_ends() {
    let kinds = ["a", "b", "c", "d"].map(|kind| {
        format!(r##"{{"type":"object","properties":{{"kind":{{"type":"string"}},"{kind}":true,"child":{{"$ref":"#"}}}},"required":["child"]}}"##)
    });
    let schema = compile(&format!(r#"{{"anyOf":[{},{{"type":"string"}}]}}"#, kinds.join(",")));
    let value = format!("{}1{}", r#"{"child":"#.repeat(60), "}".repeat(60));
    let violations = schema.validate(&value).expect_err("1 is none of them");
    let place = "/child".repeat(60);
    let innermost = violations.entries().iter().find(|violation| violation.instance_path == place);
    assert!(
        innermost.is_some_and(|violation| violation.message.contains(r#"1 is not of type "object""#)),
        "{violations}"
    );
    assert!(violations.has_more());
    let fitting = value.replace('1', r#""x""#);
    assert_eq!(schema.validate(&fitting), Ok(()));
}

#[test]
fn the_number_of_steps_is_bounded() {
    let limits = SchemaLimits { max_steps: 0, ..SchemaLimits::default() };
    let many: Vec<String> = (0..200).map(|n| format!(r#"{{"required":["k{n}"]}}"#)).collect();
    let schema = Schema::compile(&format!(r#"{{"items":{{"anyOf":[{}]}}}}"#, many.join(",")), &limits).expect("valid");
    let violations = schema.validate(r#"[{"k199":1},{"k199":1}]"#).expect_err("200 looks for each of few values");
    assert_eq!(violations.to_string(), "the value takes too long to be checked against its schema");
}

/// A backtracking pattern that never ends on such a text must be neither a panic nor a hang.
#[test]
fn patterns_that_take_too_long_are_violations() {
    let schema = r#"{"type":"object","required":["x"],"properties":{"t":{"pattern":"^(?=(a+)+$)\\1(?<!b)(a|aa)+$"}}}"#;
    let text = format!(r#"{{"t":"{}b","x":[]}}"#, "a".repeat(60));
    assert_ne!(said(schema, &text), "");
    assert_misfits(r#"{"pattern":"^a(?!b)"}"#, &[r#""ab""#]);
    assert_eq!(said(r#"{"pattern":"a","minItems":1}"#, "[]"), "[] has less than 1 item");
}

#[test]
fn schemas_can_be_shared_between_threads() {
    fn assert_shareable<T: Send + Sync>() {}
    assert_shareable::<Schema>();
}

/// Texts that come near to being schemas.
fn near_schema() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "type",
        "properties",
        "items",
        "prefixItems",
        "anyOf",
        "oneOf",
        "allOf",
        "not",
        "if",
        "then",
        "else",
        "$ref",
        "$defs",
        "$id",
        "$anchor",
        "$dynamicRef",
        "$dynamicAnchor",
        "$schema",
        "enum",
        "const",
        "required",
        "pattern",
        "minimum",
        "multipleOf",
        "uniqueItems",
        "additionalProperties",
        "unevaluatedProperties",
        "propertyNames",
        "dependentSchemas",
        "contains",
        "minContains",
        "a",
        "",
    ]);
    let leaf = prop_oneof![
        prop::sample::select(vec![
            "#",
            "#/$defs/a",
            "#a",
            "a",
            "object",
            "string",
            "integer",
            "array",
            "x.json",
            "^a*$",
            "(",
            "http://json-schema.org/draft-07/schema#",
            "https://json-schema.org/draft/2020-12/schema",
        ])
        .prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        (-2..4_i64).prop_map(Value::from),
        Just(Value::Null),
        Just(json!(["a"])),
        Just(json!({"type": "string"})),
    ];
    leaf.prop_recursive(5, 48, 6, move |inner| {
        prop_oneof![
            4 => prop::collection::vec((word.clone(), inner.clone()), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().map(|(key, value)| (key.into(), value)).collect())),
            1 => prop::collection::vec(inner, 0..4).prop_map(Value::from),
        ]
    })
}

proptest! {
    #[test]
    fn nothing_panics(schema in near_schema(), value in any_json()) {
        if let Ok(schema) = Schema::compile(&schema.to_string(), &SchemaLimits::default()) {
            let _ = schema.validate(&value.to_string());
        }
        let _ = wrap_in_object(&schema.to_string());
    }

    #[test]
    fn arbitrary_json_as_schema_does_not_panic(schema in any_json(), value in any_json()) {
        if let Ok(schema) = Schema::compile(&schema.to_string(), &SchemaLimits::default()) {
            let _ = schema.validate(&value.to_string());
        }
    }

    /// On values that serde_json can hold, the verdict is the one that the crate gives on serde_json's own tree.
    #[test]
    fn verdicts_are_those_of_the_plain_validator(schema in near_schema(), value in any_json(), typed in near_schema()) {
        let ours = Schema::compile(&schema.to_string(), &SchemaLimits::default());
        let plain = jsonschema::options().should_validate_formats(false).offline().build(&schema);
        if let (Ok(ours), Ok(plain)) = (ours, plain) {
            for value in [value, typed] {
                prop_assert_eq!(ours.validate(&value.to_string()).is_ok(), plain.is_valid(&value), "{} {}", schema, value);
            }
        }
    }

    /// A schema in its wrapper says of wrapped values what it said of plain ones.
    #[test]
    fn wrapping_keeps_the_meaning(schema in near_schema(), value in near_schema()) {
        let text = schema.to_string();
        let Some(wrapper) = wrap_in_object(&text) else { return Ok(()) };
        let limits = SchemaLimits::default();
        if let Ok(plain) = Schema::compile(&text, &limits) {
            let wrapped = Schema::compile(&wrapper, &limits);
            prop_assert!(wrapped.is_ok(), "{} became {}: {:?}", text, wrapper, wrapped.err());
            if let Ok(wrapped) = wrapped {
                let inside = format!(r#"{{"result":{value}}}"#);
                let verdict = plain.validate(&value.to_string()).is_ok();
                prop_assert_eq!(wrapped.validate(&inside).is_ok(), verdict, "{} {} {}", text, wrapper, value);
            }
        }
    }
}
