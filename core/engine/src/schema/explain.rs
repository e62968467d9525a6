//! From the validator's errors to words.
//!
//! The words say what is wrong and what would be right, for a reader who sees the schema and the value but can't ask
//! back. Values are quoted from the text as they were written, and never at length.

use std::borrow::Cow;
use std::fmt::{self, Write};

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use super::document::Document;
use super::violations::{Violation, Violations, floor_boundary, shorten};

/// Bytes of one message.
const MESSAGE_BYTES: usize = 1000;

/// Errors that are looked at to find the first few in the order of the text: the validator gives them in the order of
/// the schema, and there may be very many.
const CONSIDERED: usize = 64;

/// Names or permitted values that one message lists.
const LISTED: usize = 16;

/// Alternatives that one message goes into.
const ALTERNATIVES: usize = 8;

/// The first `limit` of `errors` in the order of the text, those of them that are credible.
///
/// Where none is, the time ran out within alternatives of alternatives, and what was found out until then is told.
pub(super) fn violations(
    document: &Document<'_>,
    errors: &[ValidationError<'_>],
    is_credible: impl Fn(&ValidationError<'_>) -> bool,
    limit: usize,
) -> Option<Violations> {
    let mut considered: Vec<&ValidationError<'_>> =
        errors.iter().filter(|error| is_credible(error)).take(CONSIDERED).collect();
    let mut has_more = errors.len() > considered.len();
    if considered.is_empty() {
        credible_within(errors, &is_credible, &mut considered);
        has_more = true;
    }
    let position = |error: &ValidationError<'_>| document.pointer(Document::ROOT, error.instance_path().as_str());
    considered.sort_by_cached_key(|error| position(error));
    let mut entries: Vec<Violation> = Vec::new();
    for error in considered {
        let instance_path = error.instance_path().as_str().to_owned();
        let violation = Violation { instance_path, message: message(document, error) };
        if entries.contains(&violation) {
            continue;
        }
        if entries.len() == limit.max(1) {
            has_more = true;
            break;
        }
        entries.push(violation);
    }
    (!entries.is_empty()).then(|| Violations::new(entries, has_more))
}

/// Adds credible errors from the alternatives that `errors` are about.
fn credible_within<'e>(
    errors: &'e [ValidationError<'_>],
    is_credible: &impl Fn(&ValidationError<'_>) -> bool,
    found: &mut Vec<&'e ValidationError<'e>>,
) {
    for error in errors {
        if found.len() == CONSIDERED {
            return;
        }
        match error.kind() {
            _ if is_credible(error) => found.push(error),
            ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
                context.iter().for_each(|alternative| credible_within(alternative, is_credible, found));
            }
            _ => {}
        }
    }
}

/// What one error says. `document` is the text in which the error's instance path leads to the wrong value.
pub(super) fn message(document: &Document<'_>, error: &ValidationError<'_>) -> String {
    let mut line = Line { text: String::new(), room: MESSAGE_BYTES };
    // The only error is that the line is full, and then it says so.
    let _ = describe(&mut line, document, error, true);
    line.text
}

fn describe(
    line: &mut Line,
    document: &Document<'_>,
    error: &ValidationError<'_>,
    with_alternatives: bool,
) -> fmt::Result {
    let node = document.pointer(Document::ROOT, error.instance_path().as_str());
    let value = node.map_or(Cow::Borrowed("the value"), |node| shorten(document.raw(node)));
    match error.kind() {
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            write!(line, "{value} fits none of the alternatives")?;
            if with_alternatives { list_alternatives(line, document, error, context) } else { Ok(()) }
        }
        ValidationErrorKind::OneOfMultipleValid { .. } => {
            write!(line, "{value} fits more than one of the alternatives of which it must fit exactly one")
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            line.write_str("additional properties are not allowed: ")?;
            list(line, unexpected.iter().map(|name| Value::from(name.as_str())), unexpected.len())
        }
        ValidationErrorKind::AdditionalItems { limit } => {
            let count = node.map_or(0, |node| document.count(node));
            write!(line, "at most {limit} items are allowed, there are {count}")
        }
        ValidationErrorKind::UnevaluatedItems { unexpected } => {
            write!(line, "{} additional items are not allowed", unexpected.len())
        }
        ValidationErrorKind::Constant { expected_value } => write!(line, "{value} is not {expected_value}"),
        ValidationErrorKind::Enum { options } => {
            write!(line, "{value} is not one of ")?;
            let options = options.as_array().map_or(&[][..], Vec::as_slice);
            list(line, options.iter(), options.len())
        }
        ValidationErrorKind::Not { .. } => write!(line, "{value} is what the schema forbids here"),
        ValidationErrorKind::FalseSchema => write!(line, "{value} is not allowed here"),
        ValidationErrorKind::PropertyNames { error } => {
            let name = error.instance().to_string();
            write!(line, "the property name is not allowed: {}", error.masked_with(shorten(&name)))
        }
        ValidationErrorKind::BacktrackLimitExceeded { .. } | ValidationErrorKind::RegexEngineFailure { .. } => {
            write!(line, "{value} could not be checked against its pattern: it takes too long")
        }
        _ => write!(line, "{}", error.masked_with(value)),
    }
}

/// For each alternative the first thing that is wrong.
fn list_alternatives(
    line: &mut Line,
    document: &Document<'_>,
    outer: &ValidationError<'_>,
    alternatives: &[Vec<ValidationError<'static>>],
) -> fmt::Result {
    for (position, errors) in alternatives.iter().enumerate().take(ALTERNATIVES) {
        let Some(error) = errors.first() else { continue };
        write!(line, "; {}) ", position + 1)?;
        let path = error.instance_path().as_str();
        match path.strip_prefix(outer.instance_path().as_str()) {
            Some("") => {}
            inner => write!(line, "inside it, at {}: ", shorten(inner.unwrap_or(path)))?,
        }
        describe(line, document, error, false)?;
    }
    if alternatives.len() > ALTERNATIVES { line.write_str("; and more") } else { Ok(()) }
}

fn list(line: &mut Line, values: impl Iterator<Item = impl fmt::Display>, count: usize) -> fmt::Result {
    for (position, value) in values.enumerate().take(LISTED) {
        let separator = if position == 0 { "" } else { ", " };
        let text = value.to_string();
        write!(line, "{separator}{}", shorten(&text))?;
    }
    if count > LISTED { write!(line, " and {} more", count - LISTED) } else { Ok(()) }
}

/// One line of bounded length: what does not fit is left out, line breaks and other control characters become blanks.
struct Line {
    text: String,
    room: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let fitting = floor_boundary(text, self.room);
        self.text.extend(text[..fitting].chars().map(|c| if c.is_control() { ' ' } else { c }));
        self.room -= fitting;
        if fitting < text.len() {
            self.text.push_str("...");
            return Err(fmt::Error);
        }
        Ok(())
    }
}
