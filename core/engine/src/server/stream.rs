//! What the engine knows of one byte stream.

use super::event::{ClientFacts, Millis, OutgoingKey, RequestKey, StreamId};
use crate::framing::LineFramer;
use crate::jsonrpc::{Id, LastMeta};
use crate::model::LogLevel;
use crate::wire::Revision;
use ahash::AHashMap;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

pub(super) struct Stream {
    pub(super) id: StreamId,
    /// Taken out while a chunk goes through it.
    pub(super) framer: Option<LineFramer>,
    /// What its requests say of the sender, mostly the same each time.
    pub(super) last_meta: LastMeta,
    /// Who is behind it, where that is known.
    pub(super) principal: Option<String>,
    /// What `initialize` agreed on; None until then, and for ever with a modern client.
    pub(super) legacy: Option<Legacy>,
    /// Requests that are not answered yet, by id.
    pub(super) in_flight: AHashMap<Id, RequestKey>,
    /// Open `subscriptions/listen` requests, by id, oldest first.
    pub(super) subscriptions: Vec<Subscription>,
    /// Our own requests that the peer has not answered yet.
    pub(super) outgoing: BTreeMap<OutgoingKey, Outgoing>,
    /// Batches whose answers are not complete yet.
    pub(super) batches: HashMap<u32, Batch>,
    pub(super) next_batch: u32,
    /// Since when requests about tasks are counted, and how many there were.
    pub(super) task_requests: (Millis, u32),
    /// No more input comes; when it began to drain.
    pub(super) draining: Option<Millis>,
    /// `Drained` was said.
    pub(super) drained: bool,
}

/// A connection of the legacy era.
pub(super) struct Legacy {
    pub(super) revision: Revision,
    pub(super) client: Arc<ClientFacts>,
    /// `notifications/initialized` has come.
    pub(super) ready: bool,
    pub(super) log_level: LogLevel,
    pub(super) watched: HashSet<String>,
}

/// An open `subscriptions/listen` request (2026-07-28 `basic/patterns/subscriptions`).
pub(super) struct Subscription {
    /// The request's id as written; every message of the subscription carries it.
    pub(super) id: Id,
    pub(super) revision: Revision,
    pub(super) tools: bool,
    pub(super) prompts: bool,
    pub(super) resources: bool,
    pub(super) watched: HashSet<String>,
    /// Tasks, and what was told of each last.
    pub(super) tasks: HashMap<String, String>,
}

/// A request of ours.
#[derive(Clone, Copy)]
pub(super) struct Outgoing {
    pub(super) deadline: Option<Millis>,
    /// The call that asks by it.
    pub(super) call: Option<RequestKey>,
}

/// A batch in the making (2025-03-26 only).
pub(super) struct Batch {
    /// Members whose answer is missing.
    pub(super) pending: usize,
    /// True once every member has been looked at.
    pub(super) complete: bool,
    /// The answers so far, separated by commas.
    pub(super) answers: String,
}

impl Stream {
    pub(super) fn new(id: StreamId, max_message_bytes: usize) -> Self {
        Self {
            id,
            framer: Some(LineFramer::new(max_message_bytes)),
            last_meta: LastMeta::default(),
            principal: None,
            legacy: None,
            in_flight: AHashMap::new(),
            subscriptions: Vec::new(),
            outgoing: BTreeMap::new(),
            batches: HashMap::new(),
            next_batch: 0,
            task_requests: (0, 0),
            draining: None,
            drained: false,
        }
    }

    pub(super) fn negotiated(&self) -> Option<Revision> {
        self.legacy.as_ref().map(|legacy| legacy.revision)
    }

    /// The `ClientCapabilities` of a legacy client.
    pub(super) fn capabilities(&self) -> Option<&str> {
        self.legacy.as_ref().map(|legacy| legacy.client.capabilities.as_str())
    }

    /// How many resource URIs this stream watches, over everything.
    pub(super) fn watched_count(&self) -> usize {
        let modern: usize =
            self.subscriptions.iter().map(|subscription| subscription.watched.len() + subscription.tasks.len()).sum();
        modern + self.legacy.as_ref().map_or(0, |legacy| legacy.watched.len())
    }

    /// True when anything on this stream watches `uri`.
    pub(super) fn watches(&self, uri: &str) -> bool {
        self.subscriptions.iter().any(|subscription| subscription.watched.contains(uri))
            || self.legacy.as_ref().is_some_and(|legacy| legacy.watched.contains(uri))
    }
}
