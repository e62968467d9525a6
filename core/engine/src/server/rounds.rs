//! Asking the client in the middle of a call: one model for host code, two eras on the wire.
//!
//! A running call [asks](Server::ask). A legacy client gets a request of ours for each question and the call waits. A
//! modern client takes no requests (2026-07-28 `basic/patterns/mrtr`): its request is answered with `input_required`, and it
//! sends the request again with the answers and the `requestState` that we gave it. What host code does meanwhile is its
//! choice, [`Reentry`]:
//!
//! - **Replay**: it ends, and runs again with the retry; the answers so far travel in the state. Nothing is kept here, so
//!   any node that has the key can serve the retry.
//! - **Held**: it waits in this process, and the retry is bound to it. For code that must not run twice.
//!
//! A round can also be written by hand ([`super::Reply::InputRequired`]): then host code is called again with the answers,
//! in both eras.
//!
//! | the call's client | how it asked | what waits | how it goes on |
//! |---|---|---|---|
//! | legacy | `ask` | [`Waiting`] in the record | [`Event::Answers`] |
//! | legacy | by hand | [`Waiting`] in the record | the call is given to host code again |
//! | modern | `ask`, replay | nothing | the retry is a call like any other, with [`Rounds::known`] |
//! | modern | `ask`, held | [`Waiting`] in the record, and its [`Hold`] | the retry is bound; [`Event::Answers`] |
//! | modern | by hand | nothing | the retry is a call like any other, with what was answered |

use super::event::{AskKey, Event, Millis, OutgoingError, OutgoingKey, RequestKey, StreamId};
use super::request::{Refusal, Request};
use super::state::{AskedBefore, Known, State, Ticket};
use super::stream::{Stream, Via};
use super::{CancelReason, Server, reply};
use crate::error::{LocalError, PeerError};
use crate::jsonrpc::digest::Digester;
use crate::jsonrpc::{scan, write};
use crate::wire::Revision;
use crate::wire::input::Question;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::sync::Arc;

/// One thing that a running call asks of its client.
#[derive(Clone, Copy, Debug)]
pub struct InputRequest<'a> {
    /// By which its answer is found again, unique within the call; empty for one by the order in which host code asks,
    /// which must then be the same in every run.
    pub key: &'a str,
    /// `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: &'a str,
    /// The parameters, as the JSON of an object in the newest revision's form.
    pub params: &'a str,
}

/// What becomes of host code while a modern client is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reentry {
    /// It ends now and runs again with the client's retry; what was answered is there then.
    #[default]
    Replay,
    /// It waits in this process until the client's retry.
    Held,
}

/// What has come of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// It was answered in an earlier round: the results in the order asked, as JSON text.
    Answered(Vec<String>),
    /// The answers come as [`Event::Answers`].
    Waiting(AskKey),
    /// The client is asked, and this run of the call is over: host code has to end, and nothing that it still says is used.
    Suspended,
}

/// What a call has asked and been told.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    /// Answers of earlier rounds, for a call that runs again.
    pub(super) known: Vec<Known>,
    /// What host code waits for.
    pub(super) waiting: Vec<Waiting>,
    /// The modern request is answered, and the call waits for the client's retry.
    pub(super) hold: Option<Hold>,
    /// Questions of this run that host code gave no key.
    named: u32,
    /// How often the client was asked, over all retries.
    pub(super) count: u32,
    /// An answer that host code gave while no request was there to be answered: what follows the id.
    pub(super) parked: Option<String>,
}

/// A call that waits for a retry.
#[derive(Debug)]
pub(super) struct Hold {
    /// What the retry has to bring.
    pub(super) token: [u8; 16],
}

/// Some questions that are waited for together.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) owner: Owner,
    pub(super) questions: Vec<Open>,
}

/// Who waits.
#[derive(Debug)]
pub(super) enum Owner {
    /// Host code that runs.
    Ask(AskKey),
    /// A round by hand, with host code's own state.
    Hand(Option<String>),
}

/// A question and, when it is there, its answer.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) key: String,
    pub(super) question: Question,
    /// Under which a legacy client was asked.
    pub(super) outgoing: Option<OutgoingKey>,
    pub(super) answer: Option<Result<String, OutgoingError>>,
}

impl Open {
    /// An answer of the client, if it is one to this question.
    pub(super) fn check(&self, result: String) -> Result<String, OutgoingError> {
        match self.question.kind.check_answer(&result) {
            Ok(()) => Ok(result),
            Err(reason) => Err(OutgoingError::Invalid(reason)),
        }
    }
}

