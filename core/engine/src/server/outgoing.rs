//! Our own requests to legacy peers: sampling, elicitation, roots, ping. Modern peers take none
//! (2026-07-28 `basic/patterns`: servers MUST NOT initiate requests).

use super::event::Sent;
use super::event::{Event, Millis, OutgoingError, OutgoingKey, RequestKey, StreamId};
use super::stream::{Outgoing, Via};
use super::tasks::with_related;
use super::{DiagnosticKind, Server, reply};
use crate::error::{LocalError, PeerError};
use crate::jsonrpc::{Message, scan, write};

impl Server {
    /// Asks a legacy peer; the end comes as [`Event::Response`]. `related` is the call that needs it, if any: a call
    /// of a modern peer can't ask. `params` is the JSON of an object. Without `timeout_ms` the peer has
    /// `limits.outgoing_timeout_ms`; 0 is no bound.
    ///
    /// # Errors
    /// [`LocalError::NoBackChannel`] where the peer takes no requests, [`LocalError::CapabilityNotDeclared`] where the
    /// client did not declare what the method needs, [`LocalError::Limit`], [`LocalError::NotJson`].
    pub fn request(
        &mut self,
        stream: StreamId,
        related: Option<RequestKey>,
        method: &str,
        params: Option<&str>,
        timeout_ms: Option<u64>,
        now: Millis,
    ) -> Result<OutgoingKey, LocalError> {
        let params = params.map(|params| reply::object("params", params)).transpose()?;
        let mut via = Via::default();
        if let Some(key) = related {
            let record = self.requests.get_mut(key).ok_or(LocalError::NoBackChannel)?;
            if record.revision.is_modern() {
                return Err(LocalError::NoBackChannel);
            }
            via = record.via;
        }
        let asked = self.asked(via, None, timeout_ms, now);
        self.send_request(stream, method, params, asked)
    }

    /// What is noted of a request that is sent now; `call` is told what comes of it, where one asks.
    pub(super) fn asked(&self, via: Via, call: Option<RequestKey>, timeout_ms: Option<u64>, now: Millis) -> Outgoing {
        let timeout = timeout_ms.unwrap_or(self.config.limits.outgoing_timeout_ms);
        Outgoing { deadline: (timeout > 0).then(|| now.saturating_add(timeout)), via, call }
    }

