//! Questions of a handler in Rust to its client: how they are put, and what comes back.

use crate::asking::Answered;
use crate::call::ToolError;
use crate::context::Context;
use crate::options::Error;
use ferromcp_engine::{CancelReason, InputRequest, LocalError, OutgoingError, PeerError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::fmt;
use std::time::Duration;

/// A question that is about to be put: [`Context::asking`].
///
/// ```
/// use ferromcp::{Elicited, ToolCall, ToolError};
/// use std::time::Duration;
///
/// fn confirmed(call: &ToolCall<'_>) -> Result<bool, ToolError> {
///     let form = r#"{"type": "object", "properties": {"sure": {"type": "boolean"}}}"#;
///     let answer = call.asking().key("sure").timeout(Duration::from_secs(60));
///     Ok(matches!(answer.elicit::<serde_json::Value>("Sure?", form)?, Elicited::Accept(said) if said["sure"] == true))
/// }
/// ```
#[derive(Clone, Copy)]
pub struct Asking<'a> {
    context: &'a Context<'a>,
    key: &'a str,
    timeout_ms: Option<u64>,
}

impl<'a> Asking<'a> {
    pub(crate) fn new(context: &'a Context<'a>) -> Self {
        Self { context, key: "", timeout_ms: None }
    }

    /// Tells this question from others of the same call. Without a key the order of asking does, which must then be the same
    /// in every run of the handler.
    #[must_use]
    pub fn key(mut self, key: &'a str) -> Self {
        self.key = key;
        self
    }

    /// Bounds the wait for a legacy client, in the place of `limits.outgoingTimeoutMs`. A modern one comes back in its own time.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout_ms = Some(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// As [`Context::elicit`].
    ///
    /// # Errors
    /// [`AskError`].
    pub fn elicit<T: DeserializeOwned>(self, message: &str, schema: &str) -> Result<Elicited<T>, AskError> {
        let requested_schema = serde_json::from_str(schema).map_err(AskError::unreadable)?;
        let answer = self.one("elicitation/create", &Form { message, requested_schema })?;
        let answer: ElicitAnswer = serde_json::from_str(&answer).map_err(AskError::unreadable)?;
        match answer.action.as_str() {
            "accept" => {
                let content = answer.content.as_ref().map_or("{}", |content| content.get());
                serde_json::from_str(content).map(Elicited::Accept).map_err(AskError::unreadable)
            }
            "decline" => Ok(Elicited::Decline),
            _ => Ok(Elicited::Cancel),
        }
    }

    /// As [`Context::elicit_url`].
    ///
    /// # Errors
    /// [`AskError`].
    pub fn elicit_url(self, message: &str, url: &str) -> Result<Elicited<()>, AskError> {
        let answer = self.one("elicitation/create", &Visit { mode: "url", message, url })?;
        let answer: ElicitAnswer = serde_json::from_str(&answer).map_err(AskError::unreadable)?;
        Ok(match answer.action.as_str() {
            "accept" => Elicited::Accept(()),
            "decline" => Elicited::Decline,
            _ => Elicited::Cancel,
        })
    }

    /// As [`Context::sample`].
    ///
    /// # Errors
    /// [`AskError`].
    pub fn sample<T: DeserializeOwned>(self, params: impl Serialize) -> Result<T, AskError> {
        let answer = self.one("sampling/createMessage", &params)?;
        serde_json::from_str(&answer).map_err(AskError::unreadable)
    }

    /// As [`Context::list_roots`].
    ///
    /// # Errors
    /// [`AskError`].
    pub fn list_roots(self) -> Result<Vec<Root>, AskError> {
        let answer = self.one("roots/list", &NoParams {})?;
        serde_json::from_str::<RootsAnswer>(&answer).map(|answer| answer.roots).map_err(AskError::unreadable)
    }

