//! The bounds on schemas and on the work that one validation may take.

/// Bounds against schemas and values that are made to be expensive (2026-07-28 `basic/index`, "Composition-Keyword
/// Resource Use"). A schema past one of them is refused when it is compiled, with the bound in the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaLimits {
    /// Bytes of a schema's text. 1 MiB: the largest tool schemas that are generated from whole API descriptions stay
    /// below a third of it, and no model can read more.
    pub max_text_bytes: usize,
    /// Nesting of arrays and objects in a schema's text. 128, the same as for messages: a schema comes in one.
    pub max_depth: usize,
    /// Subschemas that can be reached, definitions included. 20,000: ten times what the largest hand-written schemas
    /// have, and some tens of megabytes once compiled.
    pub max_subschemas: usize,
    /// Regular expressions in `pattern` and `patternProperties`. 256: each may take some megabytes once compiled.
    pub max_patterns: usize,
    /// How many subschemas one single value may be checked against, all ways through `allOf`, `anyOf`, `oneOf`, `not`,
    /// `if` and references counted. 10,000: a union of hundreds of types stays below it; thirty definitions of which
    /// each names the next one twice come to a billion.
    pub max_alternatives: u64,
    /// Nesting of arrays and objects in a value that is validated. 128, the engine's own bound on messages. Validation
    /// recurses, so with schemas in which references lead through long chains to themselves it is lower: see
    /// [`Schema::max_instance_depth`](super::Schema::max_instance_depth).
    pub max_instance_depth: usize,
    /// Looks at values that one validation may take, besides 64 for each value. 20 million: about a tenth of a second.
    /// Honest schemas look at each value some dozens of times.
    pub max_steps: u64,
    /// Entries in one list of violations. 8: a reader, human or model, mends the first few and tries again.
    pub max_violations: usize,
}

impl Default for SchemaLimits {
    fn default() -> Self {
        Self {
            max_text_bytes: 1 << 20,
            max_depth: 128,
            max_subschemas: 20_000,
            max_patterns: 256,
            max_alternatives: 10_000,
            max_instance_depth: 128,
            max_steps: 20_000_000,
            max_violations: 8,
        }
    }
}
