//! Numbers as they are written: exact, of any size.
//!
//! JSON sets no range. This file decides what a number's text says about its value where 64-bit integers and floats
//! can't: whether it is an integer, and whether two numbers are equal.

use std::hash::{Hash, Hasher};

use serde_json::Number;

/// Longest integer that is written out from its exponent form for an exact division. Longer ones (`1e9999`) are past
/// anything a schema's author had in mind, and a few bytes must not make megabytes.
const MAX_PLAIN_DIGITS: i64 = 1024;

/// A number's value: `0.DIGITS` times ten to the power of `point`, where the digits are `whole` and `fraction` one after
/// the other, without zeros at either end. Zero has no digits and no sign.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decimal<'t> {
    negative: bool,
    whole: &'t str,
    fraction: &'t str,
    point: i64,
}

impl<'t> Decimal<'t> {
    /// Reads a number of the JSON grammar.
    pub(super) fn of(text: &'t str) -> Self {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut whole = whole.trim_start_matches('0');
        let mut fraction = fraction.trim_end_matches('0');
        let mut point = exponent.saturating_add(whole.len() as i64);
        if whole.is_empty() {
            let significant = fraction.trim_start_matches('0');
            point = point.saturating_sub((fraction.len() - significant.len()) as i64);
            fraction = significant;
        }
        if fraction.is_empty() {
            whole = whole.trim_end_matches('0');
        }
        if whole.is_empty() && fraction.is_empty() {
            return Self { negative: false, whole, fraction, point: 0 };
        }
        Self { negative, whole, fraction, point }
    }

    /// Whether the value has no fraction: `1.0` and `1e400` are integers, `1.5` and `1e-1` are not.
    pub(super) fn is_integer(&self) -> bool {
        self.digit_count() == 0 || self.point >= self.digit_count()
    }

    fn digit_count(&self) -> i64 {
        (self.whole.len() + self.fraction.len()) as i64
    }

    fn digits(&self) -> impl Iterator<Item = u8> + use<'t> {
        self.whole.bytes().chain(self.fraction.bytes())
    }
}

impl PartialEq for Decimal<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.negative == other.negative && self.point == other.point && self.digits().eq(other.digits())
    }
}

impl Hash for Decimal<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.negative, self.point).hash(state);
        self.digits().for_each(|digit| state.write_u8(digit));
    }
}

/// Whether two numbers of the JSON grammar have the same value, however they are written.
pub(crate) fn same_number(a: &str, b: &str) -> bool {
    Decimal::of(a) == Decimal::of(b)
}

/// Whether the number is written with neither a fraction nor an exponent.
pub(super) fn is_plain(text: &str) -> bool {
    !text.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'))
}

/// The digits of an integer that is written with an exponent, where that is what `text` is.
pub(super) fn plain_integer(text: &str) -> Option<String> {
    let decimal = Decimal::of(text);
    if is_plain(text) || !decimal.is_integer() || decimal.point > MAX_PLAIN_DIGITS {
        return None;
    }
    let zeros = usize::try_from(decimal.point - decimal.digit_count()).unwrap_or(0);
    let sign = if decimal.negative { "-" } else { "" };
    let whole = if decimal.digit_count() == 0 { "0" } else { decimal.whole };
    Some(format!("{sign}{whole}{}{}", decimal.fraction, "0".repeat(zeros)))
}

/// The number as a float, or `None` where it is past the range of floats.
pub(super) fn to_f64(text: &str) -> Option<f64> {
    let value: f64 = text.parse().ok()?;
    // -2^63 is a bound that schemas do write (`int64`), and the only one at which an integer that has left the 64-bit
    // range can round onto a bound that was kept exact.
    if value == I64_MIN && is_plain(text) && text.parse::<i64>().is_err() {
        return Some(value.next_down());
    }
    value.is_finite().then_some(value)
}

const I64_MIN: f64 = -9_223_372_036_854_775_808.0;

/// The number as serde_json holds it, clamped to the range of floats.
pub(super) fn to_number(text: &str) -> Number {
    let clamped = if text.starts_with('-') { f64::MIN } else { f64::MAX };
    serde_json::from_str(text).ok().or_else(|| Number::from_f64(clamped)).unwrap_or_else(|| Number::from(0))
}

fn parse_exponent(text: &str) -> i64 {
    let digits = text.trim_start_matches(['+', '-']);
    let size = digits
        .bytes()
        .fold(0_i64, |size, digit| size.saturating_mul(10).saturating_add(i64::from(digit.wrapping_sub(b'0'))));
    // Half the range: a text can't be long enough for the rest to overflow.
    let size = size.min(i64::MAX / 2);
    if text.starts_with('-') { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_told_by_value() {
        for text in
            ["0", "-0", "0.0", "0e-99999999999999999999", "1.0", "12e1", "1.5e1", "1e400", "2047948614742839297"]
        {
            assert!(Decimal::of(text).is_integer(), "{text}");
        }
        for text in ["0.5", "1.5", "-1.05e1", "1e-1", "1e-400", "123456789012345678901234567890.5"] {
            assert!(!Decimal::of(text).is_integer(), "{text}");
        }
    }

    #[test]
    fn equality_is_exact_and_by_value() {
        for (a, b) in [
            ("1", "1.0"),
            ("100", "1e2"),
            ("-0.0", "0"),
            ("0.10", "1E-1"),
            ("0.00120e3", "12.0E-1"),
            ("1e400", "10e399"),
        ] {
            assert_eq!(Decimal::of(a), Decimal::of(b), "{a} {b}");
        }
        for (a, b) in [
            ("1", "-1"),
            ("9007199254740993", "9007199254740992"),
            ("100000000000000000000000000001", "100000000000000000000000000000"),
            ("1e400", "1e401"),
            ("0.1", "0.10000000000000000000001"),
        ] {
            assert_ne!(Decimal::of(a), Decimal::of(b), "{a} {b}");
        }
    }

    #[test]
    fn exponents_are_written_out() {
        assert_eq!(plain_integer("12.5e2").as_deref(), Some("1250"));
        assert_eq!(plain_integer("-1e3").as_deref(), Some("-1000"));
        assert_eq!(plain_integer("0e5").as_deref(), Some("0"));
        assert_eq!(plain_integer("5"), None);
        assert_eq!(plain_integer("1e-3"), None);
        assert_eq!(plain_integer("1e99999999999999999999"), None);
    }

    #[test]
    fn floats_keep_their_side_of_the_int64_bound() {
        assert_eq!(to_f64("-9223372036854775808"), Some(I64_MIN));
        assert!(to_f64("-9223372036854775809").is_some_and(|value| value < I64_MIN));
        assert_eq!(to_f64("1e400"), None);
        assert_eq!(to_f64("0.1"), Some(0.1));
    }

    #[test]
    fn numbers_out_of_range_are_clamped() {
        assert_eq!(to_number("1e400").as_f64(), Some(f64::MAX));
        assert_eq!(to_number("-1e400").as_f64(), Some(f64::MIN));
        assert_eq!(to_number("18446744073709551615").as_u64(), Some(u64::MAX));
    }
}
