//! Tasks: calls whose answer is fetched later (extension `io.modelcontextprotocol/tasks`; 2025-11-25
//! `basic/utilities/tasks`).
//!
//! Where tasks are kept is the caller's business: what has to be done there leaves as [`Event::Store`], and
//! [`Server::stored`] brings the outcome. What was asked for with it waits in [`Pending`] meanwhile.
//!
//! A task is a call of host code like any other, whose record has a [`Run`]: its request was answered with the task, and
//! what it says goes to the store. [`methods`] serves what clients ask of tasks, [`run`] what running tasks say, [`changes`]
//! brings that to the store in its order, [`follow`] tells those who wait for a task or have subscribed to it.

mod changes;
mod config;
mod follow;
mod methods;
mod run;

pub(super) use config::TaskSupport;
pub use config::TasksConfig;
use follow::Following;
pub(super) use methods::with_related;
pub(super) use run::Run;

use super::Server;
use super::event::{Call, Event, Millis, RequestKey, StreamId};
use super::inflight::After;
use super::rounds::Resumption;
use super::state::Ticket;
use crate::error::{LocalError, PeerError};
use crate::jsonrpc::write;
use crate::tasks::{StoreOutcome, StoreRequest, TaskRecord};
use crate::wire::method::{Method, Needs};
use changes::Changes;
use std::collections::{BTreeMap, HashMap};

/// The extension's name, in capabilities and errors (extension, "Extension Identifier").
pub(super) const EXTENSION: &str = "io.modelcontextprotocol/tasks";
/// Where a client declares it.
pub(super) const CAPABILITY: &str = "extensions.io.modelcontextprotocol/tasks";

/// Names something that is asked of the store. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StoreKey(pub u64);

/// All that the server has to do with tasks.
#[derive(Default)]
pub(super) struct Tasks {
    next_op: u64,
    pending: HashMap<StoreKey, Pending>,
    changes: Changes,
    /// What running tasks say of their progress, when it is noted.
    notes: BTreeMap<(Millis, u64), RequestKey>,
    /// The tasks that run here, by id.
    pub(super) running: HashMap<String, RequestKey>,
    /// When the leases of those are to be extended next.
    pub(super) lease_due: Option<Millis>,
    pub(super) following: Following,
}

/// What waits for an outcome of the store.
pub(super) enum Pending {
    /// A call becomes a task: it is answered with it, and goes on, or begins.
    Create { key: RequestKey, stream: StreamId, record: Box<TaskRecord>, call: Option<Box<Call>> },
    /// A request of a client.
    Request { key: RequestKey, kind: methods::Kind },
    /// What a task that runs or ran here needs.
    Change { id: String },
    /// Somebody here follows the task.
    Follow { id: String, principal: Option<String> },
    /// A retry is served if no other process has opened its state.
    Spend { key: RequestKey, ticket: Ticket, resumption: Box<Resumption> },
    /// A subscription is opened when its tasks have been looked for.
    Listen { key: RequestKey, id: String },
}

impl Server {
    /// The store has done what an [`Event::Store`] asked for, or could not.
    pub fn stored(&mut self, op: StoreKey, outcome: StoreOutcome, now: Millis) {
        let Some(pending) = self.tasks.pending.remove(&op) else { return };
        match pending {
            Pending::Create { key, stream, record, call } => {
                self.task_created(key, stream, *record, call, &outcome, now);
            }
            Pending::Request { key, kind } => self.task_request_done(key, kind, outcome, now),
            Pending::Change { id } => self.change_done(&id, outcome, now),
            Pending::Follow { id, principal } => self.followed(&id, principal, outcome, now),
            Pending::Spend { key, ticket, resumption } => self.state_spent(key, &ticket, resumption, &outcome, now),
            Pending::Listen { key, id } => self.listened(key, &id, outcome, now),
        }
    }

    /// A task was changed by another process, as the store tells.
    pub fn task_touched(&mut self, record: &TaskRecord, now: Millis) {
        self.task_news(record);
        self.tell_followers(record, now);
    }

    pub(super) fn store(&mut self, request: StoreRequest, pending: Pending) {
        let op = StoreKey(self.tasks.next_op);
        self.tasks.next_op += 1;
        self.tasks.pending.insert(op, pending);
        self.event(Event::Store { op, request });
    }

