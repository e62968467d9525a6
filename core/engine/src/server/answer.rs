//! What host code says to a call: its answer, and what may come before the answer.

use super::event::{Millis, Reply, RequestKey, Sent, StreamId};
use super::inflight::{After, InFlight};
use super::reply::{self, asks_for_input, check_reply, not_json, object, text_block, trimmed};
use super::stream::Via;
use super::tasks::with_related;
use super::{AnswerFacts, AnswerKind, CatalogueKind, DiagnosticKind, Event, OutputValidation, Server};
use crate::error::{LocalError, PeerError, code};
use crate::jsonrpc::check::check;
use crate::jsonrpc::{scan, write};
use crate::model::LogLevel;
use crate::wire::Revision;
use crate::wire::method::{Method, tells_of_change};
use std::sync::Arc;

impl Server {
    /// Answers a call. False: the call is over already (answered, cancelled, expired), nothing is sent.
    ///
    /// # Errors
    /// [`LocalError::NotJson`] when a text of `reply` is not the JSON that it must be; [`LocalError::WrongReply`] when
    /// its kind does not fit the method. The call stays open in both cases.
    pub fn respond(&mut self, key: RequestKey, reply: Reply<'_>, now: Millis) -> Result<bool, LocalError> {
        let told = self.watch_reply(key, &reply);
        let mut instead = None;
        let answered = self.give(key, reply, &mut instead, now)?;
        if let Some(facts) = told.filter(|_| answered) {
            self.tell_answered(key, Some(AnswerFacts { kind: instead.unwrap_or(facts.kind), ..facts }));
        }
        Ok(answered)
    }

    /// Gives a reply; `instead` says what was sent in the place of one that can't be.
    #[inline]
    fn give(
        &mut self,
        key: RequestKey,
        reply: Reply<'_>,
        instead: &mut Option<AnswerKind>,
        now: Millis,
    ) -> Result<bool, LocalError> {
        let Some(record) = self.requests.get_mut(key) else { return Ok(false) };
        let method = record.method.known();
        check_reply(method, record.method.as_str(), &reply)?;
        if let Reply::InputRequired { requests, state } = reply {
            return self.ask_by_hand(key, requests, state, now);
        }
        if record.is_held() {
            self.park_reply(key, &reply);
            return Ok(true);
        }
        if record.run.is_some() {
            self.end_run(key, &reply);
            return Ok(true);
        }
        let Some(mut record) = self.settle(key) else { return Ok(false) };
        if asks_for_input(&reply)
            && let Err(error) = self.check_asking(&record, &reply)
        {
            self.diagnose(Some(record.stream), DiagnosticKind::BadResult, format!("request {}: {error}", record.id));
            self.send_error(record.stream, record.via, Some(&record.id), &error);
            *instead = Some(AnswerKind::Error(error.code));
            self.check_drained(record.stream);
            return Ok(true);
        }
        if let Err(reason) = self.check_output(&record, &reply) {
            self.diagnose(Some(record.stream), DiagnosticKind::BadResult, format!("request {}: {reason}", record.id));
            if self.config.output_validation == OutputValidation::Strict {
                self.send_tool_error(record.stream, record.via, &record.id, record.revision, &reason);
                *instead = Some(AnswerKind::ToolError);
                self.check_drained(record.stream);
                return Ok(true);
            }
        }
        match (&record.after, &reply) {
            (After::Handshake, Reply::Result(result)) => self.agree(record.stream, trimmed(result)),
            _ => self.apply(record.stream, std::mem::replace(&mut record.after, After::Nothing)),
        }
        let stamp = Arc::clone(&self.stamp);
        let most = self.config.limits.max_completion_values;
        let write = |out: &mut String| {
            write::open_result(out, &record.id);
            reply::write(out, &reply, &stamp, &record, most);
            out.push('}');
        };
        // Apart from batches the answer is written straight into the stream's text.
        if record.via.batch.is_none() {
            let out = self.transmit(record.stream, record.via.lane, Sent::Answer(None));
            write(out);
            out.push('\n');
        } else {
            let mut text = String::new();
            write(&mut text);
            self.send_answer(record.stream, record.via, |out| out.push_str(&text));
        }
        self.check_drained(record.stream);
        Ok(true)
    }

