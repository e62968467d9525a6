//! Words of the facade that are commands and values of the engine's.

use crate::error::NativeFailure;
use ferromcp::engine::{Call, ListKind, LocalError, LogLevel, Millis, OutgoingKey, RequestKey, Server};
use ferromcp::{Endpoint, Error};
use napi::bindgen_prelude::Either;

/// Adds a definition of this kind.
pub(crate) fn add(server: &mut Server, kind: &str, definition: &str, tag: u32, now: Millis) -> Result<(), LocalError> {
    let tag = u64::from(tag);
    match kind {
        "tool" => server.add_tool(definition, tag, now),
        "resource" => server.add_resource(definition, tag, now),
        "template" => server.add_resource_template(definition, tag, now),
        "prompt" => server.add_prompt(definition, tag, now),
        other => Err(LocalError::Config(format!("nothing of kind {other:?} can be added"))),
    }
}

/// Asks the client of a call something; without a call there has to be one legacy client alone.
pub(crate) fn request(
    endpoint: &Endpoint,
    related: Option<RequestKey>,
    method: &str,
    params: Option<&str>,
    timeout_ms: Option<u64>,
) -> Result<OutgoingKey, Error> {
    if related.is_some() || endpoint.stream().is_some() {
        return endpoint.request(related, method, params, timeout_ms);
    }
    let now = endpoint.now();
    let asked = endpoint.with_engine(|server| match server.legacy_streams()[..] {
        [stream] => server.request(stream, None, method, params, timeout_ms, now),
        _ => Err(LocalError::NoBackChannel),
    })?;
    Ok(asked?)
}

/// Removes a definition of this kind; false when there is none.
pub(crate) fn remove(server: &mut Server, kind: &str, key: &str, now: Millis) -> bool {
    match kind {
        "tool" => server.remove_tool(key, now),
        "resource" => server.remove_resource(key, now),
        "template" => server.remove_resource_template(key, now),
        "prompt" => server.remove_prompt(key, now),
        _ => false,
    }
}

/// Shows a definition of this kind to peers, or hides it; false when there is none.
pub(crate) fn enable(server: &mut Server, kind: &str, key: &str, enabled: bool, now: Millis) -> bool {
    match kind {
        "tool" => server.enable_tool(key, enabled, now),
        "resource" => server.enable_resource(key, enabled, now),
        "template" => server.enable_resource_template(key, enabled, now),
        "prompt" => server.enable_prompt(key, enabled, now),
        _ => false,
    }
}

pub(crate) fn list_kind(name: &str) -> Result<ListKind, NativeFailure> {
    match name {
        "tools" => Ok(ListKind::Tools),
        "prompts" => Ok(ListKind::Prompts),
        "resources" => Ok(ListKind::Resources),
        other => Err(LocalError::Config(format!("no list is called {other:?}")).into()),
    }
}

pub(crate) fn log_level(name: &str) -> Result<LogLevel, NativeFailure> {
    LogLevel::parse(name).ok_or_else(|| LocalError::Config(format!("{name:?} is not a log level")).into())
}

/// A number of ours that JavaScript gave back, or milliseconds. They count up from 0 and stay far below 2^53.
pub(crate) fn number(value: f64) -> u64 {
    value as u64
}

/// A value, or why there is none, as JavaScript takes it.
pub(crate) fn outcome<T, E: Into<NativeFailure>>(result: Result<T, E>) -> Either<T, NativeFailure> {
    match result {
        Ok(value) => Either::A(value),
        Err(error) => Either::B(error.into()),
    }
}

/// What is known of a call, as the text of a JSON object's members.
pub(crate) fn describe(call: &Call) -> String {
    format!(
        r#""requestId":{},"method":{},"protocolVersion":"{}","params":{},"meta":{},"clientInfo":{},"clientCapabilities":{},"inputResponses":{},"requestState":{}"#,
        call.id_json(),
        crate::bridge::quoted(call.method()),
        call.revision.as_str(),
        call.params_json().unwrap_or("null"),
        call.meta_json().unwrap_or("null"),
        call.client_info_json().unwrap_or("null"),
        call.client_capabilities_json(),
        call.input_responses_json().unwrap_or("null"),
        call.request_state().map_or("null".to_owned(), crate::bridge::quoted),
    )
}