    /// When something is due that concerns tasks.
    pub(super) fn tasks_due(&self) -> Option<Millis> {
        let note = self.tasks.notes.keys().next().map(|(at, _)| *at);
        let due = [self.tasks.changes.due(), note, self.tasks.lease_due, self.tasks.following.due()];
        due.into_iter().flatten().min()
    }

    /// Does what is due.
    pub(super) fn tasks_tick(&mut self, now: Millis) {
        self.change_again(now);
        self.note_waiting(now);
        if self.tasks.lease_due.is_some_and(|due| due <= now) {
            self.extend_leases(now);
        }
        self.look_after_followed(now);
    }

    /// Says by which name this process is known to the store, and whether the store learns from leases alone that it lives
    /// (`tasks.leaseMs`). Without a name the store is this server's alone.
    pub fn set_task_owner(&mut self, owner: &str, leases: bool) {
        self.config.tasks.owner = owner.to_owned();
        if !leases {
            self.config.tasks.lease_ms = 0;
        }
    }

    /// Whether tasks of a stream run here, or are not stored as they are.
    pub(super) fn has_tasks_of(&self, stream: StreamId) -> bool {
        let runs = |key: &RequestKey| self.requests.get(*key).is_some_and(|entry| entry.stream == stream);
        self.tasks.running.values().any(runs) || self.tasks.changes.has_some_of(stream)
    }

    /// How many tasks run here.
    pub fn running_tasks(&self) -> usize {
        self.tasks.running.len()
    }

    /// Turns a running call into a task: its request is answered with the task as soon as that is kept, and the call goes
    /// on; [`Event::TaskBegun`] tells. What has to be asked of the client first is best asked before (extension, "Task
    /// Creation": SHOULD). False: its client can't take a task for an answer (it has not declared the extension, or belongs
    /// to an era where the client decides), the server does not offer tasks (no tool may run as one, and the extension is not
    /// declared), or the call is over, held, or a task already.
    ///
    /// # Errors
    /// [`LocalError::NoEntropy`], [`LocalError::Limit`].
    pub fn begin_task(&mut self, call: RequestKey, now: Millis) -> Result<bool, LocalError> {
        let Some(record) = self.requests.get(call) else { return Ok(false) };
        let takes = self.offers(Needs::Tasks)
            && record.revision.is_modern()
            && declares_tasks(record.capabilities().unwrap_or("{}"));
        let is_tool = record.method.known() == Some(Method::ToolsCall);
        let begins = |pending: &Pending| matches!(pending, Pending::Create { key, .. } if *key == call);
        if !takes || !is_tool || record.is_held() || record.run.is_some() || self.tasks.pending.values().any(begins) {
            return Ok(false);
        }
        self.create_task(call, None, None, now)?;
        Ok(true)
    }

    /// Has a task created for a call; `call` is given to host code when it is there.
    pub(super) fn create_task(
        &mut self,
        key: RequestKey,
        call: Option<Box<Call>>,
        wanted_ttl_ms: Option<u64>,
        now: Millis,
    ) -> Result<(), LocalError> {
        let Some(stream) = self.requests.get(key).map(|entry| entry.stream) else { return Ok(()) };
        if self.tasks_of_requestor(stream) >= self.config.limits.max_tasks {
            return Err(LocalError::Limit("maxTasks"));
        }
        let mut random = [0; 16];
        self.entropy()?.fill(&mut random);
        let unix = self.unix(now);
        let Some(entry) = self.requests.get(key) else { return Ok(()) };
        let config = &self.config.tasks;
        let tool = entry.tool.as_ref().map(|tool| tool.name.as_str()).unwrap_or_default();
        let id = crate::tasks::task_id(random);
        let mut record = TaskRecord::new(id, entry.method.as_str(), tool, &config.owner, unix);
        record.principal = self.streams.get(&stream).and_then(|stream| stream.principal.clone());
        // Shorter than the time between two looks nobody would find it.
        let ttl_ms = wanted_ttl_ms.map_or(config.ttl_ms, |wanted| wanted.max(config.poll_ms));
        record.ttl_ms = Some(ttl_ms.min(config.max_ttl_ms));
        record.poll_ms = Some(config.poll_ms);
        record.lease_until_ms = (config.lease_ms > 0).then(|| unix.saturating_add(config.lease_ms));
        if let Some(entry) = self.requests.get_mut(key).filter(|_| call.is_some()) {
            // Host code does not know of it yet.
            entry.after = After::Engine;
        }
        let record = Box::new(record);
        self.store(StoreRequest::Create(record.clone()), Pending::Create { key, stream, record, call });
        Ok(())
    }

