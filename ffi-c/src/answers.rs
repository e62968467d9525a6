//! What a client that was asked has answered: one object for all questions of a round, looked at by their numbers.

use crate::call::arguments::member;
use crate::guard;
use crate::handle;
use crate::server::waiting::Outcome;
use crate::text::Text;
use ferromcp_engine::OutgoingError;

/// The answers to the questions of one round, numbered from 0 in the order asked; a single question has number 0. Owned by
/// whoever received it; freed with fmcp_answers_free().
#[derive(Debug)]
pub struct Answers(pub(crate) runtime::Answers);

/// What a user did with a question (2026-07-28 `client/elicitation`, "Response Actions"). Numbers are never reused.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// There is no answer of this number, or it is none to an elicitation.
    None = 0,
    /// The user has answered; to a URL: has agreed to go there, which does not say that anything was done there.
    Accept = 1,
    /// The user has said no.
    Decline = 2,
    /// The user has closed the question.
    Cancel = 3,
}

impl Answers {
    fn result(&self, at: usize) -> Option<&str> {
        self.0.get(at)?.as_deref().ok()
    }

    fn error(&self, at: usize) -> Option<&OutgoingError> {
        let Err(error) = self.0.get(at)? else { return None };
        Some(error)
    }
}

/// How many answers there are; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_answers_count(answers: *const Answers) -> usize {
    // SAFETY: live answers or null, by the header's contract.
    guard::value(0, || unsafe { handle::borrow(answers) }.map_or(0, |answers| answers.0.len()))
}

/// How a question ended; FMCP_OUTCOME_NONE for NULL and for a number that is not there. What fmcp_call_ask() and its like give
/// are results alone; FMCP_EVENT_ANSWERS brings all kinds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_answers_outcome(answers: *const Answers, at: usize) -> Outcome {
    guard::value(Outcome::None, || {
        // SAFETY: live answers or null, by the header's contract.
        let answers = unsafe { handle::borrow(answers) };
        answers.and_then(|answers| answers.0.get(at)).map_or(Outcome::None, Outcome::of)
    })
}

/// What the user did with an elicitation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_answers_action(answers: *const Answers, at: usize) -> Action {
    guard::value(Action::None, || {
        // SAFETY: live answers or null, by the header's contract.
        let result = unsafe { handle::borrow(answers) }.and_then(|answers| answers.result(at));
        match result.and_then(|result| member(result, "action")) {
            Some(r#""accept""#) => Action::Accept,
            Some(r#""decline""#) => Action::Decline,
            Some(r#""cancel""#) => Action::Cancel,
            _ => Action::None,
        }
    })
}

/// What the user has filled in, as the JSON text of an object that fits the form's schema; none where there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_answers_content(answers: *const Answers, at: usize) -> Text {
    guard::value(Text::NONE, || {
        // SAFETY: live answers or null, by the header's contract.
        let result = unsafe { handle::borrow(answers) }.and_then(|answers| answers.result(at));
        let result = result.filter(|result| member(result, "action") == Some(r#""accept""#));
        Text::of_option(result.and_then(|result| member(result, "content")))
    })
}

/// The whole result as JSON text, as the client wrote it (an `ElicitResult`, `CreateMessageResult` or `ListRootsResult`); none
/// without one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_answers_result(answers: *const Answers, at: usize) -> Text {
    guard::value(Text::NONE, || {
        // SAFETY: live answers or null, by the header's contract.
        Text::of_option(unsafe { handle::borrow(answers) }.and_then(|answers| answers.result(at)))
    })
}

/// The code of the client's error; 0 without one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_answers_error_code(answers: *const Answers, at: usize) -> i64 {
    guard::value(0, || {
        // SAFETY: live answers or null, by the header's contract.
        match unsafe { handle::borrow(answers) }.and_then(|answers| answers.error(at)) {
            Some(OutgoingError::Peer(error)) => error.code,
            _ => 0,
        }
    })
}

/// The message of the client's error, or what is wrong with its result; none for other outcomes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_answers_error_message(answers: *const Answers, at: usize) -> Text {
    guard::value(Text::NONE, || {
        // SAFETY: live answers or null, by the header's contract.
        match unsafe { handle::borrow(answers) }.and_then(|answers| answers.error(at)) {
            Some(OutgoingError::Peer(error)) => Text::of(&error.message),
            Some(OutgoingError::Invalid(reason)) => Text::of(reason),
            Some(OutgoingError::TimedOut | OutgoingError::Closed) | None => Text::NONE,
        }
    })
}

/// Frees answers, and with them every text that was asked from them. NULL does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_answers_free(answers: *mut Answers) {
    // SAFETY: the caller gives up its handle, by the header's contract.
    guard::value((), || unsafe { handle::free(answers) });
}
