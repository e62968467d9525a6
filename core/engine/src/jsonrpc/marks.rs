//! Where a JSON string has its next mark, looked for eight bytes at a time.
//!
//! Most strings are short, so that a call into memchr costs more than the string; and memchr looks for three bytes at most, not
//! for a range such as the control characters.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// The position at or after `at` of the first quote or backslash; the length where there is none. For trusted text.
pub(crate) fn quote_or_escape(bytes: &[u8], mut at: usize) -> usize {
    // What is longer than this is left to memchr, which is faster on it.
    for _ in 0..8 {
        let Some(word) = word(bytes, at) else { break };
        if let Some(offset) = first(quotes_and_escapes(word)) {
            return at + offset;
        }
        at += 8;
    }
    match bytes.get(at..) {
        Some(rest) => at + memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len()),
        None => bytes.len(),
    }
}

/// The position at or after `at` of the first quote, backslash or control character; the length where there is none.
pub(crate) fn quote_escape_or_control(bytes: &[u8], mut at: usize) -> usize {
    while let Some(word) = word(bytes, at) {
        let controls = word.wrapping_sub(ONES * 0x20) & !word;
        if let Some(offset) = first(quotes_and_escapes(word) | controls) {
            return at + offset;
        }
        at += 8;
    }
    let plain = |b: &u8| *b >= 0x20 && *b != b'"' && *b != b'\\';
    at + bytes.get(at..).map_or(0, |rest| rest.iter().take_while(|b| plain(b)).count())
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk::<8>()?))
}

/// A word whose lowest high bit that is set marks the first byte that is a quote or a backslash.
fn quotes_and_escapes(word: u64) -> u64 {
    let quotes = word ^ (ONES * b'"' as u64);
    let escapes = word ^ (ONES * b'\\' as u64);
    quotes.wrapping_sub(ONES) & !quotes | escapes.wrapping_sub(ONES) & !escapes
}

fn first(marks: u64) -> Option<usize> {
    let marks = marks & HIGHS;
    (marks != 0).then(|| (marks.trailing_zeros() / 8) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn both_find_what_a_plain_loop_finds(bytes in prop::collection::vec(prop_oneof![8 => b'a'..=b'z', 1 => any::<u8>(), 1 => Just(b'"'), 1 => Just(b'\\')], 0..160), at in 0usize..170) {
            let from = |mark: fn(u8) -> bool| (at..bytes.len()).find(|at| mark(bytes[*at])).unwrap_or(bytes.len().max(at));
            let length = bytes.len();
            prop_assert_eq!(quote_or_escape(&bytes, at).min(length), from(|b| b == b'"' || b == b'\\').min(length));
            prop_assert_eq!(
                quote_escape_or_control(&bytes, at).min(length),
                from(|b| b == b'"' || b == b'\\' || b < 0x20).min(length)
            );
        }
    }
}
