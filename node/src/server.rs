//! One server, from its configuration to its end.
//!
//! Starting makes the runtime's threads; from then on the protocol's work goes on there, whatever JavaScript's thread is
//! doing. The facade takes calls with `drain`, each time it is woken, and gives answers back with `reply`, any number at
//! once. Whatever can go wrong comes back as a [`NativeFailure`] and is thrown by the facade.

use crate::asking::{Asking, Round, state_keys};
use crate::bridge::Waker;
use crate::commands::{self, describe, list_kind, log_level, number, outcome};
use crate::core::Core;
use crate::error::NativeFailure;
use crate::host::NodeHost;
use crate::http::{self, NativePart, NativeRequest};
use crate::integers;
use crate::reply::{answers, embedded};
use crate::signals;
use ferromcp::engine::{self, LocalError, OutgoingKey, RequestKey, ServerConfig};
use ferromcp::http::{HttpOptions, start_carrier, start_http};
use ferromcp::middleware::policy::Policy;
use ferromcp::{Endpoint, Error, ServeOptions, Serving, TaskStoreOption, start_fds, start_stdio};
use napi::Env;
use napi::bindgen_prelude::{Either, Function, Uint8Array};
use napi_derive::napi;
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How a server is started.
#[napi(object, object_to_js = false)]
#[derive(Debug, Default)]
pub struct NativeStart {
    /// Whether every message is written to stderr; the environment variable MCP_DEBUG decides when it is not given.
    pub debug: Option<bool>,
    /// Where tasks are kept: `memory`, or a URL as `docs/tasks.md` has them. In memory when it is not given.
    pub task_store: Option<String>,
    /// The JSON text of a policy.
    pub policy: Option<String>,
    /// A descriptor to read in place of standard input. It is the server's from now on.
    pub input: Option<i32>,
    /// A descriptor to write in place of standard output. It is the server's from now on.
    pub output: Option<i32>,
    /// The JSON text of a listener's options (`docs/http.md`): serves over HTTP.
    pub http: Option<String>,
    /// The JSON text of what is served over HTTP by a listener of JavaScript's own, which brings requests with `admit`.
    pub carried: Option<String>,
    /// Milliseconds in which the end must be acknowledged; then the process is ended by force.
    pub grace_ms: Option<u32>,
}

impl NativeStart {
    /// The same for the runtime.
    fn stdio(&self) -> Result<ServeOptions, Error> {
        let policy = self.policy.as_deref().map(Policy::from_json).transpose()?;
        Ok(ServeOptions {
            debug: self.debug,
            task_store: match self.task_store.as_deref() {
                None | Some("memory") => TaskStoreOption::Memory,
                Some(url) => TaskStoreOption::Url(url.to_owned()),
            },
            middleware: policy.map(Policy::build).transpose()?.unwrap_or_default(),
            ..ServeOptions::default()
        })
    }
}

/// One MCP server.
#[napi]
pub struct NativeServer {
    core: Arc<Core>,
    /// Before the start; then the runtime has it.
    waiting: Mutex<Option<engine::Server>>,
}

#[napi]
impl NativeServer {
    /// `mark` is a text that no peer can know. It stands in front of what is passed as a string and is something else:
    /// large integers on their way in, bytes on their way out. Where it is empty nothing is marked.
    #[napi(constructor, catch_unwind)]
    pub fn new(mark: String) -> Self {
        Self { core: Arc::new(Core::new(mark)), waiting: Mutex::default() }
    }

    /// Takes the JSON text of the engine's configuration. Before anything else.
    #[napi(catch_unwind)]
    pub fn configure(&self, config: String) -> Option<NativeFailure> {
        match ServerConfig::from_json(&config).and_then(engine::Server::new) {
            Ok(server) => {
                *self.waiting() = Some(server);
                None
            }
            Err(error) => Some(error.into()),
        }
    }

    /// Serves what the JSON text `definition` says; calls of it come with `tag`.
    #[napi(catch_unwind)]
    pub fn add(
        &self,
        #[napi(ts_arg_type = "'tool' | 'resource' | 'template' | 'prompt'")] kind: String,
        definition: String,
        tag: u32,
    ) -> Option<NativeFailure> {
        self.with_server(|server, now| commands::add(server, &kind, &definition, tag, now))
            .and_then(|added| added.map_err(NativeFailure::from))
            .err()
    }

