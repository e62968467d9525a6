//! What every handler of the Rust door can do while it runs: tell the client something, and ask it something.

use crate::asking::Answered;
use crate::call::ToolError;
use crate::endpoint::Endpoint;
use crate::extension::declared;
use crate::middleware::TraceContext;
use crate::options::Error;
use ferromcp_engine::{Call, CancelReason, InputRequest, LocalError, LogLevel, OutgoingError, PeerError, Reentry};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::fmt;

/// What all handlers can do while they run.
pub struct Context<'a> {
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) call: &'a Call,
    reentry: Reentry,
}

impl<'a> Context<'a> {
    pub(crate) fn new(endpoint: &'a Endpoint, call: &'a Call, reentry: Reentry) -> Self {
        Self { endpoint, call, reentry }
    }

    /// The request itself: its id, revision, client.
    pub fn request(&self) -> &Call {
        self.call
    }

    /// The trace that the request belongs to, as far as its client says.
    pub fn trace_context(&self) -> TraceContext {
        TraceContext::of(self.call)
    }

    /// The settings with which the client declares an extension, as the JSON of an object. None: it does not, so nothing of
    /// the extension may be used with it.
    pub fn client_extension(&self, name: &str) -> Option<String> {
        declared(self.call.client_capabilities_json(), name)
    }

    /// Sends a notification of an extension that belongs to this call. `params` becomes a JSON object. False: the call is
    /// over, or `params` is no object.
    pub fn notify(&self, method: &str, params: impl Serialize) -> bool {
        let Ok(params) = serde_json::to_string(&params) else { return false };
        self.endpoint.notify(self.call.key, method, Some(&params)).unwrap_or(false)
    }

