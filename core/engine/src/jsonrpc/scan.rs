//! Cutting the parts out of JSON text that is known to be valid.
//!
//! The text came through [`super::check::check`], or is a part of a message that was read. On other text the functions still end
//! and never panic, but what they return means nothing.

use super::cursor::{Cursor, PickError, Picked};
use std::borrow::Cow;

/// The members of an object, in their order: key as written (with its quotes), value as written.
pub(crate) fn members(object: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut cursor = Cursor::new(object);
    let mut before = b'{';
    std::iter::from_fn(move || {
        let start = next_item(&mut cursor, &mut before)?;
        cursor.string().ok()?;
        let key = object.get(start..cursor.at)?;
        cursor.blanks();
        cursor.expect(b':').ok()?;
        cursor.blanks();
        let start = cursor.at;
        cursor.value().ok()?;
        Some((key, object.get(start..cursor.at)?))
    })
}

/// The elements of an array, in their order, as written.
pub(crate) fn elements(array: &str) -> impl Iterator<Item = &str> {
    let mut cursor = Cursor::new(array);
    let mut before = b'[';
    std::iter::from_fn(move || {
        let start = next_item(&mut cursor, &mut before)?;
        cursor.value().ok()?;
        array.get(start..cursor.at)
    })
}

/// Where the next item of an array or object begins. `before` is the bracket or comma that comes before it.
fn next_item(cursor: &mut Cursor<'_>, before: &mut u8) -> Option<usize> {
    cursor.blanks();
    cursor.expect(*before).ok()?;
    *before = b',';
    cursor.blanks();
    Some(cursor.at)
}

/// The values of the wanted keys of an object, each as written; a wanted key that is there twice is refused.
///
/// Keys that are not wanted may repeat: they are passed on, not read.
pub(crate) fn pick<'a, const N: usize>(object: &'a str, wanted: [&'static str; N]) -> Picked<'a, N> {
    if !is_object(object) {
        return Err(PickError::NotObject);
    }
    Cursor::new(object).object(&wanted, |cursor, _| cursor.value()).unwrap_or(Err(PickError::NotObject))
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
}
