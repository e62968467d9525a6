//! A document as the `jsonschema` crate walks it.
//!
//! The crate validates any representation of JSON that implements its traits. This one reads [`Document`]: numbers are
//! exact, nothing is copied, and every look at a value costs a step of a budget. When the budget is used up, containers
//! seem empty, so that whatever the validator was doing ends soon; what it then says is worth nothing, and
//! [`Instance::is_exhausted`] tells so. That bounds the time of one validation without a clock.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, JsonNumber, Node, NodeIdentity, Object};
use serde_json::{Number, Value};

use super::document::{Document, Kind};
use super::number::{self, Decimal};

/// What making one error costs, in steps: an error takes about as much memory and time as this many looks.
const STEPS_PER_ERROR: u64 = 64;

/// What an error holds that was made after the budget was used up. Other errors hold a name, null or the full root.
fn exhausted_mark() -> Value {
    Value::Array(Vec::new())
}

/// A document that is being validated.
#[derive(Debug)]
pub(super) struct Instance<'t> {
    document: Document<'t>,
    steps_left: Cell<u64>,
    /// Errors at the root hold the whole value. The crate looks values up in it when it has to report a pattern that it
    /// could not finish matching, and panics where they are not there.
    has_full_root: bool,
}

impl<'t> Instance<'t> {
    pub(super) fn new(document: Document<'t>, has_full_root: bool) -> Self {
        Self { document, steps_left: Cell::new(0), has_full_root }
    }

    pub(super) fn document(&self) -> &Document<'t> {
        &self.document
    }

    /// The outermost value, with a new budget.
    pub(super) fn root(&self, steps: u64) -> Handle<'_> {
        self.steps_left.set(steps);
        Handle::Node(self, Document::ROOT)
    }

    /// Whether the budget was used up since [`Instance::root`].
    pub(super) fn is_exhausted(&self) -> bool {
        self.steps_left.get() == 0
    }

    /// Whether an error was made before the budget was used up, so that it can be believed. `error_value` is the value
    /// that the error holds; a full root does not tell when it was made.
    pub(super) fn can_believe(&self, error_value: &Value, is_root: bool) -> bool {
        if is_root && self.has_full_root {
            return !self.is_exhausted();
        }
        *error_value != exhausted_mark()
    }

    fn spend(&self, steps: u64) {
        self.steps_left.set(self.steps_left.get().saturating_sub(steps));
    }
}

/// The marker that names this representation to the crate.
#[derive(Debug)]
pub(super) struct TextJson;

/// One value of an instance, or a member's name that the validator made a value of its own of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Handle<'a> {
    Node(&'a Instance<'a>, u32),
    Name(&'a String),
}

impl Json for TextJson {
    type Node<'a> = Handle<'a>;
    type PreparedKey = String;
    type StringBuffer = String;

    /// A lookup compares the object's keys one by one, so a pass over all of them is soon worth its while.
    const KEYS_PER_LOOKUP: usize = 4;
    const ACYCLIC: bool = true;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(buffer: &mut String, string: &str, f: impl FnOnce(Handle<'_>) -> T) -> T {
        buffer.clear();
        buffer.push_str(string);
        f(Handle::Name(buffer))
    }
}

impl<'a> Handle<'a> {
    fn kind(&self) -> Kind {
        match self {
            Self::Node(instance, node) => {
                instance.spend(1);
                instance.document.kind(*node)
            }
            Self::Name(_) => Kind::String,
        }
    }

    fn container(&self, kind: Kind) -> Option<Container<'a>> {
        match *self {
            Self::Node(instance, node) if self.kind() == kind => Some(Container { instance, node }),
            _ => None,
        }
    }

    /// A hash that is equal for values that [`Self::equals`] finds equal.
    fn hash_into(&self, state: &mut DefaultHasher) {
        let kind = self.kind();
        match (kind, *self) {
            (Kind::Number, Self::Node(instance, node)) => Decimal::of(instance.document.raw(node)).hash(state),
            (Kind::Array, Self::Node(instance, node)) => {
                state.write_u8(b'[');
                instance.document.elements(node).for_each(|element| Self::Node(instance, element).hash_into(state));
                state.write_u8(b']');
            }
            (Kind::Object, Self::Node(instance, node)) => {
                // The order of members does not count, so their hashes are added up.
                let members = instance.document.members(node).map(|(key, value)| {
                    let mut member = DefaultHasher::new();
                    instance.document.string(key).hash(&mut member);
                    Self::Node(instance, value).hash_into(&mut member);
                    member.finish()
                });
                state.write_u64(members.fold(1, u64::wrapping_add));
            }
            (Kind::Null | Kind::True | Kind::False, _) => state.write_u8(kind as u8),
            _ => self.as_string().hash(state),
        }
    }

