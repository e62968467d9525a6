//! C code as a host of the runtime: which handler a call belongs to.

use super::middleware::Layer;
use super::notification::Listener;
use super::waiting::Waiting;
use crate::call::{Call, Line};
use crate::handler::Handler;
use ferromcp_engine::{self as engine, Event, PeerError, Reentry, Reply, Target};
use runtime::{CallQueue, Endpoint, Host};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// What kind of definition a handler serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Tool,
    Resource,
    Template,
    Prompt,
}

/// One definition's handlers.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) kind: Kind,
    /// Its name, URI, or URI template.
    pub(super) key: String,
    pub(super) handler: Arc<Handler>,
    /// What becomes of its handler while a modern client is asked.
    pub(super) reentry: Reentry,
    /// Of a prompt or template: an argument, and what completes it.
    pub(super) completions: Vec<(String, Arc<Handler>)>,
}

/// All handlers of a server; a definition's tag is its place in `entries`.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) entries: Vec<Entry>,
    pub(super) delegate: Option<Arc<Handler>>,
    pub(super) delegate_reentry: Reentry,
    /// What stands round calls, the outermost first.
    pub(super) layers: Vec<Arc<Layer>>,
    /// By the method of the notifications.
    pub(super) listeners: HashMap<String, Arc<Listener>>,
}

/// The handlers, shared by the server's object and its threads.
#[derive(Debug, Default)]
pub(super) struct Registry(RwLock<Table>);

impl Registry {
    pub(super) fn read(&self) -> RwLockReadGuard<'_, Table> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, Table> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, target: &Target) -> Option<(Arc<Handler>, Reentry)> {
        let table = self.read();
        let entry = |tag: &u64| usize::try_from(*tag).ok().and_then(|at| table.entries.get(at));
        match target {
            Target::Tool(tag) | Target::Resource(tag) | Target::Prompt(tag) | Target::Template { tag, .. } => {
                entry(tag).map(|entry| (Arc::clone(&entry.handler), entry.reentry))
            }
            Target::Complete { tag, argument, .. } => {
                let completions = &entry(tag)?.completions;
                let found = completions.iter().find(|(name, _)| name == argument);
                // A completion asks nobody.
                found.map(|(_, handler)| (Arc::clone(handler), Reentry::default()))
            }
            _ => table.delegate.clone().map(|handler| (handler, table.delegate_reentry)),
        }
    }
}

/// What the runtime calls.
pub(super) struct CHost {
    pub(super) registry: Arc<Registry>,
    pub(super) waiting: Arc<Waiting>,
}

impl Host for CHost {
    fn run(&self, endpoint: &Arc<Endpoint>, queue: &CallQueue) {
        while let Some(request) = queue.next() {
            match self.registry.find(&request.target) {
                Some((handler, reentry)) => {
                    let (endpoint, waiting) = (Arc::clone(endpoint), Arc::clone(&self.waiting));
                    let line = Line::Served { endpoint, waiting, reentry };
                    handler.run(&Arc::new(Call::new(request, line)));
                }
                None => refuse(endpoint, &request),
            }
        }
    }

    fn notice(&self, _endpoint: &Arc<Endpoint>, event: Event) {
        match event {
            Event::Response { key, outcome } => self.waiting.answered(key, outcome),
            Event::Notification { method, params, .. } => {
                let listener = self.registry.read().listeners.get(&method).cloned();
                if let Some(listener) = listener {
                    listener.tell(params.as_deref());
                }
            }
            // Handlers ask whether they are cancelled; nothing else concerns them.
            _ => {}
        }
    }
}

/// Answers a call that no handler serves. Where that fails the client is gone.
fn refuse(endpoint: &Endpoint, request: &engine::Call) {
    let _ = match request.target {
        // An argument that nobody completes has no suggestions.
        Target::Complete { .. } => {
            endpoint.respond(request.key, Reply::Completion { values: "[]", total: None, has_more: None })
        }
        _ => endpoint.fail(request.key, &PeerError::method_not_found(request.method())),
    };
}
