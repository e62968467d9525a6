//! What a peer asks: routing, the checks that come before host code, and everything that needs no host code.

use super::event::{Call, Client, ClientFacts, Event, MethodName, Millis, RequestKey, StreamId, Target};
use super::inflight::{After, InFlight, Progress};
use super::prepare::{Job, TaskWish};
use super::rounds::{ByHand, Resumed, Resumption};
use super::stream::Via;
use super::{CatalogueKind, Server};
use crate::error::{PeerError, code, shorten};
use crate::jsonrpc::cursor::PickError;
use crate::jsonrpc::{self, Id, Message, scan, write};
use crate::lifecycle::{self, Ruling};
use crate::model::LogLevel;
use crate::wire::Revision;
use crate::wire::meta::{self, Meta};
use crate::wire::method::Method;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// A request on its way through the checks.
pub(super) struct Request<'a> {
    pub(super) stream: StreamId,
    pub(super) id: &'a str,
    pub(super) method: &'a str,
    pub(super) via: Via,
    pub(super) revision: Revision,
    pub(super) params: Params<'a>,
    pub(super) meta: Meta<'a>,
    pub(super) log_level: Option<LogLevel>,
    pub(super) client: RequestClient<'a>,
}

/// The parameters that most methods ask for, found in one walk; the others are picked out of `text` by who needs them.
#[derive(Clone, Copy, Default)]
pub(super) struct Params<'a> {
    pub(super) text: Option<&'a str>,
    pub(super) meta: Option<&'a str>,
    pub(super) name: Option<&'a str>,
    pub(super) arguments: Option<&'a str>,
    pub(super) uri: Option<&'a str>,
    pub(super) cursor: Option<&'a str>,
    pub(super) input_responses: Option<&'a str>,
    pub(super) request_state: Option<&'a str>,
}

impl Request<'_> {
    /// Where a part of the parameters lies in them.
    fn range(&self, part: Option<&str>) -> Option<Range<usize>> {
        range_in(self.params.text?, part?)
    }

    /// The client's `ClientCapabilities`.
    pub(super) fn client_capabilities(&self) -> &str {
        match &self.client {
            RequestClient::Connection(facts) => &facts.capabilities,
            RequestClient::Request { capabilities, .. } => capabilities,
        }
    }

    /// What host code gets of it.
    pub(super) fn call(
        &self,
        key: RequestKey,
        method: MethodName,
        target: Target,
        params: Option<Arc<str>>,
        by_hand: Option<Box<ByHand>>,
    ) -> Call {
        let client = match &self.client {
            RequestClient::Connection(facts) => Client::Connection(Arc::clone(facts)),
            RequestClient::Request { info, .. } => {
                Client::Request { info: self.range(*info), capabilities: self.capabilities().unwrap_or(0..0) }
            }
        };
        Call {
            key,
            stream: self.stream,
            target,
            revision: self.revision,
            method,
            id: Id::new(self.id),
            arguments: self.range(self.params.arguments.filter(|arguments| scan::is_object(arguments))),
            meta: self.range(self.meta.text),
            progress_token: self.range(self.meta.progress_token),
            log_level: self.log_level,
            client,
            by_hand,
            params,
        }
    }

    /// Where in the parameters a modern client's capabilities are.
    pub(super) fn capabilities(&self) -> Option<Range<usize>> {
        match &self.client {
            RequestClient::Connection(_) => None,
            RequestClient::Request { capabilities, .. } => self.range(Some(capabilities)),
        }
    }
}

impl<'a> Params<'a> {
    pub(super) fn read(message: &Message<'a>) -> Result<Self, Refusal> {
        let [meta, name, arguments, uri, cursor, input_responses, request_state] =
            message.fields.params.map_err(refuse_pick)?;
        Ok(Self { text: message.params, meta, name, arguments, uri, cursor, input_responses, request_state })
    }

    pub(super) fn pick<const N: usize>(&self, keys: [&'static str; N]) -> Result<[Option<&'a str>; N], Refusal> {
        self.text.map_or(Ok([None; N]), |object| pick_named(object, keys))
    }
}

pub(super) enum RequestClient<'a> {
    Connection(Arc<ClientFacts>),
    Request { info: Option<&'a str>, capabilities: &'a str },
}

pub(super) type Refusal = PeerError;

impl Server {
    pub(super) fn handle_request(&mut self, stream: StreamId, message: &Message<'_>, via: Via, now: Millis) {
        if let Err(error) = self.route(stream, message, via, now) {
            self.send_error(stream, via, Some(message.id), &error);
        }
    }

