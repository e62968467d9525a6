//! Everything about one served connection that the threads share, under one lock.
//!
//! One lock, because each step of a call touches the engine, the queue and the output together; it is held for
//! microseconds and never across a system call that can block. This file moves what the engine puts out to where it is
//! taken from; who takes it is decided in `endpoint.rs` (output) and `pool.rs` (calls, notices).

use crate::asking::Asks;
use crate::debug::{Shown, Tap};
use crate::http::Net;
use crate::middleware::{Chain, Finished, Over};
use crate::options::Error;
use crate::outbox::Outbox;
use crate::store::link::Link;
use crate::sys::NotForChildren;
use crate::task::Begins;
use crate::turns::Turns;
use crate::watch::Crew;
use ferromcp_engine::{Call, CancelReason, Event, Millis, Output, RequestKey, Server, StreamId};
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Arc, Condvar};

/// Cancelled calls that are remembered until host code answers them. 16,384: as many as can be in flight by default, so
/// that only host code that never answers gets there; what is forgotten is told as a notice all the same, and is never
/// sent.
const MOST_CANCELLED: usize = 16_384;

/// Why a server has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// The client closed its side, and what was in flight is answered or given up.
    EndOfInput,
    /// The client does not read any more.
    ReaderGone,
    /// `stop` was called.
    Stopped,
}

/// How a server has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Why.
    pub reason: EndReason,
    /// Threads that were still inside host code. They can't be ended from outside: a program that wants to exit in
    /// spite of them leaves without waiting for threads.
    pub stuck: usize,
    /// Bytes of answers that the client did not take in time.
    pub unsent: usize,
}

/// The two descriptors. Whoever is in a system call on one holds it open.
pub(crate) struct Wire {
    /// Goes before the descriptors do.
    _private: [NotForChildren; 2],
    pub(crate) input: File,
    pub(crate) output: File,
}

impl Wire {
    pub(crate) fn new(input: OwnedFd, output: OwnedFd) -> Self {
        Self {
            _private: [NotForChildren::new(input.as_fd()), NotForChildren::new(output.as_fd())],
            input: File::from(input),
            output: File::from(output),
        }
    }
}

/// What is told from the thread that reads, in the order in which it happened.
pub(crate) enum Notice {
    /// An event, to the host.
    Event(Event),
    /// The end of a call, to the middleware.
    Finished(Finished),
}

pub(crate) struct State {
    /// None after the end: the client sees that nothing more comes, whatever host code still does.
    pub(crate) wire: Option<Arc<Wire>>,
    pub(crate) server: Server,
    /// The one stream of a connection of lines; None where each peer has streams of its own.
    pub(crate) stream: Option<StreamId>,
    /// What HTTP adds, if that is served.
    pub(crate) net: Option<Net>,
    pub(crate) out: Outbox,
    /// Calls that host code has not taken.
    pub(crate) calls: VecDeque<Call>,
    /// What nobody has been told.
    pub(crate) notices: VecDeque<Notice>,
    /// What stands round host code, if anything.
    pub(crate) chain: Option<Box<Chain>>,
    /// Calls that host code has taken and nobody waits for any more, and why, until host code answers them.
    pub(crate) cancelled: HashMap<RequestKey, CancelReason>,
    /// Where tasks are kept.
    pub(crate) tasks: Link,
    /// UNIX milliseconds at the time 0.
    pub(crate) epoch_ms: u64,
    /// The questions to the client that threads wait for.
    pub(crate) asks: Asks,
    /// The calls whose threads wait for them to be tasks.
    pub(crate) begins: Begins,
    /// Signals: an answer to one of them, or a call that is over.
    pub(crate) answered: Arc<Condvar>,
    /// A thread is telling the host; others leave their notices to it, so that they stay in order.
    pub(crate) noticing: bool,
    pub(crate) tap: Option<Tap>,
    pub(crate) shown: Shown,
    pub(crate) turns: Turns,
    pub(crate) crew: Crew,
    /// The leader sleeps, until this moment if nothing happens.
    pub(crate) asleep: Option<Millis>,
    /// The leader was woken and has not seen it yet.
    pub(crate) woken: bool,
    /// The leader does not read, because the client does not.
    pub(crate) throttled: bool,
    pub(crate) input_open: bool,
    /// Why it is going to end.
    pub(crate) ending: Option<EndReason>,
    /// When to end even if answers are unsent.
    pub(crate) give_up_at: Option<Millis>,
    /// Threads inside host code.
    pub(crate) inside: usize,
    /// When the newest command or input came, in microseconds.
    pub(crate) last_us: u64,
    /// `last_us` is newer than the newest call's start, so that the next one's needs no look at the clock.
    pub(crate) fresh: bool,
    /// How it ended.
    pub(crate) outcome: Option<Result<Ended, Error>>,
    linger: Millis,
}

