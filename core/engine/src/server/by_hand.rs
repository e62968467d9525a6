//! Rounds that host code writes itself: it answers with what it wants to know, and is called again with the answers.

use super::Server;
use super::again::Original;
use super::event::{Event, MethodName, Millis, OutgoingError, Reply, RequestKey};
use super::reply::object;
use super::request::Request;
use super::rounds::{ByHand, InputRequest, Owner, digest};
use super::state::{AskedBefore, State};
use crate::error::{LocalError, PeerError};
use crate::jsonrpc::{scan, write};
use crate::wire::Revision;
use crate::wire::input::Question;
use crate::wire::method::Method;

impl Server {
    /// Answers a call with a round.
    pub(super) fn ask_by_hand(
        &mut self,
        call: RequestKey,
        requests: Option<&str>,
        host_state: Option<&str>,
        now: Millis,
    ) -> Result<bool, LocalError> {
        let Some(record) = self.requests.get_mut(call) else { return Ok(false) };
        let bad = |reason: &str| LocalError::InputRequest { method: String::new(), reason: reason.to_owned() };
        if !record.method.known().is_some_and(Method::asks) {
            return Err(LocalError::WrongReply { method: record.method.as_str().to_owned() });
        }
        if record.is_held() {
            return Err(bad("the client is asked already"));
        }
        let is_modern = record.revision.is_modern();
        let is_task = record.run.is_some();
        let requests = requests.map(|requests| object("requests", requests)).transpose()?.unwrap_or("{}");
        let mut parts = Vec::new();
        for (key, request) in scan::members(requests) {
            let key = scan::plain_string(key).ok_or_else(|| bad("a key is no text"))?;
            let Ok([Some(method), params]) = scan::pick(request, ["method", "params"]) else {
                return Err(bad("each request is an object with a method"));
            };
            let method = scan::plain_string(method).ok_or_else(|| bad("a method must be a string"))?;
            parts.push((key, method, params.unwrap_or("{}")));
        }
        if parts.is_empty() && host_state.is_none() {
            return Err(bad("a round needs requests, a state, or both (2026-07-28 basic/patterns/mrtr)"));
        }
        let asked: Vec<_> = parts.iter().map(|(key, method, params)| InputRequest { key, method, params }).collect();
        let questions = if asked.is_empty() { Vec::new() } else { self.questions(call, &asked)? };
        let host = host_state.map(str::to_owned);
        if is_modern && !is_task {
            let asked =
                questions.iter().map(|open| AskedBefore { key: open.key.clone(), digest: digest(&open.question) });
            let state = State { asked: asked.collect(), host, ..State::default() };
            self.suspend(call, &questions, state, now)?;
            return Ok(true);
        }
        // A modern client's rounds are counted in its state.
        let most = self.config.limits.max_rounds;
        if let Some(record) = self.requests.get_mut(call) {
            let rounds = record.rounds.get_or_insert_default();
            rounds.count += 1;
            if rounds.count > most {
                return Err(LocalError::Limit("maxRounds"));
            }
        }
        if questions.is_empty() {
            self.call_again(call, Vec::new(), host);
        } else if is_task {
            self.ask_in_task(call, Owner::Hand(host), questions, None, now)?;
        } else {
            self.ask_legacy(call, Owner::Hand(host), questions, None, now)?;
        }
        Ok(true)
    }

    /// Gives a call to host code once more, with what its client has answered: one of a legacy client, or a task.
    pub(super) fn call_again(
        &mut self,
        call: RequestKey,
        answers: Vec<(String, Result<String, OutgoingError>)>,
        state: Option<String>,
    ) {
        let mut responses = String::from("{");
        for (key, answer) in answers {
            match answer {
                Ok(answer) => {
                    if responses.len() > 1 {
                        responses.push(',');
                    }
                    write::string(&mut responses, &key);
                    responses.push(':');
                    responses.push_str(&answer);
                }
                Err(error) => return self.fail_asking(call, &key, &error),
            }
        }
        responses.push('}');
        let Some(record) = self.requests.get(call) else { return };
        let Some(method) = record.method.known() else { return };
        let original = Original::of(record);
        let by_hand = ByHand { responses: Some(responses), state };
        let again = self.again(&original, method, |server, request| {
            // A task has no messages of its own in the modern era, and a legacy client's level is its connection's.
            let request = Request { log_level: None, ..request };
            let target = server.target(&request, method)?;
            let text = request.params.text.map(Into::into);
            Ok(request.call(call, MethodName::Known(method), target, text, Some(Box::new(by_hand))))
        });
        match again {
            Ok(again) => self.event(Event::Call(again)),
            Err(error) => self.refuse_again(call, &error),
        }
    }

    /// A call can't go on because of its client.
    fn fail_asking(&mut self, call: RequestKey, key: &str, error: &OutgoingError) {
        let reason = match error {
            OutgoingError::Peer(error) => format!("the client answered {key:?} with an error: {error}"),
            OutgoingError::Invalid(reason) => format!("the client answered {key:?} wrongly: {reason}"),
            OutgoingError::TimedOut => format!("the client did not answer {key:?} in time"),
            OutgoingError::Closed => format!("the client is gone and did not answer {key:?}"),
        };
        if self.requests.get(call).is_some_and(|record| record.run.is_some()) {
            return self.end_run(call, &Reply::Text { text: &reason, is_error: true });
        }
        let Some(record) = self.settle(call) else { return };
        if record.method.known() == Some(Method::ToolsCall) {
            self.send_tool_error(record.stream, record.via, &record.id, record.revision, &reason);
        } else {
            let error = PeerError::internal(reason);
            self.send_error(record.stream, record.via, Some(&record.id), &error);
        }
        self.check_drained(record.stream);
    }

    fn refuse_again(&mut self, call: RequestKey, error: &PeerError) {
        if self.requests.get(call).is_some_and(|record| record.run.is_some()) {
            return self.fail_run(call, error);
        }
        let Some(record) = self.settle(call) else { return };
        self.send_error(record.stream, record.via, Some(&record.id), error);
        self.check_drained(record.stream);
    }

    /// What a whole result of host code asks for and the client has not declared.
    pub(super) fn undeclared(&self, result: &str, capabilities: &str, revision: Revision) -> Option<&'static str> {
        let [requests] = scan::pick(result, ["inputRequests"]).ok()?;
        for (_, request) in scan::members(requests?) {
            let [method, params] = scan::pick(request, ["method", "params"]).unwrap_or_default();
            let method = method.and_then(scan::plain_string).unwrap_or_default();
            let question = Question::new(&method, params.unwrap_or("{}"), capabilities, revision, String::new);
            if let Err(LocalError::CapabilityNotDeclared(path)) = question {
                return Some(path);
            }
        }
        None
    }
}
