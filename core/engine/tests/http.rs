//! Streamable HTTP on the engine, under a virtual clock: sessions, streams that come again, silence, slow readers, the end.

use ferromcp_engine::http::{Head, Http, HttpConfig, HttpCounts, Part, Response};
use ferromcp_engine::{Call, Event, ListKind, Output, Reply, RequestKey, Server, ServerConfig};
use std::collections::VecDeque;

const MODERN: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const CALL: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work","_meta":{"progressToken":"p"}}}"#;

type Id = ferromcp_engine::http::ExchangeId;

struct Peer {
    server: Server,
    http: Http,
    now: u64,
    calls: VecDeque<Call>,
    cancelled: Vec<RequestKey>,
}

impl Peer {
    fn new(config: HttpConfig) -> Self {
        let mut declared = ServerConfig::new("test", "1");
        declared.capabilities.declare("logging", "{}");
        let mut server = Server::new(declared).expect("fine");
        server.add_tool(r#"{"name":"work","inputSchema":{"type":"object"}}"#, 1, 0).expect("fine");
        server.add_resource(r#"{"name":"r","uri":"test://r"}"#, 2, 0).expect("fine");
        let mut next = 0;
        server.set_entropy(move |bytes: &mut [u8]| {
            next += 1;
            bytes.fill(next);
        });
        let http = Http::new(config, Some("127.0.0.1")).expect("fine");
        Self { server, http, now: 0, calls: VecDeque::new(), cancelled: Vec::new() }
    }

    fn drain(&mut self) {
        while let Some(output) = self.server.poll_output() {
            match output {
                Output::Transmit { stream, lane, sent, bytes } => {
                    self.http.take(&mut self.server, stream, lane, sent, bytes, self.now);
                }
                Output::Unanswered { stream, lane } => {
                    self.http.take_unanswered(&mut self.server, stream, lane, self.now);
                }
                Output::Event(Event::Call(call)) => self.calls.push_back(call),
                Output::Event(Event::Cancelled { key, .. }) => self.cancelled.push(key),
                Output::Event(_) => {}
            }
        }
    }

    fn begin(
        &mut self,
        method: &str,
        headers: &[(&str, &str)],
        principal: Option<&str>,
        body: &str,
    ) -> Result<Id, Response> {
        let mut headers = headers.to_vec();
        headers.push(("Host", "localhost"));
        if method == "POST" {
            headers.push(("Content-Type", "application/json"));
        }
        let head = Head { method, path: "/mcp", query: None, authority: None, headers: &headers, principal };
        let admission = self.http.admit(&head)?;
        let id = self.http.serve(&mut self.server, &head, &admission, body.as_bytes(), self.now);
        self.drain();
        Ok(id)
    }

    fn post(&mut self, headers: &[(&str, &str)], body: &str) -> Id {
        self.begin("POST", headers, None, body).expect("it is admitted")
    }

    /// The whole response, which must be there.
    fn response(&mut self, id: Id) -> Response {
        match self.http.poll(id) {
            Some(Part::Response(response)) => response,
            other => panic!("{other:?}"),
        }
    }

    fn status(&mut self, method: &str, headers: &[(&str, &str)], body: &str) -> u16 {
        match self.begin(method, headers, None, body) {
            Ok(id) => self.response(id).status,
            Err(response) => response.status,
        }
    }

    /// What a stream has sent since, and whether it is over.
    fn events(&mut self, id: Id) -> (String, bool) {
        let mut all = String::new();
        loop {
            match self.http.poll(id) {
                Some(Part::Data(bytes)) => all.push_str(&String::from_utf8(bytes).expect("text")),
                Some(Part::End) => return (all, true),
                Some(Part::Response(response)) => panic!("{response:?}"),
                None => return (all, false),
            }
        }
    }

    /// A session past the handshake.
    fn session(&mut self) -> String {
        let id = self.post(&[], INITIALIZE);
        let response = self.response(id);
        let session = header(&response, "mcp-session-id").expect("a session").to_owned();
        assert_eq!(self.status("POST", &[("Mcp-Session-Id", &session)], INITIALIZED), 202);
        session
    }

    fn progress(&mut self, progress: f64) {
        let key = self.calls[0].key;
        self.server.progress(key, progress, None, None, self.now).expect("fine");
        self.drain();
    }

    fn answer(&mut self, text: &str) {
        let call = self.calls.pop_front().expect("a call");
        let reply = Reply::Text { text, is_error: false };
        self.server.respond(call.key, reply, self.now).expect("fine");
        self.drain();
    }

    fn advance(&mut self, ms: u64) {
        self.now += ms;
        self.server.handle_timeout(self.now);
        self.drain();
        self.http.handle_timeout(&mut self.server, self.now);
        self.drain();
    }

    fn gone(&mut self, id: Id) {
        self.http.gone(&mut self.server, id, self.now);
        self.drain();
    }
}

fn header<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    response.headers.iter().find(|(key, _)| *key == name).map(|(_, value)| &**value)
}

fn body(response: &Response) -> &str {
    std::str::from_utf8(response.body.as_deref().expect("a whole body")).expect("text")
}

fn modern(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{MODERN}{params}}}}}"#)
}

