//! Visits to URLs that have to be made before a request can be served, and that they are complete (2025-11-25
//! `client/elicitation`, "URL Elicitation Required Error", "Completion Notifications for URL Mode Elicitation").
//!
//! Host code fails with -32042 and the list of visits; what becomes of it is the revision's: the error in 2025-11-25, in the
//! modern era, which has no such error, a round that asks for the visits. Host code runs again with the client's retry either
//! way. With a delegated catalogue host code has its own account of all this, and is let through.

use super::event::{Millis, Reply, RequestKey, StreamId};
use super::{CatalogueKind, DiagnosticKind, Server};
use crate::error::{LocalError, PeerError, code};
use crate::jsonrpc::{scan, write};
use std::collections::VecDeque;

const COMPLETE: &str = "notifications/elicitation/complete";

/// Visits that clients were asked for and that nobody has said to be complete, oldest first: whom, and the `elicitationId`.
#[derive(Default)]
pub(super) struct Visits(VecDeque<(StreamId, String)>);

impl Visits {
    pub(super) fn forget(&mut self, stream: StreamId) {
        self.0.retain(|(of, _)| *of != stream);
    }
}

impl Server {
    /// Tells the client that was asked for a visit, by a question or by -32042, that it is complete; the call that asked may be
    /// over. False, and nothing is sent: no client was asked under this `elicitationId`, or it was told before.
    pub fn complete_elicitation(&mut self, elicitation_id: &str) -> bool {
        let Some(at) = self.visits.0.iter().position(|(_, id)| id == elicitation_id) else { return false };
        let Some((stream, id)) = self.visits.0.remove(at) else { return false };
        let mut params = String::from(r#"{"elicitationId":"#);
        write::string(&mut params, &id);
        params.push('}');
        self.send_notification(stream, super::Via::default(), COMPLETE, Some(&params));
        true
    }

    /// Whether a notification of host code may go to a stream. That a visit is complete is told to the client that was asked for
    /// it, by the id that it was asked under, and once (MUST).
    pub(super) fn may_notify(&mut self, stream: StreamId, method: &str, params: Option<&str>) -> bool {
        if method != COMPLETE || self.config.catalogue == CatalogueKind::Delegated {
            return true;
        }
        let [id] = scan::pick(params.unwrap_or("{}"), ["elicitationId"]).unwrap_or_default();
        let Some(id) = id.and_then(scan::plain_string) else { return false };
        let known = self.visits.0.iter().position(|(of, known)| *of == stream && *known == id);
        known.and_then(|at| self.visits.0.remove(at)).is_some()
    }

    /// Notes that a client was asked for a visit, if these are the parameters of one that has an id.
    pub(super) fn note_visit(&mut self, stream: StreamId, params: &str) {
        let [id] = scan::pick(params, ["elicitationId"]).unwrap_or_default();
        if let Some(id) = id.and_then(scan::plain_string) {
            if self.visits.0.len() >= self.config.limits.max_visits {
                self.visits.0.pop_front();
            }
            self.visits.0.push_back((stream, id.into_owned()));
        }
    }

    /// Ends a call with -32042, or with what stands for it.
    pub(super) fn fail_for_visits(
        &mut self,
        key: RequestKey,
        error: &PeerError,
        now: Millis,
    ) -> Result<bool, LocalError> {
        let Some(record) = self.requests.get(key) else { return Ok(false) };
        let (stream, revision) = (record.stream, record.revision);
        let is_held = record.is_held();
        let visits = match elicitations(error.data.as_deref()) {
            Ok(visits) => visits,
            Err(reason) => return self.fail_badly(key, error, reason, now),
        };
        if !revision.has_url_elicitation() {
            return self.fail_capability(key, URL, now);
        }
        if revision.is_modern() {
            let may_ask = record.method.known().is_some_and(|method| method.may_ask(revision));
            if is_held || !may_ask {
                return self.fail_plainly(key, error, now);
            }
            let rounds = record.rounds.as_ref();
            if rounds.is_some_and(|rounds| rounds.known.iter().any(|known| refuses(&known.key, known.answer.get()))) {
                return self.fail_plainly(key, error, now);
            }
            let round = rounds.map_or(0, |rounds| rounds.count) + 1;
            let mut requests = String::from("{");
            for (at, visit) in visits.iter().enumerate() {
                let separator = if at > 0 { "," } else { "" };
                requests.push_str(&format!(
                    r#"{separator}"{KEY}{round}-{at}":{{"method":"elicitation/create","params":{visit}}}"#
                ));
            }
            requests.push('}');
            return match self.respond(key, Reply::InputRequired { requests: Some(&requests), state: None }, now) {
                Err(LocalError::CapabilityNotDeclared(path)) => self.fail_capability(key, path, now),
                Err(LocalError::InputRequest { reason, .. }) => self.fail_badly(key, error, &reason, now),
                Err(LocalError::Limit(_)) => self.fail_plainly(key, error, now),
                done => done,
            };
        }
        let asked: Vec<_> =
            visits.iter().map(|params| super::InputRequest { key: "", method: METHOD, params }).collect();
        let questions = match self.questions(key, &asked) {
            Ok(questions) => questions,
            Err(LocalError::CapabilityNotDeclared(path)) => return self.fail_capability(key, path, now),
            Err(LocalError::InputRequest { reason, .. }) => return self.fail_badly(key, error, &reason, now),
            Err(other) => return Err(other),
        };
        let visits: Vec<_> = questions.iter().filter_map(|open| open.question.params.as_deref()).collect();
        for params in &visits {
            self.note_visit(stream, params);
        }
        let data = format!(r#"{{"elicitations":[{}]}}"#, visits.join(","));
        self.fail_with(key, &PeerError { data: Some(data), ..error.clone() })
    }

    /// What host code says of visits is not what the specification allows.
    fn fail_badly(
        &mut self,
        key: RequestKey,
        error: &PeerError,
        reason: &str,
        now: Millis,
    ) -> Result<bool, LocalError> {
        let stream = self.requests.get(key).map(|record| record.stream);
        self.diagnose(stream, DiagnosticKind::BadResult, format!("{}: {reason}", code::URL_ELICITATION_REQUIRED));
        self.fail_plainly(key, error, now)
    }

    /// The same words under the code of any failure.
    fn fail_plainly(&mut self, key: RequestKey, error: &PeerError, now: Millis) -> Result<bool, LocalError> {
        self.fail(key, &PeerError::internal(error.message.clone()), now)
    }
}

const METHOD: &str = "elicitation/create";
const URL: &str = "elicitation.url";
/// How the keys of visits begin in a round.
const KEY: &str = "visit-";

/// The visits that -32042 lists: objects for `elicitation/create`.
fn elicitations(data: Option<&str>) -> Result<Vec<String>, &'static str> {
    let [list] = scan::pick(data.unwrap_or("{}"), ["elicitations"]).unwrap_or_default();
    let list = list.filter(|list| scan::is_array(list)).ok_or("its data must have a list of elicitations")?;
    let visits: Vec<_> = scan::elements(list).map(str::to_owned).collect();
    let is_visit = |visit: &String| matches!(scan::pick(visit, ["mode"]), Ok([Some(r#""url""#)]));
    if visits.is_empty() || !visits.iter().all(is_visit) {
        return Err("its elicitations must be visits to URLs, and there must be one");
    }
    Ok(visits)
}

/// Whether a client was asked for a visit before and its user will not make it: then asking again is of no use.
fn refuses(key: &str, answer: &str) -> bool {
    key.starts_with(KEY) && !matches!(scan::pick(answer, ["action"]), Ok([Some(r#""accept""#)]))
}
