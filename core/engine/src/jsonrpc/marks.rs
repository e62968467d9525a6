//! Where a JSON string has its next mark, looked for eight bytes at a time, and in long strings more.
//!
//! Most strings are short, so that a call into memchr costs more than the string; and memchr looks for three bytes at most, not
//! for a range such as the control characters.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Bytes that are looked at together in long strings; a compiler makes a few vector instructions of it.
const BLOCK: usize = 64;

/// The position at or after `at` of the first quote, backslash or control character; the length where there is none.
///
/// What a string of up to seven bytes needs is done where it is called from: half of all keys and values are that short.
#[inline]
pub(crate) fn quote_escape_or_control(bytes: &[u8], at: usize) -> usize {
    if let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let marks = marks(u64::from_le_bytes(*word));
        return if marks == 0 { long(bytes, at + 8) } else { at + (marks.trailing_zeros() / 8) as usize };
    }
    long(bytes, at)
}

/// The same, for strings that may be long.
#[inline(never)]
fn long(bytes: &[u8], at: usize) -> usize {
    let mut rest = bytes.get(at..).unwrap_or_default();
    loop {
        // Most strings end within these; the others were looked at by blocks and have a mark within the next.
        for _ in 0..BLOCK / 8 {
            let Some((word, after)) = rest.split_first_chunk::<8>() else {
                return bytes.len() - rest.len() + rest.iter().take_while(|byte| !is_mark(**byte)).count();
            };
            let marks = marks(u64::from_le_bytes(*word));
            if marks != 0 {
                return bytes.len() - rest.len() + (marks.trailing_zeros() / 8) as usize;
            }
            rest = after;
        }
        while let Some((block, after)) = rest.split_first_chunk::<BLOCK>() {
            if block.iter().fold(false, |found, byte| found | is_mark(*byte)) {
                break;
            }
            rest = after;
        }
    }
}

fn is_mark(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// A word whose lowest bit that is set is the high bit of the first byte that is a mark. Bits above it mean nothing.
#[inline]
fn marks(word: u64) -> u64 {
    // A byte of zero borrows from the one above it, which sets its own high bit.
    let quotes = (word ^ (ONES * b'"' as u64)).wrapping_sub(ONES);
    let escapes = (word ^ (ONES * b'\\' as u64)).wrapping_sub(ONES);
    let controls = word.wrapping_sub(ONES * 0x20);
    // A byte that has its high bit set is part of a character beyond ASCII, and no mark.
    (quotes | escapes | controls) & !word & HIGHS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_finds_what_a_plain_loop_finds(
            bytes in prop::collection::vec(prop_oneof![200 => b'a'..=b'z', 2 => any::<u8>(), 1 => Just(b'"'), 1 => Just(b'\\')], 0..400),
            at in 0usize..410,
        ) {
            let expected = (at..bytes.len()).find(|at| is_mark(bytes[*at])).unwrap_or(bytes.len());
            prop_assert_eq!(quote_escape_or_control(&bytes, at), expected);
        }
    }
}
