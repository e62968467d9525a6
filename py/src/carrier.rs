//! Requests of HTTP that a foreign carrier brings: an ASGI application, on the loop that serves it.
//!
//! Everything here is called on the loop's thread and does not wait: a response that is not there yet is a future, and the
//! bridge wakes the loop once for all of them. What is said of a request is decided in the engine.

use crate::bridge::{Item, lock};
use crate::call::taken;
use crate::core::Core;
use crate::error;
use crate::futures::is_done;
use ferromcp::Endpoint;
use ferromcp::http::{Exchange, KeptHeaders};
use ferromcp_engine::LocalError;
use ferromcp_engine::http::{Admission, Head, HttpConfig, Part, Response};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Wake, Waker};

/// Bytes of a body from which on it is read without Python's lock. 64 KiB: reading those takes as long as giving the lock
/// away and getting it back, where others want it.
const LARGE: usize = 64 << 10;

/// Status and header fields.
type PartHead<'py> = (u16, Bound<'py, PyList>);

/// A piece of a response: its head, which the first has; bytes of the body; whether more follows, or None where the response was
/// given up.
type Piece<'py> = (Option<PartHead<'py>>, Bound<'py, PyBytes>, Option<bool>);

/// The head of a request, kept for as long as the request is served.
pub(crate) struct CarriedHead {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: Option<String>,
    /// Shared with the calls that come of the request, whose host code may look at them.
    pub(crate) headers: Arc<Vec<(String, Vec<u8>)>>,
    pub(crate) principal: Option<String>,
    /// Something of the carrier's own that goes along with the request.
    pub(crate) given: Option<Py<PyAny>>,
}

impl CarriedHead {
    fn borrowed(&self) -> Head<'_> {
        Head {
            method: &self.method,
            path: &self.path,
            query: self.query.as_deref(),
            authority: None,
            headers: &*self.headers,
            principal: self.principal.as_deref(),
        }
    }
}

/// Reads the JSON text of what is served over HTTP.
pub(crate) fn config(json: &str) -> PyResult<HttpConfig> {
    serde_json::from_str(json).map_err(|error| error::local(&LocalError::Config(format!("http: {error}"))))
}

/// Header fields out of pairs of bytes.
pub(crate) fn fields(headers: &Bound<'_, PyAny>) -> PyResult<Vec<(String, Vec<u8>)>> {
    let mut fields = Vec::with_capacity(headers.len().unwrap_or(0));
    for pair in headers.try_iter()? {
        let pair = pair?;
        let (name, value) = (pair.get_item(0)?, pair.get_item(1)?);
        let name = String::from_utf8_lossy(name.extract()?).into_owned();
        fields.push((name, value.extract::<&[u8]>()?.to_vec()));
    }
    Ok(fields)
}

/// The HTTP request behind a call.
#[pyclass(frozen, module = "ferromcp._native")]
pub(crate) struct HttpFacts {
    headers: KeptHeaders,
    given: Option<Py<PyAny>>,
}

/// Where header fields lie, which tells requests apart that are served at the same time.
fn place<T: ?Sized>(headers: &Arc<T>) -> usize {
    Arc::as_ptr(headers).cast::<()>().addr()
}

impl HttpFacts {
    pub(crate) fn new(py: Python<'_>, core: &Core, headers: KeptHeaders) -> Self {
        let given = lock(&core.given).get(&place(&headers)).map(|given| given.clone_ref(py));
        Self { headers, given }
    }

    pub(crate) fn given(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.given.as_ref().map(|given| given.clone_ref(py))
    }
}

#[pymethods]
impl HttpFacts {
    /// The header fields, as pairs of bytes; names in lower case.
    #[getter]
    fn headers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let mut pairs = Vec::new();
        self.headers.all(&mut |name, value| pairs.push((name.to_ascii_lowercase(), value.to_vec())));
        let pairs = pairs.iter().map(|(name, value)| (PyBytes::new(py, name.as_bytes()), PyBytes::new(py, value)));
        PyList::new(py, pairs.collect::<Vec<_>>())
    }

    /// What the carrier gave along with the request.
    #[getter(given)]
    fn given_of(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.given(py)
    }
}

/// One request of a carrier's, from its head to the end of its response.
#[pyclass(frozen, module = "ferromcp._native")]
pub(crate) struct HttpRequest {
    core: Arc<Core>,
    endpoint: Arc<Endpoint>,
    head: CarriedHead,
    admission: Admission,
    number: u64,
    waker: Waker,
    /// None before it is served, and after the end.
    exchange: Mutex<Option<Exchange>>,
    /// The first piece of the response was given.
    begun: AtomicBool,
}

/// Wakes the loop for one response, from any thread.
struct Ready {
    core: Weak<Core>,
    number: u64,
}

impl Wake for Ready {
    fn wake(self: Arc<Self>) {
        if let Some(core) = self.core.upgrade() {
            core.bridge.push_one(Item::Ready(self.number));
        }
    }
}

impl HttpRequest {
    /// No call of this request looks for what was given along with it any more.
    fn forget_given(&self) {
        if self.head.given.is_some() {
            let given = lock(&self.core.given).remove(&place(&self.head.headers));
            // Outside of the lock: this may run Python code.
            drop(given);
        }
    }

