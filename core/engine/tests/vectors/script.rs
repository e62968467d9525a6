//! Runs the steps of one vector against one server, under a clock that only the steps move.

#[path = "http.rs"]
mod http;

use super::host::{Host, Kind};
use super::json::Json;
use super::pattern::{self, Names, shorten};
use ferromcp_engine::testing::{EPOCH, Store};
use ferromcp_engine::{CancelReason, DiagnosticKind, Event, Output, Server, ServerConfig, StreamId};
use http::Web;
use std::collections::{BTreeMap, VecDeque};

/// How input is cut on its way in: all at once, or so many bytes at a time.
#[derive(Clone, Copy, Debug)]
pub struct Cut(pub usize);

/// The longest that `transmit` lets time pass, in milliseconds.
const PATIENCE: u64 = 60_000;

/// One server, its host code, its peers and the time.
pub struct Script {
    server: Server,
    host: Host,
    /// Where tasks are kept.
    store: Store,
    /// What HTTP has beside the server, in a vector that goes over it.
    web: Option<Web>,
    names: Names,
    cut: Cut,
    now: u64,
    /// Streams by the number that steps give them.
    streams: BTreeMap<u64, StreamId>,
    partial: BTreeMap<StreamId, Vec<u8>>,
    sent: BTreeMap<StreamId, VecDeque<Json>>,
    /// Events that a step may ask for: the kind, and what it carries.
    events: Vec<(&'static str, Json)>,
    /// Every message gets a member that no message has, to see that the vectors would notice.
    pub corrupt: bool,
}

impl Script {
    /// A server as a vector describes it; with `http`, it is served over that.
    pub fn new(description: &Json, http: Option<&Json>, mut names: Names, cut: Cut) -> Result<Self, String> {
        let description = &names.resolve(description)?;
        const LISTS: [(&str, Kind); 4] = [
            ("tools", Kind::Tool),
            ("resources", Kind::Resource),
            ("templates", Kind::Template),
            ("prompts", Kind::Prompt),
        ];
        let of_config = |key: &str| LISTS.iter().all(|(list, _)| *list != key);
        let members = description.members().iter().filter(|(key, _)| of_config(key)).cloned().collect();
        let config = ServerConfig::from_json(&Json::Object(members).write()).map_err(|error| error.to_string())?;
        let info = description.get("info").cloned().ok_or("a server has info")?;
        names.bind("identity", Json::Object(vec![("io.modelcontextprotocol/serverInfo".to_owned(), info)]));
        let mut server = Server::new(config).map_err(|error| error.to_string())?;
        server.set_entropy(counting());
        server.set_epoch(EPOCH);
        let web = http.map(|config| Web::new(&names.resolve(config)?)).transpose()?;
        let mut script = Self {
            server,
            host: Host::default(),
            store: Store::default(),
            web,
            names,
            cut,
            now: 0,
            streams: BTreeMap::new(),
            partial: BTreeMap::new(),
            sent: BTreeMap::new(),
            events: Vec::new(),
            corrupt: false,
        };
        for (list, kind) in LISTS {
            for entry in description.get(list).map(Json::elements).unwrap_or_default() {
                script.host.add(&mut script.server, kind, entry, 0).map_err(|why| format!("{list}: {why}"))?;
            }
        }
        script.drain()?;
        script.advance(PATIENCE)?;
        script.events.clear();
        Ok(script)
    }

    /// Runs all steps; afterwards nothing may be left over.
    pub fn run(&mut self, steps: &[Json]) -> Result<(), String> {
        for (at, step) in steps.iter().enumerate() {
            let resolved = self.names.resolve(step).map_err(|why| format!("step {at}: {why}"))?;
            self.step(&resolved).map_err(|why| format!("step {at} {}: {why}", shorten(&resolved.write())))?;
        }
        self.nothing_sent().map_err(|why| format!("after the last step: {why}"))
    }

