//! What a server is told about HTTP before it starts.

use serde::Deserialize;

/// How an MCP endpoint is served over HTTP. JSON with the same names in camel case is read from every language.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct HttpConfig {
    /// The path of the MCP endpoint. None: every path, for a carrier that has chosen one already.
    pub path: Option<String>,
    /// Names and addresses, without a port, that `Host` may have besides the local ones and the one that is listened on.
    /// `*` allows every one: for a server behind something that looks at them.
    pub allowed_hosts: Vec<String>,
    /// Origins (`https://app.example`) of web pages that may use the server, besides pages of the allowed hosts. `*` allows
    /// every one.
    pub allowed_origins: Vec<String>,
    /// Whether legacy clients get sessions (2025-11-25 `basic/transports`, "Session Management"). Without them each of their
    /// requests stands for itself, and the server can't ask or tell them anything outside of an answer.
    pub sessions: bool,
    /// Milliseconds after which a session that nobody uses is over. 1,800,000: a person's pause.
    pub session_idle_ms: u64,
    /// Milliseconds after which a session is over in any case. 86,400,000: a day.
    pub session_max_ms: u64,
    /// Sessions at once; who asks for one more is told to come later (503). 10,000: at some kilobytes each.
    pub max_sessions: usize,
    /// Milliseconds of silence after which a stream gets a comment, and a call that has not been answered becomes a stream.
    /// 15,000: proxies cut at 60 seconds or 30.
    pub keep_alive_ms: u64,
    /// Whether a client has to accept both content types, as the specification wants of it (406). Off: its other requests
    /// show what it takes, and a missing header takes both.
    pub strict_accept: bool,
    /// Bytes of one request's body (413). 4 MiB: what a server in the open takes from anybody.
    pub max_body_bytes: usize,
    /// Whether every request but `subscriptions/listen` is answered as one JSON object. Then nothing but the answer gets to a
    /// client: no progress, no logs, no questions of a legacy session outside of its GET stream.
    pub json_response: bool,
    /// Whether the endpoints of 2024-11-05 are there as well: a stream at `GET /sse`, messages to `POST /messages`.
    pub legacy_sse: bool,
    /// Milliseconds that a legacy client is told to wait before it opens a stream again. 1,000.
    pub retry_ms: u64,
    /// Messages of one session that are kept for streams that come again. 1,000.
    pub max_events: usize,
    /// Bytes of them. 1 MiB.
    pub max_event_bytes: usize,
    /// Bytes that wait for a client which does not read. Past it a call's progress and logs are left out, and a stream of
    /// changes is ended. 1 MiB.
    pub max_backlog_bytes: usize,
    /// Where processes that serve together meet (`redis://HOST:PORT/DATABASE`), so that each can serve every client. None: this
    /// process serves alone. It is the carrier that meets the others; here it is only kept.
    pub cluster: Option<ClusterUrl>,
    /// Processes with the same name here serve together, where several such groups meet in one place. "ferromcp".
    pub cluster_name: String,
}

/// Where processes that serve together meet. It may hold a password, which is not shown.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct ClusterUrl(pub String);

impl std::fmt::Debug for ClusterUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}...", self.0.split(':').next().unwrap_or_default())
    }
}

impl<T: Into<String>> From<T> for ClusterUrl {
    fn from(url: T) -> Self {
        Self(url.into())
    }
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            path: Some("/mcp".into()),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            sessions: true,
            session_idle_ms: 1_800_000,
            session_max_ms: 86_400_000,
            max_sessions: 10_000,
            keep_alive_ms: 15_000,
            strict_accept: false,
            max_body_bytes: 4 << 20,
            json_response: false,
            legacy_sse: false,
            retry_ms: 1_000,
            max_events: 1_000,
            max_event_bytes: 1 << 20,
            max_backlog_bytes: 1 << 20,
            cluster: None,
            cluster_name: "ferromcp".into(),
        }
    }
}
