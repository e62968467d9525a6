//! JSON that keeps what serde_json's tree would lose: the text of numbers, the order of members, unpaired surrogates.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// A JSON value.
#[derive(Clone, Debug)]
pub enum Json {
    /// `null`, `true` or `false`, as written.
    Literal(String),
    /// A number, as written.
    Number(String),
    /// A string: the text with its quotes and escapes, and what it stands for where that is Unicode text.
    Text { raw: String, plain: Option<String> },
    /// An array.
    Array(Vec<Json>),
    /// An object.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads one JSON text.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| format!("{error} in {text:.200}"))
    }

    /// A string value.
    pub fn text(plain: &str) -> Self {
        let raw = serde_json::to_string(plain).expect("a string is always JSON");
        Self::Text { raw, plain: Some(plain.to_owned()) }
    }

    /// The member of an object, if this is one and has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.members().iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The members of an object; none for anything else.
    pub fn members(&self) -> &[(String, Self)] {
        match self {
            Self::Object(members) => members,
            _ => &[],
        }
    }

    /// The elements of an array; none for anything else.
    pub fn elements(&self) -> &[Self] {
        match self {
            Self::Array(elements) => elements,
            _ => &[],
        }
    }

    /// What a string stands for.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { plain, .. } => plain.as_deref(),
            _ => None,
        }
    }

    /// A number that fits.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Number(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// A number, rounded.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Number(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// True for the literal `true`.
    pub fn is_true(&self) -> bool {
        matches!(self, Self::Literal(text) if text == "true")
    }

    /// True for `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Literal(text) if text == "null")
    }

    /// The name of its type, `integer` for a number without fraction and exponent.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Literal(text) if text == "null" => "null",
            Self::Literal(_) => "boolean",
            Self::Number(text) if text.bytes().all(|b| b.is_ascii_digit() || b == b'-') => "integer",
            Self::Number(_) => "number",
            Self::Text { .. } => "string",
            Self::Array(_) => "array",
            Self::Object(_) => "object",
        }
    }

    /// Compact text, with numbers and escapes as they were written.
    pub fn write(&self) -> String {
        let mut out = String::new();
        self.write_to(&mut out);
        out
    }

    fn write_to(&self, out: &mut String) {
        match self {
            Self::Literal(text) | Self::Number(text) | Self::Text { raw: text, .. } => out.push_str(text),
            Self::Array(elements) => {
                out.push('[');
                for (at, element) in elements.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    element.write_to(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (at, (key, value)) in members.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    out.push_str(&serde_json::to_string(key).expect("a string is always JSON"));
                    out.push(':');
                    value.write_to(out);
                }
                out.push('}');
            }
        }
    }
}

/// Equal as JSON: members in any order, strings by what they stand for, numbers by their text.
impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Literal(a), Self::Literal(b)) | (Self::Number(a), Self::Number(b)) => a == b,
            (Self::Text { plain: Some(a), .. }, Self::Text { plain: Some(b), .. }) => a == b,
            (Self::Text { raw: a, .. }, Self::Text { raw: b, .. }) => a == b,
            (Self::Array(a), Self::Array(b)) => a == b,
            (Self::Object(a), Self::Object(b)) => {
                a.len() == b.len() && a.iter().all(|(key, value)| other.get(key) == Some(value))
            }
            _ => false,
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let text = raw.get();
        match text.as_bytes()[0] {
            b'{' => serde_json::from_str::<Members>(text).map(|members| Self::Object(members.0)).map_err(Error::custom),
            b'[' => serde_json::from_str(text).map(Self::Array).map_err(Error::custom),
            b'"' => Ok(Self::Text { raw: text.to_owned(), plain: serde_json::from_str(text).ok() }),
            b't' | b'f' | b'n' => Ok(Self::Literal(text.to_owned())),
            _ => Ok(Self::Number(text.to_owned())),
        }
    }
}

/// An object's members in their order.
struct Members(Vec<(String, Json)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Members;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members: Vec<(String, Json)> = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, Json>()? {
                    if members.iter().any(|(name, _)| *name == key) {
                        return Err(Error::custom(format!("the key {key:?} stands twice")));
                    }
                    members.push((key, value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Visit)
    }
}