    /// As [`Context::ask`]: each request has its own key.
    ///
    /// # Errors
    /// [`AskError`]: the first question that has no answer.
    pub fn ask(self, requests: &[InputRequest<'_>]) -> Result<Vec<String>, AskError> {
        let Context { endpoint, call, reentry } = *self.context;
        match endpoint.ask_and_wait(call.key, requests, reentry, self.timeout_ms) {
            Ok(Answered::Answers(answers)) => {
                answers.into_iter().collect::<Result<_, _>>().map_err(|error| AskError(Failure::NoAnswer(error)))
            }
            Ok(Answered::Over(reason)) => Err(AskError(Failure::Over(reason))),
            Err(Error::Engine(LocalError::CapabilityNotDeclared(path))) => Err(AskError(Failure::Capability(path))),
            Err(error) => Err(AskError(Failure::NotAsked(error))),
        }
    }

    fn one(self, method: &str, params: &impl Serialize) -> Result<String, AskError> {
        let params = serde_json::to_string(params).map_err(AskError::unreadable)?;
        let mut answers = self.ask(&[InputRequest { key: self.key, method, params: &params }])?;
        Ok(answers.pop().unwrap_or_default())
    }
}

/// What a user said to a question. Declining and closing it are answers, not errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Elicited<T> {
    /// The user has given this.
    Accept(T),
    /// The user has said no.
    Decline,
    /// The user has closed the question.
    Cancel,
}

/// A folder or file that the client works on.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
pub struct Root {
    /// A `file://` URI.
    pub uri: String,
    /// What the user calls it.
    #[serde(default)]
    pub name: Option<String>,
}

/// Why a question has no answer.
#[derive(Debug)]
pub struct AskError(Failure);

#[derive(Debug)]
enum Failure {
    /// This run of the handler is over; it has to end.
    Over(CancelReason),
    Capability(&'static str),
    NoAnswer(OutgoingError),
    NotAsked(Error),
    Unreadable(serde_json::Error),
}

impl AskError {
    fn unreadable(error: serde_json::Error) -> Self {
        Self(Failure::Unreadable(error))
    }

    /// True where the client is asked and the handler runs again with its answer: this run has to end now.
    pub fn is_suspension(&self) -> bool {
        matches!(self.0, Failure::Over(CancelReason::Suspended))
    }

    /// The capability that the client would have to declare, where that is the reason.
    pub fn missing_capability(&self) -> Option<&'static str> {
        match self.0 {
            Failure::Capability(path) => Some(path),
            _ => None,
        }
    }
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Failure::Over(reason) => write!(f, "{reason}"),
            Failure::Capability(path) => write!(f, "the client has not declared the capability {path:?}"),
            Failure::NoAnswer(OutgoingError::Peer(error)) => write!(f, "the client answered with an error: {error}"),
            Failure::NoAnswer(OutgoingError::Invalid(reason)) => write!(f, "the client answered wrongly: {reason}"),
            Failure::NoAnswer(OutgoingError::TimedOut) => write!(f, "the client did not answer in time"),
            Failure::NoAnswer(OutgoingError::Closed) => write!(f, "the client is gone"),
            Failure::NotAsked(error) => write!(f, "the client could not be asked: {error}"),
            Failure::Unreadable(error) => write!(f, "{error}"),
        }
    }
}

// No `std::error::Error`: `?` has to turn it into a [`ToolError`] that keeps what it is.

impl From<AskError> for ToolError {
    fn from(error: AskError) -> Self {
        match error.missing_capability() {
            Some(path) => Self::capability(path),
            None => Self::new(error.to_string()),
        }
    }
}

impl From<AskError> for PeerError {
    fn from(error: AskError) -> Self {
        match error.missing_capability() {
            Some(path) => Self::missing_capability(path),
            None => Self::internal(error.to_string()),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Form<'a> {
    message: &'a str,
    requested_schema: &'a RawValue,
}

#[derive(Serialize)]
struct Visit<'a> {
    mode: &'a str,
    message: &'a str,
    url: &'a str,
}

#[derive(Serialize)]
struct NoParams {}

#[derive(serde::Deserialize)]
struct ElicitAnswer {
    action: String,
    #[serde(default)]
    content: Option<Box<RawValue>>,
}

#[derive(serde::Deserialize)]
struct RootsAnswer {
    roots: Vec<Root>,
}
