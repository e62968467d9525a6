//! What clients ask of tasks: `tasks/get`, `update`, `cancel`, and in 2025-11-25 `result` and `list`.

use super::super::Server;
use super::super::event::{Millis, RequestKey, StreamId};
use super::super::request::{Refusal, Request, cursor_of, text_of};
use super::super::stream::Stream;
use super::{CAPABILITY, Pending, declares_tasks, unknown_task};
use crate::error::PeerError;
use crate::jsonrpc::{scan, write};
use crate::tasks::{
    Applied, JsonText, Party, Refusal as TaskRefusal, StoreOutcome, StoreRequest, TaskChange, TaskCursor, TaskOutcome,
    TaskRecord,
};
use crate::wire::method::Method;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::sync::Arc;

/// Tasks on one page of `tasks/list`.
const PAGE: usize = 100;

/// What is done with the outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Kind {
    Get,
    Update,
    Cancel,
    Result,
    List,
}

impl Server {
    /// Serves a method of tasks.
    pub(in super::super) fn task_method(
        &mut self,
        request: &Request<'_>,
        method: Method,
        now: Millis,
    ) -> Result<(), Refusal> {
        if request.revision.is_modern() && !declares_tasks(request.client_capabilities()) {
            return Err(PeerError::missing_capability(CAPABILITY));
        }
        self.count_task_request(request.stream, now)?;
        let principal = self.streams.get(&request.stream).and_then(|stream| stream.principal.clone());
        if method == Method::TasksList {
            if !self.offers_task_list(request.stream) {
                return Err(PeerError::method_not_found(method.name()));
            }
            let after = match cursor_of(request.params.cursor)? {
                None => None,
                Some(cursor) => Some(read_cursor(&cursor).ok_or_else(|| PeerError::invalid_params("Invalid cursor"))?),
            };
            let wanted = StoreRequest::List { principal, after, limit: PAGE };
            return self.ask_store(request, method, wanted, Kind::List, now);
        }
        let [id, responses] = request.params.pick(["taskId", "inputResponses"])?;
        let id = text_of(id, "taskId")?.into_owned();
        let party = Party::Client { principal };
        let (wanted, kind) = match method {
            Method::TasksUpdate => {
                let change = TaskChange::Answer(read_responses(responses)?);
                (StoreRequest::Change { id, party, change }, Kind::Update)
            }
            Method::TasksCancel => {
                let change = TaskChange::Cancel { message: Some("The client has cancelled the task.".into()) };
                (StoreRequest::Change { id, party, change }, Kind::Cancel)
            }
            Method::TasksResult => (StoreRequest::Get { id, party }, Kind::Result),
            _ => (StoreRequest::Get { id, party }, Kind::Get),
        };
        self.ask_store(request, method, wanted, kind, now)
    }

    /// Whether a stream may see a list of tasks.
    pub(in super::super) fn offers_task_list(&self, stream: StreamId) -> bool {
        let config = &self.config.tasks;
        let knows = |stream: &Stream| stream.principal.is_some() || stream.is_private && config.owner.is_empty();
        config.list.unwrap_or_else(|| self.streams.get(&stream).is_some_and(knows))
    }

    /// Refuses one request too many (2025-11-25, "Task Isolation and Access Control": SHOULD).
    fn count_task_request(&mut self, stream: StreamId, now: Millis) -> Result<(), Refusal> {
        let most = self.config.tasks.requests_per_second;
        let Some(state) = self.streams.get_mut(&stream).filter(|_| most > 0) else { return Ok(()) };
        let (since, count) = &mut state.task_requests;
        if now.saturating_sub(*since) >= 1_000 {
            (*since, *count) = (now, 0);
        }
        *count = count.saturating_add(1);
        if *count > most {
            return Err(PeerError::internal(format!("Too many requests about tasks: {most} in a second are served")));
        }
        Ok(())
    }

    fn ask_store(
        &mut self,
        request: &Request<'_>,
        method: Method,
        wanted: StoreRequest,
        kind: Kind,
        now: Millis,
    ) -> Result<(), Refusal> {
        let key = self.book(request, method, now);
        self.store(wanted, Pending::Request { key, kind });
        Ok(())
    }

