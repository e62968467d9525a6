//! The changes of a task, and the rules for them.

use super::JsonText;
use super::record::{InputState, TaskInput, TaskOutcome, TaskRecord, TaskStatus};
use std::collections::HashSet;

/// What may be asked of a task. A task that has ended refuses all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskChange {
    /// Says something else, or nothing, of the status.
    Message(Option<String>),
    /// Asks the client: keys, each with `{"method":..., "params":...}`. Refused as a whole when one of the keys was ever
    /// used before (extension, "Task Update Requests").
    Ask(Vec<(String, JsonText)>),
    /// The client answers: keys, each with the result object. Answers to what is not outstanding are ignored.
    Answer(Vec<(String, JsonText)>),
    /// The owner has fetched these answers; they are not kept any longer. Other keys are ignored.
    Take(Vec<String>),
    /// There is a result.
    Complete {
        /// The result object, in the newest revision's form.
        result: JsonText,
        /// What a person may be told. What was said before is over.
        message: Option<String>,
    },
    /// The request ended with a JSON-RPC error.
    Fail {
        /// The error object.
        error: JsonText,
        /// What a person may be told. What was said before is over.
        message: Option<String>,
    },
    /// It is stopped, from now on.
    Cancel {
        /// What a person may be told. What was said before is over.
        message: Option<String>,
    },
    /// The client wants it stopped; the owner decides when and whether.
    RequestCancel,
    /// The owner is alive, and will be heard of until then. An earlier time than before is ignored, and so is a task that
    /// has no lease.
    ExtendLease {
        /// UNIX milliseconds.
        until_ms: u64,
    },
}

/// What became of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied {
    /// The record is another one now.
    Changed,
    /// There was nothing to change.
    Unchanged,
    /// It is not allowed. The record is as it was.
    Refused(Refusal),
}

/// Why a change is not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The task has ended, in this status.
    Ended(TaskStatus),
    /// This key was used before.
    KeyUsed(String),
}

/// Changes a record, if the change is allowed. It looks at nothing else, so every store comes to the same result.
pub fn apply(record: &mut TaskRecord, change: &TaskChange, now_ms: u64) -> Applied {
    let before = record.status();
    if before.is_terminal() {
        return Applied::Refused(Refusal::Ended(before));
    }
    let (changed, visible) = match change {
        TaskChange::Message(message) => {
            let changed = record.status_message != *message;
            record.status_message.clone_from(message);
            (changed, true)
        }
        TaskChange::Ask(requests) => match ask(record, requests) {
            Ok(()) => (!requests.is_empty(), true),
            Err(refusal) => return Applied::Refused(refusal),
        },
        TaskChange::Answer(responses) => (answer(record, responses), true),
        TaskChange::Take(keys) => (take(record, keys), false),
        TaskChange::Complete { result, message } => {
            end(record, TaskOutcome::Completed(result.clone()), message.as_ref());
            (true, true)
        }
        TaskChange::Fail { error, message } => {
            end(record, TaskOutcome::Failed(error.clone()), message.as_ref());
            (true, true)
        }
        TaskChange::Cancel { message } => {
            end(record, TaskOutcome::Cancelled, message.as_ref());
            (true, true)
        }
        TaskChange::RequestCancel => (!std::mem::replace(&mut record.cancel_requested, true), false),
        TaskChange::ExtendLease { until_ms } => {
            let longer = record.lease_until_ms.is_some_and(|until| until < *until_ms);
            if longer {
                record.lease_until_ms = Some(*until_ms);
            }
            (longer, false)
        }
    };
    if !changed {
        return Applied::Unchanged;
    }
    debug_assert!(before == record.status() || before.may_become(record.status()));
    record.version += 1;
    if visible {
        // The clock of another machine may be behind.
        record.updated_ms = record.updated_ms.max(now_ms);
    }
    Applied::Changed
}

/// Adds outstanding requests, all or none.
fn ask(record: &mut TaskRecord, requests: &[(String, JsonText)]) -> Result<(), Refusal> {
    let mut used: HashSet<&str> = record.inputs.iter().map(|input| &*input.key).collect();
    if let Some((key, _)) = requests.iter().find(|(key, _)| !used.insert(key)) {
        return Err(Refusal::KeyUsed(key.clone()));
    }
    for (key, request) in requests {
        record.inputs.push(TaskInput { key: key.clone(), state: InputState::Asked(request.clone()) });
    }
    Ok(())
}

/// Takes the responses whose keys are outstanding; the first one, where a key is there twice.
fn answer(record: &mut TaskRecord, responses: &[(String, JsonText)]) -> bool {
    let mut taken = false;
    for (key, response) in responses {
        if let Some(input) = record.inputs.iter_mut().find(|input| input.key == *key)
            && matches!(input.state, InputState::Asked(_))
        {
            input.state = InputState::Answered(response.clone());
            taken = true;
        }
    }
    taken
}

/// Forgets answers that were fetched.
fn take(record: &mut TaskRecord, keys: &[String]) -> bool {
    let mut taken = false;
    for input in &mut record.inputs {
        if matches!(input.state, InputState::Answered(_)) && keys.contains(&input.key) {
            input.state = InputState::Spent;
            taken = true;
        }
    }
    taken
}

/// Ends the task. What was asked and answered is of no use to anybody then, and may be confidential.
fn end(record: &mut TaskRecord, outcome: TaskOutcome, message: Option<&String>) {
    record.outcome = Some(outcome);
    // What was said of its progress is over, and would hide what went wrong.
    record.status_message = message.cloned();
    for input in &mut record.inputs {
        input.state = InputState::Spent;
    }
}
