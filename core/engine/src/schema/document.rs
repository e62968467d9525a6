//! A JSON text as a flat list of nodes: what the validator and the passes over a schema's text read.
//!
//! It decides what the text says where readers disagree, so that validation sees what host code will see:
//!
//! - Of equal keys in one object the last one counts, as in Python's `json` and JavaScript's `JSON.parse`.
//! - An escape of an unpaired surrogate (`\ud83d`), which is JSON by the grammar and no Unicode text, reads as U+FFFD.
//! - Numbers stay text. No number is out of range and no digit is lost.
//!
//! serde_json's `Value` does none of the three (it refuses the second and `1e400`), which is why it is not used here.
//! The parser accepts exactly the grammar of RFC 8259, works in linear time and does not recurse; the depth limit is for
//! those who walk the nodes recursively.

mod parser;

use std::fmt;
use std::ops::Range;

#[cfg(feature = "schema")]
use serde_json::{Map, Value};

#[cfg(feature = "schema")]
use super::number;

/// Objects of up to this many members are searched key by key; larger ones get a sorted index, so that neither lookups
/// nor the search for equal keys are quadratic.
const SCANNED_MEMBERS: usize = 16;

/// No index: the object is small.
const NO_INDEX: u32 = u32::MAX;

/// What a node is. A member is two nodes: its key, then its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    True,
    False,
    Number,
    String,
    Array,
    Object,
    Key,
    /// A key that comes again later in the same object: as if it were not there.
    ShadowedKey,
}

/// One value or key. Positions are 32 bits wide to keep a node at 24 bytes.
#[derive(Clone, Copy, Debug)]
struct Node {
    kind: Kind,
    /// For strings and keys: whether the text stands in `Document::decoded`.
    has_escapes: bool,
    /// Where it stands in the text, with its quotes or brackets.
    start: u32,
    end: u32,
    content: Content,
}

/// Strings and containers share the space. Of a string with escapes `first..second` is its place in `Document::decoded`.
/// Of a container `first` is the node after its last descendant and `second` the number of its elements or members; of
/// an object `index` is where its sorted keys begin in `Document::sorted_keys`.
#[derive(Clone, Copy, Debug)]
struct Content {
    first: u32,
    second: u32,
    index: u32,
}

/// A parsed JSON text. Nodes are named by their place in reading order; the root is [`Document::ROOT`].
#[derive(Debug)]
pub(super) struct Document<'t> {
    text: &'t str,
    nodes: Vec<Node>,
    /// The contents of all strings that are written with escapes.
    decoded: String,
    /// The key nodes of all large objects, each object's in a run, ordered by their text.
    sorted_keys: Vec<u32>,
}

/// Why a text is no document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DocumentError {
    /// Not JSON, seen at this byte.
    Syntax { offset: usize },
    /// Arrays and objects nested deeper than the caller allows.
    TooDeep { limit: usize },
    /// 4 GiB or more.
    TooLong,
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { offset } => write!(f, "not valid JSON at byte {offset}"),
            Self::TooDeep { limit } => write!(f, "nested deeper than {limit} levels"),
            Self::TooLong => f.write_str("longer than 4 GiB"),
        }
    }
}

impl<'t> Document<'t> {
    /// The outermost value.
    pub(super) const ROOT: u32 = 0;

    /// Parses exactly one JSON text, with blanks around it allowed.
    pub(super) fn parse(text: &'t str, max_depth: usize) -> Result<Self, DocumentError> {
        if u32::try_from(text.len()).is_err() {
            return Err(DocumentError::TooLong);
        }
        parser::parse(text, max_depth)
    }

