//! The thread of a node: passes requests on, serves those of others, tells everyone what has changed.
//!
//! It alone uses the node's seat on the bus, so frames leave in the order in which they were made.

use super::bus::Seat;
use super::frame::{Frame, Request, Told, What, pieces};
use super::remote::Arrived;
use super::{BEAT, Cluster, Job, Opening};
use crate::endpoint::Endpoint;
use crate::http::{Exchange, KeptHeaders};
use crate::state::Notice;
use ferromcp_engine::http::{Admission, Head, Part};
use ferromcp_engine::{Diagnostic, DiagnosticKind, Event, LogLevel};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// How long a node may take to say that a request has arrived. 5 s: it does nothing else in between that takes long; one that
/// hangs is as good as gone.
const ACCEPTANCE: Duration = Duration::from_secs(5);

/// How long the rest of a request's body may take to arrive. 10 s: all of it was sent at once.
const BODY: Duration = Duration::from_secs(10);

/// Bytes of one response that are under way and not taken by its client. 512 KiB: beyond it the response waits where it comes
/// from, under the bounds of a client that does not read.
const WINDOW: usize = 512 << 10;

/// An exchange that is served here: the node that the client has come to, and its number there.
pub(super) type Key = (String, u64);

pub(super) struct Node {
    cluster: Arc<Cluster>,
    endpoint: Arc<Endpoint>,
    seat: Box<dyn Seat>,
    /// Requests that others serve.
    passed: BTreeMap<u64, Passed>,
    /// Requests of others whose bodies are not complete.
    arriving: BTreeMap<Key, Arriving>,
    /// Requests that are served here.
    served: BTreeMap<Key, Served>,
    beat: Instant,
    /// Frames arrive.
    hears: bool,
    /// All know that what was under way before is lost.
    greeted: bool,
    /// Somebody was told that others can't be reached.
    told: bool,
}

struct Passed {
    owner: String,
    admission: Admission,
    arrived: Arc<Arrived>,
    endless: bool,
    /// When it has to be accepted; None: it was.
    due: Option<Instant>,
}

struct Arriving {
    request: Request,
    body: Vec<u8>,
    due: Instant,
}

struct Served {
    /// None: all of the response has been taken out of it.
    exchange: Option<Exchange>,
    waker: Waker,
    /// Pieces of the body that are still to be sent, the next one last.
    rest: Vec<Vec<u8>>,
    /// Bytes that are under way.
    untaken: usize,
}

impl Served {
    fn cut(&mut self, bytes: &[u8]) {
        self.rest = pieces(bytes).map(|(piece, _)| piece.to_vec()).filter(|piece| !piece.is_empty()).collect();
        self.rest.reverse();
    }
}

/// Wakes the thread for one exchange.
struct Bell {
    cluster: Arc<Cluster>,
    key: Key,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.cluster.queue.push(Job::Poll(self.key.clone()));
    }
}

impl Node {
    pub(super) fn new(cluster: Arc<Cluster>, endpoint: Arc<Endpoint>, seat: Box<dyn Seat>) -> Self {
        Self {
            cluster,
            endpoint,
            seat,
            passed: BTreeMap::new(),
            arriving: BTreeMap::new(),
            served: BTreeMap::new(),
            beat: Instant::now() + BEAT,
            hears: false,
            greeted: false,
            told: false,
        }
    }

    /// Waits until the bus says whether it can be reached.
    pub(super) fn begin(&mut self) {
        let until = Instant::now() + ACCEPTANCE;
        while !self.greeted && !self.told {
            match self.cluster.queue.next(until.saturating_duration_since(Instant::now())) {
                Some(job) => self.work(job),
                None => return,
            }
        }
    }

