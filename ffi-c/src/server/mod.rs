//! A server with handlers, and the ready-made loop: the object, and what is added to it.
//!
//! Decides which handler belongs to which definition and when the engine is handed to the loop. What C calls is in
//! [`declare`], [`enable`], [`middleware`], [`notification`], [`settings`], [`run`] and [`http`], what the loop calls in [`host`].

pub mod apps;
pub mod declare;
pub mod enable;
mod host;
pub mod http;
pub mod middleware;
pub mod notification;
mod options;
pub mod run;
pub mod settings;
pub mod waiting;

use crate::error::Error;
use crate::handler::Handler;
use ferromcp_engine::{self as engine, LocalError, Reentry, ServerConfig, StateKey};
use host::{Entry, Kind, Registry};
use runtime::middleware::policy::Policy;
use runtime::{Endpoint, Serving, TaskStoreOption};
use serde::Deserialize;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use waiting::Waiting;

/// A server with handlers. See "Servers" at the top of this file. Its functions may be called from any thread and from
/// handlers.
pub struct Server {
    phase: Mutex<Phase>,
    registry: Arc<Registry>,
    waiting: Arc<Waiting>,
    /// What is listened on, once that was asked for.
    address: OnceLock<String>,
}

/// Where a server is in its life.
enum Phase {
    Declared(Box<Declared>),
    Serving(Arc<Serving>),
    /// It could not be started.
    Failed,
}

/// A server before it serves. What it is made of is kept, because a capability that comes later needs a new engine.
struct Declared {
    config: ServerConfig,
    engine: engine::Server,
    definitions: Vec<Definition>,
    completes: bool,
    /// Declared beside those of the configuration.
    extensions: Vec<String>,
    task_store: TaskStoreOption,
    policy: Option<Policy>,
}

/// What was given to the engine, for another one.
struct Definition {
    kind: Kind,
    text: String,
    tag: u64,
    enabled: bool,
}

impl Server {
    fn new(config: ServerConfig) -> Result<Self, Error> {
        let engine = engine::Server::new(config.clone())?;
        let declared = Declared {
            config,
            engine,
            definitions: Vec::new(),
            completes: false,
            extensions: Vec::new(),
            task_store: TaskStoreOption::Memory,
            policy: None,
        };
        Ok(Self {
            phase: Mutex::new(Phase::Declared(Box::new(declared))),
            registry: Arc::default(),
            waiting: Arc::default(),
            address: OnceLock::new(),
        })
    }

    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a definition and its handler. On failure the handler's user data stays the caller's.
    fn add(&self, kind: Kind, definition: &str, mut handler: Handler) -> Result<(), Error> {
        let mut phase = self.phase();
        let key = key_of(definition);
        let tag = self.registry.read().entries.len() as u64;
        let entry = |handler| {
            let (handler, reentry) = (Arc::new(handler), Reentry::default());
            Entry { kind, key, handler, reentry, completions: Vec::new() }
        };
        match &mut *phase {
            Phase::Declared(declared) => {
                if let Err(error) = define(&mut declared.engine, kind, definition, tag, 0) {
                    handler.user_data.give_back();
                    return Err(error.into());
                }
                declared.definitions.push(Definition { kind, text: definition.to_owned(), tag, enabled: true });
                self.registry.write().entries.push(entry(handler));
                Ok(())
            }
            Phase::Serving(serving) => {
                // The handler goes first: a client may call what it hears of at once.
                self.registry.write().entries.push(entry(handler));
                let endpoint = serving.endpoint();
                let now = endpoint.now();
                let added = endpoint.with_engine(|server| define(server, kind, definition, tag, now));
                added.map_err(Error::from).and_then(|added| added.map_err(Error::from)).inspect_err(|_| {
                    let entry = self.registry.write().entries.pop();
                    // No call can have found it, so it is not shared.
                    if let Some(mut handler) = entry.and_then(|entry| Arc::into_inner(entry.handler)) {
                        handler.user_data.give_back();
                    }
                })
            }
            Phase::Failed => {
                handler.user_data.give_back();
                Err(not_any_more())
            }
        }
    }

