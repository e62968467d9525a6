//! Every bound that the engine keeps, each with its default and the reason for it.
//!
//! Going past one gives a named error and loses nothing else: the connection and the other requests live on.

use serde::Deserialize;

/// Bounds on what a peer may make the engine do. All are configurable; zero never means "unlimited".
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Limits {
    /// Bytes in one message. 64 MiB: large enough for a base64 image or a document in one argument, small enough that
    /// a peer which never sends a newline can't take the machine.
    pub max_message_bytes: usize,
    /// Nesting of arrays and objects in one message. 128: what serde_json, and so the schema validator, can walk; no
    /// honest tool argument comes near.
    pub max_depth: usize,
    /// Requests of one stream that are not answered yet. 16,384: a host that fans out thousands of calls is served,
    /// and at about a kilobyte of bookkeeping each the worst case is some tens of megabytes.
    pub max_in_flight: usize,
    /// Messages in one batch (2025-03-26 only). 1,000: beyond it the array is a way round `max_in_flight`.
    pub max_batch: usize,
    /// Open `subscriptions/listen` requests of one stream. 256: one for each view of a host, not one for each resource.
    pub max_subscriptions: usize,
    /// Resource URIs that one stream may watch, over all its subscriptions. 10,000: each costs its text.
    pub max_watched_resources: usize,
    /// Requests to the peer that are not answered yet, for one stream. 1,024: each one waits for a person or a model.
    pub max_outgoing: usize,
    /// Milliseconds that a peer has to answer a request of ours, unless the request says otherwise; 0 for no bound.
    /// 600,000: a person may have to read and type (2025-11-25 `basic/lifecycle`, "Timeouts": SHOULD).
    pub outgoing_timeout_ms: u64,
    /// Bytes of one `requestState`. 256 KiB: some answers of a language model, and still little beside a message.
    pub max_request_state_bytes: usize,
    /// Milliseconds for which a `requestState` is good. 600,000: a person may have to read and type
    /// (`basic/patterns/mrtr`, "Server Requirements": a short expiry, SHOULD).
    pub request_state_ttl_ms: u64,
    /// States that were used and are remembered until they end. 65,536: at 32 bytes each some megabytes.
    pub max_spent_states: usize,
    /// Times that one call may ask a modern client. 100: more is a loop.
    pub max_rounds: u32,
    /// Calls that wait in this process for a modern client to come back. 1,024: each keeps what host code holds.
    pub max_held: usize,
    /// Milliseconds that such a call waits. 600,000: as a state is good.
    pub held_ms: u64,
    /// Tasks of one client that run at once (2025-11-25 `basic/utilities/tasks`, "Resource Management": SHOULD). 1,024: each
    /// holds what host code holds.
    pub max_tasks: usize,
    /// Visits to URLs of legacy clients that nobody has said to be complete; of more, the oldest is forgotten, and can't be
    /// said to be complete any more. 1,024: each costs its id.
    pub max_visits: usize,
    /// Milliseconds that running calls get after the end of input. 5,000: a quick shell pipe gets its answers, a host
    /// that closed us does not wait for a stuck tool.
    pub drain_ms: u64,
    /// Milliseconds one call may run, or 0 for no bound. 0: only the tool's author knows how long its work takes.
    pub call_timeout_ms: u64,
    /// Milliseconds in which several changes of one list become one notification. 10: imperceptible, and a loop that
    /// adds a hundred tools sends one notification.
    pub coalesce_ms: u64,
    /// Values in one completion result. 100: the schema's own maximum (`server/utilities/completion`).
    pub max_completion_values: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_message_bytes: 64 << 20,
            max_depth: 128,
            max_in_flight: 16_384,
            max_batch: 1_000,
            max_subscriptions: 256,
            max_watched_resources: 10_000,
            max_outgoing: 1_024,
            outgoing_timeout_ms: 600_000,
            max_request_state_bytes: 256 << 10,
            request_state_ttl_ms: 600_000,
            max_spent_states: 65_536,
            max_rounds: 100,
            max_held: 1_024,
            held_ms: 600_000,
            max_tasks: 1_024,
            max_visits: 1_024,
            drain_ms: 5_000,
            call_timeout_ms: 0,
            coalesce_ms: 10,
            max_completion_values: 100,
        }
    }
}