    fn route(&mut self, stream: StreamId, message: &Message<'_>, via: Via, now: Millis) -> Result<(), Refusal> {
        let state = self.streams.get(&stream).ok_or_else(|| PeerError::internal("stream is closed"))?;
        let id = jsonrpc::canonical_id(message.id);
        if state.in_flight.contains_key(&*id)
            || state.subscriptions.iter().any(|open| jsonrpc::canonical_id(&open.id) == id)
        {
            return Err(PeerError::invalid_request("Invalid Request: this id belongs to a request still in flight"));
        }
        let params = Params::read(message)?;
        let mut meta = Meta::read(params.meta, &message.fields)?;
        if let Some(error) = meta.take_wrong_token() {
            self.refuse(error)?;
        }
        let method = Method::parse(&message.method);
        let ruling = lifecycle::rule(&message.method, &meta, state.negotiated(), &self.config.revisions)
            .map_err(|error| self.name_versions(method, &params, error))?;
        let (revision, log_level, client) = match ruling {
            Ruling::Handshake => return self.initialize(stream, message, &params, meta, via, now),
            Ruling::Legacy(revision) => {
                let facts = state.legacy.as_ref().map(|legacy| Arc::clone(&legacy.client)).unwrap_or_default();
                (revision, None, RequestClient::Connection(facts))
            }
            Ruling::Modern(declared) => {
                let client =
                    RequestClient::Request { info: declared.client_info, capabilities: declared.client_capabilities };
                (declared.revision, declared.log_level, client)
            }
        };
        if state.in_flight.len() >= self.config.limits.max_in_flight {
            return Err(PeerError::internal(format!(
                "Server is busy: {} requests of this connection are in flight",
                self.config.limits.max_in_flight
            )));
        }
        if self.shutting_down || state.draining.is_some() && state.drained {
            return Err(PeerError::internal("Server is shutting down"));
        }
        let method_name = &*message.method;
        let request =
            Request { stream, id: message.id, method: method_name, via, revision, params, meta, log_level, client };
        // Host code may have tasks of its own, or methods of ours that a revision lacks.
        let is_extra = self.config.extra_methods.iter().any(|extra| *extra == message.method);
        let method = method.filter(|method| method.exists_in(revision) && !(is_extra && method.is_task()));
        match method {
            Some(method) => self.serve(&request, method, now),
            None => {
                if !is_extra {
                    self.refuse(PeerError::method_not_found(&message.method))?;
                }
                let name = MethodName::Extra(message.method.as_ref().into());
                self.call(&request, name, Job::new(Target::Delegated), now);
                Ok(())
            }
        }
    }

    /// Refuses a request, unless host code wants to do that itself.
    pub(super) fn refuse(&self, error: PeerError) -> Result<(), Refusal> {
        if self.config.delegate_refusals { Ok(()) } else { Err(error) }
    }

    /// A modern-only server names its versions to a client that tries to shake hands
    /// (2026-07-28 `basic/versioning`, "Backward Compatibility").
    fn name_versions(&self, method: Option<Method>, params: &Params<'_>, error: PeerError) -> PeerError {
        if method != Some(Method::Initialize) || error.code != code::INVALID_PARAMS {
            return error;
        }
        let asked = params.pick(["protocolVersion"]).ok().and_then(|[version]| version);
        let asked = asked.and_then(scan::plain_string).unwrap_or_default();
        meta::unsupported_version(&asked, &self.config.revisions)
    }

    fn serve(&mut self, request: &Request<'_>, method: Method, now: Millis) -> Result<(), Refusal> {
        if !self.offers(method.needs()) {
            self.refuse(PeerError::method_not_found(method.name()))?;
            self.call(request, MethodName::Known(method), Job::new(Target::Delegated), now);
            return Ok(());
        }
        let host_wants_it = self.is_delegated(method);
        let delegated = self.config.catalogue == CatalogueKind::Delegated;
        match method {
            Method::Ping if !host_wants_it => self.send_empty(request),
            Method::SetLevel => self.set_level(request, host_wants_it, now)?,
            Method::ResourcesSubscribe | Method::ResourcesUnsubscribe => {
                self.watch(request, method, host_wants_it, now)?;
            }
            Method::Listen if !host_wants_it => self.listen(request, now)?,
            Method::Discover if !host_wants_it => self.discover(request),
            Method::TasksGet | Method::TasksUpdate | Method::TasksCancel | Method::TasksResult | Method::TasksList
                if !host_wants_it =>
            {
                self.task_method(request, method, now)?;
            }
            Method::ToolsList | Method::ResourcesList | Method::TemplatesList | Method::PromptsList
                if !delegated && !host_wants_it =>
            {
                self.list(request, method)?;
            }
            _ => {
                let resumed = match method.may_ask(request.revision) {
                    true => self.resume(request, now)?,
                    false => Resumed::Run(None),
                };
                match resumed {
                    Resumed::Run(resumption) => self.serve_by_host(request, method, resumption, now)?,
                    Resumed::Unsure(ticket, resumption) => self.spend_state(request, method, ticket, resumption, now),
                    Resumed::Bound => {}
                }
            }
        }
        Ok(())
    }

