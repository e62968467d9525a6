//! Turning a running call into a task, and waiting until that is done.
//!
//! Which calls may become tasks, and what their clients are told, is the engine's business
//! (`ferromcp_engine::Server::begin_task`); host code that does not wait on a thread of its own finds the outcome in
//! [`crate::Host::notice`].

use crate::endpoint::Endpoint;
use crate::options::Error;
use ferromcp_engine::RequestKey;
use std::collections::HashMap;
use std::sync::PoisonError;

/// Calls whose threads wait for them to be tasks, and what has come of it: the id, if there is one.
#[derive(Debug, Default)]
pub(crate) struct Begins(HashMap<RequestKey, Option<Option<String>>>);

impl Begins {
    /// Takes an outcome for the thread that waits for it. Gives it back where none does.
    pub(crate) fn put(&mut self, call: RequestKey, id: Option<String>) -> Option<Option<String>> {
        match self.0.get_mut(&call) {
            Some(slot) => {
                *slot = Some(id);
                None
            }
            None => Some(id),
        }
    }
}

impl Endpoint {
    /// The id of the task that a running call is; None where it is none.
    pub fn task_id(&self, call: RequestKey) -> Option<String> {
        if self.is_forked() {
            return None;
        }
        self.lock().server.task_id(call).map(str::to_owned)
    }

    /// Turns a running call into a task. What has come of it is told to [`crate::Host::notice`]. See
    /// [`ferromcp_engine::Server::begin_task`].
    pub fn begin_task(&self, call: RequestKey) -> Result<bool, Error> {
        self.command(|server, now| server.begin_task(call, now))
    }

    /// Turns a running call into a task, and blocks this thread until that is done. The task's id; None where the call goes
    /// on without, or is over.
    ///
    /// # Errors
    /// As [`ferromcp_engine::Server::begin_task`].
    pub fn begin_task_and_wait(&self, call: RequestKey) -> Result<Option<String>, Error> {
        let begun = self.command_on(|state, now| {
            let begun = state.server.begin_task(call, now)?;
            if begun {
                // Under the same lock, so that no outcome can be quicker.
                state.begins.0.insert(call, None);
            }
            Ok(begun)
        })?;
        if !begun {
            return Ok(None);
        }
        let mut state = self.lock();
        let id = loop {
            if let Some(Some(_)) = state.begins.0.get(&call) {
                break state.begins.0.remove(&call).flatten().flatten();
            }
            if state.cancelled.contains_key(&call) || state.outcome.is_some() {
                state.begins.0.remove(&call);
                break None;
            }
            state = self.answered.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        drop(state);
        // The client has its task before the work begins.
        self.flush()?;
        Ok(id)
    }
}
