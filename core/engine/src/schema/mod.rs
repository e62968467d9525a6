//! JSON Schema for tool arguments and results (2026-07-28 `basic/index`, "JSON Schema Usage").
//!
//! Decides which schemas are taken, what fits them, and how it is said what does not. Which schema applies to which
//! value, and what the peer is told, belongs to `server`.
//!
//! - Dialects: 2020-12, which is the default, 2019-09, draft-07, draft-06 and draft-04, by the `$schema` of the root.
//! - `$ref` stays inside the schema. Nothing is fetched, whatever the scheme.
//! - `format` is an annotation in every dialect.
//! - Numbers are exact, as far as the schema's own are: integers of up to 64 bits, floats beyond.
//! - Schemas and values are bounded, see [`SchemaLimits`].
//!
//! Without the crate's feature `schema` the same functions are there, and every value fits.

mod annotated;
#[cfg(feature = "schema")]
mod compiled;
mod document;
mod error;
#[cfg(feature = "schema")]
mod explain;
#[cfg(feature = "schema")]
mod flat;
#[cfg(feature = "schema")]
mod instance;
mod keywords;
mod limits;
#[cfg_attr(not(feature = "schema"), allow(dead_code, reason = "only the comparison is used without validation"))]
mod number;
mod survey;
mod violations;
mod wrap;

#[cfg(feature = "schema")]
use compiled::Compiled;
use document::{Document, Kind};

pub(crate) use annotated::annotated;
pub use error::SchemaError;
pub use limits::SchemaLimits;
pub(crate) use number::same_number;
pub use violations::{Violation, Violations};
pub use wrap::wrap_in_object;

/// Stack frames of subschemas within subschemas that one validation may need. At about half a kilobyte each this is half
/// a megabyte, the smallest stack that threads of host languages come with (macOS).
const MAX_FRAMES: usize = 1024;

/// The depth that every schema must be able to check; one whose chains leave less is refused.
const LEAST_DEPTH: usize = 8;

/// A JSON Schema that is ready to check values. Compiling takes some ten microseconds, checking well below one.
#[derive(Clone, Debug)]
pub struct Schema {
    check: Check,
    max_instance_depth: usize,
    is_object_schema: bool,
}

/// What has to be done to check a value.
#[derive(Clone, Debug)]
enum Check {
    /// Nothing: the schema is `true`, `{}` or says no more than a description does.
    Anything,
    /// `{"type": "object"}` and no more, as the schemas of tools without parameters.
    AnyObject,
    #[cfg(feature = "schema")]
    Compiled(Box<Compiled>),
}

impl Schema {
    /// Compiles a schema, given as JSON text.
    ///
    /// # Errors
    ///
    /// A [`SchemaError`] that says what is wrong and where: the text is no schema, breaks the rules of its dialect, names
    /// a dialect that is not supported, refers to what is not in it, or is past one of the limits.
    pub fn compile(text: &str, limits: &SchemaLimits) -> Result<Self, SchemaError> {
        if text.len() > limits.max_text_bytes {
            return Err(SchemaError::past("bytes", limits.max_text_bytes));
        }
        let document = Document::parse(text, limits.max_depth)?;
        if !keywords::is_schema(&document, Document::ROOT) {
            return Err(SchemaError::NotASchema);
        }
        check_dialect(&document)?;
        let survey = survey::survey(&document, limits)?;
        let possible_depth = MAX_FRAMES / survey.longest_chain;
        if possible_depth < LEAST_DEPTH {
            let limit = MAX_FRAMES / LEAST_DEPTH;
            return Err(SchemaError::past("subschemas within each other that apply to one value", limit));
        }
        Ok(Self {
            check: Check::of(&document, &survey, limits)?,
            max_instance_depth: possible_depth.min(limits.max_instance_depth),
            is_object_schema: wrap::is_object_schema(&document),
        })
    }

