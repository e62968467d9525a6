//! Tasks: work that outlives the request that asked for it.
//!
//! What a task is and how it may change is decided here, without I/O: [`TaskRecord`] is what a store keeps, [`TaskChange`]
//! what may be asked of it, and [`apply`] the one place where the rules are, so that a map, a file and a server on the
//! network give the same answers. [`StoreRequest`] and [`StoreOutcome`] are the conversation with a store, as values.
//! The stores themselves are the runtime's; how a peer is told of a task is decided in `wire`.
//!
//! The life of a task, in both of its specifications (2025-11-25 `basic/utilities/tasks`, "Task Status Lifecycle";
//! extension `io.modelcontextprotocol/tasks`, "Task Status"):
//!
//! | from | to |
//! |---|---|
//! | working | input_required, completed, failed, cancelled |
//! | input_required | working, completed, failed, cancelled |
//! | completed, failed, cancelled | nothing |
//!
//! Times are UNIX milliseconds: they are compared by other processes, and after a restart.

mod change;
mod json;
mod record;
mod store;
#[cfg(test)]
mod tests;

pub use crate::wire::task::iso_8601;
pub use change::{Applied, Refusal, TaskChange, apply};
pub use json::JsonText;
pub use record::{InputState, TaskInput, TaskOutcome, TaskRecord, TaskStatus, task_id};
pub use store::{Look, Party, StoreError, StoreOutcome, StoreRequest, TaskCursor, TaskPage, look};
