//! The `_meta` of a sender's last message.
//!
//! A modern client writes the same `_meta` into each of its requests (2026-07-28 `basic/index`, "`_meta`": its version, its
//! name, its capabilities), and that is most of what a small request holds. A value that begins with the very bytes of an
//! object that was read before *is* that object, so it is found by one comparison and its fields lie where they lay.

use super::cursor::{Checked, Cursor, Picked};
use super::message::META;
use std::ops::Range;

/// Bytes of a `_meta` that is remembered. 2 KiB: some times what clients send, and little for each connection.
const MOST_BYTES: usize = 2048;

/// The last `_meta` that was read, if it can be recognised.
#[derive(Debug, Default)]
pub(crate) struct LastMeta {
    /// As written. Empty: there is none.
    text: String,
    /// Where the values of [`META`] lie in it.
    fields: [Option<Range<usize>>; META.len()],
    /// How many levels it is deep.
    depth: usize,
}

impl LastMeta {
    /// Moves over the object that begins at the cursor and gives the values of [`META`].
    pub(super) fn read<'a>(&mut self, cursor: &mut Cursor<'a>) -> Checked<Picked<'a, 5>> {
        let rest = cursor.text.get(cursor.at..).unwrap_or_default();
        if !self.text.is_empty() && rest.starts_with(&self.text) {
            cursor.skip(self.text.len(), self.depth);
            return Ok(Ok(self.fields.each_ref().map(|field| rest.get(field.clone()?))));
        }
        let start = cursor.at;
        let (picked, depth) = cursor.measured(|cursor| cursor.object(&META, |cursor, _| cursor.value()))?;
        if let (Ok(found), Some(text)) = (&picked, cursor.text.get(start..cursor.at))
            && text.len() <= MOST_BYTES
        {
            self.text.clear();
            self.text.push_str(text);
            let place = |value: &str| value.as_ptr().addr() - text.as_ptr().addr();
            self.fields = found.map(|value| value.map(|value| place(value)..place(value) + value.len()));
            self.depth = depth;
        }
        Ok(picked)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Incoming, Parsed};
    use super::*;
    use proptest::prelude::*;

    const DEPTH: usize = 6;

    fn after<'a>(last: &mut LastMeta, text: &'a str) -> Parsed<'a> {
        match Incoming::parse_after(last, text.as_bytes(), DEPTH) {
            Incoming::Single(parsed) => parsed,
            Incoming::Batch(_) => panic!("{text} is no batch"),
        }
    }

    fn request(meta: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"a","params":{{"_meta":{meta},"name":"x"}}}}"#)
    }

    #[test]
    fn what_was_read_before_is_recognised() {
        let mut last = LastMeta::default();
        let text = request(r#"{"progressToken":7,"io.modelcontextprotocol/logLevel" : "info","é":[[]]}"#);
        for _ in 0..2 {
            let message = after(&mut last, &text).expect("a message");
            assert_eq!(message.fields.meta, Ok([Some("7"), None, None, None, Some(r#""info""#)]));
        }
        assert_eq!(last.depth, 3);
    }

    #[test]
    fn what_is_too_long_is_not_kept() {
        let mut last = LastMeta::default();
        let text = request(&format!(r#"{{"a":"{}"}}"#, "x".repeat(MOST_BYTES)));
        after(&mut last, &text).expect("a message");
        assert_eq!(last.text, "");
    }

    /// Objects that are alike, equal, one the beginning of another, wrong, or too deep.
    fn meta() -> impl Strategy<Value = String> {
        let value = prop::sample::select(vec!["1", r#""x""#, "{}", "[[[]]]", "[[[[]]]]", "{", ""]);
        let key =
            prop::sample::select(vec!["progressToken", "progress\\u0054oken", "a", "io.modelcontextprotocol/logLevel"]);
        let member = (key, value).prop_map(|(key, value)| format!(r#""{key}":{value}"#));
        prop::collection::vec(member, 0..3).prop_map(|members| format!("{{{}}}", members.join(",")))
    }

    proptest! {
        #[test]
        fn memory_changes_nothing(metas in prop::collection::vec(meta(), 1..12)) {
            let mut last = LastMeta::default();
            for meta in metas {
                let text = request(&meta);
                prop_assert_eq!(after(&mut last, &text), after(&mut LastMeta::default(), &text));
            }
        }
    }
}