    /// Checks a value, given as JSON text.
    ///
    /// A schema that anything fits does not look at the text.
    ///
    /// # Errors
    ///
    /// What does not fit, in words. That the text is not JSON, nested too deeply or takes too long to be checked is told
    /// the same way.
    pub fn validate(&self, instance_text: &str) -> Result<(), Violations> {
        match &self.check {
            Check::Anything => Ok(()),
            Check::AnyObject if instance_text.trim_start().starts_with('{') => Ok(()),
            Check::AnyObject => {
                let document = self.parse(instance_text)?;
                Err(Violations::whole(format!(
                    r#"{} is not of type "object""#,
                    kind_name(document.kind(Document::ROOT))
                )))
            }
            #[cfg(feature = "schema")]
            Check::Compiled(compiled) if compiled.surely_fits(instance_text, self.max_instance_depth) => Ok(()),
            #[cfg(feature = "schema")]
            Check::Compiled(compiled) => compiled.validate(self.parse(instance_text)?),
        }
    }

    /// Whether the schema has `"type": "object"` at its root, as input schemas and the output schemas of older revisions
    /// must.
    pub fn is_object_schema(&self) -> bool {
        self.is_object_schema
    }

    /// How deeply values may be nested: the limit it was compiled with, or less where references form long chains.
    pub fn max_instance_depth(&self) -> usize {
        self.max_instance_depth
    }

    fn parse<'t>(&self, text: &'t str) -> Result<Document<'t>, Violations> {
        Document::parse(text, self.max_instance_depth)
            .map_err(|error| Violations::whole(format!("the value is {error}")))
    }
}

impl Check {
    #[cfg(feature = "schema")]
    fn of(document: &Document<'_>, survey: &survey::Survey, limits: &SchemaLimits) -> Result<Self, SchemaError> {
        // Compiled even where the result is not needed: it may break the rules of its dialect.
        let compiled = Compiled::new(document, survey, limits)?;
        Ok(Self::without_work(document).unwrap_or_else(|| Self::Compiled(Box::new(compiled))))
    }

    #[cfg(not(feature = "schema"))]
    fn of(document: &Document<'_>, _: &survey::Survey, _: &SchemaLimits) -> Result<Self, SchemaError> {
        Ok(Self::without_work(document).unwrap_or(Self::Anything))
    }

    /// The check that needs no look into the value, where the schema says no more than a type.
    fn without_work(document: &Document<'_>) -> Option<Self> {
        let mut check = match document.kind(Document::ROOT) {
            Kind::False => return None,
            _ => Self::Anything,
        };
        for (key, value) in document.members(Document::ROOT) {
            match document.string(key) {
                "$schema" | "$id" | "$comment" | "$defs" | "definitions" | "title" | "description" | "default"
                | "examples" | "deprecated" | "readOnly" | "writeOnly" | "format" => {}
                "type" if document.string(value) == "object" => check = Self::AnyObject,
                "properties" | "patternProperties" | "required" if document.count(value) == 0 => {}
                "additionalProperties" if document.kind(value) == Kind::True => {}
                "additionalProperties" if document.kind(value) == Kind::Object && document.count(value) == 0 => {}
                _ => return None,
            }
        }
        Some(check)
    }
}

/// `$schema`, where there is one, must name a dialect that is supported.
fn check_dialect(document: &Document<'_>) -> Result<(), SchemaError> {
    let Some(dialect) = document.get(Document::ROOT, "$schema") else { return Ok(()) };
    if document.kind(dialect) != Kind::String {
        return Err(SchemaError::UnsupportedDialect(document.raw(dialect).to_owned()));
    }
    #[cfg(feature = "schema")]
    if !compiled::supports(document.string(dialect)) {
        return Err(SchemaError::UnsupportedDialect(document.string(dialect).to_owned()));
    }
    Ok(())
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Null => "null",
        Kind::True => "true",
        Kind::False => "false",
        Kind::Number => "a number",
        Kind::String | Kind::Key | Kind::ShadowedKey => "a string",
        Kind::Array => "an array",
        Kind::Object => "an object",
    }
}

#[cfg(all(test, feature = "schema"))]
mod tests;
