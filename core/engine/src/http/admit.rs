//! What is decided from the head alone, before a body is read.

use super::config::HttpConfig;
use super::head::{Field, Head};
use super::mirror::is_token;
use super::origin::Guard;
use super::response::Response;

/// Fields that a browser's script may send.
const ALLOW_HEADERS: &str =
    "authorization, content-type, accept, last-event-id, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name";

/// Fields of an answer that it may read.
const EXPOSE_HEADERS: &str = "mcp-session-id, mcp-protocol-version, www-authenticate, retry-after";

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The MCP endpoint.
    Endpoint,
    /// `GET /sse` of 2024-11-05.
    OldStream,
    /// `POST /messages` of 2024-11-05.
    OldMessages,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Get,
    Post,
    Delete,
}

/// In which form the client takes answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Stream,
    Either,
}

/// A request whose head is as it must be.
#[derive(Clone, Debug)]
pub struct Admission {
    pub(super) target: Target,
    pub(super) verb: Verb,
    pub(super) form: Form,
    pub(super) version: Field,
    pub(super) session: Field,
    /// The page that may read the answer.
    pub(super) origin: Option<String>,
    limit: usize,
}

impl Admission {
    /// Bytes that a body may have; None where none is to be read.
    pub fn body_limit(&self) -> Option<usize> {
        (self.verb == Verb::Post).then_some(self.limit)
    }

    /// The response to a body that turned out to be longer than [`Admission::body_limit`].
    pub fn too_large(&self) -> Response {
        self.allow_origin(Response::refusal(413, &format!("Content Too Large: more than {} bytes", self.limit)))
    }

    /// The response where the session that the request names is not there any more.
    pub fn unknown_session(&self) -> Response {
        self.allow_origin(super::session::unknown())
    }

    /// The response where nobody knows at the moment whether that session is there.
    pub fn unavailable(&self) -> Response {
        let response = Response::refusal(503, "Service Unavailable: the session is on a node that can't be reached");
        self.allow_origin(response.with("retry-after", "1"))
    }

    /// Lets the page that asked read a response.
    pub(super) fn allow_origin(&self, response: Response) -> Response {
        allow_origin(self.origin.as_deref(), response)
    }
}

pub(super) fn allow_origin(origin: Option<&str>, response: Response) -> Response {
    match origin {
        Some(origin) => response
            .with("access-control-allow-origin", origin.to_owned())
            .with("access-control-expose-headers", EXPOSE_HEADERS)
            .with("vary", "origin"),
        None => response,
    }
}

/// Looks at a head. Without a guard somebody else has looked who asks.
///
/// # Errors
/// The response, where no body is wanted any more.
pub(super) fn admit(config: &HttpConfig, guard: Option<&Guard>, head: &Head<'_>) -> Result<Admission, Response> {
    let host = match (head.authority, head.field("host")) {
        (Some(authority), _) => Some(authority.to_owned()),
        (None, Field::One(host)) => Some(host),
        (None, Field::Absent | Field::Bad) => {
            return Err(Response::refusal(400, "Bad Request: Host must be given once"));
        }
    };
    if !guard.is_none_or(|guard| guard.allows_host(host.as_deref())) {
        return Err(Response::refusal(403, "Forbidden: this server is not known under the Host of the request"));
    }
    let origin = match head.field("origin") {
        Field::Absent => None,
        Field::One(origin) if guard.is_none_or(|guard| guard.allows_origin(&origin)) => Some(origin),
        _ => return Err(Response::refusal(403, "Forbidden: pages of this Origin may not use the server")),
    };
    let refuse = |response: Response| Err(allow_origin(origin.as_deref(), response));
    let Some(target) = target(config, head.path) else {
        return refuse(Response::refusal(404, "Not Found: no MCP endpoint is at this path"));
    };
    let methods = match target {
        Target::Endpoint if config.sessions => "GET, POST, DELETE, OPTIONS",
        Target::Endpoint | Target::OldMessages => "POST, OPTIONS",
        Target::OldStream => "GET, OPTIONS",
    };
    let verb = match head.method {
        "POST" => Verb::Post,
        "GET" => Verb::Get,
        "DELETE" => Verb::Delete,
        "OPTIONS" => {
            let response = Response::empty(204).with("allow", methods);
            if origin.is_none() {
                return refuse(response);
            }
            // What a page may mirror from a tool's arguments has names of the tool's own.
            let asked = head.list("access-control-request-headers").unwrap_or_default();
            let own = asked.split(',').map(|name| name.trim().to_ascii_lowercase());
            let own = own.filter(|name| name.starts_with("mcp-param-") && name.bytes().all(is_token));
            let headers = own.fold(ALLOW_HEADERS.to_owned(), |all, name| format!("{all}, {name}"));
            return refuse(
                response
                    .with("access-control-allow-methods", methods)
                    .with("access-control-allow-headers", headers)
                    .with("access-control-max-age", "86400"),
            );
        }
        _ => return refuse(not_allowed(methods)),
    };
    if !methods.split(", ").any(|method| method == head.method) {
        return refuse(not_allowed(methods));
    }
    let accepted = accepted(head);
    let acceptable = match (verb, accepted) {
        (Verb::Delete, _) => true,
        (Verb::Get, accepted) => matches!(accepted, Some(Form::Stream | Form::Either)),
        (Verb::Post, accepted) => accepted == Some(Form::Either) || !config.strict_accept,
    };
    if !acceptable {
        return refuse(Response::refusal(406, "Not Acceptable: accept application/json and text/event-stream"));
    }
    let form = accepted.unwrap_or(Form::Either);
    if verb == Verb::Post {
        check_body(config, head).map_err(|response| allow_origin(origin.as_deref(), response))?;
    }
    Ok(Admission {
        target,
        verb,
        form,
        version: head.field("mcp-protocol-version"),
        session: head.field("mcp-session-id"),
        origin,
        limit: config.max_body_bytes,
    })
}

