//! Asking the client in the middle of a call, and waiting for what it says.
//!
//! Which way a question takes is the engine's business (`ferromcp_engine::Server::ask`). Here stands how a thread waits
//! for the answer; host code that does not wait on a thread of its own finds it in [`crate::Host::notice`].

use crate::endpoint::Endpoint;
use crate::options::Error;
use ferromcp_engine::{AskKey, Asked, CancelReason, InputRequest, OutgoingError, Reentry, RequestKey};
use std::collections::HashMap;
use std::sync::PoisonError;

/// What the client has answered to each question, in the order asked: its result as JSON text, or why there is none.
pub type Answers = Vec<Result<String, OutgoingError>>;

/// What has come of a question that a thread waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answered {
    /// The client's answers.
    Answers(Answers),
    /// Nobody waits for this run of the call any more: host code has to end it. With [`CancelReason::Suspended`] the
    /// client is asked, and the call runs again when it has answered.
    Over(CancelReason),
}

/// The questions that threads wait for, and the answers that are there.
#[derive(Debug, Default)]
pub(crate) struct Asks(HashMap<AskKey, Option<Answers>>);

impl Asks {
    /// Takes answers for the thread that waits for them. Gives them back where none does.
    pub(crate) fn put(&mut self, ask: AskKey, answers: Answers) -> Option<Answers> {
        match self.0.get_mut(&ask) {
            Some(slot) => {
                *slot = Some(answers);
                None
            }
            None => Some(answers),
        }
    }
}

impl Endpoint {
    /// Asks the client of a call. The answers come to [`crate::Host::notice`]. See [`ferromcp_engine::Server::ask`].
    pub fn ask(
        &self,
        call: RequestKey,
        requests: &[InputRequest<'_>],
        reentry: Reentry,
        timeout_ms: Option<u64>,
    ) -> Result<Asked, Error> {
        self.command(|server, now| server.ask(call, requests, reentry, timeout_ms, now))
    }

    /// Asks the client of a call, and blocks this thread until it has answered or the call is over. Other calls go on
    /// meanwhile.
    ///
    /// # Errors
    /// As [`ferromcp_engine::Server::ask`].
    pub fn ask_and_wait(
        &self,
        call: RequestKey,
        requests: &[InputRequest<'_>],
        reentry: Reentry,
        timeout_ms: Option<u64>,
    ) -> Result<Answered, Error> {
        let asked = self.command_on(|state, now| {
            let asked = state.server.ask(call, requests, reentry, timeout_ms, now)?;
            if let Asked::Waiting(ask) = asked {
                // Under the same lock, so that no answer can be quicker.
                state.asks.0.insert(ask, None);
            }
            Ok(asked)
        })?;
        let ask = match asked {
            Asked::Answered(answers) => return Ok(Answered::Answers(answers.into_iter().map(Ok).collect())),
            Asked::Suspended => return Ok(Answered::Over(CancelReason::Suspended)),
            Asked::Waiting(ask) => ask,
        };
        // The question has to be out before anybody can answer it.
        self.flush()?;
        let mut state = self.lock();
        loop {
            if let Some(Some(_)) = state.asks.0.get(&ask) {
                let answers = state.asks.0.remove(&ask).flatten();
                return Ok(Answered::Answers(answers.unwrap_or_default()));
            }
            let over = state.cancelled.get(&call).cloned();
            let over = over.or_else(|| state.outcome.is_some().then_some(CancelReason::Closed));
            if let Some(reason) = over {
                state.asks.0.remove(&ask);
                return Ok(Answered::Over(reason));
            }
            state = self.answered.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Ends a call for want of a client capability. See [`ferromcp_engine::Server::fail_capability`].
    pub fn fail_capability(&self, call: RequestKey, path: &str) -> Result<bool, Error> {
        self.answer(call, |server, now| server.fail_capability(call, path, now))
    }
}
