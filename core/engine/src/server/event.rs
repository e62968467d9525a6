//! What goes between the engine and host code: calls, events, replies.

use super::rounds::ByHand;
use super::tasks::StoreKey;
use super::watched::AnswerFacts;
use crate::error::PeerError;
use crate::jsonrpc::Id;
use crate::model::LogLevel;
use crate::tasks::StoreRequest;
use crate::wire::Revision;
use crate::wire::method::Method;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Milliseconds on a monotonic clock whose origin the caller chooses.
pub type Millis = u64;

/// Names one byte stream between a peer and this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId(pub u32);

/// Names one request of a peer that is being served. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestKey(pub u64);

/// Names one request of ours to a legacy peer. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OutgoingKey(pub u64);

/// Names some questions that a running call has asked together. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AskKey(pub u64);

/// What a message to a peer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// A notification, or a request of ours.
    Message,
    /// The answer to a request, or to a batch: the code of the error that it is, if it is one. Nothing follows in its lane.
    Answer(Option<i64>),
}

/// What the engine wants done, in order.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "calls are the common case; boxing them costs more than moving them")]
pub enum Output {
    /// Send these bytes; they are whole messages with their line ends.
    Transmit {
        /// Where to.
        stream: StreamId,
        /// Which answer of it, for a carrier that gives each request one of its own; 0 for the stream itself.
        lane: u32,
        /// What they are; of several messages, the last.
        sent: Sent,
        /// What.
        bytes: Vec<u8>,
    },
    /// A lane gets no answer: what it was for was cancelled, or was never a request.
    Unanswered {
        /// Of which stream.
        stream: StreamId,
        /// Which one.
        lane: u32,
    },
    /// Something host code has to know or do.
    Event(Event),
}

/// Something host code has to know or do.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "calls are the common case; boxing them costs more than moving them")]
#[non_exhaustive]
pub enum Event {
    /// Run host code and answer with `respond` or `fail`.
    Call(Call),
    /// Nobody waits for this call's answer any more.
    Cancelled {
        /// Which call.
        key: RequestKey,
        /// Why.
        reason: CancelReason,
    },
    /// Host code has answered a call, for whoever has asked to hear of it ([`crate::Server::watch_answers`]).
    Answered {
        /// Which call.
        key: RequestKey,
        /// How.
        answer: AnswerFacts,
    },
    /// A notification that the engine does not consume itself.
    Notification {
        /// From whom.
        stream: StreamId,
        /// Its method.
        method: String,
        /// Its parameters as written.
        params: Option<String>,
    },
    /// The end of a request of ours.
    Response {
        /// Which one.
        key: OutgoingKey,
        /// The result object as written, or why there is none.
        outcome: Result<String, OutgoingError>,
    },
    /// What a running call has asked is answered.
    Answers {
        /// Which questions.
        ask: AskKey,
        /// The call that asked.
        call: RequestKey,
        /// In the order asked: the client's result as written, or why there is none.
        answers: Vec<Result<String, OutgoingError>>,
    },
    /// A legacy client has said `notifications/initialized`.
    Initialized {
        /// Which connection.
        stream: StreamId,
    },
    /// A legacy connection is over: nothing can be sent on it any more.
    Closed {
        /// Which connection.
        stream: StreamId,
    },
    /// The first watcher of a resource on this stream.
    Subscribed {
        /// Which connection.
        stream: StreamId,
        /// The resource.
        uri: String,
    },
    /// The last watcher of a resource on this stream is gone.
    Unsubscribed {
        /// Which connection.
        stream: StreamId,
        /// The resource.
        uri: String,
    },
    /// A running call has become a task, as [`crate::Server::begin_task`] was asked for, or could not: it goes on without.
    TaskBegun {
        /// Which call.
        call: RequestKey,
        /// The task's id; None where there is none.
        id: Option<String>,
    },
    /// Something has to be done where tasks are kept; then [`crate::Server::stored`] wants to be told.
    Store {
        /// Under which it is told.
        op: StoreKey,
        /// What has to be done.
        request: StoreRequest,
    },
    /// Something that is worth a line in a log and changes nothing.
    Diagnostic(Diagnostic),
    /// After the end of input: everything is answered or given up. The stream can be closed.
    Drained {
        /// Which connection.
        stream: StreamId,
    },
}

