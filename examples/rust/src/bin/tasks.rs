//! An MCP server on standard input and output whose tool takes its time: it asks the user, has the client's language model
//! write, and its result can be fetched later, by another client or after the server was started again.
//!
//! ```sh
//! cargo run -p ferromcp-example --bin tasks -- tasks.db
//! ```

use ferromcp::{Elicited, Server, TaskStoreOption, ToolError, ToolOutput};
use serde::Deserialize;
use serde_json::{Value, json};

const ORDER_FORM: &str = r#"{
    "type": "object",
    "properties": {"pages": {"type": "integer", "title": "Pages", "minimum": 1, "default": 3}},
    "required": ["pages"]
}"#;

#[derive(Deserialize)]
struct Topic {
    topic: String,
}

#[derive(Deserialize)]
struct Order {
    pages: u32,
}

fn main() -> Result<(), ferromcp::Error> {
    let report = r#"{
        "name": "write_report",
        "description": "Write a report, page by page, as long as the user wants it.",
        "inputSchema": {"type": "object", "properties": {"topic": {"type": "string"}}, "required": ["topic"]},
        "execution": {"taskSupport": "optional"}
    }"#;
    let store = std::env::args().nth(1).map(|path| TaskStoreOption::Url(format!("sqlite:{path}")));

    Server::new("reports", "1.0")
        .task_store(store.unwrap_or_default())
        .tool(report, |call| {
            let Topic { topic } = call.arguments()?;
            let order = call.elicit::<Order>(&format!("How long a report on {topic}?"), ORDER_FORM)?;
            let Elicited::Accept(order) = order else { return Err(ToolError::new("No report: the user wants none.")) };
            let mut pages = Vec::new();
            for page in 1..=order.pages {
                if call.is_cancelled() {
                    break;
                }
                let wanted = format!("Page {page} on {topic}");
                let message = json!({"role": "user", "content": {"type": "text", "text": wanted}});
                let written: Value = call.sample(json!({"messages": [message], "maxTokens": 500}))?;
                pages.push(written["content"]["text"].as_str().unwrap_or_default().to_owned());
                let said = format!("page {page} is written");
                call.report_progress(f64::from(page), Some(f64::from(order.pages)), Some(&said));
            }
            Ok(ToolOutput::text(pages.join("\n")))
        })
        // Without a task, the call waits for its client in this process, so that no page is written twice.
        .held()
        .run_stdio()?;
    Ok(())
}
