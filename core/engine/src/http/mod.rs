//! Streamable HTTP, and HTTP+SSE of 2024-11-05, without a socket: from a request's head and body to a response.
//!
//! [`Http`] stands beside a [`Server`] and holds what HTTP adds to it: which request belongs to which session, which answer
//! goes where, in which form, under which status. What carries it is somebody else's: a listener, an ASGI application, a
//! handler of another framework.
//!
//! # The contract
//!
//! 1. [`Http::admit`] a head. An error is the response. Else read a body of at most [`Admission::body_limit`] bytes.
//! 2. [`Http::serve`] it. **Then, as after everything else, take all outputs of the server and give
//!    [`Output::Transmit`](crate::Output::Transmit) and [`Output::Unanswered`](crate::Output::Unanswered) to
//!    [`Http::take`].**
//! 3. [`Http::next_ready`] names exchanges that have something to send; [`Http::poll`] gives it, piece by piece, until
//!    [`Part::End`] or a whole body.
//! 4. Tell [`Http::gone`] when the client is not there any more.
//! 5. Call [`Http::handle_timeout`] when [`Http::poll_timeout`] is reached.
//!
//! # Streams and lanes
//!
//! A modern request is a stream of its own in the server, for as long as its answer takes. A legacy session is one stream, on
//! which each POST has a lane; what belongs to no request is lane 0, which is the session's GET stream.

mod admit;
mod config;
mod exchange;
mod head;
mod log;
pub(crate) mod mirror;
mod node;
mod old;
mod origin;
mod post;
mod response;
mod session;

pub use admit::Admission;
pub use config::{ClusterUrl, HttpConfig};
pub use head::{Head, Headers};
pub use response::{Part, Response};

use crate::error::LocalError;
use crate::jsonrpc::LastMeta;
use crate::server::{Millis, RequestKey, Sent, Server, StreamId};
use ahash::AHashMap;
use exchange::Exchange;
use origin::Guard;
use session::{Session, SessionKey};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Names one request and its response. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExchangeId(pub u64);

/// How much there is, for whoever looks after a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpCounts {
    /// Legacy sessions.
    pub sessions: usize,
    /// Requests whose response is not complete.
    pub exchanges: usize,
}

/// Whose a stream of the server is.
#[derive(Clone, Copy)]
enum Owner {
    Exchange(ExchangeId),
    Session(SessionKey),
}

/// What is due.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Exchange(ExchangeId),
    Session(SessionKey),
}

/// HTTP for one [`Server`]. See the module's documentation for the contract.
pub struct Http {
    config: HttpConfig,
    guard: Guard,
    last_meta: LastMeta,
    exchanges: AHashMap<ExchangeId, Exchange>,
    next_exchange: u64,
    owners: AHashMap<StreamId, Owner>,
    sessions: BTreeMap<SessionKey, Session>,
    /// Sessions by the id that their client has.
    ids: AHashMap<String, SessionKey>,
    next_session: u64,
    /// The name of this process among those that serve together.
    node: Option<String>,
    ready: VecDeque<ExchangeId>,
    timers: BTreeSet<(Millis, Timer)>,
    shutting_down: bool,
}

impl Http {
    /// Without anything to listen on. `bound` is the address or name that is listened on, without a port.
    ///
    /// # Errors
    /// [`LocalError::Config`] naming what is wrong.
    pub fn new(config: HttpConfig, bound: Option<&str>) -> Result<Self, LocalError> {
        if config.path.as_ref().is_some_and(|path| !path.starts_with('/') || path.contains(['?', '#'])) {
            return Err(LocalError::Config("path: must begin with a slash, and have no query".into()));
        }
        let guard = Guard::new(&config, bound);
        Ok(Self {
            config,
            guard,
            last_meta: LastMeta::default(),
            exchanges: AHashMap::new(),
            next_exchange: 0,
            owners: AHashMap::new(),
            sessions: BTreeMap::new(),
            ids: AHashMap::new(),
            next_session: 0,
            node: None,
            ready: VecDeque::new(),
            timers: BTreeSet::new(),
            shutting_down: false,
        })
    }

    /// The configuration.
    pub fn config(&self) -> &HttpConfig {
        &self.config
    }

    /// Lets one more name be used, besides those of the configuration.
    pub fn allow_host(&mut self, host: &str) {
        self.guard.allow_host(host);
    }

    /// Looks at a request's head: who asks, for what, in which form.
    ///
    /// # Errors
    /// The response, where nothing else has to be looked at.
    pub fn admit(&self, head: &Head<'_>) -> Result<Admission, Response> {
        admit::admit(&self.config, Some(&self.guard), head)
    }

    /// Serves a request with its whole body; `head` is the one that was admitted.
    pub fn serve(
        &mut self,
        server: &mut Server,
        head: &Head<'_>,
        admission: &Admission,
        body: &[u8],
        now: Millis,
    ) -> ExchangeId {
        let id = ExchangeId(self.next_exchange);
        self.next_exchange += 1;
        self.exchanges.insert(id, Exchange::new(admission.form, admission.origin.clone()));
        let served = match (admission.target, admission.verb) {
            (admit::Target::Endpoint, admit::Verb::Post) => self.post(server, head, admission, body, id, now),
            (admit::Target::Endpoint, admit::Verb::Get) => self.get(server, head, admission, id, now),
            (admit::Target::Endpoint, admit::Verb::Delete) => self.delete(server, head, admission, now),
            (admit::Target::OldStream, _) => self.open_old(server, head, id, now),
            (admit::Target::OldMessages, _) => self.post_old(server, head, body, now),
        };
        if let Err(response) = served {
            // What is refused leaves nothing behind.
            self.gone_stream(server, id, now);
            self.respond(id, response);
        }
        id
    }

