//! Extensions in the Rust door: methods, notifications, capabilities, pages of MCP Apps.

mod common;

use common::{Client, INITIALIZE, LONG, text, tool};
use ferromcp::apps::{self, AppView};
use ferromcp::engine::LocalError;
use ferromcp::{Context, Error, PeerError, PromptOutput, ResourceOutput, Server, ToolOutput};
use serde_json::{Value, json};
use std::sync::mpsc::channel;

fn server() -> Server {
    #[derive(serde::Deserialize)]
    struct Sum {
        a: i64,
        b: i64,
    }
    Server::new("test", "1").extension("com.example/sums", r#"{"most":9}"#).method("com.example/sum", |call| {
        let Sum { a, b } = call.params()?;
        if a + b > 9 {
            return Err(PeerError::new(7, "too much"));
        }
        call.notify("notifications/com.example/summed", json!({"sum": a + b}));
        Ok(json!({"sum": a + b, "declared": call.client_extension("com.example/sums")}))
    })
}

fn sum(a: i64, b: i64) -> Value {
    json!({"a": a, "b": b})
}

fn legacy(client: &mut Client, method: &str, params: &Value) {
    client.send(&[&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()]);
}

fn declares() -> Value {
    json!({"extensions": {"com.example/sums": {"x": 1}}})
}

