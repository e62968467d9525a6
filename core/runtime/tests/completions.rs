//! What the closures of a server complete, and what of it is shown.

mod common;

use common::{Client, tool};
use ferromcp::engine::LocalError;
use ferromcp::{CompletionOutput, Error, PeerError, PromptOutput, ResourceOutput, Server, ToolOutput};
use serde_json::{Value, json};

const PROMPT: &str = r#"{"name":"review","arguments":[{"name":"language"},{"name":"style"},{"name":"broken"}]}"#;
const TEMPLATE: &str = r#"{"uriTemplate":"mem://{owner}/{name}","name":"files"}"#;

fn described() -> Server {
    Server::new("test", "1")
        .prompt(PROMPT, |_| Ok(PromptOutput::new().user("review")))
        .resource_template(TEMPLATE, |_| Ok(ResourceOutput::text("file")))
}

fn completing() -> Server {
    described()
        .completion("review", "language", |call| {
            let known = ["python", "pytorch", "pascal"];
            Ok(CompletionOutput::new(known.into_iter().filter(|name| name.starts_with(call.value()))))
        })
        .completion("mem://{owner}/{name}", "name", |call| {
            let owner = call.arguments().remove("owner").unwrap_or_default();
            Ok(CompletionOutput::new([format!("{owner}/a"), format!("{owner}/b")]).total(7).has_more(true))
        })
        .completion("review", "broken", |call| match call.value() {
            "many" => Ok(CompletionOutput::new((0..101).map(|number| number.to_string()))),
            "panic" => panic!("as it is told"),
            _ => Err(PeerError::invalid_params("not that")),
        })
}

/// Asks for a completion as a modern client.
fn complete(client: &mut Client, of: &Value, argument: &str, value: &str, context: &Value) -> Value {
    let params = json!({"ref": of, "argument": {"name": argument, "value": value}, "context": context});
    client.modern(1, "completion/complete", &params, &json!({}));
    client.expect(1)
}

#[test]
fn arguments_of_prompts_and_templates_are_completed() {
    let mut client = Client::open(completing());
    let (prompt, template) = (
        json!({"type": "ref/prompt", "name": "review"}),
        json!({"type": "ref/resource", "uri": "mem://{owner}/{name}"}),
    );
    client.modern(1, "server/discover", &json!({}), &json!({}));
    assert_eq!(client.expect(1)["result"]["capabilities"]["completions"], json!({}));

    let mut completion =
        |of: &Value, argument: &str, value: &str, context: Value| complete(&mut client, of, argument, value, &context);
    let found = |answer: Value| answer["result"]["completion"].clone();
    assert_eq!(found(completion(&prompt, "language", "py", json!({}))), json!({"values": ["python", "pytorch"]}));
    // An argument that nobody completes has no values.
    assert_eq!(found(completion(&prompt, "style", "", json!({}))), json!({"values": []}));
    let chosen = json!({"arguments": {"owner": "ada"}});
    let files = json!({"values": ["ada/a", "ada/b"], "total": 7, "hasMore": true});
    assert_eq!(found(completion(&template, "name", "", chosen)), files);
    // `server/utilities/completion`, "Completion Results": at most 100 of them.
    let many = found(completion(&prompt, "broken", "many", json!({})));
    assert_eq!(many["values"].as_array().map(Vec::len), Some(100));
    assert_eq!(many["hasMore"], true);

    assert_eq!(completion(&prompt, "broken", "", json!({}))["error"], json!({"code": -32602, "message": "not that"}));
    assert_eq!(completion(&prompt, "broken", "panic", json!({}))["error"]["code"], -32603);
    assert_eq!(completion(&prompt, "nothing", "", json!({}))["error"]["code"], -32602);
}

#[test]
fn a_server_that_completes_nothing_declares_nothing() {
    let mut client = Client::open(described());
    client.modern(1, "server/discover", &json!({}), &json!({}));
    assert!(client.expect(1)["result"]["capabilities"].get("completions").is_none());
}

/// Why a server can't be started.
fn refused(server: Server) -> String {
    let (input, _to_server) = std::io::pipe().expect("a pipe");
    let (_from_server, output) = std::io::pipe().expect("a pipe");
    match server.start_fds(input.into(), output.into()) {
        Err(Error::Engine(error @ LocalError::Definition { .. })) => error.to_string(),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it starts"),
    }
}

#[test]
fn what_is_not_there_can_not_be_completed_or_hidden() {
    let nothing = |_: &ferromcp::CompletionCall<'_>| Ok(CompletionOutput::default());
    assert!(refused(described().completion("files", "name", nothing)).contains("files"));
    assert!(refused(described().enable_tool("review", false)).contains("review"));
    assert!(refused(described().enable_resource("mem://{owner}/{name}", false)).contains("mem://"));
}

#[test]
fn what_is_hidden_before_the_start_is_there_when_it_is_shown() {
    let server = described()
        .tool(tool("extra"), |_| Ok(ToolOutput::text("here")))
        .resource(r#"{"uri":"mem://one","name":"one","mimeType":"text/x-one"}"#, |_| Ok(ResourceOutput::text("1")))
        .enable_tool("extra", false)
        .enable_resource("mem://one", false)
        .enable_resource_template("mem://{owner}/{name}", false)
        .enable_prompt("review", false);
    let mut client = Client::open(server);
    let shown = |client: &mut Client| {
        let lists = ["tools", "resources", "prompts"].map(|list| (list, format!("{list}/list")));
        let templates = ("resourceTemplates", "resources/templates/list".to_owned());
        let mut count = 0;
        for (list, method) in lists.into_iter().chain([templates]) {
            client.modern(2, &method, &json!({}), &json!({}));
            count += client.expect(2)["result"][list].as_array().map_or(0, Vec::len);
        }
        count
    };
    assert_eq!(shown(&mut client), 0);
    client.modern(3, "resources/read", &json!({"uri": "mem://one"}), &json!({}));
    assert_eq!(client.expect(3)["error"]["code"], -32602);

    let endpoint = client.server.endpoint().clone();
    let now = endpoint.now();
    let changed = endpoint.with_engine(|engine| {
        engine.enable_tool("extra", true, now)
            && engine.enable_resource("mem://one", true, now)
            && engine.enable_resource_template("mem://{owner}/{name}", true, now)
            && engine.enable_prompt("review", true, now)
    });
    assert!(changed.expect("it runs"));
    assert_eq!(shown(&mut client), 4);
    // What kind of text it is stands in the definition.
    client.modern(3, "resources/read", &json!({"uri": "mem://one"}), &json!({}));
    let contents = json!([{"uri": "mem://one", "mimeType": "text/x-one", "text": "1"}]);
    assert_eq!(client.expect(3)["result"]["contents"], contents);
}
