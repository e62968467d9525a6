//! Sessions of legacy clients (2025-11-25 `basic/transports`, "Session Management" and "Listening for Messages from the
//! Server").

use super::admit::Admission;
use super::exchange::Exchange;
use super::head::{Field, Head};
use super::log::EventLog;
use super::post::serves_modern_only;
use super::response::Response;
use super::{ExchangeId, Http, Owner, Timer};
use crate::error::PeerError;
use crate::server::{Millis, RequestKey, Sent, Server, StreamId, Via};
use crate::wire::Revision;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::collections::HashMap;
use std::sync::Arc;

/// Names a session here. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct SessionKey(pub(super) u64);

/// The response where a session is named that is not there (2025-11-25 `basic/transports`, "Session Management", 3 and 4).
pub(super) fn unknown() -> Response {
    Response::refusal(404, "Not Found: there is no such session (any more)")
}

/// GET streams of one session that are open at once. 8: more are connections that the client has lost.
const MOST_GENERAL: usize = 8;

pub(super) struct Session {
    /// What the client shows.
    pub(super) id: String,
    pub(super) stream: StreamId,
    pub(super) principal: Option<String>,
    began: Millis,
    used: Millis,
    next_lane: u32,
    /// Who is to get what, of those that are there.
    pub(super) lanes: HashMap<u32, ExchangeId>,
    /// The GET streams, of which the last gets what belongs to no request.
    pub(super) general: Vec<ExchangeId>,
    log: EventLog,
    /// Whether its client knows empty events.
    primes: bool,
    /// One of HTTP+SSE: everything goes to its one stream.
    pub(super) old: bool,
}

impl Session {
    /// How a stream begins, so that its client can come back from the first moment on (2025-11-25 `basic/transports`, "Sending
    /// Messages to the Server": SHOULD); None where streams are not opened again.
    pub(super) fn first_event(&mut self, lane: u32, retry_ms: u64) -> Option<String> {
        if self.old {
            return None;
        }
        let id = self.log.open(lane);
        // Without data it is no event, and sets the id all the same.
        let data = if self.primes { "data:\n" } else { "" };
        Some(format!("id: {id}\nretry: {retry_ms}\n{data}\n"))
    }
}

impl Http {
    /// A new session for a stream whose handshake has succeeded.
    pub(super) fn open_session(&mut self, server: &mut Server, id: ExchangeId, stream: StreamId, now: Millis) {
        let key = match self.enter_session(server, stream, now) {
            Ok(key) => key,
            Err(response) => {
                self.respond(id, response);
                return self.gone_stream(server, id, now);
            }
        };
        if let Some(exchange) = self.exchanges.get_mut(&id) {
            exchange.stream = None;
            exchange.session = Some((key, 1));
        }
        if let Some(session) = self.sessions.get_mut(&key) {
            session.lanes.insert(1, id);
        }
    }

    pub(super) fn enter_session(
        &mut self,
        server: &mut Server,
        stream: StreamId,
        now: Millis,
    ) -> Result<SessionKey, Response> {
        let mut random = [0; 24];
        if !server.random(&mut random) {
            return Err(Response::error(500, None, &PeerError::internal("Internal error: no source of random bytes")));
        }
        let key = SessionKey(self.next_session);
        self.next_session += 1;
        let random = URL_SAFE_NO_PAD.encode(random);
        let id = self.node.as_ref().map_or_else(|| random.clone(), |node| format!("{node}.{random}"));
        self.ids.insert(id.clone(), key);
        self.owners.insert(stream, Owner::Session(key));
        let session = Session {
            id,
            stream,
            principal: server.principal(stream).map(str::to_owned),
            began: now,
            used: now,
            next_lane: 2,
            lanes: HashMap::new(),
            general: Vec::new(),
            log: EventLog::default(),
            primes: server.agreed(stream).is_some_and(Revision::has_empty_events),
            old: false,
        };
        self.sessions.insert(key, session);
        self.watch_session(key, now);
        Ok(key)
    }

    fn watch_session(&mut self, key: SessionKey, now: Millis) {
        let Some(session) = self.sessions.get(&key) else { return };
        let idle = if session.lanes.is_empty() && session.general.is_empty() { session.used } else { now };
        let due = idle.saturating_add(self.config.session_idle_ms.max(1));
        let due = due.min(session.began.saturating_add(self.config.session_max_ms.max(1)));
        self.timers.insert((due, Timer::Session(key)));
    }

    /// The time of a session may be over.
    pub(super) fn look_at_session(&mut self, server: &mut Server, key: SessionKey, now: Millis) {
        let Some(session) = self.sessions.get(&key) else { return };
        let unused = session.lanes.is_empty() && session.general.is_empty();
        let idle = unused && now.saturating_sub(session.used) >= self.config.session_idle_ms;
        if idle || now.saturating_sub(session.began) >= self.config.session_max_ms {
            self.end_session(server, key, now);
        } else {
            self.watch_session(key, now);
        }
    }

