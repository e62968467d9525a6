//! Our own requests to legacy peers: sampling, elicitation, roots, ping. Modern peers take none
//! (2026-07-28 `basic/patterns`: servers MUST NOT initiate requests).

use super::event::{Event, Millis, OutgoingError, OutgoingKey, RequestKey, StreamId};
use super::stream::Outgoing;
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
        if let Some(key) = related {
            let record = self.requests.get_mut(key).ok_or(LocalError::NoBackChannel)?;
            if record.revision.is_modern() {
                return Err(LocalError::NoBackChannel);
            }
        }
        self.send_request(stream, method, params, timeout_ms, None, now)
    }

    /// Sends a request; `call` is told what comes of it, where one asks.
    pub(super) fn send_request(
        &mut self,
        stream: StreamId,
        method: &str,
        params: Option<&str>,
        timeout_ms: Option<u64>,
        call: Option<RequestKey>,
        now: Millis,
    ) -> Result<OutgoingKey, LocalError> {
        let state = self.streams.get_mut(&stream).ok_or(LocalError::UnknownStream)?;
        let legacy = state.legacy.as_ref().ok_or(LocalError::NoBackChannel)?;
        // Before `initialized` only pings may be sent (2025-11-25 `basic/lifecycle`, "Initialization").
        if state.draining.is_some() || (!legacy.ready && method != "ping") {
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
        let timeout = timeout_ms.unwrap_or(self.config.limits.outgoing_timeout_ms);
        let deadline = (timeout > 0).then(|| now.saturating_add(timeout));
        state.outgoing.insert(key, Outgoing { deadline, call });
        let out = self.transmit(stream);
        out.push_str(r#"{"jsonrpc":"2.0","id":"#);
        out.push_str(&key.0.to_string());
        out.push_str(r#","method":"#);
        write::string(out, method);
        if let Some(params) = params {
            out.push_str(r#","params":"#);
            write::raw(out, params);
        }
        out.push_str("}\n");
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
        stream.outgoing.remove(&key);
        self.send_cancelled(id, key, reason, task);
        true
    }

    fn send_cancelled(&mut self, stream: StreamId, key: OutgoingKey, reason: Option<&str>, task: Option<&str>) {
        let mut params = format!(r#"{{"requestId":{}"#, key.0);
        if let Some(reason) = reason {
            params.push_str(r#","reason":"#);
            write::string(&mut params, reason);
        }
        params.push('}');
        if let Some(task) = task {
            params = with_related(&params, task);
        }
        self.send_notification(stream, "notifications/cancelled", Some(&params));
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
        let mut over = Vec::new();
        for stream in self.streams.values_mut() {
            let id = stream.id;
            stream.outgoing.retain(|key, request| {
                let due = request.deadline.is_some_and(|deadline| deadline <= now);
                if due {
                    over.push((id, *key, *request));
                }
                !due
            });
        }
        for (stream, key, asked) in over {
            let task = asked.call.and_then(|call| self.task_id(call)).map(str::to_owned);
            self.send_cancelled(stream, key, Some("timed out"), task.as_deref());
            self.tell_outcome(key, &asked, Err(OutgoingError::TimedOut));
        }
    }

    /// Nobody can answer any more.
    pub(super) fn give_up_outgoing(&mut self, stream: StreamId) {
        let Some(state) = self.streams.get_mut(&stream) else { return };
        for (key, asked) in std::mem::take(&mut state.outgoing) {
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
