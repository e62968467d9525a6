//! The host code of a vector: what its tools, resources, prompts and completions do when they are called.

use super::asking;
use super::json::Json;
use ferromcp_engine::{
    AskKey, Call, LogLevel, OutgoingError, OutgoingKey, PeerError, Reentry, Reply, RequestKey, Server, Target,
};
use std::collections::BTreeMap;

/// What a handler belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Tool,
    Resource,
    Template,
    Prompt,
}

/// One handler, under the tag that the engine gives back.
struct Handler {
    name: String,
    kind: Kind,
    acts: Vec<Json>,
    reentry: Reentry,
    completions: Json,
}

/// A call that has not come to the end of its acts.
pub struct Running {
    name: String,
    pub kind: Kind,
    pub call: Call,
    pub reentry: Reentry,
    acts: Vec<Json>,
    next: usize,
    /// Waits for `release`.
    held: bool,
    /// What became of the request to the client, once it is known.
    answer: Option<Result<String, String>>,
    /// The results that `input` acts have got.
    pub inputs: Vec<String>,
}

/// All handlers, the calls that run, and what the script may ask about them.
#[derive(Default)]
pub struct Host {
    handlers: Vec<Handler>,
    running: BTreeMap<u64, Running>,
    asked: BTreeMap<OutgoingKey, RequestKey>,
    /// What `input` acts wait for.
    waiting: BTreeMap<AskKey, RequestKey>,
    /// Handlers that were called since the script last looked.
    pub called: Vec<String>,
    /// Calls that were told of their cancellation: the handler, and the reason that the peer gave.
    pub cancelled: Vec<(String, Option<String>)>,
    /// Calls whose connection is to be closed, while they go on.
    pub closing: Vec<RequestKey>,
}

impl Host {
    /// Adds one entry of `tools`, `resources`, `templates` or `prompts` to the server.
    pub fn add(&mut self, server: &mut Server, kind: Kind, entry: &Json, now: u64) -> Result<(), String> {
        let definition = entry.get("definition").ok_or("an entry has no definition")?;
        let key = match kind {
            Kind::Tool | Kind::Prompt => "name",
            Kind::Resource => "uri",
            Kind::Template => "uriTemplate",
        };
        let name = definition.get(key).and_then(Json::as_text).unwrap_or_default().to_owned();
        let tag = self.handlers.len() as u64;
        let text = definition.write();
        let added = match kind {
            Kind::Tool => server.add_tool(&text, tag, now),
            Kind::Resource => server.add_resource(&text, tag, now),
            Kind::Template => server.add_resource_template(&text, tag, now),
            Kind::Prompt => server.add_prompt(&text, tag, now),
        };
        added.map_err(|error| error.to_string())?;
        let acts = entry.get("behaviour").map(|acts| acts.elements().to_vec()).unwrap_or_default();
        let completions = entry.get("completions").cloned().unwrap_or(Json::Object(Vec::new()));
        let reentry = match entry.get("reentry").and_then(Json::as_text) {
            None | Some("replay") => Reentry::Replay,
            Some("held") => Reentry::Held,
            Some(other) => return Err(format!("no reentry {other}")),
        };
        self.handlers.push(Handler { name, kind, acts, reentry, completions });
        Ok(())
    }

    /// Starts what a call asks for.
    pub fn start(&mut self, server: &mut Server, call: Call, now: u64) -> Result<(), String> {
        let tag = match &call.target {
            Target::Tool(tag) | Target::Resource(tag) | Target::Prompt(tag) => *tag,
            Target::Template { tag, .. } => *tag,
            Target::Complete { tag, argument, value, .. } => {
                let (tag, argument, value) = (*tag, argument.clone(), value.clone());
                return self.complete(server, &call, tag, &argument, &value, now);
            }
            other => return Err(format!("no handler for {other:?}")),
        };
        let handler = &self.handlers[usize::try_from(tag).expect("tags are indices")];
        self.called.push(handler.name.clone());
        let (key, name, acts) = (call.key, handler.name.clone(), handler.acts.clone());
        let (kind, reentry, next) = (handler.kind, handler.reentry, asking::first_act(&acts, &call));
        let running = Running { name, kind, call, reentry, acts, next, held: false, answer: None, inputs: Vec::new() };
        self.running.insert(key.0, running);
        self.run(server, key, now)
    }

