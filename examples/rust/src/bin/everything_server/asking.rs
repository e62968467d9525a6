//! Tools that ask their client: by forms, for a message of its model, for its folders.

use crate::{Answer, object, text, tool};
use ferromcp::{AskError, Context, Elicited, InputRequest, Server, ToolCall, ToolOutput};
use serde_json::{Value, json};

/// The text that the client's model answers to one message.
fn sampling(text: &str, most: u32) -> Value {
    let message = json!({"role": "user", "content": {"type": "text", "text": text}});
    json!({"messages": [message], "maxTokens": most})
}

/// Asks by a form, and says what came of it.
fn fill_in(call: &ToolCall<'_>, message: &str, form: &Value, said: &str) -> Answer {
    let (action, content) = match call.elicit::<Value>(message, &form.to_string())? {
        Elicited::Accept(content) => ("accept", content),
        Elicited::Decline => ("decline", Value::Null),
        Elicited::Cancel => ("cancel", Value::Null),
    };
    Ok(ToolOutput::text(format!("{said}: action={action}, content={content}")))
}

/// Choices with titles: value1 is shown as the first name, and so on.
fn titled(names: [&str; 3]) -> Vec<Value> {
    names.iter().zip(1..).map(|(title, number)| json!({"const": format!("value{number}"), "title": title})).collect()
}

/// Asking the client, whichever revision it speaks.
pub(crate) fn asking(server: Server) -> Server {
    server
        .tool(tool("test_sampling", "Has the client's model answer.", json!({"prompt": {"type": "string"}})), |call| {
            let arguments: Value = call.arguments()?;
            let answer: Value = call.sample(sampling(text(&arguments["prompt"]), 100))?;
            Ok(ToolOutput::text(format!("LLM response: {}", text(&answer["content"]["text"]))))
        })
        .tool(tool("test_elicitation", "Asks the user.", json!({"message": {"type": "string"}})), |call| {
            let arguments: Value = call.arguments()?;
            let user = object(json!({
                "username": {"type": "string", "description": "User's response"},
                "email": {"type": "string", "description": "User's email address"},
            }));
            fill_in(call, text(&arguments["message"]), &user, "User response")
        })
        .tool(tool("test_elicitation_sep1034_defaults", "Asks by a form with defaults.", json!({})), |call| {
            let statuses = ["active", "inactive", "pending"];
            let form = json!({"type": "object", "properties": {
                "name": {"type": "string", "description": "User name", "default": "John Doe"},
                "age": {"type": "integer", "description": "User age", "default": 30},
                "score": {"type": "number", "description": "User score", "default": 95.5},
                "status": {"type": "string", "description": "User status", "enum": statuses, "default": "active"},
                "verified": {"type": "boolean", "description": "Verification status", "default": true},
            }});
            fill_in(call, "Please review the form", &form, "Elicitation completed")
        })
        .tool(tool("test_elicitation_sep1330_enums", "Asks by a form with every kind of choice.", json!({})), |call| {
            let options = ["option1", "option2", "option3"];
            let names = ["Option One", "Option Two", "Option Three"];
            let single = titled(["First Option", "Second Option", "Third Option"]);
            let several = titled(["First Choice", "Second Choice", "Third Choice"]);
            let form = json!({"type": "object", "properties": {
                "untitledSingle": {"type": "string", "enum": options},
                "titledSingle": {"type": "string", "oneOf": single},
                "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": names},
                "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
                "titledMulti": {"type": "array", "items": {"anyOf": several}},
            }});
            fill_in(call, "Please choose", &form, "Elicitation completed")
        })
        .tool(tool("test_missing_capability", "Can't do without the client's model.", json!({})), |call| {
            let answer: Value = call.sample(sampling("Say something", 10))?;
            Ok(ToolOutput::text(text(&answer["content"]["text"])))
        })
        .tool(tool("test_streaming_elicitation", "Reports progress, and asks.", json!({})), |call| {
            call.report_progress(50.0, Some(100.0), None);
            fill_in(call, "What is your name?", &form("name", "string"), "Streaming complete")
        })
}

/// A form of one field.
fn form(field: &str, kind: &str) -> Value {
    object(json!({field: {"type": kind}}))
}

/// A question by a form of one field, as the parameters of its request.
pub(crate) fn question(message: &str, field: &str, kind: &str) -> String {
    json!({"message": message, "requestedSchema": form(field, kind)}).to_string()
}

