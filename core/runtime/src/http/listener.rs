//! The listener: hyper's connections, each request brought to the engine and each response carried back.

use super::{Exchange, HttpOptions, Reactor};
use crate::endpoint::Endpoint;
use ferromcp_engine::http::{Head, Headers, Part, Response};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::service::service_fn;
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;

/// How long to wait when no connection can be accepted, mostly because there are too many. 50 ms.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

/// Connections that may wait to be accepted. 1,024: a crowd that comes at once is not told to come later.
const BACKLOG: u32 = 1_024;

/// Listens on the first address of a name that can be listened on.
pub(super) fn bind(reactor: &Reactor, host: &str, port: u16) -> io::Result<TcpListener> {
    let mut failed = io::ErrorKind::AddrNotAvailable.into();
    for address in (host, port).to_socket_addrs()? {
        match reactor.enter(|| bind_address(address)) {
            Ok(listener) => return Ok(listener),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

fn bind_address(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// What the connections of one listener share.
struct Shared {
    endpoint: Arc<Endpoint>,
    builder: Builder<TokioExecutor>,
    tls: Option<TlsAcceptor>,
    header_timeout: Duration,
    body_timeout: Duration,
    ending: watch::Receiver<bool>,
}

/// Begins to accept connections.
pub(super) fn listen(
    reactor: &Arc<Reactor>,
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    endpoint: &Arc<Endpoint>,
    options: &HttpOptions,
) {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(options.header_timeout).max_buf_size(64 << 10);
    builder.http2().timer(TokioTimer::new()).max_concurrent_streams(1_024).keep_alive_interval(options.header_timeout);
    let ending = endpoint.watch_ending();
    let shared = Arc::new(Shared {
        endpoint: Arc::clone(endpoint),
        builder,
        tls,
        header_timeout: options.header_timeout,
        body_timeout: options.body_timeout,
        ending: ending.clone(),
    });
    let room = Arc::new(Semaphore::new(options.max_connections.min(Semaphore::MAX_PERMITS)));
    reactor.spawn(accept(listener, shared, room, ending));
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, room: Arc<Semaphore>, mut ending: watch::Receiver<bool>) {
    let accept = async {
        loop {
            let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
            match listener.accept().await {
                Ok((stream, _)) => {
                    // Otherwise an answer waits for the acknowledgment of the one before.
                    let _ = stream.set_nodelay(true);
                    let shared = Arc::clone(&shared);
                    tokio::spawn(async move {
                        serve_stream(&shared, stream).await;
                        drop(permit);
                    });
                }
                Err(_) => tokio::time::sleep(ACCEPT_AGAIN).await,
            }
        }
    };
    let ended = async {
        // An error: the server is gone.
        let _ = ending.wait_for(|ending| *ending).await;
    };
    either(accept, ended).await;
}

/// Whichever ends first.
async fn either(first: impl Future<Output = ()>, second: impl Future<Output = ()>) {
    let (mut first, mut second) = (pin!(first), pin!(second));
    poll_fn(|context| match first.as_mut().poll(context) {
        Poll::Ready(()) => Poll::Ready(()),
        Poll::Pending => second.as_mut().poll(context),
    })
    .await;
}

async fn serve_stream(shared: &Arc<Shared>, stream: TcpStream) {
    let Some(tls) = &shared.tls else { return serve_connection(shared, TokioIo::new(stream)).await };
    // Who can't shake hands, or takes too long, is not served.
    if let Ok(Ok(stream)) = tokio::time::timeout(shared.header_timeout, tls.accept(stream)).await {
        serve_connection(shared, TokioIo::new(stream)).await;
    }
}

async fn serve_connection(shared: &Arc<Shared>, io: impl hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static) {
    let of_service = Arc::clone(shared);
    let begun = Arc::new(AtomicBool::new(false));
    let begins = Arc::clone(&begun);
    let service = service_fn(move |request| {
        begins.store(true, Ordering::Relaxed);
        let shared = Arc::clone(&of_service);
        async move { serve(&shared, request).await }
    });
    let mut connection = pin!(shared.builder.serve_connection(io, service));
    let mut ending = shared.ending.clone();
    let mut ended = pin!(async move { ending.wait_for(|ending| *ending).await.is_ok() });
    let mut told = false;
    // Until the first request is there, hyper may still be finding out which HTTP this is, for which it knows no bound.
    let mut patience = Box::pin(tokio::time::sleep(shared.header_timeout));
    let mut patient = true;
    // What goes wrong on a connection is over with it.
    poll_fn(|context| {
        if !told && ended.as_mut().poll(context).is_ready() {
            told = true;
            connection.as_mut().graceful_shutdown();
        }
        if patient && patience.as_mut().poll(context).is_ready() {
            patient = false;
            if !begun.load(Ordering::Relaxed) {
                return Poll::Ready(());
            }
        }
        connection.as_mut().poll(context).map(drop)
    })
    .await;
}

async fn serve(shared: &Shared, request: Request<Incoming>) -> Result<hyper::Response<Reply>, Infallible> {
    let (mut parts, body) = request.into_parts();
    let fields = Arc::new(Fields(std::mem::take(&mut parts.headers)));
    let admission = match shared.endpoint.admit_http(&head(&parts, &fields)) {
        Ok(admission) => admission,
        Err(response) => return Ok(whole(response)),
    };
    let body = match admission.body_limit() {
        None => Bytes::new(),
        Some(limit) => match tokio::time::timeout(shared.body_timeout, read(body, limit)).await {
            Ok(Ok(body)) => body,
            Ok(Err(TooLarge::Yes)) => return Ok(closing(admission.too_large())),
            // The client is gone, or sent no proper body; nobody is told.
            Ok(Err(TooLarge::No)) => return Ok(closing(plain(400))),
            Err(_) => return Ok(closing(plain(408))),
        },
    };
    let kept = Arc::clone(&fields);
    let served = shared.endpoint.serve_http_keeping(&head(&parts, &fields), &admission, &body, kept);
    let Ok(mut exchange) = served else { return Ok(whole(plain(503))) };
    drop(body);
    Ok(match poll_fn(|context| exchange.poll_part(context)).await {
        Some(Part::Response(response)) if response.body.is_none() => convert(&response, Reply::Stream(exchange)),
        Some(Part::Response(response)) => whole(response),
        _ => whole(plain(503)),
    })
}

fn head<'a>(parts: &'a Parts, headers: &'a Fields) -> Head<'a> {
    Head {
        method: parts.method.as_str(),
        path: parts.uri.path(),
        query: parts.uri.query(),
        authority: parts.uri.authority().map(|authority| authority.as_str()),
        headers,
        principal: None,
    }
}

enum TooLarge {
    Yes,
    No,
}

async fn read(mut body: Incoming, limit: usize) -> Result<Bytes, TooLarge> {
    let mut first = Bytes::new();
    let mut rest = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| TooLarge::No)?.into_data() else { continue };
        if first.len() + rest.len() + data.len() > limit {
            return Err(TooLarge::Yes);
        }
        if first.is_empty() && rest.is_empty() {
            // Mostly the whole body is one piece, which is not copied.
            first = data;
        } else {
            if rest.is_empty() {
                rest.extend_from_slice(&std::mem::take(&mut first));
            }
            rest.extend_from_slice(&data);
        }
    }
    Ok(if rest.is_empty() { first } else { rest.into() })
}

fn plain(status: u16) -> Response {
    Response { status, headers: Vec::new(), body: Some(Vec::new()) }
}

fn whole(mut response: Response) -> hyper::Response<Reply> {
    let body = response.body.take().unwrap_or_default();
    convert(&response, Reply::Whole(Some(body.into())))
}

/// The rest of the request is not read, so the connection can't be used again.
fn closing(response: Response) -> hyper::Response<Reply> {
    let mut response = whole(response);
    response.headers_mut().insert(hyper::header::CONNECTION, HeaderValue::from_static("close"));
    response
}

fn convert(response: &Response, body: Reply) -> hyper::Response<Reply> {
    let mut converted = hyper::Response::new(body);
    *converted.status_mut() = StatusCode::from_u16(response.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in &response.headers {
        // The engine writes no others.
        if let Ok(value) = HeaderValue::from_str(value) {
            converted.headers_mut().insert(HeaderName::from_static(name), value);
        }
    }
    converted
}

/// Header fields as hyper has them.
struct Fields(HeaderMap);

impl Headers for Fields {
    fn each(&self, name: &str, each: &mut dyn FnMut(&[u8])) {
        for value in self.0.get_all(name) {
            each(value.as_bytes());
        }
    }

    fn all(&self, each: &mut dyn FnMut(&str, &[u8])) {
        for (name, value) in &self.0 {
            each(name.as_str(), value.as_bytes());
        }
    }
}

/// A response's body.
enum Reply {
    Whole(Option<Bytes>),
    Stream(Exchange),
}

impl Body for Reply {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        match self.get_mut() {
            Self::Whole(body) => {
                Poll::Ready(body.take().filter(|body| !body.is_empty()).map(|body| Ok(Frame::data(body))))
            }
            Self::Stream(exchange) => Poll::Ready(match ready!(exchange.poll_part(context)) {
                Some(Part::Data(bytes)) => Some(Ok(Frame::data(bytes.into()))),
                Some(Part::End) => None,
                _ => Some(Err(io::ErrorKind::ConnectionAborted.into())),
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(body) if body.as_ref().is_none_or(Bytes::is_empty))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(body) => SizeHint::with_exact(body.as_ref().map_or(0, |body| body.len() as u64)),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}
