//! From a URI to values.
//!
//! A template becomes a row of tokens. From the last token to the first it is worked out from which positions of the URI the rest of the
//! template matches the rest of the URI; each token is one sweep over the URI. Then, from the first to the last, each
//! variable takes the longest piece after which the rest still matches. There is no backtracking.

use super::expand::encode;
use super::{Operator, Part, Variable};

enum Token<'t> {
    /// This text, as it is or percent-encoded.
    Literal { plain: &'t str, encoded: String },
    /// Characters that are none of `stops`: at least one, or any number where `empty` says so.
    Value { variable: &'t Variable, stops: Vec<u8>, empty: bool },
    /// Absent, or `;name` with or without a value.
    Parameter(&'t Variable),
    /// Absent, or the mark and parameters up to the fragment or the end.
    Query { mark: u8, variables: Vec<&'t Variable> },
    /// Absent, or `#` and everything that follows.
    Fragment(&'t [Variable]),
}

/// A variable of the template and what the URI has in its place.
type Found<'t> = Vec<(&'t Variable, String)>;

pub(super) fn matches<'t>(parts: &'t [Part], uri: &str) -> Option<Found<'t>> {
    // Most URIs belong to another template, and their beginning tells.
    if let Some(Part::Literal(text)) = parts.first()
        && text.is_ascii()
        && !uri.starts_with(text.as_str())
    {
        return None;
    }
    let tokens = tokens(parts);
    let length = uri.len();
    // matching[t][i]: the tokens from t on match the URI from i on.
    let mut matching = vec![vec![false; length + 1]; tokens.len() + 1];
    matching[tokens.len()][length] = true;
    for (at, token) in tokens.iter().enumerate().rev() {
        let (before, after) = matching.split_at_mut(at + 1);
        token.sweep(uri, &mut before[at], &after[0]);
    }
    if !matching[0][0] {
        return None;
    }
    let mut found = Vec::new();
    let mut position = 0;
    for (token, after) in tokens.iter().zip(&matching[1..]) {
        position = token.take(uri, position, after, &mut found)?;
    }
    Some(found)
}

fn tokens(parts: &[Part]) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut in_query = false;
    for (number, part) in parts.iter().enumerate() {
        let (operator, variables) = match part {
            Part::Literal(text) => {
                in_query |= text.contains('?');
                tokens.push(literal(text));
                continue;
            }
            Part::Expression(operator, variables) => (*operator, variables),
        };
        // A variable does not reach into what a later expression begins with its mark.
        let marks = parts[number + 1..].iter().filter_map(|part| match part {
            Part::Expression(Operator::Query, _) => Some(b'?'),
            Part::Expression(Operator::QueryMore, _) => Some(b'&'),
            Part::Expression(Operator::Parameter, _) => Some(b';'),
            Part::Expression(Operator::Fragment, _) => Some(b'#'),
            _ => None,
        });
        let marks: Vec<u8> = marks.collect();
        let segment: &[u8] = match (in_query, variables.len() > 1) {
            (true, _) => b"&#",
            (false, true) => b"/?#,",
            (false, false) => b"/?#",
        };
        let token =
            |variable, stops: &[u8]| Token::Value { variable, stops: [stops, &marks].concat(), empty: in_query };
        match operator {
            Operator::Fragment => tokens.push(Token::Fragment(variables)),
            Operator::Query | Operator::QueryMore => match tokens.last_mut() {
                // `{?a}{&b}` is one query.
                Some(Token::Query { variables: earlier, .. }) => earlier.extend(variables),
                _ => {
                    let mark = if operator == Operator::Query { b'?' } else { b'&' };
                    tokens.push(Token::Query { mark, variables: variables.iter().collect() });
                }
            },
            Operator::Parameter => tokens.extend(variables.iter().map(Token::Parameter)),
            Operator::Label | Operator::Path => {
                for variable in variables {
                    tokens.push(literal(if operator == Operator::Label { "." } else { "/" }));
                    tokens.push(token(variable, if variable.explode { b"?#" } else { b"/?#" }));
                }
            }
            Operator::Simple | Operator::Reserved => {
                for (at, variable) in variables.iter().enumerate() {
                    if at > 0 {
                        tokens.push(literal(","));
                    }
                    tokens.push(match operator {
                        Operator::Reserved => token(variable, b""),
                        _ if variable.explode => token(variable, b"?#"),
                        _ => token(variable, segment),
                    });
                }
            }
        }
    }
    tokens
}

fn literal(plain: &str) -> Token<'_> {
    let mut encoded = String::new();
    encode(&mut encoded, plain, true);
    Token::Literal { plain, encoded }
}

impl<'t> Token<'t> {
    /// Fills `here` from `after`: from which positions this token and all later ones match.
    fn sweep(&self, uri: &str, here: &mut [bool], after: &[bool]) {
        if let Self::Value { variable, stops, empty } = self {
            // From right to left: how far is the nearest good end ahead that no stop separates from here?
            let most = variable.prefix.unwrap_or(usize::MAX);
            let mut nearest = after[uri.len()].then_some(0);
            here[uri.len()] = *empty && after[uri.len()];
            for (at, b) in uri.bytes().enumerate().rev() {
                let ended = if after[at + 1] && uri.is_char_boundary(at + 1) { Some(0) } else { nearest };
                let starts = usize::from(starts_character(uri.as_bytes(), at));
                nearest = ended.filter(|_| !stops.contains(&b)).map(|count: usize| count + starts);
                let whole = uri.is_char_boundary(at);
                here[at] = whole && (nearest.is_some_and(|count| count <= most) || *empty && after[at]);
            }
            return;
        }
        for (at, good) in here.iter_mut().enumerate() {
            *good = uri.is_char_boundary(at) && self.ends(uri, at).into_iter().flatten().any(|end| after[end]);
        }
    }

