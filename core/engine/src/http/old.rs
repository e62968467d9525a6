//! HTTP+SSE of 2024-11-05: one stream for everything that the server sends, and a second endpoint for what the client sends
//! (2024-11-05 `basic/transports`, "HTTP with SSE"). Behind [`HttpConfig::legacy_sse`](super::HttpConfig::legacy_sse).

use super::head::Head;
use super::response::Response;
use super::session::unknown;
use super::{ExchangeId, Http};
use crate::jsonrpc::Incoming;
use crate::server::{Millis, Server, Via};

/// The session that a message is for.
pub(super) fn named<'a>(head: &Head<'a>) -> Option<&'a str> {
    head.query?.split('&').find_map(|parameter| parameter.strip_prefix("sessionId="))
}

impl Http {
    /// GET: opens a session, and says where its messages go.
    pub(super) fn open_old(
        &mut self,
        server: &mut Server,
        head: &Head<'_>,
        id: ExchangeId,
        now: Millis,
    ) -> Result<(), Response> {
        if self.sessions.len() >= self.config.max_sessions {
            return Err(Response::refusal(503, "Server is busy: too many sessions").with("retry-after", "10"));
        }
        let stream = server.open_whole(head.principal);
        server.set_general(stream, true);
        let key = self.enter_session(server, stream, now)?;
        let Some(session) = self.sessions.get_mut(&key) else { return Ok(()) };
        session.old = true;
        session.general.push(id);
        let endpoint = format!("event: endpoint\ndata: /messages?sessionId={}\n\n", session.id);
        if let Some(exchange) = self.exchanges.get_mut(&id) {
            exchange.session = Some((key, 0));
            exchange.named = true;
            exchange.of_changes = true;
        }
        self.respond(id, Response::stream());
        self.send_text(id, endpoint, now);
        self.watch_silence(id, now);
        Ok(())
    }

    /// POST: a message of such a session; what it is answered with comes on the stream.
    pub(super) fn post_old(
        &mut self,
        server: &mut Server,
        head: &Head<'_>,
        body: &[u8],
        now: Millis,
    ) -> Result<(), Response> {
        let Some(named) = named(head) else {
            return Err(Response::refusal(400, "Bad Request: sessionId is missing"));
        };
        let key = *self.ids.get(named).ok_or_else(unknown)?;
        let session = self.sessions.get_mut(&key).ok_or_else(unknown)?;
        if !session.old || session.principal.as_deref() != head.principal {
            return Err(unknown());
        }
        let stream = session.stream;
        match Incoming::parse_after(&mut self.last_meta, body, server.config().limits.max_depth) {
            Incoming::Single(Ok(message)) => server.handle_message(stream, &message, Via::default(), now),
            Incoming::Single(Err(fault)) => return Err(Response::error(400, fault.id, &fault.error)),
            Incoming::Batch(_) => {
                return Err(Response::refusal(400, "Invalid Request: a body must be a single message"));
            }
        }
        Err(Response::empty(202))
    }
}