    fn step(&mut self, step: &Json) -> Result<(), String> {
        let on = step.get("on").and_then(Json::as_u64).unwrap_or(1);
        let verbs: Vec<_> = step.members().iter().filter(|(key, _)| key != "on" && key != "reason").collect();
        let [(verb, operand)] = verbs[..] else { return Err("a step has one verb".into()) };
        if self.web.is_some()
            && let Some(done) = self.http_step(verb, operand, step)
        {
            return done;
        }
        let stream = self.stream(on);
        match verb.as_str() {
            "receive" => self.receive(stream, format!("{}\n", operand.write()).as_bytes()),
            "receiveText" => self.receive(stream, operand.as_text().ok_or("no text")?.as_bytes()),
            "receiveBytes" => self.receive(stream, &bytes(operand.as_text().unwrap_or_default())?),
            "initialize" => self.initialize(stream, operand),
            "transmit" => {
                let message = self.next_message(stream)?;
                self.hold(operand, &message)
            }
            "error" => {
                let message = self.next_message(stream)?;
                self.hold(&error_pattern(operand), &message)
            }
            "transmitAll" => {
                let wanted = operand.elements();
                let messages = wanted.iter().map(|_| self.next_message(stream)).collect::<Result<Vec<_>, _>>()?;
                let mut bound = Vec::new();
                pattern::unordered(wanted, &messages, &mut bound)?;
                self.bind(bound);
                Ok(())
            }
            "silence" => {
                self.advance(operand.as_u64().ok_or("no milliseconds")?)?;
                self.nothing_sent()
            }
            "advance" => self.advance(operand.as_u64().ok_or("no milliseconds")?),
            "release" => {
                self.host.release(&mut self.server, operand.as_text().unwrap_or_default(), self.now)?;
                self.drain()
            }
            "called" => {
                let mut called: Vec<_> = self.host.called.drain(..).map(|name| Json::text(&name)).collect();
                called.sort_by_key(Json::write);
                let mut wanted = operand.elements().to_vec();
                wanted.sort_by_key(Json::write);
                if called == wanted { Ok(()) } else { Err(format!("host code was called: {called:?}")) }
            }
            "cancelled" => self.cancelled(operand.as_text().unwrap_or_default(), step.get("reason")),
            "event" => self.event(operand),
            "catalogue" => self.change(operand),
            "refuses" => self.refuses(operand, step.get("reason").and_then(Json::as_text).unwrap_or_default()),
            "updated" => {
                self.server.resource_updated(operand.as_text().unwrap_or_default());
                self.drain()
            }
            "end" => {
                let ended = match operand.as_text() {
                    Some("input") => self.server.end_of_input(stream, self.now),
                    _ => self.server.closed(stream, self.now),
                };
                ended.map_err(|error| error.to_string())?;
                self.drain()
            }
            "principal" => self.server.set_principal(stream, operand.as_text()).map_err(|error| error.to_string()),
            "shutdown" => {
                self.server.shutdown(self.now);
                self.drain()?;
                if let Some(web) = &mut self.web {
                    web.http.shutdown();
                }
                self.drain()
            }
            other => Err(format!("unknown verb {other}")),
        }
    }

    fn stream(&mut self, number: u64) -> StreamId {
        let (server, now) = (&mut self.server, self.now);
        *self.streams.entry(number).or_insert_with(|| server.open(now))
    }

    fn receive(&mut self, stream: StreamId, bytes: &[u8]) -> Result<(), String> {
        for piece in bytes.chunks(self.cut.0) {
            self.server.receive(stream, piece, self.now).map_err(|error| error.to_string())?;
            self.drain()?;
        }
        Ok(())
    }

