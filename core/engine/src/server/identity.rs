//! What the server says of itself: the handshake, `server/discover`, and what it offers.

use super::event::{ClientFacts, MethodName, Millis, StreamId, Target};
use super::inflight::After;
use super::prepare::Job;
use super::request::{Params, Refusal, Request, RequestClient, object_of, text_of};
use super::stream::{Legacy, Via};
use super::{CatalogueKind, Server, tasks};
use crate::error::PeerError;
use crate::jsonrpc::{Message, scan, write};
use crate::model::LogLevel;
use crate::wire::Revision;
use crate::wire::entry;
use crate::wire::meta::{self, Meta};
use crate::wire::method::{Method, Needs};
use std::collections::HashSet;
use std::sync::Arc;

impl Server {
    pub(super) fn initialize(
        &mut self,
        stream: StreamId,
        message: &Message<'_>,
        params: &Params<'_>,
        meta: Meta<'_>,
        via: Via,
        now: Millis,
    ) -> Result<(), Refusal> {
        if via.batch.is_some() {
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
            let request = Request {
                stream,
                id: message.id,
                method: &message.method,
                via,
                revision,
                params: *params,
                meta,
                log_level: None,
                client,
            };
            let job = Job { after: After::Handshake, ..Job::new(Target::Delegated) };
            self.call(&request, MethodName::Known(Method::Initialize), job, now);
            return Ok(());
        }
        let result = self.initialize_result(stream, revision);
        self.send_answer(stream, via, |out| {
            write::open_result(out, message.id);
            out.push_str(&result);
            out.push('}');
        });
        Ok(())
    }

    fn initialize_result(&self, stream: StreamId, revision: Revision) -> String {
        let mut out = String::from(r#"{"protocolVersion":"#);
        write::string(&mut out, revision.as_str());
        out.push_str(r#","capabilities":"#);
        entry::sieve(&mut out, &self.capabilities(stream), entry::CAPABILITIES, revision);
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
    pub(super) fn discover(&mut self, request: &Request<'_>) {
        let mut members = String::from(r#""supportedVersions":["#);
        let modern = self.config.revisions.iter().rev().filter(|revision| Method::Discover.exists_in(**revision));
        for (at, revision) in modern.enumerate() {
            if at > 0 {
                members.push(',');
            }
            write::string(&mut members, revision.as_str());
        }
        members.push_str(r#"],"capabilities":"#);
        entry::sieve(&mut members, &self.capabilities(request.stream), entry::CAPABILITIES, request.revision);
        if let Some(instructions) = &self.config.instructions {
            members.push_str(r#","instructions":"#);
            write::string(&mut members, instructions);
        }
        self.send_members(request, Method::Discover, &members);
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
            Needs::Tasks => own && (self.catalogue.has_tasks() || self.declares_tasks()),
            Needs::Subscribe if declared("resources") => self.config.capabilities.flag("resources", "subscribe"),
            Needs::Subscribe => has_resources,
        }
    }

    /// Whether tasks are declared by hand, for calls that become one while they run.
    fn declares_tasks(&self) -> bool {
        self.config.capabilities.get("extensions").is_some_and(tasks::is_among)
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
    fn capabilities(&self, stream: StreamId) -> String {
        let mut declared = self.config.capabilities.clone();
        for (name, needs) in [("tools", Needs::Tools), ("resources", Needs::Resources), ("prompts", Needs::Prompts)] {
            if declared.get(name).is_none() && self.offers(needs) {
                let subscribe = if needs == Needs::Resources { r#","subscribe":true"# } else { "" };
                declared.declare(name, &format!(r#"{{"listChanged":true{subscribe}}}"#));
            }
        }
        if self.offers(Needs::Tasks) {
            // Each revision knows one of the two.
            let list = if self.offers_task_list(stream) { r#""list":{},"# } else { "" };
            declared.declare("tasks", &format!(r#"{{{list}"cancel":{{}},"requests":{{"tools":{{"call":{{}}}}}}}}"#));
            declared.declare_within("extensions", tasks::EXTENSION, "{}");
        }
        declared.to_json()
    }
}
