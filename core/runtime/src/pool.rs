//! The threads that serve one connection: leader and followers.
//!
//! The leader waits for input, reads it, feeds the engine, writes what the engine answers by itself, and then runs the
//! calls that came of it, one after another, on the same thread: a quick call costs no hand-off and no wake-up. When
//! host code has not returned within a fraction of a millisecond, a watcher (`watch.rs`) takes the lead: it writes what
//! is finished, reads on, and runs the rest of the queue, watched by yet another thread. So a blocked call delays
//! nobody, at the cost of one thread.
//!
//! This file decides what a leader does and in which order. Turns are decided in `turns.rs`, threads in `watch.rs`.

use crate::debug::write_stderr;
use crate::endpoint::{Endpoint, Guard, Way};
use crate::http::{Net, Reactor};
use crate::options::{Error, ServeOptions};
use crate::state::{EndReason, Ended, Notice, Wire};
use crate::sys::{self, Interest};
use crate::turns::Ticket;
use ferromcp_engine::{Call, Event, Millis};
use std::io::{ErrorKind, Read as _};
use std::os::fd::AsFd;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Bytes in one read: what a pipe holds.
const READ: usize = 64 << 10;

/// Microseconds after which a leader that runs quick calls looks for input again. 1,000: a ping between a thousand
/// quick calls is answered within that, and the two system calls are lost in it.
const READ_AGAIN_US: u64 = 1_000;

/// Calls in the queue from which on a leader that could run them does not read more. 128: the pipe holds the client
/// back better than a long queue of ours, and cancellations in the pipe are not far away.
const READ_AHEAD: usize = 128;

/// How long the end waits for threads to come back from host code, which may have given the last answer just now. 20
/// ms: beyond it they are stuck, and said to be.
const COMING_BACK: Duration = Duration::from_millis(20);

/// Host code: what runs calls and is told of events. Implemented by each door.
pub trait Host: Send + Sync + 'static {
    /// Wraps a thread's whole life, for hosts that must set up something on each thread. Must call `body` once: a host
    /// that does not, or panics, ends the server with [`Error::Panicked`].
    fn enter_thread(&self, body: &mut dyn FnMut()) {
        body();
    }

    /// Runs calls: takes them from `queue` one at a time until there is none. A quick call is run at once; one that
    /// belongs on another thread is handed over there. Each call must be answered at `endpoint`, sooner or later, on
    /// whichever thread; answering one that was cancelled is harmless. A panic that leaves this method ends the server.
    fn run(&self, endpoint: &Arc<Endpoint>, queue: &CallQueue);

    /// Takes an event that is no call. Must return soon; events keep their order.
    fn notice(&self, endpoint: &Arc<Endpoint>, event: Event);
}

/// The calls that wait, for the thread that may take them.
pub struct CallQueue {
    endpoint: Arc<Endpoint>,
    ticket: Ticket,
    until_us: u64,
}

impl CallQueue {
    /// The next call. None: there is no other, or another thread has taken the queue over, or it is time to look for
    /// input; [`Host::run`] should return, and is called again when there is more.
    #[allow(clippy::should_implement_trait, reason = "it takes &self, because the queue is shared with other threads")]
    pub fn next(&self) -> Option<Call> {
        let endpoint = &*self.endpoint;
        if endpoint.is_forked() {
            return None;
        }
        loop {
            let mut state = endpoint.lock();
            if !state.turns.runs(self.ticket) || state.outcome.is_some() || state.out.backlog() > endpoint.high_water {
                return None;
            }
            if state.turns.together() && state.last_us > self.until_us {
                return None;
            }
            let call = state.calls.pop_front()?;
            if !std::mem::take(&mut state.fresh) {
                state.last_us = endpoint.now_us();
            }
            let now_us = state.last_us;
            state.turns.begin_call(self.ticket, now_us);
            let entrance = state.enter(&call, now_us);
            endpoint.arm(state);
            if entrance.is_none_or(|entrance| endpoint.admit(&call, &entrance)) {
                return Some(call);
            }
        }
    }
}

