//! Echo and addition on rmcp, written as its own examples write them.

use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResult, ContentBlock};
use rmcp::transport::stdio;
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
    let server = Peer::new().serve(stdio()).await?;
    server.waiting().await?;
    Ok(())
}
