//! Who is told of a task: those who wait for its result, those who have subscribed to it, and the legacy connection that
//! asked for it.
//!
//! What happens to a task in this process is known at once. A task that runs elsewhere is looked up now and then, as long
//! as somebody here follows it.

use super::super::event::{Millis, RequestKey, StreamId};
use super::super::listen::Wanted;
use super::super::stream::Via;
use super::super::{DiagnosticKind, Server};
use super::{Pending, unknown_task};
use crate::error::PeerError;
use crate::tasks::{Party, StoreOutcome, StoreRequest, TaskRecord};
use crate::wire::Revision;
use crate::wire::meta::SUBSCRIPTION_ID;
use std::collections::{HashMap, HashSet};

/// Who follows which task.
#[derive(Default)]
pub(in super::super) struct Following {
    /// Requests of `tasks/result`, by task.
    waiting: HashMap<String, Vec<RequestKey>>,
    /// Legacy connections that asked for a task, and what they were told of it last.
    creators: HashMap<String, Creator>,
    /// Tasks that run elsewhere: whose, and when they are looked up next.
    elsewhere: HashMap<String, (Option<String>, Millis)>,
    /// Subscriptions that are opened when their tasks were looked for.
    opening: HashMap<RequestKey, Opening>,
}

/// A legacy connection that asked for a task.
struct Creator {
    stream: StreamId,
    revision: Revision,
    /// What it was told of the task last.
    told: String,
}

struct Opening {
    wanted: Wanted,
    missing: HashSet<String>,
    found: Vec<TaskRecord>,
}

impl Following {
    pub(super) fn due(&self) -> Option<Millis> {
        self.elsewhere.values().map(|(_, due)| *due).min()
    }

    /// Forgets a subscription that is not open yet. False: there is none.
    pub(in super::super) fn give_up(&mut self, key: RequestKey) -> bool {
        self.opening.remove(&key).is_some()
    }

    /// The requests for subscriptions that are not open yet.
    pub(in super::super) fn opening(&self) -> impl Iterator<Item = RequestKey> {
        self.opening.keys().copied()
    }
}

impl Server {
    /// A legacy connection has asked for a task: it hears how that goes (2025-11-25, "Task Status Notification").
    pub(super) fn follow_as_creator(&mut self, stream: StreamId, revision: Revision, record: &TaskRecord) {
        let mut told = String::new();
        record.write_task(&mut told, revision);
        self.tasks.following.creators.insert(record.id.clone(), Creator { stream, revision, told });
    }

    /// `tasks/result` of a task that goes on (2025-11-25, "Result Retrieval": MUST block).
    pub(super) fn wait_for(&mut self, key: RequestKey, record: &TaskRecord, now: Millis) {
        let waiting = self.tasks.following.waiting.entry(record.id.clone()).or_default();
        // The others may have been cancelled.
        waiting.retain(|key| self.requests.get(*key).is_some());
        waiting.push(key);
        // It takes as long as the task, not as long as a call may.
        if let Some(deadline) = self.requests.get_mut(key).and_then(|entry| entry.deadline.take()) {
            self.forget_deadline(key, Some(deadline));
        }
        self.look_up_later(record, now);
    }

    fn look_up_later(&mut self, record: &TaskRecord, now: Millis) {
        if !self.tasks.running.contains_key(&record.id) && !record.status().is_terminal() {
            let due = now.saturating_add(self.config.tasks.poll_ms);
            self.tasks.following.elsewhere.insert(record.id.clone(), (record.principal.clone(), due));
        }
    }

    /// Tells everybody who follows a task how it is now.
    pub(super) fn tell_followers(&mut self, record: &TaskRecord, now: Millis) {
        let ended = record.status().is_terminal();
        if ended {
            self.tasks.following.elsewhere.remove(&record.id);
            for key in self.tasks.following.waiting.remove(&record.id).unwrap_or_default() {
                self.answer_result(key, record);
            }
        } else if self.tasks.following.elsewhere.contains_key(&record.id) {
            self.look_up_later(record, now);
        }
        self.tell_creator(record, ended);
        self.tell_subscribers(record);
        let opening = self.tasks.following.opening.values_mut().flat_map(|opening| &mut opening.found);
        for found in opening.filter(|found| found.id == record.id && found.version < record.version) {
            found.clone_from(record);
        }
    }

    fn tell_creator(&mut self, record: &TaskRecord, ended: bool) {
        let Some(creator) = self.tasks.following.creators.get_mut(&record.id) else { return };
        let stream = creator.stream;
        let mut text = String::new();
        record.write_task(&mut text, creator.revision);
        let is_news = creator.told != text;
        creator.told.clone_from(&text);
        if ended {
            self.tasks.following.creators.remove(&record.id);
        }
        if is_news && self.streams.get(&stream).is_some_and(|stream| stream.legacy.is_some()) {
            self.send_notification(stream, Via::default(), "notifications/tasks/status", Some(&format!("{{{text}}}")));
        }
    }