impl State {
    pub(crate) fn new(
        server: Server,
        stream: Option<StreamId>,
        wire: Option<Wire>,
        turns: Turns,
        tap: Option<Tap>,
        linger: Millis,
    ) -> Self {
        let tasks = Link::own(server.config().tasks.max_ended);
        Self {
            wire: wire.map(Arc::new),
            server,
            stream,
            net: None,
            out: Outbox::default(),
            calls: VecDeque::new(),
            notices: VecDeque::new(),
            chain: None,
            cancelled: HashMap::new(),
            tasks,
            epoch_ms: 0,
            asks: Asks::default(),
            begins: Begins::default(),
            answered: Arc::default(),
            noticing: false,
            tap,
            shown: Shown::default(),
            turns,
            crew: Crew::default(),
            asleep: None,
            woken: false,
            throttled: false,
            input_open: stream.is_some(),
            ending: None,
            give_up_at: None,
            inside: 0,
            last_us: 0,
            fresh: false,
            outcome: None,
            linger,
        }
    }

    /// Takes everything out of the engine. Follows every input and command.
    pub(crate) fn drain(&mut self, now_us: u64) {
        if let Some(buffer) = self.out.reclaim() {
            self.server.recycle(buffer);
        }
        while let Some(output) = self.server.poll_output() {
            match output {
                Output::Transmit { stream, lane, sent, bytes } => {
                    if let Some(tap) = &mut self.tap {
                        tap.sent(&bytes, now_us);
                    }
                    match &mut self.net {
                        None => self.out.push(bytes, now_us),
                        Some(net) => net.http.take(&mut self.server, stream, lane, sent, bytes, now_us / 1_000),
                    }
                }
                Output::Unanswered { stream, lane } => {
                    if let Some(net) = &mut self.net {
                        net.http.take_unanswered(&mut self.server, stream, lane, now_us / 1_000);
                    }
                }
                Output::Event(Event::Call(call)) => self.calls.push_back(call),
                Output::Event(Event::Cancelled { key, reason }) => {
                    // A call that host code has not seen needs no cancelling there.
                    match self.calls.iter().position(|call| call.key == key) {
                        Some(at) => drop(self.calls.remove(at)),
                        None => self.cancel(key, reason, now_us),
                    }
                }
                Output::Event(Event::Answers { ask, call, answers }) => match self.asks.put(ask, answers) {
                    Some(answers) => self.notices.push_back(Notice::Event(Event::Answers { ask, call, answers })),
                    None => self.answered.notify_all(),
                },
                Output::Event(Event::TaskBegun { call, id }) => {
                    if let (Some(chain), Some(id)) = (&mut self.chain, &id) {
                        chain.became_task(call, id);
                    }
                    match self.begins.put(call, id) {
                        Some(id) => self.notices.push_back(Notice::Event(Event::TaskBegun { call, id })),
                        None => self.answered.notify_all(),
                    }
                }
                Output::Event(Event::Store { op, request }) => {
                    let now = now_us / 1_000;
                    if let Some(outcome) = self.tasks.take(op, request, self.epoch_ms.saturating_add(now)) {
                        self.server.stored(op, outcome, now);
                    }
                }
                Output::Event(Event::Drained { stream }) => {
                    self.end(EndReason::EndOfInput, self.linger, now_us / 1_000);
                    self.notices.push_back(Notice::Event(Event::Drained { stream }));
                }
                Output::Event(Event::Answered { key, answer }) => {
                    let finished = self.chain.as_mut().and_then(|chain| chain.answered(key, answer, now_us));
                    self.notices.extend(finished.map(Notice::Finished));
                }
                Output::Event(event) => self.notices.push_back(Notice::Event(event)),
            }
        }
        if let Some(net) = &mut self.net {
            net.gather();
        }
    }

