//! Serving on standard input and output, or on any two descriptors.
//!
//! Standard streams are moved out of harm's way first: the wire goes to private descriptors that no child process
//! inherits, descriptor 1 becomes a copy of stderr and descriptor 0 reads nothing. Whatever host code, its libraries or
//! its child processes print can't reach the client, and they can't eat the client's bytes.

use crate::endpoint::Endpoint;
use crate::options::{Error, StdioOptions};
use crate::pool::{Host, Pool};
use crate::state::{Ended, Wire};
use crate::sys::{self, NotForChildren};
use ferromcp_engine::Server;
use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long `stop` waits for the client to take what is answered. 500 ms: whoever stops us, by a signal mostly, wants
/// it now.
const STOP: Duration = Duration::from_millis(500);

/// A server at work. Dropping it is [`StdioServer::stop`].
pub struct StdioServer {
    endpoint: Arc<Endpoint>,
    standard: Mutex<Option<StandardStreams>>,
}

/// Serves the client at standard input and output until it goes away or [`StdioServer::stop`] is called.
///
/// # Errors
/// [`Error::StdioTaken`] when another server of this process has them, [`Error::Io`] when they are closed or no thread
/// can be started.
pub fn start_stdio(server: Server, host: Arc<dyn Host>, options: StdioOptions) -> Result<StdioServer, Error> {
    let standard = StandardStreams::take()?;
    let (input, output) = standard.wire()?;
    let started = start(server, host, input, output, &options)?;
    *started.standard.lock().unwrap_or_else(PoisonError::into_inner) = Some(standard);
    Ok(started)
}

/// Serves the client at the other end of two descriptors: pipes, a socket twice, a terminal. They are closed when the
/// server has ended and host code has let go of its endpoint.
///
/// # Errors
/// [`Error::Io`] when no thread can be started.
pub fn start_fds(
    server: Server,
    host: Arc<dyn Host>,
    input: OwnedFd,
    output: OwnedFd,
    options: StdioOptions,
) -> Result<StdioServer, Error> {
    start(server, host, input, output, &options)
}

fn start(
    server: Server,
    host: Arc<dyn Host>,
    input: OwnedFd,
    output: OwnedFd,
    options: &StdioOptions,
) -> Result<StdioServer, Error> {
    let (endpoint, leader) = Endpoint::new(server, Wire::new(input, output), options)?;
    let endpoint = Arc::new(endpoint);
    let pool = Arc::new(Pool::new(Arc::clone(&endpoint), host, options));
    endpoint.start_store(&options.thread_name)?;
    pool.start(leader)?;
    Ok(StdioServer { endpoint, standard: Mutex::new(None) })
}

impl StdioServer {
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
    /// As [`StdioServer::wait`].
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
    /// As [`StdioServer::wait`].
    pub fn stop(&self) -> Result<Ended, Error> {
        self.endpoint.stop(STOP)?;
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

impl Drop for StdioServer {
    fn drop(&mut self) {
        if self.endpoint.is_forked() {
            // The streams and the threads are the parent's.
            return self.keep_redirected();
        }
        // Errors were or will be seen by whoever waits.
        let _ = self.stop();
    }
}

/// Which process's descriptors 0 and 1 are a server's: as many forks away as [`sys::forks`] says, plus one; 0 for none.
/// A forked child may put streams of its own there and serve them.
static TAKEN: AtomicU32 = AtomicU32::new(0);

/// The standard streams while a server has them. Dropping it puts them back.
struct StandardStreams {
    _private: [NotForChildren; 2],
    input: OwnedFd,
    output: OwnedFd,
    restores: bool,
}

impl StandardStreams {
    fn take() -> Result<Self, Error> {
        sys::count_forks();
        let ours = sys::forks() + 1;
        if TAKEN.swap(ours, Ordering::AcqRel) == ours {
            return Err(Error::StdioTaken);
        }
        Self::redirect().inspect_err(|_| TAKEN.store(0, Ordering::Release)).map_err(Error::Io)
    }

    fn redirect() -> io::Result<Self> {
        // Cloning gives descriptors above 2 that close on exec.
        let input = io::stdin().as_fd().try_clone_to_owned()?;
        let output = io::stdout().as_fd().try_clone_to_owned()?;
        let nothing = OpenOptions::new().read(true).write(true).open("/dev/null")?;
        let private = [NotForChildren::new(input.as_fd()), NotForChildren::new(output.as_fd())];
        let taken = Self { _private: private, input, output, restores: true };
        sys::replace(0, nothing.as_fd())?;
        // Without a stderr there is nowhere to show what host code prints.
        if sys::replace(1, io::stderr().as_fd()).is_err() {
            sys::replace(1, nothing.as_fd())?;
        }
        Ok(taken)
    }

    /// Descriptors for the server, apart from those kept for putting back.
    fn wire(&self) -> io::Result<(OwnedFd, OwnedFd)> {
        Ok((self.input.try_clone()?, self.output.try_clone()?))
    }

    /// Leaves them as they are, for the rest of the process.
    fn keep(mut self) {
        self.restores = false;
    }
}

impl Drop for StandardStreams {
    fn drop(&mut self) {
        if self.restores {
            // There is nobody to tell, and nothing else to try.
            let _ = sys::replace(0, self.input.as_fd());
            let _ = sys::replace(1, self.output.as_fd());
            TAKEN.store(0, Ordering::Release);
        }
    }
}
