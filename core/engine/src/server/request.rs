//! What a peer asks: routing, the checks that come before host code, and everything that needs no host code.

use super::catalogue::Tool;
use super::event::{Call, Client, ClientFacts, Event, MethodName, Millis, StreamId, Target};
use super::inflight::{After, InFlight, Progress};
use super::stream::{Legacy, Stream, Subscription};
use super::{CancelReason, CatalogueKind, Server};
use crate::error::{PeerError, code, shorten};
use crate::jsonrpc::cursor::PickError;
use crate::jsonrpc::{self, Id, Message, scan, write};
use crate::lifecycle::{self, Ruling};
use crate::model::LogLevel;
use crate::wire::Revision;
use crate::wire::entry;
use crate::wire::meta::{self, Meta};
use crate::wire::method::{Method, Needs};
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// A request on its way through the checks.
struct Request<'a> {
    stream: StreamId,
    id: &'a str,
    batch: Option<u32>,
    revision: Revision,
    params: Params<'a>,
    meta: Meta<'a>,
    log_level: Option<LogLevel>,
    client: RequestClient<'a>,
}

/// The parameters that most methods ask for, found in one walk; the others are picked out of `text` by who needs them.
#[derive(Clone, Copy, Default)]
struct Params<'a> {
    text: Option<&'a str>,
    meta: Option<&'a str>,
    name: Option<&'a str>,
    arguments: Option<&'a str>,
    uri: Option<&'a str>,
    cursor: Option<&'a str>,
}

impl<'a> Params<'a> {
    fn read(message: &Message<'a>) -> Result<Self, Refusal> {
        let [meta, name, arguments, uri, cursor] = message.fields.params.map_err(refuse_pick)?;
        Ok(Self { text: message.params, meta, name, arguments, uri, cursor })
    }

    fn pick<const N: usize>(&self, keys: [&'static str; N]) -> Result<[Option<&'a str>; N], Refusal> {
        self.text.map_or(Ok([None; N]), |object| pick_named(object, keys))
    }
}

enum RequestClient<'a> {
    Connection(Arc<ClientFacts>),
    Request { info: Option<&'a str>, capabilities: &'a str },
}

/// What has to run for a request, and what the engine keeps of it until it is answered.
struct Job {
    target: Target,
    tool: Option<Arc<Tool>>,
    after: After,
}

impl Job {
    fn new(target: Target) -> Self {
        Self { target, tool: None, after: After::Nothing }
    }
}

type Refusal = PeerError;

impl Server {
    pub(super) fn handle_request(&mut self, stream: StreamId, message: &Message<'_>, batch: Option<u32>, now: Millis) {
        if let Err(error) = self.route(stream, message, batch, now) {
            self.send_answer(stream, batch, |out| write::error(out, Some(message.id), &error));
        }
    }

