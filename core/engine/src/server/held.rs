//! Calls that wait in this process while their modern client is asked.
//!
//! The request is answered with the questions, and leaves the books of its stream; the call's record stays, with a token
//! that the state names. The retry becomes the record's request. What host code says in between has no request to go to:
//! progress and logs are dropped, an answer is parked.

use super::event::{CancelReason, Event, Millis, Reply, RequestKey, StreamId};
use super::inflight::Progress;
use super::request::{Refusal, Request};
use super::rounds::{Asked, Hold, Open, Owner, Waiting, input_requests};
use super::state::State;
use super::stream::Via;
use super::{DiagnosticKind, OutputValidation, Server, reply};
use crate::error::{LocalError, PeerError};
use crate::jsonrpc::{Id, canonical_id, scan, write};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::sync::Arc;

impl Server {
    /// Held: answers the request with the questions, and keeps the call.
    pub(super) fn hold(&mut self, call: RequestKey, questions: Vec<Open>, now: Millis) -> Result<Asked, LocalError> {
        let Some(record) = self.requests.get_mut(call) else { return Err(LocalError::NoBackChannel) };
        let stream = record.stream;
        let is_held = record.is_held();
        // A call that is held already outlives the stream that its request came on.
        if self.streams.get(&stream).map_or(!is_held, |stream| stream.draining.is_some()) {
            return Err(LocalError::NoBackChannel);
        }
        if !is_held && self.held >= self.config.limits.max_held {
            return Err(LocalError::Limit("maxHeld"));
        }
        let sealed = if is_held { None } else { Some(self.hold_state(call, now)?) };
        if let Some((token, sealed)) = sealed {
            let Some(record) = self.requests.get_mut(call) else { return Err(LocalError::NoBackChannel) };
            let (id, via, revision) = (record.id.clone(), record.via, record.revision);
            record.rounds.get_or_insert_default().hold = Some(Hold { token });
            self.detach(call, now);
            self.send_input_required(stream, via, &id, revision, &input_requests(questions.iter()), &sealed);
            self.check_drained(stream);
        }
        // While it is held already, these are asked when the client comes back.
        let key = self.next_ask();
        if let Some(record) = self.requests.get_mut(call) {
            record.rounds.get_or_insert_default().waiting.push(Waiting { owner: Owner::Ask(key), questions });
        }
        Ok(Asked::Waiting(key))
    }

    /// A state by which a held call is found again.
    fn hold_state(&mut self, call: RequestKey, now: Millis) -> Result<([u8; 16], String), LocalError> {
        let mut token = [0; 16];
        self.entropy()?.fill(&mut token);
        let count = self.requests.get_mut(call).and_then(|record| record.rounds.as_ref()).map_or(0, |r| r.count);
        let state = State { held: Some((call.0, URL_SAFE_NO_PAD.encode(token))), count, ..State::default() };
        let sealed = self.seal_state(call, state, now)?;
        if let Some(record) = self.requests.get_mut(call) {
            record.rounds.get_or_insert_default().count = count + 1;
        }
        Ok((token, sealed))
    }

