//! Is a text JSON? One pass, no memory, the grammar of RFC 8259 and nothing more.
//!
//! Written here, and not left to serde_json, because every message goes through it and this takes a third of the instructions; the
//! tests hold it to serde_json's verdict. Strings are only looked at for their end, control characters and escapes: an
//! unpaired surrogate escape is JSON by the grammar, and passes.

use super::marks;
use std::fmt;

/// Where a text stops being JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed {
    at: usize,
    end: bool,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.end { write!(f, "it ends too early") } else { write!(f, "unexpected character at byte {}", self.at) }
    }
}

/// Checks that `text` is exactly one JSON text, and returns it without the blanks around it.
pub(crate) fn check(text: &str) -> Result<&str, Malformed> {
    let mut checker = Checker { bytes: text.as_bytes(), at: 0, open: Open::default() };
    checker.blanks();
    let start = checker.at;
    checker.value()?;
    let end = checker.at;
    checker.blanks();
    if checker.at < text.len() {
        return checker.unexpected();
    }
    // Both ends lie beside ASCII characters.
    Ok(text.get(start..end).unwrap_or_default())
}

struct Checker<'a> {
    bytes: &'a [u8],
    at: usize,
    open: Open,
}

/// The arrays and objects that are open: one bit each, true for an object.
#[derive(Default)]
struct Open {
    depth: usize,
    innermost: u64,
    outer: Vec<u64>,
}

impl Open {
    fn push(&mut self, object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.outer.push(self.innermost);
        }
        self.depth += 1;
        self.innermost = self.innermost << 1 | u64::from(object);
    }

    fn pop(&mut self) {
        self.depth -= 1;
        self.innermost >>= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.innermost = self.outer.pop().unwrap_or_default();
        }
    }

    fn in_object(&self) -> bool {
        self.innermost & 1 == 1
    }
}

type Checked = Result<(), Malformed>;

impl Checker<'_> {
    fn value(&mut self) -> Checked {
        loop {
            // A value begins here.
            match self.peek() {
                Some(b'"') => self.string()?,
                Some(b'{') => {
                    self.at += 1;
                    self.blanks();
                    if self.peek() != Some(b'}') {
                        self.open.push(true);
                        self.key()?;
                        continue;
                    }
                    self.at += 1;
                }
                Some(b'[') => {
                    self.at += 1;
                    self.blanks();
                    if self.peek() != Some(b']') {
                        self.open.push(false);
                        continue;
                    }
                    self.at += 1;
                }
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(b't') => self.word(b"true")?,
                Some(b'f') => self.word(b"false")?,
                Some(b'n') => self.word(b"null")?,
                _ => return self.unexpected(),
            }
            // A value has ended here.
            loop {
                if self.open.depth == 0 {
                    return Ok(());
                }
                self.blanks();
                match (self.peek(), self.open.in_object()) {
                    (Some(b','), object) => {
                        self.at += 1;
                        self.blanks();
                        if object {
                            self.key()?;
                        }
                        break;
                    }
                    (Some(b'}'), true) | (Some(b']'), false) => {
                        self.at += 1;
                        self.open.pop();
                    }
                    _ => return self.unexpected(),
                }
            }
        }
    }

    /// A key, its colon, and the blanks before the value.
    fn key(&mut self) -> Checked {
        if self.peek() != Some(b'"') {
            return self.unexpected();
        }
        self.string()?;
        self.blanks();
        if self.peek() != Some(b':') {
            return self.unexpected();
        }
        self.at += 1;
        self.blanks();
        Ok(())
    }

    fn string(&mut self) -> Checked {
        self.at += 1;
        loop {
            self.at = marks::quote_escape_or_control(self.bytes, self.at);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.at += 1;
                    match self.peek() {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
                        Some(b'u') => {
                            self.at += 1;
                            for _ in 0..4 {
                                if !self.peek().is_some_and(|b| b.is_ascii_hexdigit()) {
                                    return self.unexpected();
                                }
                                self.at += 1;
                            }
                        }
                        _ => return self.unexpected(),
                    }
                }
                _ => return self.unexpected(),
            }
        }
    }

    fn number(&mut self) -> Checked {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Checked {
        if !self.peek().is_some_and(|b| b.is_ascii_digit()) {
            return self.unexpected();
        }
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    fn word(&mut self, word: &[u8]) -> Checked {
        for b in word {
            if self.peek() != Some(*b) {
                return self.unexpected();
            }
            self.at += 1;
        }
        Ok(())
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn unexpected<T>(&self) -> Result<T, Malformed> {
        Err(Malformed { at: self.at, end: self.at >= self.bytes.len() })
    }
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
