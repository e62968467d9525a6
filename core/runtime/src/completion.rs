//! Completions in the Rust door (`server/utilities/completion`).

use crate::context::Context;
use ferromcp_engine::{Reply, Target};
use serde::Deserialize;
use std::collections::HashMap;
use std::ops::Deref;

/// A `completion/complete` of one argument.
pub struct CompletionCall<'a>(pub(crate) Context<'a>);

impl<'a> Deref for CompletionCall<'a> {
    type Target = Context<'a>;
    fn deref(&self) -> &Context<'a> {
        &self.0
    }
}

#[derive(Deserialize)]
struct Params {
    #[serde(default)]
    context: Chosen,
}

#[derive(Default, Deserialize)]
struct Chosen {
    #[serde(default)]
    arguments: HashMap<String, String>,
}

impl CompletionCall<'_> {
    /// What was typed of the value so far.
    pub fn value(&self) -> &str {
        let Target::Complete { value, .. } = &self.0.call.target else { return "" };
        value
    }

    /// The name of the argument.
    pub(crate) fn argument(&self) -> &str {
        let Target::Complete { argument, .. } = &self.0.call.target else { return "" };
        argument
    }

    /// The values that are chosen already for other arguments, by their names, as far as the client tells (`context`, since
    /// 2025-06-18).
    pub fn arguments(&self) -> HashMap<String, String> {
        let params = self.0.call.params_json().unwrap_or("{}");
        serde_json::from_str::<Params>(params).map(|params| params.context.arguments).unwrap_or_default()
    }
}

/// The values that fit, the best first. The first 100 are sent; the client is told that there are more.
#[derive(Clone, Debug, Default)]
pub struct CompletionOutput {
    values: Vec<String>,
    total: Option<u64>,
    has_more: Option<bool>,
}

impl CompletionOutput {
    /// These values.
    pub fn new<V: Into<String>>(values: impl IntoIterator<Item = V>) -> Self {
        Self { values: values.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Says how many there are in all.
    #[must_use]
    pub fn total(mut self, total: u64) -> Self {
        self.total = Some(total);
        self
    }

    /// Says whether there are more than these.
    #[must_use]
    pub fn has_more(mut self, has_more: bool) -> Self {
        self.has_more = Some(has_more);
        self
    }

    /// Answers with them.
    pub(crate) fn reply<R>(self, respond: impl FnOnce(Reply<'_>) -> R) -> R {
        let values = serde_json::Value::from(self.values).to_string();
        respond(Reply::Completion { values: &values, total: self.total, has_more: self.has_more })
    }
}
