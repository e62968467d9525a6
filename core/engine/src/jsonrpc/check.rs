//! Is a text JSON? The question put to the texts of host code; what peers send is read in `message.rs`.

use super::cursor::{Checked, Cursor};

/// Checks that `text` is exactly one JSON text, and returns it without the blanks around it.
pub(crate) fn check(text: &str) -> Checked<&str> {
    let mut cursor = Cursor::new(text);
    cursor.blanks();
    let start = cursor.at;
    cursor.value()?;
    let end = cursor.at;
    cursor.end()?;
    // Both ends lie beside ASCII characters.
    Ok(text.get(start..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::value::RawValue;

    /// serde_json's verdict on the same text, by its walk that builds nothing.
    fn reference(text: &str) -> Option<&str> {
        serde_json::from_str::<&RawValue>(text).ok().map(RawValue::get)
    }

    fn same(text: &str) {
        assert_eq!(check(text).ok(), reference(text), "{text:?}");
    }

    #[test]
    fn verdicts_are_serde_jsons() {
        for text in [
            "",
            " ",
            "1",
            " 1 ",
            "-",
            "-0",
            "01",
            "1.",
            "1.5",
            ".5",
            "1e5",
            "1E+5",
            "1e",
            "1e-",
            "--1",
            "+1",
            "0x1",
            "1 2",
            "true",
            "tru",
            "truex",
            "null",
            "nul",
            "false",
            "NaN",
            "\"\"",
            "\"",
            "\"a",
            "\"\\\"",
            "\"\\\"\"",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u12g4\"",
            "\"\\ud83d\"",
            "\"\t\"",
            "\"\u{7f}é😀\"",
            "[]",
            "[",
            "]",
            "[1]",
            "[1,]",
            "[,1]",
            "[1 2]",
            "[1,2]",
            " [ 1 , [ ] , { } ] ",
            "{}",
            "{",
            "}",
            "{\"a\":1}",
            "{\"a\":1,}",
            "{\"a\"}",
            "{\"a\":}",
            "{a:1}",
            "{1:2}",
            "{\"a\":1 \"b\":2}",
            "{\"a\":[}",
            "[{]}",
            "\u{feff}1",
            "1\u{0}",
            "\"abcdefg\u{1}\"",
            "\"abcdefgh\"",
            "[\"abcdefg\\\"\"]",
        ] {
            same(text);
        }
        for depth in [1, 63, 64, 65, 127, 128, 129, 1_000] {
            let (open, close) = ("[{\"a\":".repeat(depth), "}]".repeat(depth));
            same(&format!("{open}1{close}"));
            same(&format!("{open}1{}", &close[1..]));
            same(&format!("{open}1{close}]"));
        }
    }

    #[test]
    fn faults_say_where() {
        assert_eq!(check("[1,x]").expect_err("no JSON").to_string(), "unexpected character at byte 3");
        assert_eq!(check("[1,").expect_err("no JSON").to_string(), "it ends too early");
    }

    proptest! {
        #[test]
        fn any_text(text in ".{0,40}") {
            same(&text);
        }

        #[test]
        fn texts_that_look_like_json(text in "[\\[\\]{}:,\"\\\\u0-9a-f.eE+ \\-tn\u{1}]{0,40}") {
            same(&text);
        }

        #[test]
        fn json_with_one_character_changed(seed in 0usize..400, to in prop::sample::select(vec!['"', '\\', '{', '}', ',', ' ', '0', '\u{2}', 'é'])) {
            let text = r#"{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"a":[1.5e3,-0,true,null,"x\u00e9\n"],"b":{"":[]}}}"#;
            let changed: String = text.chars().enumerate().map(|(at, c)| if at == seed % text.len() { to } else { c }).collect();
            same(&changed);
        }
    }
}
