//! POST: which era a message belongs to, and what has to be right before it is served.
//!
//! | the message | its headers | it is served as |
//! |---|---|---|
//! | names a version in `_meta` | any | modern, if the headers say the same |
//! | `initialize` | no modern version | the beginning of a session |
//! | any other | a modern version, or an unknown one and no session | modern, and refused for what `_meta` lacks |
//! | any other | a session | legacy, in that session |
//! | any other | neither | legacy: 400, or for itself where there are no sessions |
//!
//! Where no legacy revision is served everything is modern.

use super::admit::Admission;
use super::head::{Field, Head};
use super::response::Response;
use super::{ExchangeId, Http, Owner, mirror};
use crate::error::{PeerError, code};
use crate::jsonrpc::{Incoming, Kind, Message, scan};
use crate::server::{Millis, Server, StreamId, Via};
use crate::wire::Revision;

/// The lane of an exchange that has a stream of its own.
const OWN: u32 = 1;

impl Http {
    pub(super) fn post(
        &mut self,
        server: &mut Server,
        head: &Head<'_>,
        admission: &Admission,
        body: &[u8],
        id: ExchangeId,
        now: Millis,
    ) -> Result<(), Response> {
        let depth = server.config().limits.max_depth;
        let mut last_meta = std::mem::take(&mut self.last_meta);
        let incoming = Incoming::parse_after(&mut last_meta, body, depth);
        let served = match incoming {
            Incoming::Single(Ok(message)) if is_modern(server, &message, admission) => {
                self.post_modern(server, head, &message, id, now)
            }
            Incoming::Single(Ok(message)) => self.post_legacy(server, head, admission, &message, id, now),
            Incoming::Single(Err(fault)) => {
                let agreed = self.session(&admission.session, head.principal, now).ok();
                let agreed = agreed.and_then(|key| server.agreed(self.sessions.get(&key)?.stream));
                let id = fault.id.or_else(|| Revision::unreadable_id(agreed));
                Err(Response::error(400, id, &fault.error))
            }
            Incoming::Batch(array) => self.post_batch(server, head, admission, array, id, now),
        };
        self.last_meta = last_meta;
        served
    }

    fn post_modern(
        &mut self,
        server: &mut Server,
        head: &Head<'_>,
        message: &Message<'_>,
        id: ExchangeId,
        now: Millis,
    ) -> Result<(), Response> {
        match message.kind {
            Kind::Request => {}
            Kind::Response => {
                // 2026-07-28 `basic/transports/streamable-http`, "Sending Messages", 4: MUST NOT.
                return Err(Response::refusal(400, "Invalid Request: this revision takes no responses"));
            }
            Kind::Notification => {
                let stream = server.open_whole(head.principal);
                server.handle_message(stream, message, Via::default(), now);
                server.retire(stream);
                return Err(Response::empty(202));
            }
        }
        check_headers(server, head, message).map_err(|reason| {
            let error = PeerError::new(code::HEADER_MISMATCH, format!("Header mismatch: {reason}"));
            Response::error(400, Some(message.id), &error)
        })?;
        // Whoever listens is told of changes, whatever it accepts.
        let listens = message.method == "subscriptions/listen";
        if let Some(exchange) = self.exchanges.get_mut(&id) {
            exchange.modern = true;
            exchange.is_request = true;
            exchange.of_changes = listens;
        }
        let stream = self.enter_own(server, head, id);
        let answer_only = !listens && (self.config.json_response || self.is_answer_only(id));
        if !answer_only {
            self.watch_silence(id, now);
        }
        server.handle_message(stream, message, Via { lane: OWN, answer_only, batch: None }, now);
        Ok(())
    }

    fn is_answer_only(&self, id: ExchangeId) -> bool {
        self.exchanges.get(&id).is_some_and(|exchange| exchange.is_answer_only())
    }

    /// A stream of the server for one exchange alone.
    fn enter_own(&mut self, server: &mut Server, head: &Head<'_>, id: ExchangeId) -> StreamId {
        let stream = server.open_whole(head.principal);
        self.owners.insert(stream, Owner::Exchange(id));
        if let Some(exchange) = self.exchanges.get_mut(&id) {
            exchange.stream = Some(stream);
        }
        stream
    }

    fn post_legacy(
        &mut self,
        server: &mut Server,
        head: &Head<'_>,
        admission: &Admission,
        message: &Message<'_>,
        id: ExchangeId,
        now: Millis,
    ) -> Result<(), Response> {
        if message.kind == Kind::Request
            && let Some(exchange) = self.exchanges.get_mut(&id)
        {
            exchange.is_request = true;
        }
        if message.method == "initialize" && message.kind == Kind::Request {
            return self.post_initialize(server, head, admission, message, id, now);
        }
        let (stream, via) = self.enter_legacy(server, head, admission, id, now)?;
        let waits = message.kind == Kind::Request;
        if waits && !via.answer_only {
            self.watch_silence(id, now);
        }
        server.handle_message(stream, message, via, now);
        if !waits {
            self.gone_stream(server, id, now);
            self.end_unanswered(id);
        }
        Ok(())
    }