    /// Answers a call with a JSON-RPC error. False: the call is over already.
    ///
    /// [`code::URL_ELICITATION_REQUIRED`] with `data` of the form `{"elicitations":[{"mode":"url","message":...,"url":...}]}` says
    /// that the user has to visit URLs first (2025-11-25 `client/elicitation`, "URL Elicitation Required Error"). A visit gets an
    /// `elicitationId` where it has none. A modern client is asked for the visits and sends the request again, when host code runs
    /// again; one whose user said no before gets an internal error, as does a `data` that is something else. A client that
    /// knows no visits is served as by [`Server::fail_capability`].
    ///
    /// # Errors
    /// [`LocalError::NotJson`] when `error.data` is not JSON. The call stays open.
    pub fn fail(&mut self, key: RequestKey, error: &PeerError, now: Millis) -> Result<bool, LocalError> {
        if let Some(data) = &error.data {
            check(data).map_err(|fault| not_json("error data", &fault))?;
        }
        if error.code == code::URL_ELICITATION_REQUIRED && self.config.catalogue != CatalogueKind::Delegated {
            return self.fail_for_visits(key, error, now);
        }
        self.fail_with(key, error)
    }

    /// Answers a call with this error. Its data is JSON.
    pub(super) fn fail_with(&mut self, key: RequestKey, error: &PeerError) -> Result<bool, LocalError> {
        let told = self.watch_error(key, error);
        if self.requests.get_mut(key).is_some_and(|record| record.is_held()) {
            self.park_error(key, error);
            self.tell_answered(key, told);
            return Ok(true);
        }
        if self.requests.get(key).is_some_and(|record| record.run.is_some()) {
            self.fail_run(key, error);
            self.tell_answered(key, told);
            return Ok(true);
        }
        let Some(record) = self.settle(key) else { return Ok(false) };
        self.disagree(&record);
        let error = PeerError { code: record.revision.error_code(error.code), ..error.clone() };
        self.send_error(record.stream, record.via, Some(&record.id), &error);
        self.tell_answered(key, told);
        self.check_drained(record.stream);
        Ok(true)
    }

    /// The error for a resource that does not exist, under the code of the peer's revision. False: the call is over.
    ///
    /// # Errors
    /// As [`Server::fail`].
    pub fn fail_unknown_resource(&mut self, key: RequestKey, uri: &str, now: Millis) -> Result<bool, LocalError> {
        let Some(record) = self.requests.get_mut(key) else { return Ok(false) };
        let error = super::prepare::unknown_resource(uri, record.revision);
        self.fail(key, &error, now)
    }

    /// Ends a call for want of a client capability, named as [`LocalError::CapabilityNotDeclared`] does: a modern client is
    /// told by -32021 what to declare (2026-07-28 `basic/index`, "`_meta`"); a legacy client has no such code, and gets a tool
    /// error, or an internal one. False: the call is over.
    ///
    /// # Errors
    /// As [`Server::fail`].
    pub fn fail_capability(&mut self, key: RequestKey, path: &str, now: Millis) -> Result<bool, LocalError> {
        let Some(record) = self.requests.get_mut(key) else { return Ok(false) };
        if record.revision.is_modern() {
            return self.fail(key, &PeerError::missing_capability(path), now);
        }
        let text = format!("The client has not declared the capability {path:?}, which this needs");
        match record.method.known() {
            Some(Method::ToolsCall) => self.respond(key, Reply::Text { text: &text, is_error: true }, now),
            _ => self.fail(key, &PeerError::internal(text), now),
        }
    }

