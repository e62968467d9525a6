//! What a client keeps for us between two rounds, and what makes it good for one more.
//!
//! A state is sealed ([`super::seal`]) with the principal, the method and a digest of the parameters, so that it opens only
//! for a retry of the same request by the same principal. Inside stands when it ends; and each opens once: this process
//! remembers those that were opened until they end (`basic/patterns/mrtr`, "Server Requirements"), and where it shares a
//! store with others, the store does so for all. A retry waits for that as a request that the engine itself answers.

use super::again::Original;
use super::event::{Millis, RequestKey};
use super::request::{Refusal, Request};
use super::rounds::Resumption;
use super::seal::Nonce;
use super::tasks::Pending;
use super::{CatalogueKind, Server};
use crate::error::{LocalError, PeerError};
use crate::jsonrpc::digest::Digester;
use crate::jsonrpc::scan;
use crate::tasks::{StoreOutcome, StoreRequest};
use crate::wire::method::Method;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeSet;

/// The contents of a `requestState`.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct State {
    /// UNIX milliseconds from which it is no good any more.
    pub(super) until: u64,
    /// How often the client was asked before.
    #[serde(default)]
    pub(super) count: u32,
    /// What is asked with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) asked: Vec<AskedBefore>,
    /// What was answered before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) known: Vec<Known>,
    /// Host code's own state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) host: Option<String>,
    /// The call that waits, and its token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) held: Option<(u64, String)>,
}

/// A question that was asked.
#[derive(Serialize, Deserialize)]
pub(super) struct AskedBefore {
    pub(super) key: String,
    /// Of what was asked: an answer is for this question alone.
    pub(super) digest: String,
}

/// A question that was answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Known {
    pub(super) key: String,
    pub(super) digest: String,
    pub(super) answer: Box<RawValue>,
}

impl Known {
    /// `answer` is valid JSON text.
    pub(super) fn new(key: &str, digest: String, answer: &str) -> Option<Self> {
        Some(Self { key: key.to_owned(), digest, answer: RawValue::from_string(answer.to_owned()).ok()? })
    }
}

/// The states that were opened and have not ended: when each ends, and which it is.
#[derive(Default)]
pub(super) struct Spent(BTreeSet<(u64, Nonce)>);

/// A state that is good as far as this process knows.
pub(super) struct Ticket {
    /// When it ends.
    until: u64,
    nonce: Nonce,
}

impl Spent {
    fn has(&self, ticket: &Ticket) -> bool {
        self.0.contains(&(ticket.until, ticket.nonce))
    }

    /// Notes a state. False: it is there already.
    fn add(&mut self, until: u64, nonce: Nonce, unix_now: u64, most: usize) -> bool {
        while self.0.first().is_some_and(|(ends, _)| *ends <= unix_now || self.0.len() >= most) {
            self.0.pop_first();
        }
        self.0.insert((until, nonce))
    }
}

impl Server {
    /// UNIX time in milliseconds.
    pub(super) fn unix(&self, now: Millis) -> u64 {
        self.epoch_ms.saturating_add(now)
    }

    /// Whether a `requestState` that is not ours may be host code's.
    pub(super) fn host_owns_states(&self) -> bool {
        self.config.catalogue == CatalogueKind::Delegated
    }

    /// Seals a state for the client of a call.
    pub(super) fn seal_state(&mut self, call: RequestKey, mut state: State, now: Millis) -> Result<String, LocalError> {
        state.count += 1;
        if state.count > self.config.limits.max_rounds {
            return Err(LocalError::Limit("maxRounds"));
        }
        state.until = self.unix(now).saturating_add(self.config.limits.request_state_ttl_ms);
        let record = self.requests.get_mut(call).ok_or(LocalError::NoBackChannel)?;
        let (stream, method, params) = (record.stream, record.method.clone(), record.params.clone());
        let principal = self.streams.get(&stream).and_then(|stream| stream.principal.as_deref());
        let bound = bound(principal, method.as_str(), params.as_deref());
        // Strings, numbers and JSON text: nothing in it can fail to be written.
        let plain = serde_json::to_vec(&state).unwrap_or_default();
        let entropy = self.entropy.as_mut().ok_or(LocalError::NoEntropy)?;
        let sealed = self.seal.close(&plain, &bound, &mut **entropy)?;
        if sealed.len() > self.config.limits.max_request_state_bytes {
            return Err(LocalError::Limit("maxRequestStateBytes"));
        }
        Ok(sealed)
    }

