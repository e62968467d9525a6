use super::*;
use proptest::prelude::*;

fn expanded(template: &str) -> String {
    let list = |items: &[&str]| Value::List(items.iter().map(|item| (*item).to_owned()).collect());
    let keys = [("semi", ";"), ("dot", "."), ("comma", ",")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    let values = [
        ("count", list(&["one", "two", "three"])),
        ("dom", list(&["example", "com"])),
        ("dub", "me/too".into()),
        ("hello", "Hello World!".into()),
        ("half", "50%".into()),
        ("var", "value".into()),
        ("who", "fred".into()),
        ("base", "http://example.com/home/".into()),
        ("path", "/foo/bar".into()),
        ("list", list(&["red", "green", "blue"])),
        ("keys", Value::Map(keys.to_vec())),
        ("v", "6".into()),
        ("x", "1024".into()),
        ("y", "768".into()),
        ("empty", "".into()),
        ("empty_keys", Value::Map(Vec::new())),
    ];
    UriTemplate::parse(template).expect(template).expand(&values)
}

/// RFC 6570, section 3.2.
#[test]
fn expansion_as_the_rfc_shows_it() {
    for (template, uri) in [
        ("{count}", "one,two,three"),
        ("{/count*}", "/one/two/three"),
        ("{;count}", ";count=one,two,three"),
        ("{;count*}", ";count=one;count=two;count=three"),
        ("{?count*}", "?count=one&count=two&count=three"),
        ("{&count*}", "&count=one&count=two&count=three"),
        ("{var}", "value"),
        ("{hello}", "Hello%20World%21"),
        ("{half}", "50%25"),
        ("O{empty}X", "OX"),
        ("O{undef}X", "OX"),
        ("{x,hello,y}", "1024,Hello%20World%21,768"),
        ("?{x,empty}", "?1024,"),
        ("?{undef,y}", "?768"),
        ("{var:3}", "val"),
        ("{var:30}", "value"),
        ("{keys}", "semi,%3B,dot,.,comma,%2C"),
        ("{keys*}", "semi=%3B,dot=.,comma=%2C"),
        ("{+hello}", "Hello%20World!"),
        ("{+half}", "50%25"),
        ("{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"),
        ("{+base}index", "http://example.com/home/index"),
        ("{+path}/here", "/foo/bar/here"),
        ("{+path:6}/here", "/foo/b/here"),
        ("{+keys*}", "semi=;,dot=.,comma=,"),
        ("{#path,x}/here", "#/foo/bar,1024/here"),
        ("X{#var}", "X#value"),
        ("foo{#empty}", "foo#"),
        ("foo{#undef}", "foo"),
        ("{.who,half}", ".fred.50%25"),
        ("www{.dom*}", "www.example.com"),
        ("X{.keys*}", "X.semi=%3B.dot=..comma=%2C"),
        ("X{.empty_keys}", "X"),
        ("{/var,x}/here", "/value/1024/here"),
        ("{/list*,path:4}", "/red/green/blue/%2Ffoo"),
        ("{;x,y,empty}", ";x=1024;y=768;empty"),
        ("{;hello:5}", ";hello=Hello"),
        ("{;keys*}", ";semi=%3B;dot=.;comma=%2C"),
        ("{?x,y,empty}", "?x=1024&y=768&empty="),
        ("{?keys}", "?keys=semi,%3B,dot,.,comma,%2C"),
        ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
        ("{&var:3}", "&var=val"),
    ] {
        assert_eq!(expanded(template), uri, "{template}");
    }
}

fn matched(template: &str, uri: &str) -> Option<String> {
    let values = UriTemplate::parse(template).expect(template).matches(uri)?;
    Some(values.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" "))
}

