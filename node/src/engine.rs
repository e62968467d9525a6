//! The engine without a loop: the caller brings bytes and time, and takes outputs.
//!
//! Decides how the engine's contract looks from JavaScript. What is answered comes as the lines of `reply.rs`, what comes out
//! is a [`NativeOutput`]. The newest time that was told stands for "now" where a command has no time of its own.

use crate::bridge::quoted;
use crate::commands::{self, describe, list_kind, log_level, number, outcome};
use crate::convert::{self, Text};
use crate::error::NativeFailure;
use crate::integers;
use crate::reply::{answers, embedded};
use ferromcp_engine::{
    Call, DiagnosticKind, Event, LocalError, Millis, OutgoingError, OutgoingKey, Output, RequestKey, Server,
    ServerConfig, StreamId, Target,
};
use napi::bindgen_prelude::{Either, Uint8Array};
use napi_derive::napi;
use std::collections::HashMap;

/// One engine, for any number of clients.
#[napi]
pub struct NativeEngine {
    server: Option<Server>,
    now: Millis,
    /// Calls that are handed out and not answered.
    calls: HashMap<RequestKey, Call>,
    /// What large integers are marked with.
    mark: String,
}

/// What the engine wants done, or tells. Which fields it has follows from `event`.
#[napi(object, object_from_js = false)]
#[derive(Default)]
pub struct NativeOutput {
    /// What it is.
    #[napi(
        ts_type = "'transmit' | 'call' | 'cancelled' | 'notification' | 'response' | 'initialized' | 'subscribed' | 'unsubscribed' | 'diagnostic' | 'drained'"
    )]
    pub event: &'static str,
    /// The client.
    pub stream: Option<u32>,
    /// A call, or a request of ours.
    pub key: Option<f64>,
    /// What is to be sent.
    pub bytes: Option<Uint8Array>,
    /// A method, a resource's URI, why a call was cancelled, what an error says, or a line for a log.
    pub text: Option<String>,
    /// JSON text: what is known of a call, a notification's parameters, a result, or an error's data.
    pub json: Option<String>,
    /// The kind of a diagnostic, or why a request of ours has no result: `error`, `invalid`, `timedOut`,
    /// `closed`.
    pub kind: Option<String>,
    /// The code of an error.
    pub code: Option<i64>,
}

#[napi]
impl NativeEngine {
    /// `mark` as for `NativeServer`.
    #[napi(constructor, catch_unwind)]
    pub fn new(mark: String) -> Self {
        Self { server: None, now: 0, calls: HashMap::new(), mark }
    }

    /// Takes the JSON text of the engine's configuration. Before anything else.
    #[napi(catch_unwind)]
    pub fn configure(&mut self, config: String) -> Option<NativeFailure> {
        match ServerConfig::from_json(&config).and_then(Server::new) {
            Ok(server) => {
                self.server = Some(server);
                None
            }
            Err(error) => Some(error.into()),
        }
    }

    /// Serves what the JSON text `definition` says; calls of it come with `tag`.
    #[napi(catch_unwind)]
    pub fn add(
        &mut self,
        #[napi(ts_arg_type = "'tool' | 'resource' | 'template' | 'prompt'")] kind: String,
        definition: String,
        tag: u32,
        now: f64,
    ) -> Option<NativeFailure> {
        self.at(now, |server, now| commands::add(server, &kind, &definition, tag, now)).err()
    }

    /// Stops serving; false when there is nothing of this name or URI.
    #[napi(catch_unwind)]
    pub fn remove(
        &mut self,
        #[napi(ts_arg_type = "'tool' | 'resource' | 'template' | 'prompt'")] kind: String,
        key: String,
        now: f64,
    ) -> Either<bool, NativeFailure> {
        outcome(self.at(now, |server, now| Ok(commands::remove(server, &kind, &key, now))))
    }

    /// A client is there: gives its stream.
    #[napi(catch_unwind)]
    pub fn open(&mut self, now: f64) -> Either<u32, NativeFailure> {
        outcome(self.at(now, |server, now| Ok(server.open(now).0)))
    }

    /// Bytes of a client's, cut anywhere.
    #[napi(catch_unwind)]
    pub fn receive(
        &mut self,
        stream: u32,
        #[napi(ts_arg_type = "string | Uint8Array")] bytes: Text,
        now: f64,
    ) -> Option<NativeFailure> {
        self.at(now, |server, now| server.receive(StreamId(stream), convert::bytes(&bytes), now)).err()
    }

    /// The client sends no more.
    #[napi(catch_unwind)]
    pub fn end_of_input(&mut self, stream: u32, now: f64) -> Option<NativeFailure> {
        self.at(now, |server, now| server.end_of_input(StreamId(stream), now)).err()
    }

