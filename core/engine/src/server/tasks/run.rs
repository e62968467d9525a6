//! What running tasks say: it goes to the store, and to the client where its era has a way for it.

use super::super::event::{Millis, Reply, RequestKey, StreamId};
use super::super::reply::asks_for_input;
use super::super::rounds::{Open, Owner, Waiting};
use super::super::{CancelReason, DiagnosticKind, OutputValidation, Server, reply};
use super::methods::with_related;
use crate::error::{LocalError, PeerError};
use crate::jsonrpc::{canonical_id, write};
use crate::tasks::{JsonText, TaskChange, TaskOutcome, TaskRecord};
use std::collections::HashSet;

/// Milliseconds between two notes of a task's progress. 250: a person sees it move, and a store of files is not kept busy.
const MESSAGE_MS: u64 = 250;

/// What makes a call a task.
#[derive(Debug)]
pub(in super::super) struct Run {
    /// The task's id.
    pub(in super::super) id: String,
    /// Whom it belongs to.
    pub(super) principal: Option<String>,
    /// Keys of questions; none is used twice (extension, "Task Update Requests": MUST).
    used: HashSet<String>,
    /// When its progress was noted last.
    noted: Option<Millis>,
    /// What it has said of its progress since then.
    note: Option<String>,
}

impl Run {
    pub(super) fn new(record: &TaskRecord) -> Self {
        let (id, principal) = (record.id.clone(), record.principal.clone());
        Self { id, principal, used: HashSet::new(), noted: None, note: None }
    }
}

impl Server {
    /// The request of a call is answered with a task: the books of its stream know it no more.
    pub(super) fn detach_task(&mut self, key: RequestKey, record: &TaskRecord, now: Millis) {
        let Some(entry) = self.requests.get_mut(key) else { return };
        // What belongs to a task does not belong to the request that is answered by now.
        let via = std::mem::take(&mut entry.via);
        let (stream, id, batch, before) = (entry.stream, entry.id.clone(), via.batch, entry.deadline);
        if entry.revision.is_modern() {
            // Neither belongs to tasks there (extension, "Task Status Notifications").
            entry.progress = None;
            entry.log_level = None;
        }
        // A task that is kept no longer has nobody to work for.
        entry.deadline = record.ttl_ms.map(|ttl| now.saturating_add(ttl));
        let deadline = entry.deadline;
        self.forget_deadline(key, before);
        if let Some(deadline) = deadline {
            self.deadlines.insert((deadline, key.0), key);
        }
        let Some(stream) = self.streams.get_mut(&stream) else { return };
        stream.in_flight.remove(&*canonical_id(&id));
        if let Some(batch) = batch.and_then(|batch| stream.batches.get_mut(&batch)) {
            batch.pending -= 1;
        }
    }

    /// Host code has answered a running task.
    pub(in super::super) fn end_run(&mut self, key: RequestKey, answer: &Reply<'_>) {
        let strict = self.config.output_validation == OutputValidation::Strict;
        let most = self.config.limits.max_completion_values;
        let Some(entry) = self.requests.get(key) else { return };
        if asks_for_input(answer) {
            // Its request is answered already; `ask` and a round by hand ask through the task.
            return self.fail_run(key, &PeerError::internal("Internal error: a task can't end by asking for input"));
        }
        let mut result = String::new();
        let checked = self.check_output(entry, answer);
        match &checked {
            Err(reason) if strict => {
                reply::write_bare(&mut result, &Reply::Text { text: reason, is_error: true }, entry, most);
            }
            _ => reply::write_bare(&mut result, answer, entry, most),
        }
        if let Err(reason) = checked {
            let detail = format!("task {}: {reason}", entry.run.as_ref().map_or("", |run| &run.id));
            self.diagnose(Some(entry.stream), DiagnosticKind::BadResult, detail);
        }
        match JsonText::new("result", &result) {
            Ok(result) => self.finish_run(key, TaskChange::Complete { result, message: None }),
            Err(error) => self.fail_run(key, &PeerError::internal(error.to_string())),
        }
    }

    /// A running task ends with a JSON-RPC error.
    pub(in super::super) fn fail_run(&mut self, key: RequestKey, error: &PeerError) {
        let Some(revision) = self.requests.get(key).map(|entry| entry.revision) else { return };
        let error = PeerError { code: revision.error_code(error.code), ..error.clone() };
        self.finish_run(key, TaskChange::Fail { error: JsonText::error(&error), message: None });
    }

    fn finish_run(&mut self, key: RequestKey, change: TaskChange) {
        let Some(entry) = self.settle(key) else { return };
        if let Some(run) = entry.run {
            self.change_own(entry.stream, &run.id, change);
        }
        self.check_drained(entry.stream);
    }

    /// A running task tells how far it is. Its client reads it with the task's status; of what comes too quickly it reads
    /// the last.
    pub(in super::super) fn note_progress(&mut self, key: RequestKey, message: Option<&str>, now: Millis) -> bool {
        let Some(run) = self.requests.get_mut(key).and_then(|entry| entry.run.as_mut()) else { return false };
        let Some(message) = message else { return false };
        let due = run.noted.map_or(now, |noted| noted.saturating_add(MESSAGE_MS));
        if run.note.replace(message.to_owned()).is_none() {
            self.tasks.notes.insert((due, key.0), key);
        }
        self.note_waiting(now);
        true
    }

