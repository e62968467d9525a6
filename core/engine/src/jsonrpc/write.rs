//! Writing JSON text: strings, raw values, and the frames of responses and notifications.
//!
//! Whatever is written ends as one line: raw text from elsewhere may contain line breaks between its tokens, which JSON
//! allows and the framing does not, so they become blanks here.

use super::marks;
use crate::error::PeerError;
use memchr::memchr2;

/// Appends `text` as a JSON string.
pub(crate) fn string(out: &mut String, text: &str) {
    out.reserve(text.len() + 2);
    out.push('"');
    let bytes = text.as_bytes();
    let mut done = 0;
    loop {
        let at = marks::quote_escape_or_control(bytes, done);
        out.push_str(&text[done..at]);
        match bytes.get(at) {
            None => break,
            Some(b'"') => out.push_str("\\\""),
            Some(b'\\') => out.push_str("\\\\"),
            Some(b'\n') => out.push_str("\\n"),
            Some(b'\r') => out.push_str("\\r"),
            Some(b'\t') => out.push_str("\\t"),
            Some(control) => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                out.push_str("\\u00");
                out.push(char::from(HEX[usize::from(control >> 4)]));
                out.push(char::from(HEX[usize::from(control & 15)]));
            }
        }
        done = at + 1;
    }
    out.push('"');
}

/// Appends texts as a JSON array of strings.
pub(crate) fn strings(out: &mut String, texts: &[String]) {
    out.push('[');
    for (at, text) in texts.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        string(out, text);
    }
    out.push(']');
}

/// Appends valid JSON text, on one line.
pub(crate) fn raw(out: &mut String, json: &str) {
    let mut rest = json;
    while let Some(at) = memchr2(b'\n', b'\r', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        out.push(' ');
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
}

/// Appends a number the way JSON writers do: whole numbers without a fraction.
pub(crate) fn number(out: &mut String, value: f64) {
    use std::fmt::Write;
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let written = if value.fract() == 0.0 && value.abs() < EXACT {
        write!(out, "{}", value as i64)
    } else {
        write!(out, "{value}")
    };
    // Writing into a String can't fail.
    debug_assert!(written.is_ok());
}

/// Appends `{"jsonrpc":"2.0","id":ID,"result":`; the caller appends the result and calls [`close`].
pub(crate) fn open_result(out: &mut String, id: &str) {
    out.push_str(r#"{"jsonrpc":"2.0","id":"#);
    out.push_str(id);
    out.push_str(r#","result":"#);
}

/// Appends a whole error response, without the line's end. `id` is the id as written, or None where it could not be read.
pub(crate) fn error(out: &mut String, id: Option<&str>, error: &PeerError) {
    out.push_str(r#"{"jsonrpc":"2.0","#);
    if let Some(id) = id {
        out.push_str(r#""id":"#);
        out.push_str(id);
        out.push(',');
    }
    error_member(out, error);
}

/// Appends the rest of an error response, behind its id.
pub(crate) fn error_member(out: &mut String, error: &PeerError) {
    out.push_str(r#""error":{"code":"#);
    out.push_str(&error.code.to_string());
    out.push_str(r#","message":"#);
    string(out, &error.message);
    if let Some(data) = &error.data {
        out.push_str(r#","data":"#);
        raw(out, data);
    }
    out.push_str("}}");
}

/// Appends `{"jsonrpc":"2.0","method":METHOD`; the caller appends `,"params":...` where there are any, and a brace.
pub(crate) fn open_notification(out: &mut String, method: &str) {
    out.push_str(r#"{"jsonrpc":"2.0","method":"#);
    string(out, method);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut String)) -> String {
        let mut out = String::new();
        write(&mut out);
        out
    }

    #[test]
    fn strings_read_back() {
        let text = "a\"b\\c\n\r\t\u{0}\u{1f}\u{7f}é😀/";
        let json = written(|out| string(out, text));
        assert_eq!(serde_json::from_str::<String>(&json).expect("valid JSON"), text);
    }

    #[test]
    fn raw_text_stays_on_one_line() {
        assert_eq!(written(|out| raw(out, "{\r\n \"a\":\n1}")), "{   \"a\": 1}");
    }

    #[test]
    fn whole_numbers_have_no_fraction() {
        assert_eq!(written(|out| number(out, 5.0)), "5");
        assert_eq!(written(|out| number(out, 0.25)), "0.25");
        assert_eq!(written(|out| number(out, -3.0)), "-3");
    }
}
