//! An MCP server on standard input and output, with one of everything: tools, a resource, a resource template, a
//! prompt.

use ferromcp::{LogLevel, PromptOutput, ResourceOutput, Server, ToolError, ToolOutput};
use serde::Deserialize;
use std::thread::sleep;
use std::time::{Duration, Instant};

#[derive(Deserialize)]
struct Text {
    text: String,
}

#[derive(Deserialize)]
struct Sum {
    a: i64,
    b: i64,
}

#[derive(Deserialize)]
struct Pause {
    ms: u64,
}

#[derive(Deserialize)]
struct Failure {
    msg: String,
}

#[derive(Deserialize)]
struct Steps {
    n: u32,
}

#[derive(Deserialize)]
struct Greeting {
    name: String,
}

/// A tool's definition: the JSON of a `Tool`.
fn tool(name: &str, description: &str, properties: &str, required: &str) -> String {
    format!(
        r#"{{"name":"{name}","description":"{description}","inputSchema":{{"type":"object","properties":{properties},"required":{required}}}}}"#
    )
}

fn main() -> Result<(), ferromcp::Error> {
    Server::new("ferromcp-example", env!("CARGO_PKG_VERSION"))
        .instructions("Small tools to try a client with.")
        .tool(tool("echo", "Give the text back", r#"{"text":{"type":"string"}}"#, r#"["text"]"#), |call| {
            let Text { text } = call.arguments()?;
            Ok(ToolOutput::text(text))
        })
        .tool(
            tool("add", "Add two integers", r#"{"a":{"type":"integer"},"b":{"type":"integer"}}"#, r#"["a","b"]"#),
            |call| {
                let Sum { a, b } = call.arguments()?;
                let sum = a.checked_add(b).ok_or(ToolError::new("the sum does not fit into 64 bits"))?;
                Ok(ToolOutput::text(sum.to_string()))
            },
        )
        .tool(
            tool(
                "slow",
                "Sleep, and stop early when cancelled",
                r#"{"ms":{"type":"integer","minimum":0}}"#,
                r#"["ms"]"#,
            ),
            |call| {
                let Pause { ms } = call.arguments()?;
                let end = Instant::now() + Duration::from_millis(ms);
                while Instant::now() < end && !call.is_cancelled() {
                    sleep(Duration::from_millis(10).min(end - Instant::now()));
                }
                Ok(ToolOutput::text("done"))
            },
        )
        .tool(
            tool(
                "block",
                "Block a thread, whatever the client does",
                r#"{"ms":{"type":"integer","minimum":0}}"#,
                r#"["ms"]"#,
            ),
            |call| {
                let Pause { ms } = call.arguments()?;
                sleep(Duration::from_millis(ms));
                Ok(ToolOutput::text("done"))
            },
        )
        .tool(tool("fail", "Fail with a message", r#"{"msg":{"type":"string"}}"#, r#"["msg"]"#), |call| {
            let Failure { msg } = call.arguments()?;
            Err(ToolError::new(msg))
        })
        .tool(
            tool("progress", "Report progress n times", r#"{"n":{"type":"integer","minimum":0}}"#, r#"["n"]"#),
            |call| {
                let Steps { n } = call.arguments()?;
                for step in 1..=n {
                    call.report_progress(f64::from(step), Some(f64::from(n)), None);
                    call.log(LogLevel::Debug, format!("step {step} of {n}"));
                }
                Ok(ToolOutput::text(n.to_string()))
            },
        )
        .resource(r#"{"uri":"example://about","name":"about","mimeType":"text/plain"}"#, |_| {
            Ok(ResourceOutput::text("An example server of FerroMCP.").mime_type("text/plain"))
        })
        .resource_template(
            r#"{"uriTemplate":"example://square/{number}","name":"square","mimeType":"text/plain"}"#,
            |call| {
                let number: Option<i64> = call.variable("number").and_then(|text| text.parse().ok());
                let square = number.and_then(|number| number.checked_mul(number)).ok_or_else(|| call.not_found())?;
                Ok(ResourceOutput::text(square.to_string()).mime_type("text/plain"))
            },
        )
        .prompt(
            r#"{"name":"greet","description":"Greet someone","arguments":[{"name":"name","required":true}]}"#,
            |call| {
                let Greeting { name } = call.arguments()?;
                Ok(PromptOutput::new().user(format!("Greet {name} in one sentence.")))
            },
        )
        .run_stdio()?;
    Ok(())
}
