//! A digest of what a JSON text means, whatever its blanks, escapes and order of keys.

use super::scan;
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;

/// SHA-256.
pub(crate) type Digest = [u8; 32];

/// Hashes texts one after another; each is told apart from its neighbours.
#[derive(Default)]
pub(crate) struct Digester(Sha256);

impl Digester {
    pub(crate) fn finish(self) -> Digest {
        self.0.finalize().into()
    }

    /// Plain text.
    pub(crate) fn text(&mut self, text: &str) {
        self.tagged(b's', text);
    }

    /// A valid JSON text. Numbers count as they are written: 1.0 is not 1.
    pub(crate) fn json(&mut self, json: &str) {
        match json.as_bytes().first() {
            Some(b'{') => self.members(scan::members(json)),
            Some(b'[') => {
                for element in scan::elements(json) {
                    self.0.update(b"e");
                    self.json(element);
                }
                self.0.update(b"]");
            }
            Some(b'"') => self.text(&string(json)),
            _ => self.tagged(b'r', json),
        }
    }

    /// The members of an object, in any order. Of two with one key both count.
    pub(crate) fn members<'a>(&mut self, members: impl Iterator<Item = (&'a str, &'a str)>) {
        let mut members: Vec<_> = members.map(|(key, value)| (string(key), value)).collect();
        members.sort_by(|a, b| a.0.cmp(&b.0));
        for (key, value) in members {
            self.tagged(b'k', &key);
            self.json(value);
        }
        self.0.update(b"}");
    }

    fn tagged(&mut self, tag: u8, text: &str) {
        self.0.update([tag]);
        self.0.update((text.len() as u64).to_be_bytes());
        self.0.update(text.as_bytes());
    }
}

/// A string's text; one with an unpaired surrogate stands for itself.
fn string(json: &str) -> Cow<'_, str> {
    scan::plain_string(json).unwrap_or(Cow::Borrowed(json))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(json: &str) -> Digest {
        let mut digester = Digester::default();
        digester.json(json);
        digester.finish()
    }

    #[test]
    fn writing_does_not_count_and_meaning_does() {
        assert_eq!(digest(r#"{"a":[1,"x"],"b":{}}"#), digest(r#"{ "b" : { } , "\u0061" : [ 1 , "\u0078" ] }"#));
        let different = [
            "{}",
            "[]",
            "null",
            "\"\"",
            "0",
            "\"0\"",
            r#"{"a":1}"#,
            r#"{"a":"1"}"#,
            r#"{"a":[1]}"#,
            r#"[["a"],"b"]"#,
            r#"[["a","b"]]"#,
            r#"{"a":{"b":1},"c":1}"#,
            r#"{"a":{"b":1,"c":1}}"#,
            r#"["ab","c"]"#,
            r#"["a","bc"]"#,
        ];
        for (at, a) in different.iter().enumerate() {
            for b in &different[..at] {
                assert_ne!(digest(a), digest(b), "{a} {b}");
            }
        }
    }
}