    /// Stops serving; false when there is nothing of this name or URI.
    #[napi(catch_unwind)]
    pub fn remove(
        &self,
        #[napi(ts_arg_type = "'tool' | 'resource' | 'template' | 'prompt'")] kind: String,
        key: String,
    ) -> Either<bool, NativeFailure> {
        outcome(self.with_server(|server, now| commands::remove(server, &kind, &key, now)))
    }

    /// Shows to clients, or hides, what is served; false when there is nothing of this name or URI.
    #[napi(catch_unwind)]
    pub fn enable(
        &self,
        #[napi(ts_arg_type = "'tool' | 'resource' | 'template' | 'prompt'")] kind: String,
        key: String,
        enabled: bool,
    ) -> Either<bool, NativeFailure> {
        outcome(self.with_server(|server, now| commands::enable(server, &kind, &key, enabled, now)))
    }

    /// Starts to serve, on standard input and output unless other descriptors are given. `wake` is called on
    /// JavaScript's thread whenever `drain` has something, and keeps the event loop alive until the server is over, unless
    /// requests are brought by a listener of JavaScript's own.
    #[napi(catch_unwind)]
    pub fn start(
        &self,
        env: Env,
        wake: Function<'_, (), ()>,
        options: NativeStart,
    ) -> napi::Result<Option<NativeFailure>> {
        let stdio = match options.stdio() {
            Ok(stdio) => stdio,
            Err(error) => return Ok(Some(error.into())),
        };
        let Some(server) = self.waiting().take() else {
            return Ok(Some(LocalError::Config("the server was started already".into()).into()));
        };
        let builder = wake.build_threadsafe_function().callee_handled::<false>();
        let waker = match &options.carried {
            // JavaScript's own listener keeps the event loop alive as long as it listens.
            Some(_) => Waker::Weak(builder.weak::<true>().build()?),
            None => Waker::Strong(builder.build()?),
        };
        self.core.bridge.set_waker(waker);
        let host = Arc::new(NodeHost { core: Arc::clone(&self.core) });
        let started = match (options.input, options.output) {
            // SAFETY: the caller gives the descriptors away, as the fields say.
            (Some(input), Some(output)) => unsafe {
                let (input, output) = (OwnedFd::from_raw_fd(input), OwnedFd::from_raw_fd(output));
                start_fds(server, host, input, output, stdio)
            },
            _ => match (&options.http, &options.carried) {
                (Some(http), _) => HttpOptions::from_json(http).and_then(|http| start_http(server, host, http, stdio)),
                (None, Some(config)) => http::config(config).and_then(|http| start_carrier(server, host, http, stdio)),
                // What the program prints after the server has ended must not reach the client either.
                (None, None) => start_stdio(server, host, stdio).inspect(Serving::keep_redirected),
            },
        };
        let started = match started {
            Ok(started) => started,
            Err(error) => {
                self.core.bridge.drop_waker();
                return Ok(Some(error.into()));
            }
        };
        // Set once: `waiting` above proves that this is the first start.
        let _ = self.core.stdio.set(started);
        // JavaScript may end first: with the process, or with a worker thread. Then what is answered is still sent.
        env.add_env_cleanup_hook(Arc::downgrade(&self.core), |core| {
            if let Some(core) = core.upgrade() {
                core.leave();
            }
        })?;
        let core = Arc::clone(&self.core);
        let grace = options.grace_ms.map(|grace| Duration::from_millis(grace.into()));
        let watching = std::thread::Builder::new().name("ferromcp-end".into()).spawn(move || core.watch_end(grace));
        Ok(watching.err().map(|error| Error::from(error).into()))
    }

    /// What is listened on, as host and port; null where nothing is.
    #[napi(catch_unwind)]
    pub fn address(&self) -> Option<Vec<String>> {
        let address = self.core.stdio.get()?.local_addr()?;
        Some(vec![address.ip().to_string(), address.port().to_string()])
    }

    /// Lets clients use one more name or address as `Host`: one that JavaScript's own listener listens on.
    #[napi(catch_unwind)]
    pub fn allow_host(&self, host: String) {
        if let Some(endpoint) = self.core.endpoint() {
            endpoint.allow_http_host(&host);
        }
    }

    /// Looks at the head of a request that JavaScript's own listener has read: `headers` are names and values in turn, `number`
    /// is what the bridge says when there is more of the response. Gives the request, or the response.
    #[napi(catch_unwind)]
    pub fn admit(
        &self,
        number: u32,
        method: String,
        target: String,
        headers: Vec<String>,
        principal: Option<String>,
    ) -> Either<NativeRequest, NativePart> {
        http::admit(&self.core, number, method, target, headers, principal)
    }