    /// Tells how far a call is. False, and nothing is sent: the peer did not ask, the value does not rise, or the call
    /// is over (`basic/patterns/progress`). Where a task has no progress to send (a modern client's never has, a legacy
    /// one's where it did not ask) the message becomes the task's status message.
    ///
    /// # Errors
    /// [`LocalError::NotANumber`] for NaN and infinite values.
    pub fn progress(
        &mut self,
        key: RequestKey,
        progress: f64,
        total: Option<f64>,
        message: Option<&str>,
        now: Millis,
    ) -> Result<bool, LocalError> {
        if !progress.is_finite() || total.is_some_and(|total| !total.is_finite()) {
            return Err(LocalError::NotANumber);
        }
        let Some(record) = self.requests.get_mut(key) else { return Ok(false) };
        if let Some(bound) = &mut record.bound {
            bound.heard(now);
        }
        let (stream, via, revision) = (record.stream, record.via, record.revision);
        let related = record.run.as_ref().map(|run| run.id.clone());
        if related.is_some() && (revision.is_modern() || record.progress.is_none()) {
            return Ok(self.note_progress(key, message, now));
        }
        let Some(state) = record.progress.as_mut() else { return Ok(false) };
        if state.last.is_some_and(|last| progress <= last) {
            return Ok(false);
        }
        state.last = Some(progress);
        let mut params = String::from(r#"{"progressToken":"#);
        params.push_str(&state.token);
        params.push_str(r#","progress":"#);
        write::number(&mut params, progress);
        if let Some(total) = total {
            params.push_str(r#","total":"#);
            write::number(&mut params, total);
        }
        if let Some(message) = message.filter(|_| revision.has_progress_message()) {
            params.push_str(r#","message":"#);
            write::string(&mut params, message);
        }
        params.push('}');
        if let Some(id) = related {
            params = with_related(&params, &id);
        }
        self.send_notification(stream, via, "notifications/progress", Some(&params));
        Ok(true)
    }

    /// Sends a log message that belongs to a call, if the peer wants it: a modern peer by the request's own level, a
    /// legacy peer by its connection's (`server/utilities/logging`). `data` is JSON text.
    ///
    /// # Errors
    /// [`LocalError::NotJson`] when `data` is not JSON.
    pub fn log(
        &mut self,
        key: RequestKey,
        level: LogLevel,
        logger: Option<&str>,
        data: &str,
    ) -> Result<bool, LocalError> {
        let data = check(data).map_err(|fault| not_json("log data", &fault))?;
        let Some(record) = self.requests.get_mut(key) else { return Ok(false) };
        let (stream, via, revision, own) = (record.stream, record.via, record.revision, record.log_level);
        let related = record.run.as_ref().map(|run| run.id.clone());
        let wanted = if revision.is_modern() { own } else { self.connection_level(stream) };
        if !self.wants_log(wanted, level) {
            return Ok(false);
        }
        let params = log_params(level, logger, data);
        let params = related.map(|id| with_related(&params, &id)).unwrap_or(params);
        self.send_notification(stream, via, "notifications/message", Some(&params));
        Ok(true)
    }

    /// Sends a log message that belongs to no call; only legacy peers can get one.
    ///
    /// # Errors
    /// [`LocalError::NotJson`] when `data` is not JSON.
    pub fn log_stream(
        &mut self,
        stream: StreamId,
        level: LogLevel,
        logger: Option<&str>,
        data: &str,
    ) -> Result<bool, LocalError> {
        let data = check(data).map_err(|fault| not_json("log data", &fault))?;
        let wanted = self.connection_level(stream);
        if !self.wants_log(wanted, level) {
            return Ok(false);
        }
        self.send_notification(stream, Via::default(), "notifications/message", Some(&log_params(level, logger, data)));
        Ok(true)
    }

    fn connection_level(&self, stream: StreamId) -> Option<LogLevel> {
        Some(self.streams.get(&stream)?.legacy.as_ref()?.log_level)
    }

    /// Whether a message of `level` goes to who wants those from `wanted` on.
    fn wants_log(&self, wanted: Option<LogLevel>, level: LogLevel) -> bool {
        self.config.capabilities.get("logging").is_some() && wanted.is_some_and(|wanted| level >= wanted)
    }

    /// Sends a notification that belongs to a call, as long as the call is open. `params` is the JSON of an object.
    /// False, and nothing is sent: the call is over, its peer has given no token for progress, or is a modern one that has not
    /// asked for such a notification (a change outside of a subscription, a log message without a level); or
    /// `notifications/elicitation/complete` does not name a visit that this client was asked for.
    ///
    /// # Errors
    /// [`LocalError::NotJson`] when `params` is no JSON object.
    pub fn notify(&mut self, key: RequestKey, method: &str, params: Option<&str>) -> Result<bool, LocalError> {
        let params = params.map(|params| object("params", params)).transpose()?;
        let Some(record) = self.requests.get_mut(key) else { return Ok(false) };
        // No revision lets progress go to who has given no token for it (`basic/patterns/progress`, "Behavior Requirements": MUST).
        let pointless = method == "notifications/progress" && record.progress.is_none();
        let unasked = match method {
            "notifications/message" => record.log_level.is_none(),
            _ => tells_of_change(method) && record.method.known() != Some(Method::Listen),
        };
        let related = record.run.as_ref().map(|run| run.id.clone());
        let is_modern = record.revision.is_modern();
        if pointless || record.is_held() || is_modern && (unasked || related.is_some()) {
            return Ok(false);
        }
        let (stream, via) = (record.stream, record.via);
        if !self.may_notify(stream, method, params) {
            return Ok(false);
        }
        let related = related.map(|id| with_related(params.unwrap_or("{}"), &id));
        self.send_notification(stream, via, method, related.as_deref().or(params));
        Ok(true)
    }

    /// A tool result that says that something went wrong, in plain text.
    pub(super) fn send_tool_error(&mut self, stream: StreamId, via: Via, id: &str, revision: Revision, text: &str) {
        let stamp = Arc::clone(&self.stamp);
        self.send_answer(stream, via, |out| {
            write::open_result(out, id);
            out.push('{');
            stamp.open(out, Some(Method::ToolsCall), revision);
            text_block(out, text, true);
            stamp.close(out, None, revision);
            out.push_str("}}");
        });
    }

    /// Whether a whole result that asks for input may do so.
    fn check_asking(&self, record: &InFlight, reply: &Reply<'_>) -> Result<(), PeerError> {
        if !record.method.known().is_some_and(|method| method.may_ask(record.revision)) {
            return Err(PeerError::internal("Internal error: this request can't be answered by asking for input"));
        }
        let Reply::Result(result) = reply else { return Ok(()) };
        let capabilities = record.capabilities().unwrap_or("{}");
        match self.undeclared(trimmed(result), capabilities, record.revision) {
            Some(path) => Err(PeerError::missing_capability(path)),
            None => Ok(()),
        }
    }

    /// Checks a tool's structured result against the tool's output schema (`server/tools`, "Output Schema").
    pub(super) fn check_output(&self, record: &InFlight, reply: &Reply<'_>) -> Result<(), String> {
        if self.config.output_validation == OutputValidation::Off {
            return Ok(());
        }
        let Some(schema) = record.tool.as_ref().and_then(|tool| tool.output.as_ref()) else { return Ok(()) };
        let value = match reply {
            Reply::Tool { is_error: true, .. } | Reply::Text { is_error: true, .. } => return Ok(()),
            Reply::Text { .. } => None,
            Reply::Tool { structured, .. } => *structured,
            Reply::Result(result) => {
                let [kind, error, value] =
                    scan::pick(trimmed(result), ["resultType", "isError", "structuredContent"]).unwrap_or_default();
                if error == Some("true") || kind.is_some_and(|kind| kind != r#""complete""#) {
                    return Ok(());
                }
                value
            }
            _ => return Ok(()),
        };
        let Some(value) = value else {
            return Err("the tool has an output schema and gave no structured result".into());
        };
        schema
            .validate(value)
            .map_err(|violations| format!("the tool's result does not fit its output schema: {violations}"))
    }

    /// Host code has answered a handshake: what it names is what the connection speaks, if that is a revision of its era.
    fn agree(&mut self, stream: StreamId, result: &str) {
        let named = scan::pick(result, ["protocolVersion"]).ok().and_then(|[version]| version);
        let revision = named.and_then(scan::plain_string).and_then(|version| Revision::parse(&version));
        if let Some(revision) = revision.filter(|revision| !revision.is_modern())
            && let Some(legacy) = self.streams.get_mut(&stream).and_then(|state| state.legacy.as_mut())
        {
            legacy.revision = revision;
        }
    }

    /// A request has failed: if it was a handshake, the connection is not open, and the client may try again.
    pub(super) fn disagree(&mut self, record: &InFlight) {
        if let (After::Handshake, Some(state)) = (&record.after, self.streams.get_mut(&record.stream)) {
            state.legacy = None;
        }
    }

    /// Brings about what a successful answer means for the stream.
    pub(super) fn apply(&mut self, stream: StreamId, after: After) {
        if let After::Nothing = after {
            return;
        }
        let Some(state) = self.streams.get_mut(&stream) else { return };
        match after {
            After::Nothing | After::Engine | After::Handshake => {}
            After::SetLevel(level) => {
                if let Some(legacy) = &mut state.legacy {
                    legacy.log_level = level;
                }
            }
            After::Subscribe(uri) => {
                let known = state.watches(&uri);
                if let Some(legacy) = &mut state.legacy {
                    legacy.watched.insert(uri.clone());
                    if !known {
                        self.event(Event::Subscribed { stream, uri });
                    }
                }
            }
            After::Unsubscribe(uri) => {
                let removed = state.legacy.as_mut().is_some_and(|legacy| legacy.watched.remove(&uri));
                if removed && !state.watches(&uri) {
                    self.event(Event::Unsubscribed { stream, uri });
                }
            }
        }
    }
}

/// The parameters of `notifications/message`; `data` is JSON text.
fn log_params(level: LogLevel, logger: Option<&str>, data: &str) -> String {
    let mut params = String::from(r#"{"level":"#);
    write::string(&mut params, level.as_str());
    if let Some(logger) = logger {
        params.push_str(r#","logger":"#);
        write::string(&mut params, logger);
    }
    params.push_str(r#","data":"#);
    write::raw(&mut params, data);
    params.push('}');
    params
}