    /// The tasks of one requestor that run here or are about to: of a stream, or of all that belong to its principal
    /// (2025-11-25, "Resource Management": SHOULD).
    fn tasks_of_requestor(&self, stream: StreamId) -> usize {
        let principal = self.streams.get(&stream).and_then(|stream| stream.principal.as_deref());
        let is_same = |of: StreamId, whose: Option<&str>| of == stream || principal.is_some() && whose == principal;
        let entries = self.tasks.running.values().filter_map(|key| self.requests.get(*key));
        let runs =
            entries.filter(|entry| is_same(entry.stream, entry.run.as_ref().and_then(|run| run.principal.as_deref())));
        let begins = self.tasks.pending.values().filter(|pending| {
            matches!(pending, Pending::Create { stream, record, .. } if is_same(*stream, record.principal.as_deref()))
        });
        runs.count() + begins.count()
    }

    /// The task is kept, so its request can be answered with it (extension, "Task Creation": MUST NOT before).
    fn task_created(
        &mut self,
        key: RequestKey,
        stream: StreamId,
        record: TaskRecord,
        call: Option<Box<Call>>,
        outcome: &StoreOutcome,
        now: Millis,
    ) {
        let Some(entry) = self.requests.get_mut(key).filter(|entry| !entry.is_held()) else {
            // The request is answered, or cancelled: its client never hears of the task.
            let id = record.id;
            self.change(stream, &id, StoreRequest::Remove { id: id.clone() });
            if call.is_none() {
                self.event(Event::TaskBegun { call: key, id: None });
            }
            return;
        };
        let (id, revision, via) = (entry.id.clone(), entry.revision, entry.via);
        if let StoreOutcome::Failed(error) = outcome {
            let error = PeerError::internal(format!("The task could not be created: {error}"));
            if call.is_some() {
                self.settle(key);
                self.send_error(stream, via, Some(&id), &error);
                self.check_drained(stream);
            } else {
                // Host code runs: it goes on without a task.
                self.diagnose(Some(stream), super::DiagnosticKind::Store, error.message);
                self.event(Event::TaskBegun { call: key, id: None });
            }
            return;
        }
        entry.run = Some(Box::new(Run::new(&record)));
        entry.after = After::Nothing;
        self.detach_task(key, &record, now);
        if !revision.is_modern() {
            self.follow_as_creator(stream, revision, &record);
        }
        self.tasks.running.insert(record.id.clone(), key);
        if self.config.tasks.lease_ms > 0 {
            self.tasks.lease_due.get_or_insert(now.saturating_add(self.config.tasks.lease_ms / 3));
        }
        let stamp = std::sync::Arc::clone(&self.stamp);
        self.send_answer(stream, via, |out| {
            write::open_result(out, &id);
            if revision.is_modern() {
                out.push_str(r#"{"resultType":"task","#);
                record.write_task(out, revision);
            } else {
                out.push_str(r#"{"task":{"#);
                record.write_task(out, revision);
                out.push('}');
            }
            stamp.close(out, None, revision);
            out.push_str("}}");
        });
        self.event(match call {
            Some(call) => Event::Call(*call),
            None => Event::TaskBegun { call: key, id: Some(record.id) },
        });
    }
}

/// Whether a modern client takes tasks for answers.
pub(super) fn declares_tasks(capabilities: &str) -> bool {
    use crate::jsonrpc::scan;
    matches!(scan::pick(capabilities, ["extensions"]), Ok([Some(extensions)]) if is_among(extensions))
}

/// Whether an object of extensions has this one.
pub(super) fn is_among(extensions: &str) -> bool {
    use crate::jsonrpc::scan;
    matches!(scan::pick(extensions, [EXTENSION]), Ok([Some(value)]) if scan::is_object(value))
}

/// -32602, for a task that is not there, or not for this client.
pub(super) fn unknown_task() -> PeerError {
    PeerError::invalid_params("Task not found")
}