    /// Lets the oldest call of a handler that waits go on.
    pub fn release(&mut self, server: &mut Server, name: &str, now: u64) -> Result<(), String> {
        let held = self.running.values_mut().find(|running| running.held && running.name == name);
        let running = held.ok_or_else(|| format!("no call of {name} waits"))?;
        running.held = false;
        let key = running.call.key;
        self.run(server, key, now)
    }

    /// A call is over before its end; its acts can go on, and send nothing.
    pub fn cancel(&mut self, key: RequestKey, reason: Option<String>) {
        if let Some(running) = self.running.get(&key.0) {
            self.cancelled.push((running.name.clone(), reason));
        }
    }

    /// A call that wanted to be a task is one, or goes on without.
    pub fn begun(&mut self, server: &mut Server, key: RequestKey, now: u64) -> Result<(), String> {
        self.run(server, key, now)
    }

    /// The client answered a request, or nobody did.
    pub fn answered(
        &mut self,
        server: &mut Server,
        key: OutgoingKey,
        outcome: Result<String, OutgoingError>,
        now: u64,
    ) -> Result<(), String> {
        let Some(call) = self.asked.remove(&key) else { return Ok(()) };
        let outcome = outcome.map_err(|error| match error {
            OutgoingError::Peer(error) => format!("{} {}", error.code, error.message),
            OutgoingError::TimedOut => "timed out".to_owned(),
            OutgoingError::Closed => "unavailable".to_owned(),
            OutgoingError::Invalid(reason) => format!("invalid: {reason}"),
        });
        if let Some(running) = self.running.get_mut(&call.0) {
            running.answer = Some(outcome);
        }
        self.run(server, call, now)
    }

    /// The client has answered what an `input` act asked, or will not.
    pub fn inputs(
        &mut self,
        server: &mut Server,
        ask: AskKey,
        answers: Vec<Result<String, OutgoingError>>,
        now: u64,
    ) -> Result<(), String> {
        let Some(call) = self.waiting.remove(&ask) else { return Err(format!("nobody waits for {ask:?}")) };
        let Some(running) = self.running.get_mut(&call.0) else { return Ok(()) };
        match answers.into_iter().collect::<Result<Vec<_>, _>>() {
            Ok(mut answers) => running.inputs.append(&mut answers),
            Err(error) => {
                let running = self.running.remove(&call.0).ok_or("it was there")?;
                return asking::raise(server, &running, &format!("{error:?}"), now);
            }
        }
        self.run(server, call, now)
    }

    fn complete(
        &mut self,
        server: &mut Server,
        call: &Call,
        tag: u64,
        argument: &str,
        typed: &str,
        now: u64,
    ) -> Result<(), String> {
        let handler = &self.handlers[usize::try_from(tag).expect("tags are indices")];
        let Some(completion) = handler.completions.get(argument).cloned() else {
            let none = Reply::Completion { values: "[]", total: None, has_more: None };
            return server.respond(call.key, none, now).map(drop).map_err(|error| error.to_string());
        };
        self.called.push(format!("{}/{argument}", handler.name));
        if completion.get("raise").is_some() || completion.get("result").is_some() {
            return final_act(server, call, None, &completion, now);
        }
        let fits = |value: &&Json| value.as_text().is_some_and(|value| value.starts_with(typed));
        let values = completion.get("values").map(Json::elements).unwrap_or_default();
        let values = Json::Array(values.iter().filter(fits).cloned().collect()).write();
        let reply = Reply::Completion {
            values: &values,
            total: completion.get("total").and_then(Json::as_u64),
            has_more: completion.get("hasMore").map(Json::is_true),
        };
        server.respond(call.key, reply, now).map(drop).map_err(|error| error.to_string())
    }