    /// All that has gathered since the last time: the text of a JSON array, an entry for each.
    #[napi(catch_unwind)]
    pub fn drain(&self) -> String {
        self.core.bridge.drain()
    }

    /// Answers calls: a line for each, a letter and the call's number, a blank, and JSON text.
    #[napi(catch_unwind)]
    pub fn reply(&self, batch: String) -> Option<NativeFailure> {
        self.send(&batch)
    }

    /// Answers one call with bytes, whose places in the text are marked.
    #[napi(catch_unwind)]
    pub fn reply_with(&self, line: String, bytes: Vec<Uint8Array>) -> Option<NativeFailure> {
        self.send(&embedded(&line, self.core.bridge.mark(), &bytes))
    }

    /// Whether nobody waits for the answer of a call any more; true also when it is answered.
    #[napi(catch_unwind)]
    pub fn is_cancelled(&self, call: f64) -> bool {
        match (self.core.endpoint(), self.core.bridge.key(number(call))) {
            (Some(endpoint), Some(key)) => endpoint.is_cancelled(key),
            _ => true,
        }
    }

    /// Why nobody waits for the answer of a call any more; null while somebody does, and when it is answered.
    #[napi(catch_unwind)]
    pub fn cancel_reason(&self, call: f64) -> Option<String> {
        let (endpoint, key) = (self.core.endpoint()?, self.core.bridge.key(number(call))?);
        endpoint.cancel_reason(key).map(|reason| reason.to_string())
    }

    /// Turns a call into a task; whether it is one is told later, unless this gives false: its client takes none, or the call
    /// is over.
    #[napi(catch_unwind)]
    pub fn begin_task(&self, call: f64) -> Either<bool, NativeFailure> {
        self.about(call, Endpoint::begin_task)
    }

    /// Who is behind an open call, as far as that was verified.
    #[napi(catch_unwind)]
    pub fn principal(&self, call: f64) -> Option<String> {
        let stream = self.core.bridge.with_call(number(call), |call| call.stream)?;
        self.core.endpoint()?.with_engine(|server| server.principal(stream).map(str::to_owned)).ok()?
    }

    /// Ends the connection of a call's stream, and not the call; false where its client has no stream that it could come back to.
    #[napi(catch_unwind)]
    pub fn close_sse_stream(&self, call: f64) -> Either<bool, NativeFailure> {
        self.about(call, Endpoint::close_sse_stream)
    }

    /// The id of the task that an open call is; null when it is none.
    #[napi(catch_unwind)]
    pub fn task_id(&self, call: f64) -> Option<String> {
        let (endpoint, key) = (self.core.endpoint()?, self.core.bridge.key(number(call))?);
        endpoint.task_id(key)
    }

    /// What is known of an open call, as the text of a JSON object, large integers marked; null when it is answered.
    #[napi(catch_unwind)]
    pub fn describe(&self, call: f64) -> Option<String> {
        let bridge = &self.core.bridge;
        let text = bridge.with_call(number(call), |call| format!("{{{}}}", describe(call)))?;
        Some(integers::marked(&text, bridge.mark()).unwrap_or(text))
    }

    /// Reports progress of a call; false when the client did not ask for it, or the call is over.
    #[napi(catch_unwind)]
    pub fn progress(
        &self,
        call: f64,
        progress: f64,
        total: Option<f64>,
        message: Option<String>,
    ) -> Either<bool, NativeFailure> {
        self.about(call, |endpoint, key| endpoint.progress(key, progress, total, message.as_deref()))
    }

    /// Sends a log message that belongs to a call; `data` is JSON text.
    #[napi(catch_unwind)]
    pub fn log(&self, call: f64, level: String, data: String, logger: Option<String>) -> Either<bool, NativeFailure> {
        match log_level(&level) {
            Ok(level) => self.about(call, |endpoint, key| endpoint.log(key, level, logger.as_deref(), &data)),
            Err(failure) => Either::B(failure),
        }
    }

    /// Sends a log message that belongs to no call; only legacy clients can get one.
    #[napi(catch_unwind)]
    pub fn log_stream(&self, level: String, data: String, logger: Option<String>) -> Either<bool, NativeFailure> {
        let level = match log_level(&level) {
            Ok(level) => level,
            Err(failure) => return Either::B(failure),
        };
        let Some(endpoint) = self.core.endpoint() else { return Either::A(false) };
        outcome(endpoint.log_clients(level, logger.as_deref(), &data))
    }