    /// Adds what completes an argument of a prompt, or a variable of a resource template, that was added before.
    fn add_completion(&self, of: &str, argument: &str, mut handler: Handler) -> Result<(), Error> {
        let mut phase = self.phase();
        let has = |entry: &Entry| matches!(entry.kind, Kind::Prompt | Kind::Template) && entry.key == of;
        let known = self.registry.read().entries.iter().any(has);
        let possible = match &mut *phase {
            _ if !known => Err(Error::argument(format!("no prompt or resource template is called {of:?}"))),
            Phase::Declared(declared) => declared.complete(),
            Phase::Serving(_) => Err(Error::state("completions are added before the server starts")),
            Phase::Failed => Err(not_any_more()),
        };
        if let Err(error) = possible {
            handler.user_data.give_back();
            return Err(error);
        }
        let mut table = self.registry.write();
        // Looked for above; nobody takes entries away before the server is freed.
        if let Some(entry) = table.entries.iter_mut().rfind(|entry| has(entry)) {
            entry.completions.retain(|(name, _)| name != argument);
            entry.completions.push((argument.to_owned(), Arc::new(handler)));
        }
        Ok(())
    }

    /// Declares an extension without settings, unless it is declared already.
    fn declare_extension(&self, name: &str) -> Result<(), Error> {
        match &mut *self.phase() {
            Phase::Declared(declared) if declared.extensions.iter().any(|known| known == name) => Ok(()),
            Phase::Declared(declared) => {
                declared.config.capabilities.declare_within("extensions", name, "{}");
                declared.renew()?;
                declared.extensions.push(name.to_owned());
                Ok(())
            }
            Phase::Serving(_) => Err(Error::state("extensions are declared before the server starts")),
            Phase::Failed => Err(not_any_more()),
        }
    }

    /// Says what becomes of a handler while a modern client is asked. Calls that run already stay as they are.
    fn set_reentry(&self, kind: Kind, key: &str, reentry: Reentry) -> Result<(), Error> {
        let mut table = self.registry.write();
        let entry = table.entries.iter_mut().rfind(|entry| entry.kind == kind && entry.key == key);
        let entry = entry.ok_or_else(|| Error::argument(format!("there is no {key:?} of this kind")))?;
        entry.reentry = reentry;
        Ok(())
    }

    fn set_state_keys(&self, keys: Vec<StateKey>) -> Result<(), Error> {
        self.command(|server, _| server.set_state_keys(&keys))?;
        if let Phase::Declared(declared) = &mut *self.phase() {
            declared.config.state_keys = keys;
        }
        Ok(())
    }

    /// Runs a command of the engine, wherever the engine is.
    fn command<R>(&self, body: impl FnOnce(&mut engine::Server, engine::Millis) -> R) -> Result<R, Error> {
        match &mut *self.phase() {
            Phase::Declared(declared) => Ok(body(&mut declared.engine, 0)),
            Phase::Serving(serving) => {
                let endpoint = serving.endpoint();
                let now = endpoint.now();
                Ok(endpoint.with_engine(|server| body(server, now))?)
            }
            Phase::Failed => Err(not_any_more()),
        }
    }

    /// Tells clients something, those of other processes as well. Before there are any, nobody is told.
    fn tell(&self, tell: impl FnOnce(&Endpoint) -> Result<(), runtime::Error>) -> Result<(), Error> {
        match &*self.phase() {
            Phase::Declared(_) => Ok(()),
            Phase::Serving(serving) => Ok(tell(serving.endpoint())?),
            Phase::Failed => Err(not_any_more()),
        }
    }

    fn remove(&self, kind: Kind, key: &str) -> Result<(), Error> {
        let removed = self.command(|server, now| match kind {
            Kind::Tool => server.remove_tool(key, now),
            Kind::Resource => server.remove_resource(key, now),
            Kind::Template => server.remove_resource_template(key, now),
            Kind::Prompt => server.remove_prompt(key, now),
        })?;
        if !removed {
            return Err(Error::argument(format!("there is no {key:?} to remove")));
        }
        if let Phase::Declared(declared) = &mut *self.phase() {
            declared.definitions.retain(|definition| !definition.is(kind, key));
        }
        Ok(())
    }

