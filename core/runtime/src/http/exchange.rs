//! One request that is being served, in the hand of whoever carries it.

use super::KeptHeaders;
use super::cluster::Remote;
use crate::endpoint::Endpoint;
use crate::options::Error;
use ferromcp_engine::RequestKey;
use ferromcp_engine::http::{Admission, ExchangeId, Head, Http, Part, Response};
use std::sync::Arc;
use std::task::{Context, Poll};

/// One request and the response that comes of it, piece by piece. Dropping it before the end says that the client is gone.
pub struct Exchange {
    endpoint: Arc<Endpoint>,
    served: Served,
}

enum Served {
    /// By this process.
    Here { id: ExchangeId, over: bool },
    /// By another that has the session.
    Elsewhere(Remote),
}

impl Endpoint {
    /// Ends the connection of a call's stream, and not the call. See
    /// [`Http::close_sse_stream`](ferromcp_engine::http::Http::close_sse_stream).
    ///
    /// # Errors
    /// [`Error::Forked`].
    pub fn close_sse_stream(&self, key: RequestKey) -> Result<bool, Error> {
        self.command_on(|state, now| {
            let Some(net) = &mut state.net else { return Ok(false) };
            Ok(net.http.close_sse_stream(&state.server, key, now))
        })
    }

    /// Lets clients use one more name or address as `Host`: one that a carrier listens on, which it knows only when a
    /// request comes.
    pub fn allow_http_host(&self, host: &str) {
        if self.is_forked() {
            return;
        }
        if let Some(net) = &mut self.lock().net {
            net.http.allow_host(host);
        }
    }

    /// Looks at the head of a request. See [`Http::admit`](ferromcp_engine::http::Http::admit).
    ///
    /// # Errors
    /// The response, where nothing else has to be looked at.
    pub fn admit_http(&self, head: &Head<'_>) -> Result<Admission, Response> {
        self.admission(|http| http.admit(head))
    }

    /// The same for a request that another node has admitted.
    pub(super) fn admit_passed_on(&self, head: &Head<'_>) -> Result<Admission, Response> {
        self.admission(|http| http.admit_passed_on(head))
    }

    fn admission(&self, admit: impl FnOnce(&Http) -> Result<Admission, Response>) -> Result<Admission, Response> {
        let unavailable = || Response { status: 503, headers: Vec::new(), body: Some(Vec::new()) };
        if self.is_forked() {
            return Err(unavailable());
        }
        let state = self.lock();
        match state.net.as_ref().filter(|_| state.ending.is_none()) {
            Some(net) => admit(&net.http),
            None => Err(unavailable()),
        }
    }

    /// Serves a request with its whole body. See [`Http::serve`](ferromcp_engine::http::Http::serve).
    ///
    /// # Errors
    /// [`Error::Forked`], [`Error::Engine`] where this is no server for HTTP.
    pub fn serve_http(
        self: &Arc<Self>,
        head: &Head<'_>,
        admission: &Admission,
        body: &[u8],
    ) -> Result<Exchange, Error> {
        self.serve(head, admission, body, None)
    }

    /// The same, and host code can see the header fields as long as the request is served ([`Endpoint::request_headers`]).
    ///
    /// # Errors
    /// As [`Endpoint::serve_http`].
    pub fn serve_http_keeping(
        self: &Arc<Self>,
        head: &Head<'_>,
        admission: &Admission,
        body: &[u8],
        headers: KeptHeaders,
    ) -> Result<Exchange, Error> {
        self.serve(head, admission, body, Some(headers))
    }

    /// The header fields of the request that a call came with; None where there is none any more.
    pub fn request_headers(&self, key: RequestKey) -> Option<KeptHeaders> {
        if self.is_forked() {
            return None;
        }
        let state = self.lock();
        let net = state.net.as_ref()?;
        net.headers.get(&net.http.exchange_of(&state.server, key)?).cloned()
    }

