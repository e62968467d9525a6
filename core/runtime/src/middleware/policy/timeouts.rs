//! How long tools may take. The engine keeps the time; here is said which.

use super::config::Timeouts;
use crate::middleware::{CallFacts, Middleware};
use ferromcp_engine::CallLimits;

pub(super) struct ToolTimeouts(pub(super) Timeouts);

impl Middleware for ToolTimeouts {
    fn limits(&self, call: &CallFacts) -> CallLimits {
        let Some(tool) = call.tool() else { return CallLimits::default() };
        let timeout = self.0.tools.get(tool).unwrap_or(&self.0.default);
        CallLimits { total_ms: timeout.total_ms, idle_ms: timeout.idle_ms }
    }
}