    pub(super) fn end_session(&mut self, server: &mut Server, key: SessionKey, now: Millis) {
        let Some(session) = self.sessions.remove(&key) else { return };
        self.ids.remove(&session.id);
        self.owners.remove(&session.stream);
        // It is open: nobody else closes it.
        let _ = server.closed(session.stream, now);
        for id in session.lanes.into_values().chain(session.general) {
            if let Some(exchange) = self.exchanges.get_mut(&id) {
                exchange.session = None;
            }
            self.end_unanswered(id);
        }
    }

    /// The session that a request names.
    ///
    /// # Errors
    /// 400 where none is named, or badly; 404 for one that is not there, or not for this client.
    pub(super) fn session(
        &mut self,
        named: &Field,
        principal: Option<&str>,
        now: Millis,
    ) -> Result<SessionKey, Response> {
        let id = match named {
            Field::One(id) => id,
            Field::Absent => return Err(Response::refusal(400, "Bad Request: Mcp-Session-Id is missing")),
            Field::Bad => {
                return Err(Response::refusal(400, "Bad Request: Mcp-Session-Id must be given once, in ASCII"));
            }
        };
        let key = *self.ids.get(id).ok_or_else(unknown)?;
        let session = self.sessions.get_mut(&key).ok_or_else(unknown)?;
        // What one user has is not there for another ("Session Hijacking").
        if session.principal.as_deref() != principal || session.old {
            return Err(unknown());
        }
        session.used = now;
        Ok(key)
    }

    /// A version in a header that a legacy client can't mean (2025-11-25 `basic/transports`, "Protocol Version Header": MUST).
    pub(super) fn check_version(server: &Server, version: &Field) -> Result<(), Response> {
        let served = |version: &str| {
            server.config().revisions.iter().any(|revision| !revision.is_modern() && revision.as_str() == version)
        };
        match version {
            Field::Absent => Ok(()),
            Field::One(version) if served(version) => Ok(()),
            _ => Err(Response::refusal(400, "Bad Request: MCP-Protocol-Version is not one that this server speaks")),
        }
    }

    /// GET: the stream of what belongs to no request, or one that is opened again.
    pub(super) fn get(
        &mut self,
        server: &mut Server,
        head: &Head<'_>,
        admission: &Admission,
        id: ExchangeId,
        now: Millis,
    ) -> Result<(), Response> {
        Self::check_sessions(server, admission)?;
        let key = self.session(&admission.session, head.principal, now)?;
        Self::check_version(server, &admission.version)?;
        let rest = match head.field("last-event-id") {
            Field::Absent => None,
            Field::One(event) => self.sessions.get(&key).and_then(|session| session.log.after(&event)).map_or_else(
                || Err(Response::refusal(400, "Bad Request: Last-Event-ID names no event that is still known")),
                |rest| Ok(Some(rest)),
            )?,
            Field::Bad => return Err(Response::refusal(400, "Bad Request: Last-Event-ID must be given once")),
        };
        let lane = rest.as_ref().map_or(0, |rest| rest.lane);
        if let Some(exchange) = self.exchanges.get_mut(&id) {
            exchange.session = Some((key, lane));
            exchange.of_changes = lane == 0;
        }
        let Some(session) = self.sessions.get_mut(&key) else { return Ok(()) };
        let before = if lane == 0 {
            session.general.push(id);
            (session.general.len() > MOST_GENERAL).then(|| session.general.remove(0))
        } else {
            // The connection that the client has lost.
            session.lanes.insert(lane, id)
        };
        // From now on also while no connection is there: the client can come back for what it missed.
        server.set_general(session.stream, true);
        if let Some(before) = before {
            if let Some(exchange) = self.exchanges.get_mut(&before) {
                exchange.session = None;
            }
            self.end_stream(before);
        }
        if rest.is_some() {
            self.respond(id, Response::stream());
        } else {
            self.open_stream(id, now);
        }
        self.watch_silence(id, now);
        let over = rest.as_ref().is_some_and(|rest| rest.over);
        for (event, message) in rest.into_iter().flat_map(|rest| rest.events) {
            self.send(id, Some(&event), Sent::Message, message.as_bytes().to_vec(), now);
        }
        if over {
            self.end_stream(id);
        }
        Ok(())
    }

