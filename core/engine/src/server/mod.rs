//! The server side of MCP.
//!
//! [`Server`] holds the streams, the catalogue and the requests in flight. Its inputs and commands are spread over the
//! files of this folder by what they are about: [`request`] serves what a peer asks, after [`prepare`] has looked at it;
//! [`carried`] is for carriers that bring messages whole, [`identity`] says who this is, [`listen`] what is watched, [`answer`] sends what host code says, [`ending`] ends what
//! gets no answer, [`notify`] tells of changes, [`rounds`] asks the client of a call, which is [`held`] meanwhile or runs again, with what [`state`] lets it keep for
//! us, [`outgoing`] asks legacy peers, [`visits`] sends users to URLs first, [`tasks`] keeps calls that outlive their
//! request. Each leaves its outputs in one ordered queue.

mod again;
mod answer;
mod by_hand;
mod carried;
mod catalogue;
mod config;
mod deadline;
mod define;
mod ending;
mod event;
mod held;
mod identity;
mod inflight;
mod listen;
mod notify;
mod outgoing;
mod prepare;
mod reply;
mod request;
mod rounds;
mod seal;
mod state;
mod stream;
mod tasks;
mod visits;
mod watched;

pub use catalogue::ListKind;
pub use config::{CacheHints, CacheScope, CapabilityConfig, CatalogueKind, OutputValidation, ServerConfig, StateKey};
pub use deadline::CallLimits;
pub use event::{
    AskKey, Call, CancelReason, Diagnostic, DiagnosticKind, Event, Millis, OutgoingError, OutgoingKey, Output, Reply,
    RequestKey, Sent, StreamId, Target,
};
pub use rounds::{Asked, InputRequest, Reentry};
pub use tasks::{StoreKey, TasksConfig};
pub use watched::{AnswerFacts, AnswerKind, Watch};

use crate::entropy::Entropy;
use crate::error::{LocalError, PeerError};
use crate::framing::{Frame, LineFramer};
use crate::jsonrpc::{Fault, Incoming, Kind, Message, scan, write};
use crate::wire::Revision;
use crate::wire::entry;
use crate::wire::result::Stamp;
use catalogue::{Catalogue, Changes};
use inflight::Table;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
pub(crate) use stream::Via;
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
    next_ask: u64,
    /// Calls that wait for a modern client to come back.
    held: usize,
    seal: seal::Seal,
    spent: state::Spent,
    entropy: Option<Box<dyn Entropy>>,
    /// UNIX milliseconds at the time 0.
    epoch_ms: u64,
    requests: Table,
    /// Requests with a deadline: when, and which. The table may have forgotten the request.
    deadlines: BTreeMap<(Millis, u64), RequestKey>,
    /// Requests of ours with a deadline.
    outgoing_due: BTreeSet<(Millis, OutgoingKey, StreamId)>,
    /// Streams whose input is over and that are not drained.
    draining: BTreeSet<StreamId>,
    /// The same for those with a bound of their own.
    bounds: BTreeMap<(Millis, u64), RequestKey>,
    watch: Watch,
    changes: Changes,
    visits: visits::Visits,
    tasks: tasks::Tasks,
    outputs: VecDeque<Item>,
    /// An empty text to write into next.
    spare: String,
    shutting_down: bool,
}