const MODERN_CALL: [(&str, &str); 3] =
    [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "work")];
const LISTEN: [(&str, &str); 2] = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "subscriptions/listen")];

const NOTHING: HttpCounts = HttpCounts { sessions: 0, exchanges: 0 };

#[test]
fn a_stream_that_was_lost_is_opened_again() {
    let mut peer = Peer::new(HttpConfig::default());
    let session = peer.session();
    let own = [("Mcp-Session-Id", session.as_str())];
    let id = peer.post(&own, CALL);
    peer.progress(1.0);
    assert_eq!(header(&peer.response(id), "content-type"), Some("text/event-stream"));
    // 2025-11-25 `basic/transports`: an empty event with an id comes first.
    let (events, over) = peer.events(id);
    assert!(events.starts_with("id: 3-0\nretry: 1000\ndata:\n\nid: 3-1\ndata: {"), "{events}");
    assert!(!over);
    // The connection is lost, which cancels nothing, and the call goes on.
    peer.gone(id);
    assert!(peer.cancelled.is_empty());
    peer.progress(2.0);
    peer.answer("done");
    for (last, expected) in [("3-0", 3), ("3-1", 2), ("3-3", 0)] {
        let again = peer.begin("GET", &[own[0], ("Last-Event-ID", last)], None, "").expect("it is admitted");
        assert_eq!(peer.response(again).status, 200);
        let (events, over) = peer.events(again);
        assert_eq!((events.matches("\ndata: {").count(), over), (expected, true), "{events}");
    }
    for unknown in ["3-4", "9-0", "x", ""] {
        assert_eq!(peer.status("GET", &[own[0], ("Last-Event-ID", unknown)], ""), 400, "{unknown}");
    }
}