    /// Where a token that is no value can end when it begins at `at`: the longer way first.
    fn ends(&self, uri: &str, at: usize) -> [Option<usize>; 2] {
        let rest = &uri[at..];
        match self {
            Self::Value { .. } => [None, None],
            Self::Literal { plain, encoded } => {
                let end = |text: &str| rest.starts_with(text).then_some(at + text.len());
                [end(encoded), end(plain)]
            }
            Self::Parameter(variable) => {
                let named = rest.strip_prefix(';').and_then(|rest| rest.strip_prefix(variable.name.as_str()));
                let named = named.filter(|rest| rest.is_empty() || rest.starts_with(['=', ';', '/', '?', '#']));
                [
                    named.map(|rest| uri.len() - rest.len() + rest.find([';', '/', '?', '#']).unwrap_or(rest.len())),
                    Some(at),
                ]
            }
            Self::Query { mark, .. } => {
                let end = at + rest.find('#').unwrap_or(rest.len());
                let query = rest.as_bytes().first() == Some(mark);
                [query.then_some(end), Some(at)]
            }
            Self::Fragment(_) => [rest.starts_with('#').then_some(uri.len()), Some(at)],
        }
    }

    /// Takes the longest piece after which the rest matches, notes what it says, and returns its end.
    fn take(&self, uri: &str, at: usize, after: &[bool], found: &mut Found<'t>) -> Option<usize> {
        if let Self::Value { variable, stops, empty } = self {
            let bytes = uri.as_bytes();
            let reach = bytes[at..].iter().position(|b| stops.contains(b)).map_or(uri.len(), |stop| at + stop);
            let least = if *empty { at } else { at + 1 };
            let fits = |end: usize| {
                let count = || (at..end).filter(|at| starts_character(bytes, *at)).count();
                after[end] && uri.is_char_boundary(end) && variable.prefix.is_none_or(|most| count() <= most)
            };
            let end = (least..=reach).rev().find(|end| fits(*end))?;
            let value = note(found, variable, &uri[at..end])?;
            return stays_inside(value, stops.contains(&b'/')).then_some(end);
        }
        let end = self.ends(uri, at).into_iter().flatten().find(|end| after[*end])?;
        let text = &uri[at..end];
        match self {
            Self::Parameter(variable) if end > at => {
                let value = text.split_once('=').map_or("", |(_, value)| value);
                note(found, variable, value)?;
            }
            Self::Query { variables, .. } if end > at => {
                for (variable, value) in parameters(&text[1..], variables) {
                    note(found, variable, value)?;
                }
            }
            Self::Fragment(variables) if end > at => {
                let mut rest = &text[1..];
                for (number, variable) in variables.iter().enumerate() {
                    let last = number + 1 == variables.len();
                    let (value, after) = if last { (rest, "") } else { rest.split_once(',').unwrap_or((rest, "")) };
                    note(found, variable, value)?;
                    rest = after;
                }
            }
            _ => {}
        }
        Some(end)
    }
}

/// Whether a decoded character begins with the byte at `at`: neither the inside of a percent-encoded byte, nor a continuation
/// byte of UTF-8, written plainly or percent-encoded.
fn starts_character(bytes: &[u8], at: usize) -> bool {
    let encoded = |at: usize| {
        bytes.get(at) == Some(&b'%')
            && bytes.get(at + 1..at + 3).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit))
    };
    if at >= 1 && encoded(at - 1) || at >= 2 && encoded(at - 2) {
        return false;
    }
    if encoded(at) {
        return !matches!(bytes[at + 1], b'8' | b'9' | b'A' | b'a' | b'B' | b'b');
    }
    !(0x80..0xc0).contains(&bytes[at])
}

/// The parameters of a query that name a variable; others are ignored.
fn parameters<'u, 't>(query: &'u str, variables: &[&'t Variable]) -> Vec<(&'t Variable, &'u str)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .filter_map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decode(name);
            variables.iter().find(|variable| variable.name == name).map(|variable| (*variable, value))
        })
        .collect()
}

/// Whether a value, decoded, is still what its place in the template says: one segment has no slash in it, and nothing leads
/// out of the place by `..`.
fn stays_inside(value: &str, segment: bool) -> bool {
    let mut segments = value.split(['/', '\\']);
    if segment && (value == "." || value.contains(['/', '\\'])) {
        return false;
    }
    segments.all(|segment| segment != "..") && !value.contains('\0')
}

/// Notes a value and gives it back; None when there is none to give. An exploded variable that comes again is a list.
fn note<'f, 't>(found: &'f mut Found<'t>, variable: &'t Variable, value: &str) -> Option<&'f str> {
    let value = decode(value);
    let earlier = found.iter().position(|(other, _)| variable.explode && other.name == variable.name);
    let at = earlier.unwrap_or(found.len());
    if let Some((_, list)) = found.get_mut(at) {
        list.push(',');
        list.push_str(&value);
    } else {
        found.push((variable, value));
    }
    found.get(at).map(|(_, value)| value.as_str())
}

/// Percent-decodes; what is no percent-encoded byte stays, and what is no UTF-8 becomes U+FFFD.
fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(b) = bytes.get(at) {
        let byte = bytes.get(at + 1..at + 3).and_then(|hex| {
            let digit = |b: u8| char::from(b).to_digit(16);
            Some((digit(hex[0])? * 16 + digit(hex[1])?) as u8)
        });
        match byte {
            Some(byte) if *b == b'%' => {
                out.push(byte);
                at += 3;
            }
            _ => {
                out.push(*b);
                at += 1;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
