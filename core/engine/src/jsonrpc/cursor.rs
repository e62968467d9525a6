//! Reading JSON text: one pass, the grammar of RFC 8259 and nothing more.
//!
//! Every message goes through here, and so does every text of host code. A [`Cursor`] stands at a place in a text and moves
//! over what is there, which must be what the grammar says; on the way it can note the members of an object that somebody
//! wants. Nothing is built and nothing is copied: what comes out are slices of the text.
//!
//! Strings are only looked at for their end, control characters and escapes: an unpaired surrogate escape is JSON by the
//! grammar, and passes. Written here, and not left to serde_json, because this takes a third of the instructions; the tests
//! in `check.rs` hold it to serde_json's verdict.

use super::marks;
use super::scan::plain_string;
use std::fmt;

/// Where a text stops being JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed {
    pub(crate) at: usize,
    end: bool,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.end { write!(f, "it ends too early") } else { write!(f, "unexpected character at byte {}", self.at) }
    }
}

pub(crate) type Checked<T = ()> = Result<T, Malformed>;

/// Why the wanted members of an object are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PickError {
    /// The text is no object.
    NotObject,
    /// One of the wanted keys is there twice.
    Duplicate(&'static str),
}

/// The wanted values of an object, each as written, or why they are refused.
pub(crate) type Picked<'a, const N: usize> = Result<[Option<&'a str>; N], PickError>;

/// A place in a text.
pub(crate) struct Cursor<'a> {
    pub(crate) text: &'a str,
    pub(crate) at: usize,
    /// How many objects of [`Cursor::object`] are open here.
    level: usize,
    /// The deepest nesting that was met.
    pub(crate) deepest: usize,
}

/// The arrays and objects that are open: one bit each, true for an object.
#[derive(Default)]
struct Open {
    depth: usize,
    innermost: u64,
    outer: Vec<u64>,
}