    pub(super) fn run(mut self) {
        loop {
            let wait = self.beat.saturating_duration_since(Instant::now());
            match self.cluster.queue.next(wait) {
                Some(Job::Stop) => break,
                Some(job) => self.work(job),
                None => {}
            }
            let now = Instant::now();
            if self.beat <= now {
                self.beat = now + BEAT;
                self.look_around(now);
            }
        }
        self.cluster.up.store(false, Ordering::Release);
        for job in self.cluster.queue.close() {
            if let Job::Open(opening) = job {
                opening.arrived.give_up(opening.admission.unavailable());
            }
        }
        self.give_up_all();
    }

    fn work(&mut self, job: Job) {
        match job {
            Job::Frame(bytes) => self.receive(&bytes),
            Job::Up => {
                self.hears = true;
                self.greet();
            }
            Job::Down(reason) => {
                self.hears = false;
                self.lose(&reason);
            }
            Job::Open(opening) => self.pass_on(*opening),
            Job::Gone(exchange) => {
                if let Some(passed) = self.passed.remove(&exchange) {
                    self.send(&passed.owner, exchange, What::Gone, b"");
                }
            }
            Job::Taken(exchange, bytes) => {
                if let Some(passed) = self.passed.get(&exchange) {
                    let owner = passed.owner.clone();
                    self.send(&owner, exchange, What::Taken { bytes }, b"");
                }
            }
            Job::Poll(key) => self.carry(&key),
            Job::Tell(told) => {
                let frame = self.frame(0, What::Told(told)).encode(b"");
                if let Err(reason) = self.seat.send_all(&frame) {
                    self.lose(&reason);
                }
            }
            Job::Ending => {
                let endless: Vec<u64> =
                    self.passed.iter().filter(|(_, passed)| passed.endless).map(|(exchange, _)| *exchange).collect();
                for exchange in endless {
                    let Some(passed) = self.passed.remove(&exchange) else { continue };
                    passed.arrived.end();
                    self.send(&passed.owner, exchange, What::Gone, b"");
                }
            }
            Job::Stop => {}
        }
    }

