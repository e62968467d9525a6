//! Addition over HTTP on the port that is named, for the measurements.

use ferromcp::http::HttpOptions;
use ferromcp::{Server, ToolError, ToolOutput};
use serde::Deserialize;

#[derive(Deserialize)]
struct Sum {
    a: i64,
    b: i64,
}

const ADD: &str = r#"{"name":"add","description":"Add two integers","inputSchema":{"type":"object","properties":
{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}}"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port = std::env::args().nth(1).ok_or("which port?")?.parse()?;
    Server::new("bench", "1")
        .tool(ADD, |call| {
            let Sum { a, b } = call.arguments()?;
            let sum = a.checked_add(b).ok_or(ToolError::new("the sum does not fit into 64 bits"))?;
            Ok(ToolOutput::text(sum.to_string()))
        })
        .run_http(HttpOptions { port, announce: false, ..HttpOptions::default() })?;
    Ok(())
}