    fn route(
        &mut self,
        stream: StreamId,
        message: &Message<'_>,
        batch: Option<u32>,
        now: Millis,
    ) -> Result<(), Refusal> {
        let state = self.streams.get(&stream).ok_or_else(|| PeerError::internal("stream is closed"))?;
        let id = jsonrpc::canonical_id(message.id);
        if state.in_flight.contains_key(&*id)
            || state.subscriptions.iter().any(|open| jsonrpc::canonical_id(&open.id) == id)
        {
            return Err(PeerError::invalid_request("Invalid Request: this id belongs to a request still in flight"));
        }
        let params = Params::read(message)?;
        let meta = Meta::read(params.meta, &message.fields)?;
        let method = Method::parse(&message.method);
        let ruling = lifecycle::rule(&message.method, &meta, state.negotiated(), &self.config.revisions)
            .map_err(|error| self.name_versions(method, &params, error))?;
        let (revision, log_level, client) = match ruling {
            Ruling::Handshake => return self.initialize(stream, message, &params, meta, batch, now),
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
        let request = Request { stream, id: message.id, batch, revision, params, meta, log_level, client };
        match method.filter(|method| method.exists_in(revision)) {
            Some(method) => self.serve(&request, method, now),
            None if self.config.extra_methods.iter().any(|extra| *extra == message.method) => {
                let name = MethodName::Extra(message.method.as_ref().into());
                self.call(&request, name, Job::new(Target::Delegated), now);
                Ok(())
            }
            None => Err(PeerError::method_not_found(&message.method)),
        }
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
            return Err(PeerError::method_not_found(method.name()));
        }
        let host_wants_it = self.is_delegated(method);
        let delegated = self.config.catalogue == CatalogueKind::Delegated;
        match method {
            Method::Ping if !host_wants_it => self.send_empty(request),
            Method::SetLevel => self.set_level(request, host_wants_it, now)?,
            Method::ResourcesSubscribe | Method::ResourcesUnsubscribe => {
                self.watch(request, method, host_wants_it, now)?;
            }
            Method::Listen if !host_wants_it => self.listen(request)?,
            Method::Discover if !host_wants_it => self.discover(request),
            Method::ToolsList | Method::ResourcesList | Method::TemplatesList | Method::PromptsList
                if !delegated && !host_wants_it =>
            {
                self.list(request, method)?;
            }
            _ => {
                let job = if delegated || host_wants_it {
                    Job::new(self.check_delegated(request, method)?)
                } else {
                    match self.prepare(request, method)? {
                        Some(job) => job,
                        None => return Ok(()),
                    }
                };
                self.call(request, MethodName::Known(method), job, now);
            }
        }
        Ok(())
    }

    /// Whether host code has asked to see a method that the engine could serve itself.
    fn is_delegated(&self, method: Method) -> bool {
        self.config.delegate.iter().any(|name| name == method.name())
    }

    /// What a method needs before host code can run. None: it was answered.
    fn prepare(&mut self, request: &Request<'_>, method: Method) -> Result<Option<Job>, Refusal> {
        match method {
            Method::ToolsCall => self.prepare_tool(request),
            Method::ResourcesRead => self.prepare_read(request).map(Some),
            Method::PromptsGet => self.prepare_prompt(request).map(Some),
            Method::Complete => self.prepare_completion(request).map(Some),
            _ => Ok(Some(Job::new(Target::Delegated))),
        }
    }

    /// What the schema says of a request whose meaning is host code's business.
    fn check_delegated(&self, request: &Request<'_>, method: Method) -> Result<Target, Refusal> {
        let params = &request.params;
        match method {
            Method::ToolsCall | Method::PromptsGet => drop(text_of(params.name, "name")?),
            Method::ResourcesRead => drop(text_of(params.uri, "uri")?),
            Method::ToolsList | Method::ResourcesList | Method::TemplatesList | Method::PromptsList => {
                cursor_of(params.cursor)?;
            }
            _ => {}
        }
        Ok(Target::Delegated)
    }