#[test]
fn a_method_is_served_in_both_eras() {
    let mut client = Client::connect(server());
    legacy(&mut client, "com.example/sum", &sum(1, 2));
    assert_eq!(client.receive()["params"], json!({"sum": 3}));
    assert_eq!(client.expect(1)["result"], json!({"sum": 3, "declared": null}));
    legacy(&mut client, "com.example/sum", &sum(5, 5));
    assert_eq!(client.expect(1)["error"], json!({"code": 7, "message": "too much"}));

    let mut client = Client::open(server());
    client.modern(1, "com.example/sum", &sum(1, 2), &declares());
    let notification = client.receive();
    assert_eq!(notification["method"], "notifications/com.example/summed");
    let result = &client.expect(1)["result"];
    assert_eq!((&result["sum"], &result["declared"]), (&json!(3), &json!(r#"{"x":1}"#)));
    client.modern(2, "com.example/sum", &json!({"a": "one"}), &declares());
    assert_eq!(client.expect(2)["error"]["code"], -32602);
}

// requirement: version-extension-fallback
#[test]
fn a_method_that_nobody_serves_is_not_found() {
    let mut client = Client::connect(server());
    legacy(&mut client, "com.example/other", &json!({}));
    assert_eq!(client.expect(1)["error"]["code"], -32601);
    let mut client = Client::open(server());
    client.modern(1, "com.example/other", &json!({}), &declares());
    assert_eq!(client.expect(1)["error"]["code"], -32601);
}

#[test]
fn what_a_method_gives_must_be_an_object() {
    let server = Server::new("test", "1")
        .method("x/list", |_| Ok([1]))
        .method("x/panics", |_| -> Result<(), _> { panic!("as it must") });
    let mut client = Client::connect(server);
    for method in ["x/list", "x/panics"] {
        legacy(&mut client, method, &json!({}));
        assert_eq!(client.expect(1)["error"]["code"], -32603, "{method}");
    }
}

#[test]
fn notifications_reach_their_handler_in_both_eras() {
    for modern in [false, true] {
        let (sender, got) = channel();
        let server = server().on_notification("notifications/com.example/poke", move |params| {
            sender.send(params.map(str::to_owned)).expect("the test waits");
        });
        let mut client = if modern { Client::open(server) } else { Client::connect(server) };
        client.send(&[
            r#"{"jsonrpc":"2.0","method":"notifications/com.example/unknown"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/com.example/poke","params":{"hard":true}}"#,
        ]);
        assert_eq!(got.recv_timeout(LONG).expect("it comes").as_deref(), Some(r#"{"hard":true}"#));
    }
}

/// 2025-11-25 has no `extensions` in `ServerCapabilities`.
#[test]
fn extensions_are_declared_where_the_revision_has_them() {
    let server = || server().extension("com.example/more", "{}");
    let mut client = Client::open(server());
    client.modern(1, "server/discover", &json!({}), &json!({}));
    let expected = json!({"com.example/sums": {"most": 9}, "com.example/more": {}});
    assert_eq!(client.expect(1)["result"]["capabilities"]["extensions"], expected);
    let mut client = Client::open(server());
    client.send(&[INITIALIZE]);
    assert_eq!(client.receive()["result"]["capabilities"].get("extensions"), None);
}

// requirement: version-extension-identifiers
#[test]
fn extensions_are_named_with_a_prefix() {
    let start = |name: &str| {
        let (input, _to) = std::io::pipe().expect("a pipe");
        let (_from, output) = std::io::pipe().expect("a pipe");
        Server::new("test", "1").extension(name, "{}").start_fds(input.into(), output.into()).map(drop)
    };
    for good in ["com.example/a", "com.example-2.x/a_b.c-9", "x/a", "com.example/"] {
        assert!(start(good).is_ok(), "{good:?}");
    }
    for bad in ["", "name", "/a", "com..example/a", "9com/a", "com-/a", "com.example/-a", "com.example/a/b", "é.com/a"]
    {
        assert!(matches!(start(bad), Err(Error::Engine(LocalError::Config(_)))), "{bad:?}");
    }
}

// requirement: version-extension-fallback
#[test]
fn a_page_is_a_resource_that_its_tool_points_at() {
    let view = AppView::new("ui://clock/view.html", "Clock", "<p>é</p>")
        .and_then(|view| view.with_ui_meta(r#"{"csp":{"connectDomains":["https://example.com"]}}"#));
    let view = view.expect("valid");
    let definition =
        r#"{"name":"time","inputSchema":{"type":"object"},"_meta":{"com.example/x":1,"ui":{"visibility":["app"]}}}"#;
    let server = Server::new("test", "1")
        .tool(view.tool(definition).expect("valid"), |call| {
            let shown = call.client_extension(apps::EXTENSION).is_some();
            Ok(ToolOutput::text(if shown { "shown" } else { "in words" }).with_meta(r#"{"com.example/y":[2]}"#))
        })
        .app_view(view);
    let mut client = Client::open(server);
    let host = json!({"extensions": {apps::EXTENSION: {"mimeTypes": [apps::MIME_TYPE]}}});
    let mut ask = |method: &str, params: Value, capabilities: &Value| {
        client.modern(1, method, &params, capabilities);
        client.expect(1)["result"].clone()
    };
    assert_eq!(ask("server/discover", json!({}), &host)["capabilities"]["extensions"], json!({apps::EXTENSION: {}}));
    let meta = json!({"com.example/x": 1, "ui": {"visibility": ["app"], "resourceUri": "ui://clock/view.html"}});
    assert_eq!(ask("tools/list", json!({}), &host)["tools"][0]["_meta"], meta);
    let ui = json!({"ui": {"csp": {"connectDomains": ["https://example.com"]}}});
    let listed = ask("resources/list", json!({}), &host)["resources"][0].clone();
    let expected =
        json!({"uri": "ui://clock/view.html", "name": "Clock", "mimeType": "text/html;profile=mcp-app", "_meta": ui});
    assert_eq!(listed, expected);
    let read = ask("resources/read", json!({"uri": "ui://clock/view.html"}), &host)["contents"].clone();
    let expected = json!([{"uri": "ui://clock/view.html", "mimeType": "text/html;profile=mcp-app", "text": "<p>é</p>", "_meta": ui}]);
    assert_eq!(read, expected);
    let called = ask("tools/call", json!({"name": "time"}), &host);
    assert_eq!((&called["content"][0]["text"], &called["_meta"]["com.example/y"]), (&json!("shown"), &json!([2])));
    assert_eq!(ask("tools/call", json!({"name": "time"}), &json!({}))["content"][0]["text"], "in words");
}

#[test]
fn meta_goes_both_ways() {
    fn seen(call: &Context<'_>) -> String {
        let meta = call.request().meta_json().unwrap_or("{}");
        json!({"vendor/seen": serde_json::from_str::<Value>(meta).expect("JSON")["vendor/x"]}).to_string()
    }
    let server = || {
        Server::new("test", "1")
            .tool(tool("t"), move |call| Ok(ToolOutput::text("t").with_meta(seen(call))))
            .resource(r#"{"uri":"mem://r","name":"r"}"#, move |call| {
                Ok(ResourceOutput::text("r").mime_type("text/plain").with_meta(seen(call)))
            })
            .prompt(r#"{"name":"p"}"#, move |call| {
                Ok(PromptOutput::new().user("p").description("\"d\"").with_meta(seen(call)))
            })
            .prompt(r#"{"name":"bare"}"#, |_| Ok(PromptOutput::new().with_meta("{}")))
            .prompt(r#"{"name":"broken"}"#, |_| Ok(PromptOutput::new().with_meta("no JSON")))
    };
    let results = |client: &mut Client, ask: fn(&mut Client, &str, Value) -> Value| {
        let told = |method: &str, mut params: Value, client: &mut Client| {
            params["_meta"] = json!({"vendor/x": [5]});
            ask(client, method, params)["result"].clone()
        };
        let tool = told("tools/call", json!({"name": "t"}), client);
        assert_eq!((&tool["_meta"]["vendor/seen"], &tool["content"][0]["text"]), (&json!([5]), &json!("t")));
        let resource = told("resources/read", json!({"uri": "mem://r"}), client);
        assert_eq!(resource["_meta"]["vendor/seen"], json!([5]));
        assert_eq!(resource["contents"], json!([{"uri": "mem://r", "mimeType": "text/plain", "text": "r"}]));
        let prompt = told("prompts/get", json!({"name": "p"}), client);
        assert_eq!((&prompt["_meta"]["vendor/seen"], &prompt["description"]), (&json!([5]), &json!("\"d\"")));
        assert_eq!(prompt["messages"], json!([{"role": "user", "content": {"type": "text", "text": "p"}}]));
        assert_eq!(told("prompts/get", json!({"name": "bare"}), client)["messages"], json!([]));
        let broken = ask(client, "prompts/get", json!({"name": "broken"}));
        assert_eq!(broken["error"]["code"], -32603, "{broken}");
    };
    results(&mut Client::connect(server()), |client, method, params| {
        legacy(client, method, &params);
        client.expect(1)
    });
    results(&mut Client::open(server()), |client, method, mut params| {
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
        legacy(client, method, &params);
        client.expect(1)
    });
}

#[test]
fn pages_are_under_ui() {
    for uri in ["http://x/y", "ui://", "ui:x"] {
        assert!(AppView::new(uri, "x", "").is_err(), "{uri}");
    }
    let view = AppView::new("ui://x", "x", "").expect("valid");
    assert_eq!(view.tool_meta(r#"{"ui":{"a":1}}"#).expect("valid"), r#"{"ui":{"a":1,"resourceUri":"ui://x"}}"#);
    for meta in ["[]", r#"{"ui":null}"#] {
        assert!(view.tool_meta(meta).is_err(), "{meta}");
    }
    for definition in ["[]", r#"{"_meta":1}"#, r#"{"_meta":{"ui":null}}"#] {
        assert!(view.tool(definition).is_err(), "{definition}");
    }
}

// requirement: meta-trace-context
#[test]
fn handlers_see_the_trace_and_the_meta_of_their_request() {
    let server = Server::new("test", "1").tool(tool("t"), |call| {
        let trace = call.trace_context();
        Ok(ToolOutput::text(
            json!([trace.traceparent, trace.tracestate, trace.baggage, trace.is_empty(), call.request().meta_json()])
                .to_string(),
        ))
    });
    let mut client = Client::connect(server);
    let meta = json!({"traceparent": "00-1-2-01", "tracestate": "v=1", "baggage": "k=w", "com.example/z": null});
    legacy(&mut client, "tools/call", &json!({"name": "t", "_meta": meta}));
    let told: Value = serde_json::from_str(text(&client.expect(1))).expect("it is JSON");
    assert_eq!(told, json!(["00-1-2-01", "v=1", "k=w", false, meta.to_string()]));
    legacy(&mut client, "tools/call", &json!({"name": "t"}));
    assert_eq!(text(&client.expect(1)), "[null,null,null,true,null]");
}