    /// Bytes that a request's body may have.
    pub(super) fn max_body_bytes(&self) -> usize {
        self.lock().net.as_ref().map_or(0, |net| net.http.config().max_body_bytes)
    }

    fn serve(
        self: &Arc<Self>,
        head: &Head<'_>,
        admission: &Admission,
        body: &[u8],
        headers: Option<KeptHeaders>,
    ) -> Result<Exchange, Error> {
        if let Some(cluster) = self.cluster.get() {
            self.check()?;
            let state = self.lock();
            let owner = state.net.as_ref().and_then(|net| net.http.elsewhere(head, admission).map(str::to_owned));
            drop(state);
            if let Some(owner) = owner {
                let remote = cluster.open(owner, head, admission, body);
                return Ok(Exchange { endpoint: Arc::clone(self), served: Served::Elsewhere(remote) });
            }
        }
        self.serve_here(head, admission, body, headers)
    }

    /// Serves a request here, whoever has its session.
    pub(super) fn serve_here(
        self: &Arc<Self>,
        head: &Head<'_>,
        admission: &Admission,
        body: &[u8],
        headers: Option<KeptHeaders>,
    ) -> Result<Exchange, Error> {
        let id = self.command_on(|state, now| {
            if let Some(tap) = &mut state.tap {
                tap.received(body, now.saturating_mul(1_000));
                tap.received(b"\n", now.saturating_mul(1_000));
            }
            let net = state.net.as_mut().ok_or(ferromcp_engine::LocalError::UnknownStream)?;
            let id = net.http.serve(&mut state.server, head, admission, body, now);
            if let Some(headers) = headers {
                net.headers.insert(id, headers);
            }
            Ok(id)
        })?;
        Ok(Exchange { endpoint: Arc::clone(self), served: Served::Here { id, over: false } })
    }
}

impl Exchange {
    /// The next piece. None: there is no other. A response that has begun and ends without [`Part::End`] was given up, and its
    /// connection should be broken off.
    pub fn poll_part(&mut self, context: &mut Context<'_>) -> Poll<Option<Part>> {
        let (id, over) = match &mut self.served {
            Served::Here { id, over } => (*id, over),
            Served::Elsewhere(remote) => {
                let part = remote.poll_part(context);
                settle(&self.endpoint, remote);
                return part;
            }
        };
        if *over {
            return Poll::Ready(None);
        }
        let mut state = self.endpoint.lock();
        let Some(net) = &mut state.net else { return Poll::Ready(None) };
        match net.http.poll(id) {
            Some(part) => {
                *over = net.http.is_over(id);
                if *over {
                    net.headers.remove(&id);
                }
                if *over && state.ending.is_some() {
                    // Whoever ends the server waits for the last.
                    self.endpoint.wake(&mut state);
                }
                Poll::Ready(Some(part))
            }
            None if net.http.is_over(id) => {
                *over = true;
                net.headers.remove(&id);
                Poll::Ready(None)
            }
            None => {
                net.wakers.insert(id, context.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// Whoever ends the server waits for the last response from elsewhere as well.
fn settle(endpoint: &Endpoint, remote: &mut Remote) {
    if remote.is_over() && remote.settle() {
        let mut state = endpoint.lock();
        if state.ending.is_some() {
            endpoint.wake(&mut state);
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if self.endpoint.is_forked() {
            return;
        }
        let id = match &mut self.served {
            Served::Here { over: true, .. } => return,
            Served::Here { id, .. } => *id,
            Served::Elsewhere(remote) => {
                remote.leave();
                return settle(&self.endpoint, remote);
            }
        };
        // It fails in a forked child only.
        let _ = self.endpoint.command_on(|state, now| {
            if let Some(net) = &mut state.net {
                net.wakers.remove(&id);
                net.headers.remove(&id);
                net.http.gone(&mut state.server, id, now);
            }
            Ok(())
        });
    }
}
