//! Asking the client in the middle of a call: elicitation, sampling, roots.
//!
//! Which way a question takes, and what may be asked of whom, the engine decides. Here stands what C sees of it: in the
//! ready-made loop a handler waits, in a loop of one's own the answers are an event.

use super::{Call, json_string};
use crate::answers::Answers;
use crate::error::{Error, Status};
use crate::guard;
use crate::handle;
use crate::text::Text;
use ferromcp_engine::{self as engine, Asked};
use runtime::Answered;
use serde_json::value::RawValue;

/// One thing to ask of a client.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct InputRequest {
    /// By which its answer is found again, unique within the call. None: by the order in which the handler asks, which must
    /// then be the same in every run.
    pub key: Text,
    /// "elicitation/create", "sampling/createMessage" or "roots/list".
    pub method: Text,
    /// The parameters as the JSON text of an object, in the newest revision's form; or none.
    pub params: Text,
}

/// What becomes of a handler while a client of revision 2026-07-28 or later is asked. Numbers are never reused.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reentry {
    /// It returns, and runs again from its start when the client has answered; then every question that was answered is
    /// answered at once. Nothing is kept meanwhile, so any process with the same `stateKeys` can go on with it.
    Replay = 0,
    /// It waits, in this process and on its thread. For handlers that must not run twice.
    Held = 1,
}

