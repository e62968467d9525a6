//! What is wrong with a value, in words.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

/// One way in which a value does not fit its schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// JSON Pointer (RFC 6901) to the part of the value that is wrong; empty for the whole value. As long as the keys on
    /// the way are; displayed it is cut.
    pub instance_path: String,
    /// What is wrong with it: one plain line, of at most about a kilobyte.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.instance_path.is_empty() {
            f.write_str(&self.message)
        } else {
            // Keys may hold line breaks.
            let place = shorten(&self.instance_path).replace(char::is_control, " ");
            write!(f, "at {place}: {}", self.message)
        }
    }
}

/// Bytes of a value or a path that are shown. Enough to recognize it.
const SHOWN_BYTES: usize = 200;

/// The beginning of a text, cut between characters.
pub(super) fn shorten(text: &str) -> Cow<'_, str> {
    if text.len() <= SHOWN_BYTES {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}...", &text[..floor_boundary(text, SHOWN_BYTES)]))
}

/// The last place at or before `at` where `text` can be cut.
pub(super) fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The ways in which a value does not fit its schema: at least one, the first few only, in the order of the value's text.
///
/// Displayed it is one line for each, made to be read by a language model that shall mend its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violations {
    entries: Vec<Violation>,
    has_more: bool,
}

impl Violations {
    pub(super) fn new(entries: Vec<Violation>, has_more: bool) -> Self {
        Self { entries, has_more }
    }

    /// One violation of the whole value.
    pub(super) fn whole(message: impl Into<String>) -> Self {
        Self::new(vec![Violation { instance_path: String::new(), message: message.into() }], false)
    }

    /// The violations, at most as many as the limits allow.
    pub fn entries(&self) -> &[Violation] {
        &self.entries
    }

    /// Whether there are more than are listed.
    pub fn has_more(&self) -> bool {
        self.has_more
    }
}

impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, violation) in self.entries.iter().enumerate() {
            if position > 0 {
                f.write_str("\n")?;
            }
            violation.fmt(f)?;
        }
        if self.has_more {
            f.write_str("\n(there are more)")?;
        }
        Ok(())
    }
}

impl Error for Violations {}
