//! Acts that ask the client: host code that waits for answers or runs again with them, and rounds by hand.

use super::host::{Kind, Running};
use super::json::Json;
use ferromcp_engine::{AskKey, Asked, Call, InputRequest, LocalError, PeerError, Reply, Server};

/// What becomes of an `input` act.
pub enum Input {
    /// The answers are there.
    Known,
    /// They come later.
    Waits(AskKey),
    /// This run of the call is over.
    Over,
}

/// With which act a run begins: behind the `round` that this call comes back from, if any.
pub fn first_act(acts: &[Json], call: &Call) -> usize {
    let comes_back = |act: &Json| {
        act.get("round").is_some_and(|round| round.get("state").and_then(Json::as_text) == call.request_state())
    };
    let back = call.input_responses_json().and_then(|_| acts.iter().position(comes_back));
    back.map_or(0, |at| at + 1)
}

/// Asks the client what an `input` act names.
pub fn ask(server: &mut Server, running: &mut Running, operand: &Json, now: u64) -> Result<Input, String> {
    let mut parts = Vec::new();
    for (key, request) in operand.members() {
        let method = request.get("method").and_then(Json::as_text).ok_or("an input request has no method")?;
        parts.push((key.as_str(), method, request.get("params").map_or("{}".to_owned(), Json::write)));
    }
    let requests: Vec<_> = parts.iter().map(|(key, method, params)| InputRequest { key, method, params }).collect();
    match server.ask(running.call.key, &requests, running.reentry, None, now) {
        Ok(Asked::Answered(mut answers)) => {
            running.inputs.append(&mut answers);
            Ok(Input::Known)
        }
        Ok(Asked::Waiting(ask)) => Ok(Input::Waits(ask)),
        Ok(Asked::Suspended) => Ok(Input::Over),
        Err(error) => refused(server, running, &error, now).map(|()| Input::Over),
    }
}

/// Answers with a round by hand.
pub fn round(server: &mut Server, running: &Running, operand: &Json, now: u64) -> Result<(), String> {
    let requests = operand.get("requests").map(Json::write);
    let reply =
        Reply::InputRequired { requests: requests.as_deref(), state: operand.get("state").and_then(Json::as_text) };
    match server.respond(running.call.key, reply, now) {
        Ok(_) => Ok(()),
        Err(error) => refused(server, running, &error, now),
    }
}

/// Nothing was asked, and host code does nothing about it.
fn refused(server: &mut Server, running: &Running, error: &LocalError, now: u64) -> Result<(), String> {
    match error {
        LocalError::CapabilityNotDeclared(path) => {
            server.fail_capability(running.call.key, path, now).map(drop).map_err(|error| error.to_string())
        }
        other => raise(server, running, &other.to_string(), now),
    }
}

/// Host code fails.
pub fn raise(server: &mut Server, running: &Running, text: &str, now: u64) -> Result<(), String> {
    let key = running.call.key;
    let sent = match running.kind {
        Kind::Tool => server.respond(key, Reply::Text { text, is_error: true }, now),
        _ => server.fail(key, &PeerError::internal(text), now),
    };
    sent.map(drop).map_err(|error| error.to_string())
}

/// The results that `input` acts have got, as a JSON array.
pub fn inputs(running: &Running) -> String {
    format!("[{}]", running.inputs.join(","))
}

/// What a round by hand has brought back.
pub fn handed_back(running: &Running) -> String {
    let responses = running.call.input_responses_json().unwrap_or("null");
    let state = running.call.request_state().map_or("null".to_owned(), |state| Json::text(state).write());
    format!(r#"{{"responses":{responses},"state":{state}}}"#)
}

/// Answers with one text, as each kind of call has it.
pub fn respond_text(server: &mut Server, running: &Running, text: &str, now: u64) -> Result<(), String> {
    let (call, written) = (&running.call, Json::text(text).write());
    let sent = match running.kind {
        Kind::Tool => server.respond(call.key, Reply::Text { text, is_error: false }, now),
        Kind::Prompt => {
            let messages = format!(r#"[{{"role":"user","content":{{"type":"text","text":{written}}}}}]"#);
            server.respond(call.key, Reply::Prompt { description: None, messages: &messages }, now)
        }
        Kind::Resource | Kind::Template => {
            let params = Json::parse(call.params_json().unwrap_or("{}"))?;
            let uri = params.get("uri").map(Json::write).unwrap_or_default();
            server.respond(call.key, Reply::Contents(&format!(r#"[{{"uri":{uri},"text":{written}}}]"#)), now)
        }
    };
    sent.map(drop).map_err(|error| error.to_string())
}