    /// The request, or the response to it.
    pub(crate) fn admit<'py>(
        py: Python<'py>,
        core: &Arc<Core>,
        endpoint: &Arc<Endpoint>,
        head: CarriedHead,
    ) -> PyResult<Bound<'py, PyAny>> {
        let admission = match endpoint.admit_http(&head.borrowed()) {
            Ok(admission) => admission,
            Err(response) => return Ok(first(py, response)?.into_pyobject(py)?.into_any()),
        };
        let number = core.next_carried.fetch_add(1, Ordering::Relaxed);
        let waker = Waker::from(Arc::new(Ready { core: Arc::downgrade(core), number }));
        let (core, endpoint) = (Arc::clone(core), Arc::clone(endpoint));
        let (exchange, begun) = (Mutex::new(None), AtomicBool::new(false));
        let request = Self { core, endpoint, head, admission, number, waker, exchange, begun };
        Ok(Bound::new(py, request)?.into_any())
    }
}

#[pymethods]
impl HttpRequest {
    /// Bytes that the body may have; None where none is to be read.
    #[getter]
    fn body_limit(&self) -> Option<usize> {
        self.admission.body_limit()
    }

    /// The response to a body that is longer.
    fn too_large<'py>(&self, py: Python<'py>) -> PyResult<Piece<'py>> {
        first(py, self.admission.too_large())
    }

    /// Serves the request, once, with its whole body.
    #[pyo3(signature = (body, /))]
    fn serve(&self, py: Python<'_>, body: &[u8]) -> PyResult<()> {
        // Before any call comes of it.
        if let Some(given) = &self.head.given {
            lock(&self.core.given).insert(place(&self.head.headers), given.clone_ref(py));
        }
        let serve = || {
            let kept: KeptHeaders = self.head.headers.clone();
            self.endpoint.serve_http_keeping(&self.head.borrowed(), &self.admission, body, kept)
        };
        // Nothing is written here, so this waits for nobody; but large bodies take their time.
        let exchange = if body.len() > LARGE { py.detach(serve) } else { serve() };
        match taken(exchange) {
            Ok(exchange) => *lock(&self.exchange) = Some(exchange),
            Err(error) => {
                self.forget_given();
                return Err(error);
            }
        }
        Ok(())
    }

    /// The next piece of the response; None: there is none yet, and `ready()` says when there is.
    fn poll<'py>(&self, py: Python<'py>) -> PyResult<Option<Piece<'py>>> {
        let polled = match &mut *lock(&self.exchange) {
            Some(exchange) => exchange.poll_part(&mut Context::from_waker(&self.waker)),
            // Nobody is there to be answered.
            None => return Ok(Some((None, PyBytes::new(py, b""), None))),
        };
        if polled.is_pending() {
            return Ok(None);
        }
        let begun = self.begun.swap(true, Ordering::Relaxed);
        Ok(match polled {
            Poll::Pending => None,
            Poll::Ready(Some(Part::Response(response))) => Some(first(py, response)?),
            // The server ended before it could answer.
            Poll::Ready(None) if !begun => {
                Some(first(py, Response { status: 503, headers: Vec::new(), body: Some(Vec::new()) })?)
            }
            Poll::Ready(Some(Part::Data(bytes))) => Some((None, PyBytes::new(py, &bytes), Some(true))),
            Poll::Ready(Some(Part::End)) => Some((None, PyBytes::new(py, b""), Some(false))),
            Poll::Ready(None) => Some((None, PyBytes::new(py, b""), None)),
        })
    }

    /// A future that is done when `poll()` should be asked again.
    fn ready<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let bridge = &self.core.bridge;
        let future = bridge.side()?.future(py)?;
        lock(&bridge.carried).insert(self.number, future.clone().unbind());
        Ok(future)
    }

    /// The client is gone, or all is sent.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let exchange = lock(&self.exchange).take();
        drop(exchange);
        self.forget_given();
        self.core.bridge.carried_is_ready(py, self.number)
    }
}

/// The first piece of a response.
fn first(py: Python<'_>, response: Response) -> PyResult<Piece<'_>> {
    let headers = PyList::empty(py);
    for (name, value) in &response.headers {
        headers.append((PyBytes::new(py, name.as_bytes()), PyBytes::new(py, value.as_bytes())))?;
    }
    let Some(body) = response.body else {
        return Ok((Some((response.status, headers)), PyBytes::new(py, b""), Some(true)));
    };
    // A response without a body has no length either (RFC 9110, 8.6).
    if response.status != 204 {
        let length = body.len().to_string();
        headers.append((PyBytes::new(py, b"content-length"), PyBytes::new(py, length.as_bytes())))?;
    }
    Ok((Some((response.status, headers)), PyBytes::new(py, &body), Some(false)))
}

impl crate::bridge::Bridge {
    /// Whoever waits for more of a response is told to look.
    pub(crate) fn carried_is_ready(&self, py: Python<'_>, number: u64) -> PyResult<()> {
        let future = lock(&self.carried).remove(&number);
        if let Some(future) = future
            && !is_done(future.bind(py))?
        {
            future.call_method1(py, pyo3::intern!(py, "set_result"), (py.None(),))?;
        }
        Ok(())
    }
}
