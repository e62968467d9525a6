//! Where each call is on its way through the middleware.
//!
//! The books are kept under the connection's lock, the code of others runs outside of it, but for `leave`.

use super::facts::{CallFacts, End, Outcome};
use super::{Middleware, Refusal};
use crate::endpoint::Endpoint;
use crate::state::{Notice, State};
use ferromcp_engine::{AnswerFacts, Call, CallLimits, CancelReason, Millis, PeerError, RequestKey, Server, Watch};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

type Layers = Arc<[Arc<dyn Middleware>]>;

/// The middleware of a server, and the calls that are within it.
pub(crate) struct Chain {
    layers: Layers,
    open: HashMap<RequestKey, Open>,
}

/// A call within the middleware.
struct Open {
    facts: Arc<CallFacts>,
    /// How many have let it in.
    entered: usize,
    refused: bool,
    since_us: u64,
    /// The task that it has become meanwhile.
    task: Option<String>,
    stage: Stage,
}

enum Stage {
    /// `before` runs, so host code has not seen it.
    Entering,
    /// Meanwhile nobody waits for it any more.
    Lost(CancelReason),
    /// Host code has it, or a refusal is on its way.
    Inside,
    /// Its end is told, and host code is still at it.
    Told,
}

/// A call on its way in.
pub(crate) struct Entrance {
    layers: Layers,
    facts: Arc<CallFacts>,
}

/// What `before` has come to.
struct Entered {
    count: usize,
    outcome: Result<CallLimits, Refusal>,
}

/// A call whose end is to be told.
pub(crate) struct Finished {
    layers: Layers,
    facts: Arc<CallFacts>,
    entered: usize,
    outcome: Outcome,
}

/// What the end of a call means that the engine has cancelled.
pub(crate) enum Over {
    /// Nothing here.
    Unknown,
    /// Host code does not know the call, and never will.
    BeforeHost,
    /// Its end is to be told.
    Finished(Finished),
}

impl Chain {
    /// None where there is no middleware. Says to the engine what has to be told.
    pub(crate) fn new(layers: &[Arc<dyn Middleware>], server: &mut Server) -> Option<Box<Self>> {
        if layers.is_empty() {
            return None;
        }
        let wants_text = layers.iter().any(|layer| layer.wants_text());
        server.watch_answers(if wants_text { Watch::Text } else { Watch::Facts });
        Some(Box::new(Self { layers: layers.into(), open: HashMap::new() }))
    }

    /// A call is taken from the queue.
    #[cold]
    pub(crate) fn begin(&mut self, call: &Call, server: &Server, unix_ms: u64, now_us: u64) -> Entrance {
        let facts = Arc::new(CallFacts::new(call, server, unix_ms));
        let open = Open {
            facts: Arc::clone(&facts),
            entered: 0,
            refused: false,
            since_us: now_us,
            task: facts.task_id().map(str::to_owned),
            stage: Stage::Entering,
        };
        self.open.insert(call.key, open);
        Entrance { layers: Arc::clone(&self.layers), facts }
    }

    /// It has been through every `before`, or some. Its end, where it was cancelled meanwhile.
    fn entered(&mut self, key: RequestKey, entered: &Entered, now_us: u64) -> Option<Finished> {
        let open = self.open.get_mut(&key)?;
        open.entered = entered.count;
        open.refused = entered.outcome.is_err();
        match std::mem::replace(&mut open.stage, Stage::Inside) {
            Stage::Lost(reason) => self.remove(key, |open| Outcome::cancelled(open, reason, now_us)),
            Stage::Entering | Stage::Inside | Stage::Told => None,
        }
    }

    /// Host code has answered.
    pub(crate) fn answered(&mut self, key: RequestKey, answer: AnswerFacts, now_us: u64) -> Option<Finished> {
        self.remove(key, |open| Outcome {
            end: answer.kind.into(),
            refused: open.refused,
            duration: open.duration(now_us),
            bytes: answer.bytes,
            text: answer.text,
            task_id: answer.task_id.or_else(|| open.task.clone()),
        })
    }

    /// Nobody waits for a call any more. Host code may be at it for a while.
    pub(crate) fn cancelled(&mut self, key: RequestKey, reason: &CancelReason, now_us: u64) -> Over {
        let Some(open) = self.open.get_mut(&key) else { return Over::Unknown };
        match open.stage {
            Stage::Entering => {
                open.stage = Stage::Lost(reason.clone());
                Over::BeforeHost
            }
            Stage::Lost(_) | Stage::Told => Over::Unknown,
            Stage::Inside => {
                open.stage = Stage::Told;
                let finished = Finished {
                    layers: Arc::clone(&self.layers),
                    facts: Arc::clone(&open.facts),
                    entered: open.entered,
                    outcome: Outcome::cancelled(open, reason.clone(), now_us),
                };
                if *reason == CancelReason::Suspended {
                    // The run has to end now, and the next one of the same call may come at any time.
                    self.forget(key);
                }
                Over::Finished(finished)
            }
        }
    }

