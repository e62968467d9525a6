//! Several processes behind one address, each of which serves every client.
//!
//! A process is a **node**. The id of a legacy session says which node has it (`ferromcp_engine::http`); a request for it that
//! comes to another node is passed on over a [`Bus`], and the parts of its response come back. So all that a session is stays in
//! one place. What changes is told to all nodes, each of which tells its own clients.
//!
//! A node has one thread for all of it (`node.rs`). Frames are lost only when a node loses the bus; then everything that was
//! under way between it and others is given up, and clients do what they do when a connection breaks.

mod bus;
mod frame;
mod memory;
mod node;
#[cfg(feature = "redis")]
mod redis;
mod remote;

#[cfg(feature = "redis")]
pub use self::redis::RedisBus;
pub use bus::{Bus, Inbox, Seat};
pub(crate) use frame::Told;
pub use memory::MemoryBus;
pub(super) use remote::Remote;

use crate::endpoint::Endpoint;
use crate::options::{Error, ServeOptions};
use bus::Queue;
use ferromcp_engine::http::{Admission, Head, HttpConfig};
use ferromcp_engine::tasks::task_id;
use ferromcp_engine::{Entropy as _, LocalError};
use remote::Arrived;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// How often a node looks whether those are there with which it has something under way. 2 s: as long may a stream hang whose
/// node is gone.
const BEAT: Duration = Duration::from_secs(2);

/// What the node's thread has to do.
enum Job {
    /// A frame has arrived.
    Frame(Vec<u8>),
    /// Frames arrive from now on.
    Up,
    /// Frames may have been lost.
    Down(String),
    /// A request is to be passed on.
    Open(Box<Opening>),
    /// The client of such a request is gone.
    Gone(u64),
    /// It has taken so many bytes of the response.
    Taken(u64, usize),
    /// An exchange that is served here for another node may have something.
    Poll(node::Key),
    /// Clients of all nodes are to be told something.
    Tell(Told),
    /// The end begins: streams of changes are to be ended.
    Ending,
    /// The server has ended.
    Stop,
}

/// A request that is to be passed on.
struct Opening {
    exchange: u64,
    owner: String,
    frames: Vec<Vec<u8>>,
    admission: Admission,
    arrived: Arc<Arrived>,
    /// It is a GET, whose stream has no end of its own.
    endless: bool,
}

/// This process among those that serve together.
pub(crate) struct Cluster {
    name: String,
    queue: Arc<Queue>,
    /// Others can be reached.
    up: AtomicBool,
    next_exchange: AtomicU64,
    /// Responses from elsewhere that have an end of their own.
    awaited: AtomicUsize,
}

/// The bus that a server is to be on, if any.
pub(crate) fn bus(config: &HttpConfig, options: &ServeOptions) -> Result<Option<Arc<dyn Bus>>, Error> {
    if let Some(bus) = &options.cluster {
        return Ok(Some(Arc::clone(bus)));
    }
    let Some(url) = &config.cluster else { return Ok(None) };
    let wrong = |reason: String| Error::Engine(LocalError::Config(format!("cluster: {reason}")));
    if config.cluster_name.is_empty() {
        return Err(wrong("clusterName must not be empty".into()));
    }
    #[cfg(feature = "redis")]
    if ["redis:", "redis+unix:", "unix:"].iter().any(|scheme| url.0.starts_with(scheme)) {
        return Ok(Some(Arc::new(RedisBus::new(&url.0, &config.cluster_name).map_err(wrong)?)));
    }
    Err(wrong(format!("{url:?} is no place to meet: redis://HOST:PORT is, where it is built in")))
}

impl Cluster {
    /// Takes part under a new name.
    pub(crate) fn new() -> Self {
        let mut random = [0; 16];
        crate::entropy::system().fill(&mut random);
        Self {
            name: task_id(random),
            queue: Arc::default(),
            up: AtomicBool::new(false),
            next_exchange: AtomicU64::new(1),
            awaited: AtomicUsize::new(0),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Passes a request on to the node that has its session.
    pub(super) fn open(self: &Arc<Self>, owner: String, head: &Head<'_>, admission: &Admission, body: &[u8]) -> Remote {
        let arrived = Arc::new(Arrived::default());
        let exchange = self.next_exchange.fetch_add(1, Ordering::Relaxed);
        let endless = head.method == "GET";
        if self.up.load(Ordering::Acquire) {
            let mut request = Some(frame::Request::new(head));
            let frames = frame::pieces(body).map(|(piece, more)| {
                let what = match request.take() {
                    Some(request) => frame::What::Request { request, more },
                    None => frame::What::Body { more },
                };
                frame::Frame { from: self.name.as_str().into(), exchange, what }.encode(piece)
            });
            let opening = Opening {
                exchange,
                owner,
                frames: frames.collect(),
                admission: admission.clone(),
                arrived: Arc::clone(&arrived),
                endless,
            };
            if !self.queue.push(Job::Open(Box::new(opening))) {
                arrived.give_up(admission.unavailable());
            }
        } else {
            arrived.give_up(admission.unavailable());
        }
        if !endless {
            self.awaited.fetch_add(1, Ordering::AcqRel);
        }
        Remote { cluster: Arc::clone(self), arrived, exchange, awaited: !endless, over: false }
    }

    /// Tells clients of all other nodes something; not while they can't be reached.
    pub(crate) fn tell(&self, told: Told) {
        if self.up.load(Ordering::Acquire) {
            self.queue.push(Job::Tell(told));
        }
    }

    /// The end begins.
    pub(crate) fn ending(&self) {
        self.queue.push(Job::Ending);
    }

    /// The server has ended.
    pub(crate) fn stop(&self) {
        self.queue.push(Job::Stop);
    }

    /// Whether no response is under way that the end waits for.
    pub(crate) fn is_done(&self) -> bool {
        self.awaited.load(Ordering::Acquire) == 0
    }

    fn settled(&self) {
        self.awaited.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Endpoint {
    /// Serves with others from now on: starts the thread for it, which ends with the server.
    pub(crate) fn join(self: &Arc<Self>, cluster: Arc<Cluster>, bus: &dyn Bus, thread_name: &str) -> Result<(), Error> {
        let seat = bus.join(&cluster.name, Inbox(Arc::clone(&cluster.queue)));
        let seat = seat.map_err(|reason| LocalError::Config(format!("cluster: {reason}")))?;
        if let Some(net) = &mut self.lock().net {
            net.cluster = Some(Arc::clone(&cluster));
        }
        let mut node = node::Node::new(Arc::clone(&cluster), Arc::clone(self), seat);
        // Whoever is told the name of a session finds the node there, where that can be.
        node.begin();
        std::thread::Builder::new().name(format!("{thread_name}-cluster")).spawn(move || node.run())?;
        // It is set once.
        let _ = self.cluster.set(cluster);
        Ok(())
    }
}