    fn initialize(&mut self, stream: StreamId, operand: &Json) -> Result<(), String> {
        let version = operand.get("version").unwrap_or(operand).write();
        let capabilities = operand.get("capabilities").map_or("{}".to_owned(), Json::write);
        let request = format!(
            r#"{{"jsonrpc":"2.0","id":"initialize","method":"initialize","params":{{"protocolVersion":{version},"capabilities":{capabilities},"clientInfo":{{"name":"vector","version":"1"}}}}}}"#
        );
        self.receive(stream, format!("{request}\n").as_bytes())?;
        let answer = self.next_message(stream)?;
        let agreed = answer.get("result").and_then(|result| result.get("protocolVersion"));
        if agreed.map(Json::write).as_deref() != Some(&version) {
            return Err(format!("initialize was answered by {}", shorten(&answer.write())));
        }
        self.receive(stream, b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        self.events.retain(|(kind, _)| *kind != "initialized");
        Ok(())
    }

    /// The next message on a stream, letting time pass until there is one.
    fn next_message(&mut self, stream: StreamId) -> Result<Json, String> {
        let end = self.now + PATIENCE;
        loop {
            if let Some(message) = self.sent.get_mut(&stream).and_then(VecDeque::pop_front) {
                return Ok(message);
            }
            let due = self.due().filter(|due| *due <= end);
            let Some(due) = due else { return Err("nothing is sent".into()) };
            self.tick(due)?;
        }
    }

    /// When something has to be done.
    fn due(&self) -> Option<u64> {
        let http = self.web.as_ref().and_then(|web| web.http.poll_timeout());
        self.server.poll_timeout().into_iter().chain(http).min()
    }

    /// Lets time pass until then, and does it.
    fn tick(&mut self, due: u64) -> Result<(), String> {
        self.now = due.max(self.now);
        self.server.handle_timeout(self.now);
        self.drain()?;
        if let Some(web) = &mut self.web {
            web.http.handle_timeout(&mut self.server, self.now);
        }
        self.drain()
    }

    fn hold(&mut self, wanted: &Json, message: &Json) -> Result<(), String> {
        let mut bound = Vec::new();
        pattern::matches(wanted, message, &mut bound)
            .map_err(|why| format!("{why}\n      in {}", shorten(&message.write())))?;
        self.bind(bound);
        Ok(())
    }

    fn bind(&mut self, bound: Vec<(String, Json)>) {
        for (name, value) in bound {
            self.names.bind(&name, value);
        }
    }

    fn advance(&mut self, ms: u64) -> Result<(), String> {
        let end = self.now + ms;
        while let Some(due) = self.due().filter(|due| *due <= end) {
            self.tick(due)?;
        }
        self.now = end;
        Ok(())
    }

    fn nothing_sent(&mut self) -> Result<(), String> {
        if let Some(web) = &mut self.web {
            return web.nothing_left();
        }
        match self.sent.values().find_map(|sent| sent.front()) {
            None => Ok(()),
            Some(message) => Err(format!("unexpected: {}", shorten(&message.write()))),
        }
    }

    fn cancelled(&mut self, name: &str, reason: Option<&Json>) -> Result<(), String> {
        let at = self.host.cancelled.iter().position(|(cancelled, _)| cancelled == name);
        let Some(at) = at else { return Err("host code was told of no cancellation".into()) };
        let (_, told) = self.host.cancelled.remove(at);
        match reason.and_then(Json::as_text) {
            Some(reason) if told.as_deref() != Some(reason) => Err(format!("the reason was {told:?}")),
            _ => Ok(()),
        }
    }

    fn event(&mut self, wanted: &Json) -> Result<(), String> {
        let kind = wanted.get("kind").and_then(Json::as_text).unwrap_or_default();
        if kind == "none" {
            return if self.events.is_empty() { Ok(()) } else { Err(format!("events: {:?}", self.events)) };
        }
        let fits = |(name, value): &(&'static str, Json)| {
            *name == kind && pattern::matches(wanted, value, &mut Vec::new()).is_ok()
        };
        match self.events.iter().position(fits) {
            Some(at) => {
                self.events.remove(at);
                Ok(())
            }
            None => Err(format!("events: {:?}", self.events)),
        }
    }

    fn change(&mut self, change: &Json) -> Result<(), String> {
        const KINDS: [(&str, Kind); 4] = [
            ("tools", Kind::Tool),
            ("resources", Kind::Resource),
            ("templates", Kind::Template),
            ("prompts", Kind::Prompt),
        ];
        for (list, kind) in KINDS {
            let of =
                |what: &str| change.get(what).and_then(|what| what.get(list)).map(Json::elements).unwrap_or_default();
            for entry in of("add") {
                self.host.add(&mut self.server, kind, entry, self.now)?;
            }
            for name in of("remove") {
                let name = name.as_text().unwrap_or_default();
                let removed = match kind {
                    Kind::Tool => self.server.remove_tool(name, self.now),
                    Kind::Resource => self.server.remove_resource(name, self.now),
                    Kind::Template => self.server.remove_resource_template(name, self.now),
                    Kind::Prompt => self.server.remove_prompt(name, self.now),
                };
                if !removed {
                    return Err(format!("there is no {name} to remove"));
                }
            }
        }
        self.drain()
    }

    fn refuses(&mut self, operand: &Json, reason: &str) -> Result<(), String> {
        let [(what, definition)] = operand.members() else { return Err("one definition is refused".into()) };
        let kind = match what.as_str() {
            "tool" => Kind::Tool,
            "resource" => Kind::Resource,
            "template" => Kind::Template,
            _ => Kind::Prompt,
        };
        let entry = Json::Object(vec![("definition".to_owned(), definition.clone())]);
        match self.host.add(&mut self.server, kind, &entry, self.now) {
            Ok(()) => Err("the definition was accepted".into()),
            Err(why) if !why.contains(reason) => Err(format!("the reason was: {why}")),
            Err(_) => self.drain(),
        }
    }

    /// Takes all outputs and lets host code do what they ask for, until there are none.
    fn drain(&mut self) -> Result<(), String> {
        while let Some(output) = self.server.poll_output() {
            match output {
                Output::Transmit { stream, lane, sent, bytes } => match &mut self.web {
                    Some(web) => web.http.take(&mut self.server, stream, lane, sent, bytes, self.now),
                    None => self.take(stream, &bytes)?,
                },
                Output::Unanswered { stream, lane } => {
                    if let Some(web) = &mut self.web {
                        web.http.take_unanswered(&mut self.server, stream, lane, self.now);
                    }
                }
                Output::Event(event) => self.handle(event)?,
            }
        }
        if let Some(web) = &mut self.web {
            for key in self.host.closing.drain(..) {
                web.http.close_sse_stream(&self.server, key, self.now);
            }
            web.pump();
        }
        Ok(())
    }

    fn take(&mut self, stream: StreamId, bytes: &[u8]) -> Result<(), String> {
        let partial = self.partial.entry(stream).or_default();
        partial.extend_from_slice(bytes);
        while let Some(end) = partial.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = partial.drain(..=end).collect();
            let line = std::str::from_utf8(&line[..end]).map_err(|error| format!("output is not UTF-8: {error}"))?;
            if line.ends_with('\r') {
                return Err("a line ends with CR".into());
            }
            let mut message = Json::parse(line)?;
            if let (true, Json::Object(members)) = (self.corrupt, &mut message) {
                members.push(("corrupt".to_owned(), Json::text("")));
            }
            self.sent.entry(stream).or_default().push_back(message);
        }
        if partial.is_empty() { Ok(()) } else { Err("a transmission ends within a line".into()) }
    }

