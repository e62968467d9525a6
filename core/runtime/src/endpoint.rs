//! One served connection: the engine under its lock, the clock, and the output.
//!
//! Every command of the engine has a twin here that takes the lock, passes the time, and sees to the output. This file
//! decides **when output is written and by whom**:
//!
//! * An answer given on the thread that runs the queue waits until the queue is empty, more than 64 KiB are ready, or
//!   200 us have passed since the oldest unwritten byte. If its thread gets stuck first, the next leader writes it.
//! * What is given on any other thread is written at once, but without blocking: what the client does not take is left
//!   to the leader. A door's event loop is never held up by a slow client.
//! * One thread writes at a time, never with the lock held. Others append and leave; the writer looks again when it is
//!   back.

use crate::debug::Tap;
use crate::http::cluster::{Cluster, Told};
use crate::http::{Net, Reactor};
use crate::middleware::Chain;
use crate::options::{DiagnosticHook, Error, ServeOptions};
use crate::outbox::FULL;
use crate::state::{EndReason, State, Wire};
use crate::store::link::Link;
use crate::sys::{self, timer::Timer};
use crate::turns::{Ticket, Turns};
use ferromcp_engine::http::Http;
use ferromcp_engine::{
    CancelReason, ListKind, LocalError, LogLevel, Millis, OutgoingKey, PeerError, Reply, RequestKey, Server, StreamId,
};
use std::cell::Cell;
use std::io::{PipeReader, PipeWriter, Read as _, Write as _};
use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::watch;

/// Microseconds that an answer may wait for others to share its system call. 200: about what the system call and the
/// client's wake-up cost together, so waiting longer would delay more than it saves.
const COALESCE_US: u64 = 200;

thread_local! {
    /// The endpoint (by address) whose queue this thread runs, and with which ticket.
    static RUNNING: Cell<Option<(usize, Ticket)>> = const { Cell::new(None) };
    /// The endpoint (by address) whose output this thread holds back.
    static DEFERRED: Cell<usize> = const { Cell::new(0) };
}

/// One served connection. Shared by the threads that serve it and by host code, which answers its calls here.
///
/// All commands are non-blocking for threads of the host's own; on threads that run calls they may write to the client,
/// who may be slow. A command for a call that is over (answered, cancelled, timed out) returns `Ok(false)` and sends
/// nothing.
pub struct Endpoint {
    pub(crate) shared: Mutex<State>,
    /// Signals: an outcome.
    pub(crate) ended: Condvar,
    /// Signals: an answer that a thread waits for, or the end of a call.
    pub(crate) answered: Arc<Condvar>,
    /// Signals: a vacancy for an idle thread.
    pub(crate) recruits: Condvar,
    /// Wakes the watcher some time after it was set.
    pub(crate) timer: Timer,
    pub(crate) takeover_after: Duration,
    pub(crate) high_water: usize,
    pub(crate) diagnostics: Option<DiagnosticHook>,
    wake: (PipeReader, PipeWriter),
    origin: Instant,
    forks: u32,
    stream: Option<StreamId>,
    /// Where the threads wait for the network.
    pub(crate) reactor: Option<Arc<Reactor>>,
    /// Set when the end begins.
    end: watch::Sender<bool>,
    /// The processes that this one serves with.
    pub(crate) cluster: OnceLock<Arc<Cluster>>,
}

pub(crate) type Guard<'a> = MutexGuard<'a, State>;

/// What a server's messages travel on.
pub(crate) enum Carrier {
    /// Lines, from and to one client.
    Wire(Wire),
    /// Requests and responses of HTTP; from a listener of ours where there is a reactor.
    Http(Box<Http>, Option<Arc<Reactor>>),
}

/// How a thread may write.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// All of it, however long the client takes.
    Blocking,
    /// What fits without waiting; the rest is the leader's.
    Ready,
}