/// Why a call is over before its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CancelReason {
    /// The peer cancelled it, with this reason if it gave one.
    Peer(Option<String>),
    /// It ran longer than allowed; the peer got an error.
    Deadline,
    /// The stream is gone.
    Closed,
    /// The bound for draining is over.
    Drained,
    /// The client is asked for input and will send the request again; then host code runs again.
    Suspended,
    /// The client was asked for input and did not come back in time.
    Unanswered,
}

impl fmt::Display for CancelReason {
    /// For host code: the peer's own words where it gave some.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Peer(Some(reason)) => reason,
            Self::Peer(None) => "the client has cancelled the request",
            Self::Deadline => "the request ran longer than allowed",
            Self::Closed => "the client is gone",
            Self::Suspended => "the client is asked for input, and the request is served when it comes again",
            Self::Unanswered => "the client was asked for input and did not come back in time",
            Self::Drained => "the client has closed its side, and the time for what was in flight is over",
        })
    }
}

/// Why a request of ours has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutgoingError {
    /// The peer answered with an error.
    Peer(PeerError),
    /// The peer's result is not what was asked for; the text says why.
    Invalid(String),
    /// No answer in the time given.
    TimedOut,
    /// The stream is gone.
    Closed,
}

/// One line for a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Where it happened, if on a stream.
    pub stream: Option<StreamId>,
    /// What kind of thing it is.
    pub kind: DiagnosticKind,
    /// The details, in one line.
    pub detail: String,
}

/// Kinds of diagnostics; a door may show each kind once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DiagnosticKind {
    /// A line that is no JSON text, or an oversize one. It was answered with an error, and skipped.
    Noise,
    /// A message that JSON-RPC or MCP does not allow. It was answered with an error where it has an id.
    BadMessage,
    /// A response to nothing that we asked.
    StrayResponse,
    /// A tool result that does not fit the tool's output schema.
    BadResult,
    /// The store of tasks could not do what was asked of it.
    Store,
    /// A definition that works and that the specification advises against.
    Definition,
    /// Other processes that serve the same clients can't be reached.
    Cluster,
}

/// What host code has to run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Target {
    /// A tool of the static catalogue, by its tag.
    Tool(u64),
    /// A resource of the static catalogue, by its tag.
    Resource(u64),
    /// A resource template of the static catalogue, with what the URI gave its variables.
    Template {
        /// The template's tag.
        tag: u64,
        /// Variable and value, percent-decoded, in the template's order.
        variables: Vec<(String, String)>,
    },
    /// A prompt of the static catalogue, by its tag.
    Prompt(u64),
    /// A completion for an argument of a prompt or a variable of a template.
    Complete {
        /// The prompt's or template's tag.
        tag: u64,
        /// True for a prompt, false for a resource template.
        prompt: bool,
        /// The argument's name.
        argument: String,
        /// What was typed so far.
        value: String,
    },
    /// Anything else: the method decides.
    Delegated,
}

/// A request that host code serves. It owns its text; the accessors cut out of it.
#[derive(Clone, Debug)]
pub struct Call {
    /// What it is answered under.
    pub key: RequestKey,
    /// Whom it came from.
    pub stream: StreamId,
    /// What has to run.
    pub target: Target,
    /// The revision that it is served under.
    pub revision: Revision,
    pub(crate) method: MethodName,
    pub(crate) id: Id,
    pub(crate) params: Option<Arc<str>>,
    pub(crate) arguments: Option<Range<usize>>,
    pub(crate) meta: Option<Range<usize>>,
    pub(crate) progress_token: Option<Range<usize>>,
    pub(crate) log_level: Option<LogLevel>,
    pub(crate) client: Client,
    pub(crate) by_hand: Option<Box<ByHand>>,
}

/// A method of the specification, or one that only host code knows.
#[derive(Clone, Debug)]
pub(crate) enum MethodName {
    Known(Method),
    Extra(Box<str>),
}

impl MethodName {
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Known(method) => method.name(),
            Self::Extra(name) => name,
        }
    }

    pub(crate) fn known(&self) -> Option<Method> {
        match self {
            Self::Known(method) => Some(*method),
            Self::Extra(_) => None,
        }
    }
}

/// What is known of the client that sent a request.
#[derive(Clone, Debug)]
pub(crate) enum Client {
    /// A legacy client: what it said in `initialize`, shared by all its requests.
    Connection(Arc<ClientFacts>),
    /// A modern client: ranges of this request's parameters.
    Request { info: Option<Range<usize>>, capabilities: Range<usize> },
}

