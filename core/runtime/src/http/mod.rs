//! Serving over HTTP: a listener of our own, or what a foreign one needs.
//!
//! Every rule is the engine's (`ferromcp_engine::http`). Here a request's bytes come in and a response's bytes go out:
//! `listener.rs` does that with hyper, `exchange.rs` is what any carrier holds in its hand while a request is served, and
//! `reactor.rs` lets the pool's leader wait for the network. So the thread that reads a request is the one that runs its call,
//! as long as host code returns quickly, and a call that blocks gives the network away to another thread.

pub mod cluster;
mod exchange;
mod listener;
mod options;
mod reactor;
mod tls;

pub use exchange::Exchange;
pub use options::HttpOptions;
pub(crate) use reactor::Reactor;

use self::cluster::Cluster;
use crate::endpoint::Carrier;
use crate::options::{Error, ServeOptions};
use crate::pool::Host;
use crate::serving::Serving;
use crate::state::State;
use ferromcp_engine::Server;
use ferromcp_engine::http::{ExchangeId, Headers, Http, HttpConfig};
use std::collections::HashMap;
use std::sync::Arc;
use std::task::Waker;

/// Header fields that outlive the reading of a request.
pub type KeptHeaders = Arc<dyn Headers + Send + Sync>;

/// HTTP's part of the state that the threads share.
pub(crate) struct Net {
    pub(crate) http: Http,
    /// Who waits for more of which response.
    wakers: HashMap<ExchangeId, Waker>,
    /// Those of them that have something, and are not woken yet.
    woken: Vec<Waker>,
    /// What host code may see of requests that are served.
    headers: HashMap<ExchangeId, KeptHeaders>,
    /// The processes that this one serves with.
    pub(crate) cluster: Option<Arc<Cluster>>,
}

impl Net {
    pub(crate) fn new(http: Http) -> Self {
        Self { http, wakers: HashMap::new(), woken: Vec::new(), headers: HashMap::new(), cluster: None }
    }

    /// Looks who has something to send.
    pub(crate) fn gather(&mut self) {
        while let Some(id) = self.http.next_ready() {
            self.woken.extend(self.wakers.remove(&id));
        }
    }

    pub(crate) fn has_woken(&self) -> bool {
        !self.woken.is_empty()
    }

    pub(crate) fn take_woken(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.woken)
    }

    /// Every response is sent.
    pub(crate) fn is_done(&self) -> bool {
        self.http.counts().exchanges == 0 && self.cluster.as_ref().is_none_or(|cluster| cluster.is_done())
    }
}

impl State {
    /// Nothing is carried any more: everything that is open is over.
    pub(crate) fn close_net(&mut self, now_us: u64) {
        if let Some(net) = &mut self.net {
            net.http.close(&mut self.server, now_us / 1_000);
            net.woken.extend(net.wakers.drain().map(|(_, waker)| waker));
        }
    }
}

/// Listens, and serves whoever comes over HTTP until [`Serving::stop`] is called.
///
/// # Errors
/// [`Error::Io`] when the address can't be listened on or no thread can be started, [`Error::Engine`] for a configuration
/// that can't be served.
pub fn start_http(
    server: Server,
    host: Arc<dyn Host>,
    http: HttpOptions,
    options: ServeOptions,
) -> Result<Serving, Error> {
    let tls = tls::acceptor(&http)?;
    let reactor = Arc::new(Reactor::new()?);
    let listener = listener::bind(&reactor, &http.host, http.port)?;
    let address = listener.local_addr()?;
    let bound = address.ip().to_string();
    let mut engine = Http::new(http.config.clone(), Some(&bound))?;
    if bound != http.host {
        // A name that was given is one that it is known under.
        engine.allow_host(&http.host);
    }
    let carrier = Carrier::Http(Box::new(engine), Some(Arc::clone(&reactor)));
    let serving = Serving::start(server, host, carrier, &options, Some((address, http.shutdown)))?;
    listener::listen(&reactor, listener, tls, serving.endpoint(), &http);
    if http.announce {
        let path = http.config.path.as_deref().unwrap_or("/");
        let scheme = if http.tls_cert_file.is_some() { "https" } else { "http" };
        crate::debug::write_stderr(format!("Listening on {scheme}://{address}{path}\n").as_bytes());
    }
    Ok(serving)
}

/// Serves whoever comes over HTTP by a carrier of somebody else's, which brings each request with
/// [`Endpoint::admit_http`](crate::Endpoint::admit_http) and [`Endpoint::serve_http`](crate::Endpoint::serve_http), until
/// [`Serving::stop`] is called.
///
/// # Errors
/// [`Error::Io`] when no thread can be started, [`Error::Engine`] for a configuration that can't be served.
pub fn start_carrier(
    server: Server,
    host: Arc<dyn Host>,
    config: HttpConfig,
    options: ServeOptions,
) -> Result<Serving, Error> {
    let carrier = Carrier::Http(Box::new(Http::new(config, None)?), None);
    Serving::start(server, host, carrier, &options, None)
}