    fn initialize(
        &mut self,
        stream: StreamId,
        message: &Message<'_>,
        params: &Params<'_>,
        meta: Meta<'_>,
        batch: Option<u32>,
        now: Millis,
    ) -> Result<(), Refusal> {
        if batch.is_some() {
            return Err(PeerError::invalid_request("Invalid Request: initialize can't be part of a batch"));
        }
        let [version, capabilities, info] = params.pick(["protocolVersion", "capabilities", "clientInfo"])?;
        let version = text_of(version, "protocolVersion")?;
        let capabilities = object_of(capabilities, "capabilities")?;
        let info = object_of(info, "clientInfo")?;
        match scan::pick(info, ["name", "version"]) {
            Ok([Some(name), Some(version)]) if name.starts_with('"') && version.starts_with('"') => {}
            _ => return Err(PeerError::invalid_params("Invalid params: clientInfo needs a name and a version")),
        }
        let revision = Revision::negotiate(&version, &self.config.revisions)
            .ok_or_else(|| meta::unsupported_version(&version, &self.config.revisions))?;
        let client = Arc::new(ClientFacts { info: Some(info.to_owned()), capabilities: capabilities.to_owned() });
        let Some(state) = self.streams.get_mut(&stream) else { return Ok(()) };
        // Also where host code is asked first: a client that does not wait for the answer is served in its revision.
        state.legacy = Some(Legacy {
            revision,
            client: Arc::clone(&client),
            ready: false,
            // Until the client says otherwise the server decides (2025-11-25 `server/utilities/logging`).
            log_level: LogLevel::Info,
            watched: HashSet::new(),
        });
        if self.is_delegated(Method::Initialize) {
            let client = RequestClient::Connection(client);
            let request =
                Request { stream, id: message.id, batch, revision, params: *params, meta, log_level: None, client };
            let job = Job { after: After::Handshake, ..Job::new(Target::Delegated) };
            self.call(&request, MethodName::Known(Method::Initialize), job, now);
            return Ok(());
        }
        let result = self.initialize_result(revision);
        self.send_answer(stream, None, |out| {
            write::open_result(out, message.id);
            out.push_str(&result);
            out.push('}');
        });
        Ok(())
    }

