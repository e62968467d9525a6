//! Streams whose messages come whole, each with an answer of its own: what a carrier other than a pipe needs.

use super::Server;
use super::event::{CancelReason, ClientFacts, Event, RequestKey, StreamId};
use super::inflight::InFlight;
use super::stream::{Legacy, Stream};
use crate::http::{Headers, mirror};
use crate::model::LogLevel;
use crate::wire::Revision;
use std::collections::HashSet;
use std::sync::Arc;

impl Server {
    /// Opens a stream for messages that come whole.
    pub(crate) fn open_whole(&mut self, principal: Option<&str>) -> StreamId {
        let id = self.open_with(None);
        if let (Some(principal), Some(stream)) = (principal, self.streams.get_mut(&id)) {
            stream.principal = Some(principal.to_owned());
        }
        id
    }

    /// Takes a stream for one of a legacy client whose handshake was elsewhere, or is forgotten: nothing is known of the
    /// client, so nothing can be asked of it.
    pub(crate) fn assume(&mut self, stream: StreamId, revision: Revision) {
        let Some(stream) = self.streams.get_mut(&stream) else { return };
        stream.legacy = Some(Legacy {
            revision,
            client: Arc::new(ClientFacts { info: None, capabilities: "{}".to_owned() }),
            ready: true,
            log_level: LogLevel::Info,
            watched: HashSet::new(),
        });
    }

    /// Every connection of the legacy era, oldest first.
    pub fn legacy_streams(&self) -> Vec<StreamId> {
        self.streams.values().filter(|stream| stream.legacy.is_some()).map(|stream| stream.id).collect()
    }

    /// Where a call came from; None: it is over.
    pub fn stream_of(&self, call: RequestKey) -> Option<StreamId> {
        self.requests.get(call).map(|record| record.stream)
    }

    /// The lane of a call's answer.
    pub(crate) fn lane_of(&self, call: RequestKey) -> Option<(StreamId, u32)> {
        self.requests.get(call).map(|record| (record.stream, record.via.lane))
    }

    /// This process goes away: nobody is waited for any more, and the tasks that run here have failed.
    pub fn give_up_everything(&mut self) {
        let streams: Vec<_> = self.streams.keys().copied().collect();
        for stream in streams {
            self.give_up_outgoing(stream);
        }
        self.give_up_where(InFlight::is_held, &CancelReason::Closed);
        self.give_up_where(|record| record.run.is_some(), &CancelReason::Closed);
    }

    /// Fills `bytes` with what nobody can guess. False: there is no source of it.
    pub(crate) fn random(&mut self, bytes: &mut [u8]) -> bool {
        self.entropy().map(|entropy| entropy.fill(bytes)).is_ok()
    }

    /// What `initialize` has agreed on.
    pub(crate) fn agreed(&self, stream: StreamId) -> Option<Revision> {
        self.streams.get(&stream).and_then(Stream::negotiated)
    }

    /// Says whether the client can be told what belongs to none of its requests.
    pub(crate) fn set_general(&mut self, stream: StreamId, open: bool) {
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.general = open;
        }
    }

    /// Whether the headers of a `tools/call` mirror its arguments as the tool's definition wants it.
    pub(crate) fn check_mirrors(&self, tool: &str, arguments: &str, headers: &dyn Headers) -> Result<(), String> {
        match self.catalogue.tools.get(tool) {
            Some(tool) if !tool.mirrors.is_empty() => mirror::check(&tool.mirrors, arguments, headers),
            _ => Ok(()),
        }
    }

    /// Forgets a stream whose one request is answered. What goes on without it, a task or a call that waits for a retry,
    /// does so.
    pub(crate) fn retire(&mut self, stream: StreamId) {
        let idle = |state: &Stream| state.in_flight.is_empty() && state.subscriptions.is_empty();
        if self.streams.get(&stream).is_some_and(idle)
            && let Some(stream) = self.streams.remove(&stream)
            && stream.legacy.is_some()
        {
            self.event(Event::Closed { stream: stream.id });
        }
    }
}
