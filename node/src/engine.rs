//! The engine without a loop: the caller brings bytes and time, and takes outputs.
//!
//! Decides how the engine's contract looks from JavaScript. What is answered comes as the lines of `reply.rs`, what comes out
//! is a [`NativeOutput`]. The newest time that was told stands for "now" where a command has no time of its own.

use crate::asking::{Question, shown, state_keys};
use crate::commands::{self, list_kind, log_level, number, outcome};
use crate::convert::{self, Text};
use crate::error::NativeFailure;
use crate::integers;
use crate::output::NativeOutput;
use crate::reply::{answers, embedded};
use ferromcp::engine::tasks::StoreRequest;
use ferromcp::store::{MemoryTaskStore, TaskStore as _};
use ferromcp::system_entropy;
use ferromcp_engine::{
    Call, Event, LocalError, Millis, OutgoingKey, Output, Reentry, RequestKey, Server, ServerConfig, StreamId,
};
use napi::bindgen_prelude::{Either, Uint8Array};
use napi_derive::napi;
use std::collections::HashMap;

/// One engine, for any number of clients.
#[napi]
pub struct NativeEngine {
    server: Option<Server>,
    now: Millis,
    /// What the time 0 is in UNIX milliseconds.
    epoch: u64,
    /// Calls that are handed out and not answered.
    calls: HashMap<RequestKey, Call>,
    /// Where tasks are kept: here, as long as the engine is.
    tasks: MemoryTaskStore,
    /// What large integers are marked with.
    mark: String,
}

#[napi]
impl NativeEngine {
    /// `mark` as for `NativeServer`.
    #[napi(constructor, catch_unwind)]
    pub fn new(mark: String) -> Self {
        Self { server: None, now: 0, epoch: 0, calls: HashMap::new(), tasks: MemoryTaskStore::new(), mark }
    }

    /// Takes the JSON text of the engine's configuration. Before anything else.
    #[napi(catch_unwind)]
    pub fn configure(&mut self, config: String) -> Option<NativeFailure> {
        match ServerConfig::from_json(&config).and_then(Server::new) {
            Ok(mut server) => {
                server.set_entropy(system_entropy());
                // Nobody else has the store, so that it needs no leases.
                server.set_task_owner("", false);
                self.tasks = MemoryTaskStore::with_most_ended(server.config().tasks.max_ended);
                self.server = Some(server);
                None
            }
            Err(error) => Some(error.into()),
        }
    }

    /// Says what the time 0 is in UNIX milliseconds.
    #[napi(catch_unwind)]
    pub fn set_epoch(&mut self, unix_ms: f64) -> Option<NativeFailure> {
        let epoch = number(unix_ms);
        self.epoch = epoch;
        self.command(|server, _| {
            server.set_epoch(epoch);
            Ok(())
        })
        .err()
    }

    /// As `NativeServer.setStateKeys`.
    #[napi(catch_unwind)]
    pub fn set_state_keys(&mut self, keys: Vec<String>) -> Option<NativeFailure> {
        self.command(|server, _| state_keys(&keys).map(|keys| server.set_state_keys(&keys))).err()
    }

    /// Says who is behind a stream, as far as it was verified.
    #[napi(catch_unwind)]
    pub fn set_principal(&mut self, stream: u32, principal: Option<String>) -> Option<NativeFailure> {
        self.command(|server, _| server.set_principal(StreamId(stream), principal.as_deref())).err()
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

    /// As `NativeServer.enable`.
    #[napi(catch_unwind)]
    pub fn enable(
        &mut self,
        #[napi(ts_arg_type = "'tool' | 'resource' | 'template' | 'prompt'")] kind: String,
        key: String,
        enabled: bool,
        now: f64,
    ) -> Either<bool, NativeFailure> {
        outcome(self.at(now, |server, now| Ok(commands::enable(server, &kind, &key, enabled, now))))
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
                Output::Transmit { stream, bytes, .. } => NativeOutput::transmit(stream, bytes),
                // A stream of lines has no lanes.
                Output::Unanswered { .. } => continue,
                Output::Event(Event::Call(call)) => {
                    let output = NativeOutput::call(&call, &self.mark);
                    self.calls.insert(call.key, call);
                    output
                }
                Output::Event(Event::Store { op, request }) => {
                    let (unix, now) = (self.epoch.saturating_add(self.now), self.now);
                    if matches!(request, StoreRequest::Create(_)) {
                        // In memory this can't fail.
                        let _ = self.tasks.expire(unix);
                    }
                    let done = self.tasks.execute(request, unix);
                    self.server.as_mut()?.stored(op, done, now);
                    continue;
                }
                Output::Event(event) => {
                    if let Event::Cancelled { key, .. } = &event {
                        self.calls.remove(key);
                    }
                    match NativeOutput::told(event, &self.mark) {
                        Some(output) => output,
                        None => continue,
                    }
                }
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

    /// Turns a call into a task; an output `taskBegun` tells what has come of it, unless this gives false.
    #[napi(catch_unwind)]
    pub fn begin_task(&mut self, call: f64) -> Either<bool, NativeFailure> {
        outcome(self.command(|server, now| server.begin_task(key(call), now)))
    }

    /// The id of the task that a call is; null when it is none.
    #[napi(catch_unwind)]
    pub fn task_id(&self, call: f64) -> Option<String> {
        self.server.as_ref()?.task_id(key(call)).map(str::to_owned)
    }

    /// Asks the client of a call. `questions` is the text of a JSON array of key, method and parameters; what comes back is a
    /// JSON array as `asking.rs` says.
    #[napi(catch_unwind)]
    pub fn ask(
        &mut self,
        call: f64,
        questions: String,
        held: bool,
        timeout_ms: Option<f64>,
    ) -> Either<String, NativeFailure> {
        let questions: Vec<Question<'_>> = match serde_json::from_str(&questions) {
            Ok(questions) => questions,
            Err(error) => return Either::B(error.into()),
        };
        let requests: Vec<_> = questions.iter().map(Question::borrowed).collect();
        let reentry = if held { Reentry::Held } else { Reentry::Replay };
        let asked = self.command(|server, now| server.ask(key(call), &requests, reentry, timeout_ms.map(number), now));
        outcome(asked.map(|asked| {
            let text = format!("[{}]", shown(&asked));
            integers::marked(&text, &self.mark).unwrap_or(text)
        }))
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

    /// Tells the client that was asked for a visit to a URL that it is complete.
    #[napi(catch_unwind)]
    pub fn complete_elicitation(&mut self, elicitation_id: String) -> Either<bool, NativeFailure> {
        outcome(self.command(|server, _| Ok(server.complete_elicitation(&elicitation_id))))
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
}

fn key(call: f64) -> RequestKey {
    RequestKey(number(call))
}
