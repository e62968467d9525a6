//! What the tests of this folder share.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "each test file is a crate of its own and uses a part of this"
)]

use ferromcp_engine::testing::Pair;
use ferromcp_engine::{CapabilityConfig, ServerConfig};
use serde_json::Value;

pub const ECHO: u64 = 1;
pub const FORECAST: u64 = 2;
pub const GREETING: u64 = 3;
pub const ITEM: u64 = 4;
pub const ASK: u64 = 5;

pub fn config() -> ServerConfig {
    let mut config = ServerConfig::new("test", "1");
    config.capabilities = CapabilityConfig::from_json(r#"{"logging":{},"completions":{}}"#).expect("valid");
    config
}

/// A server with one of everything.
pub fn pair_with(config: ServerConfig) -> Pair {
    let mut pair = Pair::new(config).expect("a valid configuration");
    let text = r#"{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}"#;
    let server = &mut pair.server;
    server.add_tool(text, ECHO, 0).expect("valid");
    let forecast = r#"{"name":"forecast","title":"Forecast","inputSchema":{"type":"object"},"outputSchema":{"type":"array","items":{"type":"integer"}}}"#;
    server.add_tool(forecast, FORECAST, 0).expect("valid");
    server.add_resource(r#"{"uri":"mem://greeting","name":"greeting"}"#, GREETING, 0).expect("valid");
    server.add_resource_template(r#"{"uriTemplate":"mem://item/{id}","name":"item"}"#, ITEM, 0).expect("valid");
    let ask = r#"{"name":"ask","arguments":[{"name":"topic","required":true},{"name":"tone"}]}"#;
    server.add_prompt(ask, ASK, 0).expect("valid");
    pair.advance(1_000);
    pair.sent.clear();
    pair.events.clear();
    pair
}

pub fn pair() -> Pair {
    pair_with(config())
}

pub fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

pub fn error_code(text: &str) -> i64 {
    json(text)["error"]["code"].as_i64().unwrap_or_else(|| panic!("{text} is no error"))
}