    /// Nothing can be sent to the client any more.
    #[napi(catch_unwind)]
    pub fn close(&mut self, stream: u32, now: f64) -> Option<NativeFailure> {
        self.at(now, |server, now| server.closed(StreamId(stream), now)).err()
    }

    /// Ends every subscription and refuses new requests.
    #[napi(catch_unwind)]
    pub fn shutdown(&mut self, now: f64) -> Option<NativeFailure> {
        self.at(now, |server, now| {
            server.shutdown(now);
            Ok(())
        })
        .err()
    }

    /// Does what is due.
    #[napi(catch_unwind)]
    pub fn handle_timeout(&mut self, now: f64) -> Option<NativeFailure> {
        self.at(now, |server, now| {
            server.handle_timeout(now);
            Ok(())
        })
        .err()
    }

    /// When `handle_timeout` wants to be called, if nothing else happens before.
    #[napi(catch_unwind)]
    pub fn poll_timeout(&self) -> Option<f64> {
        self.server.as_ref()?.poll_timeout().map(|at| at as f64)
    }

    /// What is to be done next; null when there is nothing.
    #[napi(catch_unwind)]
    pub fn poll(&mut self) -> Option<NativeOutput> {
        loop {
            let output = match self.server.as_mut()?.poll_output()? {
                Output::Transmit { stream, bytes } => {
                    NativeOutput { stream: Some(stream.0), bytes: Some(bytes.into()), ..NativeOutput::of("transmit") }
                }
                Output::Event(Event::Call(call)) => {
                    let text = shown(&call);
                    let output = NativeOutput {
                        key: Some(call.key.0 as f64),
                        json: Some(integers::marked(&text, &self.mark).unwrap_or(text)),
                        ..NativeOutput::of("call")
                    };
                    self.calls.insert(call.key, call);
                    output
                }
                Output::Event(event) => match self.told(event) {
                    Some(output) => output,
                    None => continue,
                },
            };
            return Some(output);
        }
    }

    /// Answers a call with a line, as `NativeServer.replyWith` takes them; false when nobody waits for it any more.
    #[napi(catch_unwind)]
    pub fn reply(&mut self, line: String, bytes: Vec<Uint8Array>) -> Either<bool, NativeFailure> {
        let line = if bytes.is_empty() { line } else { embedded(&line, &self.mark, &bytes) };
        let Some(answer) = answers(&line).next() else {
            return Either::B(LocalError::Config("an answer without a call".into()).into());
        };
        let key = RequestKey(answer.number);
        let (Some(server), Some(call)) = (self.server.as_mut(), self.calls.get(&key)) else { return Either::A(false) };
        let sent = answer.try_send(server, call, self.now);
        if sent.is_ok() {
            self.calls.remove(&key);
        }
        outcome(sent)
    }

    /// As `NativeServer.progress`, and so are the others.
    #[napi(catch_unwind)]
    pub fn progress(
        &mut self,
        call: f64,
        progress: f64,
        total: Option<f64>,
        message: Option<String>,
    ) -> Either<bool, NativeFailure> {
        outcome(self.command(|server, now| server.progress(key(call), progress, total, message.as_deref(), now)))
    }

    /// A log message that belongs to a call.
    #[napi(catch_unwind)]
    pub fn log(
        &mut self,
        call: f64,
        level: String,
        data: String,
        logger: Option<String>,
    ) -> Either<bool, NativeFailure> {
        outcome(
            log_level(&level)
                .and_then(|level| self.command(|server, _| server.log(key(call), level, logger.as_deref(), &data))),
        )
    }

    /// A log message that belongs to no call.
    #[napi(catch_unwind)]
    pub fn log_stream(
        &mut self,
        stream: u32,
        level: String,
        data: String,
        logger: Option<String>,
    ) -> Either<bool, NativeFailure> {
        outcome(log_level(&level).and_then(|level| {
            self.command(|server, _| server.log_stream(StreamId(stream), level, logger.as_deref(), &data))
        }))
    }

    /// A notification that belongs to a call.
    #[napi(catch_unwind)]
    pub fn notify(&mut self, call: f64, method: String, params: Option<String>) -> Either<bool, NativeFailure> {
        outcome(self.command(|server, _| server.notify(key(call), &method, params.as_deref())))
    }

    /// A notification that belongs to no call.
    #[napi(catch_unwind)]
    pub fn notify_stream(
        &mut self,
        stream: u32,
        method: String,
        params: Option<String>,
    ) -> Either<bool, NativeFailure> {
        outcome(self.command(|server, _| server.notify_stream(StreamId(stream), &method, params.as_deref())))
    }