    /// Does acts until one has to wait or none is left.
    fn run(&mut self, server: &mut Server, key: RequestKey, now: u64) -> Result<(), String> {
        let Some(mut running) = self.running.remove(&key.0) else { return Ok(()) };
        while let Some(act) = running.acts.get(running.next).cloned() {
            running.next += 1;
            let [(verb, operand)] = act.members() else {
                return Err(format!("an act has one member: {}", act.write()));
            };
            let failed = |error: ferromcp_engine::LocalError| format!("{verb}: {error}");
            match verb.as_str() {
                "wait" => {
                    running.held = true;
                    self.running.insert(key.0, running);
                    return Ok(());
                }
                "closeStream" => self.closing.push(key),
                "begin" => {
                    if server.begin_task(key, now).map_err(failed)? {
                        self.running.insert(key.0, running);
                        return Ok(());
                    }
                }
                "progress" => {
                    let part = |at: usize| operand.elements().get(at).filter(|part| !part.is_null());
                    let progress = part(0).and_then(Json::as_f64).ok_or("progress has no value")?;
                    let total = part(1).and_then(Json::as_f64);
                    server.progress(key, progress, total, part(2).and_then(Json::as_text), now).map_err(failed)?;
                }
                "log" => {
                    let [level, logger, data] = operand.elements() else { return Err("log has three parts".into()) };
                    let level = level.as_text().and_then(LogLevel::parse).ok_or("log has no level")?;
                    server.log(key, level, logger.as_text(), &data.write()).map_err(failed)?;
                }
                "notify" => {
                    let method = operand.get("method").and_then(Json::as_text).ok_or("notify has no method")?;
                    let params = operand.get("params").map(Json::write);
                    server.notify(key, method, params.as_deref()).map_err(failed)?;
                }
                "ask" => {
                    let method = operand.get("method").and_then(Json::as_text).ok_or("ask has no method")?;
                    let params = operand.get("params").map(Json::write);
                    let timeout = operand.get("timeoutMs").and_then(Json::as_u64);
                    let stream = running.call.stream;
                    match server.request(stream, Some(key), method, params.as_deref(), timeout, now) {
                        Ok(outgoing) => {
                            self.asked.insert(outgoing, key);
                            self.running.insert(key.0, running);
                            return Ok(());
                        }
                        Err(_) => running.answer = Some(Err("unavailable".to_owned())),
                    }
                }
                "input" => match asking::ask(server, &mut running, operand, now)? {
                    asking::Input::Known => {}
                    asking::Input::Waits(ask) => {
                        self.waiting.insert(ask, key);
                        self.running.insert(key.0, running);
                        return Ok(());
                    }
                    asking::Input::Over => return Ok(()),
                },
                "round" => return asking::round(server, &running, operand, now),
                "inputs" => asking::respond_text(server, &running, &asking::inputs(&running), now)?,
                "handedBack" => asking::respond_text(server, &running, &asking::handed_back(&running), now)?,
                "answered" => {
                    let outcome = running.answer.clone().unwrap_or_else(|| Err("unavailable".to_owned()));
                    let is_error = outcome.is_err();
                    let content = text_blocks(&Json::text(&outcome.unwrap_or_else(|why| why)));
                    let reply = Reply::Tool { content: &content, structured: None, is_error, meta: None };
                    server.respond(key, reply, now).map_err(failed)?;
                }
                _ => final_act(server, &running.call, Some(running.kind), &act, now)?,
            }
        }
        Ok(())
    }
}