    fn handle(&mut self, event: Event) -> Result<(), String> {
        let object = |members: &[(&str, &str)]| {
            Json::Object(members.iter().map(|(key, value)| ((*key).to_owned(), Json::text(value))).collect())
        };
        match event {
            Event::Call(call) => self.host.start(&mut self.server, call, self.now)?,
            Event::Answers { ask, answers, .. } => self.host.inputs(&mut self.server, ask, answers, self.now)?,
            Event::TaskBegun { call, .. } => self.host.begun(&mut self.server, call, self.now)?,
            Event::Store { op, request } => {
                let outcome = self.store.execute(request, EPOCH + self.now);
                self.server.stored(op, outcome, self.now);
            }
            Event::Response { key, outcome } => self.host.answered(&mut self.server, key, outcome, self.now)?,
            Event::Cancelled { key, reason } => {
                let reason = if let CancelReason::Peer(reason) = reason { reason } else { None };
                self.host.cancel(key, reason);
            }
            Event::Initialized { .. } => self.events.push(("initialized", object(&[("kind", "initialized")]))),
            Event::Drained { .. } => self.events.push(("drained", object(&[("kind", "drained")]))),
            Event::Subscribed { uri, .. } => {
                self.events.push(("subscribed", object(&[("kind", "subscribed"), ("uri", &uri)])));
            }
            Event::Unsubscribed { uri, .. } => {
                self.events.push(("unsubscribed", object(&[("kind", "unsubscribed"), ("uri", &uri)])));
            }
            Event::Diagnostic(diagnostic) => {
                let kind = match diagnostic.kind {
                    DiagnosticKind::Noise => "noise",
                    DiagnosticKind::BadMessage => "badMessage",
                    DiagnosticKind::StrayResponse => "strayResponse",
                    DiagnosticKind::BadResult => "badResult",
                    DiagnosticKind::Definition => "definition",
                    _ => "other",
                };
                self.events.push(("diagnostic", object(&[("kind", "diagnostic"), ("diagnostic", kind)])));
            }
            Event::Notification { method, .. } => {
                self.events.push(("notification", object(&[("kind", "notification"), ("method", &method)])));
            }
            _ => {}
        }
        Ok(())
    }
}

/// Bytes that never repeat within a script, and are the same each time it runs.
fn counting() -> impl FnMut(&mut [u8]) + Send {
    let mut next = 0u64;
    move |bytes| {
        for chunk in bytes.chunks_mut(8) {
            next += 1;
            chunk.copy_from_slice(&next.to_be_bytes()[..chunk.len()]);
        }
    }
}

/// An error response: its code and id as given, some message, and data only as given.
fn error_pattern(operand: &Json) -> Json {
    let any_line = || Json::Object(vec![("$line".to_owned(), Json::Literal("true".to_owned()))]);
    let anything = || Json::Object(vec![("$any".to_owned(), Json::Literal("true".to_owned()))]);
    let optional = |value: Json| Json::Object(vec![("$optional".to_owned(), value)]);
    let part = |key: &str| operand.get(key).cloned();
    let error = Json::Object(vec![
        ("code".to_owned(), part("code").unwrap_or_else(anything)),
        ("message".to_owned(), part("message").unwrap_or_else(any_line)),
        ("data".to_owned(), part("data").unwrap_or_else(|| optional(anything()))),
    ]);
    let mut members = vec![("jsonrpc".to_owned(), Json::text("2.0")), ("error".to_owned(), error)];
    if let Some(id) = part("id") {
        members.push(("id".to_owned(), id));
    }
    Json::Object(members)
}

/// Bytes from their hexadecimal digits.
fn bytes(digits: &str) -> Result<Vec<u8>, String> {
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| {
            let pair = std::str::from_utf8(pair).map_err(|error| error.to_string())?;
            u8::from_str_radix(pair, 16).map_err(|error| error.to_string())
        })
        .collect()
}