    fn initialize_result(&self, revision: Revision) -> String {
        let mut out = String::from(r#"{"protocolVersion":"#);
        write::string(&mut out, revision.as_str());
        out.push_str(r#","capabilities":"#);
        entry::sieve(&mut out, &self.capabilities(), entry::CAPABILITIES, revision);
        out.push_str(r#","serverInfo":"#);
        entry::sieve(&mut out, &self.config.info, entry::IMPLEMENTATION, revision);
        if let Some(instructions) = &self.config.instructions {
            out.push_str(r#","instructions":"#);
            write::string(&mut out, instructions);
        }
        out.push('}');
        out
    }

    /// `server/discover` (2026-07-28 `server/discover`).
    fn discover(&mut self, request: &Request<'_>) {
        let mut members = String::from(r#""supportedVersions":["#);
        let modern = self.config.revisions.iter().rev().filter(|revision| Method::Discover.exists_in(**revision));
        for (at, revision) in modern.enumerate() {
            if at > 0 {
                members.push(',');
            }
            write::string(&mut members, revision.as_str());
        }
        members.push_str(r#"],"capabilities":"#);
        entry::sieve(&mut members, &self.capabilities(), entry::CAPABILITIES, request.revision);
        if let Some(instructions) = &self.config.instructions {
            members.push_str(r#","instructions":"#);
            write::string(&mut members, instructions);
        }
        self.send_members(request, Method::Discover, &members);
    }

    fn list(&mut self, request: &Request<'_>, method: Method) -> Result<(), Refusal> {
        let cursor = cursor_of(request.params.cursor)?;
        let page = self.catalogue.page(method, cursor.as_deref(), self.config.page_size, request.revision)?;
        self.send_members(request, method, &page);
        Ok(())
    }

    fn set_level(&mut self, request: &Request<'_>, delegated: bool, now: Millis) -> Result<(), Refusal> {
        let [level] = request.params.pick(["level"])?;
        let name = text_of(level, "level")?;
        let level = LogLevel::parse(&name)
            .ok_or_else(|| PeerError::invalid_params(format!("Invalid log level: {}", shorten(&name))))?;
        if delegated {
            let job = Job { after: After::SetLevel(level), ..Job::new(Target::Delegated) };
            self.call(request, MethodName::Known(Method::SetLevel), job, now);
            return Ok(());
        }
        self.apply(request.stream, After::SetLevel(level));
        self.send_empty(request);
        Ok(())
    }

    /// `resources/subscribe` and `resources/unsubscribe` (2025-11-25 `server/resources`, "Subscriptions").
    fn watch(&mut self, request: &Request<'_>, method: Method, delegated: bool, now: Millis) -> Result<(), Refusal> {
        let uri = text_of(request.params.uri, "uri")?.into_owned();
        let subscribe = method == Method::ResourcesSubscribe;
        let known = self.config.catalogue == CatalogueKind::Delegated
            || delegated
            || self.catalogue.resources.get(&uri).is_some()
            || self.catalogue.match_template(&uri).is_some();
        if subscribe && !known {
            return Err(unknown_resource(&uri, request.revision));
        }
        let count = self.streams.get(&request.stream).map_or(0, Stream::watched_count);
        if subscribe && count >= self.config.limits.max_watched_resources {
            return Err(PeerError::internal("Server is busy: too many watched resources"));
        }
        let after = if subscribe { After::Subscribe(uri) } else { After::Unsubscribe(uri) };
        if delegated {
            let job = Job { after, ..Job::new(Target::Delegated) };
            self.call(request, MethodName::Known(method), job, now);
            return Ok(());
        }
        self.apply(request.stream, after);
        self.send_empty(request);
        Ok(())
    }

    /// `subscriptions/listen`: the acknowledgment first, then changes as they come.
    fn listen(&mut self, request: &Request<'_>) -> Result<(), Refusal> {
        let [filter] = request.params.pick(["notifications"])?;
        let filter = object_of(filter, "notifications")?;
        let [tools, prompts, resources, uris] = pick_named(
            filter,
            ["toolsListChanged", "promptsListChanged", "resourcesListChanged", "resourceSubscriptions"],
        )?;
        let flag = |value: Option<&str>, name| match value {
            None | Some("null" | "false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(PeerError::invalid_params(format!("Invalid params: {name} must be a boolean"))),
        };
        let mut watched = Vec::new();
        if let Some(uris) = uris.filter(|uris| *uris != "null") {
            let wrong =
                || PeerError::invalid_params("Invalid params: resourceSubscriptions must be an array of strings");
            if !scan::is_array(uris) {
                return Err(wrong());
            }
            for uri in scan::elements(uris) {
                watched.push(scan::plain_string(uri).ok_or_else(wrong)?.into_owned());
            }
        }
        let Some(state) = self.streams.get(&request.stream) else { return Ok(()) };
        let room = self.config.limits.max_watched_resources.saturating_sub(state.watched_count());
        if state.subscriptions.len() >= self.config.limits.max_subscriptions || watched.len() > room {
            return Err(PeerError::internal("Server is busy: too many subscriptions on this connection"));
        }
        // What the server does not tell of is left out of the acknowledgment.
        let tools = flag(tools, "toolsListChanged")? && self.tells_of("tools");
        let prompts = flag(prompts, "promptsListChanged")? && self.tells_of("prompts");
        let resources = flag(resources, "resourcesListChanged")? && self.tells_of("resources");
        if !self.offers(Needs::Subscribe) {
            watched.clear();
        }
        let mut seen = HashSet::new();
        watched.retain(|uri| seen.insert(uri.clone()));
        let mut agreed = String::from("{");
        for (name, on) in
            [("toolsListChanged", tools), ("promptsListChanged", prompts), ("resourcesListChanged", resources)]
        {
            if on {
                agreed.push_str(&format!("\"{name}\":true,"));
            }
        }
        if watched.is_empty() {
            if agreed.ends_with(',') {
                agreed.pop();
            }
        } else {
            agreed.push_str(r#""resourceSubscriptions":["#);
            for (at, uri) in watched.iter().enumerate() {
                if at > 0 {
                    agreed.push(',');
                }
                write::string(&mut agreed, uri);
            }
            agreed.push(']');
        }
        agreed.push('}');
        let id = Id::new(request.id);
        let params = format!(r#"{{"_meta":{{"{}":{id}}},"notifications":{agreed}}}"#, meta::SUBSCRIPTION_ID);
        self.send_notification(request.stream, "notifications/subscriptions/acknowledged", Some(&params));
        let Some(state) = self.streams.get_mut(&request.stream) else { return Ok(()) };
        let fresh: Vec<_> = watched.iter().filter(|uri| !state.watches(uri)).cloned().collect();
        let watched = watched.into_iter().collect();
        let revision = request.revision;
        state.subscriptions.push(Subscription { id, revision, tools, prompts, resources, watched });
        for uri in fresh {
            self.event(Event::Subscribed { stream: request.stream, uri });
        }
        Ok(())
    }

    fn prepare_tool(&mut self, request: &Request<'_>) -> Result<Option<Job>, Refusal> {
        let name = text_of(request.params.name, "name")?;
        let Some(tool) = self.catalogue.tools.get(&name).map(Arc::clone) else {
            return Err(PeerError::invalid_params(format!("Unknown tool: {}", shorten(&name))));
        };
        let arguments = match request.params.arguments {
            None | Some("null") => "{}",
            Some(arguments) if scan::is_object(arguments) => arguments,
            Some(_) => return Err(PeerError::invalid_params("Invalid params: arguments must be an object")),
        };
        // Wrong arguments are a tool error, which the model sees and can mend (2025-11-25 changelog, minor 5).
        if let Err(violations) = tool.input.validate(arguments) {
            let text = format!("Invalid arguments for tool {name}: {violations}");
            self.send_tool_error(request.stream, request.batch, request.id, request.revision, &text);
            return Ok(None);
        }
        Ok(Some(Job { target: Target::Tool(tool.tag), tool: Some(tool), after: After::Nothing }))
    }

    fn prepare_read(&self, request: &Request<'_>) -> Result<Job, Refusal> {
        let uri = text_of(request.params.uri, "uri")?;
        if let Some(resource) = self.catalogue.resources.get(&uri) {
            return Ok(Job::new(Target::Resource(resource.tag)));
        }
        match self.catalogue.match_template(&uri) {
            Some((template, variables)) => Ok(Job::new(Target::Template { tag: template.tag, variables })),
            None => Err(unknown_resource(&uri, request.revision)),
        }
    }

    fn prepare_prompt(&self, request: &Request<'_>) -> Result<Job, Refusal> {
        let name = text_of(request.params.name, "name")?;
        let prompt = self
            .catalogue
            .prompts
            .get(&name)
            .ok_or_else(|| PeerError::invalid_params(format!("Unknown prompt: {}", shorten(&name))))?;
        let arguments = match request.params.arguments {
            None | Some("null") => "{}",
            Some(arguments) => object_of(Some(arguments), "arguments")?,
        };
        let mut given = HashSet::new();
        for (key, value) in scan::members(arguments) {
            let key = scan::plain_string(key).unwrap_or_default();
            if !value.starts_with('"') {
                let reason = format!("Invalid params: prompt argument {:?} must be a string", shorten(&key));
                return Err(PeerError::invalid_params(reason));
            }
            given.insert(key.into_owned());
        }
        let missing = prompt.arguments.iter().find(|argument| argument.required && !given.contains(&argument.name));
        if let Some(argument) = missing {
            let reason = format!("Missing required argument {:?} of prompt {:?}", argument.name, shorten(&name));
            return Err(PeerError::invalid_params(reason));
        }
        Ok(Job::new(Target::Prompt(prompt.tag)))
    }

    /// `completion/complete` (`server/utilities/completion`).
    fn prepare_completion(&self, request: &Request<'_>) -> Result<Job, Refusal> {
        let [reference, argument] = request.params.pick(["ref", "argument"])?;
        let reference = object_of(reference, "ref")?;
        let argument = object_of(argument, "argument")?;
        let [kind, name, uri] = pick_named(reference, ["type", "name", "uri"])?;
        let [argument, value] = pick_named(argument, ["name", "value"])?;
        let argument = text_of(argument, "argument.name")?.into_owned();
        let value = text_of(value, "argument.value")?.into_owned();
        let unknown = |what: &str| {
            let reason = format!("Invalid params: {what} has no argument {:?}", shorten(&argument));
            Err(PeerError::invalid_params(reason))
        };
        match &*text_of(kind, "ref.type")? {
            "ref/prompt" => {
                let name = text_of(name, "ref.name")?;
                let prompt = self
                    .catalogue
                    .prompts
                    .get(&name)
                    .ok_or_else(|| PeerError::invalid_params(format!("Unknown prompt: {}", shorten(&name))))?;
                if !prompt.arguments.iter().any(|known| known.name == argument) {
                    return unknown("the prompt");
                }
                Ok(Job::new(Target::Complete { tag: prompt.tag, prompt: true, argument, value }))
            }
            "ref/resource" => {
                let uri = text_of(uri, "ref.uri")?;
                let template = self.catalogue.templates.get(&uri);
                let Some(template) = template.or_else(|| self.catalogue.match_template(&uri).map(|found| found.0))
                else {
                    return Err(unknown_resource(&uri, request.revision));
                };
                if !template.pattern.variables().contains(&argument) {
                    return unknown("the resource template");
                }
                Ok(Job::new(Target::Complete { tag: template.tag, prompt: false, argument, value }))
            }
            other => Err(PeerError::invalid_params(format!("Invalid params: unknown ref type {:?}", shorten(other)))),
        }
    }

    /// Books a request and gives it to host code.
    fn call(&mut self, request: &Request<'_>, method: MethodName, job: Job, now: Millis) {
        let params: Option<Box<str>> = request.params.text.map(Into::into);
        let range = |part: Option<&str>| part.and_then(|part| range_in(request.params.text?, part));
        let id = Id::new(request.id);
        let timeout = self.config.limits.call_timeout_ms;
        let deadline = (timeout > 0).then(|| now.saturating_add(timeout));
        let key = self.requests.insert(InFlight {
            stream: request.stream,
            id: id.clone(),
            revision: request.revision,
            method: method.clone(),
            tool: job.tool,
            progress: request.meta.progress_token.map(|token| Progress { token: token.into(), last: None }),
            log_level: request.log_level,
            batch: request.batch,
            deadline,
            after: job.after,
        });
        if let Some(deadline) = deadline {
            self.deadlines.insert((deadline, key.0), key);
        }
        if let Some(stream) = self.streams.get_mut(&request.stream) {
            let canonical = match jsonrpc::canonical_id(&id) {
                Cow::Borrowed(_) => id.clone(),
                Cow::Owned(text) => text.into(),
            };
            stream.in_flight.insert(canonical, key);
            if let Some(batch) = request.batch.and_then(|batch| stream.batches.get_mut(&batch)) {
                batch.pending += 1;
            }
        }
        let client = match &request.client {
            RequestClient::Connection(facts) => Client::Connection(Arc::clone(facts)),
            RequestClient::Request { info, capabilities } => {
                Client::Request { info: range(*info), capabilities: range(Some(capabilities)).unwrap_or(0..0) }
            }
        };
        self.event(Event::Call(Call {
            key,
            stream: request.stream,
            target: job.target,
            revision: request.revision,
            method,
            id,
            arguments: range(request.params.arguments.filter(|arguments| scan::is_object(arguments))),
            meta: range(request.meta.text),
            progress_token: range(request.meta.progress_token),
            log_level: request.log_level,
            client,
            params,
        }));
    }

    pub(super) fn handle_notification(&mut self, stream: StreamId, message: &Message<'_>) {
        match &*message.method {
            method @ "notifications/cancelled" => {
                self.cancelled(stream, message);
                if self.config.delegate.iter().any(|name| name == method) {
                    let params = message.params.map(str::to_owned);
                    self.event(Event::Notification { stream, method: method.to_owned(), params });
                }
            }
            "notifications/initialized" => {
                let Some(legacy) = self.streams.get_mut(&stream).and_then(|stream| stream.legacy.as_mut()) else {
                    return;
                };
                if !std::mem::replace(&mut legacy.ready, true) {
                    self.event(Event::Initialized { stream });
                }
            }
            method => {
                let params = message.params.map(str::to_owned);
                self.event(Event::Notification { stream, method: method.to_owned(), params });
            }
        }
    }

    /// `notifications/cancelled`: no answer for what it names; unknown, late and malformed ones are ignored
    /// (`basic/patterns/cancellation`, "Error Handling").
    fn cancelled(&mut self, stream: StreamId, message: &Message<'_>) {
        let Some(Ok([Some(id), reason])) = message.params.map(|params| scan::pick(params, ["requestId", "reason"]))
        else {
            return;
        };
        let id = jsonrpc::canonical_id(id);
        let Some(state) = self.streams.get_mut(&stream) else { return };
        if let Some(at) = state.subscriptions.iter().position(|open| jsonrpc::canonical_id(&open.id) == id) {
            let subscription = state.subscriptions.remove(at);
            return self.unwatched(stream, subscription.watched);
        }
        let Some(key) = state.in_flight.get(&*id).copied() else { return };
        // The handshake is not to be cancelled (2025-11-25 `basic/utilities/cancellation`, "Behavior Requirements").
        if self.requests.get_mut(key).is_some_and(|record| matches!(record.after, After::Handshake)) {
            return;
        }
        let Some(record) = self.settle(key) else { return };
        let reason = reason.and_then(scan::plain_string).map(|reason| reason.into_owned());
        self.event(Event::Cancelled { key, reason: CancelReason::Peer(reason) });
        if let Some(batch) = record.batch {
            self.check_batch(stream, batch);
        }
        self.check_drained(stream);
    }

    /// Ends calls that ran too long: the peer gets an error, host code is told.
    pub(super) fn expire_calls(&mut self, now: Millis) {
        while let Some((&(due, _), &key)) = self.deadlines.first_key_value() {
            if due > now {
                break;
            }
            let timeout = self.config.limits.call_timeout_ms;
            let Some(record) = self.settle(key) else {
                self.deadlines.pop_first();
                continue;
            };
            self.disagree(&record);
            let text = format!("{} did not end within {timeout} ms", record.method.as_str());
            if record.method.known() == Some(Method::ToolsCall) {
                self.send_tool_error(record.stream, record.batch, &record.id, record.revision, &text);
            } else {
                let error = PeerError::internal(text);
                self.send_answer(record.stream, record.batch, |out| write::error(out, Some(&record.id), &error));
            }
            self.event(Event::Cancelled { key, reason: CancelReason::Deadline });
            self.check_drained(record.stream);
        }
    }

    /// Whether the server has the capability that a method stands under.
    pub(super) fn offers(&self, needs: Needs) -> bool {
        let declared = |name| self.config.capabilities.get(name).is_some();
        let own = self.config.catalogue == CatalogueKind::Static;
        let has_resources = own && !(self.catalogue.resources.is_empty() && self.catalogue.templates.is_empty());
        match needs {
            Needs::Nothing => true,
            Needs::Tools => declared("tools") || own && !self.catalogue.tools.is_empty(),
            Needs::Resources => declared("resources") || has_resources,
            Needs::Prompts => declared("prompts") || own && !self.catalogue.prompts.is_empty(),
            Needs::Completions => declared("completions"),
            Needs::Logging => declared("logging"),
            Needs::Subscribe if declared("resources") => self.config.capabilities.flag("resources", "subscribe"),
            Needs::Subscribe => has_resources,
        }
    }

    /// Whether the server tells of changes of a list.
    pub(super) fn tells_of(&self, list: &str) -> bool {
        if self.config.capabilities.get(list).is_some() {
            return self.config.capabilities.flag(list, "listChanged");
        }
        match list {
            "tools" => self.offers(Needs::Tools),
            "prompts" => self.offers(Needs::Prompts),
            _ => self.offers(Needs::Resources),
        }
    }

    /// The `ServerCapabilities` object, in the newest revision's form.
    fn capabilities(&self) -> String {
        let mut declared = self.config.capabilities.clone();
        for (name, needs) in [("tools", Needs::Tools), ("resources", Needs::Resources), ("prompts", Needs::Prompts)] {
            if declared.get(name).is_none() && self.offers(needs) {
                let subscribe = if needs == Needs::Resources { r#","subscribe":true"# } else { "" };
                declared.declare(name, &format!(r#"{{"listChanged":true{subscribe}}}"#));
            }
        }
        declared.to_json()
    }

    fn send_empty(&mut self, request: &Request<'_>) {
        let mut result = String::new();
        self.stamp.empty(&mut result, request.revision);
        self.send_answer(request.stream, request.batch, |out| {
            write::open_result(out, request.id);
            out.push_str(&result);
            out.push('}');
        });
    }

    /// Sends a result made of `members`, with what the revision adds to it.
    fn send_members(&mut self, request: &Request<'_>, method: Method, members: &str) {
        let stamp = Arc::clone(&self.stamp);
        self.send_answer(request.stream, request.batch, |out| {
            write::open_result(out, request.id);
            out.push('{');
            stamp.open(out, Some(method), request.revision);
            out.push_str(members);
            stamp.close(out, None, request.revision);
            out.push_str("}}");
        });
    }
}

fn pick_named<'a, const N: usize>(object: &'a str, keys: [&'static str; N]) -> Result<[Option<&'a str>; N], Refusal> {
    scan::pick(object, keys).map_err(refuse_pick)
}

fn refuse_pick(error: PickError) -> Refusal {
    match error {
        PickError::NotObject => PeerError::invalid_params("Invalid params: params must be an object"),
        PickError::Duplicate(key) => PeerError::invalid_params(format!("Invalid params: duplicate key {key:?}")),
    }
}

fn text_of<'a>(value: Option<&'a str>, name: &str) -> Result<Cow<'a, str>, Refusal> {
    let value = value.ok_or_else(|| PeerError::invalid_params(format!("Invalid params: {name} is missing")))?;
    scan::plain_string(value)
        .ok_or_else(|| PeerError::invalid_params(format!("Invalid params: {name} must be a string")))
}

fn object_of<'a>(value: Option<&'a str>, name: &str) -> Result<&'a str, Refusal> {
    match value {
        None => Err(PeerError::invalid_params(format!("Invalid params: {name} is missing"))),
        Some(value) if scan::is_object(value) => Ok(value),
        Some(_) => Err(PeerError::invalid_params(format!("Invalid params: {name} must be an object"))),
    }
}

/// A cursor as the peer gave it; null counts as absent, the empty string does not.
fn cursor_of(cursor: Option<&str>) -> Result<Option<Cow<'_, str>>, Refusal> {
    match cursor {
        None | Some("null") => Ok(None),
        Some(cursor) => text_of(Some(cursor), "cursor").map(Some),
    }
}

/// An unknown resource, under the code of the peer's revision (`server/resources`, "Error Handling").
pub(super) fn unknown_resource(uri: &str, revision: Revision) -> PeerError {
    let mut data = String::from(r#"{"uri":"#);
    write::string(&mut data, uri);
    data.push('}');
    PeerError::new(revision.unknown_resource_code(), "Resource not found").with_data(data)
}

/// Where `part`, a slice of `whole`, lies in it.
fn range_in(whole: &str, part: &str) -> Option<Range<usize>> {
    let start = (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
    let end = start.checked_add(part.len())?;
    (end <= whole.len()).then_some(start..end)
}
