//! Requests of HTTP that a program brings by itself: a head and a body come in, parts of a response go out.
//!
//! What is said of a request is decided in the engine, and when something is there to be sent in the runtime. Here it is
//! handed over in C's manner: a request is an object, which may be waited for or asked, and a part is another.

pub mod part;

use crate::error::{Error, Status};
use crate::guard;
use crate::handle;
use crate::handler::{Destroy, UserData};
use crate::server::Server;
use crate::text::Text;
use ferromcp_engine::http::{Admission, Head, Part, Response};
use part::HttpPart;
use runtime::Endpoint;
use runtime::http::Exchange;
use std::ffi::c_void;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// A request of HTTP and the response to it. See "HTTP" at the top of this file. Owned by whoever received it; freed with
/// fmcp_http_free().
pub struct Http {
    endpoint: Arc<Endpoint>,
    method: String,
    target: String,
    headers: Vec<(String, Vec<u8>)>,
    principal: Option<String>,
    /// None: the head was refused.
    admission: Option<Admission>,
    stage: Mutex<Stage>,
    ready: Arc<Ready>,
    /// The same as `ready`.
    waker: Waker,
}

/// One field of a request's head.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HttpHeader {
    /// Its name, in any case.
    pub name: Text,
    /// Its value, of any bytes.
    pub value: Text,
}

/// Called on any thread when fmcp_http_next() gave no part and should be asked again. It must return soon, and only tell
/// whoever asks. It may come without need, and once more while the request is freed.
pub type HttpReady = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

/// How far a request is.
enum Stage {
    Admitted,
    /// The head was refused; whether a body came is of no interest.
    Refused(Response),
    /// The body was refused.
    Answered(Response),
    Served(Exchange),
    Over,
}

/// Where it is told that there is more of a response.
#[derive(Default)]
struct Ready {
    told: Mutex<Told>,
    changed: Condvar,
}

#[derive(Default)]
struct Told {
    /// How often it was told.
    times: u64,
    listener: Option<Arc<Listener>>,
}

/// A function of the program's.
struct Listener {
    function: unsafe extern "C" fn(*mut c_void),
    user_data: UserData,
}

impl Http {
    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, body: &[u8]) -> Result<(), Error> {
        let mut stage = self.stage();
        let admission = match (std::mem::replace(&mut *stage, Stage::Over), &self.admission) {
            (Stage::Admitted, Some(admission)) => admission,
            (Stage::Refused(response), _) => {
                *stage = Stage::Answered(response);
                return Ok(());
            }
            (other, _) => {
                *stage = other;
                return Err(Error::state("this request was served before"));
            }
        };
        if admission.body_limit().is_some_and(|limit| body.len() > limit) {
            *stage = Stage::Answered(admission.too_large());
            return Ok(());
        }
        let head = head(&self.method, &self.target, &self.headers, self.principal.as_deref());
        *stage = Stage::Served(self.endpoint.serve_http(&head, admission, body)?);
        Ok(())
    }

    /// The next part, or None where there is none until `deadline`; None for that: for ever.
    fn next(&self, deadline: Option<Instant>) -> Result<Option<HttpPart>, Error> {
        loop {
            let seen = self.ready.told().times;
            if let Some(part) = self.poll()? {
                return Ok(Some(part));
            }
            if !self.ready.wait(seen, deadline) {
                return Ok(None);
            }
        }
    }

    fn poll(&self) -> Result<Option<HttpPart>, Error> {
        let mut stage = self.stage();
        let part = match &mut *stage {
            Stage::Admitted => return Err(Error::state("fmcp_http_serve() comes before this")),
            Stage::Over => return Err(Error::state("the response has ended")),
            Stage::Refused(response) | Stage::Answered(response) => {
                HttpPart::first(std::mem::replace(response, Response { status: 0, headers: Vec::new(), body: None }))
            }
            Stage::Served(exchange) => match exchange.poll_part(&mut Context::from_waker(&self.waker)) {
                Poll::Pending => return Ok(None),
                Poll::Ready(Some(Part::Response(response))) => HttpPart::first(response),
                Poll::Ready(Some(Part::Data(bytes))) => HttpPart::more(bytes),
                Poll::Ready(Some(Part::End)) => HttpPart::end(),
                Poll::Ready(None) => HttpPart::aborted(),
            },
        };
        if part.is_last {
            *stage = Stage::Over;
        }
        Ok(Some(part))
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        // Whoever carries it hears of it no more. Outside of the lock, because it may end the life of user data.
        let listener = self.ready.told().listener.take();
        drop(listener);
    }
}

