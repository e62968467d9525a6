//! The middleware that most servers want, made from one configuration: an audit log, rate limits, limits of calls at once,
//! and times that tools may take. `docs/policy.md` has the table.
//!
//! They stand in this order, from the outside in: the audit log sees what the others refuse, and a call that its rate
//! forbids takes no place among those at once.

mod audit;
mod concurrency;
mod config;
mod mask;
mod rate;
mod timeouts;

pub use config::{AuditConfig, ConcurrencyLimit, CountBy, PolicyConfig, RateLimit, TimeoutConfig, Timeouts};

use super::Middleware;
use crate::options::Error;
use audit::{Audit, Sink};
use ferromcp_engine::LocalError;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time since any fixed moment, for what counts by time.
type Clock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// Takes a line of the audit log.
type TakeLine = Arc<dyn Fn(&str) + Send + Sync>;

/// Makes the middleware of a policy.
///
/// ```
/// use ferromcp::middleware::policy::{Policy, RateLimit, TimeoutConfig};
///
/// let policy = Policy::new()
///     .rate_limit("search", RateLimit::new(30, 60_000).tools(["web_search"]))
///     .timeout("web_search", TimeoutConfig { total_ms: Some(20_000), idle_ms: None });
/// let same = Policy::from_json(r#"{
///     "rateLimits": {"search": {"calls": 30, "periodMs": 60000, "tools": ["web_search"]}},
///     "timeouts": {"tools": {"web_search": {"totalMs": 20000}}}
/// }"#)?;
/// assert_eq!(policy.config(), same.config());
/// # Ok::<(), ferromcp::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Policy {
    config: PolicyConfig,
    clock: Option<Clock>,
    audit_to: Option<TakeLine>,
}

impl Policy {
    /// One that allows everything.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the JSON form, as every language passes it.
    ///
    /// # Errors
    /// [`Error::Engine`] with [`LocalError::Config`], naming what is wrong.
    pub fn from_json(json: &str) -> Result<Self, Error> {
        // Serde would take an array of the members' values, too.
        if !json.trim_start().starts_with('{') {
            return Err(wrong("it must be an object"));
        }
        let config = serde_json::from_str(json).map_err(|error| wrong(&error.to_string()))?;
        Ok(Self { config, ..Self::default() })
    }

    /// What it says.
    pub fn config(&self) -> &PolicyConfig {
        &self.config
    }

    /// Adds a quota, or replaces the one of this name.
    #[must_use]
    pub fn rate_limit(mut self, name: &str, limit: RateLimit) -> Self {
        self.config.rate_limits.insert(name.to_owned(), limit);
        self
    }

    /// Adds a limit of calls at once, or replaces the one of this name.
    #[must_use]
    pub fn concurrency(mut self, name: &str, limit: ConcurrencyLimit) -> Self {
        self.config.concurrency.insert(name.to_owned(), limit);
        self
    }

    /// Says how long a tool may take.
    #[must_use]
    pub fn timeout(mut self, tool: &str, timeout: TimeoutConfig) -> Self {
        self.config.timeouts.tools.insert(tool.to_owned(), timeout);
        self
    }

    /// Says how long those tools may take that have no timeout of their own.
    #[must_use]
    pub fn default_timeout(mut self, timeout: TimeoutConfig) -> Self {
        self.config.timeouts.default = timeout;
        self
    }

    /// Says how the audit log is written.
    #[must_use]
    pub fn audit(mut self, audit: AuditConfig) -> Self {
        self.config.audit = Some(audit);
        self
    }

    /// Gives each line of the audit log to a function too, without its line end.
    #[must_use]
    pub fn audit_to(mut self, take: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.audit_to = Some(Arc::new(take));
        self
    }

    /// Sets the clock by which rates are counted: the time since any fixed moment. For tests.
    #[must_use]
    pub fn clock(mut self, now: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        self.clock = Some(Arc::new(now));
        self
    }

    /// The middleware, the outermost first, for [`crate::ServeOptions::middleware`]. Opens the audit log.
    ///
    /// # Errors
    /// [`Error::Engine`] with [`LocalError::Config`] for what can't be, [`Error::Io`] where the audit log can't be opened.
    pub fn build(self) -> Result<Vec<Arc<dyn Middleware>>, Error> {
        self.config.check().map_err(|reason| wrong(&reason))?;
        let clock = self.clock.unwrap_or_else(|| {
            let origin = Instant::now();
            Arc::new(move || origin.elapsed())
        });
        let mut layers: Vec<Arc<dyn Middleware>> = Vec::new();
        if self.config.audit.is_some() || self.audit_to.is_some() {
            let config = self.config.audit.unwrap_or_default();
            let sinks = Sink::open(&config, self.audit_to)?;
            if sinks.is_empty() {
                return Err(wrong("audit wants a file, stderr, or a function"));
            }
            layers.push(Arc::new(Audit::new(&config, sinks)));
        }
        for (name, limit) in self.config.rate_limits {
            layers.push(Arc::new(rate::Rate::new(name, limit, Arc::clone(&clock))));
        }
        for (name, limit) in self.config.concurrency {
            layers.push(Arc::new(concurrency::Concurrency::new(name, limit)));
        }
        if self.config.timeouts != Timeouts::default() {
            layers.push(Arc::new(timeouts::ToolTimeouts(self.config.timeouts)));
        }
        Ok(layers)
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policy").field("config", &self.config).finish_non_exhaustive()
    }
}

fn wrong(reason: &str) -> Error {
    Error::Engine(LocalError::Config(format!("policy: {reason}")))
}