    /// Sends a request.
    pub(super) fn send_request(
        &mut self,
        stream: StreamId,
        method: &str,
        params: Option<&str>,
        asked: Outgoing,
    ) -> Result<OutgoingKey, LocalError> {
        let state = self.streams.get_mut(&stream).ok_or(LocalError::UnknownStream)?;
        let legacy = state.legacy.as_ref().ok_or(LocalError::NoBackChannel)?;
        // Before `initialized` only pings may be sent (2025-11-25 `basic/lifecycle`, "Initialization").
        if state.draining.is_some() || !state.takes(asked.via) || (!legacy.ready && method != "ping") {
            return Err(LocalError::NoBackChannel);
        }
        if let Some(needed) = capability_for(method)
            && !matches!(scan::pick(&legacy.client.capabilities, [needed]), Ok([Some(value)]) if scan::is_object(value))
        {
            return Err(LocalError::CapabilityNotDeclared(needed));
        }
        if state.outgoing.len() >= self.config.limits.max_outgoing {
            return Err(LocalError::Limit("maxOutgoing"));
        }
        let key = OutgoingKey(self.next_outgoing);
        self.next_outgoing += 1;
        let via = asked.via;
        state.outgoing.insert(key, asked);
        if let Some(deadline) = asked.deadline {
            self.outgoing_due.insert((deadline, key, stream));
        }
        let out = self.transmit(stream, via.lane, Sent::Message);
        out.push_str(r#"{"jsonrpc":"2.0","id":"#);
        out.push_str(&key.0.to_string());
        out.push_str(r#","method":"#);
        write::string(out, method);
        if let Some(params) = params {
            out.push_str(r#","params":"#);
            write::raw(out, params);
        }
        out.push_str("}\n");
        if let ("elicitation/create", Some(params)) = (method, params) {
            self.note_visit(stream, params);
        }
        Ok(key)
    }

    /// Stops waiting for a request of ours and tells the peer. False: it is over already.
    pub fn abandon(&mut self, key: OutgoingKey, reason: Option<&str>) -> bool {
        self.abandon_of(key, reason, None)
    }

    /// The same for a request that a task has made, if one has.
    pub(super) fn abandon_of(&mut self, key: OutgoingKey, reason: Option<&str>, task: Option<&str>) -> bool {
        let Some(stream) = self.streams.values_mut().find(|stream| stream.outgoing.contains_key(&key)) else {
            return false;
        };
        let id = stream.id;
        let Some(asked) = stream.outgoing.remove(&key) else { return false };
        self.forget_due(id, key, &asked);
        self.send_cancelled(id, asked.via, key, reason, task);
        true
    }

    fn send_cancelled(
        &mut self,
        stream: StreamId,
        via: Via,
        key: OutgoingKey,
        reason: Option<&str>,
        task: Option<&str>,
    ) {
        let mut params = format!(r#"{{"requestId":{}"#, key.0);
        if let Some(reason) = reason {
            params.push_str(r#","reason":"#);
            write::string(&mut params, reason);
        }
        params.push('}');
        if let Some(task) = task {
            params = with_related(&params, task);
        }
        self.send_notification(stream, via, "notifications/cancelled", Some(&params));
    }

    pub(super) fn handle_response(&mut self, stream: StreamId, message: &Message<'_>) {
        // A peer that answers with the number as a string is at fault, and understood: all our ids are numbers.
        let number = message.id.trim_matches('"').parse().ok().map(OutgoingKey);
        let state = self.streams.get_mut(&stream);
        let known = number.and_then(|key| Some((key, state?.outgoing.remove(&key)?)));
        let Some((key, asked)) = known else {
            let detail = format!("response to {} answers nothing that was asked", message.id);
            return self.diagnose(Some(stream), DiagnosticKind::StrayResponse, detail);
        };
        self.forget_due(stream, key, &asked);
        let outcome = match (message.result, message.error) {
            (Some(result), _) => Ok(result.to_owned()),
            (None, error) => Err(OutgoingError::Peer(peer_error(error.unwrap_or("{}")))),
        };
        self.tell_outcome(key, &asked, outcome);
    }

    /// Tells who asked: host code, or a call.
    fn tell_outcome(&mut self, key: OutgoingKey, asked: &Outgoing, outcome: Result<String, OutgoingError>) {
        match asked.call {
            Some(call) => self.answered(call, key, outcome),
            None => self.event(Event::Response { key, outcome }),
        }
    }

    pub(super) fn expire_outgoing(&mut self, now: Millis) {
        while let Some(&(due, key, stream)) = self.outgoing_due.first().filter(|(due, ..)| *due <= now) {
            self.outgoing_due.remove(&(due, key, stream));
            let Some(asked) = self.streams.get_mut(&stream).and_then(|stream| stream.outgoing.remove(&key)) else {
                continue;
            };
            let task = asked.call.and_then(|call| self.task_id(call)).map(str::to_owned);
            self.send_cancelled(stream, asked.via, key, Some("timed out"), task.as_deref());
            self.tell_outcome(key, &asked, Err(OutgoingError::TimedOut));
        }
    }

    fn forget_due(&mut self, stream: StreamId, key: OutgoingKey, asked: &Outgoing) {
        if let Some(deadline) = asked.deadline {
            self.outgoing_due.remove(&(deadline, key, stream));
        }
    }

    /// Nobody can answer any more.
    pub(super) fn give_up_outgoing(&mut self, stream: StreamId) {
        let Some(state) = self.streams.get_mut(&stream) else { return };
        for (key, asked) in std::mem::take(&mut state.outgoing) {
            self.forget_due(stream, key, &asked);
            self.tell_outcome(key, &asked, Err(OutgoingError::Closed));
        }
    }
}

/// The client capability that a method of ours needs.
fn capability_for(method: &str) -> Option<&'static str> {
    match method {
        "sampling/createMessage" => Some("sampling"),
        "elicitation/create" => Some("elicitation"),
        "roots/list" => Some("roots"),
        _ => None,
    }
}

fn peer_error(error: &str) -> PeerError {
    let [code, message, data] = scan::pick(error, ["code", "message", "data"]).unwrap_or_default();
    PeerError {
        code: code.and_then(|code| code.parse().ok()).unwrap_or(crate::error::code::INTERNAL_ERROR),
        message: message.and_then(scan::plain_string).map(|text| text.into_owned()).unwrap_or_default(),
        data: data.map(str::to_owned),
    }
}
