//! An MCP server on standard input and output whose tools ask: the user by a form, the client's language model, and which
//! folders the client works on. The same code serves clients of every revision that has these.

use ferromcp::{Elicited, Server, ToolError, ToolOutput};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

const NAME_FORM: &str = r#"{
    "type": "object",
    "properties": {"name": {"type": "string", "title": "Your name", "minLength": 1}},
    "required": ["name"]
}"#;

const SURE_FORM: &str = r#"{
    "type": "object",
    "properties": {"sure": {"type": "boolean", "title": "Delete it for good"}},
    "required": ["sure"]
}"#;

#[derive(Deserialize)]
struct Name {
    name: String,
}

#[derive(Deserialize)]
struct Sure {
    sure: bool,
}

#[derive(Deserialize)]
struct Note {
    note: String,
}

#[derive(Deserialize)]
struct Topic {
    topic: String,
}

/// What the client's language model said.
#[derive(Deserialize)]
struct Sampled {
    model: String,
    content: Content,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Content {
    Text {
        text: String,
    },
    #[serde(other)]
    Other,
}

fn main() -> Result<(), ferromcp::Error> {
    let notes = Mutex::new(BTreeSet::from(["milk".to_owned(), "tax".to_owned()]));
    Server::new("ferromcp-asking", env!("CARGO_PKG_VERSION"))
        // A handler that only asks and answers may run twice: with a modern client it ends here when it has asked, and
        // runs again with the answer. Nothing is kept meanwhile.
        .tool(r#"{"name":"greet","description":"Greet the user by name","inputSchema":{"type":"object"}}"#, |call| {
            match call.elicit("What is your name?", NAME_FORM)? {
                Elicited::Accept(Name { name }) => Ok(ToolOutput::text(format!("Hello, {name}!"))),
                Elicited::Decline => Ok(ToolOutput::text("Hello, whoever you are!")),
                Elicited::Cancel => Ok(ToolOutput::text("Hello!")),
            }
        })
        // One that does something before it asks must not: it is held, and waits for the answer.
        .tool(
            r#"{
                "name": "delete",
                "description": "Delete a note, if the user is sure",
                "inputSchema": {"type": "object", "properties": {"note": {"type": "string"}}, "required": ["note"]},
                "annotations": {"destructiveHint": true}
            }"#,
            move |call| {
                let Note { note } = call.arguments()?;
                // Taken out first, so that no other call deletes it while the user thinks.
                let lock = || notes.lock().unwrap_or_else(PoisonError::into_inner);
                if !lock().remove(&note) {
                    return Err(ToolError::new(format!("there is no note {note:?}")));
                }
                let answer = call.elicit(&format!("Delete the note {note:?}?"), SURE_FORM);
                if matches!(answer, Ok(Elicited::Accept(Sure { sure: true }))) {
                    return Ok(ToolOutput::text(format!("Deleted {note:?}.")));
                }
                lock().insert(note);
                // Whatever came in between is an error; anything but a yes is a no.
                answer?;
                Ok(ToolOutput::text("Nothing was deleted."))
            },
        )
        .held()
        .tool(
            r#"{
                "name": "poem",
                "description": "Let the client's language model write two lines",
                "inputSchema": {"type": "object", "properties": {"topic": {"type": "string"}}, "required": ["topic"]}
            }"#,
            |call| {
                let Topic { topic } = call.arguments()?;
                let text = format!("Write two lines about {topic}.");
                let Sampled { model, content } = call.sample(json!({
                    "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
                    "maxTokens": 100,
                }))?;
                match content {
                    Content::Text { text } => Ok(ToolOutput::text(format!("{text}\n({model})"))),
                    Content::Other => Err(ToolError::new("the model did not write text")),
                }
            },
        )
        .tool(
            r#"{"name":"folders","description":"List what the client works on","inputSchema":{"type":"object"}}"#,
            |call| {
                let roots = call.list_roots()?;
                let lines: Vec<_> = roots.into_iter().map(|root| root.name.unwrap_or(root.uri)).collect();
                Ok(ToolOutput::text(lines.join("\n")))
            },
        )
        .run_stdio()?;
    Ok(())
}
