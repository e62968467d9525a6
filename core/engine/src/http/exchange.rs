//! One request and its response: as one JSON object, or as a stream of events.

use super::admit::Form;
use super::response::{Part, Response, legacy_status, modern_status};
use super::session::SessionKey;
use super::{ExchangeId, Http, Timer};
use crate::server::{Millis, Sent, Server, StreamId};
use std::collections::VecDeque;

/// How far a response is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing is decided.
    Waiting,
    /// It is a stream of events.
    Streaming,
    /// All is there that will be.
    Complete,
}

pub(super) struct Exchange {
    form: Form,
    origin: Option<String>,
    stage: Stage,
    parts: VecDeque<Part>,
    /// Bytes in `parts`.
    backlog: usize,
    /// The carrier knows that there is something.
    pub(super) told: bool,
    /// The server's stream that is this exchange's alone.
    pub(super) stream: Option<StreamId>,
    /// The session that it belongs to, and its lane there.
    pub(super) session: Option<(SessionKey, u32)>,
    /// Its answer opens a session.
    pub(super) opens_session: bool,
    /// Whether the request falls under a modern revision, whose statuses say more.
    pub(super) modern: bool,
    /// It is a request that waits for an answer.
    pub(super) is_request: bool,
    /// Its messages are changes that are told as they come: who does not read them has to ask anew.
    pub(super) of_changes: bool,
    /// Events are named, as 2024-11-05 has it.
    pub(super) named: bool,
    pub(super) due: Option<Millis>,
    /// When something was sent last.
    last: Millis,
}

impl Exchange {
    pub(super) fn new(form: Form, origin: Option<String>) -> Self {
        Self {
            form,
            origin,
            stage: Stage::Waiting,
            parts: VecDeque::new(),
            backlog: 0,
            told: false,
            stream: None,
            session: None,
            opens_session: false,
            modern: false,
            is_request: false,
            of_changes: false,
            named: false,
            due: None,
            last: 0,
        }
    }

    pub(super) fn next(&mut self) -> Option<Part> {
        let part = self.parts.pop_front()?;
        if let Part::Data(bytes) = &part {
            self.backlog -= bytes.len();
        }
        Some(part)
    }

    /// All was sent.
    pub(super) fn is_over(&self) -> bool {
        self.stage == Stage::Complete && self.parts.is_empty()
    }

    /// Nothing of the response is decided.
    pub(super) fn is_waiting(&self) -> bool {
        self.stage == Stage::Waiting
    }

    /// All is there that will be.
    pub(super) fn is_complete(&self) -> bool {
        self.stage == Stage::Complete
    }

    /// Only the answer can be sent.
    pub(super) fn is_answer_only(&self) -> bool {
        self.form == Form::Json
    }

    pub(super) fn respond(&mut self, mut response: Response) {
        self.stage = if response.body.is_some() { Stage::Complete } else { Stage::Streaming };
        if let Some(origin) = self.origin.take() {
            response = super::admit::allow_origin(Some(&origin), response);
        }
        self.parts.push_back(Part::Response(response));
    }

    fn push(&mut self, data: String, now: Millis) {
        self.backlog += data.len();
        self.last = now;
        match self.parts.back_mut() {
            // What the carrier has not fetched yet goes in one piece.
            Some(Part::Data(bytes)) => bytes.extend_from_slice(data.as_bytes()),
            _ => self.parts.push_back(Part::Data(data.into_bytes())),
        }
    }

    fn end(&mut self) {
        if self.stage != Stage::Complete {
            self.stage = Stage::Complete;
            self.parts.push_back(Part::End);
        }
    }
}

impl Http {
    /// Sets the time at which an exchange is looked at, if nothing is sent before.
    pub(super) fn watch_silence(&mut self, id: ExchangeId, now: Millis) {
        let due = now.saturating_add(self.config.keep_alive_ms.max(1));
        if let Some(exchange) = self.exchanges.get_mut(&id) {
            exchange.due = Some(due);
            exchange.last = now;
            self.timers.insert((due, Timer::Exchange(id)));
        }
    }

    /// A message for an exchange that has a stream of its own.
    pub(super) fn take_for(&mut self, server: &mut Server, id: ExchangeId, sent: Sent, bytes: Vec<u8>, now: Millis) {
        if let Some(stream) = self.exchanges.get(&id).and_then(|exchange| exchange.stream)
            && sent != Sent::Message
        {
            let opened = self.exchanges.get(&id).is_some_and(|exchange| exchange.opens_session);
            if opened && sent == Sent::Answer(None) {
                self.open_session(server, id, stream, now);
            } else {
                self.owners.remove(&stream);
                if let Some(exchange) = self.exchanges.get_mut(&id) {
                    exchange.stream = None;
                }
                if opened {
                    // It is open: nobody else closes it.
                    let _ = server.closed(stream, now);
                } else {
                    server.retire(stream);
                }
            }
        }
        self.send(id, None, sent, bytes, now);
        if self.is_slow(id) {
            self.gone(server, id, now);
            self.ready.push_back(id);
        }
    }

