//! The server side of MCP.
//!
//! [`Server`] holds the streams, the catalogue and the requests in flight. Its inputs and commands are spread over the
//! files of this folder by what they are about: [`request`] serves what a peer asks, [`answer`] sends what host code
//! says, [`notify`] tells of changes, [`outgoing`] asks legacy peers. Each leaves its outputs in one ordered queue.

mod answer;
mod catalogue;
mod config;
mod event;
mod inflight;
mod notify;
mod outgoing;
mod request;
mod stream;

pub use catalogue::ListKind;
pub use config::{CacheHints, CacheScope, CapabilityConfig, CatalogueKind, OutputValidation, ServerConfig};
pub use event::{
    Call, CancelReason, Diagnostic, DiagnosticKind, Event, Millis, OutgoingError, OutgoingKey, Output, Reply,
    RequestKey, StreamId, Target,
};

use crate::error::{LocalError, PeerError};
use crate::framing::{Frame, LineFramer};
use crate::jsonrpc::{self, Fault, Incoming, Kind, Message, scan, write};
use crate::wire::Revision;
use crate::wire::entry;
use crate::wire::result::Stamp;
use catalogue::{Added, Catalogue, Changes};
use inflight::Table;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use stream::{Batch, Stream};

/// Bytes in most answers: less and they would be moved while they are written.
const USUAL_ANSWER: usize = 512;

/// Bytes of a buffer that is kept for the next transmission. 4 MiB: beyond it the pages of a new one cost little beside what is
/// done with them.
const MOST_SPARE: usize = 4 << 20;

/// One MCP server, for any number of streams and both eras at once. See the crate's documentation for the contract.
pub struct Server {
    config: ServerConfig,
    stamp: Arc<Stamp>,
    catalogue: Catalogue,
    streams: BTreeMap<StreamId, Stream>,
    next_stream: u32,
    next_outgoing: u64,
    requests: Table,
    /// Requests with a deadline: when, and which. The table may have forgotten the request.
    deadlines: BTreeMap<(Millis, u64), RequestKey>,
    changes: Changes,
    outputs: VecDeque<Item>,
    /// An empty text to write into next.
    spare: String,
    shutting_down: bool,
}

/// An entry of the output queue; neighbouring transmissions to one stream are one.
#[allow(clippy::large_enum_variant, reason = "calls are the common case; boxing them costs more than moving them")]
enum Item {
    Transmit(StreamId, String),
    Event(Event),
}

impl Server {
    /// A server without streams.
    ///
    /// # Errors
    /// [`LocalError::Config`] naming what is wrong with the configuration.
    pub fn new(config: ServerConfig) -> Result<Self, LocalError> {
        let config = config.checked()?;
        let mut info = String::new();
        if config.identify {
            let newest = config.revisions[config.revisions.len() - 1];
            entry::sieve(&mut info, &config.info, entry::IMPLEMENTATION, newest);
        }
        let stamp = Stamp::new(&info, config.cache.ttl_ms, config.cache.cache_scope.as_str());
        Ok(Self {
            config,
            stamp: Arc::new(stamp),
            catalogue: Catalogue::default(),
            streams: BTreeMap::new(),
            next_stream: 0,
            next_outgoing: 0,
            requests: Table::default(),
            deadlines: BTreeMap::new(),
            changes: Changes::default(),
            outputs: VecDeque::new(),
            spare: String::new(),
            shutting_down: false,
        })
    }

    /// The configuration, as it was checked.
    pub fn config(&self) -> &ServerConfig {
        &self.config
    }

    /// Opens a stream: a peer is there, nothing is known of it.
    pub fn open(&mut self, _now: Millis) -> StreamId {
        let id = StreamId(self.next_stream);
        self.next_stream += 1;
        self.streams.insert(id, Stream::new(id, self.config.limits.max_message_bytes));
        id
    }

    /// Takes bytes from a peer, cut anywhere.
    ///
    /// # Errors
    /// [`LocalError::UnknownStream`]. Whatever the peer does wrong is answered to the peer.
    pub fn receive(&mut self, stream: StreamId, bytes: &[u8], now: Millis) -> Result<(), LocalError> {
        let mut framer = self.take_framer(stream)?;
        framer.feed(bytes, |frame| self.handle_frame(stream, frame, now));
        self.put_framer(stream, framer);
        Ok(())
    }