    /// Where a message of a legacy client that is no handshake goes.
    fn enter_legacy(
        &mut self,
        server: &mut Server,
        head: &Head<'_>,
        admission: &Admission,
        id: ExchangeId,
        now: Millis,
    ) -> Result<(StreamId, Via), Response> {
        if self.config.sessions {
            let key = self.session(&admission.session, head.principal, now)?;
            Self::check_version(server, &admission.version)?;
            return self.enter_lane(key, id).ok_or_else(super::session::unknown);
        }
        Self::check_version(server, &admission.version)?;
        let named = match &admission.version {
            Field::One(version) => Revision::parse(version),
            _ => None,
        };
        let revision = Revision::assumed(named, &server.config().revisions)
            .ok_or_else(|| Response::refusal(400, "Bad Request: MCP-Protocol-Version is missing"))?;
        let stream = self.enter_own(server, head, id);
        server.assume(stream, revision);
        let answer_only = self.config.json_response || self.is_answer_only(id);
        Ok((stream, Via { lane: OWN, answer_only, batch: None }))
    }

    fn post_initialize(
        &mut self,
        server: &mut Server,
        head: &Head<'_>,
        admission: &Admission,
        message: &Message<'_>,
        id: ExchangeId,
        now: Millis,
    ) -> Result<(), Response> {
        if self.config.sessions && admission.session != Field::Absent {
            self.session(&admission.session, head.principal, now)?;
            let error = PeerError::invalid_request("Invalid Request: this session is already initialized");
            return Err(Response::error(400, Some(message.id), &error));
        }
        if self.config.sessions && self.sessions.len() >= self.config.max_sessions {
            let error = PeerError::internal("Server is busy: too many sessions");
            return Err(Response::error(503, Some(message.id), &error).with("retry-after", "10"));
        }
        if let Some(exchange) = self.exchanges.get_mut(&id) {
            exchange.opens_session = self.config.sessions;
        }
        let stream = self.enter_own(server, head, id);
        server.handle_message(stream, message, Via { lane: OWN, answer_only: true, batch: None }, now);
        Ok(())
    }

    fn post_batch(
        &mut self,
        server: &mut Server,
        head: &Head<'_>,
        admission: &Admission,
        array: &str,
        id: ExchangeId,
        now: Millis,
    ) -> Result<(), Response> {
        let refuse = || Response::refusal(400, "Invalid Request: a body must be a single message");
        if serves_modern_only(server) || self.config.sessions && admission.session == Field::Absent {
            return Err(refuse());
        }
        let (stream, via) = self.enter_legacy(server, head, admission, id, now)?;
        if !server.agreed(stream).is_some_and(Revision::has_batches) {
            return Err(refuse());
        }
        if !via.answer_only {
            self.watch_silence(id, now);
        }
        server.handle_batch(stream, array, via, now);
        Ok(())
    }
}

fn is_modern(server: &Server, message: &Message<'_>, admission: &Admission) -> bool {
    let in_body = message.fields.meta.is_ok_and(|meta| meta[1].is_some());
    let in_head = match &admission.version {
        Field::One(version) => match Revision::parse(version) {
            Some(revision) => revision.is_modern(),
            None => admission.session == Field::Absent && message.method != "initialize",
        },
        _ => false,
    };
    in_body || in_head || serves_modern_only(server)
}

/// Whether there is nothing for clients of before 2026-07-28.
pub(super) fn serves_modern_only(server: &Server) -> bool {
    server.config().revisions.iter().all(|revision| revision.is_modern())
}

/// Whether the headers of a modern request say what its body says ("Server Validation").
fn check_headers(server: &Server, head: &Head<'_>, message: &Message<'_>) -> Result<(), String> {
    // What can't be read is refused by the server, with a code of its own.
    let Ok(meta) = message.fields.meta else { return Ok(()) };
    let Ok(params) = message.fields.params else { return Ok(()) };
    let Some(version) = meta[1].and_then(scan::plain_string) else {
        if head.field("mcp-protocol-version") != Field::Absent {
            return Ok(());
        }
        // A legacy client at a server without its revisions (2026-07-28 `basic/versioning`, "Backward Compatibility").
        let served: Vec<_> = server.config().revisions.iter().map(|revision| revision.as_str()).collect();
        return Err(format!("MCP-Protocol-Version header is missing; this server speaks {}", served.join(", ")));
    };
    let source = mirror::name_source(&message.method).and_then(|key| match key {
        "name" => params[1],
        "uri" => params[3],
        key => scan::pick(message.params?, [key]).ok()?[0],
    });
    let name = source.and_then(scan::plain_string);
    mirror::check_standard(head, &message.method, name.as_deref(), &version)?;
    match &name {
        Some(name) if message.method == "tools/call" => {
            server.check_mirrors(name, params[2].unwrap_or("{}"), head.headers)
        }
        _ => Ok(()),
    }
}