    /// Nobody waits for a call any more that was taken from the queue.
    fn cancel(&mut self, key: RequestKey, reason: CancelReason, now_us: u64) {
        let over = self.chain.as_mut().map_or(Over::Unknown, |chain| chain.cancelled(key, &reason, now_us));
        if matches!(over, Over::BeforeHost) {
            return;
        }
        if self.cancelled.len() >= MOST_CANCELLED {
            self.cancelled.clear();
        }
        self.cancelled.insert(key, reason.clone());
        self.answered.notify_all();
        self.notices.push_back(Notice::Event(Event::Cancelled { key, reason }));
        if let Over::Finished(finished) = over {
            self.notices.push_back(Notice::Finished(finished));
        }
    }

    /// Host code has ended a call that nobody waited for.
    pub(crate) fn forget(&mut self, key: RequestKey) {
        self.cancelled.remove(&key);
        if let Some(chain) = &mut self.chain {
            chain.forget(key);
        }
    }

    /// Something arrived.
    pub(crate) fn receive(&mut self, bytes: &[u8], now_us: u64) -> Result<(), Error> {
        if let Some(tap) = &mut self.tap {
            tap.received(bytes, now_us);
        }
        let Some(stream) = self.stream else { return Ok(()) };
        self.server.receive(stream, bytes, now_us / 1_000)?;
        self.drain(now_us);
        Ok(())
    }

    /// Nothing more will arrive.
    pub(crate) fn end_of_input(&mut self, now_us: u64) -> Result<(), Error> {
        self.input_open = false;
        let Some(stream) = self.stream else { return Ok(()) };
        self.server.end_of_input(stream, now_us / 1_000)?;
        self.drain(now_us);
        Ok(())
    }

    /// Nobody reads what we write.
    pub(crate) fn reader_gone(&mut self, now_us: u64) {
        self.out.break_off();
        self.input_open = false;
        if self.ending == Some(EndReason::ReaderGone) {
            return;
        }
        self.end(EndReason::ReaderGone, self.linger, now_us / 1_000);
        // Whoever else has the store of tasks is told at once that ours have failed.
        if let Some(stream) = self.stream {
            self.server.end_tasks(stream);
            // A stream that is closed already has nothing left to cancel.
            let _ = self.server.closed(stream, now_us / 1_000);
        }
        self.drain(now_us);
        if self.tasks.is_idle() {
            self.end(EndReason::ReaderGone, 0, now_us / 1_000);
        }
    }

    /// From now on only what is unsent matters, and that for at most `bound` milliseconds. The first reason stands, the
    /// nearest bound counts.
    pub(crate) fn end(&mut self, reason: EndReason, bound: Millis, now: Millis) {
        self.ending.get_or_insert(reason);
        let at = now.saturating_add(bound);
        self.give_up_at = Some(self.give_up_at.map_or(at, |before| before.min(at)));
    }

    /// Whether everything is done that an ending waits for, or its time is over.
    pub(crate) fn is_over(&self, now: Millis) -> bool {
        let told = self.notices.is_empty() && !self.noticing && self.tasks.is_idle();
        let late = self.give_up_at.is_some_and(|at| at <= now);
        let sent = self.out.backlog() == 0 && self.net.as_ref().is_none_or(Net::is_done);
        self.ending.is_some() && (late || (told && sent))
    }

    /// The engine's timers and our own.
    pub(crate) fn next_deadline(&self) -> Option<Millis> {
        let net = self.net.as_ref().and_then(|net| net.http.poll_timeout());
        [self.server.poll_timeout(), net, self.give_up_at].into_iter().flatten().min()
    }

    /// Lets the engine's timers expire.
    pub(crate) fn tick(&mut self, now_us: u64) {
        let now = now_us / 1_000;
        if self.server.poll_timeout().is_some_and(|at| at <= now) {
            self.server.handle_timeout(now);
            self.drain(now_us);
        }
        if let Some(net) = &mut self.net
            && net.http.poll_timeout().is_some_and(|at| at <= now)
        {
            net.http.handle_timeout(&mut self.server, now);
            self.drain(now_us);
        }
    }

    /// There is something that only the leader does, besides writing.
    pub(crate) fn needs_leader(&self) -> bool {
        (!self.calls.is_empty() && self.turns.queue_is_free())
            || (!self.notices.is_empty() && !self.noticing)
            || self.tap.as_ref().is_some_and(Tap::wants_writer)
            || self.ending.is_some()
            || (self.asleep.is_some_and(|until| self.next_deadline().is_some_and(|at| at < until)))
    }
}
