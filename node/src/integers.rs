//! Integers that a JavaScript number can't hold, on their way in.
//!
//! V8's JSON parser rounds them without a word. So they are written as marked strings before it sees them, and the
//! facade makes of each what the server asked for: a bigint, a string, or an error. The mark is a random text of the
//! process's own, which no peer can know.

/// The largest integer whose neighbours a JavaScript number can tell apart from it: 2^53 - 1.
const MOST: u64 = (1 << 53) - 1;

/// Digits from which on an integer may be too large.
const DIGITS: usize = 16;

/// JSON text in which such integers are strings that begin with `mark`; None when there is no such integer, or the mark is
/// empty, because nobody will look for it.
pub(crate) fn marked(json: &str, mark: &str) -> Option<String> {
    if mark.is_empty() || !has_long_run(json.as_bytes()) {
        return None;
    }
    let bytes = json.as_bytes();
    let mut out = String::new();
    let (mut at, mut copied) = (0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = end_of_string(bytes, at),
            b'-' | b'0'..=b'9' => {
                let start = at;
                at += 1;
                while at < bytes.len() && matches!(bytes[at], b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-') {
                    at += 1;
                }
                if is_beyond(&json[start..at]) {
                    out.push_str(&json[copied..start]);
                    out.push('"');
                    out.push_str(mark);
                    out.push_str(&json[start..at]);
                    out.push('"');
                    copied = at;
                }
            }
            _ => at += 1,
        }
    }
    if copied == 0 {
        return None;
    }
    out.push_str(&json[copied..]);
    Some(out)
}

/// Whether there are so many digits in a row anywhere, in a string or not. A row of [`DIGITS`] covers a place whose
/// number is a multiple of that, so the others need not be looked at.
fn has_long_run(bytes: &[u8]) -> bool {
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at].is_ascii_digit() {
            let before = bytes[..at].iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
            let after = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            if before + after >= DIGITS {
                return true;
            }
        }
        at += DIGITS;
    }
    false
}

/// The place behind the string that begins at `at`.
fn end_of_string(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Whether a JSON number is written as an integer beyond 2^53 - 1.
fn is_beyond(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    digits.len() >= DIGITS
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && digits.parse::<u64>().map_or(true, |value| value > MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_integers_that_would_be_rounded_are_marked() {
        for (json, wanted) in [
            ("{}", None),
            ("[9007199254740991,-9007199254740991]", None),
            ("[9007199254740992]", Some(r#"["~9007199254740992"]"#)),
            (r#"{"a":-18446744073709551616 }"#, Some(r#"{"a":"~-18446744073709551616" }"#)),
            ("[1.0000000000000000001,12345678901234567890e2]", None),
            (r#"["12345678901234567890","\"12345678901234567890"]"#, None),
            (
                r#"["12345678901234567890",12345678901234567890,1]"#,
                Some(r#"["12345678901234567890","~12345678901234567890",1]"#),
            ),
        ] {
            assert_eq!(marked(json, "~").as_deref(), wanted, "{json}");
        }
    }

    #[test]
    fn a_long_run_is_found_wherever_it_begins() {
        for start in 0..40 {
            let json = format!("{}9999999999999999", " ".repeat(start));
            assert!(marked(&json, "~").is_some(), "{start}");
        }
    }
}