    /// Whether a client does not read the changes that it wants to be told of.
    pub(super) fn is_slow(&self, id: ExchangeId) -> bool {
        let max = self.config.max_backlog_bytes;
        self.exchanges.get(&id).is_some_and(|exchange| exchange.of_changes && exchange.backlog > max)
    }

    /// Puts a message on its way; `event` is its id, where the stream can be opened again.
    pub(super) fn send(&mut self, id: ExchangeId, event: Option<&str>, sent: Sent, bytes: Vec<u8>, now: Millis) {
        let max = self.config.max_backlog_bytes;
        let Some(exchange) = self.exchanges.get_mut(&id) else { return };
        if exchange.stage == Stage::Complete {
            return;
        }
        if let (Sent::Answer(error), Stage::Waiting) = (sent, exchange.stage) {
            let status = if exchange.modern { modern_status(error) } else { legacy_status(error) };
            if status != 200 || exchange.form != Form::Stream {
                let mut bytes = bytes;
                bytes.pop_if(|last| *last == b'\n');
                let response = self.opened(id, Response::json(status, bytes));
                return self.respond(id, response);
            }
        }
        if exchange.stage == Stage::Waiting {
            self.open_stream(id, now);
        }
        let Some(exchange) = self.exchanges.get_mut(&id) else { return };
        if sent == Sent::Message && !exchange.of_changes && exchange.backlog > max {
            // Progress and logs; the answer still comes.
            return;
        }
        let mut text = String::with_capacity(bytes.len() + 24);
        for message in bytes.split(|byte| *byte == b'\n').filter(|message| !message.is_empty()) {
            if let Some(event) = event {
                text.push_str("id: ");
                text.push_str(event);
                text.push('\n');
            }
            text.push_str(if exchange.named { "event: message\ndata: " } else { "data: " });
            text.push_str(&String::from_utf8_lossy(message));
            text.push_str("\n\n");
        }
        exchange.push(text, now);
        if sent != Sent::Message && !exchange.named {
            exchange.end();
        }
        self.tell(id);
    }

    /// The header that tells a client of its new session.
    fn opened(&self, id: ExchangeId, response: Response) -> Response {
        let exchange = self.exchanges.get(&id).filter(|exchange| exchange.opens_session);
        let session = exchange.and_then(|exchange| self.sessions.get(&exchange.session?.0));
        match session {
            Some(session) => response.with("mcp-session-id", session.id.clone()),
            None => response,
        }
    }

    /// Begins a response that is a stream.
    pub(super) fn open_stream(&mut self, id: ExchangeId, now: Millis) {
        let response = self.opened(id, Response::stream());
        self.respond(id, response);
        let session = self.exchanges.get(&id).and_then(|exchange| exchange.session);
        let retry_ms = self.config.retry_ms;
        if let Some((key, lane)) = session
            && let Some(first) = self.sessions.get_mut(&key).and_then(|session| session.first_event(lane, retry_ms))
            && let Some(exchange) = self.exchanges.get_mut(&id)
        {
            exchange.push(first, now);
        }
    }

    /// Sends text that is no message.
    pub(super) fn send_text(&mut self, id: ExchangeId, text: String, now: Millis) {
        if let Some(exchange) = self.exchanges.get_mut(&id) {
            exchange.push(text, now);
            self.tell(id);
        }
    }

    /// A stream is over without an answer.
    pub(super) fn end_stream(&mut self, id: ExchangeId) {
        if let Some(exchange) = self.exchanges.get_mut(&id) {
            exchange.end();
            self.tell(id);
        }
    }

    /// Nothing will come of a request: a notification or a response was accepted, or a request was cancelled (202, or the end of
    /// its stream).
    pub(super) fn end_unanswered(&mut self, id: ExchangeId) {
        let Some(exchange) = self.exchanges.get(&id) else { return };
        match (exchange.stage, exchange.is_request) {
            (Stage::Waiting, false) => return self.respond(id, Response::empty(202)),
            (Stage::Waiting, true) => self.respond(id, Response::stream()),
            _ => {}
        }
        self.end_stream(id);
    }

    /// Nothing was sent for some time.
    pub(super) fn keep_alive(&mut self, id: ExchangeId, now: Millis) {
        let period = self.config.keep_alive_ms.max(1);
        let Some(exchange) = self.exchanges.get_mut(&id) else { return };
        exchange.due = None;
        if exchange.stage == Stage::Complete || exchange.is_answer_only() && exchange.stage == Stage::Waiting {
            return;
        }
        let silent_since = exchange.last;
        if now.saturating_sub(silent_since) < period {
            let due = silent_since.saturating_add(period);
            exchange.due = Some(due);
            self.timers.insert((due, Timer::Exchange(id)));
            return;
        }
        if exchange.stage == Stage::Waiting {
            self.open_stream(id, now);
        }
        // Who does not read needs no more of them.
        if self.exchanges.get(&id).is_some_and(|exchange| exchange.backlog == 0) {
            self.send_text(id, ":\n\n".into(), now);
        }
        self.watch_silence(id, now);
    }
}