    fn frame(&self, exchange: u64, what: What) -> Frame<'_> {
        Frame { from: self.cluster.name.as_str().into(), exchange, what }
    }

    /// Sends to one node. Where nobody receives it, all that was between us is over. True: it was received.
    fn send(&mut self, node: &str, exchange: u64, what: What, body: &[u8]) -> bool {
        let frame = self.frame(exchange, what).encode(body);
        self.send_frame(node, &frame)
    }

    fn send_frame(&mut self, node: &str, frame: &[u8]) -> bool {
        match self.seat.send(node, frame) {
            Ok(true) => return true,
            Ok(false) => self.forget(node, false),
            Err(reason) => self.lose(&reason),
        }
        false
    }

    /// Says that we are there, and that what was under way before is lost.
    fn greet(&mut self) {
        self.give_up_all();
        let frame = self.frame(0, What::Hello).encode(b"");
        match self.seat.send_all(&frame) {
            Ok(()) => {
                self.greeted = true;
                self.told = false;
                self.cluster.up.store(true, Ordering::Release);
            }
            Err(reason) => self.lose(&reason),
        }
    }

    /// Others can't be reached: everything that is under way is over.
    fn lose(&mut self, reason: &str) {
        self.greeted = false;
        self.cluster.up.store(false, Ordering::Release);
        self.give_up_all();
        if !std::mem::replace(&mut self.told, true) {
            let detail = format!("the other nodes can't be reached, clients of this one are served on: {reason}");
            let diagnostic = Diagnostic { stream: None, kind: DiagnosticKind::Cluster, detail };
            let mut state = self.endpoint.lock();
            state.notices.push_back(Notice::Event(Event::Diagnostic(diagnostic)));
            self.endpoint.wake_leader(&mut state);
        }
    }

    fn give_up_all(&mut self) {
        for passed in std::mem::take(&mut self.passed).into_values() {
            passed.arrived.give_up(passed.admission.unavailable());
        }
        self.arriving.clear();
        // Dropping them says that their clients are gone.
        self.served.clear();
    }

    /// What is under way between us and another node is over: it is gone, and its sessions with it, or has lost the rest.
    fn forget(&mut self, node: &str, lives: bool) {
        let gone: Vec<u64> =
            self.passed.iter().filter(|(_, passed)| passed.owner == node).map(|(exchange, _)| *exchange).collect();
        for exchange in gone {
            if let Some(Passed { admission, arrived, .. }) = self.passed.remove(&exchange) {
                arrived.give_up(if lives { admission.unavailable() } else { admission.unknown_session() });
            }
        }
        self.arriving.retain(|(from, _), _| from != node);
        self.served.retain(|(from, _), _| from != node);
    }

    /// Sees that those are there with which something is under way, and gives up what has waited too long.
    fn look_around(&mut self, now: Instant) {
        if self.hears && !self.greeted {
            self.greet();
        }
        if !self.greeted {
            return;
        }
        let late: Vec<u64> = self
            .passed
            .iter()
            .filter(|(_, passed)| passed.due.is_some_and(|due| due <= now))
            .map(|(exchange, _)| *exchange)
            .collect();
        for exchange in late {
            if let Some(passed) = self.passed.remove(&exchange) {
                passed.arrived.give_up(passed.admission.unknown_session());
                self.send(&passed.owner, exchange, What::Gone, b"");
            }
        }
        self.arriving.retain(|_, arriving| arriving.due > now);
        let mut nodes: BTreeSet<String> = self.served.keys().map(|(from, _)| from.clone()).collect();
        nodes.extend(self.passed.values().map(|passed| passed.owner.clone()));
        // Also that we ourselves are heard.
        nodes.insert(self.cluster.name.clone());
        for node in nodes {
            self.send(&node, 0, What::Beat, b"");
        }
    }

    fn pass_on(&mut self, opening: Opening) {
        let Opening { exchange, owner, frames, admission, arrived, endless } = opening;
        if !self.greeted {
            return arrived.give_up(admission.unavailable());
        }
        let due = Some(Instant::now() + ACCEPTANCE);
        self.passed.insert(exchange, Passed { owner: owner.clone(), admission, arrived, endless, due });
        for frame in frames {
            if !self.send_frame(&owner, &frame) {
                return;
            }
        }
    }

    fn receive(&mut self, bytes: &[u8]) {
        // What is none comes from nodes of another version.
        let Some((frame, body)) = Frame::decode(bytes) else { return };
        let key = (frame.from.into_owned(), frame.exchange);
        if key.0 == self.cluster.name || !self.greeted {
            return;
        }
        match frame.what {
            What::Request { request, more } => {
                let due = Instant::now() + BODY;
                self.arriving.insert(key.clone(), Arriving { request, body: body.to_vec(), due });
                if self.send(&key.0, key.1, What::Accepted, b"") && !more {
                    self.serve(key);
                }
            }
            What::Body { more } => {
                let limit = self.endpoint.max_body_bytes();
                let Some(arriving) = self.arriving.get_mut(&key) else { return };
                arriving.body.extend_from_slice(body);
                if arriving.body.len() > limit {
                    self.arriving.remove(&key);
                    self.send(&key.0, key.1, What::Broken, b"");
                } else if !more {
                    self.serve(key);
                }
            }
            What::Taken { bytes } => {
                if let Some(served) = self.served.get_mut(&key) {
                    served.untaken = served.untaken.saturating_sub(bytes);
                    self.carry(&key);
                }
            }
            What::Gone => {
                self.arriving.remove(&key);
                self.served.remove(&key);
            }
            What::Hello => self.forget(&key.0, true),
            What::Beat => {}
            What::Told(told) => self.endpoint.tell_here(told),
            What::Accepted | What::Response { .. } | What::Data | What::End | What::Broken => {
                self.receive_part(&key.0, key.1, frame.what, body);
            }
        }
    }

    /// Something of the response to a request that was passed on.
    fn receive_part(&mut self, owner: &str, exchange: u64, what: What, body: &[u8]) {
        let Some(passed) = self.passed.get_mut(&exchange).filter(|passed| passed.owner == owner) else { return };
        passed.due = None;
        match what {
            What::Response { status, headers, whole } => passed.arrived.head(status, headers, whole),
            What::Data => {
                let taken = passed.arrived.data(body).then_some(body.len());
                if let Some(bytes) = taken {
                    self.send(owner, exchange, What::Taken { bytes }, b"");
                }
            }
            What::End => {
                passed.arrived.end();
                self.passed.remove(&exchange);
            }
            What::Broken => {
                passed.arrived.give_up(passed.admission.unavailable());
                self.passed.remove(&exchange);
            }
            _ => {}
        }
    }

    /// Serves a request of another node.
    fn serve(&mut self, key: Key) {
        let Some(Arriving { request, body, .. }) = self.arriving.remove(&key) else { return };
        let fields = Arc::new(request.fields());
        let head = Head {
            method: &request.method,
            path: &request.path,
            query: request.query.as_deref(),
            authority: request.authority.as_deref(),
            headers: &*fields,
            principal: request.principal.as_deref(),
        };
        let kept: KeptHeaders = Arc::clone(&fields) as _;
        let served = self.endpoint.admit_passed_on(&head).and_then(|admission| {
            let served = self.endpoint.serve_here(&head, &admission, &body, Some(kept));
            served.map_err(|_| admission.unavailable())
        });
        let waker = Arc::new(Bell { cluster: Arc::clone(&self.cluster), key: key.clone() }).into();
        let mut entry = Served { exchange: None, waker, rest: Vec::new(), untaken: 0 };
        let refused = match served {
            Ok(exchange) => {
                entry.exchange = Some(exchange);
                None
            }
            Err(response) => {
                entry.cut(response.body.as_deref().unwrap_or_default());
                Some(What::response(&response))
            }
        };
        self.served.insert(key.clone(), entry);
        if let Some(head) = refused {
            self.send(&key.0, key.1, head, b"");
        }
        self.carry(&key);
    }

    /// Sends what there is of a response, as far as its client takes it.
    fn carry(&mut self, key: &Key) {
        while let Some(served) = self.served.get_mut(key) {
            if served.untaken >= WINDOW {
                return;
            }
            if let Some(piece) = served.rest.pop() {
                served.untaken += piece.len();
                self.send(&key.0, key.1, What::Data, &piece);
                continue;
            }
            let Some(exchange) = &mut served.exchange else {
                self.served.remove(key);
                self.send(&key.0, key.1, What::End, b"");
                return;
            };
            let part = match exchange.poll_part(&mut Context::from_waker(&served.waker)) {
                Poll::Pending => return,
                Poll::Ready(part) => part,
            };
            match part {
                Some(Part::Response(response)) => {
                    if let Some(body) = &response.body {
                        served.cut(body);
                        served.exchange = None;
                    }
                    self.send(&key.0, key.1, What::response(&response), b"");
                }
                Some(Part::Data(bytes)) => served.cut(&bytes),
                Some(Part::End) => served.exchange = None,
                None => {
                    self.served.remove(key);
                    self.send(&key.0, key.1, What::Broken, b"");
                }
            }
        }
    }
}

impl Endpoint {
    /// Tells the clients of this node what another has said.
    fn tell_here(&self, told: Told) {
        // They fail where the server has ended, or nobody is to be told.
        let _ = match told {
            Told::Changed(list) => self.notify_changed_here(list.into()),
            Told::Updated(uri) => self.resource_updated_here(&uri),
            Told::Notification(method, params) => self.notify_clients_here(&method, params.as_deref()).map(drop),
            Told::Log(level, logger, data) => match LogLevel::parse(&level) {
                Some(level) => self.log_clients_here(level, logger.as_deref(), &data).map(drop),
                None => Ok(()),
            },
            Told::Completed(id) => self.complete_elicitation_here(&id).map(drop),
        };
    }
}