    fn tell_subscribers(&mut self, record: &TaskRecord) {
        let mut messages = Vec::new();
        for stream in self.streams.values_mut().filter(|stream| stream.principal == record.principal) {
            for open in &mut stream.subscriptions {
                let Some(told) = open.tasks.get_mut(&record.id) else { continue };
                let mut text = String::new();
                record.write_detailed_task(&mut text, open.revision);
                if *told != text {
                    messages.push((
                        stream.id,
                        open.via,
                        format!(r#"{{"_meta":{{"{SUBSCRIPTION_ID}":{}}},{text}}}"#, open.id),
                    ));
                    *told = text;
                }
            }
        }
        for (stream, via, params) in messages {
            self.send_notification(stream, via, "notifications/tasks", Some(&params));
        }
    }

    /// Looks up the tasks of other processes that somebody here follows.
    pub(super) fn look_after_followed(&mut self, now: Millis) {
        let due = self.tasks.following.elsewhere.iter().filter(|(_, (_, due))| *due <= now);
        let mut due: Vec<_> = due.map(|(id, (principal, _))| (id.clone(), principal.clone())).collect();
        due.sort_unstable();
        for (id, principal) in due {
            self.tasks.following.elsewhere.remove(&id);
            if self.is_followed(&id) {
                let party = Party::Client { principal: principal.clone() };
                self.store(StoreRequest::Get { id: id.clone(), party }, Pending::Follow { id, principal });
            }
        }
    }

    fn is_followed(&self, id: &str) -> bool {
        let waits = self.tasks.following.waiting.get(id);
        waits.is_some_and(|keys| keys.iter().any(|key| self.requests.get(*key).is_some()))
            || self.streams.values().any(|stream| stream.subscriptions.iter().any(|open| open.tasks.contains_key(id)))
    }

    /// A task of another process was looked up.
    pub(super) fn followed(&mut self, id: &str, principal: Option<String>, outcome: StoreOutcome, now: Millis) {
        match outcome {
            StoreOutcome::Task(Some(record)) => {
                self.look_up_later(&record, now);
                self.tell_followers(&record, now);
            }
            StoreOutcome::Failed(error) => {
                // Those who wait for the task wait for the store.
                let due = now.saturating_add(self.config.tasks.poll_ms);
                self.tasks.following.elsewhere.insert(id.to_owned(), (principal, due));
                self.diagnose(None, DiagnosticKind::Store, error.to_string());
            }
            _ => self.forget_followers(id),
        }
    }

    /// A task is no more: who waits for its end hears that.
    pub(in super::super) fn forget_followers(&mut self, id: &str) {
        self.tasks.following.elsewhere.remove(id);
        self.tasks.following.creators.remove(id);
        for key in self.tasks.following.waiting.remove(id).unwrap_or_default() {
            self.refuse_task_request(key, &unknown_task());
        }
    }

    /// Opens a subscription when it is known which of its tasks there are (extension, "Task Status Notifications").
    pub(in super::super) fn listen_to_tasks(&mut self, key: RequestKey, wanted: Wanted, tasks: Vec<String>) {
        let Some(stream) = self.requests.get(key).map(|entry| entry.stream) else { return };
        let principal = self.streams.get(&stream).and_then(|stream| stream.principal.clone());
        let missing: HashSet<_> = tasks.iter().cloned().collect();
        self.tasks.following.opening.insert(key, Opening { wanted, missing, found: Vec::new() });
        let mut asked = HashSet::new();
        for id in tasks.into_iter().filter(|id| asked.insert(id.clone())) {
            let party = Party::Client { principal: principal.clone() };
            self.store(StoreRequest::Get { id: id.clone(), party }, Pending::Listen { key, id });
        }
    }

    /// One of the tasks of a subscription was looked for.
    pub(super) fn listened(&mut self, key: RequestKey, id: &str, outcome: StoreOutcome, now: Millis) {
        let Some(opening) = self.tasks.following.opening.get_mut(&key) else { return };
        opening.missing.remove(id);
        match outcome {
            StoreOutcome::Task(Some(record)) => opening.found.push(*record),
            StoreOutcome::Failed(error) => {
                self.tasks.following.opening.remove(&key);
                let error = PeerError::internal(format!("The tasks can't be looked up: {error}"));
                return self.refuse_task_request(key, &error);
            }
            // Not for this client; it is left out of what is acknowledged.
            _ => {}
        }
        if !opening.missing.is_empty() {
            return;
        }
        let Some(Opening { wanted, found, .. }) = self.tasks.following.opening.remove(&key) else { return };
        // None: the client has cancelled it meanwhile.
        let Some(entry) = self.settle(key) else { return };
        let tasks = found.iter().map(|record| record.id.clone()).collect();
        self.open_subscription(entry.stream, entry.via, &entry.id, entry.revision, wanted, tasks);
        for record in found {
            // How it is now, whatever happened in between.
            self.tell_subscribers(&record);
            self.look_up_later(&record, now);
        }
    }
}