/// What a legacy client said of itself.
#[derive(Debug, Default)]
pub(crate) struct ClientFacts {
    pub(crate) info: Option<String>,
    pub(crate) capabilities: String,
}

impl Call {
    /// The request's method.
    pub fn method(&self) -> &str {
        self.method.as_str()
    }

    /// The request's id as written.
    pub fn id_json(&self) -> &str {
        &self.id
    }

    /// The request's parameters as written.
    pub fn params_json(&self) -> Option<&str> {
        self.params.as_deref()
    }

    /// `params.arguments` as written, or `{}`.
    pub fn arguments_json(&self) -> &str {
        self.slice(self.arguments.as_ref()).unwrap_or("{}")
    }

    /// `params._meta` as written.
    pub fn meta_json(&self) -> Option<&str> {
        self.slice(self.meta.as_ref())
    }

    /// The progress token as written, when the peer wants progress.
    pub fn progress_token_json(&self) -> Option<&str> {
        self.slice(self.progress_token.as_ref())
    }

    /// The least severe log message that the peer wants for this request; None in the legacy era, where the
    /// connection has a level, and where a modern peer wants none.
    pub fn log_level(&self) -> Option<LogLevel> {
        self.log_level
    }

    /// The client's `Implementation` object, if it told.
    pub fn client_info_json(&self) -> Option<&str> {
        match &self.client {
            Client::Connection(facts) => facts.info.as_deref(),
            Client::Request { info, .. } => self.slice(info.as_ref()),
        }
    }

    /// The client's `ClientCapabilities` object.
    pub fn client_capabilities_json(&self) -> &str {
        match &self.client {
            Client::Connection(facts) => &facts.capabilities,
            Client::Request { capabilities, .. } => self.slice(Some(capabilities)).unwrap_or("{}"),
        }
    }

    /// What the client has answered to a round that was written by hand ([`Reply::InputRequired`]): the JSON of an
    /// object, key and result. None: this is the first round. A client may give answers without a state; then nothing shows
    /// that they were asked for.
    pub fn input_responses_json(&self) -> Option<&str> {
        self.by_hand.as_ref()?.responses.as_deref()
    }

    /// The state that was given with the last round by hand.
    pub fn request_state(&self) -> Option<&str> {
        self.by_hand.as_ref()?.state.as_deref()
    }

    fn slice(&self, range: Option<&Range<usize>>) -> Option<&str> {
        self.params.as_deref()?.get(range?.clone())
    }
}

/// An answer to a call, as JSON text that the engine checks and puts into the peer's revision.
#[derive(Clone, Copy, Debug)]
pub enum Reply<'a> {
    /// For `tools/call`.
    Tool {
        /// An array of content blocks.
        content: &'a str,
        /// The value of `structuredContent`.
        structured: Option<&'a str>,
        /// Whether the tool failed (`server/tools`, "Error Handling").
        is_error: bool,
        /// The result's own `_meta` object.
        meta: Option<&'a str>,
    },
    /// For `tools/call`: one block of text, given as the text itself.
    Text {
        /// What the model reads.
        text: &'a str,
        /// Whether the tool failed (`server/tools`, "Error Handling").
        is_error: bool,
    },
    /// For `resources/read`: an array of resource contents.
    Contents(&'a str),
    /// For `prompts/get`.
    Prompt {
        /// What the prompt is for.
        description: Option<&'a str>,
        /// An array of prompt messages.
        messages: &'a str,
    },
    /// For `completion/complete`.
    Completion {
        /// An array of strings; at most 100 are sent.
        values: &'a str,
        /// How many there are in all.
        total: Option<u64>,
        /// Whether there are more.
        has_more: Option<bool>,
    },
    /// For `tools/call`, `resources/read` and `prompts/get`: no answer yet, the client has to give some first. The call is
    /// over for a modern client, which sends the request again; a legacy client is asked, and the call is given to host
    /// code again. Either way host code finds [`Call::input_responses_json`] and [`Call::request_state`] then.
    InputRequired {
        /// What is asked: the JSON of an object, with an object of `method` and `params` under each key.
        requests: Option<&'a str>,
        /// What host code wants back. It goes through the client, sealed: nobody else reads or changes it.
        state: Option<&'a str>,
    },
    /// For any method: the whole result object.
    Result(&'a str),
}
