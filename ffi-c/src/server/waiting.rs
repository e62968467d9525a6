//! Requests to the client that wait for their answers, and what gets those.

use crate::error::Error;
use crate::guard;
use crate::handle;
use crate::handler::{Destroy, UserData};
use crate::text::Text;
use ferromcp_engine::{OutgoingError, OutgoingKey};
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

/// What became of a request to the client. It belongs to the library and lives until the handler returns.
#[derive(Debug)]
pub struct Response(Result<String, OutgoingError>);

/// Takes the answer to a request of fmcp_call_request().
pub type ResponseHandler = Option<unsafe extern "C" fn(response: *const Response, user_data: *mut c_void)>;

/// How a request to the client ended. Numbers are never reused.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// No response: the handle was NULL.
    None = 0,
    /// With a result.
    Result = 1,
    /// With an error of the client's.
    Error = 2,
    /// There was no answer in time.
    TimedOut = 3,
    /// The client is gone.
    Closed = 4,
    /// With a result that is not what was asked for.
    Invalid = 5,
}

impl Outcome {
    pub(crate) fn of(outcome: &Result<String, OutgoingError>) -> Self {
        match outcome {
            Ok(_) => Self::Result,
            Err(OutgoingError::Peer(_)) => Self::Error,
            Err(OutgoingError::TimedOut) => Self::TimedOut,
            Err(OutgoingError::Closed) => Self::Closed,
            Err(OutgoingError::Invalid(_)) => Self::Invalid,
        }
    }
}

/// A handler that waits for one answer.
#[derive(Debug)]
pub(crate) struct Responder {
    function: unsafe extern "C" fn(*const Response, *mut c_void),
    user_data: UserData,
}

impl Responder {
    /// Refuses a missing function, and leaves the user data to the caller then.
    pub(crate) fn new(function: ResponseHandler, user_data: *mut c_void, destroy: Destroy) -> Result<Self, Error> {
        let function = function.ok_or_else(|| Error::argument("handler is NULL"))?;
        Ok(Self { function, user_data: UserData::new(user_data, destroy) })
    }
}

/// The requests of one server or engine; None once that was freed.
#[derive(Debug)]
pub(crate) struct Waiting(Mutex<Option<HashMap<OutgoingKey, Responder>>>);

impl Default for Waiting {
    fn default() -> Self {
        Self(Mutex::new(Some(HashMap::new())))
    }
}

impl Waiting {
    /// Sends a request, and keeps its responder until the answer is there. Where `send` fails the responder's user data
    /// stays the caller's.
    pub(crate) fn ask(
        &self,
        mut responder: Responder,
        send: impl FnOnce() -> Result<OutgoingKey, Error>,
    ) -> Result<(), Error> {
        // Held while it is sent, so that the answer can't be quicker than we are.
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = match &mut *waiting {
            Some(waiting) => send().map(|key| (waiting, key)),
            None => Err(Error::state("the server of this call was freed")),
        };
        let (waiting, key) = sent.inspect_err(|_| responder.user_data.give_back())?;
        waiting.insert(key, responder);
        Ok(())
    }

    /// There will be no answers any more. What waits may hold calls, which hold this: so nobody else ends it.
    pub(crate) fn give_up(&self) {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(waiting);
    }

    /// Gives an answer to whoever waits for it.
    pub(crate) fn answered(&self, key: OutgoingKey, outcome: Result<String, OutgoingError>) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let responder = if let Some(waiting) = &mut *waiting { waiting.remove(&key) } else { None };
        drop(waiting);
        if let Some(responder) = responder {
            let response = Response(outcome);
            // SAFETY: the caller's function with the caller's pointer, and a response that outlives the call.
            unsafe { (responder.function)(&response, responder.user_data.pointer) };
        }
    }
}

/// How the request ended; FMCP_OUTCOME_NONE for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_response_outcome(response: *const Response) -> Outcome {
    guard::value(Outcome::None, || {
        // SAFETY: a live response or null, by the header's contract.
        unsafe { handle::borrow(response) }.map_or(Outcome::None, |response| Outcome::of(&response.0))
    })
}

/// The result as JSON text, as the client wrote it; none without one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_response_result(response: *const Response) -> Text {
    guard::value(Text::NONE, || {
        // SAFETY: a live response or null, by the header's contract.
        let response = unsafe { handle::borrow(response) };
        Text::of_option(response.and_then(|response| response.0.as_deref().ok()))
    })
}

/// The code of the client's error; 0 without one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_response_error_code(response: *const Response) -> i64 {
    guard::value(0, || {
        // SAFETY: a live response or null, by the header's contract.
        match unsafe { handle::borrow(response) } {
            Some(Response(Err(OutgoingError::Peer(error)))) => error.code,
            _ => 0,
        }
    })
}

/// The message of the client's error; none without one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_response_error_message(response: *const Response) -> Text {
    guard::value(Text::NONE, || {
        // SAFETY: a live response or null, by the header's contract.
        match unsafe { handle::borrow(response) } {
            Some(Response(Err(OutgoingError::Peer(error)))) => Text::of(&error.message),
            _ => Text::NONE,
        }
    })
}
