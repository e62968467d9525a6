//! Walking over JSON text that is known to be valid.
//!
//! Everything here trusts its input: the text came through [`super::check::check`] or is a part of such a text. On other text the
//! functions still end and never panic, but what they return means nothing.

use super::marks;
use std::borrow::Cow;
use std::ops::Range;

/// True when no array or object in `text` is nested deeper than `max`.
pub(crate) fn within_depth(text: &str, max: usize) -> bool {
    let mut walk = Walk::new(text);
    walk.skip_value(0);
    walk.deepest <= max
}

/// The members of an object, in their order: key as written (with its quotes), value as written.
pub(crate) fn members(object: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut walk = Walk::new(object);
    let mut at = usize::from(object.starts_with('{'));
    std::iter::from_fn(move || {
        let key = walk.key(at)?;
        at = walk.skip_value(key.value);
        Some((object.get(key.range)?, object.get(key.value..at)?))
    })
}

/// The elements of an array, in their order, as written.
pub(crate) fn elements(array: &str) -> impl Iterator<Item = &str> {
    let mut walk = Walk::new(array);
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

/// The wanted values of an object, or why it is refused.
pub(crate) type Picked<'a, const N: usize> = Result<[Option<&'a str>; N], PickError>;

/// The values of the wanted keys of an object, each as written; a wanted key that is there twice is refused.
///
/// Keys that are not wanted may repeat: they are passed on, not read.
pub(crate) fn pick<'a, const N: usize>(object: &'a str, wanted: [&'static str; N]) -> Picked<'a, N> {
    if !is_object(object) {
        return Err(PickError::NotObject);
    }
    Walk::new(object).object(object, 0, &wanted, |walk, _, start| walk.skip_value(start)).1
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
pub(crate) struct Walk<'a> {
    bytes: &'a [u8],
    /// How many objects are open round the value that is walked over.
    level: usize,
    pub(crate) deepest: usize,
}

/// Where a member's key lies, and where its value begins.
struct Key {
    range: Range<usize>,
    /// Whether it is written with a backslash in it.
    escaped: bool,
    value: usize,
}

/// Which of the wanted keys a key is; `written` has its quotes.
fn slot_of(written: &str, escaped: bool, wanted: &[&'static str]) -> Option<usize> {
    if escaped {
        // A key that is no Unicode text is none of ours.
        let plain = plain_string(written)?;
        return wanted.iter().position(|name| *name == plain);
    }
    let plain = written.get(1..written.len() - 1)?;
    wanted.iter().position(|name| *name == plain)
}

impl<'a> Walk<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { bytes: text.as_bytes(), level: 0, deepest: 0 }
    }

    /// Walks over the object of `text` that begins at `start`: its end, and the values of the wanted keys. `value` is told
    /// which wanted key's value begins where and gives the value's end, so that it can look inside on the way.
    pub(crate) fn object<const N: usize>(
        &mut self,
        text: &'a str,
        start: usize,
        wanted: &[&'static str; N],
        mut value: impl FnMut(&mut Self, usize, usize) -> usize,
    ) -> (usize, Picked<'a, N>) {
        self.level += 1;
        self.deepest = self.deepest.max(self.level);
        let mut found = Ok([None; N]);
        let mut at = start + 1;
        while let Some(key) = self.key(at) {
            let slot = text.get(key.range.clone()).and_then(|written| slot_of(written, key.escaped, wanted));
            let Some(slot) = slot else {
                at = self.skip_value(key.value);
                continue;
            };
            at = value(self, slot, key.value);
            if let Ok(values) = &mut found {
                if values[slot].is_some() {
                    found = Err(PickError::Duplicate(wanted[slot]));
                } else {
                    values[slot] = text.get(key.value..at);
                }
            }
        }
        self.level -= 1;
        // The closing brace.
        (self.skip_blanks_and(at, b',') + 1, found)
    }

    /// The key of the member that begins at or after `at`.
    fn key(&self, at: usize) -> Option<Key> {
        let start = self.skip_blanks_and(at, b',');
        if self.bytes.get(start) != Some(&b'"') {
            return None;
        }
        let (end, escaped) = self.skip_string(start);
        Some(Key { range: start..end, escaped, value: self.skip_blanks_and(end, b':') })
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
            at = marks::quote_or_escape(self.bytes, at);
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

    /// The position after the value that begins at `at`.
    pub(crate) fn skip_value(&mut self, mut at: usize) -> usize {
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
                    self.deepest = self.deepest.max(self.level + depth);
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
