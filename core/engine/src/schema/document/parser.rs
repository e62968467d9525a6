//! From text to nodes: the grammar is the cursor's, here the nodes are made, without recursion.

use super::{Content, Document, DocumentError, Kind, NO_INDEX, Node};
use crate::jsonrpc::cursor::{Cursor, Malformed};
use memchr::memchr;

/// Parses a text whose positions fit in 32 bits.
pub(super) fn parse(text: &str, max_depth: usize) -> Result<Document<'_>, DocumentError> {
    // A guess that fits small values, and spares large ones the first few steps of growing.
    let nodes = Vec::with_capacity((text.len() / 8).clamp(4, 1024));
    let document = Document { text, nodes, decoded: String::new(), sorted_keys: Vec::new() };
    let mut parser = Parser { cursor: Cursor::new(text), max_depth, depth: 0, innermost: 0, document };
    parser.run()?;
    Ok(parser.document)
}

struct Parser<'t> {
    cursor: Cursor<'t>,
    max_depth: usize,
    /// How many containers the parser is inside of.
    depth: usize,
    /// The innermost of them. Until it is closed, a container's node names in `content.first` the one that it lies in.
    innermost: u32,
    document: Document<'t>,
}

impl From<Malformed> for DocumentError {
    fn from(malformed: Malformed) -> Self {
        Self::Syntax { offset: malformed.at }
    }
}

impl Parser<'_> {
    fn run(&mut self) -> Result<(), DocumentError> {
        loop {
            self.cursor.blanks();
            let opened = match self.cursor.peek() {
                Some(b'{') => self.open(Kind::Object, b'}')?,
                Some(b'[') => self.open(Kind::Array, b']')?,
                _ => {
                    self.scalar()?;
                    false
                }
            };
            if !opened && !self.after_value()? {
                return Ok(());
            }
        }
    }

    fn scalar(&mut self) -> Result<(), DocumentError> {
        let start = self.cursor.at;
        let kind = match self.cursor.peek() {
            Some(b'"') => return self.string(Kind::String),
            Some(b't') => Kind::True,
            Some(b'f') => Kind::False,
            Some(b'n') => Kind::Null,
            _ => Kind::Number,
        };
        self.cursor.value()?;
        self.push(kind, start);
        Ok(())
    }

    /// Goes on to where the next value begins; false at the end of the text.
    fn after_value(&mut self) -> Result<bool, DocumentError> {
        loop {
            self.cursor.blanks();
            if self.depth == 0 {
                self.cursor.end()?;
                return Ok(false);
            }
            let container = self.innermost;
            match (self.cursor.peek(), self.document.kind(container)) {
                (Some(b','), Kind::Array) => {
                    self.cursor.at += 1;
                    self.document.nodes[container as usize].content.second += 1;
                    return Ok(true);
                }
                (Some(b','), Kind::Object) => {
                    self.cursor.at += 1;
                    self.cursor.blanks();
                    self.key(container)?;
                    return Ok(true);
                }
                (Some(b']'), Kind::Array) | (Some(b'}'), Kind::Object) => self.close(container),
                _ => return Ok(self.cursor.unexpected()?),
            }
        }
    }

    /// Begins a container; false if it is empty and so already closed.
    fn open(&mut self, kind: Kind, closing: u8) -> Result<bool, DocumentError> {
        if self.depth >= self.max_depth {
            return Err(DocumentError::TooDeep { limit: self.max_depth });
        }
        let container = self.document.nodes.len() as u32;
        self.push(kind, self.cursor.at);
        self.document.nodes[container as usize].content.first = self.innermost;
        self.innermost = container;
        self.depth += 1;
        self.cursor.at += 1;
        self.cursor.blanks();
        if self.cursor.peek() == Some(closing) {
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
        self.cursor.at += 1;
        self.depth -= 1;
        let after = self.document.nodes.len() as u32;
        let node = &mut self.document.nodes[container as usize];
        self.innermost = node.content.first;
        node.end = self.cursor.at as u32;
        node.content.first = after;
        if node.kind == Kind::Object {
            self.document.close_object(container);
        }
    }

    fn key(&mut self, object: u32) -> Result<(), DocumentError> {
        self.string(Kind::Key)?;
        self.cursor.blanks();
        self.cursor.expect(b':')?;
        self.document.nodes[object as usize].content.second += 1;
        Ok(())
    }

    /// Reads a string from its opening quote on.
    fn string(&mut self, kind: Kind) -> Result<(), DocumentError> {
        let start = self.cursor.at;
        let escaped = self.cursor.string()?;
        self.push(kind, start);
        if escaped {
            let decoded_start = self.document.decoded.len() as u32;
            decode(&mut self.document.decoded, &self.document.text[start + 1..self.cursor.at - 1]);
            let decoded_end = self.document.decoded.len() as u32;
            if let Some(node) = self.document.nodes.last_mut() {
                node.has_escapes = true;
                node.content = Content { first: decoded_start, second: decoded_end, index: NO_INDEX };
            }
        }
        Ok(())
    }

    /// Adds a node that ends here. Containers get their end when they are closed.
    fn push(&mut self, kind: Kind, start: usize) {
        self.document.nodes.push(Node {
            kind,
            has_escapes: false,
            start: start as u32,
            end: self.cursor.at as u32,
            content: Content { first: 0, second: 0, index: NO_INDEX },
        });
    }
}

/// Appends what stands between the quotes of a valid string, decoded.
fn decode(out: &mut String, written: &str) {
    let mut rest = written;
    while let Some(at) = memchr(b'\\', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let (decoded, length) = match rest.as_bytes().first() {
            Some(b'b') => ('\u{8}', 1),
            Some(b'f') => ('\u{c}', 1),
            Some(b'n') => ('\n', 1),
            Some(b'r') => ('\r', 1),
            Some(b't') => ('\t', 1),
            Some(b'u') => unicode_escape(rest),
            // A quote, a backslash or a slash.
            other => (char::from(other.copied().unwrap_or_default()), 1),
        };
        out.push(decoded);
        rest = &rest[length..];
    }
    out.push_str(rest);
}

/// What `uXXXX`, or two such escapes that are a surrogate pair, stand for, and their length. A half without its other half
/// is no character.
fn unicode_escape(written: &str) -> (char, usize) {
    let unit = |at: usize| written.get(at..at + 4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let first = unit(1).unwrap_or_default();
    if (0xd800..0xdc00).contains(&first)
        && written[5..].starts_with("\\u")
        && let Some(second @ 0xdc00..0xe000) = unit(7)
    {
        let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        return (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 11);
    }
    (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 5)
}
