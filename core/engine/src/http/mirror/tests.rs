//! The tables of 2026-07-28 `basic/transports/streamable-http` and `server/tools`, and those of SEP-2243 that still hold.

use super::*;
use crate::wire::Revision;

type Fields = Vec<(&'static str, Vec<u8>)>;

fn fields(list: &[(&'static str, &str)]) -> Fields {
    list.iter().map(|(name, value)| (*name, value.as_bytes().to_vec())).collect()
}

fn schema_of(property: &str) -> String {
    format!(r#"{{"type":"object","properties":{{"p":{property}}}}}"#)
}

/// What is said of one annotated parameter `p`, mirrored as `Mcp-Param-P`.
fn checked(kind: &str, arguments: &str, headers: &[(&'static str, &str)]) -> Result<(), String> {
    let mirrors = compile(&schema_of(&format!(r#"{{"type":"{kind}","x-mcp-header":"P"}}"#))).expect("valid");
    check(&mirrors, arguments, &fields(headers))
}

fn standard(headers: &[(&'static str, &str)], method: &str, source: Option<&str>, version: &str) -> Result<(), String> {
    standard_bytes(&fields(headers), method, source, version)
}

fn standard_bytes(headers: &Fields, method: &str, source: Option<&str>, version: &str) -> Result<(), String> {
    let head = Head { method: "POST", path: "/mcp", query: None, authority: None, headers, principal: None };
    check_standard(&head, method, source, version)
}

fn today() -> &'static str {
    Revision::NEWEST.as_str()
}

// ---- Value Encoding

#[test]
fn values_are_encoded_as_the_table_says() {
    for (value, header) in [
        ("us-west1", "us-west1"),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        // SEP-2243, "Value Encoding Edge Cases".
        (" us-west1", "=?base64?IHVzLXdlc3Qx?="),
        ("us-west1 ", "=?base64?dXMtd2VzdDEg?="),
        (" us-west1 ", "=?base64?IHVzLXdlc3QxIA==?="),
        ("us west 1", "us west 1"),
        ("日本語", "=?base64?5pel5pys6Kqe?="),
        ("line1\r\nline2", "=?base64?bGluZTENCmxpbmUy?="),
        ("\tindented", "=?base64?CWluZGVudGVk?="),
        ("", ""),
        ("a\tb", "=?base64?YQli?="),
        ("\u{7f}", "=?base64?fw==?="),
        // Begins and ends as the pattern does, with one question mark for both.
        ("=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="),
    ] {
        assert_eq!(encode(value), header, "{value:?}");
        assert_eq!(decode(header).as_deref(), Ok(value), "{header:?}");
    }
}

#[test]
fn a_value_without_the_whole_wrapper_is_literal() {
    for literal in [
        "SGVsbG8=",
        "=?base64?SGVsbG8=",
        "SGVsbG8=?=",
        "=?BASE64?SGVsbG8=?=",
        "=?Base64?SGVsbG8=?=",
        "=?base64?=",
        "a\tb",
    ] {
        assert_eq!(decode(literal).as_deref(), Ok(literal));
    }
    assert_eq!(decode("=?base64??=").as_deref(), Ok(""));
    assert_eq!(decode("=?base64?SGVsbG8=?=").as_deref(), Ok("Hello"));
}

#[test]
fn what_is_wrapped_must_be_base64_and_utf8() {
    for wrong in [
        "=?base64?SGVsbG8?=",
        "=?base64?SGVsbG8==?=",
        "=?base64?SGVs!!!bG8=?=",
        "=?base64?SGVs bG8=?=",
        "=?base64? SGVsbG8=?=",
        // The alphabet of URLs, bits that no byte has, bytes that are no text.
        "=?base64?_-8=?=",
        "=?base64?SGVsbG9=?=",
        "=?base64?/w==?=",
    ] {
        assert!(decode(wrong).is_err(), "{wrong}");
    }
}

proptest::proptest! {
    #[test]
    fn decoding_undoes_encoding(value in "\\PC{0,12}|[\\x00-\\x7f]{0,12}|=\\?base64\\?[ -~]{0,8}\\?=") {
        let header = encode(&value).into_owned();
        proptest::prop_assert_eq!(crate::http::head::text(header.as_bytes()), Some(header.as_str()));
        let decoded = decode(&header);
        proptest::prop_assert_eq!(decoded.as_deref(), Ok(value.as_str()));
    }
}

// ---- x-mcp-header

#[test]
fn annotations_are_found_at_any_depth_of_properties() {
    let mirrors = compile(
        r#"{"type":"object","properties":{
            "region":{"type":"string","description":"Where","x-mcp-header":"Region"},
            "query":{"type":"string"},
            "page":{"type":"object","properties":{"size":{"type":"integer","x-mcp-header":"Page.Size"}}},
            "x-mcp-header":{"type":"boolean","x-mcp-header":"Method"}}}"#,
    )
    .expect("valid");
    let got: Vec<_> = mirrors.iter().map(|mirror| (mirror.header.as_str(), mirror.path.join("/"))).collect();
    let want =
        [("Mcp-Param-Region", "region"), ("Mcp-Param-Page.Size", "page/size"), ("Mcp-Param-Method", "x-mcp-header")];
    assert_eq!(got, want.map(|(header, path)| (header, path.to_owned())));
    assert_eq!(compile(r#"{"type":"object"}"#), Ok(Vec::new()));
}

// requirement: tools-header-not-empty, tools-header-token, tools-header-no-controls
#[test]
fn the_name_is_a_token_that_is_not_empty() {
    let reason = |name: &str| compile(&schema_of(&format!(r#"{{"type":"string","x-mcp-header":{name}}}"#))).err();
    for token in [r#""Region""#, r#""x_1""#, r##""!#$%&'*+-.^_`|~09azAZ""##, r#""\u0052egion""#] {
        assert_eq!(reason(token), None, "{token}");
    }
    assert!(reason(r#""""#).is_some_and(|reason| reason.contains("must not be empty")));
    for name in [
        r#""My Region""#,
        r#""Region:Primary""#,
        r#""Région""#,
        r#""Region\t1""#,
        r#""a\r""#,
        r#""a\nb""#,
        r#""\u0000""#,
        r#""a\u007f""#,
        r#""a/b""#,
        r#""a\"b""#,
        r#""(a)""#,
        r#"" ""#,
    ] {
        assert!(
            reason(name).is_some_and(|reason| reason.contains("must be a header name")),
            "{name}: {:?}",
            reason(name)
        );
    }
    for name in ["null", "1", "true", r#"["Region"]"#, r#"{"name":"Region"}"#] {
        assert!(reason(name).is_some_and(|reason| reason.contains("must be a string")), "{name}: {:?}", reason(name));
    }
}

// requirement: tools-header-unique
#[test]
fn names_differ_case_aside() {
    let schema = |first: &str, second: &str| {
        format!(
            r#"{{"type":"object","properties":{{"a":{{"type":"string","x-mcp-header":"{first}"}},
               "b":{{"type":"object","properties":{{"c":{{"type":"string","x-mcp-header":"{second}"}}}}}}}}}}"#
        )
    };
    for (first, second) in [("Region", "Region"), ("Region", "REGION")] {
        let reason = compile(&schema(first, second)).expect_err("twice");
        assert!(reason.contains(second) && reason.contains("once"), "{reason}");
    }
    assert!(compile(&schema("Region", "Region2")).is_ok());
}

// requirement: tools-header-primitive
#[test]
fn only_primitive_parameters_are_annotated() {
    let result = |kind: &str| compile(&schema_of(&format!(r#"{{{kind}"x-mcp-header":"P"}}"#)));
    for kind in ["string", "integer", "boolean"] {
        assert!(result(&format!(r#""type":"{kind}","#)).is_ok(), "{kind}");
    }
    for kind in [
        r#""type":"number","#,
        r#""type":"object","#,
        r#""type":"array","#,
        r#""type":"null","#,
        r#""type":["string","null"],"#,
        r#""anyOf":[{"type":"string"},{"type":"null"}],"#,
        r#""enum":["a","b"],"#,
        "",
    ] {
        let reason = result(kind).expect_err(kind);
        assert!(reason.contains(r#""type""#), "{kind}: {reason}");
    }
}

// requirement: tools-header-reachable, tools-header-chain
#[test]
fn annotations_stand_only_on_chains_of_properties() {
    let here = r#"{"type":"string","x-mcp-header":"P"}"#;
    let inner = format!(r#"{{"type":"object","properties":{{"q":{here}}}}}"#);
    for schema in [here, &inner] {
        for around in [
            format!(r#"{{"type":"array","items":{schema}}}"#),
            format!(r#"{{"type":"array","prefixItems":[{schema}]}}"#),
            format!(r#"{{"type":"array","contains":{schema}}}"#),
            format!(r#"{{"oneOf":[{schema}]}}"#),
            format!(r#"{{"anyOf":[{schema}]}}"#),
            format!(r#"{{"allOf":[{schema}]}}"#),
            format!(r#"{{"not":{schema}}}"#),
            format!(r#"{{"if":{schema}}}"#),
            format!(r#"{{"then":{schema}}}"#),
            format!(r#"{{"else":{schema}}}"#),
            format!(r#"{{"additionalProperties":{schema}}}"#),
            format!(r#"{{"patternProperties":{{"^p":{schema}}}}}"#),
        ] {
            let reason = compile(&schema_of(&around)).expect_err(&around);
            assert!(reason.contains("reached from the root"), "{around}: {reason}");
        }
    }
    let referred =
        format!(r##"{{"type":"object","properties":{{"p":{{"$ref":"#/$defs/p"}}}},"$defs":{{"p":{here}}}}}"##);
    assert!(compile(&referred).expect_err("a reference").contains("reached from the root"));
    let root = r#"{"type":"object","x-mcp-header":"P"}"#;
    assert!(compile(root).expect_err("the root").contains("reached from the root"));
    // Data that looks like an annotation is none.
    let data = schema_of(r#"{"type":"object","default":{"x-mcp-header":""},"examples":[{"x-mcp-header":"P"}]}"#);
    assert_eq!(compile(&data), Ok(Vec::new()));
}

// ---- Server Behavior for Custom Headers

// requirement: http-param-validated
#[test]
fn values_are_held_against_their_headers() {
    for (kind, arguments, header) in [
        ("string", r#"{"p":"us-west1"}"#, "us-west1"),
        ("string", r#"{"p":"us-west1"}"#, " us-west1\t"),
        ("string", r#"{"p":"Hello"}"#, "=?base64?SGVsbG8=?="),
        ("string", r#"{"p":"SGVsbG8="}"#, "SGVsbG8="),
        ("string", r#"{"p":"=?base64?SGVsbG8="}"#, "=?base64?SGVsbG8="),
        ("string", r#"{"p":" padded "}"#, "=?base64?IHBhZGRlZCA=?="),
        ("string", r#"{"p":"Hello, \u4e16\u754c"}"#, "=?base64?SGVsbG8sIOS4lueVjA==?="),
        ("string", r#"{"p":"a\tb"}"#, "a\tb"),
        ("string", r#"{"p":""}"#, ""),
        ("string", r#"{"p":""}"#, "=?base64??="),
        ("string", r#"{"\u0070":"a\/b"}"#, "a/b"),
        ("string", r#"{"p":"true"}"#, "true"),
        ("boolean", r#"{"p":true}"#, "true"),
        ("boolean", r#"{"p":false}"#, "false"),
        ("boolean", r#"{"p":false}"#, "=?base64?ZmFsc2U=?="),
        ("integer", r#"{"p":42}"#, "42"),
        ("integer", r#"{"p":42}"#, "42.0"),
        ("integer", r#"{"p":42.0}"#, "42"),
        ("integer", r#"{"p":-7}"#, "-7"),
        ("integer", r#"{"p":1e2}"#, "100"),
        ("integer", r#"{"p":0}"#, "-0"),
        ("integer", r#"{"p":9007199254740991}"#, "9007199254740991"),
        ("integer", r#"{"p":-9007199254740991}"#, "-9007199254740991"),
        // Of equal keys the last one counts.
        ("string", r#"{"p":"a","q":0,"p":"b"}"#, "b"),
    ] {
        assert_eq!(checked(kind, arguments, &[("mcp-param-P", header)]), Ok(()), "{arguments} {header}");
    }
}

// requirement: http-param-validated
#[test]
fn values_that_differ_are_refused() {
    for (kind, arguments, header) in [
        ("string", r#"{"p":"us-west1"}"#, "us-east1"),
        ("string", r#"{"p":"us-west1"}"#, "US-WEST1"),
        ("string", r#"{"p":"us-west1"}"#, ""),
        ("string", r#"{"p":" a"}"#, " a"),
        ("string", r#"{"p":"Hello"}"#, "=?base64?SGFsbG8=?="),
        ("string", r#"{"p":"=?base64?SGVsbG8=?="}"#, "=?base64?SGVsbG8=?="),
        ("string", r#"{"p":"42"}"#, "42.0"),
        ("boolean", r#"{"p":true}"#, "false"),
        ("boolean", r#"{"p":true}"#, "True"),
        ("boolean", r#"{"p":true}"#, "1"),
        ("integer", r#"{"p":42}"#, "41"),
        ("integer", r#"{"p":42}"#, "-42"),
        ("integer", r#"{"p":42}"#, "42.5"),
        ("integer", r#"{"p":42}"#, "42.00000000000000000001"),
        ("integer", r#"{"p":42}"#, "042"),
        ("integer", r#"{"p":42}"#, "+42"),
        ("integer", r#"{"p":42}"#, "0x2a"),
        ("integer", r#"{"p":42}"#, "4 2"),
        ("integer", r#"{"p":42}"#, "42,42"),
        ("integer", r#"{"p":0}"#, ""),
        ("integer", r#"{"p":0}"#, "NaN"),
        ("integer", r#"{"p":9007199254740991}"#, "9007199254740990"),
    ] {
        let reason = checked(kind, arguments, &[("Mcp-Param-P", header)]).expect_err(header);
        assert!(reason.starts_with("Mcp-Param-P header value '") && reason.contains("does not match"), "{reason}");
    }
    let reason = checked("string", r#"{"p":"bar"}"#, &[("Mcp-Param-P", "=?base64?Zm9v?=")]);
    assert_eq!(reason, Err("Mcp-Param-P header value 'foo' does not match body value 'bar'".into()));
}

// requirement: http-param-null-not-expected
#[test]
fn a_header_is_there_exactly_where_a_value_is() {
    for (kind, value) in [("string", r#""a""#), ("string", r#""""#), ("boolean", "false"), ("integer", "0")] {
        let reason = checked(kind, &format!(r#"{{"p":{value}}}"#), &[("mcp-param-q", "a")]);
        assert_eq!(reason, Err("Mcp-Param-P header is missing".into()), "{value}");
    }
    for arguments in [r#"{"p":null}"#, "{}", r#"{"q":"a"}"#, "null", "[]", r#""p""#] {
        assert_eq!(checked("string", arguments, &[]), Ok(()), "{arguments}");
        for header in ["a", "null", ""] {
            let reason = checked("string", arguments, &[("Mcp-Param-P", header)]).expect_err(arguments);
            assert!(reason.contains("the body has no value"), "{reason}");
        }
    }
}

#[test]
fn values_of_nested_properties_are_found_at_their_exact_path() {
    let mirrors = compile(
        r#"{"type":"object","properties":{"a":{"type":"object","properties":
           {"b":{"type":"string","x-mcp-header":"B"}}},"b":{"type":"string"}}}"#,
    )
    .expect("valid");
    let held = |arguments: &str, headers: &[(&'static str, &str)]| check(&mirrors, arguments, &fields(headers));
    assert_eq!(held(r#"{"b":"no","a":{"b":"yes"}}"#, &[("mcp-param-b", "yes")]), Ok(()));
    assert!(held(r#"{"b":"no","a":{"b":"yes"}}"#, &[("mcp-param-b", "no")]).is_err());
    assert!(held(r#"{"a":{"b":"yes"}}"#, &[]).is_err());
    for without in [r#"{"b":"no"}"#, r#"{"a":null}"#, r#"{"a":"b"}"#, r#"{"a":["b"]}"#, r#"{"a.b":"no"}"#] {
        assert_eq!(held(without, &[]), Ok(()), "{without}");
    }
}

#[test]
fn values_that_do_not_fit_the_schema_are_left_to_it() {
    // Clients write down what they were given; the schema's words reach the model, a refusal of ours does not.
    assert_eq!(checked("string", r#"{"p":5}"#, &[("mcp-param-p", "5")]), Ok(()));
    assert_eq!(checked("integer", r#"{"p":"x"}"#, &[("mcp-param-p", "x")]), Ok(()));
    assert_eq!(checked("integer", r#"{"p":1.5}"#, &[("mcp-param-p", "1.5")]), Ok(()));
    assert!(checked("string", r#"{"p":5}"#, &[]).is_err());
    for composite in [r#"{"p":{"a":1}}"#, r#"{"p":["a"]}"#] {
        assert_eq!(checked("string", composite, &[]), Ok(()), "{composite}");
        assert!(checked("string", composite, &[("mcp-param-p", "a")]).is_err(), "{composite}");
    }
}

// requirement: tools-header-safe-integer
#[test]
fn integers_past_the_safe_range_are_not_mirrored() {
    for integer in ["9007199254740992", "-9007199254740992", "9007199254740993", "1e400", "123456789012345678901"] {
        let arguments = format!(r#"{{"p":{integer}}}"#);
        for headers in [&[][..], &[("Mcp-Param-P", integer)]] {
            let reason = checked("integer", &arguments, headers).expect_err(integer);
            assert!(reason.contains("2^53-1"), "{reason}");
        }
    }
}

// requirement: http-param-invalid-rejected
#[test]
fn headers_that_are_malformed_or_doubled_are_refused() {
    let reason = checked("string", r#"{"p":"a"}"#, &[("mcp-param-p", "a"), ("Mcp-Param-P", "a")]).expect_err("doubled");
    assert!(reason.starts_with("Mcp-Param-P header is given more than once"), "{reason}");
    for value in ["=?base64?SGVsbG8?=", "=?base64?SGVs!!!bG8=?="] {
        let reason = checked("string", r#"{"p":"Hello"}"#, &[("mcp-param-p", value)]).expect_err(value);
        assert!(reason.starts_with("Mcp-Param-P header value can't be decoded"), "{reason}");
    }
    for value in ["\u{e9}", "a\u{0}", "a\nb", "\u{7f}"] {
        for arguments in [r#"{"p":"a"}"#, "{}", r#"{"p":null}"#] {
            let reason = checked("string", arguments, &[("mcp-param-p", value)]).expect_err(value);
            assert!(reason.contains("invalid characters"), "{reason}");
        }
    }
    let reason = checked("string", r#"{"p":"\ud83d"}"#, &[("mcp-param-p", "x")]).expect_err("half of a character");
    assert!(reason.contains("no Unicode text"), "{reason}");
    // Headers of no parameter are not looked at.
    assert_eq!(checked("string", "{}", &[("mcp-param-other", "=?base64?!?="), ("mcp-param-pp", "a")]), Ok(()));
}

// ---- Server Validation of the standard headers

#[test]
fn names_come_from_these_members() {
    let sources = [
        ("tools/call", Some("name")),
        ("prompts/get", Some("name")),
        ("resources/read", Some("uri")),
        ("tasks/get", Some("taskId")),
        ("tasks/update", Some("taskId")),
        ("tasks/cancel", Some("taskId")),
        ("tools/list", None),
        ("server/discover", None),
        ("subscriptions/listen", None),
        ("completion/complete", None),
    ];
    for (method, source) in sources {
        assert_eq!(name_source(method), source, "{method}");
    }
}

// requirement: http-header-names-case
#[test]
fn standard_headers_that_say_the_same_are_taken() {
    let base = [("MCP-Protocol-Version", today()), ("mcp-method", "tools/call")];
    for (header, name) in [
        ("get_weather", "get_weather"),
        ("  get_weather  ", "get_weather"),
        ("file:///path/to/file%20name.txt?id=1", "file:///path/to/file%20name.txt?id=1"),
        ("=?base64?5pel5pys6Kqe?=", "日本語"),
        ("=?base64?Zm9v?=", "foo"),
        ("=?BASE64?Zm9v?=", "=?BASE64?Zm9v?="),
    ] {
        let headers = [base[0], base[1], ("MCP-NAME", header)];
        assert_eq!(standard(&headers, "tools/call", Some(name), today()), Ok(()), "{header}");
    }
    // Mcp-Name mirrors nothing of other methods, whatever it says.
    let list = [base[0], ("Mcp-Method", "tools/list"), ("mcp-name", "=?base64?!?=")];
    assert_eq!(standard(&list, "tools/list", None, today()), Ok(()));
    // A body without the member has an error of its own.
    assert_eq!(standard(&base, "tools/call", None, today()), Ok(()));
}

#[test]
fn standard_headers_are_required() {
    let all = [("mcp-protocol-version", today()), ("mcp-method", "prompts/get"), ("mcp-name", "foo")];
    assert_eq!(standard(&all, "prompts/get", Some("foo"), today()), Ok(()));
    for (at, header) in ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"].into_iter().enumerate() {
        let mut rest = all.to_vec();
        let field = rest.remove(at);
        assert_eq!(standard(&rest, "prompts/get", Some("foo"), today()), Err(format!("{header} header is missing")));
        // Twice, even if it says the same.
        let doubled = [&all[..], &[field]].concat();
        let reason = standard(&doubled, "prompts/get", Some("foo"), today()).expect_err("doubled");
        assert!(reason.starts_with(&format!("{header} header is given more than once")), "{reason}");
        let mut bytes = fields(&all);
        bytes[at].1.push(0xe9);
        let reason = standard_bytes(&bytes, "prompts/get", Some("foo"), today()).expect_err("no ASCII");
        assert!(reason.starts_with(header) && reason.contains("invalid characters"), "{reason}");
    }
}

#[test]
fn standard_headers_that_differ_are_named_with_both_values() {
    let headers = [("mcp-protocol-version", today()), ("mcp-method", "tools/call"), ("mcp-name", "foo")];
    assert_eq!(
        standard(&headers, "tools/call", Some("bar"), today()),
        Err("Mcp-Name header value 'foo' does not match body value 'bar'".into())
    );
    assert_eq!(
        standard(&headers, "prompts/get", Some("foo"), today()),
        Err("Mcp-Method header value 'tools/call' does not match body value 'prompts/get'".into())
    );
    assert_eq!(
        standard(&headers, "tools/call", Some("foo"), "another"),
        Err(format!("MCP-Protocol-Version header value '{}' does not match body value 'another'", today()))
    );
    // Values are compared with their case, and only Mcp-Name may be encoded.
    for method in ["TOOLS/CALL", "=?base64?dG9vbHMvY2FsbA==?="] {
        let headers = [headers[0], ("mcp-method", method), headers[2]];
        assert!(standard(&headers, "tools/call", Some("foo"), today()).is_err(), "{method}");
    }
    for name in ["FOO", "=?base64?Zm9v", "=?base64?Zm9?=", "=?base64?Zm9vYg?="] {
        let headers = [headers[0], headers[1], ("mcp-name", name)];
        assert!(standard(&headers, "tools/call", Some("foo"), today()).is_err(), "{name}");
    }
}
