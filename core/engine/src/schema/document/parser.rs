//! From text to nodes: exactly the grammar of RFC 8259, one byte after the other, without recursion.

use crate::jsonrpc::marks;

use super::{Content, Document, DocumentError, Kind, NO_INDEX, Node};

/// Parses a text whose positions fit in 32 bits.
pub(super) fn parse(text: &str, max_depth: usize) -> Result<Document<'_>, DocumentError> {
    // A guess that fits small values, and spares large ones the first few steps of growing.
    let nodes = Vec::with_capacity((text.len() / 8).clamp(4, 1024));
    let document = Document { text, nodes, decoded: String::new(), sorted_keys: Vec::new() };
    let mut parser = Parser { bytes: text.as_bytes(), at: 0, max_depth, open: Vec::new(), document };
    parser.run()?;
    Ok(parser.document)
}

struct Parser<'t> {
    bytes: &'t [u8],
    at: usize,
    max_depth: usize,
    /// The containers that the parser is inside of.
    open: Vec<u32>,
    document: Document<'t>,
}

impl Parser<'_> {
    fn run(&mut self) -> Result<(), DocumentError> {
        loop {
            self.skip_blanks();
            let start = self.at;
            let opened = match self.peek() {
                Some(b'{') => self.open(Kind::Object, b'}')?,
                Some(b'[') => self.open(Kind::Array, b']')?,
                Some(b'"') => {
                    self.string(Kind::String)?;
                    false
                }
                Some(b'-' | b'0'..=b'9') => {
                    self.number()?;
                    self.push(Kind::Number, start);
                    false
                }
                Some(b't') => self.literal("true", Kind::True)?,
                Some(b'f') => self.literal("false", Kind::False)?,
                Some(b'n') => self.literal("null", Kind::Null)?,
                _ => return self.syntax_error(),
            };
            if !opened && !self.after_value()? {
                return Ok(());
            }
        }
    }

    /// Goes on to where the next value begins; false at the end of the text.
    fn after_value(&mut self) -> Result<bool, DocumentError> {
        loop {
            self.skip_blanks();
            let Some(&container) = self.open.last() else {
                return if self.at == self.bytes.len() { Ok(false) } else { self.syntax_error() };
            };
            match (self.peek(), self.document.kind(container)) {
                (Some(b','), Kind::Array) => {
                    self.at += 1;
                    self.document.nodes[container as usize].content.second += 1;
                    return Ok(true);
                }
                (Some(b','), Kind::Object) => {
                    self.at += 1;
                    self.skip_blanks();
                    self.key(container)?;
                    return Ok(true);
                }
                (Some(b']'), Kind::Array) | (Some(b'}'), Kind::Object) => self.close(container),
                _ => return self.syntax_error(),
            }
        }
    }

    /// Begins a container; false if it is empty and so already closed.
    fn open(&mut self, kind: Kind, closing: u8) -> Result<bool, DocumentError> {
        if self.open.len() >= self.max_depth {
            return Err(DocumentError::TooDeep { limit: self.max_depth });
        }
        let container = self.document.nodes.len() as u32;
        self.push(kind, self.at);
        self.open.push(container);
        self.at += 1;
        self.skip_blanks();
        if self.peek() == Some(closing) {
            self.close(container);
            return Ok(false);
        }
        if kind == Kind::Object {
            self.key(container)?;
        } else {
            self.document.nodes[container as usize].content.second += 1;
        }
        Ok(true)
    }

    fn close(&mut self, container: u32) {
        self.at += 1;
        self.open.pop();
        let after = self.document.nodes.len() as u32;
        let node = &mut self.document.nodes[container as usize];
        node.end = self.at as u32;
        node.content.first = after;
        if node.kind == Kind::Object {
            self.document.close_object(container);
        }
    }

    fn key(&mut self, object: u32) -> Result<(), DocumentError> {
        if self.peek() != Some(b'"') {
            return self.syntax_error();
        }
        self.string(Kind::Key)?;
        self.skip_blanks();
        if self.peek() != Some(b':') {
            return self.syntax_error();
        }
        self.at += 1;
        self.document.nodes[object as usize].content.second += 1;
        Ok(())
    }

    /// Reads a string from its opening quote on.
    fn string(&mut self, kind: Kind) -> Result<(), DocumentError> {
        let start = self.at;
        self.at += 1;
        self.skip_plain();
        if self.peek() == Some(b'"') {
            self.at += 1;
            self.push(kind, start);
            return Ok(());
        }
        let decoded_start = self.document.decoded.len() as u32;
        let mut copied = start + 1;
        loop {
            self.document.decoded.push_str(&self.document.text[copied..self.at]);
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                _ => return self.syntax_error(),
            }
            copied = self.at;
            self.skip_plain();
        }
        self.at += 1;
        let decoded_end = self.document.decoded.len() as u32;
        self.push(kind, start);
        if let Some(node) = self.document.nodes.last_mut() {
            node.has_escapes = true;
            node.content = Content { first: decoded_start, second: decoded_end, index: NO_INDEX };
        }
        Ok(())
    }

    /// Decodes one escape, or two that are a surrogate pair.
    fn escape(&mut self) -> Result<(), DocumentError> {
        self.at += 1;
        let decoded = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                let decoded = self.unicode_escape()?;
                self.document.decoded.push(decoded);
                return Ok(());
            }
            _ => return self.syntax_error(),
        };
        self.at += 1;
        self.document.decoded.push(decoded);
        Ok(())
    }

    fn unicode_escape(&mut self) -> Result<char, DocumentError> {
        let unit = self.four_digits()?;
        let is_high = (0xd800..0xdc00).contains(&unit);
        if is_high && self.bytes[self.at..].starts_with(b"\\u") {
            let first_end = self.at;
            self.at += 2;
            let low = self.four_digits()?;
            if (0xdc00..0xe000).contains(&low) {
                let code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            // The second one is no half of a pair; it is read again on its own.
            self.at = first_end;
        }
        Ok(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn four_digits(&mut self) -> Result<u32, DocumentError> {
        let mut unit = 0;
        for _ in 0..4 {
            match self.peek().and_then(|byte| char::from(byte).to_digit(16)) {
                Some(digit) => unit = unit * 16 + digit,
                None => return self.syntax_error(),
            }
            self.at += 1;
        }
        Ok(unit)
    }

    /// Skips what stands for itself in a string.
    fn skip_plain(&mut self) {
        self.at = marks::quote_escape_or_control(self.bytes, self.at);
    }

    fn number(&mut self) -> Result<(), DocumentError> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
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

    fn digits(&mut self) -> Result<(), DocumentError> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start { self.syntax_error() } else { Ok(()) }
    }

    fn literal(&mut self, word: &str, kind: Kind) -> Result<bool, DocumentError> {
        let start = self.at;
        if !self.bytes[start..].starts_with(word.as_bytes()) {
            return self.syntax_error();
        }
        self.at += word.len();
        self.push(kind, start);
        Ok(false)
    }

    /// Adds a node that ends here. Containers get their end when they are closed.
    fn push(&mut self, kind: Kind, start: usize) {
        self.document.nodes.push(Node {
            kind,
            has_escapes: false,
            start: start as u32,
            end: self.at as u32,
            content: Content { first: 0, second: 0, index: NO_INDEX },
        });
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn syntax_error<T>(&self) -> Result<T, DocumentError> {
        Err(DocumentError::Syntax { offset: self.at })
    }
}
