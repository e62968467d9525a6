//! What every handler of the Rust door can do while it runs: tell the client something, and ask it something.

use crate::endpoint::Endpoint;
use crate::extension::declared;
use crate::middleware::TraceContext;
use crate::questions::{AskError, Asking, Elicited, Root};
use ferromcp_engine::{Call, CancelReason, InputRequest, LogLevel, Reentry};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What all handlers can do while they run.
pub struct Context<'a> {
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) call: &'a Call,
    pub(crate) reentry: Reentry,
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

    /// Ends the connection of this call's stream over HTTP, and not the call: a legacy client comes back for the rest when the
    /// time that it is told is over (2025-11-25 `basic/transports`, "Sending Messages to the Server"). False: there is no
    /// stream that could be opened again, and nothing has changed.
    pub fn close_sse_stream(&self) -> bool {
        self.endpoint.close_sse_stream(self.call.key).unwrap_or(false)
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

    /// What [`Context::elicit`] and its like do, with a key, or a time for the answer: `call.asking().key("who").elicit(...)`.
    pub fn asking(&self) -> Asking<'_> {
        Asking::new(self)
    }

    /// Asks the user by a form (`client/elicitation`). `schema` is the JSON Schema of the form, a flat object of primitive
    /// properties. Blocks until there is an answer; other calls go on meanwhile.
    ///
    /// # Errors
    /// [`AskError`]. Hand it on with `?`: a handler that is suspended must end.
    pub fn elicit<T: DeserializeOwned>(&self, message: &str, schema: &str) -> Result<Elicited<T>, AskError> {
        self.asking().elicit(message, schema)
    }

    /// Asks the user to visit a URL, for what must not go through the client (`client/elicitation`, "URL Mode"). Accepting
    /// means that the user agreed to go there, not that anything was done there. As [`Context::elicit`].
    ///
    /// # Errors
    /// [`AskError`].
    pub fn elicit_url(&self, message: &str, url: &str) -> Result<Elicited<()>, AskError> {
        self.asking().elicit_url(message, url)
    }

    /// Asks the client's language model (`client/sampling`). `params` is a `CreateMessageRequest`'s parameters in the newest
    /// revision's form: `messages`, `maxTokens`, and what else is wanted. The result is a `CreateMessageResult`.
    ///
    /// # Errors
    /// [`AskError`].
    pub fn sample<T: DeserializeOwned>(&self, params: impl Serialize) -> Result<T, AskError> {
        self.asking().sample(params)
    }

    /// Asks which folders and files the client works on (`client/roots`).
    ///
    /// # Errors
    /// [`AskError`].
    pub fn list_roots(&self) -> Result<Vec<Root>, AskError> {
        self.asking().list_roots()
    }

    /// Asks several things in one round; each result is the JSON that the client gave, in the order asked.
    ///
    /// # Errors
    /// [`AskError`]: the first question that has no answer.
    pub fn ask(&self, requests: &[InputRequest<'_>]) -> Result<Vec<String>, AskError> {
        self.asking().ask(requests)
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
}