    /// The store has answered what a client's request needs.
    pub(super) fn task_request_done(&mut self, key: RequestKey, kind: Kind, outcome: StoreOutcome, now: Millis) {
        let Some(entry) = self.requests.get(key) else { return };
        let revision = entry.revision;
        let error = match outcome {
            StoreOutcome::Page(page) => {
                let mut members = String::from(r#""tasks":["#);
                for (at, task) in page.tasks.iter().enumerate() {
                    members.push_str(if at == 0 { "{" } else { ",{" });
                    task.write_task(&mut members, revision);
                    members.push('}');
                }
                members.push(']');
                if let Some(next) = page.next {
                    members.push_str(r#","nextCursor":"#);
                    write::string(&mut members, &URL_SAFE_NO_PAD.encode(next.to_string()));
                }
                return self.answer_members(key, &members);
            }
            StoreOutcome::Task(Some(record)) => {
                match kind {
                    Kind::Result if record.status().is_terminal() => self.answer_result(key, &record),
                    Kind::Result => self.wait_for(key, &record, now),
                    _ => self.answer_detailed(key, &record),
                }
                // It may have been found to be without an owner.
                return self.task_touched(&record, now);
            }
            StoreOutcome::Changed(Some((applied, record))) => {
                let done = self.changed_by_client(key, kind, &applied, &record);
                self.task_touched(&record, now);
                match done {
                    Ok(()) => return,
                    Err(error) => error,
                }
            }
            StoreOutcome::Failed(error) => PeerError::internal(format!("The task can't be looked up: {error}")),
            _ => unknown_task(),
        };
        self.refuse_task_request(key, &error);
    }

    /// Answers `tasks/update` and `tasks/cancel`.
    fn changed_by_client(
        &mut self,
        key: RequestKey,
        kind: Kind,
        applied: &Applied,
        record: &TaskRecord,
    ) -> Result<(), PeerError> {
        let Some(revision) = self.requests.get(key).map(|entry| entry.revision) else { return Ok(()) };
        if revision.is_modern() {
            // An acknowledgment, whatever it changed (extension, "Task Update Requests", "Task Cancellation").
            self.answer_members(key, "");
            return Ok(());
        }
        match applied {
            // 2025-11-25, "Task Cancellation": MUST reject.
            Applied::Refused(TaskRefusal::Ended(status)) if kind == Kind::Cancel => {
                Err(PeerError::invalid_params(format!("Cannot cancel task: already in terminal status '{status}'")))
            }
            _ => {
                self.answer_detailed(key, record);
                Ok(())
            }
        }
    }

    fn answer_detailed(&mut self, key: RequestKey, record: &TaskRecord) {
        let Some(revision) = self.requests.get(key).map(|entry| entry.revision) else { return };
        let mut members = String::new();
        record.write_detailed_task(&mut members, revision);
        self.answer_members(key, &members);
    }

    fn answer_members(&mut self, key: RequestKey, members: &str) {
        let Some(entry) = self.settle(key) else { return };
        let stamp = Arc::clone(&self.stamp);
        self.send_answer(entry.stream, entry.via, |out| {
            write::open_result(out, &entry.id);
            if members.is_empty() {
                stamp.empty(out, entry.revision);
            } else {
                out.push('{');
                stamp.open(out, entry.method.known(), entry.revision);
                out.push_str(members);
                stamp.close(out, None, entry.revision);
                out.push('}');
            }
            out.push('}');
        });
        self.check_drained(entry.stream);
    }

    pub(super) fn refuse_task_request(&mut self, key: RequestKey, error: &PeerError) {
        let Some(entry) = self.settle(key) else { return };
        self.send_error(entry.stream, entry.via, Some(&entry.id), error);
        self.check_drained(entry.stream);
    }

    /// `tasks/result` of a task that has ended: what the request itself would have been answered with (2025-11-25, "Result
    /// Retrieval": MUST), with the task's id.
    pub(super) fn answer_result(&mut self, key: RequestKey, record: &TaskRecord) {
        let result = match &record.outcome {
            Some(TaskOutcome::Completed(result)) => result,
            Some(TaskOutcome::Failed(error)) => return self.answer_failed(key, error.as_str()),
            _ => {
                let message = record.status_message.as_deref().unwrap_or("The task was cancelled");
                return self.refuse_task_request(key, &PeerError::internal(message));
            }
        };
        let Some(entry) = self.settle(key) else { return };
        let stamp = Arc::clone(&self.stamp);
        let related = with_related(result.as_str(), &record.id);
        self.send_answer(entry.stream, entry.via, |out| {
            write::open_result(out, &entry.id);
            stamp.whole(out, &related, Some(Method::ToolsCall), entry.revision);
            out.push('}');
        });
        self.check_drained(entry.stream);
    }

    fn answer_failed(&mut self, key: RequestKey, error: &str) {
        let Some(entry) = self.settle(key) else { return };
        self.send_answer(entry.stream, entry.via, |out| {
            out.push_str(r#"{"jsonrpc":"2.0","id":"#);
            out.push_str(&entry.id);
            out.push_str(r#","error":"#);
            write::raw(out, error);
            out.push('}');
        });
        self.check_drained(entry.stream);
    }
}

/// An object with the task's id in its `_meta` (2025-11-25, "Associating Task-Related Messages": MUST).
pub(in super::super) fn with_related(object: &str, id: &str) -> String {
    let mut meta = String::from("{");
    let mut out = String::from("{");
    for (key, value) in scan::members(object) {
        if key == r#""_meta""# {
            for (key, value) in scan::members(value) {
                meta.push_str(&format!("{key}:{value},"));
            }
        } else {
            out.push_str(&format!("{key}:{value},"));
        }
    }
    out.push_str(r#""_meta":"#);
    out.push_str(&meta);
    out.push_str(r#""io.modelcontextprotocol/related-task":{"taskId":"#);
    write::string(&mut out, id);
    out.push_str("}}}");
    out
}

fn read_cursor(cursor: &str) -> Option<TaskCursor> {
    TaskCursor::parse(std::str::from_utf8(&URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?)
}

/// Key and result of each response.
fn read_responses(responses: Option<&str>) -> Result<Vec<(String, JsonText)>, Refusal> {
    let wrong = || PeerError::invalid_params("Invalid params: inputResponses must be an object");
    let responses = responses.filter(|responses| scan::is_object(responses)).ok_or_else(wrong)?;
    let mut read = Vec::new();
    for (key, value) in scan::members(responses) {
        // A key that is no text was never given out.
        let Some(key) = scan::plain_string(key) else { continue };
        if let Ok(value) = JsonText::new("response", value) {
            read.push((key.into_owned(), value));
        }
    }
    Ok(read)
}