impl Endpoint {
    /// For one client at the other end of a wire, or for those that come over HTTP.
    pub(crate) fn new(mut server: Server, carrier: Carrier, options: &ServeOptions) -> Result<(Self, Ticket), Error> {
        sys::count_forks();
        sys::ignore_default_sigpipe();
        server.set_entropy(crate::entropy::system());
        let epoch_ms = unix_ms();
        server.set_epoch(epoch_ms);
        let tasks = match options.task_store.open(epoch_ms)? {
            Some(opened) => {
                server.set_task_owner(&opened.owner, opened.leases);
                Link::shared(opened.store, opened.owner)
            }
            None => {
                server.set_task_owner("", false);
                Link::own(server.config().tasks.max_ended)
            }
        };
        let chain = Chain::new(&options.middleware, &mut server);
        let (wire, net, reactor) = match carrier {
            Carrier::Wire(wire) => (Some(wire), None, None),
            Carrier::Http(http, reactor) => (None, Some(Net::new(*http)), reactor),
        };
        let stream = wire.is_some().then(|| server.open(0));
        let (turns, leader) = Turns::new();
        let tap = Tap::new(options.traced(), options.recent);
        let linger = Millis::try_from(options.linger.as_millis()).unwrap_or(Millis::MAX);
        let mut state = State::new(server, stream, wire, turns, tap, linger);
        state.net = net;
        state.tasks = tasks;
        state.chain = chain;
        state.epoch_ms = epoch_ms;
        let answered = Arc::clone(&state.answered);
        let endpoint = Self {
            shared: Mutex::new(state),
            answered,
            ended: Condvar::new(),
            recruits: Condvar::new(),
            timer: Timer::new()?,
            takeover_after: options.takeover_after,
            high_water: options.high_water,
            diagnostics: options.diagnostics.clone(),
            wake: std::io::pipe()?,
            origin: Instant::now(),
            forks: sys::forks(),
            stream,
            reactor,
            end: watch::Sender::new(false),
            cluster: OnceLock::new(),
        };
        Ok((endpoint, leader))
    }

    /// The engine's stream for this connection; None where each client has streams of its own.
    pub fn stream(&self) -> Option<StreamId> {
        self.stream
    }

    /// Milliseconds since the server started: the clock that the engine is given.
    pub fn now(&self) -> Millis {
        self.now_us() / 1_000
    }

    /// UNIX time in milliseconds.
    pub(crate) fn unix(&self) -> u64 {
        unix_ms()
    }

    pub(crate) fn now_us(&self) -> u64 {
        // 2^64 microseconds are half a million years.
        self.origin.elapsed().as_micros() as u64
    }

    /// Answers a call. See [`Server::respond`].
    pub fn respond(&self, key: RequestKey, reply: Reply<'_>) -> Result<bool, Error> {
        self.answer(key, |server, now| server.respond(key, reply, now))
    }

    /// Answers a call with an error. See [`Server::fail`].
    pub fn fail(&self, key: RequestKey, error: &PeerError) -> Result<bool, Error> {
        self.answer(key, |server, now| server.fail(key, error, now))
    }

    /// Answers a read of a resource that does not exist. See [`Server::fail_unknown_resource`].
    pub fn fail_unknown_resource(&self, key: RequestKey, uri: &str) -> Result<bool, Error> {
        self.answer(key, |server, now| server.fail_unknown_resource(key, uri, now))
    }

    /// Forgets a cancelled call that host code will not answer. Not needed after an answer.
    pub fn release(&self, key: RequestKey) {
        if !self.is_forked() {
            self.lock().forget(key);
        }
    }

    /// Whether nobody waits for this call's answer any more: it was cancelled, ran too long, or the client is gone. For
    /// host code that runs the call; once it has answered, this is false.
    pub fn is_cancelled(&self, key: RequestKey) -> bool {
        !self.is_forked() && self.lock().cancelled.contains_key(&key)
    }

    /// Why nobody waits for this call's answer any more; None where somebody does.
    pub fn cancel_reason(&self, key: RequestKey) -> Option<CancelReason> {
        if self.is_forked() {
            return None;
        }
        self.lock().cancelled.get(&key).cloned()
    }

    /// Reports progress of a call. See [`Server::progress`].
    pub fn progress(
        &self,
        key: RequestKey,
        progress: f64,
        total: Option<f64>,
        message: Option<&str>,
    ) -> Result<bool, Error> {
        self.command(|server, now| server.progress(key, progress, total, message, now))
    }

    /// Sends a log message that belongs to a call; `data` is JSON text. See [`Server::log`].
    pub fn log(&self, key: RequestKey, level: LogLevel, logger: Option<&str>, data: &str) -> Result<bool, Error> {
        self.command(|server, _| server.log(key, level, logger, data))
    }

