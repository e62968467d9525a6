//! Walking over JSON text that is known to be valid.
//!
//! Everything here trusts its input: the text came through [`check`] or is a part of such a text. On other text the
//! functions still end and never panic, but what they return means nothing.

use memchr::memchr2;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::ops::Range;

/// Checks that `text` is exactly one JSON text, and returns it without the blanks around it.
///
/// Linear, and iterative over nesting. Unpaired surrogate escapes are accepted: they are JSON by the grammar, and pass through.
pub(crate) fn check(text: &str) -> Result<&str, serde_json::Error> {
    serde_json::from_str::<&RawValue>(text).map(RawValue::get)
}

/// True when no array or object in `text` is nested deeper than `max`.
pub(crate) fn within_depth(text: &str, max: usize) -> bool {
    let mut walk = Walk { bytes: text.as_bytes(), deepest: 0 };
    walk.skip_value(0);
    walk.deepest <= max
}

/// The members of an object, in their order: key as written (with its quotes), value as written.
pub(crate) fn members(object: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut walk = Walk { bytes: object.as_bytes(), deepest: 0 };
    let mut at = usize::from(object.starts_with('{'));
    std::iter::from_fn(move || {
        let member = walk.member(at)?;
        at = member.value.end;
        Some((object.get(member.key)?, object.get(member.value)?))
    })
}

/// The elements of an array, in their order, as written.
pub(crate) fn elements(array: &str) -> impl Iterator<Item = &str> {
    let mut walk = Walk { bytes: array.as_bytes(), deepest: 0 };
    let mut at = usize::from(array.starts_with('['));
    std::iter::from_fn(move || {
        let start = walk.skip_blanks_and(at, b',');
        if matches!(walk.bytes.get(start), None | Some(b']')) {
            return None;
        }
        at = walk.skip_value(start);
        array.get(start..at)
    })
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
    pick_deep(object, wanted).map(|(found, _)| found)
}

/// [`pick`], and how deeply the object is nested, which the walk sees on its way.
pub(crate) fn pick_deep<'a, const N: usize>(
    object: &'a str,
    wanted: [&'static str; N],
) -> Result<([Option<&'a str>; N], usize), PickError> {
    if !object.starts_with('{') {
        return Err(PickError::NotObject);
    }
    let mut walk = Walk { bytes: object.as_bytes(), deepest: 0 };
    let mut found = [None; N];
    let mut at = 1;
    while let Some(member) = walk.member(at) {
        at = member.value.end;
        let Some(key) = object.get(member.key) else { continue };
        let decoded;
        let key = if member.escaped {
            match plain_string(key) {
                Some(plain) => {
                    decoded = plain;
                    &*decoded
                }
                None => continue, // A key that is no Unicode text is none of ours.
            }
        } else {
            key.get(1..key.len() - 1).unwrap_or_default()
        };
        if let Some(slot) = wanted.iter().position(|name| *name == key) {
            if found[slot].is_some() {
                return Err(PickError::Duplicate(wanted[slot]));
            }
            found[slot] = object.get(member.value);
        }
    }
    Ok((found, walk.deepest + 1))
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

/// A walk over trusted text, which notes how deep it has been.
struct Walk<'a> {
    bytes: &'a [u8],
    deepest: usize,
}

/// Where a member lies.
struct Member {
    key: Range<usize>,
    /// Whether the key is written with a backslash in it.
    escaped: bool,
    value: Range<usize>,
}

impl Walk<'_> {
    /// The member that begins at or after `at`.
    fn member(&mut self, at: usize) -> Option<Member> {
        let start = self.skip_blanks_and(at, b',');
        if self.bytes.get(start) != Some(&b'"') {
            return None;
        }
        let (end, escaped) = self.skip_string(start);
        let value = self.skip_blanks_and(end, b':');
        let value_end = self.skip_value(value);
        Some(Member { key: start..end, escaped, value: value..value_end })
    }

    /// The first position at or after `at` that is neither blank nor `separator`.
    fn skip_blanks_and(&self, mut at: usize, separator: u8) -> usize {
        while let Some(b) = self.bytes.get(at) {
            if *b != separator && !matches!(b, b' ' | b'\t' | b'\n' | b'\r') {
                break;
            }
            at += 1;
        }
        at
    }

    /// The position after the string that begins at `at`, and whether there is a backslash in it.
    fn skip_string(&self, at: usize) -> (usize, bool) {
        let mut at = at + 1;
        let mut escaped = false;
        loop {
            at = self.find_mark(at);
            match self.bytes.get(at) {
                Some(b'\\') => {
                    escaped = true;
                    at += 2;
                }
                Some(_) => return (at + 1, escaped),
                None => return (self.bytes.len(), escaped),
            }
        }
    }

    /// The first quote or backslash at or after `at`. Most strings are short, so eight bytes at a time come first; what is
    /// longer is left to memchr.
    fn find_mark(&self, mut at: usize) -> usize {
        const ONES: u64 = 0x0101_0101_0101_0101;
        const HIGHS: u64 = 0x8080_8080_8080_8080;
        for _ in 0..8 {
            let Some(chunk) = self.bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) else { break };
            let word = u64::from_le_bytes(*chunk);
            let quotes = word ^ (ONES * b'"' as u64);
            let slashes = word ^ (ONES * b'\\' as u64);
            // The lowest high bit that is set marks the first zero byte of either word.
            let marks = (quotes.wrapping_sub(ONES) & !quotes | slashes.wrapping_sub(ONES) & !slashes) & HIGHS;
            if marks != 0 {
                return at + (marks.trailing_zeros() / 8) as usize;
            }
            at += 8;
        }
        match self.bytes.get(at..) {
            Some(rest) => at + memchr2(b'"', b'\\', rest).unwrap_or(rest.len()),
            None => self.bytes.len(),
        }
    }

    /// The position after the value that begins at `at`.
    fn skip_value(&mut self, mut at: usize) -> usize {
        let mut depth = 0usize;
        while let Some(b) = self.bytes.get(at) {
            match b {
                b'"' => {
                    at = self.skip_string(at).0;
                    if depth == 0 {
                        return at;
                    }
                    continue;
                }
                b'{' | b'[' => {
                    depth += 1;
                    self.deepest = self.deepest.max(depth);
                }
                b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r' if depth == 0 => return at,
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
        // What follows a number or a word at the top of a text is its end.
        self.bytes.len()
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
