//! Serving on standard input and output, or on any two descriptors.
//!
//! Standard streams are moved out of harm's way first: the wire goes to private descriptors that no child process
//! inherits, descriptor 1 becomes a copy of stderr and descriptor 0 reads nothing. Whatever host code, its libraries or
//! its child processes print can't reach the client, and they can't eat the client's bytes.

use crate::endpoint::Carrier;
use crate::options::{Error, ServeOptions};
use crate::pool::Host;
use crate::serving::Serving;
use crate::state::Wire;
use crate::sys::{self, NotForChildren};
use ferromcp_engine::Server;
use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Serves the client at standard input and output until it goes away or [`Serving::stop`] is called.
///
/// # Errors
/// [`Error::StdioTaken`] when another server of this process has them, [`Error::Io`] when they are closed or no thread
/// can be started.
pub fn start_stdio(server: Server, host: Arc<dyn Host>, options: ServeOptions) -> Result<Serving, Error> {
    let standard = StandardStreams::take()?;
    let (input, output) = standard.wire()?;
    let started = Serving::start(server, host, Carrier::Wire(Wire::new(input, output)), &options, None)?;
    started.hold(standard);
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
    options: ServeOptions,
) -> Result<Serving, Error> {
    Serving::start(server, host, Carrier::Wire(Wire::new(input, output)), &options, None)
}

/// Which process's descriptors 0 and 1 are a server's: as many forks away as [`sys::forks`] says, plus one; 0 for none.
/// A forked child may put streams of its own there and serve them.
static TAKEN: AtomicU32 = AtomicU32::new(0);

/// The standard streams while a server has them. Dropping it puts them back.
pub(crate) struct StandardStreams {
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
    pub(crate) fn keep(mut self) {
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
