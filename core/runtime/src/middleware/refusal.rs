//! How a call that is not to be served is answered.

use crate::endpoint::Endpoint;
use crate::options::Error;
use ferromcp_engine::{PeerError, Reply, RequestKey};
use serde_json::json;
use std::time::Duration;

/// Where a tool error says how long to wait; milliseconds.
const RETRY_AFTER: &str = "ferromcp/retryAfterMs";

/// Why a call is not served.
///
/// A `tools/call` is answered with a tool error, because that is what the model gets to read and can act upon: it waits, or
/// does something else (`server/tools`, "Error Handling": tool execution errors contain actionable feedback). Protocol
/// errors are for requests that are wrong in themselves. Every other method has only those, and gets -32603.
#[derive(Clone, Debug)]
pub struct Refusal {
    text: String,
    retry_after: Option<Duration>,
    error: Option<PeerError>,
}

impl Refusal {
    /// For this reason, which the model reads.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), retry_after: None, error: None }
    }

    /// By a JSON-RPC error, whatever the method.
    pub fn error(error: PeerError) -> Self {
        Self { text: String::new(), retry_after: None, error: Some(error) }
    }

    /// Says when it is worth trying again: in the text, and in milliseconds for programs, as `ferromcp/retryAfterMs` in a tool
    /// error's `_meta` or `retryAfterMs` in an error's `data`. An error given by [`Refusal::error`] stays as it is.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// Answers the call. False: it is over.
    pub(super) fn answer(&self, endpoint: &Endpoint, key: RequestKey, method: &str) -> Result<bool, Error> {
        if let Some(error) = &self.error {
            return endpoint.fail(key, error);
        }
        // Rounded up, so that whoever waits that long does not come too early.
        let wait_ms = self.retry_after.map(|wait| wait.as_micros().div_ceil(1_000));
        let mut text = self.text.clone();
        if let Some(ms) = wait_ms {
            text.push_str(&format!(" Try again in {}.{:03} s.", ms / 1_000, ms % 1_000));
        }
        if method != "tools/call" {
            let data = wait_ms.map(|ms| json!({ "retryAfterMs": ms as u64 }).to_string());
            return endpoint.fail(key, &PeerError { data, ..PeerError::internal(text) });
        }
        let content = json!([{"type": "text", "text": text}]).to_string();
        let meta = wait_ms.map(|ms| json!({ RETRY_AFTER: ms as u64 }).to_string());
        endpoint
            .respond(key, Reply::Tool { content: &content, structured: None, is_error: true, meta: meta.as_deref() })
    }
}