fn not_allowed(methods: &'static str) -> Response {
    Response::refusal(405, "Method Not Allowed").with("allow", methods)
}

fn target(config: &HttpConfig, path: &str) -> Option<Target> {
    let Some(own) = &config.path else { return Some(Target::Endpoint) };
    let trimmed = path.strip_suffix('/').filter(|path| !path.is_empty()).unwrap_or(path);
    if trimmed == own.strip_suffix('/').filter(|path| !path.is_empty()).unwrap_or(own) {
        return Some(Target::Endpoint);
    }
    match trimmed {
        "/sse" if config.legacy_sse => Some(Target::OldStream),
        "/messages" if config.legacy_sse => Some(Target::OldMessages),
        _ => None,
    }
}

/// What `Accept` takes (RFC 9110, 12.5.1); a missing one takes everything. None: neither of what we have.
fn accepted(head: &Head<'_>) -> Option<Form> {
    let Some(ranges) = head.list("accept") else { return Some(Form::Either) };
    // The most specific range decides.
    let takes = |kind: &str, subtype: &str| {
        let mut best: Option<(usize, bool)> = None;
        for range in ranges.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let name = parts.next().unwrap_or_default().to_ascii_lowercase();
            let weight = parts.find_map(|part| {
                part.split_once('=')
                    .filter(|(key, _)| key.trim().eq_ignore_ascii_case("q"))
                    .map(|(_, weight)| weight.trim())
            });
            let wanted = weight.is_none_or(|weight| weight.parse::<f32>().is_ok_and(|weight| weight > 0.0));
            let rank = if name == format!("{kind}/{subtype}") {
                3
            } else if name == format!("{kind}/*") {
                2
            } else if name == "*/*" {
                1
            } else {
                continue;
            };
            if best.is_none_or(|(before, _)| rank > before) {
                best = Some((rank, wanted));
            }
        }
        best.is_some_and(|(_, wanted)| wanted)
    };
    match (takes("application", "json"), takes("text", "event-stream")) {
        (true, true) => Some(Form::Either),
        (true, false) => Some(Form::Json),
        (false, true) => Some(Form::Stream),
        (false, false) => None,
    }
}

fn check_body(config: &HttpConfig, head: &Head<'_>) -> Result<(), Response> {
    let wrong = || Response::refusal(415, "Unsupported Media Type: Content-Type must be application/json in UTF-8");
    let Field::One(content_type) = head.field("content-type") else { return Err(wrong()) };
    let mut parts = content_type.split(';').map(str::trim);
    if !parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/json")) {
        return Err(wrong());
    }
    for parameter in parts {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let value = value.trim().trim_matches('"');
        if name.trim().eq_ignore_ascii_case("charset")
            && !["utf-8", "utf8", "us-ascii"].iter().any(|charset| value.eq_ignore_ascii_case(charset))
        {
            return Err(wrong());
        }
    }
    match head.field("content-encoding") {
        Field::Absent => {}
        Field::One(coding) if coding.is_empty() || coding.eq_ignore_ascii_case("identity") => {}
        _ => {
            let response = Response::refusal(415, "Unsupported Media Type: bodies must not be compressed");
            return Err(response.with("accept-encoding", "identity"));
        }
    }
    if let Field::One(length) = head.field("content-length")
        && length.parse::<u64>().is_ok_and(|length| length > config.max_body_bytes as u64)
    {
        let limit = config.max_body_bytes;
        return Err(Response::refusal(413, &format!("Content Too Large: more than {limit} bytes")));
    }
    Ok(())
}