    /// How many nodes there are, keys included.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn kind(&self, node: u32) -> Kind {
        self.node(node).kind
    }

    /// Where a node stands in the text.
    pub(super) fn span(&self, node: u32) -> Range<usize> {
        self.node(node).start as usize..self.node(node).end as usize
    }

    /// A node as it is written.
    pub(super) fn raw(&self, node: u32) -> &'t str {
        &self.text[self.span(node)]
    }

    /// The contents of a string or key; of anything else, nothing.
    pub(super) fn string(&self, node: u32) -> &str {
        let Node { kind, has_escapes, start, end, content } = *self.node(node);
        match kind {
            Kind::String | Kind::Key | Kind::ShadowedKey if has_escapes => {
                &self.decoded[content.first as usize..content.second as usize]
            }
            Kind::String | Kind::Key | Kind::ShadowedKey => &self.text[start as usize + 1..end as usize - 1],
            _ => "",
        }
    }

    /// How many elements an array or members an object has, shadowed ones not counted.
    pub(super) fn count(&self, node: u32) -> usize {
        match self.kind(node) {
            Kind::Array | Kind::Object => self.node(node).content.second as usize,
            _ => 0,
        }
    }

    /// The node after a value and all that is in it.
    pub(super) fn after(&self, node: u32) -> u32 {
        match self.kind(node) {
            Kind::Array | Kind::Object => self.node(node).content.first,
            _ => node + 1,
        }
    }

    /// The elements of an array, in order; none for anything else.
    pub(super) fn elements(&self, node: u32) -> impl Iterator<Item = u32> + use<'_, 't> {
        let end = if self.kind(node) == Kind::Array { self.after(node) } else { node + 1 };
        let mut next = node + 1;
        std::iter::from_fn(move || {
            let element = next;
            (element < end).then(|| {
                next = self.after(element);
                element
            })
        })
    }

    /// The members of an object as key and value nodes, in order, shadowed ones left out; none for anything else.
    pub(super) fn members(&self, node: u32) -> impl Iterator<Item = (u32, u32)> + use<'_, 't> {
        let end = if self.kind(node) == Kind::Object { self.after(node) } else { node + 1 };
        let mut next = node + 1;
        std::iter::from_fn(move || self.next_member(&mut next, end))
    }

    /// The member at or after node `next`, which must be a key or `end`.
    pub(super) fn next_member(&self, next: &mut u32, end: u32) -> Option<(u32, u32)> {
        while *next < end {
            let key = *next;
            *next = self.after(key + 1);
            if self.kind(key) == Kind::Key {
                return Some((key, key + 1));
            }
        }
        None
    }

    /// The value of an object's member.
    pub(super) fn get(&self, object: u32, key: &str) -> Option<u32> {
        let node = self.node(object);
        if node.kind != Kind::Object {
            return None;
        }
        if node.content.index == NO_INDEX {
            let mut next = object + 1;
            while let Some((name, value)) = self.next_member(&mut next, node.content.first) {
                if self.string(name) == key {
                    return Some(value);
                }
            }
            return None;
        }
        let start = node.content.index as usize;
        let keys = &self.sorted_keys[start..start + node.content.second as usize];
        keys.binary_search_by(|name| self.string(*name).cmp(key)).ok().map(|found| keys[found] + 1)
    }

    /// The value that a JSON Pointer (RFC 6901) leads to, from `node` on.
    pub(super) fn pointer(&self, node: u32, pointer: &str) -> Option<u32> {
        if pointer.is_empty() {
            return Some(node);
        }
        pointer.strip_prefix('/')?.split('/').try_fold(node, |at, token| match self.kind(at) {
            Kind::Object if token.contains('~') => self.get(at, &token.replace("~1", "/").replace("~0", "~")),
            Kind::Object => self.get(at, token),
            Kind::Array => self.elements(at).nth(token.parse().ok()?),
            _ => None,
        })
    }

    /// A node as serde_json's tree, which is as exact as that tree can be: integers past 64 bits become floats, numbers
    /// past the range of a float become the largest float.
    #[cfg(feature = "schema")]
    pub(super) fn to_value(&self, node: u32) -> Value {
        match self.kind(node) {
            Kind::Null => Value::Null,
            Kind::True => Value::Bool(true),
            Kind::False => Value::Bool(false),
            Kind::Number => Value::Number(number::to_number(self.raw(node))),
            Kind::String | Kind::Key | Kind::ShadowedKey => Value::String(self.string(node).to_owned()),
            Kind::Array => self.elements(node).map(|element| self.to_value(element)).collect(),
            Kind::Object => Value::Object(
                self.members(node)
                    .map(|(key, value)| (self.string(key).to_owned(), self.to_value(value)))
                    .collect::<Map<_, _>>(),
            ),
        }
    }

    fn node(&self, node: u32) -> &Node {
        &self.nodes[node as usize]
    }

    /// All members of `object` have been read: finds equal keys and builds the index of a large object.
    fn close_object(&mut self, object: u32) {
        let end = self.nodes.len() as u32;
        let members = self.node(object).content.second as usize;
        let (remaining, index) = if members <= SCANNED_MEMBERS {
            (members - self.shadow_by_scanning(object, end), NO_INDEX)
        } else {
            let start = self.sorted_keys.len();
            let mut next = object + 1;
            while let Some((key, value)) = self.next_member(&mut next, end) {
                debug_assert_eq!(value, key + 1);
                self.sorted_keys.push(key);
            }
            let mut keys = self.sorted_keys.split_off(start);
            keys.sort_unstable_by(|a, b| self.string(*a).cmp(self.string(*b)).then(a.cmp(b)));
            for pair in keys.windows(2) {
                if self.string(pair[0]) == self.string(pair[1]) {
                    self.nodes[pair[0] as usize].kind = Kind::ShadowedKey;
                }
            }
            keys.retain(|key| self.kind(*key) == Kind::Key);
            self.sorted_keys.extend_from_slice(&keys);
            (keys.len(), start as u32)
        };
        self.nodes[object as usize].content = Content { first: end, second: remaining as u32, index };
    }

    /// Marks all but the last of equal keys and tells how many that were.
    fn shadow_by_scanning(&mut self, object: u32, end: u32) -> usize {
        let mut shadowed = 0;
        let mut seen = [0; SCANNED_MEMBERS];
        // One bit for each of 64 coarse hashes: most objects are done without comparing two keys.
        let mut hashes = 0_u64;
        let mut count = 0;
        let mut next = object + 1;
        while let Some((key, _)) = self.next_member(&mut next, end) {
            let bytes = self.string(key).as_bytes();
            let middle = bytes.get(bytes.len() / 2).map_or(0, |byte| usize::from(*byte));
            let edges = usize::from(*bytes.first().unwrap_or(&0)) * 7 + usize::from(*bytes.last().unwrap_or(&0)) * 3;
            let bit = 1 << ((bytes.len() * 31 + middle * 13 + edges) % 64);
            if hashes & bit != 0 {
                // At most one earlier key is equal and not yet marked.
                let equal = seen[..count].iter_mut().find(|earlier| self.string(**earlier) == self.string(key));
                if let Some(equal) = equal {
                    self.nodes[*equal as usize].kind = Kind::ShadowedKey;
                    *equal = key;
                    shadowed += 1;
                    continue;
                }
            }
            hashes |= bit;
            seen[count] = key;
            count += 1;
        }
        shadowed
    }
}

#[cfg(all(test, feature = "schema"))]
pub(super) mod tests;
