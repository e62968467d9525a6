//! The cost of one `tools/call` in the engine, for counting instructions.
//!
//! `instructions small 1000` serves 1,000 calls with a 16-byte argument, `large` with 100 KB. Run under
//! `valgrind --tool=callgrind` with two counts, the difference is the calls alone: `tools/instructions.py` does that.

use ferromcp_engine::{Event, Output, Reply, Server, ServerConfig};

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let size = match arguments.next().as_deref() {
        Some("large") => 100_000,
        _ => 16,
    };
    let count: usize = arguments.next().and_then(|count| count.parse().ok()).unwrap_or(10);

    let mut server = Server::new(ServerConfig::new("bench", "1")).expect("a valid configuration");
    let tool = r#"{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}"#;
    server.add_tool(tool, 1, 0).expect("a valid definition");
    let peer = server.open(0);
    let text = "x".repeat(size);
    let content = format!(r#"[{{"type":"text","text":"{text}"}}]"#);
    // Made once, so that only the engine's own work is counted; each call is over before its id comes again.
    let request = format!(
        r#"{{"jsonrpc":"2.0","id":100,"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"{text}"}},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{{"name":"bench","version":"1"}},"io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    );
    let mut sent = 0;
    for _ in 0..count {
        server.receive(peer, request.as_bytes(), 0).expect("an open stream");
        server.receive(peer, b"\n", 0).expect("an open stream");
        while let Some(output) = server.poll_output() {
            match output {
                Output::Unanswered { .. } => {}
                Output::Transmit { bytes, .. } => {
                    sent += bytes.len();
                    server.recycle(bytes);
                }
                Output::Event(Event::Call(call)) => {
                    let reply = Reply::Tool { content: &content, structured: None, is_error: false, meta: None };
                    server.respond(call.key, reply, 0).expect("a valid answer");
                }
                Output::Event(_) => {}
            }
        }
    }
    assert!(sent > count * size, "every call was answered");
}
