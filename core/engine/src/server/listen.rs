//! What peers watch: `subscriptions/listen` of the modern era, `resources/subscribe` of the legacy one.

use super::event::{Event, Millis, RequestKey, StreamId};
use super::inflight::After;
use super::prepare::unknown_resource;
use super::request::{Refusal, Request, object_of, pick_named, text_of};
use super::stream::{Stream, Subscription, Via};
use super::tasks::{CAPABILITY, declares_tasks};
use super::{CatalogueKind, Server};
use crate::error::PeerError;
use crate::jsonrpc::{Id, scan, write};
use crate::wire::Revision;
use crate::wire::meta;
use crate::wire::method::{Method, Needs};
use std::collections::HashSet;

impl Server {
    /// `resources/subscribe` and `resources/unsubscribe` (2025-11-25 `server/resources`, "Subscriptions").
    pub(super) fn watch(
        &mut self,
        request: &Request<'_>,
        method: Method,
        delegated: bool,
        now: Millis,
    ) -> Result<(), Refusal> {
        let after = match text_of(request.params.uri, "uri") {
            Ok(uri) if method == Method::ResourcesSubscribe => {
                self.check_watch(request, &uri, delegated)?;
                After::Subscribe(uri.into_owned())
            }
            Ok(uri) => After::Unsubscribe(uri.into_owned()),
            Err(error) => self.after_refusal(error, delegated)?,
        };
        self.bring_about(request, method, after, delegated, now);
        Ok(())
    }

    fn check_watch(&self, request: &Request<'_>, uri: &str, delegated: bool) -> Result<(), Refusal> {
        let known = self.config.catalogue == CatalogueKind::Delegated
            || delegated
            || self.catalogue.resources.get(uri).is_some()
            || self.catalogue.match_template(uri).is_some();
        if !known {
            return Err(unknown_resource(uri, request.revision));
        }
        let count = self.streams.get(&request.stream).map_or(0, Stream::watched_count);
        if count >= self.config.limits.max_watched_resources {
            return Err(PeerError::internal("Server is busy: too many watched resources"));
        }
        Ok(())
    }

    /// `subscriptions/listen`: the acknowledgment first, then changes as they come.
    pub(super) fn listen(&mut self, request: &Request<'_>, now: Millis) -> Result<(), Refusal> {
        let [filter] = request.params.pick(["notifications"])?;
        let filter = object_of(filter, "notifications")?;
        let [tools, prompts, resources, uris, tasks] = pick_named(
            filter,
            ["toolsListChanged", "promptsListChanged", "resourcesListChanged", "resourceSubscriptions", "taskIds"],
        )?;
        let flag = |value: Option<&str>, name| match value {
            None | Some("null" | "false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(PeerError::invalid_params(format!("Invalid params: {name} must be a boolean"))),
        };
        let mut watched = texts_of(uris, "resourceSubscriptions")?;
        let tasks = texts_of(tasks, "taskIds")?;
        if !tasks.is_empty() && self.offers(Needs::Tasks) && !declares_tasks(request.client_capabilities()) {
            return Err(PeerError::missing_capability(CAPABILITY));
        }
        let Some(state) = self.streams.get(&request.stream) else { return Ok(()) };
        let room = self.config.limits.max_watched_resources.saturating_sub(state.watched_count());
        let opens = |key: &RequestKey| self.requests.get(*key).is_some_and(|entry| entry.stream == request.stream);
        let open = state.subscriptions.len() + self.tasks.following.opening().filter(opens).count();
        if open >= self.config.limits.max_subscriptions || watched.len() + tasks.len() > room {
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
        let wanted = Wanted { tools, prompts, resources, watched };
        if tasks.is_empty() || !self.offers(Needs::Tasks) {
            self.open_subscription(request.stream, request.via, request.id, request.revision, wanted, Vec::new());
        } else {
            let key = self.book(request, Method::Listen, now);
            self.listen_to_tasks(key, wanted, tasks);
        }
        Ok(())
    }

    /// Acknowledges a subscription, and opens it.
    pub(super) fn open_subscription(
        &mut self,
        stream: StreamId,
        via: Via,
        id: &str,
        revision: Revision,
        wanted: Wanted,
        tasks: Vec<String>,
    ) {
        let Wanted { tools, prompts, resources, watched } = wanted;
        let mut agreed = Vec::new();
        for (name, on) in
            [("toolsListChanged", tools), ("promptsListChanged", prompts), ("resourcesListChanged", resources)]
        {
            if on {
                agreed.push(format!("\"{name}\":true"));
            }
        }
        for (name, texts) in [("resourceSubscriptions", &watched), ("taskIds", &tasks)] {
            if !texts.is_empty() {
                let mut list = format!("\"{name}\":");
                write::strings(&mut list, texts);
                agreed.push(list);
            }
        }
        let agreed = agreed.join(",");
        let params = format!(r#"{{"_meta":{{"{}":{id}}},"notifications":{{{agreed}}}}}"#, meta::SUBSCRIPTION_ID);
        self.send_notification(stream, via, "notifications/subscriptions/acknowledged", Some(&params));
        let Some(state) = self.streams.get_mut(&stream) else { return };
        let fresh: Vec<_> = watched.iter().filter(|uri| !state.watches(uri)).cloned().collect();
        let watched = watched.into_iter().collect();
        let tasks = tasks.into_iter().map(|id| (id, String::new())).collect();
        let id = Id::new(id);
        state.subscriptions.push(Subscription { id, via, revision, tools, prompts, resources, watched, tasks });
        for uri in fresh {
            self.event(Event::Subscribed { stream, uri });
        }
    }
}

/// What a subscription is to tell of.
pub(super) struct Wanted {
    tools: bool,
    prompts: bool,
    resources: bool,
    watched: Vec<String>,
}

/// The strings of a list; an absent or null one has none.
fn texts_of(list: Option<&str>, name: &str) -> Result<Vec<String>, Refusal> {
    let wrong = || PeerError::invalid_params(format!("Invalid params: {name} must be an array of strings"));
    let Some(list) = list.filter(|list| *list != "null") else { return Ok(Vec::new()) };
    if !scan::is_array(list) {
        return Err(wrong());
    }
    scan::elements(list).map(|text| Ok(scan::plain_string(text).ok_or_else(wrong)?.into_owned())).collect()
}
