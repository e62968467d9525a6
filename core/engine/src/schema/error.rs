//! Why a schema is refused.

use std::error::Error;
use std::fmt;

use super::document::DocumentError;

/// A schema that can't be used, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaError {
    /// The text is not one JSON text; the byte at which that shows.
    NotJson {
        /// Bytes before the first one that does not fit.
        offset: usize,
    },
    /// JSON, but neither an object nor `true` or `false`.
    NotASchema,
    /// `$schema` names a dialect that is not supported, or is no string.
    UnsupportedDialect(String),
    /// A reference leads out of the schema. Nothing is ever fetched (2026-07-28 `basic/index`, "`$ref` Resolution").
    ExternalReference(String),
    /// A reference leads to nothing inside the schema.
    UnresolvedReference(String),
    /// The schema breaks the rules of its own dialect, or holds a regular expression that can't be used.
    Invalid {
        /// JSON Pointer to the place, empty for the root.
        pointer: String,
        /// What is wrong there.
        message: String,
    },
    /// The schema is past one of the bounds in [`SchemaLimits`](super::SchemaLimits).
    PastLimit {
        /// What there is too much of, as in "the schema has more than 20000 subschemas".
        what: &'static str,
        /// The bound.
        limit: u64,
    },
}

impl SchemaError {
    pub(super) fn past(what: &'static str, limit: usize) -> Self {
        Self::PastLimit { what, limit: limit as u64 }
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJson { offset } => write!(f, "the schema is not valid JSON at byte {offset}"),
            Self::NotASchema => f.write_str("a schema must be an object, true or false"),
            Self::UnsupportedDialect(uri) => write!(
                f,
                "the schema dialect {uri:?} is not supported; supported are JSON Schema 2020-12 (the default), 2019-09, \
                 draft-07, draft-06 and draft-04"
            ),
            Self::ExternalReference(uri) => {
                write!(f, "the schema refers to {uri:?}, which is not part of it; nothing is fetched from elsewhere")
            }
            Self::UnresolvedReference(detail) => write!(f, "a reference in the schema leads nowhere: {detail}"),
            Self::Invalid { pointer, message } if pointer.is_empty() => write!(f, "the schema is not valid: {message}"),
            Self::Invalid { pointer, message } => write!(f, "the schema is not valid at {pointer}: {message}"),
            Self::PastLimit { what, limit } => write!(f, "the schema has more than {limit} {what}"),
        }
    }
}

impl Error for SchemaError {}

impl From<DocumentError> for SchemaError {
    fn from(error: DocumentError) -> Self {
        match error {
            DocumentError::Syntax { offset } => Self::NotJson { offset },
            DocumentError::TooDeep { limit } => Self::past("levels of nesting", limit),
            DocumentError::TooLong => Self::past("bytes", u32::MAX as usize),
        }
    }
}