    /// DELETE: the client is done.
    pub(super) fn delete(
        &mut self,
        server: &mut Server,
        head: &Head<'_>,
        admission: &Admission,
        now: Millis,
    ) -> Result<(), Response> {
        Self::check_sessions(server, admission)?;
        let key = self.session(&admission.session, head.principal, now)?;
        Self::check_version(server, &admission.version)?;
        self.end_session(server, key, now);
        Err(Response::empty(204))
    }

    /// A modern client has no sessions, and neither has a server for such clients alone (2026-07-28
    /// `basic/transports/streamable-http`, "Earlier Streamable HTTP Revisions": 405).
    fn check_sessions(server: &Server, admission: &Admission) -> Result<(), Response> {
        let is_modern = match &admission.version {
            Field::One(version) => Revision::parse(version).is_some_and(Revision::is_modern),
            _ => false,
        };
        if is_modern || serves_modern_only(server) {
            return Err(Response::refusal(405, "Method Not Allowed").with("allow", "POST, OPTIONS"));
        }
        Ok(())
    }

    /// A lane of a session for an exchange.
    pub(super) fn enter_lane(&mut self, key: SessionKey, id: ExchangeId) -> Option<(StreamId, Via)> {
        let exchange = self.exchanges.get_mut(&id)?;
        let session = self.sessions.get_mut(&key)?;
        let lane = session.next_lane;
        // Past the last number it begins anew behind 0, which is taken.
        session.next_lane = session.next_lane.checked_add(1).unwrap_or(1);
        session.lanes.insert(lane, id);
        exchange.session = Some((key, lane));
        let answer_only = exchange.is_answer_only() || self.config.json_response;
        Some((session.stream, Via { lane, answer_only, batch: None }))
    }

    /// An exchange is over, or its client is gone.
    pub(super) fn leave_session(&mut self, key: SessionKey, lane: u32, id: ExchangeId) {
        let Some(session) = self.sessions.get_mut(&key) else { return };
        if session.lanes.get(&lane) == Some(&id) {
            session.lanes.remove(&lane);
        }
        session.general.retain(|general| *general != id);
    }

    /// A message for a session.
    pub(super) fn take_for_session(&mut self, key: SessionKey, lane: u32, sent: Sent, bytes: Vec<u8>, now: Millis) {
        let max = (self.config.max_events, self.config.max_event_bytes);
        let Some(session) = self.sessions.get_mut(&key) else { return };
        if session.old {
            let Some(id) = session.general.last().copied() else { return };
            return self.send(id, None, sent, bytes, now);
        }
        let exchange = if lane == 0 { session.general.last() } else { session.lanes.get(&lane) }.copied();
        let begins = exchange.and_then(|id| self.exchanges.get(&id)).is_some_and(Exchange::is_waiting);
        if begins && sent == Sent::Message {
            let Some(id) = exchange else { return };
            self.open_stream(id, now);
        }
        if begins && sent != Sent::Message {
            // Answered as one object, which nobody fetches again.
            let Some(id) = exchange else { return };
            return self.send(id, None, sent, bytes, now);
        }
        let text = String::from_utf8_lossy(&bytes);
        for message in text.split('\n').filter(|message| !message.is_empty()) {
            let message: Arc<str> = message.into();
            let Some(session) = self.sessions.get_mut(&key) else { return };
            let event = session.log.add(lane, &message, sent != Sent::Message, max);
            if let Some(id) = exchange {
                self.send(id, event.as_deref(), sent, message.as_bytes().to_vec(), now);
            }
        }
        if let Some(id) = exchange.filter(|id| self.is_slow(*id)) {
            self.forget(id);
            self.ready.push_back(id);
        }
    }

    /// Ends the connection of a call's stream, and not the call: its client comes back for the rest (2025-11-25
    /// `basic/transports`, "Sending Messages to the Server": the server MAY). False: this call has no stream that could be
    /// opened again.
    pub fn close_sse_stream(&mut self, server: &Server, call: RequestKey, now: Millis) -> bool {
        let Some((stream, lane)) = server.lane_of(call) else { return false };
        let Some(Owner::Session(key)) = self.owners.get(&stream).copied() else { return false };
        let Some(session) = self.sessions.get(&key).filter(|session| !session.old) else { return false };
        let Some(id) = session.lanes.get(&lane).copied() else { return false };
        let open = |exchange: &&Exchange| !exchange.is_answer_only() && !exchange.is_complete();
        let Some(exchange) = self.exchanges.get(&id).filter(open) else { return false };
        if exchange.is_waiting() {
            self.open_stream(id, now);
        }
        self.end_stream(id);
        true
    }

    /// A lane gets no answer.
    pub(super) fn end_lane(&mut self, key: SessionKey, lane: u32) {
        let Some(session) = self.sessions.get_mut(&key) else { return };
        if let Some(id) = session.lanes.get(&lane).copied() {
            self.end_unanswered(id);
        }
    }
}
