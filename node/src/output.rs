//! What an engine without a loop gives: its outputs as one object of JavaScript's each, and what is known of a call.

use crate::asking;
use crate::bridge::quoted;
use crate::commands::describe;
use crate::integers;
use ferromcp_engine::{Call, DiagnosticKind, Event, OutgoingError, StreamId, Target};
use napi::bindgen_prelude::Uint8Array;
use napi_derive::napi;

/// What the engine wants done, or tells. Which fields it has follows from `event`.
#[napi(object, object_from_js = false)]
#[derive(Default)]
pub struct NativeOutput {
    /// What it is.
    #[napi(
        ts_type = "'transmit' | 'call' | 'cancelled' | 'notification' | 'response' | 'answers' | 'taskBegun' | 'initialized' | 'subscribed' | 'unsubscribed' | 'diagnostic' | 'drained'"
    )]
    pub event: &'static str,
    /// The client.
    pub stream: Option<u32>,
    /// A call, or a request of ours.
    pub key: Option<f64>,
    /// Questions that were asked together.
    pub ask: Option<f64>,
    /// What is to be sent.
    pub bytes: Option<Uint8Array>,
    /// A method, a resource's URI, a task's id, why a call was cancelled, what an error says, or a line for a log.
    pub text: Option<String>,
    /// JSON text: what is known of a call, a notification's parameters, a result, or an error's data.
    pub json: Option<String>,
    /// The kind of a diagnostic, or why a request of ours has no result: `error`, `invalid`, `timedOut`,
    /// `closed`.
    pub kind: Option<String>,
    /// The code of an error.
    pub code: Option<i64>,
}

impl NativeOutput {
    /// Of the given kind, everything else empty.
    pub(crate) fn of(event: &'static str) -> Self {
        Self { event, ..Self::default() }
    }

    /// Bytes for a client.
    pub(crate) fn transmit(stream: StreamId, bytes: Vec<u8>) -> Self {
        Self { stream: Some(stream.0), bytes: Some(bytes.into()), ..Self::of("transmit") }
    }

    /// A call, with all that is known of it.
    pub(crate) fn call(call: &Call, mark: &str) -> Self {
        Self { key: Some(call.key.0 as f64), json: Some(marked(shown(call), mark)), ..Self::of("call") }
    }

    /// An event that is no call; None for what has no name here.
    pub(crate) fn told(event: Event, mark: &str) -> Option<Self> {
        let on = |event, stream: StreamId| Self { stream: Some(stream.0), ..Self::of(event) };
        Some(match event {
            Event::Cancelled { key, reason } => {
                Self { key: Some(key.0 as f64), text: Some(reason.to_string()), ..Self::of("cancelled") }
            }
            Event::Notification { stream, method, params } => Self {
                text: Some(method),
                json: params.map(|params| marked(params, mark)),
                ..on("notification", stream)
            },
            Event::Response { key, outcome } => {
                let mut output = Self { key: Some(key.0 as f64), ..Self::of("response") };
                match outcome {
                    Ok(result) => output.json = Some(marked(result, mark)),
                    Err(OutgoingError::Peer(error)) => {
                        output.kind = Some("error".into());
                        output.code = Some(error.code);
                        output.text = Some(error.message);
                        output.json = error.data;
                    }
                    Err(OutgoingError::Invalid(reason)) => {
                        output.kind = Some("invalid".into());
                        output.text = Some(reason);
                    }
                    Err(OutgoingError::TimedOut) => output.kind = Some("timedOut".into()),
                    Err(OutgoingError::Closed) => output.kind = Some("closed".into()),
                }
                output
            }
            Event::Answers { ask, call, answers } => Self {
                key: Some(call.0 as f64),
                ask: Some(ask.0 as f64),
                json: Some(marked(asking::answers(&answers), mark)),
                ..Self::of("answers")
            },
            Event::TaskBegun { call, id } => Self { key: Some(call.0 as f64), text: id, ..Self::of("taskBegun") },
            Event::Initialized { stream } => on("initialized", stream),
            Event::Subscribed { stream, uri } => Self { text: Some(uri), ..on("subscribed", stream) },
            Event::Unsubscribed { stream, uri } => Self { text: Some(uri), ..on("unsubscribed", stream) },
            Event::Diagnostic(diagnostic) => Self {
                stream: diagnostic.stream.map(|stream| stream.0),
                kind: Some(diagnostic_kind(diagnostic.kind).into()),
                text: Some(diagnostic.detail),
                ..Self::of("diagnostic")
            },
            Event::Drained { stream } => on("drained", stream),
            _ => return None,
        })
    }
}

fn marked(json: String, mark: &str) -> String {
    integers::marked(&json, mark).unwrap_or(json)
}

fn diagnostic_kind(kind: DiagnosticKind) -> &'static str {
    match kind {
        DiagnosticKind::Noise => "noise",
        DiagnosticKind::BadMessage => "badMessage",
        DiagnosticKind::StrayResponse => "strayResponse",
        DiagnosticKind::BadResult => "badResult",
        DiagnosticKind::Store => "store",
        DiagnosticKind::Definition => "definition",
        // A kind that has no name here yet.
        _ => "other",
    }
}

/// All that is known of a call, as the text of a JSON object.
fn shown(call: &Call) -> String {
    let target = match &call.target {
        Target::Tool(tag) => format!(r#""target":"tool","tag":{tag},"arguments":{}"#, call.arguments_json()),
        Target::Prompt(tag) => format!(r#""target":"prompt","tag":{tag},"arguments":{}"#, call.arguments_json()),
        Target::Resource(tag) => format!(r#""target":"resource","tag":{tag}"#),
        Target::Template { tag, variables } => {
            let variables: serde_json::Map<_, _> =
                variables.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
            let variables = serde_json::Value::Object(variables);
            format!(r#""target":"template","tag":{tag},"variables":{variables}"#)
        }
        Target::Complete { tag, argument, value, .. } => {
            let (argument, value) = (quoted(argument), quoted(value));
            format!(r#""target":"completion","tag":{tag},"argument":{argument},"value":{value}"#)
        }
        _ => r#""target":"delegated""#.to_owned(),
    };
    let known = describe(call);
    format!(r#"{{"key":{},"stream":{},{target},{known}}}"#, call.key.0, call.stream.0)
}