/// What a request that may be a retry turns out to be.
pub(super) enum Resumed {
    /// A call to run, with what was answered before.
    Run(Option<Box<Resumption>>),
    /// It was bound to the call that waited for it.
    Bound,
    /// A call to run if no other process has opened its state.
    Unsure(Ticket, Box<Resumption>),
}

/// What a retry brings.
pub(super) struct Resumption {
    pub(super) rounds: Rounds,
    pub(super) by_hand: ByHand,
}

/// What host code that writes its rounds by hand gets to see.
#[derive(Clone, Debug, Default)]
pub(crate) struct ByHand {
    /// The JSON of an object: key and result of what was asked.
    pub(crate) responses: Option<String>,
    /// Host code's own state.
    pub(crate) state: Option<String>,
}

impl Server {
    /// Asks the client of a running call. `timeout_ms` bounds the wait for a legacy client, which else has
    /// `limits.outgoing_timeout_ms`; a modern client has `limits.held_ms` to come back to a held call.
    ///
    /// # Errors
    /// Nothing is asked, and the call goes on: [`LocalError::CapabilityNotDeclared`],
    /// [`LocalError::NoBackChannel`] where the client can't be asked or the call is over, [`LocalError::InputRequest`] for
    /// what the specification does not allow, [`LocalError::NotJson`], [`LocalError::Limit`].
    pub fn ask(
        &mut self,
        call: RequestKey,
        requests: &[InputRequest<'_>],
        reentry: Reentry,
        timeout_ms: Option<u64>,
        now: Millis,
    ) -> Result<Asked, LocalError> {
        let questions = self.questions(call, requests)?;
        let Some(record) = self.requests.get_mut(call) else { return Err(LocalError::NoBackChannel) };
        if record.run.is_some() {
            let key = self.next_ask();
            self.ask_in_task(call, Owner::Ask(key), questions, timeout_ms, now)?;
            return Ok(Asked::Waiting(key));
        }
        if !record.revision.is_modern() {
            let key = self.next_ask();
            self.ask_legacy(call, Owner::Ask(key), questions, timeout_ms, now)?;
            return Ok(Asked::Waiting(key));
        }
        if !record.method.known().is_some_and(|method| method.may_ask(record.revision)) {
            return Err(LocalError::NoBackChannel);
        }
        match reentry {
            // One that is held already has no request that could be answered.
            Reentry::Replay if !record.is_held() => self.ask_again(call, questions, now),
            Reentry::Replay | Reentry::Held => self.hold(call, questions, now),
        }
    }

    /// Checks what is to be asked.
    pub(super) fn questions(
        &mut self,
        call: RequestKey,
        requests: &[InputRequest<'_>],
    ) -> Result<Vec<Open>, LocalError> {
        let Some(record) = self.requests.get(call) else { return Err(LocalError::NoBackChannel) };
        let (revision, stream) = (record.revision, record.stream);
        let capabilities = match record.capabilities() {
            Some(own) => own.to_owned(),
            None => self.streams.get(&stream).and_then(Stream::capabilities).unwrap_or("{}").to_owned(),
        };
        let waits = |key: &str| {
            let waiting = record.rounds.iter().flat_map(|rounds| &rounds.waiting);
            waiting.flat_map(|waiting| &waiting.questions).any(|open| open.key == key)
        };
        if let Some(taken) = requests.iter().find(|request| waits(request.key)) {
            let reason = format!("the key {:?} is waited for already", taken.key);
            return Err(LocalError::InputRequest { method: taken.method.to_owned(), reason });
        }
        let mut open: Vec<Open> = Vec::with_capacity(requests.len());
        for request in requests {
            let params = reply::object("params", request.params)?;
            let key = match request.key {
                "" => self.next_name(call),
                key => key.to_owned(),
            };
            if open.iter().any(|other| other.key == key) {
                let reason = format!("the key {key:?} is there twice");
                return Err(LocalError::InputRequest { method: request.method.to_owned(), reason });
            }
            let mut id = [0; 16];
            if !revision.is_modern() {
                self.entropy()?.fill(&mut id);
            }
            let question =
                Question::new(request.method, params, &capabilities, revision, || URL_SAFE_NO_PAD.encode(id))?;
            open.push(Open { key, question, outgoing: None, answer: None });
        }
        if open.is_empty() {
            let reason = "there is nothing to ask".to_owned();
            return Err(LocalError::InputRequest { method: String::new(), reason });
        }
        Ok(open)
    }

    /// A key for a question that host code gave none.
    fn next_name(&mut self, call: RequestKey) -> String {
        let rounds = self.requests.get_mut(call).map(|record| record.rounds.get_or_insert_default());
        let number = rounds.map_or(0, |rounds| {
            rounds.named += 1;
            rounds.named
        });
        format!("input-{number}")
    }

    pub(super) fn next_ask(&mut self) -> AskKey {
        let key = AskKey(self.next_ask);
        self.next_ask += 1;
        key
    }

    /// Sends each question as a request of ours.
    pub(super) fn ask_legacy(
        &mut self,
        call: RequestKey,
        owner: Owner,
        mut questions: Vec<Open>,
        timeout_ms: Option<u64>,
        now: Millis,
    ) -> Result<(), LocalError> {
        let Some((stream, via)) = self.requests.get(call).map(|record| (record.stream, record.via)) else {
            return Err(LocalError::NoBackChannel);
        };
        for open in &mut questions {
            let question = &open.question;
            let params = question.params.as_deref();
            let asked = self.asked(via, Some(call), timeout_ms, now);
            let sent = self.send_request(stream, question.kind.method(), params, asked);
            match sent {
                Ok(key) => open.outgoing = Some(key),
                Err(error) => {
                    // What was asked already is taken back: nothing is half asked.
                    for key in questions.iter().filter_map(|open| open.outgoing) {
                        self.abandon(key, None);
                    }
                    return Err(error);
                }
            }
        }
        if let Some(record) = self.requests.get_mut(call) {
            record.rounds.get_or_insert_default().waiting.push(Waiting { owner, questions });
        }
        Ok(())
    }

    /// A legacy client has answered one of the questions of a call, or will not.
    pub(super) fn answered(&mut self, call: RequestKey, key: OutgoingKey, outcome: Result<String, OutgoingError>) {
        let Some(rounds) = self.requests.get_mut(call).and_then(|record| record.rounds.as_mut()) else { return };
        let questions = rounds.waiting.iter_mut().flat_map(|waiting| &mut waiting.questions);
        let Some(open) = questions.into_iter().find(|open| open.outgoing == Some(key)) else { return };
        open.outgoing = None;
        open.answer = Some(outcome.and_then(|result| open.check(result)));
        let (name, answer) = (open.key.clone(), open.answer.clone());
        let result = answer.as_ref().and_then(|answer| answer.as_deref().ok());
        self.answered_in_task(call, &name, result);
        self.deliver(call);
    }

    /// Gives host code what is answered in full.
    pub(super) fn deliver(&mut self, call: RequestKey) {
        let Some(rounds) = self.requests.get_mut(call).and_then(|record| record.rounds.as_mut()) else { return };
        let done = |waiting: &Waiting| waiting.questions.iter().all(|open| open.answer.is_some());
        let complete: Vec<_> = rounds.waiting.extract_if(.., |waiting| done(waiting)).collect();
        for waiting in complete {
            let answers = waiting.questions.into_iter().filter_map(|open| Some((open.key, open.answer?)));
            match waiting.owner {
                Owner::Ask(ask) => {
                    let answers = answers.map(|(_, answer)| answer).collect();
                    self.event(Event::Answers { ask, call, answers });
                }
                Owner::Hand(state) => self.call_again(call, answers.collect(), state),
            }
        }
    }

    /// Replay: answers what is known, or ends this run of the call by asking.
    fn ask_again(&mut self, call: RequestKey, questions: Vec<Open>, now: Millis) -> Result<Asked, LocalError> {
        let Some(record) = self.requests.get_mut(call) else { return Err(LocalError::NoBackChannel) };
        let known = record.rounds.as_ref().map(|rounds| rounds.known.as_slice()).unwrap_or_default();
        let answer = |open: &Open| {
            let known = known.iter().find(|known| known.key == open.key && known.digest == digest(&open.question))?;
            // An answer that does not fit is as good as none: the client is asked again.
            let answer = known.answer.get();
            open.question.kind.check_answer(answer).is_ok().then(|| answer.to_owned())
        };
        let answers: Vec<_> = questions.iter().map(answer).collect();
        if let Some(answers) = answers.iter().cloned().collect() {
            return Ok(Asked::Answered(answers));
        }
        let missing: Vec<_> =
            questions.into_iter().zip(answers).filter(|(_, answer)| answer.is_none()).map(|(open, _)| open).collect();
        let asked = missing.iter().map(|open| AskedBefore { key: open.key.clone(), digest: digest(&open.question) });
        let state = State { asked: asked.collect(), ..State::default() };
        self.suspend(call, &missing, state, now)?;
        self.event(Event::Cancelled { key: call, reason: CancelReason::Suspended });
        Ok(Asked::Suspended)
    }

    /// Answers a request with questions and a state; host code's run is over.
    pub(super) fn suspend(
        &mut self,
        call: RequestKey,
        questions: &[Open],
        mut state: State,
        now: Millis,
    ) -> Result<(), LocalError> {
        let Some(record) = self.requests.get_mut(call) else { return Err(LocalError::NoBackChannel) };
        if let Some(rounds) = &mut record.rounds {
            state.count = rounds.count;
            // An answer that is asked for again is no good any more.
            let asked_again = |known: &&Known| questions.iter().any(|open| open.key == known.key);
            state.known.extend(rounds.known.iter().filter(|known| !asked_again(known)).cloned());
        }
        let sealed = self.seal_state(call, state, now)?;
        let Some(record) = self.settle(call) else { return Err(LocalError::NoBackChannel) };
        let requests = input_requests(questions.iter());
        self.send_input_required(record.stream, record.via, &record.id, record.revision, &requests, &sealed);
        self.check_drained(record.stream);
        Ok(())
    }

    pub(super) fn send_input_required(
        &mut self,
        stream: StreamId,
        via: Via,
        id: &str,
        revision: Revision,
        requests: &str,
        state: &str,
    ) {
        let stamp = Arc::clone(&self.stamp);
        self.send_answer(stream, via, |out| {
            write::open_result(out, id);
            out.push_str(r#"{"resultType":"input_required""#);
            if !requests.is_empty() {
                out.push_str(r#","inputRequests":"#);
                out.push_str(requests);
            }
            out.push_str(r#","requestState":"#);
            write::string(out, state);
            stamp.close(out, None, revision);
            out.push_str("}}");
        });
    }

    /// Looks whether a request is a retry, and of what.
    ///
    /// # Errors
    /// For a state that was changed, is over, was used before or belongs to another request or principal: -32602.
    pub(super) fn resume(&mut self, request: &Request<'_>, now: Millis) -> Result<Resumed, Refusal> {
        let wrong = |reason: &str| PeerError::invalid_params(format!("Invalid params: {reason}"));
        let responses = match request.params.input_responses {
            None | Some("null") => "{}",
            Some(responses) if scan::is_object(responses) => responses,
            Some(_) => return Err(wrong("inputResponses must be an object")),
        };
        let Some(text) = request.params.request_state.filter(|state| *state != "null") else {
            // Without a state nothing was asked here. Host code that writes its rounds by hand may know what it is an answer to.
            let given = scan::members(responses).next().is_some();
            return Ok(Resumed::Run(given.then(|| {
                let by_hand = ByHand { responses: Some(responses.to_owned()), state: None };
                Box::new(Resumption { rounds: Rounds::default(), by_hand })
            })));
        };
        let text = scan::plain_string(text).ok_or_else(|| wrong("requestState must be a string"))?;
        if self.host_owns_states() && !super::seal::Seal::is_ours(&text) {
            return Ok(Resumed::Run(None));
        }
        let (state, ticket) = self.open_state(request, &text, now)?;
        if let Some((call, token)) = &state.held {
            return self.bind(request, RequestKey(*call), token, responses, now).map(|()| Resumed::Bound);
        }
        let mut known = state.known;
        let mut given = String::from("{");
        for (key, answer) in scan::members(responses) {
            let Some(name) = scan::plain_string(key) else { continue };
            // What was not asked is ignored (`basic/patterns/mrtr`, "Error Handling").
            let Some(asked) = state.asked.iter().find(|asked| asked.key == name) else { continue };
            let separator = if given.len() > 1 { "," } else { "" };
            given.push_str(&format!("{separator}{key}:{answer}"));
            if let Some(answer) = Known::new(&name, asked.digest.clone(), answer) {
                known.push(answer);
            }
        }
        given.push('}');
        let rounds = Rounds { known, count: state.count, ..Rounds::default() };
        let by_hand = ByHand { responses: Some(given), state: state.host };
        let resumption = Box::new(Resumption { rounds, by_hand });
        Ok(match ticket {
            Some(ticket) => Resumed::Unsure(ticket, resumption),
            None => Resumed::Run(Some(resumption)),
        })
    }
}

/// The value of `inputRequests`; empty where nothing is asked.
pub(super) fn input_requests<'a>(questions: impl Iterator<Item = &'a Open>) -> String {
    let mut out = String::new();
    for open in questions {
        out.push(if out.is_empty() { '{' } else { ',' });
        write::string(&mut out, &open.key);
        out.push_str(r#":{"method":"#);
        write::string(&mut out, open.question.kind.method());
        if let Some(params) = &open.question.params {
            out.push_str(r#","params":"#);
            out.push_str(params);
        }
        out.push('}');
    }
    if !out.is_empty() {
        out.push('}');
    }
    out
}

pub(super) fn digest(question: &Question) -> String {
    let mut digester = Digester::default();
    digester.text(question.kind.method());
    digester.json(question.params.as_deref().unwrap_or("{}"));
    URL_SAFE_NO_PAD.encode(&digester.finish()[..16])
}
