//! An answer that is ready, owned, so that it can be sent without Python's lock and together with others.

use crate::convert::reply::ToolParts;
use ferromcp_engine::{LocalError, Millis, PeerError, Reply, RequestKey, Server};
use pyo3::pybacked::PyBackedStr;
use std::ops::Deref;

/// An answer to one call.
pub(crate) enum Answer {
    Tool(ToolParts),
    /// A tool's result that is one text.
    Text {
        text: Text,
        is_error: bool,
    },
    Contents(String),
    Prompt {
        description: Option<String>,
        messages: String,
    },
    Completion {
        values: String,
        total: Option<u64>,
        has_more: Option<bool>,
    },
    /// A delegate's whole result object.
    Result(String),
    Failed {
        code: i64,
        text: String,
        data: Option<String>,
    },
    /// A round by hand.
    InputRequired {
        requests: Option<String>,
        state: Option<String>,
    },
    /// The client has not declared what the call needs.
    MissingCapability(String),
    /// There is no resource of this URI; empty: of the URI that was asked for.
    UnknownResource(String),
}

/// A text of the host's.
pub(crate) enum Text {
    Own(String),
    /// A long one stays where it is; it must be let go of with Python's lock held, or late.
    Python(PyBackedStr),
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Own(text) => text,
            Self::Python(text) => text,
        }
    }
}

impl Answer {
    /// Gives the answer to the engine; false when nobody waits for it. What the engine does not take becomes an error for
    /// the peer.
    pub(crate) fn send(&self, server: &mut Server, key: RequestKey, now: Millis) -> bool {
        let sent = match self {
            Self::Tool(parts) => server.respond(
                key,
                Reply::Tool {
                    content: &parts.content,
                    structured: parts.structured.as_deref(),
                    is_error: parts.is_error,
                    meta: parts.meta.as_deref(),
                },
                now,
            ),
            Self::Text { text, is_error } => server.respond(key, Reply::Text { text, is_error: *is_error }, now),
            Self::Contents(contents) => server.respond(key, Reply::Contents(contents), now),
            Self::Prompt { description, messages } => {
                server.respond(key, Reply::Prompt { description: description.as_deref(), messages }, now)
            }
            Self::Completion { values, total, has_more } => {
                server.respond(key, Reply::Completion { values, total: *total, has_more: *has_more }, now)
            }
            Self::Result(result) => server.respond(key, Reply::Result(result), now),
            Self::Failed { code, text, data } => {
                let error = PeerError { code: *code, message: text.clone(), data: data.clone() };
                server.fail(key, &error, now)
            }
            Self::InputRequired { requests, state } => {
                let reply = Reply::InputRequired { requests: requests.as_deref(), state: state.as_deref() };
                server.respond(key, reply, now)
            }
            Self::MissingCapability(path) => server.fail_capability(key, path, now),
            Self::UnknownResource(uri) => server.fail_unknown_resource(key, uri, now),
        };
        sent.unwrap_or_else(|error| self.refused(server, key, &error, now))
    }

    #[cold]
    fn refused(&self, server: &mut Server, key: RequestKey, error: &LocalError, now: Millis) -> bool {
        if let LocalError::CapabilityNotDeclared(path) = error {
            return server.fail_capability(key, path, now).unwrap_or(false);
        }
        if let Self::InputRequired { .. } = self {
            // As when `ask` refuses a question: a tool tells the model. Other calls have no such answer.
            let reply = Reply::Text { text: &error.to_string(), is_error: true };
            if let Ok(sent) = server.respond(key, reply, now) {
                return sent;
            }
        }
        // An error without data is always taken, so the peer gets an answer in every case.
        server.fail(key, &PeerError::internal(format!("The result can't be sent: {error}")), now).unwrap_or(false)
    }
}
