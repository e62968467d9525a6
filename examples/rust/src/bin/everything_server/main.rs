//! A server with one of everything: what the official conformance suite calls, and a place to look things up.
//!
//! ```sh
//! cargo run -p ferromcp-example --bin everything_server -- --port 8000    # http://127.0.0.1:8000/mcp
//! cargo run -p ferromcp-example --bin everything_server                   # on stdin and stdout
//! ```

mod asking;

use asking::{ELICIT, ask, question};
use ferromcp::engine::{CacheHints, CacheScope};
use ferromcp::http::HttpOptions;
use ferromcp::{
    CompletionOutput, Endpoint, InputRequest, LogLevel, PeerError, PromptOutput, ResourceOutput, Server, ToolError,
    ToolOutput,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// One red pixel, and a wave file of one sample.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const SOUND: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

/// Where what is shown can be changed while the server runs.
static ENDPOINT: OnceLock<Arc<Endpoint>> = OnceLock::new();

type Answer = Result<ToolOutput, ToolError>;

/// The schema of an object whose members are all required.
fn object(properties: Value) -> Value {
    let required: Vec<_> = properties.as_object().into_iter().flat_map(|members| members.keys().cloned()).collect();
    json!({"type": "object", "properties": properties, "required": required})
}

/// A tool's definition: the JSON of a `Tool`. All arguments are required.
fn tool(name: &str, description: &str, arguments: Value) -> String {
    json!({"name": name, "description": description, "inputSchema": object(arguments)}).to_string()
}

/// The same of a tool whose calls are tasks, for clients that take tasks; with `required` others are refused.
fn task(name: &str, description: &str, arguments: Value, support: &str) -> String {
    let schema = object(arguments);
    let execution = json!({"taskSupport": support});
    json!({"name": name, "description": description, "inputSchema": schema, "execution": execution}).to_string()
}

fn image() -> Value {
    json!({"type": "image", "data": PIXEL, "mimeType": "image/png"})
}

/// A resource, whole.
fn embedded(uri: &str, mime_type: &str, text: &str) -> Value {
    json!({"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": text}})
}

fn blocks(content: Value) -> Answer {
    Ok(ToolOutput::content_json(content.to_string()))
}

fn pause(ms: u64) {
    sleep(Duration::from_millis(ms));
}

fn main() -> Result<(), ferromcp::Error> {
    let mut arguments = std::env::args().skip(1);
    let port = arguments.find(|argument| argument == "--port").and_then(|_| arguments.next());
    let port: Option<u16> = port.and_then(|port| port.parse().ok());

    let mut server = Server::new("everything", "1.0.0").configure(|config| {
        config.cache = CacheHints { ttl_ms: 60_000, cache_scope: CacheScope::Public };
        config.tasks.poll_ms = 100;
    });
    for part in [content, telling, schemas, asking::asking, asking::rounds, changes, tasks, resources, prompts] {
        server = part(server);
    }
    let serving = match port {
        Some(port) => server.start_http(HttpOptions { port, ..HttpOptions::default() })?,
        None => server.start_stdio()?,
    };
    ENDPOINT.get_or_init(|| Arc::clone(serving.endpoint()));
    serving.keep_redirected();
    serving.wait().map(drop)
}

/// Kinds of content.
fn content(server: Server) -> Server {
    server
        .tool(tool("test_simple_text", "A text.", json!({})), |_| {
            Ok(ToolOutput::text("This is a simple text response for testing."))
        })
        .tool(tool("test_image_content", "An image.", json!({})), |_| blocks(json!([image()])))
        .tool(tool("test_audio_content", "A sound.", json!({})), |_| {
            blocks(json!([{"type": "audio", "data": SOUND, "mimeType": "audio/wav"}]))
        })
        .tool(tool("test_embedded_resource", "A resource, whole.", json!({})), |_| {
            let text = "This is an embedded resource content.";
            blocks(json!([embedded("test://embedded-resource", "text/plain", text)]))
        })
        .tool(tool("test_multiple_content_types", "A text, an image and a resource.", json!({})), |_| {
            let data = json!({"test": "data", "value": 123}).to_string();
            blocks(json!([
                {"type": "text", "text": "Multiple content types test:"},
                image(),
                embedded("test://mixed-content-resource", "application/json", &data),
            ]))
        })
        .tool(tool("test_error_handling", "Fails each time.", json!({})), |_| {
            Err(ToolError::new("This tool intentionally returns an error for testing"))
        })
}