#[test]
fn a_server_may_end_the_connection_and_not_the_stream() {
    let mut peer = Peer::new(HttpConfig::default());
    let session = peer.session();
    let own = [("Mcp-Session-Id", session.as_str())];
    let id = peer.post(&own, CALL);
    let key = peer.calls[0].key;
    assert!(peer.http.close_sse_stream(&peer.server, key, peer.now));
    assert_eq!(header(&peer.response(id), "content-type"), Some("text/event-stream"));
    assert_eq!(peer.events(id), ("id: 3-0\nretry: 1000\ndata:\n\n".into(), true));
    peer.answer("done");
    let again = peer.begin("GET", &[own[0], ("Last-Event-ID", "3-0")], None, "").expect("it is admitted");
    peer.response(again);
    let (events, over) = peer.events(again);
    assert!(events.starts_with("id: 3-1\ndata: {") && events.contains("done") && over, "{events}");
    // The answer may come before the carrier has fetched the end of the connection.
    let id = peer.post(&own, CALL);
    let key = peer.calls[0].key;
    assert!(peer.http.close_sse_stream(&peer.server, key, peer.now));
    assert!(!peer.http.close_sse_stream(&peer.server, key, peer.now));
    peer.answer("soon");
    peer.response(id);
    assert_eq!(peer.events(id), ("id: 4-0\nretry: 1000\ndata:\n\n".into(), true));
    let again = peer.begin("GET", &[own[0], ("Last-Event-ID", "4-0")], None, "").expect("it is admitted");
    peer.response(again);
    let (events, over) = peer.events(again);
    assert!(events.contains("soon") && over, "{events}");
    // A modern stream ends its request with it, so it is left alone.
    peer.post(&MODERN_CALL, &modern("tools/call", r#","name":"work""#));
    let key = peer.calls[0].key;
    assert!(!peer.http.close_sse_stream(&peer.server, key, peer.now));
}

// requirement: http-session-id-unguessable
#[test]
fn a_session_id_is_random_from_end_to_end() {
    let mut peer = Peer::new(HttpConfig::default());
    let (first, second) = (peer.session(), peer.session());
    assert_ne!(first, second);
    for id in [first, second] {
        // The source gives equal bytes here, and other ones each time: 192 bits of one draw, and nothing else.
        assert_eq!(id.len(), 32);
        assert!(id.as_bytes().chunks(4).all(|group| group == &id.as_bytes()[..4]), "{id}");
    }
}

#[test]
fn clients_before_2025_11_25_get_no_empty_events() {
    for (version, expected) in
        [("2025-06-18", "id: 3-0\nretry: 1000\n\n"), ("2025-11-25", "id: 3-0\nretry: 1000\ndata:\n\n")]
    {
        let mut peer = Peer::new(HttpConfig::default());
        let id = peer.post(&[], &INITIALIZE.replace("2025-11-25", version));
        let response = peer.response(id);
        let session = header(&response, "mcp-session-id").expect("a session").to_owned();
        let own = [("Mcp-Session-Id", session.as_str())];
        assert_eq!(peer.status("POST", &own, INITIALIZED), 202);
        let id = peer.post(&own, CALL);
        peer.progress(1.0);
        peer.response(id);
        assert!(peer.events(id).0.starts_with(expected), "{version}");
    }
}

#[test]
fn a_session_is_for_its_own_client() {
    let mut peer = Peer::new(HttpConfig::default());
    let id = peer.begin("POST", &[], Some("anna"), INITIALIZE).expect("it is admitted");
    let response = peer.response(id);
    let session = header(&response, "mcp-session-id").expect("a session").to_owned();
    let own = [("Mcp-Session-Id", session.as_str())];
    for (principal, status) in [(Some("anna"), 202), (Some("bert"), 404), (None, 404)] {
        let id = peer.begin("POST", &own, principal, INITIALIZED).expect("it is admitted");
        assert_eq!(peer.response(id).status, status, "{principal:?}");
    }
}

#[test]
fn who_is_not_known_is_shown_no_list_of_tasks() {
    let mut peer = Peer::new(HttpConfig::default());
    let tool = r#"{"name":"long","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}"#;
    peer.server.add_tool(tool, 3, 0).expect("fine");
    for (principal, listed) in [(None, false), (Some("anna"), true)] {
        let id = peer.begin("POST", &[], principal, INITIALIZE).expect("it is admitted");
        let response = peer.response(id);
        let told = body(&response);
        assert!(told.contains(r#""tasks":{"#), "{told}");
        // 2025-11-25 `basic/utilities/tasks`, "Task Isolation and Access Control": SHOULD NOT.
        assert_eq!(told.contains(r#""list":{}"#), listed, "{told}");
    }
}

#[test]
fn sessions_end_by_silence_and_by_age() {
    let config = HttpConfig { session_idle_ms: 100, session_max_ms: 1_000, ..HttpConfig::default() };
    let mut peer = Peer::new(config);
    let (used, idle) = (peer.session(), peer.session());
    for _ in 0..9 {
        peer.advance(99);
        assert_eq!(peer.status("POST", &[("Mcp-Session-Id", &used)], INITIALIZED), 202);
    }
    assert_eq!(peer.status("POST", &[("Mcp-Session-Id", &idle)], INITIALIZED), 404);
    peer.advance(109);
    assert_eq!(peer.status("POST", &[("Mcp-Session-Id", &used)], INITIALIZED), 404);
    assert_eq!(peer.http.counts(), NOTHING);
}

#[test]
fn what_is_over_or_refused_leaves_nothing() {
    let mut peer = Peer::new(HttpConfig::default());
    for _ in 0..100 {
        assert_eq!(peer.status("GET", &[], ""), 400);
        assert_eq!(peer.status("POST", &[], CALL), 400);
        assert_eq!(peer.status("POST", &[], &INITIALIZE.replace("2025-11-25\",\"cap", "2025-11-25\",\"x")), 200);
        let session = peer.session();
        assert_eq!(peer.status("DELETE", &[("Mcp-Session-Id", &session)], ""), 204);
        let id = peer.post(&MODERN_CALL, &modern("tools/call", r#","name":"work""#));
        peer.answer("done");
        assert_eq!(peer.response(id).status, 200);
        let id = peer.post(&MODERN_CALL, &modern("tools/call", r#","name":"work""#));
        peer.gone(id);
        peer.calls.clear();
    }
    assert_eq!(peer.cancelled.len(), 100);
    assert_eq!(peer.http.counts(), NOTHING);
    assert_eq!(peer.http.poll_timeout().filter(|due| *due < 1_000_000), None);
}

#[test]
fn silence_is_filled_with_comments() {
    let mut peer = Peer::new(HttpConfig { keep_alive_ms: 1_000, ..HttpConfig::default() });
    let id = peer.post(&MODERN_CALL, &modern("tools/call", r#","name":"work""#));
    peer.advance(999);
    assert_eq!(peer.http.poll(id), None);
    peer.advance(1);
    assert_eq!(header(&peer.response(id), "content-type"), Some("text/event-stream"));
    assert_eq!(peer.events(id), (":\n\n".into(), false));
    peer.advance(1_000);
    assert_eq!(peer.events(id), (":\n\n".into(), false));
    peer.answer("done");
    let (events, over) = peer.events(id);
    assert!(events.starts_with("data: {") && over);
    assert_eq!(peer.http.poll_timeout(), None);
}

#[test]
fn who_does_not_read_changes_has_to_ask_anew() {
    let mut peer = Peer::new(HttpConfig { max_backlog_bytes: 10_000, ..HttpConfig::default() });
    let params = r#","notifications":{"toolsListChanged":true}"#;
    let (slow, quick) = (peer.post(&LISTEN, &modern("subscriptions/listen", params)), {
        let body = modern("subscriptions/listen", params);
        peer.post(&LISTEN, &body)
    });
    peer.response(slow);
    peer.response(quick);
    for _ in 0..1_000 {
        peer.server.notify_changed(ListKind::Tools, peer.now);
        peer.advance(10);
        peer.events(quick);
    }
    assert!(peer.http.is_over(slow) && !peer.http.is_over(quick));
    assert_eq!(peer.http.counts().exchanges, 1);
}

#[test]
fn who_does_not_read_progress_gets_the_answer() {
    let mut peer = Peer::new(HttpConfig { max_backlog_bytes: 10_000, ..HttpConfig::default() });
    let body = modern("tools/call", r#","name":"work""#).replace("_meta\":{", "_meta\":{\"progressToken\":1,");
    let id = peer.post(&MODERN_CALL, &body);
    for step in 1..2_000 {
        peer.progress(f64::from(step));
    }
    peer.answer("done");
    peer.response(id);
    let (events, over) = peer.events(id);
    assert!(over && events.len() < 20_000 && events.ends_with("\n\n"), "{}", events.len());
    assert!(events.contains(r#""text":"done""#));
}

#[test]
fn a_cancelled_request_of_a_session_ends_without_an_answer() {
    let mut peer = Peer::new(HttpConfig::default());
    let session = peer.session();
    let own = [("Mcp-Session-Id", session.as_str())];
    let id = peer.post(&own, CALL);
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    assert_eq!(peer.status("POST", &own, cancel), 202);
    assert_eq!(peer.cancelled.len(), 1);
    assert_eq!(peer.response(id).status, 200);
    assert_eq!(peer.events(id), (String::new(), true));
}

#[test]
fn changes_go_to_one_stream_of_a_session() {
    let mut peer = Peer::new(HttpConfig::default());
    let session = peer.session();
    let get = [("Mcp-Session-Id", session.as_str()), ("Accept", "text/event-stream")];
    let first = peer.begin("GET", &get, None, "").expect("it is admitted");
    let second = peer.begin("GET", &get, None, "").expect("it is admitted");
    for id in [first, second] {
        peer.response(id);
        peer.events(id);
    }
    peer.server.notify_changed(ListKind::Tools, peer.now);
    peer.advance(10);
    let told = |events: (String, bool)| events.0.matches("list_changed").count();
    assert_eq!((told(peer.events(first)), told(peer.events(second))), (0, 1));
    peer.gone(second);
    peer.server.notify_changed(ListKind::Tools, peer.now);
    peer.advance(10);
    assert_eq!(told(peer.events(first)), 1);
}

#[test]
fn without_sessions_each_legacy_request_stands_for_itself() {
    let mut peer = Peer::new(HttpConfig { sessions: false, ..HttpConfig::default() });
    let id = peer.post(&[], INITIALIZE);
    let response = peer.response(id);
    assert_eq!((response.status, header(&response, "mcp-session-id")), (200, None));
    assert_eq!(peer.status("POST", &[], INITIALIZED), 202);
    let id = peer.post(&[("MCP-Protocol-Version", "2025-06-18")], CALL);
    peer.answer("done");
    assert!(body(&peer.response(id)).contains("done"));
    for method in ["GET", "DELETE"] {
        assert_eq!(peer.status(method, &[("Mcp-Session-Id", "x")], ""), 405);
    }
    assert_eq!(peer.status("POST", &[("MCP-Protocol-Version", "1999-01-01"), ("Mcp-Session-Id", "x")], CALL), 400);
    assert_eq!(peer.http.counts(), NOTHING);
}

#[test]
fn requests_that_stand_for_themselves_leave_nothing() {
    let mut peer = Peer::new(HttpConfig { sessions: false, ..HttpConfig::default() });
    let batch = format!("[{INITIALIZED}]");
    let own = [("MCP-Protocol-Version", "2025-06-18")];
    // 2025-03-26 has batches, which is what a client without the header is taken for; later revisions have none.
    assert_eq!(peer.status("POST", &[], &batch), 202);
    assert_eq!(peer.status("POST", &own, &batch), 400);
    assert_eq!(peer.status("POST", &own, INITIALIZED), 202);
    assert_eq!(peer.http.counts(), NOTHING);
    assert!(peer.server.legacy_streams().is_empty());
}

#[test]
fn one_json_object_holds_nothing_but_the_answer() {
    let mut peer = Peer::new(HttpConfig { json_response: true, ..HttpConfig::default() });
    let session = peer.session();
    let id = peer.post(&[("Mcp-Session-Id", &session)], CALL);
    peer.progress(1.0);
    let key = peer.calls[0].key;
    let stream = peer.calls[0].stream;
    // No way leads to the client: an error at once, and no hang.
    let asked = peer.server.request(stream, Some(key), "elicitation/create", Some("{}"), None, 0);
    assert_eq!(asked, Err(ferromcp_engine::LocalError::NoBackChannel));
    peer.answer("done");
    let response = peer.response(id);
    assert_eq!(header(&response, "content-type"), Some("application/json"));
    assert!(body(&response).contains("done"));
}

#[test]
fn the_old_transport_has_two_endpoints() {
    let mut peer = Peer::new(HttpConfig { legacy_sse: true, ..HttpConfig::default() });
    let send = |peer: &mut Peer, method: &str, path: &str, query: Option<&str>, body: &str| {
        let headers = vec![("Host", "localhost"), ("Content-Type", "application/json")];
        let head = Head { method, path, query, authority: None, headers: &headers, principal: None };
        let admission = peer.http.admit(&head).expect("it is admitted");
        let id = peer.http.serve(&mut peer.server, &head, &admission, body.as_bytes(), peer.now);
        peer.drain();
        id
    };
    let stream = send(&mut peer, "GET", "/sse", None, "");
    peer.response(stream);
    let (events, _) = peer.events(stream);
    let endpoint = events.strip_prefix("event: endpoint\ndata: ").expect("an endpoint").trim_end();
    let (path, query) = endpoint.split_once('?').expect("a session");
    let initialize = INITIALIZE.replace("2025-11-25", "2024-11-05");
    let id = send(&mut peer, "POST", path, Some(query), &initialize);
    assert_eq!(peer.response(id).status, 202);
    let (events, over) = peer.events(stream);
    assert!(events.starts_with("event: message\ndata: {") && events.contains("2024-11-05") && !over, "{events}");
    let id = send(&mut peer, "POST", path, Some("sessionId=other"), INITIALIZED);
    assert_eq!(peer.response(id).status, 404);
    peer.gone(stream);
    let id = send(&mut peer, "POST", path, Some(query), INITIALIZED);
    assert_eq!(peer.response(id).status, 404);
}