impl Ready {
    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it is told more often than `seen`. False: it was not, until the deadline.
    fn wait(&self, seen: u64, deadline: Option<Instant>) -> bool {
        let mut told = self.told();
        while told.times == seen {
            told = match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                None => self.changed.wait(told).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => return false,
                Some(left) => self.changed.wait_timeout(told, left).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
        true
    }
}

impl Wake for Ready {
    fn wake(self: Arc<Self>) {
        let mut told = self.told();
        told.times += 1;
        let listener = told.listener.clone();
        drop(told);
        self.changed.notify_all();
        if let Some(listener) = listener {
            // SAFETY: the caller's function with the caller's pointer, which `listener` keeps alive.
            unsafe { (listener.function)(listener.user_data.pointer) };
        }
    }
}

fn head<'a>(
    method: &'a str,
    target: &'a str,
    headers: &'a Vec<(String, Vec<u8>)>,
    principal: Option<&'a str>,
) -> Head<'a> {
    let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
    Head { method, path, query, authority: None, headers, principal }
}

/// What a client wrote, in whatever bytes: those that are no UTF-8 match nothing.
///
/// # Safety
/// As [`handle::bytes`].
unsafe fn written(text: Text, what: &str) -> Result<String, Error> {
    // SAFETY: passed on from our caller.
    let bytes = unsafe { handle::bytes(text, what) }?;
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

/// Looks at the head of a request that reached the program: the first of three steps, before the body is read. Whatever the
/// client sent is fine here: what it may not do is in the response. fmcp_http_serve() is the second step, fmcp_http_next() the
/// third.
///
/// \param server       started with fmcp_server_start_carrier(), or with a listener of its own beside the program's
/// \param method       as the client wrote it
/// \param target       the path, with the query behind a question mark
/// \param headers      the fields of the head, in their order; with HTTP/2 `:authority` as `Host`. NULL where count is 0
/// \param header_count how many there are
/// \param principal    who is behind the request, as far as you have verified it: any name that is the same whenever it is the
///                     same principal; none where nobody is known
/// \param out          where to write the request; required
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_http_admit(
    server: *mut Server,
    method: Text,
    target: Text,
    headers: *const HttpHeader,
    header_count: usize,
    principal: Text,
    out: *mut *mut Http,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: a live server or null, by the header's contract.
        let server = unsafe { handle::required(server, "server") }?;
        // SAFETY: readable bytes, and an array of `header_count`, by the header's contract.
        let (method, target, principal, headers) = unsafe {
            let (method, target) = (written(method, "method")?, written(target, "target")?);
            let principal = handle::optional_text(principal, "principal")?.map(str::to_owned);
            (method, target, principal, handle::array(headers, header_count))
        };
        let given = headers.ok_or_else(|| Error::argument("headers is NULL"))?;
        let mut headers = Vec::with_capacity(given.len());
        for header in given {
            // SAFETY: readable bytes, by the header's contract.
            headers.push(unsafe { (written(header.name, "name")?, handle::bytes(header.value, "value")?.to_vec()) });
        }
        handle::wanted(out, "out")?;
        let endpoint = server.endpoint()?;
        let admitted = endpoint.admit_http(&head(&method, &target, &headers, principal.as_deref()));
        let (admission, stage) = match admitted {
            Ok(admission) => (Some(admission), Stage::Admitted),
            Err(response) => (None, Stage::Refused(response)),
        };
        let ready = Arc::new(Ready::default());
        let waker = Waker::from(Arc::clone(&ready));
        let stage = Mutex::new(stage);
        let http = Http { endpoint, method, target, headers, principal, admission, stage, ready, waker };
        // SAFETY: checked for null above, and writable by the header's contract.
        unsafe { handle::give(out, http) };
        Ok(())
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// How many bytes the body may have. 0: none is to be read, because the method has none or the head was refused; where a
/// client sends one all the same, close the connection after the response.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_http_body_limit(http: *const Http) -> usize {
    guard::value(0, || {
        // SAFETY: a live request or null, by the header's contract.
        let Some(Http { admission: Some(admission), .. }) = (unsafe { handle::borrow(http) }) else { return 0 };
        admission.body_limit().unwrap_or(0)
    })
}

/// Serves a request, once. A body of more bytes than fmcp_http_body_limit() is answered with 413, so one byte more is all that
/// has to be read of it. It does not wait: fmcp_http_next() brings the response, also where the head was refused.
///
/// \param body   the whole body; NULL where length is 0
/// \param length how many bytes it has
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_http_serve(
    http: *mut Http,
    body: *const u8,
    length: usize,
    err: *mut *mut Error,
) -> Status {
    let run = || {
        // SAFETY: a live request or null, and `length` readable bytes, by the header's contract.
        let (http, body) = unsafe { (handle::required(http, "http")?, handle::array(body, length)) };
        http.serve(body.ok_or_else(|| Error::argument("body is NULL"))?)
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, run) }
}