    /// The next piece of a response; None: there is none yet, or the exchange is over.
    pub fn poll(&mut self, id: ExchangeId) -> Option<Part> {
        let exchange = self.exchanges.get_mut(&id)?;
        let part = exchange.next();
        if exchange.is_over() {
            self.forget(id);
        }
        part
    }

    /// The exchange that a call came with; None where it is over.
    pub fn exchange_of(&self, server: &Server, call: RequestKey) -> Option<ExchangeId> {
        let (stream, lane) = server.lane_of(call)?;
        match self.owners.get(&stream)? {
            Owner::Exchange(id) => Some(*id),
            Owner::Session(key) => self.sessions.get(key)?.lanes.get(&lane).copied(),
        }
    }

    /// Whether nothing more will come of an exchange.
    pub fn is_over(&self, id: ExchangeId) -> bool {
        !self.exchanges.contains_key(&id)
    }

    /// An exchange that has something new to send, or was given up: [`Http::is_over`] without an end.
    pub fn next_ready(&mut self) -> Option<ExchangeId> {
        let id = self.ready.pop_front()?;
        if let Some(exchange) = self.exchanges.get_mut(&id) {
            exchange.told = false;
        }
        Some(id)
    }

    /// The client of an exchange is gone. A modern request is cancelled by it (2026-07-28 `basic/transports/streamable-http`,
    /// "Cancellation"), a legacy one goes on (2025-11-25 `basic/transports`, "Sending Messages to the Server").
    pub fn gone(&mut self, server: &mut Server, id: ExchangeId, now: Millis) {
        self.gone_stream(server, id, now);
        let Some(exchange) = self.forget(id) else { return };
        if let (true, Some((key, _))) = (exchange.named, exchange.session) {
            // HTTP+SSE has no other connection for it.
            self.end_session(server, key, now);
        }
    }

    /// Ends the stream that is an exchange's alone.
    fn gone_stream(&mut self, server: &mut Server, id: ExchangeId, now: Millis) {
        let stream = self.exchanges.get_mut(&id).and_then(|exchange| exchange.stream.take());
        if let Some(stream) = stream {
            self.owners.remove(&stream);
            // It is open: nobody else closes it.
            let _ = server.closed(stream, now);
        }
    }

    /// Takes an output of the server.
    pub fn take(&mut self, server: &mut Server, stream: StreamId, lane: u32, sent: Sent, bytes: Vec<u8>, now: Millis) {
        match self.owners.get(&stream) {
            Some(Owner::Exchange(id)) => self.take_for(server, *id, sent, bytes, now),
            Some(Owner::Session(key)) => self.take_for_session(*key, lane, sent, bytes, now),
            // Its client is gone.
            None => {}
        }
    }

    /// Takes [`Output::Unanswered`](crate::Output::Unanswered).
    pub fn take_unanswered(&mut self, server: &mut Server, stream: StreamId, lane: u32, now: Millis) {
        match self.owners.get(&stream) {
            Some(Owner::Exchange(id)) => {
                let id = *id;
                self.gone_stream(server, id, now);
                self.end_unanswered(id);
            }
            Some(Owner::Session(key)) => self.end_lane(*key, lane),
            None => {}
        }
    }

    /// When [`Http::handle_timeout`] wants to be called.
    pub fn poll_timeout(&self) -> Option<Millis> {
        self.timers.first().map(|(due, _)| *due)
    }

    /// Does what is due: keeps streams alive, ends sessions.
    pub fn handle_timeout(&mut self, server: &mut Server, now: Millis) {
        while let Some((due, timer)) = self.timers.first().copied().filter(|(due, _)| *due <= now) {
            self.timers.remove(&(due, timer));
            match timer {
                Timer::Exchange(id) => self.keep_alive(id, now),
                Timer::Session(key) => self.look_at_session(server, key, now),
            }
        }
    }

    /// Ends what would not end by itself: the streams of changes. Follows [`Server::shutdown`], whose outputs were taken.
    pub fn shutdown(&mut self) {
        self.shutting_down = true;
        let open: Vec<_> = self.sessions.values().flat_map(|session| session.general.iter().copied()).collect();
        for id in open {
            self.end_stream(id);
        }
    }

    /// Nothing is carried any more: every exchange and every session is over.
    pub fn close(&mut self, server: &mut Server, now: Millis) {
        let mut exchanges: Vec<_> = self.exchanges.keys().copied().collect();
        exchanges.sort_unstable();
        for id in exchanges {
            self.gone(server, id, now);
        }
        while let Some((key, _)) = self.sessions.first_key_value() {
            let key = *key;
            self.end_session(server, key, now);
        }
    }

    /// How much there is.
    pub fn counts(&self) -> HttpCounts {
        HttpCounts { sessions: self.sessions.len(), exchanges: self.exchanges.len() }
    }

    /// Names an exchange to the carrier.
    fn tell(&mut self, id: ExchangeId) {
        if let Some(exchange) = self.exchanges.get_mut(&id)
            && !std::mem::replace(&mut exchange.told, true)
        {
            self.ready.push_back(id);
        }
    }

    fn respond(&mut self, id: ExchangeId, response: Response) {
        if let Some(exchange) = self.exchanges.get_mut(&id) {
            exchange.respond(response);
            self.tell(id);
        }
    }

    /// Takes an exchange out of the books. What it still has to send is lost.
    fn forget(&mut self, id: ExchangeId) -> Option<Exchange> {
        let exchange = self.exchanges.remove(&id)?;
        if let Some(due) = exchange.due {
            self.timers.remove(&(due, Timer::Exchange(id)));
        }
        if let Some((key, lane)) = exchange.session {
            self.leave_session(key, lane, id);
        }
        Some(exchange)
    }
}