    /// Whether two values are equal as JSON Schema has it: numbers by their value, objects whatever their order.
    fn equals(&self, other: &Self) -> bool {
        let (Self::Node(instance, node), Self::Node(_, other_node)) = (*self, *other) else {
            return self.as_string().is_some_and(|string| Some(string) == other.as_string());
        };
        let document = &instance.document;
        let same = |a: u32, b: u32| Self::Node(instance, a).equals(&Self::Node(instance, b));
        match (self.kind(), other.kind()) {
            (Kind::Number, Kind::Number) => Decimal::of(document.raw(node)) == Decimal::of(document.raw(other_node)),
            (Kind::Array, Kind::Array) => {
                document.count(node) == document.count(other_node)
                    && document.elements(node).zip(document.elements(other_node)).all(|(a, b)| same(a, b))
            }
            (Kind::Object, Kind::Object) => {
                document.count(node) == document.count(other_node)
                    && document.members(node).all(|(key, value)| {
                        document.get(other_node, document.string(key)).is_some_and(|found| same(value, found))
                    })
            }
            (Kind::String, Kind::String) => document.string(node) == document.string(other_node),
            (kind, other_kind) => kind == other_kind,
        }
    }
}

impl<'a> Node<'a, TextJson> for Handle<'a> {
    type Object = Container<'a>;
    type Array = Container<'a>;
    type Number = NumberText<'a>;

    fn as_object(&self) -> Option<Container<'a>> {
        self.container(Kind::Object)
    }

    fn as_array(&self) -> Option<Container<'a>> {
        self.container(Kind::Array)
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        match *self {
            Self::Name(name) => Some(Cow::Borrowed(name)),
            Self::Node(instance, node) => {
                matches!(self.kind(), Kind::String | Kind::Key).then(|| Cow::Borrowed(instance.document.string(node)))
            }
        }
    }

    fn as_number(&self) -> Option<NumberText<'a>> {
        match *self {
            Self::Node(instance, node) if self.kind() == Kind::Number => Some(NumberText(instance.document.raw(node))),
            _ => None,
        }
    }

    fn as_boolean(&self) -> Option<bool> {
        match self.kind() {
            Kind::True => Some(true),
            Kind::False => Some(false),
            _ => None,
        }
    }

    fn is_null(&self) -> bool {
        self.kind() == Kind::Null
    }

    fn is_number(&self) -> bool {
        self.kind() == Kind::Number
    }

    fn json_type(&self) -> JsonType {
        match self.kind() {
            Kind::Null => JsonType::Null,
            Kind::True | Kind::False => JsonType::Boolean,
            Kind::Number => JsonType::Number,
            Kind::String | Kind::Key | Kind::ShadowedKey => JsonType::String,
            Kind::Array => JsonType::Array,
            Kind::Object => JsonType::Object,
        }
    }

    fn string_length_within(&self, min: u64, max: u64) -> Option<bool> {
        let string = self.as_string()?;
        // A character takes one to four bytes, which decides most cases without counting.
        let most = string.len() as u64;
        let fewest = most.div_ceil(4);
        if most < min || fewest > max {
            return Some(false);
        }
        if fewest >= min && most <= max {
            return Some(true);
        }
        Some((min..=max).contains(&(string.chars().count() as u64)))
    }

    fn equals_value(&self, expected: &Value) -> bool {
        match (expected, *self) {
            (Value::String(expected), _) => self.as_string().is_some_and(|string| string == *expected),
            (Value::Null, _) => self.is_null(),
            (Value::Bool(expected), _) => self.as_boolean() == Some(*expected),
            (Value::Number(expected), _) => self.as_number().is_some_and(|number| number.equals(expected)),
            (Value::Array(expected), Self::Node(instance, node)) => {
                self.kind() == Kind::Array
                    && instance.document.count(node) == expected.len()
                    && instance
                        .document
                        .elements(node)
                        .zip(expected)
                        .all(|(element, expected)| Self::Node(instance, element).equals_value(expected))
            }
            (Value::Object(expected), Self::Node(instance, node)) => {
                self.kind() == Kind::Object
                    && instance.document.count(node) == expected.len()
                    && expected.iter().all(|(key, expected)| {
                        let found = instance.document.get(node, key);
                        found.is_some_and(|value| Self::Node(instance, value).equals_value(expected))
                    })
            }
            (_, Self::Name(_)) => false,
        }
    }

    /// Made for every error. The message is written from the text, so a container needs no copy here.
    fn to_value(&self) -> Cow<'a, Value> {
        let Self::Node(instance, node) = *self else {
            return Cow::Owned(self.as_string().map_or(Value::Null, |name| Value::String(name.into_owned())));
        };
        if instance.has_full_root && node == Document::ROOT && instance.document.count(node) > 0 {
            instance.spend(STEPS_PER_ERROR + instance.document.len() as u64 / 4);
            return Cow::Owned(instance.document.to_value(node));
        }
        instance.spend(STEPS_PER_ERROR);
        if instance.is_exhausted() {
            return Cow::Owned(exhausted_mark());
        }
        Cow::Owned(match instance.document.kind(node) {
            Kind::Key => Value::String(instance.document.string(node).to_owned()),
            _ => Value::Null,
        })
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(match *self {
            Self::Node(instance, node) => NodeIdentity::tagged(std::ptr::from_ref(instance).addr(), node),
            Self::Name(name) => NodeIdentity::new(std::ptr::from_ref(name).addr()),
        })
    }
}