    /// The peer sends no more. What is in flight goes on until it is answered or `limits.drain_ms` is over;
    /// [`Event::Drained`] tells.
    ///
    /// # Errors
    /// [`LocalError::UnknownStream`].
    pub fn end_of_input(&mut self, stream: StreamId, now: Millis) -> Result<(), LocalError> {
        let mut framer = self.take_framer(stream)?;
        framer.finish(|frame| self.handle_frame(stream, frame, now));
        self.put_framer(stream, framer);
        self.end_subscriptions(stream);
        self.give_up_outgoing(stream);
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.draining = Some(now);
        }
        self.check_drained(stream);
        Ok(())
    }

    /// Nothing can be sent any more: everything of this stream is over, and the stream is forgotten.
    ///
    /// # Errors
    /// [`LocalError::UnknownStream`].
    pub fn closed(&mut self, stream: StreamId, _now: Millis) -> Result<(), LocalError> {
        if !self.streams.contains_key(&stream) {
            return Err(LocalError::UnknownStream);
        }
        self.give_up_outgoing(stream);
        self.cancel_all(stream, &CancelReason::Closed);
        if let Some(stream) = self.streams.remove(&stream) {
            for uri in stream.subscriptions.iter().flat_map(|subscription| &subscription.watched) {
                self.event(Event::Unsubscribed { stream: stream.id, uri: uri.clone() });
            }
            for uri in stream.legacy.iter().flat_map(|legacy| &legacy.watched) {
                self.event(Event::Unsubscribed { stream: stream.id, uri: uri.clone() });
            }
        }
        self.outputs.retain(|item| !matches!(item, Item::Transmit(to, _) if *to == stream));
        Ok(())
    }

    /// Ends every subscription with its result (`basic/patterns/subscriptions`, "Graceful Closure") and refuses new
    /// requests. Calls in flight may still be answered.
    pub fn shutdown(&mut self, _now: Millis) {
        self.shutting_down = true;
        let streams: Vec<_> = self.streams.keys().copied().collect();
        for stream in streams {
            self.end_subscriptions(stream);
        }
    }

    /// What is to be done next; None when there is nothing until the next input, command or deadline.
    pub fn poll_output(&mut self) -> Option<Output> {
        Some(match self.outputs.pop_front()? {
            Item::Transmit(stream, text) => Output::Transmit { stream, bytes: text.into_bytes() },
            Item::Event(event) => Output::Event(event),
        })
    }

    /// Takes the buffer of an [`Output::Transmit`] back after use, so that the next one needs no memory from the system.
    /// Optional.
    pub fn recycle(&mut self, mut bytes: Vec<u8>) {
        if bytes.capacity() > self.spare.capacity() && bytes.capacity() <= MOST_SPARE {
            bytes.clear();
            // Nothing is UTF-8.
            self.spare = String::from_utf8(bytes).unwrap_or_default();
        }
    }

    /// When [`Server::handle_timeout`] wants to be called, if nothing else happens before.
    pub fn poll_timeout(&self) -> Option<Millis> {
        let calls = self.deadlines.keys().next().map(|(at, _)| *at);
        let drains = self.streams.values().filter(|stream| !stream.drained);
        let drains = drains.filter_map(|stream| stream.draining?.checked_add(self.config.limits.drain_ms)).min();
        let outgoing = self.streams.values().flat_map(|stream| stream.outgoing.values());
        let outgoing = outgoing.filter_map(|request| request.deadline).min();
        [calls, drains, outgoing, self.changes.due].into_iter().flatten().min()
    }

    /// Does what is due. Calling it early or late does no harm.
    pub fn handle_timeout(&mut self, now: Millis) {
        self.expire_calls(now);
        self.expire_outgoing(now);
        if self.changes.due.is_some_and(|due| due <= now) {
            self.tell_changes();
        }
        let over = |stream: &Stream| {
            let due = stream.draining.map(|since| since.saturating_add(self.config.limits.drain_ms));
            !stream.drained && due.is_some_and(|due| due <= now)
        };
        let over: Vec<_> = self.streams.values().filter(|stream| over(stream)).map(|stream| stream.id).collect();
        for stream in over {
            self.cancel_all(stream, &CancelReason::Drained);
            self.check_drained(stream);
        }
    }

    /// Adds a tool: the JSON of a `Tool` as the newest revision writes it. `tag` comes back in [`Target::Tool`].
    ///
    /// # Errors
    /// [`LocalError::Definition`] naming the tool and what is wrong: no name, no input schema, a schema that is not
    /// valid by its dialect or refers to another document, a name that is taken.
    pub fn add_tool(&mut self, definition: &str, tag: u64, now: Millis) -> Result<(), LocalError> {
        let added = self.catalogue.add_tool(definition, tag);
        self.added(added, ListKind::Tools, now)
    }

    /// Adds a resource: the JSON of a `Resource`. `tag` comes back in [`Target::Resource`].
    ///
    /// # Errors
    /// [`LocalError::Definition`].
    pub fn add_resource(&mut self, definition: &str, tag: u64, now: Millis) -> Result<(), LocalError> {
        let added = self.catalogue.add_resource(definition, tag);
        self.added(added, ListKind::Resources, now)
    }

    /// Adds a resource template: the JSON of a `ResourceTemplate`. `tag` comes back in [`Target::Template`].
    ///
    /// # Errors
    /// [`LocalError::Definition`], also for a template that RFC 6570 does not allow.
    pub fn add_resource_template(&mut self, definition: &str, tag: u64, now: Millis) -> Result<(), LocalError> {
        let added = self.catalogue.add_template(definition, tag);
        self.added(added, ListKind::Resources, now)
    }

    /// Adds a prompt: the JSON of a `Prompt`. `tag` comes back in [`Target::Prompt`].
    ///
    /// # Errors
    /// [`LocalError::Definition`].
    pub fn add_prompt(&mut self, definition: &str, tag: u64, now: Millis) -> Result<(), LocalError> {
        let added = self.catalogue.add_prompt(definition, tag);
        self.added(added, ListKind::Prompts, now)
    }

    /// Removes a tool by its name; false when there is none. Calls of it that run go on.
    pub fn remove_tool(&mut self, name: &str, now: Millis) -> bool {
        let removed = self.catalogue.remove_tool(name);
        self.removed(removed, ListKind::Tools, now)
    }

    /// Removes a resource by its URI; false when there is none.
    pub fn remove_resource(&mut self, uri: &str, now: Millis) -> bool {
        let removed = self.catalogue.remove_resource(uri);
        self.removed(removed, ListKind::Resources, now)
    }

    /// Removes a resource template by its text; false when there is none.
    pub fn remove_resource_template(&mut self, uri_template: &str, now: Millis) -> bool {
        let removed = self.catalogue.remove_template(uri_template);
        self.removed(removed, ListKind::Resources, now)
    }

    /// Removes a prompt by its name; false when there is none.
    pub fn remove_prompt(&mut self, name: &str, now: Millis) -> bool {
        let removed = self.catalogue.remove_prompt(name);
        self.removed(removed, ListKind::Prompts, now)
    }

    fn added(&mut self, added: Added, list: ListKind, now: Millis) -> Result<(), LocalError> {
        if let Some(advice) = added? {
            self.diagnose(None, DiagnosticKind::Definition, advice);
        }
        self.notify_changed(list, now);
        Ok(())
    }

    fn removed(&mut self, removed: bool, list: ListKind, now: Millis) -> bool {
        if removed {
            self.notify_changed(list, now);
        }
        removed
    }

    fn take_framer(&mut self, stream: StreamId) -> Result<LineFramer, LocalError> {
        self.streams.get_mut(&stream).and_then(|stream| stream.framer.take()).ok_or(LocalError::UnknownStream)
    }

    fn put_framer(&mut self, stream: StreamId, framer: LineFramer) {
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.framer = Some(framer);
        }
    }

    fn handle_frame(&mut self, stream: StreamId, frame: Frame<'_>, now: Millis) {
        match frame {
            Frame::Line(line) => match Incoming::parse(line, self.config.limits.max_depth) {
                Incoming::Single(Ok(message)) => self.handle_message(stream, &message, None, now),
                Incoming::Single(Err(fault)) => self.refuse_fault(stream, &fault, None),
                Incoming::Batch(array) => self.handle_batch(stream, array, now),
            },
            Frame::TooLong { limit, .. } => {
                let error =
                    PeerError::invalid_request(format!("Invalid Request: message is longer than {limit} bytes"));
                self.refuse_fault(stream, &Fault { error, id: None }, None);
            }
        }
    }

    fn handle_message(&mut self, stream: StreamId, message: &Message<'_>, batch: Option<u32>, now: Millis) {
        match message.kind {
            Kind::Request => self.handle_request(stream, message, batch, now),
            Kind::Notification => self.handle_notification(stream, message),
            Kind::Response => self.handle_response(stream, message),
        }
    }

    /// An array: a batch where 2025-03-26 was negotiated, else no message (2025-06-18 changelog, 1).
    fn handle_batch(&mut self, stream: StreamId, array: &str, now: Millis) {
        let negotiated = self.streams.get(&stream).and_then(Stream::negotiated);
        let refuse =
            |reason: &str| Fault { error: PeerError::invalid_request(format!("Invalid Request: {reason}")), id: None };
        if !negotiated.is_some_and(Revision::has_batches) {
            return self.refuse_fault(stream, &refuse("batches exist only in revision 2025-03-26"), None);
        }
        let count = scan::elements(array).count();
        if count == 0 {
            return self.refuse_fault(stream, &refuse("the batch is empty"), None);
        }
        if count > self.config.limits.max_batch {
            let reason = format!("the batch has more than {} messages", self.config.limits.max_batch);
            return self.refuse_fault(stream, &refuse(&reason), None);
        }
        let Some(state) = self.streams.get_mut(&stream) else { return };
        let batch = state.next_batch;
        state.next_batch = state.next_batch.wrapping_add(1);
        state.batches.insert(batch, Batch { pending: 0, complete: false, answers: String::new() });
        for element in scan::elements(array) {
            match Message::from_json(element, self.config.limits.max_depth) {
                Ok(message) => self.handle_message(stream, &message, Some(batch), now),
                Err(fault) => self.refuse_fault(stream, &fault, Some(batch)),
            }
        }
        if let Some(state) = self.streams.get_mut(&stream).and_then(|stream| stream.batches.get_mut(&batch)) {
            state.complete = true;
        }
        self.check_batch(stream, batch);
    }

    fn refuse_fault(&mut self, stream: StreamId, fault: &Fault<'_>, batch: Option<u32>) {
        let kind = if fault.error.code == crate::error::code::PARSE_ERROR {
            DiagnosticKind::Noise
        } else {
            DiagnosticKind::BadMessage
        };
        self.diagnose(Some(stream), kind, fault.error.message.clone());
        let negotiated = self.streams.get(&stream).and_then(Stream::negotiated);
        let id = fault.id.or_else(|| Revision::unreadable_id(negotiated));
        self.send_answer(stream, batch, |out| write::error(out, id, &fault.error));
    }

    /// Puts one answer on its way: onto the stream, or into the batch that it belongs to.
    fn send_answer(&mut self, stream: StreamId, batch: Option<u32>, write: impl FnOnce(&mut String)) {
        if let Some(number) = batch
            && let Some(batch) = self.streams.get_mut(&stream).and_then(|stream| stream.batches.get_mut(&number))
        {
            if !batch.answers.is_empty() {
                batch.answers.push(',');
            }
            write(&mut batch.answers);
            return self.check_batch(stream, number);
        }
        let out = self.transmit(stream);
        write(out);
        out.push('\n');
    }

    /// Sends a batch's answers when the last one is there.
    fn check_batch(&mut self, stream: StreamId, number: u32) {
        let Some(state) = self.streams.get_mut(&stream) else { return };
        if !state.batches.get(&number).is_some_and(|batch| batch.complete && batch.pending == 0) {
            return;
        }
        let Some(batch) = state.batches.remove(&number) else { return };
        if !batch.answers.is_empty() {
            let out = self.transmit(stream);
            out.push('[');
            out.push_str(&batch.answers);
            out.push_str("]\n");
        }
    }

    /// The text that is to be sent to `stream` next.
    fn transmit(&mut self, stream: StreamId) -> &mut String {
        if !matches!(self.outputs.back(), Some(Item::Transmit(to, _)) if *to == stream) {
            let mut text = std::mem::take(&mut self.spare);
            text.reserve(USUAL_ANSWER);
            self.outputs.push_back(Item::Transmit(stream, text));
        }
        match self.outputs.back_mut() {
            Some(Item::Transmit(_, text)) => text,
            _ => unreachable!("a transmission was just put there"),
        }
    }

    fn event(&mut self, event: Event) {
        self.outputs.push_back(Item::Event(event));
    }

    fn diagnose(&mut self, stream: Option<StreamId>, kind: DiagnosticKind, detail: String) {
        self.event(Event::Diagnostic(Diagnostic { stream, kind, detail }));
    }

    /// Says `Drained` when the input is over and nothing is in flight.
    fn check_drained(&mut self, stream: StreamId) {
        let Some(state) = self.streams.get_mut(&stream) else { return };
        if state.draining.is_some() && !state.drained && state.in_flight.is_empty() {
            state.drained = true;
            self.event(Event::Drained { stream });
        }
    }

    /// Ends every call of a stream without an answer.
    fn cancel_all(&mut self, stream: StreamId, reason: &CancelReason) {
        let Some(state) = self.streams.get_mut(&stream) else { return };
        let mut keys: Vec<_> = state.in_flight.drain().map(|(_, key)| key).collect();
        state.batches.clear();
        keys.sort_unstable_by_key(|key| key.0);
        for key in keys {
            if let Some(record) = self.requests.remove(key) {
                self.forget_deadline(key, record.deadline);
                self.event(Event::Cancelled { key, reason: reason.clone() });
            }
        }
    }

    /// Takes a request out of the books. The batch that waits for it waits one less.
    fn settle(&mut self, key: RequestKey) -> Option<inflight::InFlight> {
        let record = self.requests.remove(key)?;
        self.forget_deadline(key, record.deadline);
        if let Some(stream) = self.streams.get_mut(&record.stream) {
            stream.in_flight.remove(&*jsonrpc::canonical_id(&record.id));
            if let Some(batch) = record.batch.and_then(|batch| stream.batches.get_mut(&batch)) {
                batch.pending -= 1;
            }
        }
        Some(record)
    }

    fn forget_deadline(&mut self, key: RequestKey, deadline: Option<Millis>) {
        if let Some(deadline) = deadline {
            self.deadlines.remove(&(deadline, key.0));
        }
    }
}