    /// Notes what was said of progress, where it is time.
    pub(super) fn note_waiting(&mut self, now: Millis) {
        while let Some(((due, _), _)) = self.tasks.notes.first_key_value()
            && *due <= now
            && let Some((_, key)) = self.tasks.notes.pop_first()
        {
            let Some(entry) = self.requests.get_mut(key) else { continue };
            let stream = entry.stream;
            let Some(run) = entry.run.as_mut() else { continue };
            let Some(note) = run.note.take() else { continue };
            run.noted = Some(now);
            let id = run.id.clone();
            self.change_own(stream, &id, TaskChange::Message(Some(note)));
        }
    }

    /// A running task asks its client: a modern one finds the questions in the task, a legacy one gets requests.
    pub(in super::super) fn ask_in_task(
        &mut self,
        key: RequestKey,
        owner: Owner,
        mut questions: Vec<Open>,
        timeout_ms: Option<u64>,
        now: Millis,
    ) -> Result<(), LocalError> {
        let Some(entry) = self.requests.get_mut(key) else { return Err(LocalError::NoBackChannel) };
        let (stream, is_modern) = (entry.stream, entry.revision.is_modern());
        let Some(run) = entry.run.as_mut() else { return Err(LocalError::NoBackChannel) };
        if let Some(twice) = questions.iter().find(|open| run.used.contains(&open.key)) {
            let reason = format!("the key {:?} was used before in this task", twice.key);
            return Err(LocalError::InputRequest { method: twice.question.kind.method().to_owned(), reason });
        }
        let id = run.id.clone();
        run.used.extend(questions.iter().map(|open| open.key.clone()));
        let mut asked = Vec::new();
        for open in &mut questions {
            let mut request = String::from(r#"{"method":"#);
            write::string(&mut request, open.question.kind.method());
            if let Some(params) = &open.question.params {
                request.push_str(r#","params":"#);
                request.push_str(params);
            }
            request.push('}');
            asked.push((open.key.clone(), JsonText::new("request", &request)?));
            if !is_modern {
                open.question.params = Some(with_related(open.question.params.as_deref().unwrap_or("{}"), &id));
            }
        }
        if is_modern {
            let waiting = Waiting { owner, questions };
            if let Some(entry) = self.requests.get_mut(key) {
                entry.rounds.get_or_insert_default().waiting.push(waiting);
            }
        } else {
            self.ask_legacy(key, owner, questions, timeout_ms, now)?;
        }
        self.change_own(stream, &id, TaskChange::Ask(asked));
        Ok(())
    }

    /// A legacy client has answered a question of a running task: the task works on.
    pub(in super::super) fn answered_in_task(&mut self, call: RequestKey, key: &str, result: Option<&str>) {
        let Some(entry) = self.requests.get(call) else { return };
        let Some(run) = entry.run.as_ref() else { return };
        let (stream, id) = (entry.stream, run.id.clone());
        if let Ok(result) = JsonText::new("answer", result.unwrap_or("{}")) {
            self.change_own(stream, &id, TaskChange::Answer(vec![(key.to_owned(), result)]));
        }
        self.change_own(stream, &id, TaskChange::Take(vec![key.to_owned()]));
    }

    /// The store tells of a task: where it runs here, its call hears what concerns it.
    pub(super) fn task_news(&mut self, record: &TaskRecord) {
        let Some(key) = self.tasks.running.get(&record.id).copied() else { return };
        match record.outcome {
            Some(TaskOutcome::Cancelled) => return self.cancel_run(key, CancelReason::Peer(None)),
            // Somebody has taken this process for gone.
            Some(_) => return self.cancel_run(key, CancelReason::Closed),
            None => {}
        }
        let Some(entry) = self.requests.get_mut(key) else { return };
        let stream = entry.stream;
        let Some(rounds) = entry.rounds.as_mut() else { return };
        let mut taken = Vec::new();
        for open in rounds.waiting.iter_mut().flat_map(|waiting| &mut waiting.questions) {
            if open.outgoing.is_some() || open.answer.is_some() {
                continue;
            }
            let Some((name, answer)) = record.answers().find(|(name, _)| *name == open.key) else { continue };
            open.answer = Some(open.check(answer.as_str().to_owned()));
            taken.push(name.to_owned());
        }
        if taken.is_empty() {
            return;
        }
        self.change_own(stream, &record.id, TaskChange::Take(taken));
        self.deliver(key);
    }

    /// Nobody waits for a running task any more.
    fn cancel_run(&mut self, key: RequestKey, reason: CancelReason) {
        if let Some(entry) = self.settle(key) {
            self.tell_over(key, &entry, reason);
            self.check_drained(entry.stream);
        }
    }

    /// The store has no task of this id any more.
    pub(super) fn task_lost(&mut self, id: &str) {
        if let Some(key) = self.tasks.running.get(id).copied() {
            self.cancel_run(key, CancelReason::Closed);
        }
        self.forget_followers(id);
    }

    /// A task that runs here will not come to its end, because the server does: whoever asks for it hears of that at once.
    pub(in super::super) fn leave_run(&mut self, stream: StreamId, id: &str) {
        let error = PeerError::internal("the server ended before this task did");
        self.change_own(stream, id, TaskChange::Fail { error: JsonText::error(&error), message: None });
    }

    pub(super) fn extend_leases(&mut self, now: Millis) {
        let lease = self.config.tasks.lease_ms;
        let until_ms = self.unix(now).saturating_add(lease);
        let mut ids: Vec<_> = self.tasks.running.keys().cloned().collect();
        ids.sort_unstable();
        self.tasks.lease_due = (!ids.is_empty()).then(|| now.saturating_add(lease / 3));
        for id in ids {
            let key = self.tasks.running.get(&id).copied();
            if let Some(stream) = key.and_then(|key| self.requests.get(key)).map(|entry| entry.stream) {
                self.change_own(stream, &id, TaskChange::ExtendLease { until_ms });
            }
        }
    }
}