    /// Tells the client how far this is, out of `total` where that is known. False: it has not asked, or the value has
    /// not risen, or the call is over. Of a task the client reads `message` as its status message.
    pub fn report_progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) -> bool {
        // Numbers that JSON lacks are not sent.
        self.endpoint.progress(self.call.key, progress, total, message).unwrap_or(false)
    }

    /// Sends the client a log message, if it wants one of this level.
    pub fn log(&self, level: LogLevel, data: impl Serialize) -> bool {
        let Ok(data) = serde_json::to_string(&data) else { return false };
        self.endpoint.log(self.call.key, level, None, &data).unwrap_or(false)
    }

    /// True as soon as nobody waits for the answer: a handler that takes its time should look now and then, and return.
    pub fn is_cancelled(&self) -> bool {
        self.endpoint.is_cancelled(self.call.key)
    }

    /// Why that is so: the client's reason, if it gave one, is in it.
    pub fn cancel_reason(&self) -> Option<CancelReason> {
        self.endpoint.cancel_reason(self.call.key)
    }

    /// The id of the task that this call is; None where it is none. A call of a tool whose definition says
    /// `"execution": {"taskSupport": "optional"}` or `"required"` is a task from the beginning, for clients that take tasks;
    /// any tool's may become one by [`Context::begin_task`].
    pub fn task_id(&self) -> Option<String> {
        self.endpoint.task_id(self.call.key)
    }

    /// Turns this call into a task, if its client takes tasks for answers (extension `io.modelcontextprotocol/tasks`): the
    /// client gets the task at once, and what the handler returns later is the task's result. What has to be asked first is
    /// best asked before. Blocks until the task is kept; its id, or None where the call goes on without: the client does not
    /// take tasks, or they can't be kept.
    pub fn begin_task(&self) -> Option<String> {
        self.endpoint.begin_task_and_wait(self.call.key).unwrap_or_default()
    }

    /// Asks the user by a form (`client/elicitation`). `schema` is the JSON Schema of the form, a flat object of primitive
    /// properties. Blocks until there is an answer; other calls go on meanwhile.
    ///
    /// # Errors
    /// [`AskError`]. Hand it on with `?`: a handler that is suspended must end.
    pub fn elicit<T: DeserializeOwned>(&self, message: &str, schema: &str) -> Result<Elicited<T>, AskError> {
        let params = Form { message, requested_schema: raw(schema)? };
        let answer = self.ask_one("elicitation/create", &params)?;
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

    /// Asks the user to visit a URL, for what must not go through the client (`client/elicitation`, "URL Mode"). Accepting
    /// means that the user agreed to go there, not that anything was done there. As [`Context::elicit`].
    ///
    /// # Errors
    /// [`AskError`].
    pub fn elicit_url(&self, message: &str, url: &str) -> Result<Elicited<()>, AskError> {
        let answer = self.ask_one("elicitation/create", &Visit { mode: "url", message, url })?;
        let answer: ElicitAnswer = serde_json::from_str(&answer).map_err(AskError::unreadable)?;
        Ok(match answer.action.as_str() {
            "accept" => Elicited::Accept(()),
            "decline" => Elicited::Decline,
            _ => Elicited::Cancel,
        })
    }

    /// Asks the client's language model (`client/sampling`). `params` is a `CreateMessageRequest`'s parameters in the newest
    /// revision's form: `messages`, `maxTokens`, and what else is wanted. The result is a `CreateMessageResult`.
    ///
    /// # Errors
    /// [`AskError`].
    pub fn sample<T: DeserializeOwned>(&self, params: impl Serialize) -> Result<T, AskError> {
        let answer = self.ask_one("sampling/createMessage", &params)?;
        serde_json::from_str(&answer).map_err(AskError::unreadable)
    }

    /// Asks which folders and files the client works on (`client/roots`).
    ///
    /// # Errors
    /// [`AskError`].
    pub fn list_roots(&self) -> Result<Vec<Root>, AskError> {
        let answer = self.ask_one("roots/list", &NoParams {})?;
        serde_json::from_str::<RootsAnswer>(&answer).map(|answer| answer.roots).map_err(AskError::unreadable)
    }

    /// Asks several things in one round; each result is the JSON that the client gave, in the order asked.
    ///
    /// # Errors
    /// [`AskError`]: the first question that has no answer.
    pub fn ask(&self, requests: &[InputRequest<'_>]) -> Result<Vec<String>, AskError> {
        match self.endpoint.ask_and_wait(self.call.key, requests, self.reentry, None) {
            Ok(Answered::Answers(answers)) => {
                answers.into_iter().collect::<Result<_, _>>().map_err(|error| AskError(Failure::NoAnswer(error)))
            }
            Ok(Answered::Over(reason)) => Err(AskError(Failure::Over(reason))),
            Err(Error::Engine(LocalError::CapabilityNotDeclared(path))) => Err(AskError(Failure::Capability(path))),
            Err(error) => Err(AskError(Failure::NotAsked(error))),
        }
    }

    /// What the client has answered to the round that this handler wrote by hand before ([`ToolOutput::input_required`] and
    /// its like): the JSON of an object, key and result of what was asked. None: there was no such round, this is the first
    /// run. What is in it fits no schema for certain: that the key is there and the content is good is for the handler to
    /// see.
    ///
    /// [`ToolOutput::input_required`]: crate::ToolOutput::input_required
    pub fn input_responses(&self) -> Option<&str> {
        self.call.input_responses_json()
    }

    /// The state that was given with that round, as it was: nobody else has read or changed it.
    pub fn request_state(&self) -> Option<&str> {
        self.call.request_state()
    }

    fn ask_one(&self, method: &str, params: &impl Serialize) -> Result<String, AskError> {
        let params = serde_json::to_string(params).map_err(AskError::unreadable)?;
        let mut answers = self.ask(&[InputRequest { key: "", method, params: &params }])?;
        Ok(answers.pop().unwrap_or_default())
    }
}

fn raw(json: &str) -> Result<&RawValue, AskError> {
    serde_json::from_str(json).map_err(AskError::unreadable)
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
