//! What is kept of a task.

use super::change::TaskChange;
use super::{JsonText, apply};
use crate::error::{LocalError, PeerError};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where a task stands. The texts are the same in every revision that has tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskStatus {
    /// It is being worked on.
    Working,
    /// It waits for answers of the client.
    InputRequired,
    /// There is a result; it may be a tool's error.
    Completed,
    /// There is a JSON-RPC error.
    Failed,
    /// It was stopped before it ended.
    Cancelled,
}

impl TaskStatus {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Working, Self::InputRequired, Self::Completed, Self::Failed, Self::Cancelled];

    /// The text that stands for it on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::InputRequired => "input_required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Nothing follows it.
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Working | Self::InputRequired => false,
            Self::Completed | Self::Failed | Self::Cancelled => true,
        }
    }

    /// Whether a task may go from here to there (the table in the module's documentation).
    pub fn may_become(self, next: Self) -> bool {
        !self.is_terminal() && self != next
    }
}

impl fmt::Display for TaskStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a task ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TaskOutcome {
    /// The result object of the request, in the newest revision's form.
    Completed(JsonText),
    /// The JSON-RPC error object of the request.
    Failed(JsonText),
    /// It was stopped.
    Cancelled,
}

/// A request to the client, under a key that the task never uses again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskInput {
    /// The key in `inputRequests` and `inputResponses`.
    pub key: String,
    /// What has become of it.
    pub state: InputState,
}

/// What has become of a request to the client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum InputState {
    /// Outstanding: `{"method":..., "params":...}`.
    Asked(JsonText),
    /// Answered, and the answer is not fetched yet: the result object of the request.
    Answered(JsonText),
    /// Over. Nothing is kept but the key, which must not be used again.
    Spent,
}

/// All that is kept of a task. Made by [`TaskRecord::new`], changed by [`apply`] only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskRecord {
    /// Its id on the wire; see [`task_id`].
    pub id: String,
    /// Whom it belongs to, where clients are told apart. Only the same principal may see it.
    pub principal: Option<String>,
    /// The method of the request that it carries out.
    pub method: String,
    /// The tool that runs.
    pub tool: String,
    /// What a person may be told of its status.
    pub status_message: Option<String>,
    /// When it was created.
    pub created_ms: u64,
    /// When that which clients see of it last changed.
    pub updated_ms: u64,
    /// How long it is kept after its creation; None: for ever.
    pub ttl_ms: Option<u64>,
    /// How long a client should wait between two looks at it.
    pub poll_ms: Option<u64>,
    /// How it ended; None: it has not.
    pub outcome: Option<TaskOutcome>,
    /// Every request to the client that it ever made, oldest first.
    pub inputs: Vec<TaskInput>,
    /// The client wants it stopped.
    pub cancel_requested: bool,
    /// The process that runs it.
    pub owner: String,
    /// Until when its owner need not be heard of; None: the store knows by itself when the owner is gone.
    pub lease_until_ms: Option<u64>,
    /// Counts the changes. A store writes a record only over the version that it was made from.
    pub version: u64,
}

impl TaskRecord {
    /// A task that is being worked on, without end, lease or principal.
    pub fn new(id: String, method: &str, tool: &str, owner: &str, now_ms: u64) -> Self {
        Self {
            id,
            principal: None,
            method: method.to_owned(),
            tool: tool.to_owned(),
            status_message: None,
            created_ms: now_ms,
            updated_ms: now_ms,
            ttl_ms: None,
            poll_ms: None,
            outcome: None,
            inputs: Vec::new(),
            cancel_requested: false,
            owner: owner.to_owned(),
            lease_until_ms: None,
            version: 1,
        }
    }

    /// Where it stands: how it ended, or whether it waits for the client.
    pub fn status(&self) -> TaskStatus {
        match &self.outcome {
            Some(TaskOutcome::Completed(_)) => TaskStatus::Completed,
            Some(TaskOutcome::Failed(_)) => TaskStatus::Failed,
            Some(TaskOutcome::Cancelled) => TaskStatus::Cancelled,
            None if self.outstanding().next().is_some() => TaskStatus::InputRequired,
            None => TaskStatus::Working,
        }
    }

    /// The requests that wait for the client: key, and `{"method":..., "params":...}`.
    pub fn outstanding(&self) -> impl Iterator<Item = (&str, &JsonText)> {
        self.inputs.iter().filter_map(|input| match &input.state {
            InputState::Asked(request) => Some((&*input.key, request)),
            InputState::Answered(_) | InputState::Spent => None,
        })
    }

    /// The answers that wait for the task's owner: key, and the result object. [`TaskChange::Take`] fetches them.
    pub fn answers(&self) -> impl Iterator<Item = (&str, &JsonText)> {
        self.inputs.iter().filter_map(|input| match &input.state {
            InputState::Answered(response) => Some((&*input.key, response)),
            InputState::Asked(_) | InputState::Spent => None,
        })
    }

    /// From when on it need not be kept; None: never.
    pub fn expires_ms(&self) -> Option<u64> {
        self.ttl_ms.map(|ttl| self.created_ms.saturating_add(ttl))
    }

    /// Its time to live is over: it is treated as if it did not exist.
    pub fn is_expired(&self, now_ms: u64) -> bool {
        self.expires_ms().is_some_and(|at| at <= now_ms)
    }

    /// It has not ended, and its owner has not been heard of for too long.
    pub fn is_lapsed(&self, now_ms: u64) -> bool {
        self.outcome.is_none() && self.lease_until_ms.is_some_and(|until| until <= now_ms)
    }

    /// Fails it because its owner is gone. False: it had ended before.
    pub fn abandon(&mut self, now_ms: u64) -> bool {
        let version = self.version;
        let error = JsonText::error(&PeerError::internal(GONE));
        apply(self, &TaskChange::Fail { error, message: Some(GONE.to_owned()) }, now_ms);
        self.version != version
    }

    /// The text that stores keep.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("strings, numbers and JSON text can be written")
    }

    /// Reads what [`TaskRecord::to_json`] wrote.
    ///
    /// # Errors
    /// [`LocalError::NotJson`] for any other text.
    pub fn from_json(text: &str) -> Result<Self, LocalError> {
        serde_json::from_str(text).map_err(|error| LocalError::NotJson { what: "task", reason: error.to_string() })
    }
}

/// Why a task failed whose owner is gone: its `statusMessage` and the message of its error.
const GONE: &str = "the server process that ran this task is gone";

/// The id of a task, in the form of a UUID, from 16 bytes that nobody can guess. All 128 bits are the caller's: an id may be
/// all that protects a task (extension, "Security Considerations"), and nobody reads a version out of it.
pub fn task_id(random: [u8; 16]) -> String {
    use fmt::Write;
    let mut id = String::with_capacity(36);
    for (at, byte) in random.into_iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            id.push('-');
        }
        // Writing into a String can't fail.
        let _ = write!(id, "{byte:02x}");
    }
    id
}