#[test]
fn matching() {
    for (template, uri, values) in [
        ("mem://{id}", "mem://a", Some("id=a")),
        ("mem://{id}", "mem://", None),
        ("mem://{id}", "mem://a/b", None),
        ("mem://{id}", "mem://a%2Fb", None),
        ("mem://{id}", "mem://a%5cb", None),
        ("mem://{id}", "mem://..", None),
        ("mem://{id}", "mem://...", Some("id=...")),
        ("mem://{id}", "mem://a%00", None),
        ("f://{path*}", "f://a/%2e%2e/b", None),
        ("f://{+path}", "f://a/..", None),
        ("mem://{id}", "mem://caf%C3%A9", Some("id=café")),
        ("mem://{id}", "mem://café", Some("id=café")),
        ("mem://{id}/x", "mem://a?b/x", None),
        ("café://{id}", "caf%C3%A9://1", Some("id=1")),
        ("f://{path*}", "f://a/b/c", Some("path=a/b/c")),
        ("f://{+path}.md", "f://a/b.md.md", Some("path=a/b.md")),
        ("f://x{/path*}", "f://x/a/b", Some("path=a/b")),
        ("f://x{/a,b}", "f://x/1/2", Some("a=1 b=2")),
        ("f://{a}-{b}", "f://1-2-3", Some("a=1-2 b=3")),
        ("f://{a}{b}", "f://éé", Some("a=é b=é")),
        ("f://{a,b}", "f://1,2", Some("a=1 b=2")),
        ("f://{a}/{a}", "f://1/1", Some("a=1")),
        ("f://{a}/{a}", "f://1/2", None),
        ("f://x{.a}", "f://x.tar.gz", Some("a=tar.gz")),
        ("f://x{;a,b}", "f://x;b=2", Some("b=2")),
        ("f://x{;a}", "f://x;ab=2", None),
        ("f://x{?q,r}", "f://x", Some("")),
        ("f://x{?q,r}", "f://x?r=1&q=a%20b", Some("q=a b r=1")),
        ("f://x{?q}", "f://x?other=1", Some("")),
        ("f://{+path}{?q}", "f://a/b?q=d", Some("path=a/b q=d")),
        ("f://x{/a:1,a}", "f://x/v/value", Some("a=value")),
        ("f://x{/a:1,a}", "f://x/w/value", None),
        ("f://{a:2}{b}", "f://aaaa", Some("a=aa b=aa")),
        ("f://x?q={q}", "f://x?q=a/b", Some("q=a/b")),
        ("f://x?q={q}", "f://x?q=", Some("q=")),
        ("f://{user-id}", "f://1", Some("user-id=1")),
        ("café://{id}", "caf%c3%a9://1", Some("id=1")),
        ("f://{id:1}", "f://%C3%A9", Some("id=é")),
        ("f://x{?q*}", "f://x?q=1&q=2", Some("q=1,2")),
        ("f://x?k=v{&q}", "f://x?k=v&q=1", Some("q=1")),
        ("f://{id}{?q}{#f}", "f://1?q=2#3", Some("id=1 q=2 f=3")),
        ("f://{id:2}", "f://abc", None),
        ("f://{id:3}", "f://abc", Some("id=abc")),
        ("f://x", "f://x", Some("")),
        ("f://x", "f://y", None),
    ] {
        assert_eq!(matched(template, uri).as_deref(), values, "{template} {uri}");
    }
}

#[test]
fn wrong_templates_say_why() {
    for template in [
        "{",
        "}",
        "{}",
        "{a",
        "a}b",
        "{=a}",
        "{a b}",
        "{a:0}",
        "{a:10000}",
        "{a:+3}",
        "{a..b}",
        "{a,}",
        "a b",
        "{a*:3}",
    ] {
        let error = UriTemplate::parse(template).expect_err(template);
        assert!(error.to_string().contains("RFC 6570"), "{template}");
    }
    let many: String = (0..65).map(|number| format!("{{v{number}}}")).collect();
    assert!(UriTemplate::parse(&many).is_err());
}

#[test]
fn hostile_pairs_end() {
    // For a backtracking matcher this takes longer than the universe has existed.
    let template: String = (0..64).map(|number| format!("{{v{number}}}")).collect::<String>() + "!";
    let parsed = UriTemplate::parse(&template).expect("valid");
    assert_eq!(parsed.matches(&"a".repeat(MAX_URI)), None);
    assert_eq!(parsed.matches(&("a".repeat(MAX_URI - 1) + "!")).map(|values| values.len()), Some(64));
    assert_eq!(parsed.matches(&"a".repeat(MAX_URI + 1)), None);
}

proptest! {
    #[test]
    fn what_was_expanded_matches(id in "[^\u{0}/\\\\.]{1,12}", rest in "[a-z/é ?#]{1,12}", q in proptest::option::of("[a-z& =]{1,8}")) {
        let template = UriTemplate::parse("x://{id}/p{/rest*}{?q}").expect("valid");
        let mut values = vec![("id", Value::Text(id.clone())), ("rest", Value::Text(rest.clone()))];
        values.extend(q.clone().map(|q| ("q", Value::Text(q))));
        let uri = template.expand(&values);
        let found = template.matches(&uri).expect("its own expansion");
        prop_assert_eq!(template.expand(&found.iter().map(|(name, value)| (name.as_str(), Value::Text(value.clone()))).collect::<Vec<_>>()), uri);
    }

    #[test]
    fn any_text_is_read_or_refused(template in ".{0,64}", uri in ".{0,64}") {
        if let Ok(parsed) = UriTemplate::parse(&template) {
            let _ = parsed.matches(&uri);
            let _ = parsed.expand(&[]);
        }
    }
}
