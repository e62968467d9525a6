//! What a policy says, as it is written in JSON.

use crate::middleware::CallFacts;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Bytes of a name that is counted by itself. 1,024: eight times what a tool's name should have at most (2025-11-25
/// `server/tools`, "Tool Names"), and enough for most URIs.
const LONGEST_NAME: usize = 1_024;

/// Milliseconds in which a burst is given back at the latest. Ten years: the limiter counts nanoseconds in 64 bits, and nobody
/// waits that long.
const LONGEST_REFILL_MS: u128 = 10 * 365 * 86_400_000;

/// A whole policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct PolicyConfig {
    /// How often what may be called, each under a name that refusals show.
    pub rate_limits: BTreeMap<String, RateLimit>,
    /// How many calls may run at once, each under a name that refusals show.
    pub concurrency: BTreeMap<String, ConcurrencyLimit>,
    /// How long tools may take.
    pub timeouts: Timeouts,
    /// Who has called what. None: no log.
    pub audit: Option<AuditConfig>,
}

/// By what calls are counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CountBy {
    /// Those of each principal; where none is known, those of each connection.
    Principal,
    /// Those of each tool.
    Tool,
}

/// How often something may be called: so many calls in a period, evenly refilled (GCRA), with a burst at the most.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RateLimit {
    /// Calls in a period; at least 1.
    pub calls: u32,
    /// Milliseconds of the period; at least 1.
    pub period_ms: u64,
    /// Calls that may come at once. None: as many as in a period.
    #[serde(default)]
    pub burst: Option<u32>,
    /// What is counted apart. Each principal by default; with nothing there is one count for all.
    #[serde(default = "by_principal")]
    pub by: Vec<CountBy>,
    /// The tools (prompts, resources) that it is for, by name or URI. None: all.
    #[serde(default)]
    pub tools: Option<Vec<String>>,
    /// The methods that it is for. `tools/call` by default.
    #[serde(default = "tool_calls")]
    pub methods: Vec<String>,
}

/// How many calls may run at once. One more is refused, not kept waiting: its client's own timeout would run on meanwhile,
/// nobody would see the overload, and a model that is told can do something else.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ConcurrencyLimit {
    /// Calls at once; at least 1.
    pub most: u32,
    /// As [`RateLimit::by`].
    #[serde(default = "by_principal")]
    pub by: Vec<CountBy>,
    /// As [`RateLimit::tools`].
    #[serde(default)]
    pub tools: Option<Vec<String>>,
    /// As [`RateLimit::methods`].
    #[serde(default = "tool_calls")]
    pub methods: Vec<String>,
}

/// How long tools may take.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Timeouts {
    /// Tools that have no timeout of their own.
    pub default: TimeoutConfig,
    /// By name.
    pub tools: BTreeMap<String, TimeoutConfig>,
}

/// How long a call may take, as a task too; 0 counts as no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct TimeoutConfig {
    /// Milliseconds in all, in the place of `limits.callTimeoutMs`.
    pub total_ms: Option<u64>,
    /// Milliseconds without progress. What a person is asked does not count.
    pub idle_ms: Option<u64>,
}

/// How the audit log is written.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct AuditConfig {
    /// The file that lines are appended to; made if it is not there, readable by its owner alone.
    pub file: Option<String>,
    /// Whether lines go to stderr.
    pub stderr: bool,
    /// Whether arguments are written, as far as they are not hidden. True.
    pub arguments: bool,
    /// What of the arguments is hidden, beside what a schema marks: JSON pointers (RFC 6901), where `*` stands for every
    /// member and every element.
    pub redact: Vec<String>,
}

impl RateLimit {
    /// So many calls of each principal in so many milliseconds.
    pub fn new(calls: u32, period_ms: u64) -> Self {
        Self { calls, period_ms, burst: None, by: by_principal(), tools: None, methods: tool_calls() }
    }

    /// Only for these tools.
    #[must_use]
    pub fn tools<T: Into<String>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.tools = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// What is counted apart.
    #[must_use]
    pub fn by(mut self, by: impl IntoIterator<Item = CountBy>) -> Self {
        self.by = by.into_iter().collect();
        self
    }

    /// How many may come at once.
    #[must_use]
    pub fn burst(mut self, calls: u32) -> Self {
        self.burst = Some(calls);
        self
    }
}

impl ConcurrencyLimit {
    /// So many calls of each principal at once.
    pub fn new(most: u32) -> Self {
        Self { most, by: by_principal(), tools: None, methods: tool_calls() }
    }

    /// Only for these tools.
    #[must_use]
    pub fn tools<T: Into<String>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.tools = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// What is counted apart.
    #[must_use]
    pub fn by(mut self, by: impl IntoIterator<Item = CountBy>) -> Self {
        self.by = by.into_iter().collect();
        self
    }
}

impl Default for AuditConfig {
    fn default() -> Self {
        Self { file: None, stderr: false, arguments: true, redact: Vec::new() }
    }
}

impl PolicyConfig {
    /// Checks what the types can't say.
    pub(super) fn check(&self) -> Result<(), String> {
        for (name, limit) in &self.rate_limits {
            if limit.calls == 0 || limit.period_ms == 0 || limit.burst == Some(0) {
                return Err(format!("rateLimits.{name}: calls, periodMs and burst must be at least 1"));
            }
            let burst = u128::from(limit.burst.unwrap_or(limit.calls));
            if u128::from(limit.period_ms) * burst / u128::from(limit.calls) > LONGEST_REFILL_MS {
                return Err(format!("rateLimits.{name}: a burst must be given back within ten years"));
            }
        }
        if let Some((name, _)) = self.concurrency.iter().find(|(_, limit)| limit.most == 0) {
            return Err(format!("concurrency.{name}: most must be at least 1"));
        }
        let pointers = self.audit.iter().flat_map(|audit| &audit.redact);
        match pointers.into_iter().find(|pointer| !pointer.is_empty() && !pointer.starts_with('/')) {
            Some(pointer) => Err(format!("audit.redact: {pointer:?} is no JSON pointer")),
            None => Ok(()),
        }
    }
}

/// Which calls a limit is for, and under which key it counts them.
#[derive(Debug)]
pub(super) struct Scope {
    pub(super) by: Vec<CountBy>,
    pub(super) tools: Option<Vec<String>>,
    pub(super) methods: Vec<String>,
}

impl Scope {
    /// None: the limit is not for this call.
    pub(super) fn key(&self, call: &CallFacts) -> Option<String> {
        let name = call.name().unwrap_or_default();
        // A peer can invent names where the application keeps the list; long ones are counted together.
        let counted = if name.len() <= LONGEST_NAME { name } else { "" };
        let applies = self.methods.iter().any(|method| method == call.method())
            && self.tools.as_ref().is_none_or(|tools| tools.iter().any(|tool| tool == name));
        applies.then(|| {
            let mut key = String::new();
            for by in &self.by {
                match by {
                    CountBy::Principal => key.push_str(&call.party()),
                    CountBy::Tool => key.push_str(counted),
                }
                // No text of a peer has it, so two keys never run together.
                key.push('\0');
            }
            key
        })
    }
}

fn by_principal() -> Vec<CountBy> {
    vec![CountBy::Principal]
}

fn tool_calls() -> Vec<String> {
    vec!["tools/call".into()]
}