/// What is told while tools run.
fn telling(server: Server) -> Server {
    server
        .tool(tool("test_tool_with_logging", "Logs three times.", json!({})), |call| {
            call.log(LogLevel::Info, "Tool execution started");
            pause(50);
            call.log(LogLevel::Info, "Tool processing data");
            pause(50);
            call.log(LogLevel::Info, "Tool execution completed");
            Ok(ToolOutput::text("Tool with logging executed successfully"))
        })
        .tool(tool("test_logging_tool", "Logs, for clients that want it.", json!({})), |call| {
            call.log(LogLevel::Info, "Diagnostic trace");
            Ok(ToolOutput::text("Logging evaluated"))
        })
        .tool(tool("test_tool_with_progress", "Reports its progress three times.", json!({})), |call| {
            for done in [0, 50, 100] {
                call.report_progress(done.into(), Some(100.0), Some(&format!("Completed step {done} of 100")));
                pause(50);
            }
            Ok(ToolOutput::text("Progress reported"))
        })
        .tool(tool("test_reconnection", "Cuts its client off, which comes back for the answer.", json!({})), |call| {
            // Over stdio, and with modern clients, there is nothing that could be closed: they just wait.
            call.close_sse_stream();
            pause(100);
            Ok(ToolOutput::text("Reconnection test completed successfully"))
        })
}

/// What schemas can say.
fn schemas(server: Server) -> Server {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}}
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"}
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false
    });
    let contact = json!({
        "name": "json_schema_2020_12_tool",
        "description": "Takes what a schema of 2020-12 with all its means describes.",
        "inputSchema": schema,
    });
    // Its argument is mirrored into the header Mcp-Param-Region, where what routes requests can see it.
    let region = json!({"region": {"type": "string", "x-mcp-header": "Region"}});
    let region = tool("test_x_mcp_header", "Takes a region, which its client also says in a header.", region);
    server
        .tool(contact.to_string(), |call| {
            Ok(ToolOutput::text(format!("JSON Schema 2020-12 tool called with: {}", call.arguments_json())))
        })
        .tool(region, |call| {
            let arguments: Value = call.arguments()?;
            Ok(ToolOutput::text(format!("Region: {}", text(&arguments["region"]))))
        })
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Hides what is shown, or shows it again; clients that listen are told.
fn toggle(shown: &AtomicBool, change: fn(&mut ferromcp::engine::Server, bool, u64) -> bool) -> Answer {
    let show = !shown.fetch_xor(true, Ordering::Relaxed);
    if let Some(endpoint) = ENDPOINT.get() {
        let now = endpoint.now();
        endpoint.with_engine(|engine| change(engine, show, now))?;
    }
    Ok(ToolOutput::text("Mutation triggered"))
}

/// What changes.
fn changes(server: Server) -> Server {
    let (tool_shown, prompt_shown) = (AtomicBool::new(true), AtomicBool::new(true));
    server
        .tool(tool("test_dynamic_tool", "Comes and goes.", json!({})), |_| Ok(ToolOutput::text("here")))
        .prompt(r#"{"name":"test_dynamic_prompt","description":"Comes and goes."}"#, |_| {
            Ok(PromptOutput::new().user("here"))
        })
        .tool(tool("test_trigger_tool_change", "Hides a tool, or shows it again.", json!({})), move |_| {
            toggle(&tool_shown, |engine, show, now| engine.enable_tool("test_dynamic_tool", show, now))
        })
        .tool(tool("test_trigger_prompt_change", "Hides a prompt, or shows it again.", json!({})), move |_| {
            toggle(&prompt_shown, |engine, show, now| engine.enable_prompt("test_dynamic_prompt", show, now))
        })
}

#[derive(Deserialize)]
struct Work {
    seconds: f64,
    #[serde(default)]
    label: String,
}