    /// Opens the state of a retry.
    ///
    /// # Errors
    /// -32602: changed, foreign, over, or used before. Which of them it is is nobody's business but where time is at fault.
    ///
    /// With a [`Ticket`] the store has to be asked whether another process has opened it.
    pub(super) fn open_state(
        &mut self,
        request: &Request<'_>,
        text: &str,
        now: Millis,
    ) -> Result<(State, Option<Ticket>), Refusal> {
        let wrong = |reason: &str| PeerError::invalid_params(format!("Invalid params: requestState {reason}"));
        let principal = self.streams.get(&request.stream).and_then(|stream| stream.principal.as_deref());
        let bound = bound(principal, request.method, request.params.text);
        let not_ours = || wrong("is not one that this server gave out for this request");
        let (nonce, plain) = self.seal.open(text, &bound).ok_or_else(not_ours)?;
        let state: State = serde_json::from_slice(&plain).map_err(|_| not_ours())?;
        let unix = self.unix(now);
        if state.until <= unix {
            return Err(wrong("has expired"));
        }
        let ticket = Ticket { until: state.until, nonce };
        // The call that a held state is for waits in this process alone, so no other could open it.
        let is_shared = !self.config.tasks.owner.is_empty() && state.held.is_none();
        let is_fresh = if is_shared { !self.spent.has(&ticket) } else { self.note_spent(&ticket, unix) };
        if !is_fresh {
            return Err(used_before());
        }
        Ok((state, is_shared.then_some(ticket)))
    }

    fn note_spent(&mut self, ticket: &Ticket, unix: u64) -> bool {
        self.spent.add(ticket.until, ticket.nonce, unix, self.config.limits.max_spent_states)
    }

    /// Asks the store whether a retry is the first with its state; meanwhile it waits.
    pub(super) fn spend_state(
        &mut self,
        request: &Request<'_>,
        method: Method,
        ticket: Ticket,
        resumption: Box<Resumption>,
        now: Millis,
    ) {
        let wanted = StoreRequest::Spend { token: URL_SAFE_NO_PAD.encode(ticket.nonce), until_ms: ticket.until };
        let key = self.book(request, method, now);
        self.store(wanted, Pending::Spend { key, ticket, resumption });
    }

    /// The store has said whether it is. A store that can't be asked is no reason to serve a retry that may be the second:
    /// it is refused, and may come again.
    pub(super) fn state_spent(
        &mut self,
        key: RequestKey,
        ticket: &Ticket,
        resumption: Box<Resumption>,
        outcome: &StoreOutcome,
        now: Millis,
    ) {
        let refusal = match outcome {
            StoreOutcome::Spent { first: true } => None,
            StoreOutcome::Spent { first: false } => Some(used_before()),
            StoreOutcome::Failed(error) => Some(PeerError::internal(format!(
                "Whether this requestState was used before can't be looked up: {error}"
            ))),
            _ => Some(PeerError::internal("The store did not say whether this requestState was used before")),
        };
        if matches!(outcome, StoreOutcome::Spent { .. }) {
            let unix = self.unix(now);
            self.note_spent(ticket, unix);
        }
        // It may be cancelled by now.
        let Some(record) = self.settle(key) else { return };
        let original = Original::of(&record);
        let done = match (refusal, record.method.known()) {
            (Some(error), _) => Err(error),
            (None, Some(method)) => self.again(&original, method, |server, request| {
                server.serve_by_host(&request, method, Some(resumption), now)
            }),
            (None, None) => Ok(()),
        };
        if let Err(error) = done {
            self.send_error(original.stream, original.via, Some(&original.id), &error);
        }
        self.check_drained(original.stream);
    }
}

fn used_before() -> Refusal {
    PeerError::invalid_params("Invalid params: requestState was used before")
}

/// What a state belongs to: who may bring it back, and with which request. What changes between a request and its retry
/// is left out.
fn bound(principal: Option<&str>, method: &str, params: Option<&str>) -> Vec<u8> {
    let mut digester = Digester::default();
    digester.text(principal.map_or("", |_| "principal"));
    digester.text(principal.unwrap_or_default());
    digester.text(method);
    let own = |key: &str| {
        let key = scan::plain_string(key);
        !matches!(key.as_deref(), Some("_meta" | "inputResponses" | "requestState"))
    };
    digester.members(scan::members(params.unwrap_or("{}")).filter(|(key, _)| own(key)));
    digester.finish().to_vec()
}
