//! Code that stands round every call of host code: it may refuse a call before, and sees what became of it after.
//!
//! The first [`Middleware`] is the outermost: its `before` runs first and its `after` last. When one refuses, those inside
//! of it and host code never hear of the call. What the engine answers by itself (lists, `ping`, arguments that do not
//! fit) does not come here, nor does a call that is cancelled before its turn.
//!
//! | step | on which thread | the connection's lock |
//! |---|---|---|
//! | `before`, `limits` | the one that takes the call from the queue | not held |
//! | `leave` | whichever ends the call | held: nothing may block, or use the endpoint |
//! | `after` | the one that reads | not held |
//!
//! So an audit log that writes to a slow disk delays no event loop of a door, and an `after` may come some microseconds
//! behind the answer. What must be done before the client can see the answer is done in `leave`.
//!
//! [`policy`] has those that most servers want. Without any nothing of this costs anything.

mod chain;
mod facts;
pub mod policy;
mod refusal;
mod trace;

pub(crate) use chain::{Chain, Finished, Over};
pub use facts::{CallFacts, End, Outcome};
pub use refusal::Refusal;
pub use trace::TraceContext;
#[cfg(feature = "tracing")]
pub(crate) use trace::span;

use ferromcp_engine::CallLimits;

/// What stands round every call of host code. All methods do nothing by default.
///
/// A call that is answered with a question to the client ends with [`End::InputRequired`], or is cancelled as suspended, and
/// comes as a new one with the client's answer; one that waits in this process goes on.
pub trait Middleware: Send + Sync + 'static {
    /// Looks at a call before host code does. A panic refuses the call.
    ///
    /// # Errors
    /// The call is not to be served.
    fn before(&self, _call: &CallFacts) -> Result<(), Refusal> {
        Ok(())
    }

    /// How long a call may take that nobody has refused; of several bounds the nearest counts.
    fn limits(&self, _call: &CallFacts) -> CallLimits {
        CallLimits::default()
    }

    /// Host code has done with a call that `before` let in: it has answered, or ended a run that nobody waits for any more.
    /// Comes before the client can see the answer. The connection is locked, so this must neither block nor use the endpoint.
    fn leave(&self, _call: &CallFacts) {}

    /// What became of a call that `before` let in, once for each.
    fn after(&self, _call: &CallFacts, _outcome: &Outcome) {}

    /// Whether `after` wants the text of answers: they are copied for it.
    fn wants_text(&self) -> bool {
        false
    }
}
