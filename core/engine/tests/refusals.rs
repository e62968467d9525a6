//! Requests that the engine could refuse, where host code wants to see them: `delegateRefusals`.

mod common;

use common::error_code;
use ferromcp_engine::error::code;
use ferromcp_engine::testing::Pair;
use ferromcp_engine::{
    CapabilityConfig, CatalogueKind, LocalError, LogLevel, PeerError, Reply, Server, ServerConfig, Target,
};

/// Requests of the legacy era for what this server does not have, or with parameters that are none.
const REFUSED: [(&str, &str); 9] = [
    ("does/not/exist", "{}"),
    ("server/discover", "{}"),
    ("completion/complete", "{}"),
    ("tools/call", r#"{"name":5}"#),
    ("tools/list", r#"{"cursor":5}"#),
    ("prompts/get", "{}"),
    ("resources/read", "{}"),
    ("resources/subscribe", "{}"),
    ("logging/setLevel", r#"{"level":"loud"}"#),
];

fn config(delegate_refusals: bool) -> ServerConfig {
    let mut config = ServerConfig::new("test", "1");
    config.catalogue = CatalogueKind::Delegated;
    let capabilities = r#"{"tools":{},"prompts":{},"logging":{},"resources":{"subscribe":true}}"#;
    config.capabilities = CapabilityConfig::from_json(capabilities).expect("valid");
    config.delegate = ["logging/setLevel", "resources/subscribe"].map(str::to_owned).to_vec();
    config.delegate_refusals = delegate_refusals;
    config
}

fn opened(delegate_refusals: bool) -> Pair {
    let mut pair = Pair::new(config(delegate_refusals)).expect("valid");
    pair.initialize("2025-11-25", "{}");
    pair.events.clear();
    pair
}

#[test]
fn the_engine_refuses_by_itself() {
    let mut pair = opened(false);
    for (method, params) in REFUSED {
        pair.legacy("1", method, params);
        let expected = if matches!(method, "does/not/exist" | "server/discover" | "completion/complete") {
            code::METHOD_NOT_FOUND
        } else {
            code::INVALID_PARAMS
        };
        assert_eq!(error_code(&pair.take()), expected, "{method}");
        assert!(pair.events.is_empty(), "{method}");
    }
}

#[test]
fn host_code_refuses_in_its_own_words() {
    let mut pair = opened(true);
    for (method, params) in REFUSED {
        pair.legacy("1", method, params);
        let call = pair.take_call();
        assert_eq!((call.method(), call.params_json(), &call.target), (method, Some(params), &Target::Delegated));
        pair.server.fail(call.key, &PeerError::new(-32602, "my words"), pair.now).expect("an error");
        pair.drain();
        assert_eq!(pair.take(), r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"my words"}}"#, "{method}");
    }
}

#[test]
fn what_host_code_mends_changes_nothing_in_the_engine() {
    let mut pair = opened(true);
    for (method, params) in [("logging/setLevel", r#"{"level":"loud"}"#), ("resources/subscribe", r#"{"uri":5}"#)] {
        pair.legacy("1", method, params);
        let call = pair.take_call();
        pair.server.respond(call.key, Reply::Result("{}"), pair.now).expect("a result");
        pair.drain();
        assert_eq!(pair.take(), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        assert!(pair.events.is_empty(), "{method}");
    }
    let sent = pair.server.log_stream(pair.stream, LogLevel::Debug, None, "1").expect("a stream");
    assert!(!sent, "the level is still the one that it was");
}

#[test]
fn a_progress_token_that_is_none_is_left_to_host_code() {
    let params = r#"{"name":"a","_meta":{"progressToken":[]}}"#;
    let mut pair = opened(true);
    pair.legacy("1", "tools/call", params);
    let call = pair.take_call();
    assert_eq!((call.params_json(), call.progress_token_json()), (Some(params), None));
    let mut pair = opened(false);
    pair.legacy("1", "tools/call", params);
    assert_eq!(error_code(&pair.take()), code::INVALID_PARAMS);
}

#[test]
fn a_request_that_falls_under_no_revision_is_refused_by_the_engine() {
    let mut pair = Pair::new(config(true)).expect("valid");
    pair.legacy("1", "tools/list", "{}");
    assert_eq!(error_code(&pair.take()), code::INVALID_PARAMS);
    assert!(pair.events.is_empty());
}

#[test]
fn a_static_catalogue_refuses_by_itself() {
    let mut config = common::config();
    config.delegate_refusals = true;
    assert!(matches!(Server::new(config), Err(LocalError::Config(reason)) if reason.contains("delegateRefusals")));
}