    /// The request of a held call is answered: the books of its stream know it no more.
    fn detach(&mut self, call: RequestKey, now: Millis) {
        let Some(record) = self.requests.get_mut(call) else { return };
        let (stream, id, before) = (record.stream, record.id.clone(), record.deadline);
        let deadline = now.saturating_add(self.config.limits.held_ms);
        record.deadline = Some(deadline);
        record.progress = None;
        record.log_level = None;
        self.forget_deadline(call, before);
        self.deadlines.insert((deadline, call.0), call);
        self.held += 1;
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.in_flight.remove(&*canonical_id(&id));
        }
    }

    /// Binds a retry to the call that waited for it.
    pub(super) fn bind(
        &mut self,
        request: &Request<'_>,
        call: RequestKey,
        token: &str,
        responses: &str,
        now: Millis,
    ) -> Result<(), Refusal> {
        let gone =
            || PeerError::invalid_params("Invalid params: the call of this requestState is not waiting any more");
        let record = self.requests.get_mut(call).ok_or_else(gone)?;
        let rounds = record.rounds.as_mut().ok_or_else(gone)?;
        if rounds.hold.as_ref().is_none_or(|hold| URL_SAFE_NO_PAD.encode(hold.token) != token) {
            return Err(gone());
        }
        let mut refused = None;
        for open in rounds.waiting.iter_mut().flat_map(|waiting| &mut waiting.questions) {
            let given =
                scan::members(responses).find(|(key, _)| scan::plain_string(key).as_deref() == Some(&*open.key));
            let Some((_, answer)) = given.filter(|_| open.answer.is_none()) else { continue };
            match open.question.kind.check_answer(answer) {
                Ok(()) => open.answer = Some(Ok(answer.to_owned())),
                Err(reason) => refused = Some(reason),
            }
        }
        // The record's request is this one from now on.
        let deadline = match self.config.limits.call_timeout_ms {
            0 => None,
            _ if record.bound.as_ref().is_some_and(|bound| bound.has_total()) => None,
            timeout => Some(now.saturating_add(timeout)),
        };
        let before = std::mem::replace(&mut record.deadline, deadline);
        record.stream = request.stream;
        record.via = request.via;
        record.id = Id::new(request.id);
        record.params = request.params.text.map(Into::into);
        record.capabilities = request.capabilities();
        record.log_level = request.log_level;
        record.progress = request.meta.progress_token.map(|token| Progress { token: token.into(), last: None });
        rounds.hold = None;
        let complete = rounds.waiting.iter().all(|waiting| waiting.questions.iter().all(|open| open.answer.is_some()));
        let parked = rounds.parked.take();
        self.held -= 1;
        self.forget_deadline(call, before);
        if let Some(deadline) = deadline {
            self.deadlines.insert((deadline, call.0), call);
        }
        self.enter(call, request);
        if let Some(body) = parked {
            if let Some(record) = self.settle(call) {
                self.send_parked(record.stream, record.via, &record.id, &body);
                self.check_drained(record.stream);
            }
            return Ok(());
        }
        self.deliver(call);
        if !complete {
            if let Some(reason) = refused {
                let detail = format!("request {}: {reason}", request.id);
                self.diagnose(Some(request.stream), DiagnosticKind::BadMessage, detail);
            }
            if let Err(error) = self.hold_again(call, now) {
                self.settle(call);
                self.event(Event::Cancelled { key: call, reason: CancelReason::Unanswered });
                return Err(PeerError::internal(format!("The call can't go on: {error}")));
            }
        }
        Ok(())
    }

    /// Keeps the answer of a held call until its client comes back.
    pub(super) fn park_reply(&mut self, call: RequestKey, reply: &Reply<'_>) {
        let stamp = Arc::clone(&self.stamp);
        let most = self.config.limits.max_completion_values;
        let strict = self.config.output_validation == OutputValidation::Strict;
        let Some(record) = self.requests.get(call) else { return };
        let mut body = String::from(r#""result":"#);
        match self.check_output(record, reply) {
            Err(reason) if strict => {
                let reply = Reply::Text { text: &reason, is_error: true };
                reply::write(&mut body, &reply, &stamp, record, most);
            }
            _ => reply::write(&mut body, reply, &stamp, record, most),
        }
        body.push('}');
        self.park(call, body);
    }

    /// The same for an error.
    pub(super) fn park_error(&mut self, call: RequestKey, error: &PeerError) {
        let Some(record) = self.requests.get(call) else { return };
        let mut body = String::new();
        write::error_member(&mut body, &PeerError { code: record.revision.error_code(error.code), ..error.clone() });
        self.park(call, body);
    }

    fn park(&mut self, call: RequestKey, body: String) {
        if let Some(record) = self.requests.get_mut(call) {
            // The first answer stands, as with any call.
            record.rounds.get_or_insert_default().parked.get_or_insert(body);
        }
    }

    fn send_parked(&mut self, stream: StreamId, via: Via, id: &str, body: &str) {
        self.send_answer(stream, via, |out| {
            out.push_str(r#"{"jsonrpc":"2.0","id":"#);
            out.push_str(id);
            out.push(',');
            out.push_str(body);
        });
    }

    /// Asks for what a retry did not bring, or what was asked in the meantime.
    fn hold_again(&mut self, call: RequestKey, now: Millis) -> Result<(), LocalError> {
        let (token, sealed) = self.hold_state(call, now)?;
        let Some(record) = self.requests.get_mut(call) else { return Ok(()) };
        let (stream, via, id, revision) = (record.stream, record.via, record.id.clone(), record.revision);
        let rounds = record.rounds.get_or_insert_default();
        rounds.hold = Some(Hold { token });
        let open = rounds.waiting.iter().flat_map(|waiting| &waiting.questions);
        let requests = input_requests(open.filter(|open| open.answer.is_none()));
        self.detach(call, now);
        self.send_input_required(stream, via, &id, revision, &requests, &sealed);
        self.check_drained(stream);
        Ok(())
    }
}
