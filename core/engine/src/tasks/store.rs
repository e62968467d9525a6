//! The conversation with a store of tasks, as values.

use super::change::{Applied, TaskChange, apply};
use super::record::TaskRecord;
use std::fmt;

/// On whose behalf a task is looked at or changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Party {
    /// The process that runs the task.
    Owner,
    /// A client, as far as clients are told apart. To any other principal than the task's own the task does not exist
    /// (2025-11-25 `basic/utilities/tasks`, "Task Isolation and Access Control").
    Client {
        /// None where clients can't be told apart.
        principal: Option<String>,
    },
}

/// What the engine wants of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreRequest {
    /// Keep a new task. [`StoreOutcome::Created`].
    Create(Box<TaskRecord>),
    /// Look at a task. [`StoreOutcome::Task`].
    Get {
        /// Its id.
        id: String,
        /// Who looks.
        party: Party,
    },
    /// Look at the tasks of a principal, oldest first. [`StoreOutcome::Page`].
    List {
        /// Whose tasks.
        principal: Option<String>,
        /// Where the last page ended.
        after: Option<TaskCursor>,
        /// Tasks at most, at least 1.
        limit: usize,
    },
    /// Change a task. [`StoreOutcome::Changed`].
    Change {
        /// Its id.
        id: String,
        /// Who changes it.
        party: Party,
        /// How.
        change: TaskChange,
    },
    /// Forget a task. [`StoreOutcome::Removed`].
    Remove {
        /// Its id.
        id: String,
    },
    /// Spend what is good once among all who use the store: a `requestState`. [`StoreOutcome::Spent`].
    Spend {
        /// Names it; letters, digits, `-` and `_`.
        token: String,
        /// UNIX milliseconds until which it must not be forgotten.
        until_ms: u64,
    },
}

/// What the store has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreOutcome {
    /// The task is kept, and survives what the store survives.
    Created,
    /// The task; None when there is none that this party may see.
    Task(Option<Box<TaskRecord>>),
    /// Some tasks.
    Page(TaskPage),
    /// What became of the change, and the task as it is now; None when there is none that this party may see.
    Changed(Option<(Applied, Box<TaskRecord>)>),
    /// Whether there was one.
    Removed(bool),
    /// What was to be spent is spent now.
    Spent {
        /// Nobody had spent it before.
        first: bool,
    },
    /// The store could not do it.
    Failed(StoreError),
}

/// Why a store could not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// There is a task with this id already.
    IdTaken,
    /// The store can't be reached, or refused. Whether a change was made is not known.
    Unavailable(String),
    /// What it keeps can't be read.
    Damaged(String),
    /// Another living process uses the store under the same name of an owner.
    OwnerTaken(String),
    /// This process was forked from the one that opened the store.
    Forked,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IdTaken => write!(f, "a task with this id exists"),
            Self::Unavailable(reason) => write!(f, "the store of tasks is not available: {reason}"),
            Self::Damaged(reason) => write!(f, "the store of tasks is damaged: {reason}"),
            Self::OwnerTaken(owner) => write!(f, "another process uses the store of tasks as owner {owner:?}"),
            Self::Forked => {
                write!(f, "the store of tasks belongs to the process that opened it, not to this forked child")
            }
        }
    }
}

impl std::error::Error for StoreError {}

/// A part of a list of tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskPage {
    /// Oldest first.
    pub tasks: Vec<TaskRecord>,
    /// Where the next page begins; None when this is the last one.
    pub next: Option<TaskCursor>,
}

/// A place in a list of tasks: behind the task that was created then and has this id. It stays a place when that task is gone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaskCursor {
    /// When the task was created.
    pub created_ms: u64,
    /// Its id.
    pub id: String,
}

impl TaskCursor {
    /// The place of a task.
    pub fn of(record: &TaskRecord) -> Self {
        Self { created_ms: record.created_ms, id: record.id.clone() }
    }

    /// Reads what [`TaskCursor`]'s `Display` wrote; None for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let (created, id) = text.split_once(':')?;
        if created.len() != DIGITS || !created.bytes().all(|byte| byte.is_ascii_digit()) || id.is_empty() {
            return None;
        }
        Some(Self { created_ms: created.parse().ok()?, id: id.to_owned() })
    }
}

/// Digits of the greatest time.
const DIGITS: usize = 20;

impl fmt::Display for TaskCursor {
    /// Texts in the order of the places.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:0DIGITS$}:{}", self.created_ms, self.id)
    }
}

/// What came of looking at a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// What became of the change; [`Applied::Unchanged`] where there was none.
    pub applied: Applied,
    /// The record is not what was read, and has to be written.
    pub changed: bool,
    /// The owner did not do it, so it has to be told.
    pub foreign: bool,
}

/// What every store does with a record that it has read. None: for this party there is no such task.
///
/// A client that looks at a task whose owner is gone finds it failed, and may not change it any more. The owner itself, when
/// it is late, may still end what nobody has found.
pub fn look(record: &mut TaskRecord, party: &Party, change: Option<&TaskChange>, now_ms: u64) -> Option<Look> {
    if record.is_expired(now_ms) {
        return None;
    }
    let version = record.version;
    let foreign = match party {
        Party::Owner => false,
        Party::Client { principal } if *principal != record.principal => return None,
        Party::Client { .. } => {
            if record.is_lapsed(now_ms) {
                record.abandon(now_ms);
            }
            true
        }
    };
    let applied = change.map_or(Applied::Unchanged, |change| apply(record, change, now_ms));
    let changed = record.version != version;
    Some(Look { applied, changed, foreign: changed && foreign })
}
