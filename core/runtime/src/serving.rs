//! A server at work, whatever its messages travel on.

use crate::endpoint::{Carrier, Endpoint};
use crate::http::cluster::{self, Cluster};
use crate::options::{Error, ServeOptions};
use crate::pool::{Host, Pool};
use crate::state::Ended;
use crate::stdio::StandardStreams;
use ferromcp_engine::Server;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long `stop` waits for the client to take what is answered. 500 ms: whoever stops us, by a signal mostly, wants
/// it now.
const STOP: Duration = Duration::from_millis(500);

/// A server at work. Dropping it is [`Serving::stop`].
pub struct Serving {
    endpoint: Arc<Endpoint>,
    standard: Mutex<Option<StandardStreams>>,
    address: Option<SocketAddr>,
    stop: Duration,
}

impl Serving {
    /// Starts the threads. `listener` is what is listened on, and how long an end may take.
    pub(crate) fn start(
        server: Server,
        host: Arc<dyn Host>,
        carrier: Carrier,
        options: &ServeOptions,
        listener: Option<(SocketAddr, Duration)>,
    ) -> Result<Self, Error> {
        let (carrier, cluster) = match carrier {
            Carrier::Http(mut http, reactor) => {
                let bus = cluster::bus(http.config(), options)?;
                let cluster = bus.map(|bus| (Arc::new(Cluster::new()), bus));
                if let Some((cluster, _)) = &cluster {
                    http.set_node(cluster.name())?;
                }
                (Carrier::Http(http, reactor), cluster)
            }
            wire => (wire, None),
        };
        let (endpoint, leader) = Endpoint::new(server, carrier, options)?;
        let endpoint = Arc::new(endpoint);
        if let Some((cluster, bus)) = cluster {
            endpoint.join(cluster, &*bus, &options.thread_name)?;
        }
        let pool = Arc::new(Pool::new(Arc::clone(&endpoint), host, options));
        endpoint.start_store(&options.thread_name)?;
        if let Err(error) = pool.start(leader) {
            if let Some(cluster) = endpoint.cluster.get() {
                cluster.stop();
            }
            return Err(error.into());
        }
        let (address, stop) = listener.map_or((None, STOP), |(address, stop)| (Some(address), stop));
        Ok(Self { endpoint, standard: Mutex::new(None), address, stop })
    }

    /// Keeps the standard streams until the end.
    pub(crate) fn hold(&self, standard: StandardStreams) {
        *self.standard.lock().unwrap_or_else(PoisonError::into_inner) = Some(standard);
    }

    /// What is listened on; None where nothing is.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Where calls are answered and everything else is sent.
    pub fn endpoint(&self) -> &Arc<Endpoint> {
        &self.endpoint
    }

    /// Waits for the end. The standard streams stay redirected, so that what runs on can't write to the wire.
    ///
    /// # Errors
    /// [`Error::Io`] when the system failed us, [`Error::Panicked`] when host code did, [`Error::Forked`] in a forked
    /// child.
    pub fn wait(&self) -> Result<Ended, Error> {
        self.endpoint.check()?;
        let mut state = self.endpoint.lock();
        loop {
            match &state.outcome {
                Some(Ok(ended)) => return Ok(*ended),
                Some(Err(error)) => return Err(error.again()),
                None => state = self.endpoint.ended.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Waits for the end, for at most `bound`. None: it still serves.
    ///
    /// # Errors
    /// As [`Serving::wait`].
    pub fn wait_for(&self, bound: Duration) -> Result<Option<Ended>, Error> {
        self.endpoint.check()?;
        let state = self.endpoint.lock();
        let (state, _) = self
            .endpoint
            .ended
            .wait_timeout_while(state, bound, |state| state.outcome.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        match &state.outcome {
            None => Ok(None),
            Some(Ok(ended)) => Ok(Some(*ended)),
            Some(Err(error)) => Err(error.again()),
        }
    }

    /// Ends the server: subscriptions are ended, what is answered is sent, calls that run are told to stop and not
    /// waited for. Gives the standard streams back, so that another server may have them, unless a call still runs that
    /// could write to them.
    ///
    /// # Errors
    /// As [`Serving::wait`].
    pub fn stop(&self) -> Result<Ended, Error> {
        self.endpoint.stop(self.stop)?;
        let ended = self.wait()?;
        if self.stuck() > 0 {
            self.keep_redirected();
        }
        drop(self.standard.lock().unwrap_or_else(PoisonError::into_inner).take());
        Ok(ended)
    }

    /// Lets the standard streams stay redirected for the rest of the process, whatever happens to this value: for a
    /// program that has nothing to print but to stderr.
    pub fn keep_redirected(&self) {
        if let Some(standard) = self.standard.lock().unwrap_or_else(PoisonError::into_inner).take() {
            standard.keep();
        }
    }

    /// Whether this process was forked from the one that serves: then every command fails with [`Error::Forked`].
    pub fn is_forked(&self) -> bool {
        self.endpoint.is_forked()
    }

    /// Threads that are inside host code at this moment. After the end these are the calls that nobody waits for, and
    /// that a program can only leave behind by exiting.
    pub fn stuck(&self) -> usize {
        if self.endpoint.is_forked() { 0 } else { self.endpoint.lock().inside }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if self.endpoint.is_forked() {
            // The streams and the threads are the parent's.
            return self.keep_redirected();
        }
        // Errors were or will be seen by whoever waits.
        let _ = self.stop();
    }
}