impl Open {
    fn push(&mut self, object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.outer.push(self.innermost);
        }
        self.depth += 1;
        self.innermost = self.innermost << 1 | u64::from(object);
    }

    fn pop(&mut self) {
        self.depth -= 1;
        self.innermost >>= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.innermost = self.outer.pop().unwrap_or_default();
        }
    }

    fn in_object(&self) -> bool {
        self.innermost & 1 == 1
    }
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0, level: 0, deepest: 0 }
    }

    #[inline]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Moves over the whitespace of JSON.
    #[inline]
    pub(crate) fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Moves over `byte`, which must be here.
    #[inline]
    pub(crate) fn expect(&mut self, byte: u8) -> Checked {
        if self.peek() != Some(byte) {
            return self.unexpected();
        }
        self.at += 1;
        Ok(())
    }

    /// Fails: what is here can't stand here.
    #[cold]
    pub(crate) fn unexpected<T>(&self) -> Checked<T> {
        Err(Malformed { at: self.at, end: self.at >= self.text.len() })
    }

    /// Only blanks may follow.
    pub(crate) fn end(&mut self) -> Checked {
        self.blanks();
        if self.at < self.text.len() { self.unexpected() } else { Ok(()) }
    }

    /// Moves over any value.
    #[inline]
    pub(crate) fn value(&mut self) -> Checked {
        match self.peek() {
            Some(b'{' | b'[') => self.container(),
            _ => self.scalar(),
        }
    }

    fn scalar(&mut self) -> Checked {
        match self.peek() {
            Some(b'"') => self.string().map(drop),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            _ => self.unexpected(),
        }
    }

    /// Moves over an array or object. Without recursion: how deep it goes is the peer's choice.
    fn container(&mut self) -> Checked {
        let mut open = Open::default();
        loop {
            // A value begins here.
            match self.peek() {
                Some(bracket @ (b'{' | b'[')) => {
                    self.at += 1;
                    self.blanks();
                    self.deepest = self.deepest.max(self.level + open.depth + 1);
                    // The closing bracket is two places after the opening one, in ASCII.
                    if self.peek() == Some(bracket + 2) {
                        self.at += 1;
                    } else {
                        open.push(bracket == b'{');
                        if bracket == b'{' {
                            self.key()?;
                        }
                        continue;
                    }
                }
                _ => self.scalar()?,
            }
            // A value has ended here.
            loop {
                if open.depth == 0 {
                    return Ok(());
                }
                self.blanks();
                match (self.peek(), open.in_object()) {
                    (Some(b','), object) => {
                        self.at += 1;
                        self.blanks();
                        if object {
                            self.key()?;
                        }
                        break;
                    }
                    (Some(b'}'), true) | (Some(b']'), false) => {
                        self.at += 1;
                        open.pop();
                    }
                    _ => return self.unexpected(),
                }
            }
        }
    }

    /// Moves over the object that begins here and notes the values of the wanted keys; one that is there twice is refused.
    /// Keys that are not wanted may repeat: they are passed on, not read. `value` is told which wanted key's value begins
    /// here and moves over it, so that it can look inside on the way.
    pub(crate) fn object<const N: usize>(
        &mut self,
        wanted: &[&'static str; N],
        mut value: impl FnMut(&mut Self, usize) -> Checked,
    ) -> Checked<Picked<'a, N>> {
        let mut found = Ok([None; N]);
        self.members(|cursor, key, escaped| {
            let Some(slot) = slot_of(key, escaped, wanted) else { return cursor.value() };
            let start = cursor.at;
            value(cursor, slot)?;
            note(&mut found, slot, wanted[slot], cursor.text.get(start..cursor.at));
            Ok(())
        })?;
        Ok(found)
    }

    /// Moves over the object that begins here. `member` is told each key as written, without its quotes, and whether it is
    /// written with escapes; the value begins here then, and it moves over it.
    #[inline]
    pub(crate) fn members(&mut self, mut member: impl FnMut(&mut Self, &'a [u8], bool) -> Checked) -> Checked {
        self.expect(b'{')?;
        self.level += 1;
        self.deepest = self.deepest.max(self.level);
        self.blanks();
        if self.peek() != Some(b'}') {
            loop {
                let start = self.at + 1;
                let escaped = self.string()?;
                // As bytes: a quote on either side makes it a text of its own, which needs no proof.
                let key = self.text.as_bytes().get(start..self.at - 1).unwrap_or_default();
                self.colon()?;
                member(self, key, escaped)?;
                if !self.next(b'}')? {
                    break;
                }
            }
        }
        self.expect(b'}')?;
        self.level -= 1;
        Ok(())
    }

    /// What `read` moves over, and how many levels it is deep.
    pub(crate) fn measured<T>(&mut self, read: impl FnOnce(&mut Self) -> Checked<T>) -> Checked<(T, usize)> {
        let before = std::mem::replace(&mut self.deepest, self.level);
        let value = read(self)?;
        let depth = self.deepest - self.level;
        self.deepest = self.deepest.max(before);
        Ok((value, depth))
    }

    /// Moves over a value of `length` bytes and `depth` levels that is known to be here.
    pub(crate) fn skip(&mut self, length: usize, depth: usize) {
        self.at += length;
        self.deepest = self.deepest.max(self.level + depth);
    }

    /// After an item: moves over the comma to the next one, if there is one before the `closing` bracket.
    #[inline]
    fn next(&mut self, closing: u8) -> Checked<bool> {
        self.blanks();
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                self.blanks();
                Ok(true)
            }
            Some(byte) if byte == closing => Ok(false),
            _ => self.unexpected(),
        }
    }

    /// Moves over a key, its colon, and the blanks before the value. Whether the key is written with escapes.
    pub(crate) fn key(&mut self) -> Checked<bool> {
        let escaped = self.string()?;
        self.colon()?;
        Ok(escaped)
    }

    #[inline]
    fn colon(&mut self) -> Checked {
        self.blanks();
        self.expect(b':')?;
        self.blanks();
        Ok(())
    }

    /// Moves over the string that begins here. Whether it is written with escapes.
    #[inline]
    pub(crate) fn string(&mut self) -> Checked<bool> {
        self.expect(b'"')?;
        self.at = marks::quote_escape_or_control(self.text.as_bytes(), self.at);
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok(false);
        }
        self.escaped_string()
    }

    /// Moves on from the first escape of a string to its end.
    fn escaped_string(&mut self) -> Checked<bool> {
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(true);
                }
                Some(b'\\') => self.escape()?,
                _ => return self.unexpected(),
            }
            self.at = marks::quote_escape_or_control(self.text.as_bytes(), self.at);
        }
    }

    fn escape(&mut self) -> Checked {
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.peek().is_some_and(|b| b.is_ascii_hexdigit()) {
                        return self.unexpected();
                    }
                    self.at += 1;
                }
            }
            _ => return self.unexpected(),
        }
        Ok(())
    }

    /// Moves over the number that begins here.
    pub(crate) fn number(&mut self) -> Checked {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Checked {
        if !self.peek().is_some_and(|b| b.is_ascii_digit()) {
            return self.unexpected();
        }
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    /// Moves over `true`, `false` or `null`.
    pub(crate) fn word(&mut self, word: &str) -> Checked {
        word.bytes().try_for_each(|byte| self.expect(byte))
    }
}

/// Notes the value of a wanted key.
#[inline]
fn note<'a, const N: usize>(found: &mut Picked<'a, N>, slot: usize, key: &'static str, value: Option<&'a str>) {
    if let Ok(values) = found {
        if values[slot].is_some() {
            *found = Err(PickError::Duplicate(key));
        } else {
            values[slot] = value;
        }
    }
}

/// Which of the wanted keys a key is; `written` is without its quotes.
#[inline]
fn slot_of(written: &[u8], escaped: bool, wanted: &[&'static str]) -> Option<usize> {
    if escaped {
        return slot_of_escaped(written, wanted);
    }
    wanted.iter().position(|name| name.as_bytes() == written)
}

#[cold]
fn slot_of_escaped(written: &[u8], wanted: &[&'static str]) -> Option<usize> {
    let quoted = format!("\"{}\"", std::str::from_utf8(written).ok()?);
    // A key that is no Unicode text is none of ours.
    let plain = plain_string(&quoted)?;
    wanted.iter().position(|name| *name == plain)
}