    /// Sends a notification that belongs to a call; `params` is JSON text. See [`Server::notify`].
    pub fn notify(&self, key: RequestKey, method: &str, params: Option<&str>) -> Result<bool, Error> {
        self.command(|server, _| server.notify(key, method, params))
    }

    /// Sends a log message that belongs to no call to every legacy client. See [`Server::log_stream`]. False: nobody got it.
    /// Those of other nodes get it too, and don't count.
    pub fn log_clients(&self, level: LogLevel, logger: Option<&str>, data: &str) -> Result<bool, Error> {
        let sent = self.log_clients_here(level, logger, data)?;
        self.tell_others(|| Told::Log(level.as_str().into(), logger.map(Into::into), data.into()));
        Ok(sent)
    }

    pub(crate) fn log_clients_here(&self, level: LogLevel, logger: Option<&str>, data: &str) -> Result<bool, Error> {
        self.to_clients(|server, stream| server.log_stream(stream, level, logger, data))
    }

    /// Sends a notification that belongs to no call to every legacy client. See [`Server::notify_stream`]. False: nobody got it.
    /// Those of other nodes get it too, and don't count.
    pub fn notify_clients(&self, method: &str, params: Option<&str>) -> Result<bool, Error> {
        let sent = self.notify_clients_here(method, params)?;
        self.tell_others(|| Told::Notification(method.into(), params.map(Into::into)));
        Ok(sent)
    }

    pub(crate) fn notify_clients_here(&self, method: &str, params: Option<&str>) -> Result<bool, Error> {
        self.to_clients(|server, stream| server.notify_stream(stream, method, params))
    }

    fn to_clients(&self, send: impl Fn(&mut Server, StreamId) -> Result<bool, LocalError>) -> Result<bool, Error> {
        let one = self.stream;
        self.command(|server, _| {
            let streams = one.map_or_else(|| server.legacy_streams(), |stream| vec![stream]);
            let mut sent = false;
            for stream in streams {
                sent |= send(server, stream)?;
            }
            Ok(sent)
        })
    }

    /// What clients of this process are told, those of the processes that serve with it are told as well.
    fn tell_others(&self, told: impl FnOnce() -> Told) {
        if let Some(cluster) = self.cluster.get() {
            cluster.tell(told());
        }
    }

    /// Tells whoever asked for it that a list has changed, on every node. See [`Server::notify_changed`].
    pub fn notify_changed(&self, list: ListKind) -> Result<(), Error> {
        self.notify_changed_here(list)?;
        self.tell_others(|| Told::Changed(list.into()));
        Ok(())
    }

    pub(crate) fn notify_changed_here(&self, list: ListKind) -> Result<(), Error> {
        self.command(|server, now| {
            server.notify_changed(list, now);
            Ok(())
        })
    }

    /// Tells the watchers of a resource that it has changed, on every node. See [`Server::resource_updated`].
    pub fn resource_updated(&self, uri: &str) -> Result<(), Error> {
        self.resource_updated_here(uri)?;
        self.tell_others(|| Told::Updated(uri.into()));
        Ok(())
    }

    pub(crate) fn resource_updated_here(&self, uri: &str) -> Result<(), Error> {
        self.command(|server, _| {
            server.resource_updated(uri);
            Ok(())
        })
    }

    /// Tells the client that was asked for a visit to a URL that it is complete. See [`Server::complete_elicitation`]. A client of
    /// another node gets it too, and does not count.
    pub fn complete_elicitation(&self, elicitation_id: &str) -> Result<bool, Error> {
        let told = self.complete_elicitation_here(elicitation_id)?;
        if !told {
            self.tell_others(|| Told::Completed(elicitation_id.into()));
        }
        Ok(told)
    }

    pub(crate) fn complete_elicitation_here(&self, elicitation_id: &str) -> Result<bool, Error> {
        self.command(|server, _| Ok(server.complete_elicitation(elicitation_id)))
    }

    /// Asks the client something. The answer comes to [`crate::Host::notice`]. See [`Server::request`].
    pub fn request(
        &self,
        related: Option<RequestKey>,
        method: &str,
        params: Option<&str>,
        timeout_ms: Option<u64>,
    ) -> Result<OutgoingKey, Error> {
        let stream = self.stream;
        self.command(|server, now| {
            let stream = related.and_then(|key| server.stream_of(key)).or(stream).ok_or(LocalError::NoBackChannel)?;
            server.request(stream, related, method, params, timeout_ms, now)
        })
    }

