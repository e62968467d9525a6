//! What a request needs before host code can run: the target is found, and what it is given is checked.

use super::catalogue::Tool;
use super::event::Target;
use super::inflight::After;
use super::request::{Refusal, Request, cursor_of, object_of, pick_named, text_of};
use super::rounds::{ByHand, Rounds};
use super::tasks::{self, TaskSupport};
use super::{CatalogueKind, Server};
use crate::error::{PeerError, code, shorten};
use crate::jsonrpc::{scan, write};
use crate::wire::Revision;
use crate::wire::method::{Method, Needs};
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

/// What has to run for a request, and what the engine keeps of it until it is answered.
pub(super) struct Job {
    pub(super) target: Target,
    pub(super) tool: Option<Arc<Tool>>,
    pub(super) after: After,
    pub(super) rounds: Option<Box<Rounds>>,
    pub(super) by_hand: Option<Box<ByHand>>,
    /// It is to be a task.
    pub(super) task: Option<TaskWish>,
}

/// A call that is to be a task.
#[derive(Clone, Copy)]
pub(super) struct TaskWish {
    /// How long the client wants it kept.
    pub(super) ttl_ms: Option<u64>,
}

impl Job {
    pub(super) fn new(target: Target) -> Self {
        Self { target, tool: None, after: After::Nothing, rounds: None, by_hand: None, task: None }
    }
}

impl Server {
    /// What a method needs before host code can run. None: it was answered.
    pub(super) fn prepare(&mut self, request: &Request<'_>, method: Method) -> Result<Option<Job>, Refusal> {
        match method {
            Method::ToolsCall => self.prepare_tool(request),
            Method::ResourcesRead => self.prepare_read(request).map(Some),
            Method::PromptsGet => self.prepare_prompt(request).map(Some),
            Method::Complete => self.prepare_completion(request).map(Some),
            _ => Ok(Some(Job::new(Target::Delegated))),
        }
    }

    /// What has to run for a request that was served before, and whose arguments were checked then.
    pub(super) fn target(&self, request: &Request<'_>, method: Method) -> Result<Target, Refusal> {
        if self.config.catalogue == CatalogueKind::Delegated || self.is_delegated(method) {
            return Ok(Target::Delegated);
        }
        match method {
            Method::ToolsCall => self.find_tool(request).map(|(_, tool)| Target::Tool(tool.tag)),
            Method::ResourcesRead => self.prepare_read(request).map(|job| job.target),
            Method::PromptsGet => self.prepare_prompt(request).map(|job| job.target),
            _ => Ok(Target::Delegated),
        }
    }

    /// What the schema says of a request whose meaning is host code's business.
    pub(super) fn check_delegated(&self, request: &Request<'_>, method: Method) -> Result<Target, Refusal> {
        let params = &request.params;
        let checked = match method {
            Method::ToolsCall | Method::PromptsGet => text_of(params.name, "name").map(drop),
            Method::ResourcesRead => text_of(params.uri, "uri").map(drop),
            Method::ToolsList | Method::ResourcesList | Method::TemplatesList | Method::PromptsList => {
                cursor_of(params.cursor).map(drop)
            }
            _ => Ok(()),
        };
        checked.or_else(|error| self.refuse(error))?;
        Ok(Target::Delegated)
    }

    /// Whether a call of a tool is to be a task: a modern client leaves that to the server (extension, "Capability
    /// Negotiation"), one of 2025-11-25 decides itself (`basic/utilities/tasks`, "Tool-Level Negotiation").
    fn task_wish(&self, request: &Request<'_>, tool: &Tool) -> Result<Option<TaskWish>, Refusal> {
        if !self.offers(Needs::Tasks) {
            return Ok(None);
        }
        if request.revision.is_modern() {
            return match (tool.task, tasks::declares_tasks(request.client_capabilities())) {
                (TaskSupport::Never, _) | (TaskSupport::Optional, false) => Ok(None),
                (_, true) => Ok(Some(TaskWish { ttl_ms: None })),
                (TaskSupport::Required, false) => Err(PeerError::missing_capability(tasks::CAPABILITY)),
            };
        }
        let wish = match request.revision.has_task_parameter() {
            true => request.params.pick(["task"])?[0].filter(|task| *task != "null"),
            false => None,
        };
        match (tool.task, wish) {
            (TaskSupport::Never | TaskSupport::Optional, None) => Ok(None),
            (TaskSupport::Never, Some(_)) => Err(PeerError::new(
                code::METHOD_NOT_FOUND,
                format!("Tool {:?} can't be called as a task", shorten(&tool.name)),
            )),
            (TaskSupport::Required, None) => Err(PeerError::new(
                code::METHOD_NOT_FOUND,
                format!("Tool {:?} must be called as a task", shorten(&tool.name)),
            )),
            (_, Some(wish)) => {
                let wrong =
                    || PeerError::invalid_params("Invalid params: task must be an object, and its ttl a number");
                let Ok([ttl]) = scan::pick(wish, ["ttl"]) else { return Err(wrong()) };
                let ttl_ms = match ttl {
                    None | Some("null") => None,
                    Some(ttl) => Some(ttl.parse::<u64>().map_err(|_| wrong())?),
                };
                Ok(Some(TaskWish { ttl_ms }))
            }
        }
    }

    fn find_tool<'a>(&self, request: &Request<'a>) -> Result<(Cow<'a, str>, Arc<Tool>), Refusal> {
        let name = text_of(request.params.name, "name")?;
        match self.catalogue.tools.get(&name) {
            Some(tool) => Ok((name, Arc::clone(tool))),
            None => Err(PeerError::invalid_params(format!("Unknown tool: {}", shorten(&name)))),
        }
    }

    fn prepare_tool(&mut self, request: &Request<'_>) -> Result<Option<Job>, Refusal> {
        let (name, tool) = self.find_tool(request)?;
        let arguments = match request.params.arguments {
            None | Some("null") => "{}",
            Some(arguments) if scan::is_object(arguments) => arguments,
            Some(_) => return Err(PeerError::invalid_params("Invalid params: arguments must be an object")),
        };
        // Wrong arguments are a tool error, which the model sees and can mend (2025-11-25 changelog, minor 5).
        if let Err(violations) = tool.input.validate(arguments) {
            let text = format!("Invalid arguments for tool {name}: {violations}");
            self.send_tool_error(request.stream, request.via, request.id, request.revision, &text);
            return Ok(None);
        }
        let task = self.task_wish(request, &tool)?;
        Ok(Some(Job { task, tool: Some(Arc::clone(&tool)), ..Job::new(Target::Tool(tool.tag)) }))
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
}

/// An unknown resource, under the code of the peer's revision (`server/resources`, "Error Handling").
pub(super) fn unknown_resource(uri: &str, revision: Revision) -> PeerError {
    let mut data = String::from(r#"{"uri":"#);
    write::string(&mut data, uri);
    data.push('}');
    PeerError::new(revision.unknown_resource_code(), "Resource not found").with_data(data)
}
