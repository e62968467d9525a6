//! URI templates (RFC 6570): reading, expanding, and matching, which is expanding turned round.
//!
//! Decides what a template's text means. Which resource a URI belongs to is decided by the catalogue.
//!
//! # Matching
//!
//! RFC 6570 defines no matching; section 1.4 leaves it to applications. Here:
//!
//! - `{var}` takes one or more characters other than `/`, `?` and `#`; `{a,b}` also none of `,`.
//! - `{var*}` takes slashes too. (An exploded list would be written with commas; as a wildcard for paths it is what people mean.)
//! - `{+var}` takes one or more of any characters.
//! - `{.var}` and `{/var}` are their mark followed by the same as `{var}`; `{/var*}` takes further segments.
//! - After a literal `?` a `{var}` takes any number of characters other than `&` and `#`.
//! - `{;var}`, `{?var}`, `{&var}` and `{#var}` may be absent, as RFC 6570 leaves out undefined values. Query parameters come in any
//!   order; those that the template does not name are ignored. No variable reaches into a later expression's mark.
//! - `{var:3}` takes up to three characters. A variable that comes again has the same value, or its beginning where a prefix cuts it.
//! - A value that leads out of its place is no match: a segment that decodes to `.`, or to something with a slash or a
//!   backslash in it, and any part of a path that decodes to `..` (`server/resources`, "Security Considerations").
//! - Values are percent-decoded. The earlier of two variables takes as much as it can.
//!
//! Time and memory are bounded by the product of the template's parts and the URI's length, whatever the two are.

mod expand;
mod matching;
#[cfg(test)]
mod tests;

pub use expand::Value;

use std::borrow::Cow;
use std::fmt;

/// Bytes of a template's text. 4,096: more is no address that anybody wrote.
const MAX_TEMPLATE: usize = 4_096;
/// Variables of a template. 64: with [`MAX_URI`] it bounds what matching one hostile URI may cost.
const MAX_VARIABLES: usize = 64;
/// Bytes of a URI that is matched. 8,192: what HTTP servers commonly accept.
const MAX_URI: usize = 8_192;
/// RFC 6570, section 2.4.1: a prefix is shorter than 10,000 characters.
const MAX_PREFIX: usize = 10_000;

/// A template that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UriTemplate {
    parts: Vec<Part>,
    variables: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(String),
    Expression(Operator, Vec<Variable>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Variable {
    name: String,
    explode: bool,
    prefix: Option<usize>,
}

/// The first character of an expression, where it is no name (RFC 6570, section 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Simple,
    Reserved,
    Fragment,
    Label,
    Path,
    Parameter,
    Query,
    QueryMore,
}

/// Why a text is no URI template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError(String);

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a URI template (RFC 6570): {}", self.0)
    }
}

impl std::error::Error for TemplateError {}