    /// Gives up a request to the client. See [`Server::abandon`].
    pub fn abandon(&self, key: OutgoingKey, reason: Option<&str>) -> Result<bool, Error> {
        self.command(|server, _| Ok(server.abandon(key, reason)))
    }

    /// Runs any command of the engine, or several, under one taking of the lock. `body` must not call into this
    /// endpoint.
    pub fn with_engine<R>(&self, body: impl FnOnce(&mut Server) -> R) -> Result<R, Error> {
        self.command(|server, _| Ok(body(server)))
    }

    /// Holds this thread's output back until the guard is dropped: one system call for many answers.
    pub fn defer(&self) -> Deferred<'_> {
        Deferred { endpoint: self, before: DEFERRED.replace(self.address()), not_send: PhantomData }
    }

    /// Writes what is ready, as far as the client takes it; the rest is written by the server's own thread.
    pub fn flush(&self) -> Result<(), Error> {
        self.check()?;
        drop(self.write_out(self.lock(), self.way()));
        Ok(())
    }

    /// The last messages, oldest first, each in one line with credentials hidden. Empty unless [`ServeOptions::recent`]
    /// asks for some.
    pub fn recent(&self) -> Vec<String> {
        if self.is_forked() {
            return Vec::new();
        }
        self.lock().tap.as_ref().map(Tap::recent).unwrap_or_default()
    }

    pub(crate) fn command<R>(
        &self,
        body: impl FnOnce(&mut Server, Millis) -> Result<R, LocalError>,
    ) -> Result<R, Error> {
        self.command_on(|state, now| body(&mut state.server, now))
    }

    pub(crate) fn answer(
        &self,
        key: RequestKey,
        body: impl FnOnce(&mut Server, Millis) -> Result<bool, LocalError>,
    ) -> Result<bool, Error> {
        self.command_on(|state, now| {
            let answered = body(&mut state.server, now)?;
            if !answered {
                state.forget(key);
            }
            Ok(answered)
        })
    }

    pub(crate) fn command_on<R>(
        &self,
        body: impl FnOnce(&mut State, Millis) -> Result<R, LocalError>,
    ) -> Result<R, Error> {
        self.check()?;
        let now_us = self.now_us();
        let mut state = self.lock();
        let result = body(&mut state, now_us / 1_000)?;
        state.last_us = now_us;
        state.fresh = true;
        state.drain(now_us);
        self.conclude(state, now_us);
        Ok(result)
    }

    /// What follows every command: output on its way, the leader told if it must know.
    fn conclude<'a>(&'a self, mut state: Guard<'a>, now_us: u64) {
        let runs =
            RUNNING.get().is_some_and(|(endpoint, ticket)| endpoint == self.address() && state.turns.runs(ticket));
        let may_wait = if runs {
            match state.net {
                Some(_) => state.turns.together(),
                None => state.out.ready() < FULL && now_us.saturating_sub(state.out.since()) < COALESCE_US,
            }
        } else {
            DEFERRED.get() == self.address()
        };
        self.wake_leader(&mut state);
        if may_wait {
            return;
        }
        if state.out.wants_writer() {
            drop(self.write_out(state, self.way()));
        } else if state.net.is_some() {
            self.wake_exchanges(state);
        }
    }

    /// Turns true when the end begins.
    pub(crate) fn watch_ending(&self) -> watch::Receiver<bool> {
        self.end.subscribe()
    }

    /// Wakes who carries what is ready.
    pub(crate) fn wake_exchanges(&self, mut state: Guard<'_>) {
        let woken = state.net.as_mut().map(Net::take_woken).unwrap_or_default();
        drop(state);
        for waker in woken {
            waker.wake();
        }
    }

    /// How the current thread writes: those that run our calls may be held up by the client, they are watched for it.
    fn way(&self) -> Way {
        match RUNNING.get() {
            Some((endpoint, _)) if endpoint == self.address() => Way::Blocking,
            _ => Way::Ready,
        }
    }

    /// Writes all that is ready, unless someone is at it. Whoever has to know is told.
    pub(crate) fn write_out<'a>(&'a self, mut state: Guard<'a>, way: Way) -> Guard<'a> {
        while state.out.wants_writer() {
            let Some(wire) = state.wire.clone() else { break };
            let mut batch = state.out.take();
            drop(state);
            let outcome = match way {
                Way::Blocking => batch.write(&wire.output),
                Way::Ready => batch.write_ready(&wire.output),
            };
            let stopped = batch.is_left();
            state = self.lock();
            if state.out.settle(batch, &outcome) {
                state.reader_gone(self.now_us());
            }
            // The leader may have waited for this batch to be gone, or has to take over what did not fit.
            self.wake_leader(&mut state);
            if stopped {
                self.wake(&mut state);
                break;
            }
        }
        state
    }

    /// Wakes the leader if it sleeps and there is something for it. Must come before anything that may block.
    pub(crate) fn wake_leader(&self, state: &mut Guard<'_>) {
        let relieved = state.throttled && state.out.backlog() <= self.high_water / 2;
        if state.asleep.is_some() && (relieved || state.needs_leader()) {
            self.wake(state);
        }
    }

    /// Wakes the leader if it sleeps.
    pub(crate) fn wake(&self, state: &mut Guard<'_>) {
        if state.asleep.is_none() || state.woken {
            return;
        }
        state.woken = true;
        if let Some(reactor) = &self.reactor {
            return reactor.wake();
        }
        // One byte at most is in the pipe, so this neither blocks nor fails while the endpoint lives.
        let _ = (&self.wake.1).write(&[1]);
    }

    /// Takes the byte of [`Endpoint::wake_leader`] out of the pipe.
    pub(crate) fn swallow_wake(&self) {
        let _ = (&self.wake.0).read(&mut [0; 8]);
    }

    pub(crate) fn wake_descriptor(&self) -> BorrowedFd<'_> {
        self.wake.0.as_fd()
    }

    /// Runs `body` as host code of this endpoint: its answers are gathered as long as the ticket is good.
    pub(crate) fn as_runner(&self, ticket: Ticket, body: impl FnOnce()) {
        let before = RUNNING.replace(Some((self.address(), ticket)));
        body();
        RUNNING.set(before);
    }

    /// Ends the connection: subscriptions are ended, answers that are there are sent, for at most `bound`.
    pub(crate) fn stop(&self, bound: Duration) -> Result<(), Error> {
        self.check()?;
        self.end.send_replace(true);
        if let Some(cluster) = self.cluster.get() {
            cluster.ending();
        }
        let now_us = self.now_us();
        let mut state = self.lock();
        state.server.shutdown(now_us / 1_000);
        // Nothing more is read, so nobody can answer.
        state.server.give_up_everything();
        state.drain(now_us);
        if let Some(net) = &mut state.net {
            net.http.shutdown();
            net.gather();
        }
        state.input_open = false;
        state.end(EndReason::Stopped, Millis::try_from(bound.as_millis()).unwrap_or(Millis::MAX), now_us / 1_000);
        self.wake_leader(&mut state);
        self.wake_exchanges(state);
        Ok(())
    }

    /// The state. A panic under the lock is a bug of the engine that its thread reports; the others carry on with what
    /// there is.
    pub(crate) fn lock(&self) -> Guard<'_> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, if nobody else has it.
    pub(crate) fn try_lock(&self) -> Option<Guard<'_>> {
        match self.shared.try_lock() {
            Ok(state) => Some(state),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    pub(crate) fn is_forked(&self) -> bool {
        sys::forks() != self.forks
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.is_forked() { Err(Error::Forked) } else { Ok(()) }
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

/// UNIX time in milliseconds.
pub(crate) fn unix_ms() -> u64 {
    // A clock before 1970 counts as 1970.
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint").field("stream", &self.stream).finish_non_exhaustive()
    }
}

/// While it lives, what this thread sends waits. See [`Endpoint::defer`].
pub struct Deferred<'a> {
    endpoint: &'a Endpoint,
    before: usize,
    /// It speaks of the thread that made it.
    not_send: PhantomData<*const ()>,
}

impl Drop for Deferred<'_> {
    fn drop(&mut self) {
        DEFERRED.set(self.before);
        if self.before != self.endpoint.address() {
            // In a forked child there is nothing to write, and nobody to tell.
            let _ = self.endpoint.flush();
        }
    }
}
