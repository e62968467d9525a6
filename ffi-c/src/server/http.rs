//! Serving over HTTP: a listener of the library's, or requests that the program brings by itself (`crate::http`).

use super::{Phase, Server, options};
use crate::error::{Error, Status};
use crate::guard;
use crate::handle;
use crate::text::Text;
use ferromcp_engine::LocalError;
use runtime::http::{HttpOptions, start_carrier, start_http};
use runtime::{Endpoint, Serving};
use std::net::SocketAddr;
use std::sync::Arc;

impl Server {
    fn listen(&self, json: Option<&str>) -> Result<Arc<Serving>, Error> {
        let (options, http) = options::read_beside(json)?;
        let http = HttpOptions::from_json(&http)?;
        self.start(options, Box::new(move |server, host, options| start_http(server, host, http, options)))
    }

    /// Where requests that the program brings are served.
    pub(crate) fn endpoint(&self) -> Result<Arc<Endpoint>, Error> {
        Ok(Arc::clone(self.serving()?.endpoint()))
    }

    fn local_addr(&self) -> Option<SocketAddr> {
        match &*self.phase() {
            Phase::Serving(serving) => serving.local_addr(),
            _ => None,
        }
    }
}

/// Listens and serves whoever comes over HTTP (Streamable HTTP; clients of every revision at one address), and returns when
/// fmcp_server_stop() was called. Where the address can't be had, it is FMCP_STATUS_IO. Which page or name may use the server, the
/// options say: without any, only what runs on this machine. Standard output stays the program's.
///
/// \param options a JSON object, or none for the defaults. Members of the listener: `host` ("127.0.0.1"), `port` (8000; 0 for any
///                that is free), `tlsCertFile` and `tlsKeyFile` (PEM), `maxConnections`, `headerTimeoutMs`,
///                `bodyTimeoutMs`, `shutdownMs`, `announce` (true: one line on standard error, "Listening on http://127.0.0.1:8000/mcp"). Of HTTP: those of fmcp_server_start_carrier(), with
///                `path` "/mcp". Beside them those of fmcp_server_run_stdio()
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_run_http(server: *mut Server, options: Text, err: *mut *mut Error) -> Status {
    let body = || {
        // SAFETY: a live server or null, and readable bytes, by the header's contract.
        let serving = unsafe { listen(server, options) }?;
        serving.wait()?;
        Ok(())
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// The same without waiting: fmcp_server_wait() does. It listens already when this returns.
///
/// \param options as of fmcp_server_run_http()
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_start_http(server: *mut Server, options: Text, err: *mut *mut Error) -> Status {
    let body = || {
        // SAFETY: a live server or null, and readable bytes, by the header's contract.
        unsafe { listen(server, options) }.map(drop)
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Starts a server that listens to nothing, and returns: for a program that has an HTTP server. It brings each request with
/// fmcp_http_admit(). fmcp_server_stop() ends it.
///
/// \param options a JSON object, or none for the defaults: `path` ("/mcp"; null: any, where the program has chosen it already),
///                `allowedHosts`, `allowedOrigins`, `sessions`, `sessionIdleMs`, `sessionMaxMs`, `maxSessions`, `keepAliveMs`,
///                `strictAccept`, `maxBodyBytes`, `jsonResponse`, `legacySse`, `retryMs`, `maxEvents`, `maxEventBytes`,
///                `maxBacklogBytes`, `cluster`, `clusterName`. Beside them those of fmcp_server_run_stdio()
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_start_carrier(server: *mut Server, options: Text, err: *mut *mut Error) -> Status {
    let body = || {
        // SAFETY: a live server or null, and readable bytes, by the header's contract.
        let (server, json) =
            unsafe { (handle::required(server, "server")?, handle::optional_text(options, "options")?) };
        let (options, http) = options::read_beside(json)?;
        let config =
            serde_json::from_str(&http).map_err(|error| Error::from(LocalError::Config(format!("http: {error}"))))?;
        let start = move |server, host, options| start_carrier(server, host, config, options);
        server.start(options, Box::new(start)).map(drop)
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// What a server listens on: address and port, for example "127.0.0.1:8000". None where it does not listen. Lives as long as the
/// server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_address(server: *const Server) -> Text {
    guard::value(Text::NONE, || {
        // SAFETY: a live server or null, by the header's contract.
        let Some(server) = (unsafe { handle::borrow(server) }) else { return Text::NONE };
        match server.local_addr() {
            Some(address) => Text::of(server.address.get_or_init(|| address.to_string())),
            None => Text::NONE,
        }
    })
}

/// The port that a server listens on: the one that was found where `port` was 0. 0 where it does not listen.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_port(server: *const Server) -> u16 {
    guard::value(0, || {
        // SAFETY: a live server or null, by the header's contract.
        unsafe { handle::borrow(server) }.and_then(Server::local_addr).map_or(0, |address| address.port())
    })
}

/// # Safety
/// `server` is live or null, `options` readable.
unsafe fn listen(server: *mut Server, options: Text) -> Result<Arc<Serving>, Error> {
    // SAFETY: passed on from our caller.
    let (server, json) = unsafe { (handle::required(server, "server")?, handle::optional_text(options, "options")?) };
    server.listen(json)
}
