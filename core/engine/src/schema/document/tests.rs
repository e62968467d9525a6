use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Document, DocumentError, Kind};

fn parse(text: &str) -> Document<'_> {
    Document::parse(text, 128).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn value(text: &str) -> Value {
    parse(text).to_value(Document::ROOT)
}

#[test]
fn values_read_as_serde_json_reads_them() {
    for text in [
        "null",
        " true ",
        "\t\r\nfalse\n",
        "-0",
        "0.5e-3",
        "12345678901234567890",
        r#""""#,
        r#""a\"b\\c\/d\b\f\n\r\t\u00e9\ud83c\udf78 and some more plain text""#,
        "[]",
        "[ ]",
        "{}",
        "{ }",
        r#"[1,[2,[3,[]],{}],"x"]"#,
        r#"{"a":{"b":[{"c":null}]},"d":"\u2014","e":{}}"#,
    ] {
        assert_eq!(value(text), serde_json::from_str::<Value>(text).expect("valid"), "{text}");
    }
}

#[test]
fn the_last_of_equal_keys_counts() {
    let text = r#"{"a":1,"b":[{"x":1}],"\u0061":2,"c":3,"a":{"deep":[4]}}"#;
    let document = parse(text);
    assert_eq!(document.count(0), 3);
    let keys: Vec<_> = document.members(0).map(|(key, _)| document.string(key)).collect();
    assert_eq!(keys, ["b", "c", "a"]);
    assert_eq!(value(text), json!({"a":{"deep":[4]},"b":[{"x":1}],"c":3}));

    let mut large: Vec<String> = (0..100).map(|n| format!(r#""k{n}":{n}"#)).collect();
    large.push(r#""k7":"last""#.into());
    let large = format!("{{{}}}", large.join(","));
    let document = parse(&large);
    assert_eq!(document.count(0), 100);
    assert_eq!(document.members(0).count(), 100);
    for n in 0..100 {
        let found = document.get(0, &format!("k{n}")).expect("present");
        assert_eq!(document.raw(found), if n == 7 { "\"last\"".into() } else { n.to_string() });
    }
    assert_eq!(document.get(0, "k100"), None);
}

#[test]
fn unpaired_surrogates_read_as_the_replacement_character() {
    for (text, expected) in [
        (r#""a\ud83d""#, "a\u{fffd}"),
        (r#""\udf78b""#, "\u{fffd}b"),
        (r#""\ud83d\ud83c\udf78""#, "\u{fffd}\u{1f378}"),
        (r#""\ud83dA""#, "\u{fffd}A"),
        (r#""\udf78\ud83c""#, "\u{fffd}\u{fffd}"),
    ] {
        assert_eq!(parse(text).string(0), expected, "{text}");
    }
    assert_eq!(value(r#"{"\ud83d":1}"#), json!({"\u{fffd}": 1}));
}

#[test]
fn numbers_keep_their_text() {
    let document = parse("[1e400,123456789012345678901234567890, 1.10]");
    let texts: Vec<_> = document.elements(0).map(|element| document.raw(element)).collect();
    assert_eq!(texts, ["1e400", "123456789012345678901234567890", "1.10"]);
}

#[test]
fn pointers_lead_to_values() {
    let document = parse(r#"{"a/b":{"~":[10,20,{"":"x"}]}}"#);
    let raw = |pointer| document.pointer(0, pointer).map(|node| document.raw(node));
    assert_eq!(raw("/a~1b/~0/1"), Some("20"));
    assert_eq!(raw("/a~1b/~0/2/"), Some("\"x\""));
    assert_eq!(raw("/a~1b/~0/3"), None);
    assert_eq!(raw("/a~1b/~0/-"), None);
    assert_eq!(raw("a"), None);
    assert_eq!(document.pointer(0, ""), Some(0));
    assert_eq!(document.kind(0), Kind::Object);
}

#[test]
fn depth_is_bounded_and_costs_no_stack() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(Document::parse(&nested(128), 128).is_ok());
    assert_eq!(Document::parse(&nested(129), 128).err(), Some(DocumentError::TooDeep { limit: 128 }));
    assert!(Document::parse(&nested(1_000_000), usize::MAX).is_ok());
    assert_eq!(Document::parse("1", 0).map(|document| document.len()).ok(), Some(1));
}

#[test]
fn errors_say_where() {
    assert_eq!(Document::parse("{\"a\":nul}", 8).err(), Some(DocumentError::Syntax { offset: 8 }));
    assert_eq!(Document::parse("[1,]", 8).err(), Some(DocumentError::Syntax { offset: 3 }));
    assert_eq!(Document::parse("", 8).err(), Some(DocumentError::Syntax { offset: 0 }));
}

/// Fragments of JSON in any order: nearly all near misses, some valid texts.
fn near_json() -> impl Strategy<Value = String> {
    let token = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"",
        "\\",
        "\"a\"",
        "\"\\u00e9\"",
        "\"\\ud83d\"",
        "\\u12",
        "true",
        "null",
        "fals",
        "0",
        "01",
        "-",
        "1.5",
        "1.",
        "1e",
        "1e5",
        "1E+400",
        ".5",
        " ",
        "\n",
        "\u{0}",
        "\u{e9}",
        "\u{1f378}",
        "\"\t\"",
        "\"longer than eight bytes\"",
        "{\"k\":1}",
        "[[]]",
    ]);
    prop::collection::vec(token, 0..12).prop_map(|tokens| tokens.concat())
}

pub(in crate::schema) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 24, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..24).prop_map(Value::from),
            prop::collection::vec((".{0,6}", inner), 0..24)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    /// serde_json's raw values are the same grammar: they decode neither numbers nor strings.
    #[test]
    fn the_grammar_is_that_of_serde_json(text in near_json()) {
        let expected = serde_json::from_str::<&RawValue>(&text).is_ok();
        prop_assert_eq!(Document::parse(&text, 128).is_ok(), expected, "{}", text);
    }

    #[test]
    fn arbitrary_text_is_judged_as_serde_json_judges_it(text in ".{0,40}") {
        let expected = serde_json::from_str::<&RawValue>(&text).is_ok();
        prop_assert_eq!(Document::parse(&text, 128).is_ok(), expected, "{}", text);
    }

    #[test]
    fn what_serde_json_writes_reads_back(original in any_json(), pretty in any::<bool>()) {
        let text = if pretty { format!("{original:#}") } else { original.to_string() };
        prop_assert_eq!(value(&text), original);
    }
}
