//! The ready-made loop: started, waited for, stopped.

use super::host::CHost;
use super::{Phase, Server, middleware, not_any_more, options};
use crate::error::{Error, Status};
use crate::guard;
use crate::handle;
use crate::text::Text;
use ferromcp_engine as engine;
use runtime::{Host, ServeOptions, Serving, start_fds, start_stdio};
use std::os::fd::OwnedFd;
use std::sync::Arc;

type Start = dyn FnOnce(engine::Server, Arc<dyn Host>, ServeOptions) -> Result<Serving, runtime::Error>;

impl Server {
    /// Hands the engine to the loop.
    pub(super) fn start(&self, mut options: ServeOptions, start: Box<Start>) -> Result<Arc<Serving>, Error> {
        let mut phase = self.phase();
        match std::mem::replace(&mut *phase, Phase::Failed) {
            Phase::Declared(declared) => {
                options.task_store = declared.task_store;
                if let Some(policy) = declared.policy {
                    options.middleware = policy.build()?;
                }
                options.middleware.extend(middleware::layers(&self.registry));
                let host = CHost { registry: Arc::clone(&self.registry), waiting: Arc::clone(&self.waiting) };
                let serving = Arc::new(start(declared.engine, Arc::new(host), options)?);
                *phase = Phase::Serving(Arc::clone(&serving));
                Ok(serving)
            }
            serving @ Phase::Serving(_) => {
                *phase = serving;
                Err(Error::state("this server was started before; a server serves once"))
            }
            Phase::Failed => Err(not_any_more()),
        }
    }

    pub(super) fn serving(&self) -> Result<Arc<Serving>, Error> {
        match &*self.phase() {
            Phase::Serving(serving) => Ok(Arc::clone(serving)),
            _ => Err(Error::state("this server was not started")),
        }
    }
}

/// Serves the client at standard input and output, and returns when it is gone or fmcp_server_stop() was called. From its
/// start on, whatever the process prints to standard output goes to standard error, for the rest of the process: the way to
/// the client carries messages alone.
///
/// \param options a JSON object with any of `maxThreads`, `takeoverUs`, `highWaterBytes`, `lingerMs`, `stackBytes` and `debug`,
///                or none for the defaults
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_run_stdio(server: *mut Server, options: Text, err: *mut *mut Error) -> Status {
    let body = || {
        // SAFETY: a live server or null, and readable bytes, by the header's contract.
        let (server, options) = unsafe { read(server, options) }?;
        let serving = server.start(options, Box::new(start_stdio))?;
        serving.keep_redirected();
        serving.wait()?;
        Ok(())
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// The same without waiting: fmcp_server_wait() does. The standard streams are given back by fmcp_server_stop().
///
/// \param options as of fmcp_server_run_stdio()
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_start_stdio(server: *mut Server, options: Text, err: *mut *mut Error) -> Status {
    let body = || {
        // SAFETY: a live server or null, and readable bytes, by the header's contract.
        let (server, options) = unsafe { read(server, options) }?;
        server.start(options, Box::new(start_stdio)).map(drop)
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Serves the client at the other end of two descriptors (pipes, a socket and a duplicate of it, a terminal), without
/// waiting: fmcp_server_wait() does. The descriptors stay yours, and may be closed as soon as this returns: the server
/// works on duplicates.
///
/// \param input   what the client sends is read here
/// \param output  what the client gets is written here
/// \param options as of fmcp_server_run_stdio()
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_start_fds(
    server: *mut Server,
    input: i32,
    output: i32,
    options: Text,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: a live server or null, and readable bytes, by the header's contract.
        let (server, options) = unsafe { read(server, options) }?;
        let (input, output) = (own(input, "input")?, own(output, "output")?);
        let start = |server, host, options| start_fds(server, host, input, output, options);
        server.start(options, Box::new(start)).map(drop)
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Waits until the client is gone or the server was stopped. From several threads, if you like.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_wait(server: *mut Server, err: *mut *mut Error) -> Status {
    let body = || {
        // SAFETY: a live server or null, by the header's contract.
        let serving = unsafe { handle::required(server, "server") }?.serving()?;
        serving.wait()?;
        Ok(())
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Ends a server that runs: subscriptions are ended, what is answered is sent, calls that run are told to stop and not
/// waited for. From any thread or handler, but not from a signal handler. One that has ended already is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_stop(server: *mut Server, err: *mut *mut Error) -> Status {
    let body = || {
        // SAFETY: a live server or null, by the header's contract.
        let serving = unsafe { handle::required(server, "server") }?.serving()?;
        serving.stop()?;
        Ok(())
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// What the exports that start a server are given.
///
/// # Safety
/// `server` is live or null, `options` readable.
unsafe fn read<'a>(server: *mut Server, options: Text) -> Result<(&'a Server, ServeOptions), Error> {
    // SAFETY: passed on from our caller.
    let (server, options) =
        unsafe { (handle::required(server, "server")?, handle::optional_text(options, "options")?) };
    Ok((server, options::read(options)?))
}

/// A duplicate of the caller's descriptor.
fn own(descriptor: i32, what: &str) -> Result<OwnedFd, Error> {
    let duplicate = handle::duplicate(descriptor);
    duplicate.map_err(|error| Error::argument(format!("{what}: {error}")))
}