/// An entry of the output queue; neighbouring transmissions to one stream are one.
#[allow(clippy::large_enum_variant, reason = "calls are the common case; boxing them costs more than moving them")]
enum Item {
    Transmit(StreamId, u32, Sent, String),
    Unanswered(StreamId, u32),
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
        let mut seal = seal::Seal::default();
        seal.set_keys(&config.state_keys);
        let stamp = Stamp::new(&info, config.cache.ttl_ms, config.cache.cache_scope.as_str());
        Ok(Self {
            config,
            stamp: Arc::new(stamp),
            catalogue: Catalogue::default(),
            streams: BTreeMap::new(),
            next_stream: 0,
            next_outgoing: 0,
            next_ask: 0,
            held: 0,
            seal,
            spent: state::Spent::default(),
            entropy: None,
            epoch_ms: 0,
            requests: Table::default(),
            deadlines: BTreeMap::new(),
            outgoing_due: BTreeSet::new(),
            draining: BTreeSet::new(),
            bounds: BTreeMap::new(),
            watch: Watch::Nothing,
            changes: Changes::default(),
            visits: visits::Visits::default(),
            tasks: tasks::Tasks::default(),
            outputs: VecDeque::new(),
            spare: String::new(),
            shutting_down: false,
        })
    }

    /// The configuration, as it was checked.
    pub fn config(&self) -> &ServerConfig {
        &self.config
    }

    /// Takes a source of unpredictable bytes; without one no modern client can be asked.
    pub fn set_entropy(&mut self, entropy: impl Entropy + 'static) {
        self.entropy = Some(Box::new(entropy));
    }

    /// Says what the time 0 is in UNIX milliseconds; may be said again, when the system's clock was set. Needed by what
    /// leaves this process: how long a `requestState` is good.
    pub fn set_epoch(&mut self, unix_ms: u64) {
        self.epoch_ms = unix_ms;
    }

    /// Takes new keys for `requestState`, newest first: the first seals, all of them open. Nodes that share the keys can
    /// serve each other's retries.
    pub fn set_state_keys(&mut self, keys: &[StateKey]) {
        self.seal.set_keys(keys);
    }

    /// Says who is behind a stream, as far as it was verified; what is kept for one principal is not given to another.
    ///
    /// # Errors
    /// [`LocalError::UnknownStream`].
    pub fn set_principal(&mut self, stream: StreamId, principal: Option<&str>) -> Result<(), LocalError> {
        let stream = self.streams.get_mut(&stream).ok_or(LocalError::UnknownStream)?;
        stream.principal = principal.map(str::to_owned);
        Ok(())
    }

    fn entropy(&mut self) -> Result<&mut dyn Entropy, LocalError> {
        match &mut self.entropy {
            Some(entropy) => Ok(&mut **entropy),
            None => Err(LocalError::NoEntropy),
        }
    }

    /// Opens a stream: a peer is there, nothing is known of it.
    pub fn open(&mut self, _now: Millis) -> StreamId {
        let framer = LineFramer::new(self.config.limits.max_message_bytes);
        self.open_with(Some(framer))
    }

    fn open_with(&mut self, framer: Option<LineFramer>) -> StreamId {
        // Each request over HTTP has a stream, so the numbers come round while some of the first may still be open.
        while self.streams.contains_key(&StreamId(self.next_stream)) {
            self.next_stream = self.next_stream.wrapping_add(1);
        }
        let id = StreamId(self.next_stream);
        self.next_stream = self.next_stream.wrapping_add(1);
        self.streams.insert(id, Stream::new(id, framer));
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
        self.draining.insert(stream);
        self.give_up_held(stream, &CancelReason::Drained);
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
        self.give_up_held(stream, &CancelReason::Closed);
        self.draining.remove(&stream);
        self.visits.forget(stream);
        if let Some(stream) = self.streams.remove(&stream) {
            for uri in stream.subscriptions.iter().flat_map(|subscription| &subscription.watched) {
                self.event(Event::Unsubscribed { stream: stream.id, uri: uri.clone() });
            }
            for uri in stream.legacy.iter().flat_map(|legacy| &legacy.watched) {
                self.event(Event::Unsubscribed { stream: stream.id, uri: uri.clone() });
            }
            if stream.legacy.is_some() {
                self.event(Event::Closed { stream: stream.id });
            }
        }
        self.outputs.retain(|item| !matches!(item, Item::Transmit(to, ..) | Item::Unanswered(to, _) if *to == stream));
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

    /// Nothing more will be read from a stream: what was asked of its client is over.
    pub fn give_up_asking(&mut self, stream: StreamId) {
        self.give_up_outgoing(stream);
        self.give_up_held(stream, &CancelReason::Closed);
    }

    /// This process goes away: the tasks of a stream that run here have failed, and host code is told. A stream that is
    /// merely closed leaves them running, since their client may come back on another.
    pub fn end_tasks(&mut self, stream: StreamId) {
        self.give_up_tasks(stream, &CancelReason::Closed);
    }

    /// What is to be done next; None when there is nothing until the next input, command or deadline.
    pub fn poll_output(&mut self) -> Option<Output> {
        Some(match self.outputs.pop_front()? {
            Item::Transmit(stream, lane, sent, text) => {
                Output::Transmit { stream, lane, sent, bytes: text.into_bytes() }
            }
            Item::Unanswered(stream, lane) => Output::Unanswered { stream, lane },
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
        let bounds = self.bounds.keys().next().map(|(at, _)| *at);
        let drains = self.draining.iter().filter_map(|stream| self.streams.get(stream)?.draining);
        let drains = drains.filter_map(|since| since.checked_add(self.config.limits.drain_ms)).min();
        let outgoing = self.outgoing_due.first().map(|(due, ..)| *due);
        [calls, bounds, drains, outgoing, self.changes.due, self.tasks_due()].into_iter().flatten().min()
    }

    /// Does what is due. Calling it early or late does no harm.
    pub fn handle_timeout(&mut self, now: Millis) {
        self.expire_calls(now);
        self.expire_bounds(now);
        self.expire_outgoing(now);
        self.tasks_tick(now);
        if self.changes.due.is_some_and(|due| due <= now) {
            self.tell_changes();
        }
        let over = |stream: &Stream| {
            let due = stream.draining.map(|since| since.saturating_add(self.config.limits.drain_ms));
            !stream.drained && due.is_some_and(|due| due <= now)
        };
        let draining = self.draining.iter().filter_map(|stream| self.streams.get(stream));
        let over: Vec<_> = draining.filter(|stream| over(stream)).map(|stream| stream.id).collect();
        for stream in over {
            self.cancel_all(stream, &CancelReason::Drained);
            self.give_up_tasks(stream, &CancelReason::Drained);
            // A store that is away is not waited for any longer.
            if let Some(state) = self.streams.get_mut(&stream).filter(|state| !state.drained) {
                state.drained = true;
                self.draining.remove(&stream);
                self.event(Event::Drained { stream });
            }
        }
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
        let Some(state) = self.streams.get_mut(&stream) else { return };
        match frame {
            Frame::Line(line) => {
                match Incoming::parse_after(&mut state.last_meta, line, self.config.limits.max_depth) {
                    Incoming::Single(Ok(message)) => self.handle_message(stream, &message, Via::default(), now),
                    Incoming::Single(Err(fault)) => self.refuse_fault(stream, &fault, Via::default()),
                    Incoming::Batch(array) => self.handle_batch(stream, array, Via::default(), now),
                }
            }
            Frame::TooLong { limit, .. } => {
                let error =
                    PeerError::invalid_request(format!("Invalid Request: message is longer than {limit} bytes"));
                self.refuse_fault(stream, &Fault { error, id: None }, Via::default());
            }
        }
    }

    pub(crate) fn handle_message(&mut self, stream: StreamId, message: &Message<'_>, via: Via, now: Millis) {
        match message.kind {
            Kind::Request => self.handle_request(stream, message, via, now),
            Kind::Notification => self.handle_notification(stream, message),
            Kind::Response => self.handle_response(stream, message),
        }
    }

    /// An array: a batch where 2025-03-26 was negotiated, else no message (2025-06-18 changelog, 1).
    pub(crate) fn handle_batch(&mut self, stream: StreamId, array: &str, via: Via, now: Millis) {
        let negotiated = self.streams.get(&stream).and_then(Stream::negotiated);
        let refuse =
            |reason: &str| Fault { error: PeerError::invalid_request(format!("Invalid Request: {reason}")), id: None };
        if !negotiated.is_some_and(Revision::has_batches) {
            return self.refuse_fault(stream, &refuse("batches exist only in revision 2025-03-26"), via);
        }
        let count = scan::elements(array).count();
        if count == 0 {
            return self.refuse_fault(stream, &refuse("the batch is empty"), via);
        }
        if count > self.config.limits.max_batch {
            let reason = format!("the batch has more than {} messages", self.config.limits.max_batch);
            return self.refuse_fault(stream, &refuse(&reason), via);
        }
        let Some(state) = self.streams.get_mut(&stream) else { return };
        let batch = state.next_batch;
        state.next_batch = state.next_batch.wrapping_add(1);
        state.batches.insert(batch, Batch { pending: 0, complete: false, lane: via.lane, answers: String::new() });
        for element in scan::elements(array) {
            match Message::from_json(element, self.config.limits.max_depth) {
                Ok(message) => self.handle_message(stream, &message, Via { batch: Some(batch), ..via }, now),
                Err(fault) => self.refuse_fault(stream, &fault, Via { batch: Some(batch), ..via }),
            }
        }
        if let Some(state) = self.streams.get_mut(&stream).and_then(|stream| stream.batches.get_mut(&batch)) {
            state.complete = true;
        }
        self.check_batch(stream, batch);
    }

    pub(crate) fn refuse_fault(&mut self, stream: StreamId, fault: &Fault<'_>, via: Via) {
        let kind = if fault.error.code == crate::error::code::PARSE_ERROR {
            DiagnosticKind::Noise
        } else {
            DiagnosticKind::BadMessage
        };
        self.diagnose(Some(stream), kind, fault.error.message.clone());
        let negotiated = self.streams.get(&stream).and_then(Stream::negotiated);
        let id = fault.id.or_else(|| Revision::unreadable_id(negotiated));
        self.send_error(stream, via, id, &fault.error);
    }

    /// Puts one answer on its way: onto the stream, or into the batch that it belongs to.
    fn send_answer(&mut self, stream: StreamId, via: Via, write: impl FnOnce(&mut String)) {
        self.send_sorted(stream, via, None, write);
    }

    fn send_error(&mut self, stream: StreamId, via: Via, id: Option<&str>, error: &PeerError) {
        self.send_sorted(stream, via, Some(error.code), |out| write::error(out, id, error));
    }

    fn send_sorted(&mut self, stream: StreamId, via: Via, code: Option<i64>, write: impl FnOnce(&mut String)) {
        if let Some(number) = via.batch
            && let Some(batch) = self.streams.get_mut(&stream).and_then(|stream| stream.batches.get_mut(&number))
        {
            if !batch.answers.is_empty() {
                batch.answers.push(',');
            }
            write(&mut batch.answers);
            return self.check_batch(stream, number);
        }
        let out = self.transmit(stream, via.lane, Sent::Answer(code));
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
        if batch.answers.is_empty() {
            self.leave_unanswered(stream, Via { lane: batch.lane, ..Via::default() });
        } else {
            let out = self.transmit(stream, batch.lane, Sent::Answer(None));
            out.push('[');
            out.push_str(&batch.answers);
            out.push_str("]\n");
        }
    }

    /// The text that is to be sent to `stream` next.
    fn transmit(&mut self, stream: StreamId, lane: u32, sent: Sent) -> &mut String {
        if lane != 0 || !matches!(self.outputs.back(), Some(Item::Transmit(to, 0, ..)) if *to == stream) {
            let mut text = std::mem::take(&mut self.spare);
            text.reserve(USUAL_ANSWER);
            self.outputs.push_back(Item::Transmit(stream, lane, sent, text));
        }
        match self.outputs.back_mut() {
            Some(Item::Transmit(.., text)) => text,
            _ => unreachable!("a transmission was just put there"),
        }
    }

    /// A lane is free that gets no answer.
    fn leave_unanswered(&mut self, stream: StreamId, via: Via) {
        if via.lane != 0 {
            self.outputs.push_back(Item::Unanswered(stream, via.lane));
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
        let waits = |state: &Stream| state.draining.is_some() && !state.drained && state.in_flight.is_empty();
        if !self.streams.get(&stream).is_some_and(waits) || self.has_tasks_of(stream) {
            return;
        }
        if let Some(state) = self.streams.get_mut(&stream) {
            state.drained = true;
            self.draining.remove(&stream);
            self.event(Event::Drained { stream });
        }
    }
}