impl UriTemplate {
    /// Reads a template.
    ///
    /// # Errors
    /// A [`TemplateError`] that says which expression is wrong, or which bound is passed.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        if text.len() > MAX_TEMPLATE {
            return Err(TemplateError(format!("longer than {MAX_TEMPLATE} bytes")));
        }
        let mut parts = Vec::new();
        let mut variables: Vec<String> = Vec::new();
        let mut count = 0;
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.find(['{', '}']).unwrap_or(rest.len());
            if end > 0 {
                let literal = &rest[..end];
                if literal
                    .chars()
                    .any(|c| c.is_control() || matches!(c, ' ' | '"' | '<' | '>' | '\\' | '^' | '`' | '|'))
                {
                    return Err(TemplateError(format!("{literal:?} has a character that no URI has")));
                }
                parts.push(Part::Literal(literal.to_owned()));
                rest = &rest[end..];
                continue;
            }
            let Some(inner) = rest.strip_prefix('{') else {
                return Err(TemplateError("a closing brace that nothing opened".into()));
            };
            let Some((inner, after)) = inner.split_once('}') else {
                return Err(TemplateError("a brace that nothing closes".into()));
            };
            let (operator, names) = operator(inner)?;
            let mut expression = Vec::new();
            for name in names.split(',') {
                let variable = variable(name)?;
                if !variables.contains(&variable.name) {
                    variables.push(variable.name.clone());
                }
                expression.push(variable);
                count += 1;
                if count > MAX_VARIABLES {
                    return Err(TemplateError(format!("more than {MAX_VARIABLES} variables")));
                }
            }
            parts.push(Part::Expression(operator, expression));
            rest = after;
        }
        Ok(Self { parts, variables })
    }

    /// The variables' names, each once, in the order in which they come.
    pub fn variables(&self) -> &[String] {
        &self.variables
    }

    /// The URI for these values (RFC 6570, section 3). Variables without a value are undefined.
    pub fn expand(&self, values: &[(&str, Value)]) -> String {
        expand::expand(&self.parts, values)
    }

    /// The values that give this URI, percent-decoded, in the order of [`UriTemplate::variables`]; None when no values do. A variable
    /// that may be absent and is, is not in the list.
    pub fn matches(&self, uri: &str) -> Option<Vec<(String, String)>> {
        if uri.len() > MAX_URI {
            return None;
        }
        let uri = upper_hex(uri);
        let found = matching::matches(&self.parts, &uri)?;
        let mut values: Vec<(String, String)> = Vec::new();
        for name in &self.variables {
            let same = || found.iter().filter(|(variable, _)| variable.name == *name);
            // The same everywhere, or its beginning where a prefix cuts it.
            let whole = same().find(|(variable, _)| variable.prefix.is_none()).or_else(|| same().next());
            let Some((_, value)) = whole else { continue };
            let fits = |(variable, other): &(&Variable, String)| match variable.prefix {
                Some(length) => value.chars().take(length).eq(other.chars()),
                None => value == other,
            };
            if !same().all(fits) {
                return None;
            }
            values.push((name.clone(), value.clone()));
        }
        Some(values)
    }
}

/// The URI with its percent-encoded bytes in capital letters, as RFC 3986, section 6.2.2.1 calls the normal form.
fn upper_hex(uri: &str) -> Cow<'_, str> {
    if !uri.contains('%') {
        return Cow::Borrowed(uri);
    }
    let mut digits = 0;
    let upper = uri.chars().map(|c| {
        if c == '%' {
            digits = 2;
            return c;
        }
        let digit = digits > 0 && c.is_ascii_hexdigit();
        digits = if digit { digits - 1 } else { 0 };
        if digit { c.to_ascii_uppercase() } else { c }
    });
    Cow::Owned(upper.collect())
}

fn operator(expression: &str) -> Result<(Operator, &str), TemplateError> {
    let operator = match expression.chars().next() {
        None => return Err(TemplateError("an empty expression".into())),
        Some('+') => Operator::Reserved,
        Some('#') => Operator::Fragment,
        Some('.') => Operator::Label,
        Some('/') => Operator::Path,
        Some(';') => Operator::Parameter,
        Some('?') => Operator::Query,
        Some('&') => Operator::QueryMore,
        Some(other @ ('=' | ',' | '!' | '@' | '|')) => {
            return Err(TemplateError(format!("operator {other:?} is reserved")));
        }
        Some(_) => return Ok((Operator::Simple, expression)),
    };
    Ok((operator, &expression[1..]))
}

fn variable(text: &str) -> Result<Variable, TemplateError> {
    let (name, explode, prefix) = match text.split_once(':') {
        Some((name, digits)) => {
            let length =
                digits.parse().ok().filter(|length| (1..MAX_PREFIX).contains(length) && !digits.starts_with('+'));
            let length = length.ok_or_else(|| TemplateError(format!("{text:?} has a wrong prefix length")))?;
            (name, false, Some(length))
        }
        None => (text.strip_suffix('*').unwrap_or(text), text.ends_with('*'), None),
    };
    if !is_name(name) {
        return Err(TemplateError(format!("{name:?} is no variable name")));
    }
    Ok(Variable { name: name.to_owned(), explode, prefix })
}

/// RFC 6570, section 2.3: letters, digits, `_` and percent-encoded bytes, with single dots between; and `-`, which the RFC has
/// not and people write.
fn is_name(name: &str) -> bool {
    name.split('.').all(|label| {
        let bytes = label.as_bytes();
        let mut at = 0;
        while let Some(b) = bytes.get(at) {
            let triplet = bytes.get(at + 1..at + 3).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit));
            match b {
                b'%' if triplet => at += 3,
                b'_' | b'-' => at += 1,
                b if b.is_ascii_alphanumeric() => at += 1,
                _ => return false,
            }
        }
        !bytes.is_empty()
    })
}