    /// A call goes on as a task.
    pub(crate) fn became_task(&mut self, key: RequestKey, id: &str) {
        if let Some(open) = self.open.get_mut(&key) {
            open.task = Some(id.to_owned());
        }
    }

    /// Host code has ended a run that nobody waited for.
    pub(crate) fn forget(&mut self, key: RequestKey) {
        if self.open.get(&key).is_some_and(|open| matches!(open.stage, Stage::Told))
            && let Some(open) = self.open.remove(&key)
        {
            open.leave(&self.layers);
        }
    }

    fn remove(&mut self, key: RequestKey, outcome: impl FnOnce(&Open) -> Outcome) -> Option<Finished> {
        let open = self.open.remove(&key)?;
        open.leave(&self.layers);
        let outcome = outcome(&open);
        Some(Finished { layers: Arc::clone(&self.layers), facts: open.facts, entered: open.entered, outcome })
    }
}

impl Open {
    fn duration(&self, now_us: u64) -> Duration {
        Duration::from_micros(now_us.saturating_sub(self.since_us))
    }

    fn leave(&self, layers: &Layers) {
        for layer in layers[..self.entered].iter().rev() {
            guarded(|| layer.leave(&self.facts));
        }
    }
}

impl Outcome {
    fn cancelled(open: &Open, reason: CancelReason, now_us: u64) -> Self {
        Self {
            end: End::Cancelled(reason),
            refused: open.refused,
            duration: open.duration(now_us),
            bytes: 0,
            text: None,
            task_id: open.task.clone(),
        }
    }
}

impl Entrance {
    /// Runs `before` of all, from the outside in, until one refuses.
    fn run(&self) -> Entered {
        for (count, layer) in self.layers.iter().enumerate() {
            let refused = match guarded(|| layer.before(&self.facts)) {
                Some(Ok(())) => continue,
                Some(Err(refusal)) => refusal,
                None => Refusal::error(PeerError::internal("The call could not be admitted (a middleware panicked).")),
            };
            return Entered { count, outcome: Err(refused) };
        }
        let limits = self.layers.iter().filter_map(|layer| guarded(|| layer.limits(&self.facts)));
        let limits = limits.fold(CallLimits::default(), |a, b| CallLimits {
            total_ms: nearest(a.total_ms, b.total_ms),
            idle_ms: nearest(a.idle_ms, b.idle_ms),
        });
        Entered { count: self.layers.len(), outcome: Ok(limits) }
    }
}

impl Finished {
    /// Runs `after` of those that let it in, from the inside out.
    pub(crate) fn tell(&self) {
        for layer in self.layers[..self.entered].iter().rev() {
            guarded(|| layer.after(&self.facts, &self.outcome));
        }
    }
}

impl Endpoint {
    /// Brings a call through the middleware. False: host code does not get it.
    pub(crate) fn admit(&self, call: &Call, entrance: &Entrance) -> bool {
        let entered = entrance.run();
        let here = self.command_on(|state, now| Ok(state.admit(call.key, &entered, now)));
        match (here, entered.outcome) {
            (Ok(true), Ok(_)) => true,
            (Ok(true), Err(refusal)) => {
                if let Err(error) = refusal.answer(self, call.key, call.method()) {
                    // What the refusal says can't be sent. A second failure means that the endpoint is of no more use.
                    let error =
                        PeerError::internal(format!("The call was refused, and the reason can't be sent: {error}"));
                    let _ = self.fail(call.key, &error);
                }
                false
            }
            (Ok(false) | Err(_), _) => false,
        }
    }
}

impl State {
    /// A call is taken from the queue. None where nothing stands round host code.
    #[inline]
    pub(crate) fn enter(&mut self, call: &Call, now_us: u64) -> Option<Entrance> {
        let chain = self.chain.as_mut()?;
        Some(chain.begin(call, &self.server, crate::endpoint::unix_ms(), now_us))
    }

    /// A call has been through the middleware. False: it was cancelled meanwhile.
    fn admit(&mut self, key: RequestKey, entered: &Entered, now: Millis) -> bool {
        let Some(chain) = &mut self.chain else { return false };
        if let Some(finished) = chain.entered(key, entered, now.saturating_mul(1_000)) {
            self.notices.push_back(Notice::Finished(finished));
            return false;
        }
        if let Ok(limits) = &entered.outcome
            && *limits != CallLimits::default()
        {
            self.server.set_deadline(key, *limits, now);
        }
        true
    }
}

fn nearest(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    // Zero counts as no bound.
    [a, b].into_iter().flatten().filter(|ms| *ms > 0).min()
}

/// Runs code of others. None: it panicked, which the panic hook has reported.
fn guarded<T>(body: impl FnOnce() -> T) -> Option<T> {
    // What it leaves broken is its own.
    catch_unwind(AssertUnwindSafe(body)).ok()
}
