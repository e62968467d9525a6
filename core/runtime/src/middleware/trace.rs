//! The trace that a request belongs to (2026-07-28 `basic/index`, "OpenTelemetry trace context").

use ferromcp_engine::Call;
use serde::Deserialize;

/// What `_meta` says of a trace, as the client wrote it: the formats are those of W3C Trace Context and W3C Baggage, and
/// whoever reads them has to expect anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceContext {
    /// Which trace, and which span of it has sent the request.
    pub traceparent: Option<String>,
    /// What vendors add.
    pub tracestate: Option<String>,
    /// Names and values that travel with it.
    pub baggage: Option<String>,
}

/// A member that is no text counts as missing.
#[derive(Deserialize)]
struct Members {
    #[serde(default)]
    traceparent: Option<serde_json::Value>,
    #[serde(default)]
    tracestate: Option<serde_json::Value>,
    #[serde(default)]
    baggage: Option<serde_json::Value>,
}

impl TraceContext {
    /// That of a request; empty where it has none.
    pub fn of(call: &Call) -> Self {
        let Some(members) = call.meta_json().and_then(|meta| serde_json::from_str::<Members>(meta).ok()) else {
            return Self::default();
        };
        let text = |value: Option<serde_json::Value>| value.and_then(|value| value.as_str().map(str::to_owned));
        Self {
            traceparent: text(members.traceparent),
            tracestate: text(members.tracestate),
            baggage: text(members.baggage),
        }
    }

    /// Whether the request says nothing of a trace.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The span of a call: `mcp.call` with what is called, and the trace that the request belongs to.
#[cfg(feature = "tracing")]
pub(crate) fn span(call: &Call) -> tracing::Span {
    use tracing::field::Empty;
    let span = tracing::info_span!(
        "mcp.call",
        method = call.method(),
        request = call.id_json(),
        revision = call.revision.as_str(),
        name = Empty,
        traceparent = Empty,
        tracestate = Empty,
        baggage = Empty,
    );
    if !span.is_disabled() {
        // Read only where somebody listens.
        let TraceContext { traceparent, tracestate, baggage } = TraceContext::of(call);
        let name = super::facts::name_of(call);
        let fields = [("name", name), ("traceparent", traceparent), ("tracestate", tracestate), ("baggage", baggage)];
        for (field, value) in fields {
            if let Some(value) = value {
                span.record(field, value.as_str());
            }
        }
    }
    span
}
