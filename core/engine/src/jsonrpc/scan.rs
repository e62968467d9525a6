//! Walking over JSON text that is known to be valid.
//!
//! Everything here trusts its input: the text came through [`check`] or is a part of such a text. On other text the
//! functions still end and never panic, but what they return means nothing.

use memchr::memchr2;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Checks that `text` is exactly one JSON text, and returns it without the blanks around it.
///
/// Linear, and iterative over nesting. Unpaired surrogate escapes are accepted: they are JSON by the grammar, and pass through.
pub(crate) fn check(text: &str) -> Result<&str, serde_json::Error> {
    serde_json::from_str::<&RawValue>(text).map(RawValue::get)
}

/// True when no array or object in `text` is nested deeper than `max`.
pub(crate) fn within_depth(text: &str, max: usize) -> bool {
    let bytes = text.as_bytes();
    // Most messages have fewer brackets than the limit has levels; counting is much cheaper than walking.
    if bytes.iter().filter(|b| matches!(b, b'{' | b'[')).count() <= max {
        return true;
    }
    let (mut at, mut depth) = (0, 0usize);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = skip_string(bytes, at),
            b'{' | b'[' => {
                depth += 1;
                if depth > max {
                    return false;
                }
                at += 1;
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                at += 1;
            }
            _ => at += 1,
        }
    }
    true
}

/// The members of an object, in their order: key as written (with its quotes), value as written.
pub(crate) fn members(object: &str) -> Members<'_> {
    Members { text: object, at: usize::from(object.starts_with('{')) }
}

/// The elements of an array, in their order, as written.
pub(crate) fn elements(array: &str) -> Elements<'_> {
    Elements { text: array, at: usize::from(array.starts_with('[')) }
}

/// Why [`pick`] refused an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PickError {
    /// The text is no object.
    NotObject,
    /// One of the wanted keys is there twice.
    Duplicate(&'static str),
}

/// The values of the wanted keys of an object, each as written; a wanted key that is there twice is refused.
///
/// Keys that are not wanted may repeat: they are passed on, not read.
pub(crate) fn pick<'a, const N: usize>(
    object: &'a str,
    wanted: [&'static str; N],
) -> Result<[Option<&'a str>; N], PickError> {
    if !object.starts_with('{') {
        return Err(PickError::NotObject);
    }
    let mut found = [None; N];
    for (key, value) in members(object) {
        let plain = plain_string(key);
        let key: &str = match &plain {
            Some(key) => key,
            None => continue, // A key that is no Unicode text is none of ours.
        };
        if let Some(slot) = wanted.iter().position(|w| *w == key) {
            if found[slot].is_some() {
                return Err(PickError::Duplicate(wanted[slot]));
            }
            found[slot] = Some(value);
        }
    }
    Ok(found)
}

/// The text of a JSON string, or None for another kind of value or a string with an unpaired surrogate.
pub(crate) fn plain_string(value: &str) -> Option<Cow<'_, str>> {
    let inner = value.strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str::<String>(value).ok().map(Cow::Owned)
}

/// True for a JSON integer as written: an optional minus and digits, of any size.
pub(crate) fn is_integer(value: &str) -> bool {
    let digits = value.strip_prefix('-').unwrap_or(value);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

/// True for a JSON object as written.
pub(crate) fn is_object(value: &str) -> bool {
    value.starts_with('{')
}

/// True for a JSON array as written.
pub(crate) fn is_array(value: &str) -> bool {
    value.starts_with('[')
}

pub(crate) struct Members<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.text.as_bytes();
        let start = skip_blanks_and(bytes, self.at, b',');
        if bytes.get(start) != Some(&b'"') {
            return None;
        }
        let end = skip_string(bytes, start);
        let value = skip_blanks_and(bytes, end, b':');
        let value_end = skip_value(bytes, value);
        self.at = value_end;
        Some((self.text.get(start..end)?, self.text.get(value..value_end)?))
    }
}

pub(crate) struct Elements<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Elements<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.text.as_bytes();
        let start = skip_blanks_and(bytes, self.at, b',');
        if matches!(bytes.get(start), None | Some(b']')) {
            return None;
        }
        let end = skip_value(bytes, start);
        self.at = end;
        self.text.get(start..end)
    }
}

/// The first position at or after `at` that is neither blank nor `separator`.
fn skip_blanks_and(bytes: &[u8], mut at: usize, separator: u8) -> usize {
    while let Some(b) = bytes.get(at) {
        if !matches!(b, b' ' | b'\t' | b'\n' | b'\r') && *b != separator {
            break;
        }
        at += 1;
    }
    at
}

/// The position after the string that begins at `at`.
fn skip_string(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while let Some(rest) = bytes.get(at..) {
        match memchr2(b'"', b'\\', rest) {
            None => break,
            Some(offset) if rest[offset] == b'"' => return at + offset + 1,
            Some(offset) => at += offset + 2,
        }
    }
    bytes.len()
}

/// The position after the value that begins at `at`.
fn skip_value(bytes: &[u8], mut at: usize) -> usize {
    match bytes.get(at) {
        None => bytes.len(),
        Some(b'"') => skip_string(bytes, at),
        Some(b'{' | b'[') => {
            let mut depth = 0usize;
            while let Some(b) = bytes.get(at) {
                match b {
                    b'"' => {
                        at = skip_string(bytes, at);
                        continue;
                    }
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => {
                        depth -= 1;
                        if depth == 0 {
                            return at + 1;
                        }
                    }
                    _ => {}
                }
                at += 1;
            }
            bytes.len()
        }
        Some(_) => {
            while let Some(b) = bytes.get(at) {
                if matches!(b, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r') {
                    break;
                }
                at += 1;
            }
            at
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_as_written() {
        let text = r#"{ "a" : 1.10e+400 , "b\"}":[{"c":"]"}], "d":{} ,"e":"x\\"}"#;
        let got: Vec<_> = members(text).collect();
        assert_eq!(
            got,
            [(r#""a""#, "1.10e+400"), (r#""b\"}""#, r#"[{"c":"]"}]"#), (r#""d""#, "{}"), (r#""e""#, r#""x\\""#)]
        );
    }

    #[test]
    fn elements_come_as_written() {
        let got: Vec<_> = elements(r#"[1, "a,]", [2,[3]], {"x":[]}, null]"#).collect();
        assert_eq!(got, ["1", r#""a,]""#, "[2,[3]]", r#"{"x":[]}"#, "null"]);
        assert_eq!(elements("[ ]").count(), 0);
    }

    #[test]
    fn pick_decodes_keys_and_refuses_doubles() {
        let [a, b] = pick(r#"{"\u0061":1,"c":2,"c":3}"#, ["a", "b"]).expect("an object");
        assert_eq!((a, b), (Some("1"), None));
        assert_eq!(pick(r#"{"a":1,"\u0061":2}"#, ["a"]), Err(PickError::Duplicate("a")));
        assert_eq!(pick("[1]", ["a"]), Err(PickError::NotObject));
        assert_eq!(pick(r#"{"\ud83d":1,"a":2}"#, ["a"]).expect("an object"), [Some("2")]);
    }

    #[test]
    fn depth_counts_only_real_brackets() {
        let nested = format!("{}1{}", "[".repeat(129), "]".repeat(129));
        assert!(!within_depth(&nested, 128));
        assert!(within_depth(&nested[1..258], 128));
        let flat = format!("[{}0]", "[],\"[[[\",".repeat(500));
        assert!(within_depth(&flat, 2));
    }
}
