//! The `jsonschema` crate as the engine uses it: nothing is fetched, the time and the stack of a validation are bounded,
//! and errors become words.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, ReferencingError, ValidationError, Validator};

use super::document::Document;
use super::error::SchemaError;
use super::explain;
use super::flat::Flat;
use super::instance::{Instance, TextJson};
use super::limits::SchemaLimits;
use super::survey::Survey;
use super::violations::{Violations, shorten};

/// Bytes of one compiled regular expression. Four mebibytes: room for `[\p{L}\p{N}]{1,200}`, which takes three.
const PATTERN_BYTES: usize = 4 << 20;

/// Looks at values besides [`SchemaLimits::max_steps`], for each node. Unions of dozens of types look this often.
const STEPS_PER_NODE: u64 = 64;

/// Looks at values for finding out what is wrong: so many, and so many for each node. Without memory of its own the
/// validator tries all alternatives of all alternatives here; what it has not found by then is not told.
const STEPS_TO_EXPLAIN: u64 = 50_000;
const STEPS_TO_EXPLAIN_NODE: u64 = 16;

/// Nodes of a value up to which errors are explained where the schema has regular expressions. Explaining needs a copy of
/// the value for every error at its root then (see [`Instance::new`]).
const NODES_TO_COPY: usize = 4096;

/// What references are resolved against where the schema has no identifier; cut off again before a person sees it.
const DEFAULT_BASE: &str = "json-schema:///";

/// A schema that is ready to check values.
#[derive(Clone, Debug)]
pub(super) struct Compiled {
    validator: Validator<TextJson>,
    /// The same schema, where it is a simple one.
    flat: Option<Flat>,
    has_patterns: bool,
    max_steps: u64,
    max_violations: usize,
}

impl Compiled {
    pub(super) fn new(document: &Document<'_>, survey: &Survey, limits: &SchemaLimits) -> Result<Self, SchemaError> {
        let schema = document.to_value(Document::ROOT);
        let validator = jsonschema::options_for::<TextJson>()
            .offline()
            // An annotation in 2019-09 and 2020-12, and what is optional to check in the older ones is not checked: a
            // peer's idea of a valid date or host name must not fail a call.
            .should_validate_formats(false)
            .with_pattern_options(PatternOptions::fancy_regex().size_limit(PATTERN_BYTES))
            .build(&schema)
            .map_err(|error| refusal(document, &error))?;
        Ok(Self {
            validator,
            flat: Flat::of(document),
            has_patterns: survey.has_patterns,
            max_steps: limits.max_steps,
            max_violations: limits.max_violations,
        })
    }

    /// Whether a value can be seen to fit without building its nodes. False: [`Compiled::validate`] decides.
    pub(super) fn surely_fits(&self, text: &str, max_depth: usize) -> bool {
        self.flat.as_ref().is_some_and(|flat| flat.surely_fits(text, max_depth))
    }

    pub(super) fn validate(&self, document: Document<'_>) -> Result<(), Violations> {
        let nodes = document.len() as u64;
        let instance = Instance::new(document, self.has_patterns);
        let steps = self.max_steps.saturating_add(nodes.saturating_mul(STEPS_PER_NODE));
        let is_valid = self.validator.is_valid(instance.root(steps));
        if instance.is_exhausted() {
            return Err(Violations::whole("the value takes too long to be checked against its schema"));
        }
        if is_valid { Ok(()) } else { Err(self.explain(&instance)) }
    }

    fn explain(&self, instance: &Instance<'_>) -> Violations {
        let document = instance.document();
        let no_details = || Violations::whole("the value does not fit its schema in too many ways to be listed");
        if self.has_patterns && document.len() > NODES_TO_COPY {
            return no_details();
        }
        let steps = STEPS_TO_EXPLAIN + STEPS_TO_EXPLAIN_NODE * document.len() as u64;
        let errors: Vec<_> = self.validator.iter_errors(instance.root(steps)).collect();
        let is_credible =
            |error: &ValidationError<'_>| instance.can_believe(error.instance(), error.instance_path().is_empty());
        explain::violations(document, &errors, is_credible, self.max_violations).unwrap_or_else(no_details)
    }
}

/// Whether `$schema` may name this dialect.
pub(super) fn supports(dialect: &str) -> bool {
    Draft::from_schema_uri(dialect) != Draft::Unknown
}

fn refusal(document: &Document<'_>, error: &ValidationError<'_>) -> SchemaError {
    match error.kind() {
        ValidationErrorKind::Referencing(ReferencingError::Unretrievable { uri, .. }) => {
            SchemaError::ExternalReference(uri.strip_prefix(DEFAULT_BASE).unwrap_or(uri).to_owned())
        }
        ValidationErrorKind::Referencing(ReferencingError::UnknownSpecification { specification }) => {
            SchemaError::UnsupportedDialect(specification.clone())
        }
        ValidationErrorKind::Referencing(detail) => SchemaError::UnresolvedReference(detail.to_string()),
        ValidationErrorKind::Format { format } if format == "regex" => SchemaError::Invalid {
            pointer: error.schema_path().as_str().to_owned(),
            message: format!("{} is not a regular expression that can be used", shorten(&error.instance().to_string())),
        },
        _ => SchemaError::Invalid {
            pointer: error.instance_path().as_str().to_owned(),
            message: explain::message(document, error),
        },
    }
}