    /// Sends a notification that belongs to a call; `params` is JSON text.
    #[napi(catch_unwind)]
    pub fn notify(&self, call: f64, method: String, params: Option<String>) -> Either<bool, NativeFailure> {
        self.about(call, |endpoint, key| endpoint.notify(key, &method, params.as_deref()))
    }

    /// Sends a notification that belongs to no call; only legacy clients can get one.
    #[napi(catch_unwind)]
    pub fn notify_stream(&self, method: String, params: Option<String>) -> Either<bool, NativeFailure> {
        let Some(endpoint) = self.core.endpoint() else { return Either::A(false) };
        outcome(endpoint.notify_clients(&method, params.as_deref()))
    }

    /// Asks the clients of calls, as the text of a JSON array says, an entry for each call; gives what has come of each, in
    /// the same order. `asking.rs` says what the entries are.
    #[napi(catch_unwind)]
    pub fn ask(&self, batch: String) -> Either<String, NativeFailure> {
        let asking: Vec<Asking<'_>> = match serde_json::from_str(&batch) {
            Ok(asking) => asking,
            Err(error) => return Either::B(error.into()),
        };
        let Some(endpoint) = self.core.endpoint() else { return Either::B(LocalError::NoBackChannel.into()) };
        let bridge = &self.core.bridge;
        let known = |asking: &Asking<'_>| bridge.with_call(asking.number(), |call| (call.key, call.revision.era()));
        let calls: Vec<_> = asking.iter().map(known).collect();
        let now = endpoint.now();
        // Under one taking of the lock, and so with one system call for all.
        let asked = endpoint.with_engine(|server| {
            let ask = |(asking, call): (&Asking<'_>, _)| {
                asking.ask(call, |key, requests, reentry, timeout| server.ask(key, requests, reentry, timeout, now))
            };
            asking.iter().zip(calls).map(ask).collect::<Vec<_>>()
        });
        let written = asked.map(|asked| {
            let of_call = |rounds: Vec<Round>| {
                let mut out = String::new();
                for round in rounds {
                    out.push(if out.is_empty() { '[' } else { ',' });
                    round.write(&mut out, |key| endpoint.is_cancelled(key));
                }
                out.push(']');
                out
            };
            let text = format!("[{}]", asked.into_iter().map(of_call).collect::<Vec<_>>().join(","));
            integers::marked(&text, bridge.mark()).unwrap_or(text)
        });
        outcome(written)
    }

    /// Takes new keys for `requestState`, each 32 bytes in base64: the first seals, all of them open.
    #[napi(catch_unwind)]
    pub fn set_state_keys(&self, keys: Vec<String>) -> Option<NativeFailure> {
        let keys = match state_keys(&keys) {
            Ok(keys) => keys,
            Err(error) => return Some(error.into()),
        };
        self.with_server(|server, _| server.set_state_keys(&keys)).err()
    }

    /// Asks a legacy client something; gives the number that its answer comes under. Without a call there has to be one client
    /// alone. Without `timeout_ms` the limit of
    /// the configuration holds.
    #[napi(catch_unwind)]
    pub fn request(
        &self,
        call: Option<f64>,
        method: String,
        params: Option<String>,
        timeout_ms: Option<f64>,
    ) -> Either<f64, NativeFailure> {
        let Some(endpoint) = self.core.endpoint() else { return Either::B(LocalError::NoBackChannel.into()) };
        let related = match call.map(|call| self.core.bridge.key(number(call))) {
            Some(None) => return Either::B(LocalError::NoBackChannel.into()),
            Some(key) => key,
            None => None,
        };
        let timeout = timeout_ms.map(number);
        match commands::request(endpoint, related, &method, params.as_deref(), timeout) {
            Ok(OutgoingKey(key)) => Either::A(key as f64),
            Err(error) => Either::B(error.into()),
        }
    }

    /// Gives up a request to the client.
    #[napi(catch_unwind)]
    pub fn abandon(&self, request: f64, reason: Option<String>) -> Either<bool, NativeFailure> {
        let Some(endpoint) = self.core.endpoint() else { return Either::A(false) };
        outcome(endpoint.abandon(OutgoingKey(number(request)), reason.as_deref()))
    }

    /// Tells whoever asked for it that a list has changed.
    #[napi(catch_unwind)]
    pub fn notify_changed(
        &self,
        #[napi(ts_arg_type = "'tools' | 'prompts' | 'resources'")] list: String,
    ) -> Option<NativeFailure> {
        let list = match list_kind(&list) {
            Ok(list) => list,
            Err(failure) => return Some(failure),
        };
        self.core.endpoint()?.notify_changed(list).err().map(NativeFailure::from)
    }

    /// Tells the watchers of a resource that it has changed.
    #[napi(catch_unwind)]
    pub fn resource_updated(&self, uri: String) -> Option<NativeFailure> {
        self.core.endpoint()?.resource_updated(&uri).err().map(NativeFailure::from)
    }

    /// Tells the client that was asked for a visit to a URL that it is complete.
    #[napi(catch_unwind)]
    pub fn complete_elicitation(&self, elicitation_id: String) -> Either<bool, NativeFailure> {
        let Some(endpoint) = self.core.endpoint() else { return Either::A(false) };
        outcome(endpoint.complete_elicitation(&elicitation_id))
    }

    /// Leaves the JSON text of the result that requests of `method` (under `revision`, where one is given) are answered with
    /// while a function holds JavaScript's thread; without a text there is none.
    #[napi(catch_unwind)]
    pub fn stand_in(&self, method: String, revision: Option<String>, result: Option<String>) {
        self.core.stand_ins.put(method, revision, result);
    }

    /// Begins to end the server in good order.
    #[napi(catch_unwind)]
    pub fn stop(&self) -> Option<NativeFailure> {
        self.core.stdio.get()?;
        let core = Arc::clone(&self.core);
        // On a thread, because the runtime waits for the end.
        let stopping =
            std::thread::Builder::new().name("ferromcp-stop".into()).spawn(move || core.stdio.get().map(Serving::stop));
        stopping.err().map(|error| Error::from(error).into())
    }

    /// From now on these signals (`SIGTERM`, `SIGINT`, `SIGHUP`) end this server, whatever JavaScript's thread is doing.
    #[napi(catch_unwind)]
    pub fn end_on_signals(&self, names: Vec<String>) -> Option<NativeFailure> {
        let ending = signals::end_on(Arc::downgrade(&self.core), &names);
        ending.err().map(|error| Error::from(error).into())
    }

    /// What the process is to end with: 0, 1 where the server failed, or 128 and a signal's number.
    #[napi(catch_unwind)]
    pub fn exit_code(&self) -> i32 {
        self.core.exit_code.load(Ordering::Acquire)
    }

    /// JavaScript has seen that the server is over: lets the event loop go.
    #[napi(catch_unwind)]
    pub fn acknowledge(&self) {
        self.core.acknowledge();
        self.core.bridge.drop_waker();
    }
}