/// What the threads of one server share.
pub(crate) struct Pool {
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) max_threads: usize,
    pub(crate) stack_bytes: usize,
    pub(crate) thread_name: String,
}

impl Pool {
    pub(crate) fn new(endpoint: Arc<Endpoint>, host: Arc<dyn Host>, options: &ServeOptions) -> Self {
        Self {
            endpoint,
            host,
            // One to be held up and one to go on.
            max_threads: options.max_threads.max(2),
            stack_bytes: options.stack_bytes,
            thread_name: options.thread_name.clone(),
        }
    }

    /// Leads until the lead passes to another thread or the server has ended.
    pub(crate) fn lead(self: &Arc<Self>, ticket: Ticket, buffer: &mut Vec<u8>) {
        // Once for each thread that comes to lead.
        buffer.resize(READ, 0);
        let mut state = self.endpoint.lock();
        if state.outcome.is_some() {
            return;
        }
        let wire = state.wire.clone();
        let mut ran = false;
        loop {
            let now_us = self.endpoint.now_us();
            state.last_us = now_us;
            state.tick(now_us);
            let step = self.write(state, ticket).and_then(|state| self.report(state, ticket));
            let Some(next) = step else { return };
            state = next;
            if state.is_over(now_us / 1_000) {
                return self.finish(state);
            }
            if !ran && self.may_run(&state) {
                let (next, watched) = self.recruit(state);
                state = next;
                if watched {
                    ran = true;
                    let Some(next) = self.run(state, ticket) else { return };
                    state = next;
                    continue;
                }
            }
            ran = false;
            if !state.turns.queue_is_free() {
                // The runner was still on its way into host code when this thread took the lead alone. Once it is in a
                // call somebody has to see whether that gets stuck.
                state = self.recruit(state).0;
            }
            state = match &self.endpoint.reactor {
                Some(reactor) => self.wait(state, reactor),
                None => self.read(state, wire.as_deref(), buffer),
            };
        }
    }

    fn may_run(&self, state: &Guard<'_>) -> bool {
        !state.calls.is_empty() && state.turns.queue_is_free() && state.out.backlog() <= self.endpoint.high_water
    }

    /// Writes what is ready. None: the client is slow, and another thread leads by now.
    fn write<'a>(self: &'a Arc<Self>, mut state: Guard<'a>, ticket: Ticket) -> Option<Guard<'a>> {
        if !state.out.wants_writer() {
            return Some(state);
        }
        if !state.crew.watched() {
            // Nobody could take over, so it must not block; mostly there is room, and no second thread is needed.
            state = self.endpoint.write_out(state, Way::Ready);
            if !state.out.wants_writer() {
                return Some(state);
            }
            let (next, watched) = self.recruit(state);
            state = next;
            if !watched {
                return Some(state);
            }
        }
        let now_us = state.last_us;
        state.turns.block(ticket, now_us);
        self.endpoint.arm(state);
        state = self.endpoint.write_out(self.endpoint.lock(), Way::Blocking);
        self.back(state, ticket)
    }

    /// Tells the host what happened, and people what they asked for.
    fn report<'a>(self: &'a Arc<Self>, mut state: Guard<'a>, ticket: Ticket) -> Option<Guard<'a>> {
        let traces = state.tap.as_ref().is_some_and(|tap| tap.wants_writer());
        let notices = !state.noticing && !state.notices.is_empty();
        if !traces && !notices {
            return Some(state);
        }
        // Where no thread is left to watch, it is done all the same: this is not a call, and returns soon.
        state = self.recruit(state).0;
        if notices {
            state.noticing = true;
            while let Some(notice) = state.notices.pop_front() {
                state.turns.block(ticket, self.endpoint.now_us());
                self.endpoint.arm(state);
                self.tell(notice);
                state = self.endpoint.lock();
            }
            state.noticing = false;
        }
        if let Some(tap) = state.tap.as_mut().filter(|tap| tap.wants_writer()) {
            let lines = tap.take();
            state.turns.block(ticket, self.endpoint.now_us());
            self.endpoint.arm(state);
            write_stderr(&lines);
            state = self.endpoint.lock();
            if let Some(tap) = &mut state.tap {
                tap.writing = false;
            }
        }
        self.back(state, ticket)
    }