/// An array or an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Container<'a> {
    instance: &'a Instance<'a>,
    node: u32,
}

impl<'a> Container<'a> {
    fn count(&self) -> usize {
        if self.instance.is_exhausted() { 0 } else { self.instance.document.count(self.node) }
    }

    fn children(&self) -> Children<'a> {
        let end = self.instance.document.after(self.node);
        Children { instance: self.instance, next: self.node + 1, end }
    }
}

impl<'a> Object<'a, TextJson> for Container<'a> {
    type Node = Handle<'a>;
    type MemberName = &'a str;
    type MembersIter = Members<'a>;

    fn len(&self) -> usize {
        self.count()
    }

    fn get(&self, key: &String) -> Option<Handle<'a>> {
        self.instance.spend(1);
        if self.instance.is_exhausted() {
            return None;
        }
        self.instance.document.get(self.node, key).map(|value| Handle::Node(self.instance, value))
    }

    fn members(&self) -> Members<'a> {
        Members(self.children())
    }

    fn try_for_each_name_node<B>(
        &self,
        _: &mut String,
        mut f: impl FnMut(Handle<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let mut children = self.children();
        while let Some((key, _)) = children.next_member() {
            f(Handle::Node(self.instance, key))?;
        }
        ControlFlow::Continue(())
    }
}

impl<'a> Array<'a, TextJson> for Container<'a> {
    type Node = Handle<'a>;
    type ElementsIter = Elements<'a>;

    fn len(&self) -> usize {
        self.count()
    }

    fn elements(&self) -> Elements<'a> {
        Elements(self.children())
    }

    fn is_unique(&self) -> bool {
        let mut seen: HashMap<u64, Vec<Handle<'a>>> = HashMap::new();
        self.elements().all(|element| {
            let mut hash = DefaultHasher::new();
            element.hash_into(&mut hash);
            let alike = seen.entry(hash.finish()).or_default();
            let is_new = !alike.iter().any(|other| element.equals(other));
            alike.push(element);
            is_new
        })
    }
}

/// Walks over what is in a container, as long as the budget lasts.
#[derive(Debug)]
struct Children<'a> {
    instance: &'a Instance<'a>,
    next: u32,
    end: u32,
}

impl Children<'_> {
    fn next_element(&mut self) -> Option<u32> {
        self.instance.spend(1);
        if self.next >= self.end || self.instance.is_exhausted() {
            return None;
        }
        let element = self.next;
        self.next = self.instance.document.after(element);
        Some(element)
    }

    fn next_member(&mut self) -> Option<(u32, u32)> {
        self.instance.spend(1);
        if self.instance.is_exhausted() {
            return None;
        }
        self.instance.document.next_member(&mut self.next, self.end)
    }
}

#[derive(Debug)]
pub(super) struct Elements<'a>(Children<'a>);

impl<'a> Iterator for Elements<'a> {
    type Item = Handle<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next_element().map(|element| Handle::Node(self.0.instance, element))
    }
}

#[derive(Debug)]
pub(super) struct Members<'a>(Children<'a>);

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, Handle<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = self.0.next_member()?;
        let instance = self.0.instance;
        Some((instance.document.string(key), Handle::Node(instance, value)))
    }
}

/// A number as it is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct NumberText<'a>(&'a str);

impl NumberText<'_> {
    /// A schema's own numbers went through serde_json: its integers are exact up to 64 bits, all else is a float.
    fn equals(&self, expected: &Number) -> bool {
        if expected.is_f64() {
            number::to_number(self.0).as_f64() == expected.as_f64()
        } else {
            Decimal::of(self.0) == Decimal::of(&expected.to_string())
        }
    }
}

impl JsonNumber for NumberText<'_> {
    fn as_u64(&self) -> Option<u64> {
        self.0.parse().ok().or_else(|| number::plain_integer(self.0)?.parse().ok())
    }

    fn as_i64(&self) -> Option<i64> {
        self.0.parse().ok().or_else(|| number::plain_integer(self.0)?.parse().ok())
    }

    fn as_f64(&self) -> Option<f64> {
        number::to_f64(self.0)
    }

    /// Integers without an exponent: the crate divides those exactly, digit by digit.
    fn as_str(&self) -> Cow<'_, str> {
        number::plain_integer(self.0).map_or(Cow::Borrowed(self.0), Cow::Owned)
    }

    fn to_number(&self) -> Cow<'_, Number> {
        Cow::Owned(number::to_number(self.0))
    }

    fn is_integer(&self) -> bool {
        number::is_plain(self.0) || Decimal::of(self.0).is_integer()
    }

    fn is_written_as_integer(&self) -> bool {
        number::is_plain(self.0)
    }
}