impl NativeServer {
    fn waiting(&self) -> MutexGuard<'_, Option<engine::Server>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The engine, before the start or after it.
    fn with_server<R>(&self, body: impl FnOnce(&mut engine::Server, u64) -> R) -> Result<R, NativeFailure> {
        if let Some(endpoint) = self.core.endpoint() {
            let now = endpoint.now();
            return endpoint.with_engine(|server| body(server, now)).map_err(NativeFailure::from);
        }
        match self.waiting().as_mut() {
            Some(server) => Ok(body(server, 0)),
            None => Err(LocalError::Config("the server has no configuration".into()).into()),
        }
    }

    fn send(&self, batch: &str) -> Option<NativeFailure> {
        let endpoint = self.core.endpoint()?;
        let closed = self.core.bridge.close(answers(batch), |answer| answer.number);
        self.core.stand_ins.answered(closed.iter().map(|(_, call)| call.key));
        let now = endpoint.now();
        let mut unsent = Vec::new();
        let done = endpoint.with_engine(|server| {
            for (answer, call) in &closed {
                if !answer.send(server, call, now) {
                    unsent.push(call.key);
                }
            }
        });
        for key in unsent {
            endpoint.release(key);
        }
        done.err().map(NativeFailure::from)
    }

    /// A command about an open call; false for one that is answered.
    fn about(
        &self,
        call: f64,
        body: impl FnOnce(&Endpoint, RequestKey) -> Result<bool, Error>,
    ) -> Either<bool, NativeFailure> {
        match (self.core.endpoint(), self.core.bridge.key(number(call))) {
            (Some(endpoint), Some(key)) => outcome(body(endpoint, key)),
            _ => Either::A(false),
        }
    }
}
