//! The HTTP listener: both eras on one endpoint, streams, the end.

#[path = "common/http_client.rs"]
mod http_client;

use ferromcp::engine::http::HttpConfig;
use ferromcp::http::HttpOptions;
use ferromcp::{Server, Serving, ToolOutput};
use http_client::{Answer, LONG, MODERN, send};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn modern(server: &Serving, method: &str, name: Option<&str>, params: &str) -> Answer {
    let params = if params.is_empty() { format!("{{{MODERN}}}") } else { format!("{{{MODERN},{params}}}") };
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    let mut headers = vec![("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
    headers.extend(name.map(|name| ("Mcp-Name", name)));
    send(server, "POST", &headers, &body)
}

fn start(server: Server, config: HttpConfig) -> Serving {
    let options = HttpOptions { port: 0, announce: false, config, ..HttpOptions::default() };
    server.start_http(options).expect("it starts")
}

fn server() -> Server {
    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}}).to_string();
    Server::new("test", "1")
        .tool(tool("add"), |call| {
            let arguments: Value = call.arguments()?;
            let sum = arguments["a"].as_i64().unwrap_or(0) + arguments["b"].as_i64().unwrap_or(0);
            Ok(ToolOutput::text(sum.to_string()))
        })
        .tool(tool("steps"), |call| {
            let _ = call.report_progress(1.0, Some(2.0), None);
            std::thread::sleep(Duration::from_millis(20));
            let _ = call.report_progress(2.0, Some(2.0), None);
            Ok(ToolOutput::text("done"))
        })
}

#[test]
fn a_modern_call_is_one_json_object() {
    let server = start(server(), HttpConfig::default());
    let mut answer = modern(&server, "tools/call", Some("add"), r#""name":"add","arguments":{"a":2,"b":3}"#);
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    assert_eq!(answer.json()["result"]["content"][0]["text"], "5");
    let mut answer = modern(&server, "no/such", None, "");
    assert_eq!((answer.status, answer.json()["error"]["code"].as_i64()), (404, Some(-32601)));
    let mut answer = modern(&server, "tools/call", Some("other"), r#""name":"add""#);
    assert_eq!((answer.status, answer.json()["error"]["code"].as_i64()), (400, Some(-32020)));
}

#[test]
fn what_comes_before_the_answer_makes_it_a_stream() {
    let server = start(server(), HttpConfig::default());
    let params = r#""name":"steps","arguments":{}"#;
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{{},{params}}}}}"#,
        MODERN.replace("\"_meta\":{", "\"_meta\":{\"progressToken\":7,")
    );
    let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "steps")];
    let mut answer = send(&server, "POST", &headers, &body);
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/event-stream")));
    assert_eq!(answer.header("x-accel-buffering"), Some("no"));
    let text = answer.rest();
    let messages: Vec<Value> = text
        .split("\n\n")
        .filter_map(|event| event.strip_prefix("data: "))
        .map(|message| serde_json::from_str(message).expect("JSON"))
        .collect();
    assert_eq!(messages.len(), 3, "{text}");
    assert_eq!(messages[1]["params"]["progress"], 2);
    assert_eq!(messages[2]["result"]["content"][0]["text"], "done");
}

/// The id of a new session.
fn open_session(server: &Serving) -> String {
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let mut answer = send(server, "POST", &[], &initialize.to_string());
    assert_eq!(answer.json()["result"]["protocolVersion"], "2025-11-25");
    answer.header("mcp-session-id").expect("a session").to_owned()
}

#[test]
fn a_session_lives_until_it_is_deleted() {
    let server = start(server(), HttpConfig::default());
    let session = open_session(&server);
    assert!(session.bytes().all(|byte| (0x21..=0x7e).contains(&byte)));
    let own = [("Mcp-Session-Id", session.as_str()), ("MCP-Protocol-Version", "2025-11-25")];
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let mut answer = send(&server, "POST", &own, initialized);
    assert_eq!((answer.status, answer.body().as_str()), (202, ""));
    let call = r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":1}}}"#;
    assert_eq!(send(&server, "POST", &own, call).json()["result"]["content"][0]["text"], "2");
    assert_eq!(send(&server, "POST", &[], call).status, 400);
    assert_eq!(send(&server, "POST", &[("Mcp-Session-Id", "other")], call).status, 404);
    let mut stream = send(&server, "GET", &[own[0], ("Accept", "text/event-stream")], "");
    assert_eq!((stream.status, stream.header("content-type")), (200, Some("text/event-stream")));
    stream.until("retry:");
    assert_eq!(send(&server, "DELETE", &own[..1], "").status, 204);
    assert_eq!(stream.rest(), "");
    assert_eq!(send(&server, "POST", &own, call).status, 404);
}