/// Asks the user by a form, and waits for the answer; other calls go on meanwhile. Declining and closing the form are
/// answers. For handlers of the ready-made loop. FMCP_STATUS_SUSPENDED: return at once, the handler runs again.
///
/// \param message    what the user is asked
/// \param schema     the JSON Schema of the form: a flat object of primitive properties
/// \param key        as that of an fmcp_input_request, or none
/// \param timeout_ms how long a client of an older revision has, 0 for ever, a negative number: as `outgoingTimeoutMs` of the
///                   limits says. One of revision 2026-07-28 or later comes back in its own time
/// \param out        where to write the answer, which has number 0; required
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_elicit(
    call: *mut Call,
    message: Text,
    schema: Text,
    key: Text,
    timeout_ms: i64,
    out: *mut *mut Answers,
    err: *mut *mut Error,
) -> Status {
    let params = || {
        // SAFETY: readable bytes, by the header's contract.
        let (message, schema) = unsafe { (handle::text(message, "message")?, handle::text(schema, "schema")?) };
        // Looked at by itself, so that it can't bring members of its own into the parameters.
        serde_json::from_str::<&RawValue>(schema).map_err(|error| Error::argument(format!("schema: {error}")))?;
        Ok(format!(r#"{{"message":{},"requestedSchema":{schema}}}"#, json_string(message)?))
    };
    // SAFETY: passed on from our caller.
    unsafe { ask_one(call, "elicitation/create", params, key, timeout_ms, out, err) }
}

/// Asks the user to visit a URL, for what must not go through the client: credentials, payments. Accepting means that the user
/// agreed to go there. As fmcp_call_elicit().
///
/// \param message    why the user should go there
/// \param url        where
/// \param key        as that of an fmcp_input_request, or none
/// \param timeout_ms as that of fmcp_call_elicit()
/// \param out        where to write the answer, which has number 0; required
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_elicit_url(
    call: *mut Call,
    message: Text,
    url: Text,
    key: Text,
    timeout_ms: i64,
    out: *mut *mut Answers,
    err: *mut *mut Error,
) -> Status {
    let params = || {
        // SAFETY: readable bytes, by the header's contract.
        let (message, url) = unsafe { (handle::text(message, "message")?, handle::text(url, "url")?) };
        Ok(format!(r#"{{"mode":"url","message":{},"url":{}}}"#, json_string(message)?, json_string(url)?))
    };
    // SAFETY: passed on from our caller.
    unsafe { ask_one(call, "elicitation/create", params, key, timeout_ms, out, err) }
}

/// Asks the client's language model, and waits for what it says. As fmcp_call_elicit().
///
/// \param params the JSON text of a `CreateMessageRequest`'s parameters: `messages`, `maxTokens`, and what else is wanted
/// \param key        as that of an fmcp_input_request, or none
/// \param timeout_ms as that of fmcp_call_elicit()
/// \param out        where to write the answer, which has number 0 and a `CreateMessageResult`; required
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_sample(
    call: *mut Call,
    params: Text,
    key: Text,
    timeout_ms: i64,
    out: *mut *mut Answers,
    err: *mut *mut Error,
) -> Status {
    // SAFETY: readable bytes, by the header's contract.
    let params = || Ok(unsafe { handle::text(params, "params") }?.to_owned());
    // SAFETY: passed on from our caller.
    unsafe { ask_one(call, "sampling/createMessage", params, key, timeout_ms, out, err) }
}

/// Asks which folders and files the client works on. As fmcp_call_elicit().
///
/// \param key        as that of an fmcp_input_request, or none
/// \param timeout_ms as that of fmcp_call_elicit()
/// \param out        where to write the answer, which has number 0 and a `ListRootsResult`; required
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_list_roots(
    call: *mut Call,
    key: Text,
    timeout_ms: i64,
    out: *mut *mut Answers,
    err: *mut *mut Error,
) -> Status {
    // SAFETY: passed on from our caller.
    unsafe { ask_one(call, "roots/list", || Ok("{}".to_owned()), key, timeout_ms, out, err) }
}

/// Asks several things in one round. As fmcp_call_elicit(); FMCP_STATUS_NO_ANSWER is about the first question that has none.
///
/// \param requests   what to ask
/// \param count      how many there are, at least one
/// \param timeout_ms as that of fmcp_call_elicit()
/// \param out        where to write the answers, numbered in the order of `requests`; required
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_ask(
    call: *mut Call,
    requests: *const InputRequest,
    count: usize,
    timeout_ms: i64,
    out: *mut *mut Answers,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: a live call or null, and readable requests, by the header's contract.
        let (call, requests) = unsafe { (handle::required(call, "call")?, read(requests, count)?) };
        handle::wanted(out, "out")?;
        let answers = call.ask(&requests, u64::try_from(timeout_ms).ok())?;
        // SAFETY: checked for null above, and writable by the header's contract.
        unsafe { handle::give(out, answers) };
        Ok(())
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Asks several things in one round and returns at once, in a loop of your own. Either the answers are there already (an
/// earlier run of the call has asked the same): then they are in `*answers`. Or `*answers` is NULL: the call goes on, and
/// they come with FMCP_EVENT_ANSWERS. FMCP_STATUS_SUSPENDED: this run of the call is over, let go of it; the client's next
/// request brings the call again, and the answers with it.
///
/// \param requests   what to ask
/// \param count      how many there are, at least one
/// \param reentry    an fmcp_reentry: whether this run of the call ends while a client of revision 2026-07-28 or later is asked
/// \param timeout_ms how long a client of an older revision has, 0 for ever, a negative number: as the limits say
/// \param ask        where to write the number of these questions, as fmcp_output_ask() tells it; required
/// \param answers    where to write the answers or NULL; required
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_begin_ask(
    call: *mut Call,
    requests: *const InputRequest,
    count: usize,
    reentry: i32,
    timeout_ms: i64,
    ask: *mut u64,
    answers: *mut *mut Answers,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: a live call or null, and readable requests, by the header's contract.
        let (call, requests) = unsafe { (handle::required(call, "call")?, read(requests, count)?) };
        handle::wanted(ask, "ask")?;
        handle::wanted(answers, "answers")?;
        let asked = call.begin_ask(&requests, reentry_of(reentry)?, u64::try_from(timeout_ms).ok())?;
        // SAFETY: both checked for null above, and writable by the header's contract.
        unsafe {
            match asked {
                Begun::Answered(known) => {
                    handle::put(ask, 0);
                    handle::give(answers, known);
                }
                Begun::Waiting(key) => {
                    handle::put(ask, key);
                    handle::put(answers, std::ptr::null_mut());
                }
            }
        }
        Ok(())
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// What has come of a question that nobody waits for here.
enum Begun {
    Answered(Answers),
    Waiting(u64),
}

impl Call {
    fn ask(&self, requests: &[engine::InputRequest<'_>], timeout_ms: Option<u64>) -> Result<Answers, Error> {
        self.check_open()?;
        match self.asked(self.line.ask(self.request.key, requests, timeout_ms))? {
            Answered::Answers(answers) => {
                for answer in &answers {
                    if let Err(error) = answer {
                        return Err(Error::no_answer(error));
                    }
                }
                Ok(Answers(answers))
            }
            Answered::Over(reason) => Err(Error::over(&reason)),
        }
    }

    fn begin_ask(
        &self,
        requests: &[engine::InputRequest<'_>],
        reentry: engine::Reentry,
        timeout_ms: Option<u64>,
    ) -> Result<Begun, Error> {
        self.check_open()?;
        match self.asked(self.line.begin_ask(self.request.key, requests, reentry, timeout_ms))? {
            Asked::Answered(answers) => Ok(Begun::Answered(Answers(answers.into_iter().map(Ok).collect()))),
            Asked::Waiting(key) => Ok(Begun::Waiting(key.0)),
            Asked::Suspended => Err(Error::over(&engine::CancelReason::Suspended)),
        }
    }

    fn check_open(&self) -> Result<(), Error> {
        if self.is_answered() { Err(Error::state("this call is answered already")) } else { Ok(()) }
    }

    /// What an attempt to ask came to. A call that is over can ask nobody, and says so rather than how it failed.
    fn asked<T>(&self, outcome: Result<T, Error>) -> Result<T, Error> {
        outcome.map_err(|error| {
            self.note_missing(&error);
            match self.line.cancel_reason(self.request.key) {
                Some(reason) if error.status == Status::State => Error::over(&reason),
                _ => error,
            }
        })
    }
}

/// The body of the exports that ask one thing.
///
/// # Safety
/// `call` is live or null, `key` readable, `out` and `err` null or writable.
unsafe fn ask_one(
    call: *mut Call,
    method: &str,
    params: impl FnOnce() -> Result<String, Error>,
    key: Text,
    timeout_ms: i64,
    out: *mut *mut Answers,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: passed on from our caller.
        let (call, key) = unsafe { (handle::required(call, "call")?, handle::optional_text(key, "key")?) };
        handle::wanted(out, "out")?;
        let params = params()?;
        let requests = [engine::InputRequest { key: key.unwrap_or_default(), method, params: &params }];
        let answers = call.ask(&requests, u64::try_from(timeout_ms).ok())?;
        // SAFETY: checked for null above, and writable by the header's contract.
        unsafe { handle::give(out, answers) };
        Ok(())
    };
    // SAFETY: passed on from our caller.
    unsafe { guard::status(err, body) }
}

/// What C wants to ask.
///
/// # Safety
/// `requests` is null or points to `count` requests, whose texts are readable as long as the result is used.
unsafe fn read<'a>(requests: *const InputRequest, count: usize) -> Result<Vec<engine::InputRequest<'a>>, Error> {
    // SAFETY: passed on from our caller.
    let requests = unsafe { handle::array(requests, count) };
    let requests = requests.ok_or_else(|| Error::argument("requests is NULL, or count is larger than any array"))?;
    let read = |request: &InputRequest| {
        // SAFETY: passed on from our caller.
        unsafe {
            Ok(engine::InputRequest {
                key: handle::optional_text(request.key, "key")?.unwrap_or_default(),
                method: handle::text(request.method, "method")?,
                params: handle::optional_text(request.params, "params")?.unwrap_or("{}"),
            })
        }
    };
    requests.iter().map(read).collect()
}

/// What C's number stands for.
pub(crate) fn reentry_of(reentry: i32) -> Result<engine::Reentry, Error> {
    match reentry {
        _ if reentry == Reentry::Replay as i32 => Ok(engine::Reentry::Replay),
        _ if reentry == Reentry::Held as i32 => Ok(engine::Reentry::Held),
        _ => Err(Error::argument("reentry is no fmcp_reentry")),
    }
}