/// Calls whose answer is fetched later.
fn tasks(server: Server) -> Server {
    let work = json!({"seconds": {"type": "number"}, "label": {"type": "string"}});
    let file = json!({"filename": {"type": "string"}});
    server
        .tool(tool("greet", "Greets, at once.", json!({"name": {"type": "string"}})), |call| {
            let arguments: Value = call.arguments()?;
            Ok(ToolOutput::text(format!("Hello, {}!", text(&arguments["name"]))))
        })
        .tool(task("slow_compute", "Takes so many seconds.", work, "optional"), |call| {
            let Work { seconds, label } = call.arguments()?;
            let end = Instant::now() + Duration::try_from_secs_f64(seconds)?;
            while Instant::now() < end && !call.is_cancelled() {
                pause(10);
            }
            Ok(ToolOutput::text(format!("Computed {label} in {seconds} s")))
        })
        .tool(task("failing_job", "Fails after a while, as tools fail.", json!({}), "required"), |_| {
            pause(1_000);
            Err(ToolError::new("The job failed"))
        })
        .tool(task("protocol_error_job", "Fails with an error of the protocol.", json!({}), "required"), |_| {
            Err(ToolError::protocol(PeerError::internal("The job broke")))
        })
        .tool(task("confirm_delete", "Deletes a file, if the user is sure.", file, "required"), |call| {
            let arguments: Value = call.arguments()?;
            let name = text(&arguments["filename"]);
            let sure = ask(call, "confirm", &format!("Delete {name}?"), "confirm", "boolean")?;
            let done = if sure == true { "Deleted" } else { "Kept" };
            Ok(ToolOutput::text(format!("{done} {name}")))
        })
        .tool(
            task("multi_input", "Asks two things at once, which may be answered one by one.", json!({}), "required"),
            |call| {
                let (name, sure) =
                    (question("What is your name?", "name", "string"), question("Sure?", "confirm", "boolean"));
                let answers = call.ask(&[
                    InputRequest { key: "first", method: ELICIT, params: &name },
                    InputRequest { key: "second", method: ELICIT, params: &sure },
                ])?;
                Ok(ToolOutput::text(answers.join(", ")))
            },
        )
        // Asks first, and is a task from then on.
        .tool(tool("test_tool_with_task", "Asks for a name, and goes on as a task.", json!({})), |call| {
            let name = ask(call, "user_name", "What is your name?", "name", "string")?;
            call.begin_task();
            Ok(ToolOutput::text(format!("Hello, {}!", text(&name))))
        })
}

fn resources(server: Server) -> Server {
    let definition = |uri: &str, name: &str, description: &str, mime_type: &str| {
        json!({"uri": uri, "name": name, "description": description, "mimeType": mime_type}).to_string()
    };
    server
        .resource(definition("test://static-text", "static-text", "A text.", "text/plain"), |_| {
            Ok(ResourceOutput::text("This is the content of the static text resource."))
        })
        .resource(definition("test://static-binary", "static-binary", "An image.", "image/png"), |_| {
            Ok(ResourceOutput::blob_base64(PIXEL))
        })
        .resource(
            definition("test://watched-resource", "watched", "A text that clients may watch.", "text/plain"),
            |_| Ok(ResourceOutput::text("Watched resource content")),
        )
        .resource_template(
            r#"{"uriTemplate":"test://template/{id}/data","name":"data","description":"The data of an id.","mimeType":"application/json"}"#,
            |call| {
                let id = call.variable("id").unwrap_or_default();
                let data = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
                Ok(ResourceOutput::text(data.to_string()))
            },
        )
}

#[derive(Deserialize)]
struct Two {
    arg1: String,
    arg2: String,
}

/// Prompts, and a completion of one's argument.
fn prompts(server: Server) -> Server {
    let definition = |name: &str, description: &str, arguments: &[&str]| {
        let arguments: Vec<_> = arguments.iter().map(|name| json!({"name": name, "required": true})).collect();
        json!({"name": name, "description": description, "arguments": arguments}).to_string()
    };
    let message = |content: Value| json!({"role": "user", "content": content}).to_string();
    server
        .prompt(definition("test_simple_prompt", "A prompt without arguments.", &[]), |_| {
            Ok(PromptOutput::new().user("This is a simple prompt for testing."))
        })
        .prompt(definition("test_prompt_with_arguments", "A prompt with arguments.", &["arg1", "arg2"]), |call| {
            let Two { arg1, arg2 } = call.arguments()?;
            Ok(PromptOutput::new().user(format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")))
        })
        .prompt(
            definition("test_prompt_with_embedded_resource", "A prompt with a resource in it.", &["resourceUri"]),
            move |call| {
                let arguments: Value = call.arguments()?;
                let uri = text(&arguments["resourceUri"]);
                let resource = embedded(uri, "text/plain", "Embedded resource content for testing.");
                Ok(PromptOutput::new()
                    .message_json(&message(resource))
                    .user("Please process the embedded resource above."))
            },
        )
        .prompt(definition("test_prompt_with_image", "A prompt with an image in it.", &[]), move |_| {
            Ok(PromptOutput::new().message_json(&message(image())).user("Please analyze the image above."))
        })
        .prompt(definition("test_input_required_result_prompt", "A prompt that asks the user.", &[]), |call| {
            let context = ask(call, "user_context", "What context should the prompt use?", "context", "string")?;
            Ok(PromptOutput::new().user(format!("Prompt with context: {}", text(&context))))
        })
        .completion("test_prompt_with_arguments", "arg1", |call| {
            let known = ["paris", "park", "party"];
            Ok(CompletionOutput::new(known.into_iter().filter(|value| value.starts_with(call.value()))))
        })
}
