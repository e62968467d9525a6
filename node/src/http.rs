//! HTTP for a listener of JavaScript's own: a request's head and body come in, a response's parts go out.

use crate::bridge::{Bridge, Item};
use crate::core::Core;
use crate::error::NativeFailure;
use ferromcp::engine::LocalError;
use ferromcp::engine::http::{Admission, Head, Http, HttpConfig, Part, Response};
use ferromcp::http::Exchange;
use ferromcp::{Endpoint, Error};
use napi::bindgen_prelude::{Either, Uint8Array};
use napi_derive::napi;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};

/// A piece of a response. With a status it is the first; with `end` the last.
#[napi(object, object_from_js = false)]
pub struct NativePart {
    /// The status code.
    pub status: Option<u32>,
    /// Names and values of the header fields, in turn.
    pub headers: Option<Vec<String>>,
    /// More of the body.
    pub body: Option<Uint8Array>,
    /// Nothing follows.
    pub end: bool,
    /// The response was given up: its connection should be broken off.
    pub aborted: bool,
}

impl NativePart {
    fn of(response: Response) -> Self {
        let headers = response.headers.into_iter().flat_map(|(name, value)| [name.to_owned(), value.into_owned()]);
        Self {
            status: Some(response.status.into()),
            headers: Some(headers.collect()),
            end: response.body.is_some(),
            body: response.body.map(Uint8Array::new),
            aborted: false,
        }
    }

    fn more(body: Option<Vec<u8>>, end: bool, aborted: bool) -> Self {
        Self { status: None, headers: None, body: body.map(Uint8Array::new), end, aborted }
    }
}

/// A request whose head is as it must be.
#[napi]
pub struct NativeRequest {
    core: Weak<Core>,
    endpoint: Arc<Endpoint>,
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    principal: Option<String>,
    admission: Admission,
    number: u32,
    exchange: Option<Exchange>,
}

/// Wakes JavaScript for one response.
struct Ready {
    core: Weak<Core>,
    number: u32,
}

impl Wake for Ready {
    fn wake(self: Arc<Self>) {
        if let Some(core) = self.core.upgrade() {
            let bridge: &Bridge = &core.bridge;
            bridge.push([Item::Ready(self.number)]);
        }
    }
}

/// Looks at a head; `number` is what JavaScript is woken with when there is more of the response.
pub(crate) fn admit(
    core: &Arc<Core>,
    number: u32,
    method: String,
    target: String,
    headers: Vec<String>,
    principal: Option<String>,
) -> Either<NativeRequest, NativePart> {
    let Some(endpoint) = core.endpoint().cloned() else {
        return Either::B(NativePart::of(Response { status: 503, headers: Vec::new(), body: Some(Vec::new()) }));
    };
    let mut fields = Vec::with_capacity(headers.len() / 2);
    let mut texts = headers.into_iter();
    while let (Some(name), Some(value)) = (texts.next(), texts.next()) {
        fields.push((name, value));
    }
    match endpoint.admit_http(&head(&method, &target, &fields, principal.as_deref())) {
        Ok(admission) => Either::A(NativeRequest {
            core: Arc::downgrade(core),
            endpoint,
            method,
            target,
            headers: fields,
            principal,
            admission,
            number,
            exchange: None,
        }),
        Err(response) => Either::B(NativePart::of(response)),
    }
}

fn head<'a>(
    method: &'a str,
    target: &'a str,
    headers: &'a Vec<(String, String)>,
    principal: Option<&'a str>,
) -> Head<'a> {
    let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
    Head { method, path, query, authority: None, headers, principal }
}

/// Reads the JSON text of what is served.
pub(crate) fn config(json: &str) -> Result<HttpConfig, Error> {
    serde_json::from_str(json).map_err(|error| LocalError::Config(format!("http: {error}")).into())
}

/// Why the JSON text `config` of what is served over HTTP can't be; null where it can.
#[napi(catch_unwind)]
pub fn check_http(config: String) -> Option<NativeFailure> {
    let checked = self::config(&config).and_then(|config| Ok(Http::new(config, None)?));
    checked.err().map(NativeFailure::from)
}

#[napi]
impl NativeRequest {
    /// Bytes that the body may have; null where none is to be read.
    #[napi(catch_unwind)]
    pub fn limit(&self) -> Option<f64> {
        self.admission.body_limit().map(|limit| limit as f64)
    }

    /// The response to a body that is longer.
    #[napi(catch_unwind)]
    pub fn too_large(&self) -> NativePart {
        NativePart::of(self.admission.too_large())
    }

    /// Serves the request, once, with its whole body.
    #[napi(catch_unwind)]
    pub fn serve(&mut self, body: Uint8Array) -> Option<NativeFailure> {
        let head = head(&self.method, &self.target, &self.headers, self.principal.as_deref());
        match self.endpoint.serve_http(&head, &self.admission, &body) {
            Ok(exchange) => {
                self.exchange = Some(exchange);
                None
            }
            Err(error) => Some(error.into()),
        }
    }

    /// The next piece of the response; null when there is none yet: the bridge says when there is.
    #[napi(catch_unwind)]
    pub fn poll(&mut self) -> Option<NativePart> {
        let Some(exchange) = &mut self.exchange else { return Some(NativePart::more(None, true, true)) };
        let waker = Waker::from(Arc::new(Ready { core: self.core.clone(), number: self.number }));
        match exchange.poll_part(&mut Context::from_waker(&waker)) {
            Poll::Pending => None,
            Poll::Ready(Some(Part::Response(response))) => Some(NativePart::of(response)),
            Poll::Ready(Some(Part::Data(bytes))) => Some(NativePart::more(Some(bytes), false, false)),
            Poll::Ready(Some(Part::End)) => Some(NativePart::more(None, true, false)),
            Poll::Ready(None) => Some(NativePart::more(None, true, true)),
        }
    }

    /// The client is gone, or all is sent.
    #[napi(catch_unwind)]
    pub fn close(&mut self) {
        self.exchange = None;
    }
}