/// 2025-11-25 `basic/transports`, "Sending Messages to the Server": the server may end the connection before the answer, and the
/// client comes back for it.
#[test]
fn a_call_may_cut_its_client_off_and_answer_later() {
    let (go_on, told) = std::sync::mpsc::channel();
    let told = std::sync::Mutex::new(told);
    let cut = r#"{"name":"cut","inputSchema":{"type":"object"}}"#;
    let server = Server::new("test", "1").tool(cut, move |call| {
        if !call.close_sse_stream() {
            return Ok(ToolOutput::text("nothing to close"));
        }
        told.lock().expect("no handler panics").recv_timeout(LONG)?;
        Ok(ToolOutput::text("later"))
    });
    let server = start(server, HttpConfig::default());
    let answer = modern(&server, "tools/call", Some("cut"), r#""name":"cut""#).json();
    assert_eq!(answer["result"]["content"][0]["text"], "nothing to close");

    let session = open_session(&server);
    let own = [("Mcp-Session-Id", session.as_str()), ("MCP-Protocol-Version", "2025-11-25")];
    let call = r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"cut"}}"#;
    let begun = send(&server, "POST", &own, call).rest();
    assert!(begun.contains("retry:") && !begun.contains("result"), "{begun}");
    let last = begun.lines().find_map(|line| line.strip_prefix("id: ")).expect("an event to come back for");
    let back = [own[0], own[1], ("Accept", "text/event-stream"), ("Last-Event-ID", last)];
    let mut stream = send(&server, "GET", &back, "");
    go_on.send(()).expect("the call waits");
    assert!(stream.rest().contains("later"));
}

#[test]
fn a_vanished_client_cancels_a_modern_call() {
    let cancelled = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&cancelled);
    let tool = json!({"name": "wait", "inputSchema": {"type": "object"}}).to_string();
    let server = Server::new("test", "1").tool(tool, move |call| {
        let until = Instant::now() + LONG;
        while !call.is_cancelled() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        seen.store(call.is_cancelled(), Ordering::SeqCst);
        Ok(ToolOutput::text("late"))
    });
    let server = start(server, HttpConfig { keep_alive_ms: 10, ..HttpConfig::default() });
    let mut answer = modern(&server, "tools/call", Some("wait"), r#""name":"wait","arguments":{}"#);
    // It is a stream by now, since nothing was said for a while.
    answer.until(":\n\n");
    drop(answer);
    let until = Instant::now() + LONG;
    while !cancelled.load(Ordering::SeqCst) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(cancelled.load(Ordering::SeqCst));
}

#[test]
fn a_subscription_is_acknowledged_and_ends_with_the_server() {
    let server = start(server(), HttpConfig::default());
    let mut stream = modern(&server, "subscriptions/listen", None, r#""notifications":{"toolsListChanged":true}"#);
    assert_eq!(stream.header("content-type"), Some("text/event-stream"));
    stream.until("notifications/subscriptions/acknowledged");
    server.endpoint().notify_changed(ferromcp::engine::ListKind::Tools).expect("it serves");
    stream.until("notifications/tools/list_changed");
    let began = Instant::now();
    let ender = std::thread::spawn(move || server.stop());
    let rest = stream.rest();
    assert!(rest.contains(r#""resultType":"complete""#), "{rest}");
    ender.join().expect("no panic").expect("it ends");
    assert!(began.elapsed() < Duration::from_secs(3));
}

#[test]
fn tls_is_spoken_with_a_certificate() {
    use std::io::{Read, Write};
    use std::sync::Arc;
    use tokio_rustls::rustls::pki_types::ServerName;
    use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, Stream, crypto::ring};

    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
    let folder = tempfile::tempdir().expect("a folder");
    let (cert, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    std::fs::write(&cert, made.cert.pem()).expect("it is written");
    std::fs::write(&key, made.signing_key.serialize_pem()).expect("it is written");
    let text = |path: &std::path::Path| Some(path.to_string_lossy().into_owned());
    let options = |cert, key| HttpOptions {
        port: 0,
        announce: false,
        tls_cert_file: cert,
        tls_key_file: key,
        ..HttpOptions::default()
    };
    // Half of it, or a file that is none, is told before anything is listened on.
    for (cert, key) in [(text(&cert), None), (text(&cert), text(&cert)), (text(folder.path()), text(&key))] {
        assert!(matches!(server().start_http(options(cert, key)), Err(ferromcp::Error::Engine(_))));
    }
    let server = server().start_http(options(text(&cert), text(&key))).expect("it starts");

    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).expect("a root");
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").expect("a name");
    let mut connection = ClientConnection::new(Arc::new(config), name).expect("a connection");
    let mut socket = std::net::TcpStream::connect(server.local_addr().expect("it listens")).expect("it accepts");
    let mut stream = Stream::new(&mut connection, &mut socket);
    let body = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).expect("it reads");
    stream.write_all(body.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("mcp-session-id"), "{answer}");
}
