//! What a server's author decides about tasks.

use crate::error::LocalError;
use serde::Deserialize;

/// Whether a tool's calls may be tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TaskSupport {
    /// Never; what the wire calls `forbidden`.
    #[default]
    Never,
    /// For clients that take tasks: where the client decides, if it asks for one.
    Optional,
    /// Only; other clients are refused.
    Required,
}

impl TaskSupport {
    /// Reads `execution.taskSupport` of a tool (2025-11-25 `basic/utilities/tasks`, "Tool-Level Negotiation").
    pub(crate) fn parse(text: Option<&str>) -> Option<Self> {
        match text {
            None | Some(r#""forbidden""#) => Some(Self::Never),
            Some(r#""optional""#) => Some(Self::Optional),
            Some(r#""required""#) => Some(Self::Required),
            Some(_) => None,
        }
    }
}

/// How tasks are kept. They are offered as soon as a tool may run as one.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct TasksConfig {
    /// Milliseconds that a task and its result are kept from its creation, where the client does not say. 3,600,000.
    pub ttl_ms: u64,
    /// The longest that a client may ask for. 86,400,000: a day.
    pub max_ttl_ms: u64,
    /// Milliseconds that clients are asked to wait between two looks. 1,000.
    pub poll_ms: u64,
    /// The name of this process in the store, unlike that of any other process that uses it. The runtime makes one.
    pub owner: String,
    /// Milliseconds for which this process need not be heard of before others take its tasks for lost; 0: the store knows by
    /// itself. It is heard of three times as often. 15,000.
    pub lease_ms: u64,
    /// Whether `tasks/list` is offered (2025-11-25 only). It shows one client the tasks of another where clients can't be
    /// told apart (`basic/utilities/tasks`, "Task Isolation and Access Control": SHOULD NOT). None: where the store is this
    /// server's alone, and to streams that have a principal.
    pub list: Option<bool>,
    /// Requests about tasks that one stream may send in a second; one more gets an error. 0: any number (`basic/utilities/tasks`,
    /// "Task Isolation and Access Control": SHOULD). 1,000: as many tasks as may run, each looked at as often as `poll_ms` says.
    pub requests_per_second: u32,
    /// Tasks that have ended and are kept in the server's own memory; of more, those that ended first are forgotten before
    /// their time is over. Running tasks never are, and other stores keep all. 10,000: small results are a kilobyte or two
    /// each, so some tens of megabytes.
    pub max_ended: usize,
}

impl Default for TasksConfig {
    fn default() -> Self {
        Self {
            ttl_ms: 3_600_000,
            max_ttl_ms: 86_400_000,
            poll_ms: 1_000,
            owner: String::new(),
            lease_ms: 15_000,
            list: None,
            requests_per_second: 1_000,
            max_ended: 10_000,
        }
    }
}

impl TasksConfig {
    pub(crate) fn check(&self) -> Result<(), LocalError> {
        if self.ttl_ms == 0 || self.max_ttl_ms == 0 || self.poll_ms == 0 || self.max_ended == 0 {
            return Err(LocalError::Config("tasks: ttlMs, maxTtlMs, pollMs and maxEnded must be at least 1".into()));
        }
        Ok(())
    }
}
