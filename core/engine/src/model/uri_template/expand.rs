//! From values to a URI (RFC 6570, section 3.2 and appendix A).

use super::{Operator, Part, Variable};

/// The value of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A list; an empty one is undefined.
    List(Vec<String>),
    /// Names and values; an empty one is undefined.
    Map(Vec<(String, String)>),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// How an operator writes: the table of RFC 6570, appendix A.
struct Style {
    first: &'static str,
    separator: &'static str,
    named: bool,
    if_empty: &'static str,
    reserved: bool,
}

fn style(operator: Operator) -> Style {
    let (first, separator, named, if_empty, reserved) = match operator {
        Operator::Simple => ("", ",", false, "", false),
        Operator::Reserved => ("", ",", false, "", true),
        Operator::Fragment => ("#", ",", false, "", true),
        Operator::Label => (".", ".", false, "", false),
        Operator::Path => ("/", "/", false, "", false),
        Operator::Parameter => (";", ";", true, "", false),
        Operator::Query => ("?", "&", true, "=", false),
        Operator::QueryMore => ("&", "&", true, "=", false),
    };
    Style { first, separator, named, if_empty, reserved }
}

pub(super) fn expand(parts: &[Part], values: &[(&str, Value)]) -> String {
    let mut out = String::new();
    for part in parts {
        match part {
            Part::Literal(text) => encode(&mut out, text, true),
            Part::Expression(operator, variables) => expression(&mut out, &style(*operator), variables, values),
        }
    }
    out
}

fn expression(out: &mut String, style: &Style, variables: &[Variable], values: &[(&str, Value)]) {
    let mut first = true;
    for variable in variables {
        let value = values.iter().find(|(name, _)| *name == variable.name).map(|(_, value)| value);
        let Some(value) = value.filter(|value| is_defined(value)) else { continue };
        out.push_str(if first { style.first } else { style.separator });
        first = false;
        one(out, style, variable, value);
    }
}

fn is_defined(value: &Value) -> bool {
    match value {
        Value::Text(_) => true,
        Value::List(list) => !list.is_empty(),
        Value::Map(map) => !map.is_empty(),
    }
}

fn one(out: &mut String, style: &Style, variable: &Variable, value: &Value) {
    let name = |out: &mut String, empty: bool| {
        if style.named {
            encode(out, &variable.name, true);
            out.push_str(if empty { style.if_empty } else { "=" });
        }
    };
    match value {
        Value::Text(text) => {
            name(out, text.is_empty());
            let end =
                variable.prefix.and_then(|length| text.char_indices().nth(length)).map_or(text.len(), |(at, _)| at);
            encode(out, &text[..end], style.reserved);
        }
        Value::List(list) => {
            if !variable.explode {
                name(out, false);
            }
            for (at, item) in list.iter().enumerate() {
                if at > 0 {
                    out.push_str(if variable.explode { style.separator } else { "," });
                }
                if variable.explode {
                    name(out, item.is_empty());
                }
                encode(out, item, style.reserved);
            }
        }
        Value::Map(map) => {
            if !variable.explode {
                name(out, false);
            }
            for (at, (key, item)) in map.iter().enumerate() {
                if at > 0 {
                    out.push_str(if variable.explode { style.separator } else { "," });
                }
                encode(out, key, style.reserved);
                out.push_str(match (variable.explode, style.named && item.is_empty()) {
                    (true, true) => style.if_empty,
                    (true, false) => "=",
                    (false, _) => ",",
                });
                encode(out, item, style.reserved);
            }
        }
    }
}

/// Appends `text` with everything percent-encoded that is not unreserved; with `reserved`, reserved characters and
/// percent-encoded bytes stay too.
pub(super) fn encode(out: &mut String, text: &str, reserved: bool) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let bytes = text.as_bytes();
    for (at, b) in bytes.iter().enumerate() {
        let triplet = || bytes.get(at + 1..at + 3).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit));
        let stays = match b {
            b'-' | b'.' | b'_' | b'~' => true,
            b if b.is_ascii_alphanumeric() => true,
            b'%' => reserved && triplet(),
            _ => reserved && b":/?#[]@!$&'()*+,;=".contains(b),
        };
        if stays {
            out.push(char::from(*b));
        } else {
            out.push('%');
            out.push(char::from(HEX[usize::from(b >> 4)]));
            out.push(char::from(HEX[usize::from(b & 15)]));
        }
    }
}
