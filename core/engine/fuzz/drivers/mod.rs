//! What is fuzzed, and what must hold for every input. The fuzzer runs these under libFuzzer, `tests/corpora.rs` runs them over the
//! inputs that are checked in.
#![allow(dead_code, unreachable_pub, reason = "each fuzz target uses one of them")]

mod sequence;
mod tasks;

use ferromcp_engine::model::uri_template::UriTemplate;
use ferromcp_engine::schema::{Schema, SchemaLimits};
use ferromcp_engine::testing::{MODERN_META, Pair};
use ferromcp_engine::{CapabilityConfig, Event, Reply, ServerConfig};

pub use sequence::sequence;
pub use tasks::tasks;

/// A server with one of everything and small limits, so that the fuzzer reaches them.
pub fn pair() -> Pair {
    let mut config = ServerConfig::new("fuzz", "1");
    config.capabilities = CapabilityConfig::from_json(r#"{"logging":{},"completions":{}}"#).expect("valid");
    config.limits.max_message_bytes = 4_096;
    config.limits.max_in_flight = 16;
    config.limits.max_subscriptions = 4;
    config.limits.max_watched_resources = 8;
    config.limits.max_batch = 8;
    config.page_size = 1;
    let mut pair = Pair::new(config).expect("valid");
    let server = &mut pair.server;
    server
        .add_tool(r#"{"name":"a","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}"#, 1, 0)
        .expect("valid");
    server
        .add_tool(r#"{"name":"b","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}"#, 2, 0)
        .expect("valid");
    server.add_resource(r#"{"uri":"m://r","name":"r"}"#, 3, 0).expect("valid");
    server.add_resource_template(r#"{"uriTemplate":"m://t/{id}","name":"t"}"#, 4, 0).expect("valid");
    server.add_prompt(r#"{"name":"p","arguments":[{"name":"x"}]}"#, 5, 0).expect("valid");
    pair
}

/// Any bytes, in any cut: every line that comes back is one JSON-RPC message, and the connection lives.
pub fn bytes(data: &[u8]) {
    let mut pair = pair();
    // The first byte says in what pieces the others come.
    let (cut, data) = data.split_first().map_or((1, data), |(cut, data)| (usize::from(*cut) + 1, data));
    for chunk in data.chunks(cut) {
        pair.send_bytes(chunk);
    }
    pair.send_bytes(b"\n");
    while let Some(event) = pair.events.pop_front() {
        if let Event::Call(call) = event {
            let _ = pair.server.respond(call.key, Reply::Result("{}"), 0);
            let _ = (call.params_json(), call.arguments_json(), call.meta_json(), call.client_capabilities_json());
        }
    }
    pair.drain();
    for line in &pair.sent {
        check_line(line);
    }
    pair.sent.clear();
    pair.send(&format!(
        r#"{{"jsonrpc":"2.0","id":"alive?","method":"server/discover","params":{{"_meta":{{{MODERN_META}}}}}}}"#
    ));
    assert!(pair.take().contains("alive?"), "the connection lives on");
}

/// A line on the wire is one JSON-RPC message, or an array of them.
pub fn check_line(line: &str) {
    let value: serde_json::Value = match serde_json::from_str(line) {
        Ok(value) => value,
        // serde_json builds no tree from an unpaired surrogate, a huge number or a deep nesting; the text is checked all the same.
        Err(_) => {
            assert!(serde_json::from_str::<&serde_json::value::RawValue>(line).is_ok(), "{line}");
            return;
        }
    };
    let messages = value.as_array().cloned().unwrap_or_else(|| vec![value]);
    assert!(!messages.is_empty(), "an empty batch is no message");
    for message in messages {
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        let kinds = ["method", "result", "error"].iter().filter(|key| message.get(**key).is_some()).count();
        assert_eq!(kinds, 1, "{line}");
    }
}

/// Any text as schema and as instance, separated by a zero byte: an answer, never a panic.
pub fn schema(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (schema, instance) = text.split_once('\0').unwrap_or((text, text));
    let _ = ferromcp_engine::schema::wrap_in_object(schema);
    if let Ok(compiled) = Schema::compile(schema, &SchemaLimits::default())
        && let Err(violations) = compiled.validate(instance)
    {
        assert!(!violations.to_string().is_empty());
    }
}

/// Any text as template and as URI: what matches, expands back.
pub fn template(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (template, uri) = text.split_once('\0').unwrap_or((text, text));
    if let Ok(parsed) = UriTemplate::parse(template)
        && let Some(variables) = parsed.matches(uri)
    {
        for (name, _) in &variables {
            assert!(parsed.variables().contains(name), "{name} is a variable of {template}");
        }
    }
}