/// An act that answers the call.
fn final_act(server: &mut Server, call: &Call, kind: Option<Kind>, act: &Json, now: u64) -> Result<(), String> {
    let key = call.key;
    let [(verb, operand)] = act.members() else { return Err(format!("an act has one member: {}", act.write())) };
    let result = match (verb.as_str(), kind) {
        ("echo", Some(Kind::Tool)) => {
            let arguments = Json::parse(call.arguments_json())?;
            let text = arguments.get(operand.as_text().unwrap_or_default()).cloned().unwrap_or_else(|| Json::text(""));
            respond_text(server, key, &text, now)
        }
        ("echo", Some(Kind::Prompt)) => {
            let arguments = Json::parse(call.arguments_json())?;
            let text = arguments.get(operand.as_text().unwrap_or_default()).cloned().unwrap_or_else(|| Json::text(""));
            let messages = format!(r#"[{{"role":"user","content":{{"type":"text","text":{}}}}}]"#, text.write());
            server.respond(key, Reply::Prompt { description: None, messages: &messages }, now)
        }
        ("reflect", Some(Kind::Tool)) => {
            let structured = Some(call.arguments_json());
            server.respond(key, Reply::Tool { content: "[]", structured, is_error: false, meta: None }, now)
        }
        ("reflect", Some(Kind::Template)) => {
            let Target::Template { variables, .. } = &call.target else { return Err("no template was matched".into()) };
            let sorted: BTreeMap<_, _> = variables.iter().cloned().collect();
            let text = Json::text(&serde_json::to_string(&sorted).map_err(|error| error.to_string())?).write();
            let params = Json::parse(call.params_json().unwrap_or("{}"))?;
            let uri = params.get("uri").map(Json::write).unwrap_or_default();
            let contents = format!(r#"[{{"uri":{uri},"mimeType":"application/json","text":{text}}}]"#);
            server.respond(key, Reply::Contents(&contents), now)
        }
        ("revision", Some(Kind::Tool)) => respond_text(server, key, &Json::text(call.revision.as_str()), now),
        ("meta", Some(Kind::Tool)) => {
            let meta = Json::parse(call.meta_json().unwrap_or("{}"))?;
            let found = meta.get(operand.as_text().unwrap_or_default()).map_or("absent".to_owned(), Json::write);
            respond_text(server, key, &Json::text(&found), now)
        }
        ("return", Some(Kind::Tool)) => {
            let content = operand.get("content").map_or("[]".to_owned(), Json::write);
            let structured = operand.get("structuredContent").map(Json::write);
            let meta = operand.get("_meta").map(Json::write);
            let is_error = operand.get("isError").is_some_and(Json::is_true);
            let reply =
                Reply::Tool { content: &content, structured: structured.as_deref(), is_error, meta: meta.as_deref() };
            server.respond(key, reply, now)
        }
        ("return", Some(Kind::Resource | Kind::Template)) => {
            server.respond(key, Reply::Contents(&operand.write()), now)
        }
        ("return", Some(Kind::Prompt)) => {
            let messages = operand.get("messages").map_or("[]".to_owned(), Json::write);
            let description = operand.get("description").and_then(Json::as_text);
            server.respond(key, Reply::Prompt { description, messages: &messages }, now)
        }
        ("result", _) => match server.respond(key, Reply::Result(&operand.write()), now) {
            // What the engine does not let host code send is a failure of host code.
            Err(error) => server.fail(key, &PeerError::internal(error.to_string()), now),
            sent => sent,
        },
        ("raise", Some(Kind::Tool)) => {
            let content = text_blocks(operand);
            server.respond(key, Reply::Tool { content: &content, structured: None, is_error: true, meta: None }, now)
        }
        ("raise", _) => server.fail(key, &PeerError::internal(operand.as_text().unwrap_or_default()), now),
        ("fail", _) => {
            let code = operand.get("code").and_then(Json::as_f64).ok_or("fail has no code")?;
            let mut error = PeerError::new(code as i64, operand.get("message").and_then(Json::as_text).unwrap_or(""));
            error.data = operand.get("data").map(Json::write);
            server.fail(key, &error, now)
        }
        _ => return Err(format!("no such act here: {}", act.write())),
    };
    result.map(drop).map_err(|error| format!("{verb}: {error}"))
}

fn text_blocks(text: &Json) -> String {
    format!(r#"[{{"type":"text","text":{}}}]"#, text.write())
}

fn respond_text(
    server: &mut Server,
    key: RequestKey,
    text: &Json,
    now: u64,
) -> Result<bool, ferromcp_engine::LocalError> {
    let content = text_blocks(text);
    server.respond(key, Reply::Tool { content: &content, structured: None, is_error: false, meta: None }, now)
}