/// What is asked by a form.
pub(crate) const ELICIT: &str = "elicitation/create";

/// Asks by a form of one field, under a key, and gives what stands in the field then: nothing, if the user does not say.
pub(crate) fn ask(call: &Context<'_>, key: &str, message: &str, field: &str, kind: &str) -> Result<Value, AskError> {
    match call.asking().key(key).elicit::<Value>(message, &form(field, kind).to_string())? {
        Elicited::Accept(mut content) => Ok(content[field].take()),
        Elicited::Decline | Elicited::Cancel => Ok(Value::Null),
    }
}

/// Rounds of 2026-07-28, by the keys that the suite knows.
pub(crate) fn rounds(server: Server) -> Server {
    server
        // By hand: it takes an answer whenever there is one, and asks where there is none that fits.
        .tool(tool("test_input_required_result_elicitation", "Greets the user by name.", json!({})), |call| {
            let answers: Value = call.input_responses().map(serde_json::from_str).transpose()?.unwrap_or_default();
            if let Some(name) = answers["user_name"]["content"]["name"].as_str() {
                return Ok(ToolOutput::text(format!("Hello, {name}!")));
            }
            let params = question("What is your name?", "name", "string");
            Ok(ToolOutput::input_required(&[InputRequest { key: "user_name", method: ELICIT, params: &params }], None))
        })
        .tool(
            tool("test_input_required_result_sampling", "Has the client's model answer a question.", json!({})),
            |call| {
                let question = sampling("What is the capital of France?", 100);
                let answer: Value = call.asking().key("capital_question").sample(question)?;
                Ok(ToolOutput::text(format!("Sampling result: {}", text(&answer["content"]["text"]))))
            },
        )
        .tool(tool("test_input_required_result_list_roots", "Counts the client's roots.", json!({})), |call| {
            let roots = call.asking().key("client_roots").list_roots()?;
            let uris: Vec<_> = roots.into_iter().map(|root| root.uri).collect();
            Ok(ToolOutput::text(format!("Found these roots: {}", uris.join(", "))))
        })
        .tool(
            tool(
                "test_input_required_result_request_state",
                "Asks, and remembers in the request's state that it did.",
                json!({}),
            ),
            |call| {
                ask(call, "confirm", "Please confirm", "ok", "boolean")?;
                Ok(ToolOutput::text("state-ok: requestState validated"))
            },
        )
        .tool(
            tool(
                "test_input_required_result_tampered_state",
                "The same: a state that its client has changed is refused before this runs.",
                json!({}),
            ),
            |call| {
                ask(call, "confirm", "Please confirm", "ok", "boolean")?;
                Ok(ToolOutput::text("integrity-ok: state verified"))
            },
        )
        .tool(tool("test_input_required_result_multiple_inputs", "Asks three things at once.", json!({})), |call| {
            let name = question("What is your name?", "name", "string");
            let greeting = sampling("Generate a greeting", 50).to_string();
            let answers = call.ask(&[
                InputRequest { key: "user_name", method: ELICIT, params: &name },
                InputRequest { key: "greeting", method: "sampling/createMessage", params: &greeting },
                InputRequest { key: "client_roots", method: "roots/list", params: "{}" },
            ])?;
            Ok(ToolOutput::text(format!("Name: {}; Greeting: {}; Roots: {}", answers[0], answers[1], answers[2])))
        })
        .tool(tool("test_input_required_result_multi_round", "Asks one thing after the other.", json!({})), |call| {
            let name = ask(call, "step1", "Step 1: What is your name?", "name", "string")?;
            let color = ask(call, "step2", "Step 2: What is your favorite color?", "color", "string")?;
            Ok(ToolOutput::text(format!("Multi-round complete for {} who likes {}", text(&name), text(&color))))
        })
        .tool(
            tool("test_input_required_result_capabilities", "Asks by what the client has declared.", json!({})),
            |call| {
                let declared: Value = serde_json::from_str(call.request().client_capabilities_json())?;
                if declared["elicitation"].is_object() {
                    return fill_in(call, "Elicitation input", &form("value", "string"), "Done");
                }
                if declared["sampling"].is_object() {
                    let answer: Value = call.sample(sampling("Sample request", 50))?;
                    return Ok(ToolOutput::text(text(&answer["content"]["text"])));
                }
                Ok(ToolOutput::text("No supported capabilities declared"))
            },
        )
}