    /// Has host code serve a request, with what a retry brings.
    pub(super) fn serve_by_host(
        &mut self,
        request: &Request<'_>,
        method: Method,
        resumption: Option<Box<Resumption>>,
        now: Millis,
    ) -> Result<(), Refusal> {
        let mut job = if self.config.catalogue == CatalogueKind::Delegated || self.is_delegated(method) {
            Job::new(self.check_delegated(request, method)?)
        } else {
            match self.prepare(request, method)? {
                Some(job) => job,
                None => return Ok(()),
            }
        };
        if let Some(Resumption { rounds, by_hand }) = resumption.map(|resumption| *resumption) {
            job.rounds = Some(Box::new(rounds));
            job.by_hand = Some(Box::new(by_hand));
        }
        self.call(request, MethodName::Known(method), job, now);
        Ok(())
    }

    /// Whether host code has asked to see a method that the engine could serve itself.
    pub(super) fn is_delegated(&self, method: Method) -> bool {
        self.config.delegate.iter().any(|name| name == method.name())
    }

    fn list(&mut self, request: &Request<'_>, method: Method) -> Result<(), Refusal> {
        let cursor = cursor_of(request.params.cursor)?;
        let page = self.catalogue.page(method, cursor.as_deref(), self.config.page_size, request.revision)?;
        self.send_members(request, method, &page);
        Ok(())
    }

    fn set_level(&mut self, request: &Request<'_>, delegated: bool, now: Millis) -> Result<(), Refusal> {
        let after = match level_of(request) {
            Ok(level) => After::SetLevel(level),
            Err(error) => self.after_refusal(error, delegated)?,
        };
        self.bring_about(request, Method::SetLevel, after, delegated, now);
        Ok(())
    }

    /// Refuses a request that changes a stream's state, or lets host code refuse it: then nothing changes.
    pub(super) fn after_refusal(&self, error: PeerError, delegated: bool) -> Result<After, Refusal> {
        if !delegated {
            return Err(error);
        }
        self.refuse(error).map(|()| After::Nothing)
    }

    /// Answers a request that changes a stream's state, or lets host code answer it first.
    pub(super) fn bring_about(
        &mut self,
        request: &Request<'_>,
        method: Method,
        after: After,
        delegated: bool,
        now: Millis,
    ) {
        if delegated {
            let job = Job { after, ..Job::new(Target::Delegated) };
            self.call(request, MethodName::Known(method), job, now);
        } else {
            self.apply(request.stream, after);
            self.send_empty(request);
        }
    }

    /// Books a request and gives it to host code, at once or as a task.
    pub(super) fn call(&mut self, request: &Request<'_>, method: MethodName, job: Job, now: Millis) {
        let Job { target, tool, after, rounds, by_hand, task } = job;
        let params: Option<Arc<str>> = request.params.text.map(Into::into);
        let key = self.enter_new(request, method.clone(), params.clone(), now, |record| {
            record.tool = tool;
            record.after = after;
            record.rounds = rounds;
        });
        let call = request.call(key, method, target, params, by_hand);
        match task {
            None => self.event(Event::Call(call)),
            Some(TaskWish { ttl_ms }) => {
                if let Err(error) = self.create_task(key, Some(Box::new(call)), ttl_ms, now) {
                    let error = PeerError::internal(format!("Server is busy: {error}"));
                    self.settle(key);
                    self.send_error(request.stream, request.via, Some(request.id), &error);
                }
            }
        }
    }

    /// Books a request that the engine itself answers later.
    pub(super) fn book(&mut self, request: &Request<'_>, method: Method, now: Millis) -> RequestKey {
        let params = request.params.text.map(Into::into);
        self.enter_new(request, MethodName::Known(method), params, now, |record| record.after = After::Engine)
    }

