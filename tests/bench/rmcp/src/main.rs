//! Echo and addition on rmcp, written as its own examples write them: on standard input and output, or with a port as
//! argument over HTTP.

use axum::serve::ListenerExt;
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResult, ContentBlock};
use rmcp::transport::stdio;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, ServerHandler, ServiceExt, schemars, tool, tool_handler, tool_router};

#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Text {
    text: String,
}

#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Sum {
    a: i64,
    b: i64,
}

#[derive(Clone)]
struct Peer {
    tool_router: ToolRouter<Peer>,
}

#[tool_router]
impl Peer {
    fn new() -> Self {
        Self { tool_router: Self::tool_router() }
    }

    #[tool(description = "Give the text back")]
    async fn echo(&self, Parameters(Text { text }): Parameters<Text>) -> Result<CallToolResult, ErrorData> {
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]))
    }

    #[tool(description = "Add two integers")]
    async fn add(&self, Parameters(Sum { a, b }): Parameters<Sum>) -> Result<CallToolResult, ErrorData> {
        Ok(CallToolResult::success(vec![ContentBlock::text((a + b).to_string())]))
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Peer {}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    if let Some(port) = arguments.next() {
        return serve_http(port.parse()?, arguments.next().is_some()).await;
    }
    let server = Peer::new().serve(stdio()).await?;
    server.waiting().await?;
    Ok(())
}

/// At /mcp of this port. `axum::serve` leaves Nagle's algorithm on, and with it each answer waits for an acknowledgement
/// of the client that is late; `nodelay` turns it off, so that one can tell what is the library's and what is not.
async fn serve_http(port: u16, nodelay: bool) -> Result<(), Box<dyn std::error::Error>> {
    let sessions = LocalSessionManager::default().into();
    let service = StreamableHttpService::new(|| Ok(Peer::new()), sessions, StreamableHttpServerConfig::default());
    let router = axum::Router::new().nest_service("/mcp", service);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    if nodelay {
        let listener = listener.tap_io(|stream| stream.set_nodelay(true).expect("an open socket"));
        axum::serve(listener, router).await?;
    } else {
        axum::serve(listener, router).await?;
    }
    Ok(())
}
