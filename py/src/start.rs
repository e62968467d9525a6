//! How a server is started: its engine with all that was declared, the runtime's threads, and what its messages travel on.

use crate::bridge::Item;
use crate::call::taken;
use crate::convert::raw::Text;
use crate::core::Core;
use crate::error::{self, ConfigurationError};
use crate::handler::Kind;
use crate::hooks;
use crate::host::PyHost;
use crate::leave::leave_without_main;
use crate::server::{Server, add};
use ferromcp::http::{start_carrier, start_http};
use ferromcp::middleware::policy::Policy;
use ferromcp::{HttpOptions, ServeOptions, Serving, TaskStoreOption, start_fds, start_stdio};
use ferromcp_engine::http::HttpConfig;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What messages travel on.
pub(crate) enum Way {
    /// Standard input and output, or descriptors that the options name.
    Stdio,
    /// HTTP, from a listener of ours.
    Http(Box<HttpOptions>),
    /// HTTP, from a carrier of somebody else's.
    Carrier(Box<HttpConfig>),
}

/// One of the options of a start; None where it is not given.
fn option<'py, T>(options: Option<&Bound<'py, PyDict>>, name: &str) -> PyResult<Option<T>>
where
    Option<T>: FromPyObjectOwned<'py, Error = PyErr>,
{
    match options.map(|options| options.get_item(name)).transpose()?.flatten() {
        Some(value) => value.extract(),
        None => Ok(None),
    }
}

/// Starts a server, once.
pub(crate) fn start(
    slf: &Bound<'_, Server>,
    event_loop: Option<&Bound<'_, PyAny>>,
    options: Option<&Bound<'_, PyDict>>,
    way: Way,
) -> PyResult<()> {
    let py = slf.py();
    let server = slf.get();
    let core = &server.core;
    if core.serving.get().is_some() {
        return Err(ConfigurationError::new_err("this server was started already"));
    }
    let mut config = server.config.clone();
    let mut serve = ServeOptions::default();
    config.limits.drain_ms = option(options, "drain_ms")?.unwrap_or(config.limits.drain_ms);
    serve.max_threads = option(options, "max_threads")?.unwrap_or(serve.max_threads);
    serve.debug = option(options, "debug")?;
    if let Some(url) = option::<String>(options, "task_store")?.filter(|url| url != "memory") {
        serve.task_store = TaskStoreOption::Url(url);
    }
    if let Some(policy) = option::<Text>(options, "policy")? {
        serve.middleware = taken(Policy::from_json(&policy.utf8()?).and_then(|policy| policy.build()))?;
    }
    let grace = option(options, "grace_ms")?.map(Duration::from_millis);
    let declared = std::mem::take(&mut *server.declared());
    if declared.iter().any(|item| item.kind == Kind::Completion) {
        config.capabilities.declare("completions", "{}");
    }
    let mut engine = ferromcp_engine::Server::new(config).map_err(|error| error::local(&error))?;
    for item in declared {
        add(core, &mut engine, item, 0).map_err(|error| error::local(&error))?;
    }
    let context = hooks::get(py)?.copy_context.bind(py).call0()?;
    // Set once: `serving` above proves that this is the first start.
    let _ = core.context.set(context.unbind());
    if let Some(event_loop) = event_loop {
        core.bridge.set_loop(slf, event_loop)?;
    }
    let host = Arc::new(PyHost { core: Arc::clone(core) });
    let started = match way {
        Way::Stdio => match option::<(RawFd, RawFd)>(options, "fds")? {
            // SAFETY: the caller gives the descriptors away, as the method says.
            Some((input, output)) => unsafe {
                let (input, output) = (OwnedFd::from_raw_fd(input), OwnedFd::from_raw_fd(output));
                py.detach(|| start_fds(engine, host, input, output, serve))
            },
            // What the program prints after the server has ended must not reach the client either.
            None => py.detach(|| start_stdio(engine, host, serve)).inspect(Serving::keep_redirected),
        },
        Way::Http(http) => {
            let place = format!("{}:{}", http.host, http.port);
            let started = py.detach(|| start_http(engine, host, *http, serve));
            if let Err(ferromcp::Error::Io(error)) = &started {
                let text = format!("can't listen on {place}: {error}");
                return Err(PyOSError::new_err((error.raw_os_error(), text)));
            }
            started
        }
        Way::Carrier(config) => py.detach(|| start_carrier(engine, host, *config, serve)),
    };
    let _ = core.serving.set(taken(started)?);
    let core = Arc::clone(core);
    std::thread::Builder::new().name("ferromcp-end".into()).spawn(move || watch_end(&core, grace))?;
    Ok(())
}

/// Waits for the end of the server, tells Python, and sees to it that the process can't be held up.
fn watch_end(core: &Arc<Core>, grace: Option<Duration>) {
    let Some(serving) = core.serving.get() else { return };
    if let Err(error) = serving.wait() {
        eprintln!("ferromcp: {error}");
        let _ = core.exit_code.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Acquire);
    }
    let closed = serving.endpoint().stream().map(|stream| Item::Stream(stream.0, "closed"));
    core.bridge.push(&mut closed.into_iter().chain([Item::Ended]).collect());
    let Some(grace) = grace else { return };
    if core.is_acknowledged_within(grace) {
        return;
    }
    // The main thread is inside a function that does not end.
    leave_without_main(grace, core.exit_code.load(Ordering::Acquire));
}
