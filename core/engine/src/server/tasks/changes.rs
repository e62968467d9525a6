//! What tasks that run here want of the store: it is done in their order, and what could not be done is tried again.
//!
//! One change of a task is on its way at a time. A store that is away for a while so loses nothing and confuses nothing: a
//! question never comes behind its answer, nor news behind the end.

use super::super::event::{Millis, StreamId};
use super::super::{DiagnosticKind, Server};
use super::Pending;
use crate::tasks::{Party, StoreOutcome, StoreRequest, TaskChange};
use std::collections::{BTreeSet, HashMap, VecDeque};

/// Milliseconds after which a store that could not do what a running task needs is asked again. 1,000: it is not flooded,
/// and a restart of it goes unnoticed.
const STORE_RETRY_MS: u64 = 1_000;

/// What is not done yet.
#[derive(Default)]
pub(super) struct Changes {
    /// By task.
    queues: HashMap<String, Queue>,
    /// Tasks whose first change could not be made, and when it is tried again.
    again: BTreeSet<(Millis, String)>,
}

/// The changes of one task, oldest first. The first one is on its way, or waits to be tried again.
struct Queue {
    stream: StreamId,
    requests: VecDeque<StoreRequest>,
}

impl Changes {
    pub(super) fn due(&self) -> Option<Millis> {
        self.again.first().map(|(at, _)| *at)
    }

    /// Whether anything is left that tasks of this stream want.
    pub(super) fn has_some_of(&self, stream: StreamId) -> bool {
        self.queues.values().any(|queue| queue.stream == stream)
    }
}

impl Server {
    /// Has a task changed by its owner.
    pub(super) fn change_own(&mut self, stream: StreamId, id: &str, change: TaskChange) {
        self.change(stream, id, StoreRequest::Change { id: id.to_owned(), party: Party::Owner, change });
    }

    /// Has something done to a task, behind what is to be done to it already.
    pub(super) fn change(&mut self, stream: StreamId, id: &str, request: StoreRequest) {
        match self.tasks.changes.queues.get_mut(id) {
            Some(queue) => {
                // Of the first it is not known whether the store has seen it.
                let last = queue.requests.iter_mut().skip(1).next_back();
                match last.filter(|last| replaces(&request, last)) {
                    Some(last) => *last = request,
                    None => queue.requests.push_back(request),
                }
            }
            None => {
                let queue = Queue { stream, requests: VecDeque::from([request]) };
                self.tasks.changes.queues.insert(id.to_owned(), queue);
                self.change_next(id);
            }
        }
    }

    fn change_next(&mut self, id: &str) {
        let Some(request) = self.tasks.changes.queues.get(id).and_then(|queue| queue.requests.front()) else { return };
        self.store(request.clone(), Pending::Change { id: id.to_owned() });
    }

    /// The store has made the first change of a task, or could not.
    pub(super) fn change_done(&mut self, id: &str, outcome: StoreOutcome, now: Millis) {
        let record = match outcome {
            StoreOutcome::Failed(error) => {
                self.tasks.changes.again.insert((now.saturating_add(STORE_RETRY_MS), id.to_owned()));
                return self.diagnose(None, DiagnosticKind::Store, error.to_string());
            }
            StoreOutcome::Changed(Some((_, record))) => Some(record),
            // The task is gone: its time was over, or it was removed.
            _ => None,
        };
        let Some(queue) = self.tasks.changes.queues.get_mut(id) else { return };
        let stream = queue.stream;
        queue.requests.pop_front();
        if record.is_none() || queue.requests.is_empty() {
            self.tasks.changes.queues.remove(id);
        } else {
            self.change_next(id);
        }
        match record {
            Some(record) => self.task_touched(&record, now),
            None => self.task_lost(id),
        }
        self.check_drained(stream);
    }

    /// Tries again what could not be done.
    pub(super) fn change_again(&mut self, now: Millis) {
        while let Some((at, _)) = self.tasks.changes.again.first()
            && *at <= now
            && let Some((_, id)) = self.tasks.changes.again.pop_first()
        {
            self.change_next(&id);
        }
    }
}

/// Whether a change makes the one before it needless.
fn replaces(request: &StoreRequest, last: &StoreRequest) -> bool {
    let (StoreRequest::Change { change: request, .. }, StoreRequest::Change { change: last, .. }) = (request, last)
    else {
        return false;
    };
    matches!(
        (request, last),
        (TaskChange::Message(_), TaskChange::Message(_))
            | (TaskChange::ExtendLease { .. }, TaskChange::ExtendLease { .. })
    )
}