    /// Shows a definition to clients, or hides it.
    fn enable(&self, kind: Kind, key: &str, enabled: bool) -> Result<(), Error> {
        let found = self.command(|server, now| enable(server, kind, key, enabled, now))?;
        if !found {
            return Err(Error::argument(format!("there is no {key:?} to enable or disable")));
        }
        if let Phase::Declared(declared) = &mut *self.phase() {
            for definition in declared.definitions.iter_mut().filter(|definition| definition.is(kind, key)) {
                definition.enabled = enabled;
            }
        }
        Ok(())
    }

    /// Changes what only a server that does not run yet can be told.
    fn set(&self, change: impl FnOnce(&mut Declared)) -> Result<(), Error> {
        match &mut *self.phase() {
            Phase::Declared(declared) => {
                change(declared);
                Ok(())
            }
            Phase::Serving(_) => Err(Error::state("this is said before the server starts")),
            Phase::Failed => Err(not_any_more()),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The end of the loop first: then nothing runs but handlers that are stuck, which hold on to what they need.
        if let Phase::Serving(serving) = self.phase.get_mut().unwrap_or_else(PoisonError::into_inner) {
            // Whoever waited has been told how it ended.
            let _ = serving.stop();
        }
        self.waiting.give_up();
        let table = std::mem::take(&mut *self.registry.write());
        drop(table);
    }
}

impl Declared {
    /// Declares the capability of completions, which is not one of those that the engine declares by itself.
    fn complete(&mut self) -> Result<(), Error> {
        if self.completes {
            return Ok(());
        }
        self.config.capabilities.declare("completions", "{}");
        self.renew()?;
        self.completes = true;
        Ok(())
    }

    /// Makes the engine anew, for what has been said since.
    fn renew(&mut self) -> Result<(), Error> {
        let mut engine = engine::Server::new(self.config.clone())?;
        for definition in &self.definitions {
            define(&mut engine, definition.kind, &definition.text, definition.tag, 0)?;
            if !definition.enabled {
                enable(&mut engine, definition.kind, &key_of(&definition.text), false, 0);
            }
        }
        self.engine = engine;
        Ok(())
    }
}

impl Definition {
    fn is(&self, kind: Kind, key: &str) -> bool {
        self.kind == kind && key_of(&self.text) == key
    }
}

/// Gives the engine a definition.
fn define(
    engine: &mut engine::Server,
    kind: Kind,
    definition: &str,
    tag: u64,
    now: engine::Millis,
) -> Result<(), LocalError> {
    match kind {
        Kind::Tool => engine.add_tool(definition, tag, now),
        Kind::Resource => engine.add_resource(definition, tag, now),
        Kind::Template => engine.add_resource_template(definition, tag, now),
        Kind::Prompt => engine.add_prompt(definition, tag, now),
    }
}

/// Shows a definition, or hides it; false where there is none.
fn enable(engine: &mut engine::Server, kind: Kind, key: &str, enabled: bool, now: engine::Millis) -> bool {
    match kind {
        Kind::Tool => engine.enable_tool(key, enabled, now),
        Kind::Resource => engine.enable_resource(key, enabled, now),
        Kind::Template => engine.enable_resource_template(key, enabled, now),
        Kind::Prompt => engine.enable_prompt(key, enabled, now),
    }
}

/// What a definition is called: its URI or URI template, else its name. The engine complains where there is none.
fn key_of(definition: &str) -> String {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Named {
        name: Option<String>,
        uri: Option<String>,
        uri_template: Option<String>,
    }
    let named = serde_json::from_str::<Named>(definition).ok();
    named.and_then(|named| named.uri_template.or(named.uri).or(named.name)).unwrap_or_default()
}

fn not_any_more() -> Error {
    Error::state("this server could not be started; it can only be freed")
}