    fn tell(&self, notice: Notice) {
        let diagnostic = match notice {
            Notice::Finished(finished) => return finished.tell(),
            Notice::Event(Event::Diagnostic(diagnostic)) => diagnostic,
            Notice::Event(event) => return self.host.notice(&self.endpoint, event),
        };
        if let Some(hook) = &self.endpoint.diagnostics {
            return hook(&diagnostic);
        }
        let line = self.endpoint.lock().shown.first(&diagnostic);
        if let Some(line) = line {
            write_stderr(line.as_bytes());
        }
    }

    /// Runs the queue. None: another thread leads by now.
    fn run<'a>(self: &'a Arc<Self>, mut state: Guard<'a>, leader: Ticket) -> Option<Guard<'a>> {
        state.last_us = self.endpoint.now_us();
        state.fresh = true;
        let now_us = state.last_us;
        let runner = state.turns.run(now_us);
        state.inside += 1;
        let queue =
            CallQueue { endpoint: Arc::clone(&self.endpoint), ticket: runner, until_us: now_us + READ_AGAIN_US };
        self.endpoint.arm(state);
        self.endpoint.as_runner(runner, || self.host.run(&self.endpoint, &queue));
        let mut state = self.endpoint.lock();
        state.inside -= 1;
        state.turns.end_run(runner);
        if state.ending.is_some() {
            self.endpoint.ended.notify_all();
        }
        if !state.turns.leads(leader) {
            // What this thread answered after it had lost the queue is out already; what it answered before may not be.
            state = self.endpoint.write_out(state, Way::Blocking);
        }
        self.back(state, leader)
    }

    /// After something that could block: does this thread still lead? Whoever leads is told what this one left behind.
    fn back<'a>(&'a self, mut state: Guard<'a>, ticket: Ticket) -> Option<Guard<'a>> {
        if state.turns.leads(ticket) {
            state.turns.read();
            return Some(state);
        }
        self.endpoint.wake_leader(&mut state);
        None
    }

    /// Waits for something to do, and takes in what there is to read.
    fn read<'a>(&'a self, mut state: Guard<'a>, wire: Option<&Wire>, buffer: &mut [u8]) -> Guard<'a> {
        let endpoint = &*self.endpoint;
        if state.net.as_ref().is_some_and(Net::has_woken) {
            endpoint.wake_exchanges(state);
            // A call that came meanwhile has woken nobody, because nobody sleeps.
            return endpoint.lock();
        }
        state.throttled = state.out.backlog() > endpoint.high_water;
        let runnable = self.may_run(&state) && state.crew.watched();
        let reads = state.input_open && !state.throttled && !(runnable && state.calls.len() >= READ_AHEAD);
        let timeout = if runnable { Some(0) } else { self.sleep_for(&state) };
        let mut interests = [
            wire.filter(|_| reads).map_or_else(Interest::nothing, |wire| Interest::input(wire.input.as_fd())),
            Interest::input(endpoint.wake_descriptor()),
            match wire.filter(|_| !state.out.broken()) {
                None => Interest::nothing(),
                Some(wire) if state.out.wants_writer() => Interest::room(wire.output.as_fd()),
                Some(wire) => Interest::errors(wire.output.as_fd()),
            },
        ];
        state.asleep = Some(state.next_deadline().unwrap_or(Millis::MAX));
        drop(state);

        let polled = sys::poll(&mut interests, timeout);
        let [input, wake, output] = &interests;
        let read = wire.filter(|_| polled.is_ok() && input.ready()).map(|wire| (&wire.input).read(buffer));

        let now_us = endpoint.now_us();
        let mut state = endpoint.lock();
        state.asleep = None;
        state.last_us = now_us;
        if wake.ready() {
            state.woken = false;
            endpoint.swallow_wake();
        }
        if let Err(error) = polled {
            endpoint.fail_with(&mut state, Error::Io(error));
            return state;
        }
        let fed = match read {
            None => Ok(()),
            Some(Ok(0)) => state.end_of_input(now_us),
            Some(Ok(count)) => state.receive(&buffer[..count], now_us),
            Some(Err(error)) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => Ok(()),
            // A reset connection, or a terminal that is gone: no more will come.
            Some(Err(_)) => state.end_of_input(now_us),
        };
        if let Err(error) = fed {
            endpoint.fail_with(&mut state, error);
        } else if output.broken() && !state.out.broken() {
            state.reader_gone(now_us);
        }
        state
    }