    /// Asks a legacy client something; gives the number that its answer comes under.
    #[napi(catch_unwind)]
    pub fn request(
        &mut self,
        stream: u32,
        call: Option<f64>,
        method: String,
        params: Option<String>,
        timeout_ms: Option<f64>,
    ) -> Either<f64, NativeFailure> {
        let asked = self.command(|server, now| {
            let (related, timeout) = (call.map(key), timeout_ms.map(number));
            server.request(StreamId(stream), related, &method, params.as_deref(), timeout, now)
        });
        outcome(asked.map(|OutgoingKey(key)| key as f64))
    }

    /// Gives up a request to a client.
    #[napi(catch_unwind)]
    pub fn abandon(&mut self, request: f64, reason: Option<String>) -> Either<bool, NativeFailure> {
        outcome(self.command(|server, _| Ok(server.abandon(OutgoingKey(number(request)), reason.as_deref()))))
    }

    /// Tells whoever asked for it that a list has changed.
    #[napi(catch_unwind)]
    pub fn notify_changed(
        &mut self,
        #[napi(ts_arg_type = "'tools' | 'prompts' | 'resources'")] list: String,
    ) -> Option<NativeFailure> {
        let list = match list_kind(&list) {
            Ok(list) => list,
            Err(failure) => return Some(failure),
        };
        self.command(|server, now| {
            server.notify_changed(list, now);
            Ok(())
        })
        .err()
    }

    /// Tells the watchers of a resource that it has changed.
    #[napi(catch_unwind)]
    pub fn resource_updated(&mut self, uri: String) -> Option<NativeFailure> {
        self.command(|server, _| {
            server.resource_updated(&uri);
            Ok(())
        })
        .err()
    }
}

impl NativeEngine {
    /// An input that brings the time. Time that runs backwards stands still.
    fn at<R>(
        &mut self,
        now: f64,
        body: impl FnOnce(&mut Server, Millis) -> Result<R, LocalError>,
    ) -> Result<R, NativeFailure> {
        self.now = self.now.max(number(now));
        self.command(body)
    }

    fn command<R>(
        &mut self,
        body: impl FnOnce(&mut Server, Millis) -> Result<R, LocalError>,
    ) -> Result<R, NativeFailure> {
        match self.server.as_mut() {
            Some(server) => body(server, self.now).map_err(NativeFailure::from),
            None => Err(LocalError::Config("the engine has no configuration".into()).into()),
        }
    }

    /// An event that is no call; None for what has no name here yet.
    fn told(&mut self, event: Event) -> Option<NativeOutput> {
        let on = |event, stream: StreamId| NativeOutput { stream: Some(stream.0), ..NativeOutput::of(event) };
        Some(match event {
            Event::Cancelled { key, reason } => {
                self.calls.remove(&key);
                NativeOutput {
                    key: Some(key.0 as f64),
                    text: Some(reason.to_string()),
                    ..NativeOutput::of("cancelled")
                }
            }
            Event::Notification { stream, method, params } => {
                NativeOutput { text: Some(method), json: self.marked(params), ..on("notification", stream) }
            }
            Event::Response { key, outcome } => {
                let mut output = NativeOutput { key: Some(key.0 as f64), ..NativeOutput::of("response") };
                match outcome {
                    Ok(result) => output.json = self.marked(Some(result)),
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
            Event::Initialized { stream } => on("initialized", stream),
            Event::Subscribed { stream, uri } => NativeOutput { text: Some(uri), ..on("subscribed", stream) },
            Event::Unsubscribed { stream, uri } => NativeOutput { text: Some(uri), ..on("unsubscribed", stream) },
            Event::Diagnostic(diagnostic) => NativeOutput {
                stream: diagnostic.stream.map(|stream| stream.0),
                kind: Some(diagnostic_kind(diagnostic.kind).into()),
                text: Some(diagnostic.detail),
                ..NativeOutput::of("diagnostic")
            },
            Event::Drained { stream } => on("drained", stream),
            _ => return None,
        })
    }

    fn marked(&self, json: Option<String>) -> Option<String> {
        json.map(|json| integers::marked(&json, &self.mark).unwrap_or(json))
    }
}

impl NativeOutput {
    fn of(event: &'static str) -> Self {
        Self { event, ..Self::default() }
    }
}

fn key(call: f64) -> RequestKey {
    RequestKey(number(call))
}

fn diagnostic_kind(kind: DiagnosticKind) -> &'static str {
    match kind {
        DiagnosticKind::Noise => "noise",
        DiagnosticKind::BadMessage => "badMessage",
        DiagnosticKind::StrayResponse => "strayResponse",
        DiagnosticKind::BadResult => "badResult",
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