/// Waits for the next part of the response. The first has a status and header fields; fmcp_http_part_is_last() tells the last,
/// after which this gives FMCP_STATUS_STATE. A stream may be silent for as long as `keepAliveMs`, and last for days.
///
/// \param timeout_ms how long to wait: 0 not at all, a negative number for ever
/// \param out        where to write the part, or NULL where there is none in time; required
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_http_next(
    http: *mut Http,
    timeout_ms: i64,
    out: *mut *mut HttpPart,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: a live request or null, by the header's contract.
        let http = unsafe { handle::required(http, "http") }?;
        handle::wanted(out, "out")?;
        // A time that no clock reaches is for ever.
        let deadline =
            u64::try_from(timeout_ms).ok().and_then(|ms| Instant::now().checked_add(Duration::from_millis(ms)));
        match http.next(deadline)? {
            // SAFETY: checked for null above, and writable by the header's contract.
            Some(part) => unsafe { handle::give(out, part) },
            // SAFETY: as above.
            None => unsafe { handle::put(out, std::ptr::null_mut()) },
        }
        Ok(())
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Sets what is called when fmcp_http_next() gave no part and should be asked again: for programs that don't wait in it. A
/// second one takes the first one's place.
///
/// \param function  what is called; required
/// \param user_data passed to the function; taken over on FMCP_STATUS_OK only
/// \param destroy   called with user_data at its end, or NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_http_on_ready(
    http: *mut Http,
    function: HttpReady,
    user_data: *mut c_void,
    destroy: Destroy,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: a live request or null, by the header's contract.
        let http = unsafe { handle::required(http, "http") }?;
        let function = function.ok_or_else(|| Error::argument("function is NULL"))?;
        let listener = Listener { function, user_data: UserData::new(user_data, destroy) };
        let before = http.ready.told().listener.replace(Arc::new(listener));
        // Outside of the lock: it may end the life of user data.
        drop(before);
        Ok(())
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Frees a request. Before the last part it says that the client is gone: a request of revision 2026-07-28 or later is cancelled
/// by that, an older one goes on without the connection. NULL does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_http_free(http: *mut Http) {
    // SAFETY: the caller gives up its handle, by the header's contract.
    guard::value((), || unsafe { handle::free(http) });
}