    /// Waits for the network: whoever carries requests is served meanwhile, on this thread.
    fn wait<'a>(&'a self, mut state: Guard<'a>, reactor: &Reactor) -> Guard<'a> {
        let endpoint = &*self.endpoint;
        let runnable = self.may_run(&state) && state.crew.watched();
        let timeout = if runnable { Some(0) } else { self.sleep_for(&state) };
        let woken = state.net.as_mut().map(Net::take_woken).unwrap_or_default();
        state.asleep = Some(state.next_deadline().unwrap_or(Millis::MAX));
        drop(state);
        reactor.wait(woken, timeout);
        let now_us = endpoint.now_us();
        let mut state = endpoint.lock();
        state.asleep = None;
        state.woken = false;
        state.last_us = now_us;
        state
    }

    /// Milliseconds until the next deadline.
    fn sleep_for(&self, state: &Guard<'_>) -> Option<Millis> {
        let at = state.next_deadline()?;
        // Rounded up, so that the deadline has come when the sleep is over.
        Some((at.saturating_mul(1_000).saturating_sub(self.endpoint.now_us())).div_ceil(1_000))
    }

    /// The end: whoever still runs a call is told that nobody waits for it, and `wait` returns.
    fn finish<'a>(&'a self, mut state: Guard<'a>) {
        let now_us = self.endpoint.now_us();
        let reason = state.ending.unwrap_or(EndReason::Stopped);
        // Already closed where the reader is gone, or after draining.
        if let Some(stream) = state.stream {
            let _ = state.server.closed(stream, now_us / 1_000);
        }
        state.close_net(now_us);
        state.drain(now_us);
        if !state.noticing {
            while let Some(notice) = state.notices.pop_front() {
                drop(state);
                self.tell(notice);
                state = self.endpoint.lock();
            }
        }
        let (state, _) = self
            .endpoint
            .ended
            .wait_timeout_while(state, COMING_BACK, |state| state.inside > 0)
            .unwrap_or_else(PoisonError::into_inner);
        let mut state = state;
        if let Some(reactor) = &self.endpoint.reactor {
            // Connections tell us of their end, so not under the lock.
            drop(state);
            reactor.close();
            state = self.endpoint.lock();
        }
        let ended = Ended { reason, stuck: state.inside, unsent: state.out.backlog() };
        self.endpoint.conclude_with(&mut state, Ok(ended));
    }
}

impl Endpoint {
    /// Makes sure that the watcher looks soon.
    pub(crate) fn arm(&self, mut state: Guard<'_>) {
        if state.crew.arm() {
            drop(state);
            self.timer.set(self.takeover_after);
        }
    }

    /// The server can't go on.
    pub(crate) fn fail_with(&self, state: &mut Guard<'_>, error: Error) {
        self.conclude_with(state, Err(error));
        state.end(EndReason::Stopped, 0, self.now());
    }

    /// Sets the outcome, once, and lets every thread see it.
    pub(crate) fn conclude_with(&self, state: &mut Guard<'_>, outcome: Result<Ended, Error>) {
        if state.outcome.is_none() {
            state.outcome = Some(outcome);
        }
        state.calls.clear();
        state.wire = None;
        self.ended.notify_all();
        self.answered.notify_all();
        state.tasks.wake();
        if let Some(cluster) = self.cluster.get() {
            cluster.stop();
        }
        self.recruits.notify_all();
        self.timer.set(Duration::from_nanos(1));
    }
}
