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
    /// Cuts what arrives into messages; taken out while a chunk goes through it. None where messages come whole.
    pub(super) framer: Option<LineFramer>,
    /// Whether it leads to one client, whoever that is: a pipe does, requests of HTTP may be anybody's.
    pub(super) is_private: bool,
    /// Whether the client can be told what belongs to none of its requests.
    pub(super) general: bool,
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

/// The way of an answer, and of what else belongs to its request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Via {
    /// Which of the answers that a carrier gives apart it is for (HTTP has one for each request); 0 for the stream itself.
    pub(crate) lane: u32,
    /// The batch whose answer it is a part of.
    pub(crate) batch: Option<u32>,
    /// Only the answer can go there.
    pub(crate) answer_only: bool,
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
    pub(super) via: Via,
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
    /// The way that it went.
    pub(super) via: Via,
    /// The call that asks by it.
    pub(super) call: Option<RequestKey>,
}

/// A batch in the making (2025-03-26 only).
pub(super) struct Batch {
    /// Members whose answer is missing.
    pub(super) pending: usize,
    /// The lane of its answer.
    pub(super) lane: u32,
    /// True once every member has been looked at.
    pub(super) complete: bool,
    /// The answers so far, separated by commas.
    pub(super) answers: String,
}

impl Stream {
    pub(super) fn new(id: StreamId, framer: Option<LineFramer>) -> Self {
        Self {
            id,
            is_private: framer.is_some(),
            general: framer.is_some(),
            framer,
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

    /// Whether anything but an answer can be sent this way.
    pub(super) fn takes(&self, via: Via) -> bool {
        if via.lane == 0 { self.general } else { !via.answer_only }
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