    fn enter_new(
        &mut self,
        request: &Request<'_>,
        method: MethodName,
        params: Option<Arc<str>>,
        now: Millis,
        fill: impl FnOnce(&mut InFlight),
    ) -> RequestKey {
        let timeout = self.config.limits.call_timeout_ms;
        let deadline = (timeout > 0).then(|| now.saturating_add(timeout));
        let mut record = InFlight {
            stream: request.stream,
            id: Id::new(request.id),
            revision: request.revision,
            method,
            tool: None,
            progress: request.meta.progress_token.map(|token| Progress { token: token.into(), last: None }),
            log_level: request.log_level,
            via: request.via,
            deadline,
            bound: None,
            params,
            capabilities: request.capabilities(),
            rounds: None,
            run: None,
            after: After::Nothing,
        };
        fill(&mut record);
        let key = self.requests.insert(record);
        if let Some(deadline) = deadline {
            self.deadlines.insert((deadline, key.0), key);
        }
        self.enter(key, request);
        key
    }

    /// Notes a request as one that is to be answered.
    pub(super) fn enter(&mut self, key: RequestKey, request: &Request<'_>) {
        let Some(stream) = self.streams.get_mut(&request.stream) else { return };
        stream.in_flight.insert(jsonrpc::canonical_id(request.id).as_ref().into(), key);
        if let Some(batch) = request.via.batch.and_then(|batch| stream.batches.get_mut(&batch)) {
            batch.pending += 1;
        }
    }

    pub(super) fn send_empty(&mut self, request: &Request<'_>) {
        let mut result = String::new();
        self.stamp.empty(&mut result, request.revision);
        self.send_answer(request.stream, request.via, |out| {
            write::open_result(out, request.id);
            out.push_str(&result);
            out.push('}');
        });
    }

    /// Sends a result made of `members`, with what the revision adds to it.
    pub(super) fn send_members(&mut self, request: &Request<'_>, method: Method, members: &str) {
        let stamp = Arc::clone(&self.stamp);
        self.send_answer(request.stream, request.via, |out| {
            write::open_result(out, request.id);
            out.push('{');
            stamp.open(out, Some(method), request.revision);
            out.push_str(members);
            stamp.close(out, None, request.revision);
            out.push_str("}}");
        });
    }
}

pub(super) fn pick_named<'a, const N: usize>(
    object: &'a str,
    keys: [&'static str; N],
) -> Result<[Option<&'a str>; N], Refusal> {
    scan::pick(object, keys).map_err(refuse_pick)
}

fn refuse_pick(error: PickError) -> Refusal {
    match error {
        PickError::NotObject => PeerError::invalid_params("Invalid params: params must be an object"),
        PickError::Duplicate(key) => PeerError::invalid_params(format!("Invalid params: duplicate key {key:?}")),
    }
}

pub(super) fn text_of<'a>(value: Option<&'a str>, name: &str) -> Result<Cow<'a, str>, Refusal> {
    let value = value.ok_or_else(|| PeerError::invalid_params(format!("Invalid params: {name} is missing")))?;
    scan::plain_string(value)
        .ok_or_else(|| PeerError::invalid_params(format!("Invalid params: {name} must be a string")))
}

/// The level of `logging/setLevel`.
fn level_of(request: &Request<'_>) -> Result<LogLevel, Refusal> {
    let [level] = request.params.pick(["level"])?;
    let name = text_of(level, "level")?;
    LogLevel::parse(&name).ok_or_else(|| PeerError::invalid_params(format!("Invalid log level: {}", shorten(&name))))
}

pub(super) fn object_of<'a>(value: Option<&'a str>, name: &str) -> Result<&'a str, Refusal> {
    match value {
        None => Err(PeerError::invalid_params(format!("Invalid params: {name} is missing"))),
        Some(value) if scan::is_object(value) => Ok(value),
        Some(_) => Err(PeerError::invalid_params(format!("Invalid params: {name} must be an object"))),
    }
}

/// A cursor as the peer gave it; null counts as absent, the empty string does not.
pub(super) fn cursor_of(cursor: Option<&str>) -> Result<Option<Cow<'_, str>>, Refusal> {
    match cursor {
        None | Some("null") => Ok(None),
        Some(cursor) => text_of(Some(cursor), "cursor").map(Some),
    }
}

/// Where `part`, a slice of `whole`, lies in it.
fn range_in(whole: &str, part: &str) -> Option<Range<usize>> {
    let start = (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
    let end = start.checked_add(part.len())?;
    (end <= whole.len()).then_some(start..end)
}
