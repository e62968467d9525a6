//! A call as middleware sees it: to be looked at, and before a handler has it, to be refused.
//!
//! It is an object of its own beside the one that the handler gets, so that no share of it can answer the call.

use super::{Call, Line};
use crate::error::{Error, Status};
use crate::guard;
use crate::handle;
use crate::text::Text;
use ferromcp_engine::{self as engine, CancelReason, LocalError, PeerError};
use runtime::middleware::{CallFacts, End, Outcome, Refusal};
use serde_json::value::RawValue;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What stands in the place of a way back to the engine.
#[derive(Debug)]
pub(crate) struct Seen {
    verdict: Mutex<Verdict>,
    cancelled: Option<CancelReason>,
}

#[derive(Debug)]
enum Verdict {
    Open,
    Refused(Refusal),
    /// Nobody asks any more.
    Closed,
}

impl Call {
    /// For a middleware that may refuse it. Let the last word be [`Call::verdict`].
    pub(crate) fn before(facts: &CallFacts) -> Arc<Self> {
        Self::seen(facts, facts.task_id(), Verdict::Open, None)
    }

    /// For a middleware that is told of its end.
    pub(crate) fn after(facts: &CallFacts, outcome: &Outcome) -> Arc<Self> {
        let cancelled = match &outcome.end {
            End::Cancelled(reason) => Some(reason.clone()),
            End::Result | End::ToolError | End::Error(_) | End::InputRequired => None,
        };
        Self::seen(facts, outcome.task_id.as_deref(), Verdict::Closed, cancelled)
    }

    fn seen(facts: &CallFacts, task: Option<&str>, verdict: Verdict, cancelled: Option<CancelReason>) -> Arc<Self> {
        let call = Self::new(facts.call().clone(), Line::Seen(Seen { verdict: Mutex::new(verdict), cancelled }));
        if let Some(id) = task {
            // The call is new, so there is none yet.
            let _ = call.task_id.set(id.to_owned());
        }
        if let Some(principal) = facts.principal() {
            let _ = call.principal.set(principal.to_owned());
        }
        Arc::new(call)
    }

    /// Whether a middleware has refused it; from now on none can.
    pub(crate) fn verdict(&self) -> Result<(), Refusal> {
        let Line::Seen(seen) = &self.line else { return Ok(()) };
        match std::mem::replace(&mut *seen.lock(), Verdict::Closed) {
            Verdict::Refused(refusal) => Err(refusal),
            Verdict::Open | Verdict::Closed => Ok(()),
        }
    }
}

impl Seen {
    /// Refuses the call by a JSON-RPC error.
    pub(super) fn fail(&self, error: &PeerError) -> Result<bool, Error> {
        if let Some(data) = &error.data {
            // Found out here, where whoever wrote it can be told.
            serde_json::from_str::<&RawValue>(data)
                .map_err(|error| LocalError::NotJson { what: "data", reason: error.to_string() })?;
        }
        self.refuse(Refusal::error(error.clone()))
    }

    pub(super) fn refuse(&self, refusal: Refusal) -> Result<bool, Error> {
        let mut verdict = self.lock();
        match *verdict {
            Verdict::Open => {
                *verdict = Verdict::Refused(refusal);
                Ok(true)
            }
            Verdict::Refused(_) | Verdict::Closed => Err(Error::state("it is too late to refuse this call")),
        }
    }

    pub(super) fn cancel_reason(&self) -> Option<CancelReason> {
        self.cancelled.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Verdict> {
        self.verdict.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    fn refuse(&self, _: &engine::Call, refusal: Refusal) -> Result<bool, Error> {
        match self {
            Self::Seen(seen) => seen.refuse(refusal),
            Self::Served { .. } | Self::Own(_) => {
                Err(Error::state("only what fmcp_server_add_middleware() calls before a handler refuses a call"))
            }
        }
    }
}

/// What everything gives that only a handler can do.
pub(super) fn for_handlers() -> Error {
    Error::state("middleware looks at a call, or refuses it by fmcp_call_refuse() or fmcp_call_fail()")
}

/// Refuses a call, in a middleware's function that is called before the handler: that never hears of it. A tool's call is
/// answered with a tool error, whose text the model reads and acts upon; any other with the error -32603. fmcp_call_fail()
/// refuses with an error of one's own.
///
/// \param text           why
/// \param retry_after_ms when it is worth trying again, in milliseconds from now: it is said in the text, and for programs as
///                       `ferromcp/retryAfterMs` in the tool error's `_meta`, or `retryAfterMs` in the error's `data`. A
///                       negative number says nothing
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_refuse(
    call: *mut Call,
    text: Text,
    retry_after_ms: i64,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: a live call or null, and readable bytes, by the header's contract.
        let (call, text) = unsafe { (handle::required(call, "call")?, handle::text(text, "text")?) };
        let mut refusal = Refusal::new(text);
        if let Ok(ms) = u64::try_from(retry_after_ms) {
            refusal = refusal.retry_after(Duration::from_millis(ms));
        }
        call.answer(|line, request| line.refuse(request, refusal))
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}
