//! Steps of a vector over HTTP: requests, what comes back, and connections that are lost.

#[path = "fields.rs"]
mod fields;

use super::{Json, PATIENCE, Script, bytes, error_pattern, pattern, shorten};
use ferromcp_engine::http::{ExchangeId, Head, Http, HttpConfig, Part, Response};
use fields::{fields, header, show};
use std::collections::{BTreeMap, BTreeSet};

/// What stands beside the server of a vector over HTTP.
pub struct Web {
    pub http: Http,
    /// Requests by the name that steps give them.
    open: BTreeMap<String, Open>,
    /// Who is behind the requests from now on.
    principal: Option<String>,
    /// Events that were seen, by their session and id.
    ids: BTreeSet<(String, String)>,
}

/// A request, and what has come back and was not looked at.
#[derive(Default)]
struct Open {
    /// None: it was refused before it was served, or its connection is gone.
    id: Option<ExchangeId>,
    head: Option<Response>,
    /// A step has looked at the head.
    seen: bool,
    body: Vec<u8>,
    /// Nothing more will come.
    over: bool,
    /// The session that the request names, unless it asks for events again.
    session: Option<String>,
}

/// One block of an event stream.
struct Event {
    fields: Vec<(String, String)>,
    comment: bool,
}

impl Event {
    /// The value of a field; `data` of several lines is one.
    fn field(&self, name: &str) -> Option<String> {
        let values: Vec<_> = self.fields.iter().filter(|(key, _)| key == name).map(|(_, value)| &**value).collect();
        if values.is_empty() { None } else { Some(values.join("\n")) }
    }

    /// The text of a message; none in comments, and in events that only carry an id.
    fn message(&self) -> Option<String> {
        self.field("data").filter(|data| !data.is_empty())
    }
}

impl Open {
    fn is_stream(&self) -> bool {
        self.head.as_ref().is_some_and(|head| header(head, "content-type") == Some("text/event-stream".into()))
    }

    /// The next block of the stream, if a whole one is there.
    fn event(&mut self) -> Result<Option<Event>, String> {
        let Some(end) = self.body.windows(2).position(|pair| pair == b"\n\n") else { return Ok(None) };
        let block: Vec<u8> = self.body.drain(..end + 2).collect();
        let block = String::from_utf8(block).map_err(|error| format!("a stream is not UTF-8: {error}"))?;
        let mut event = Event { fields: Vec::new(), comment: false };
        for line in block.lines().filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            match name {
                "" => event.comment = true,
                "id" | "retry" | "event" | "data" => {
                    event.fields.push((name.to_owned(), value.strip_prefix(' ').unwrap_or(value).to_owned()));
                }
                other => return Err(format!("a stream has a field {other}")),
            }
        }
        Ok(Some(event))
    }
}

impl Web {
    pub fn new(config: &Json) -> Result<Self, String> {
        let config: HttpConfig = serde_json::from_str(&config.write()).map_err(|error| error.to_string())?;
        let http = Http::new(config, Some("127.0.0.1")).map_err(|error| error.to_string())?;
        Ok(Self { http, open: BTreeMap::new(), principal: None, ids: BTreeSet::new() })
    }

    /// Fetches what responses have got.
    pub fn pump(&mut self) {
        while let Some(id) = self.http.next_ready() {
            let Some(open) = self.open.values_mut().find(|open| open.id == Some(id)) else { continue };
            while let Some(part) = self.http.poll(id) {
                match part {
                    Part::Response(mut response) => {
                        if let Some(body) = response.body.take() {
                            open.body = body;
                            open.over = true;
                        }
                        open.head = Some(response);
                    }
                    Part::Data(bytes) => open.body.extend_from_slice(&bytes),
                    Part::End => open.over = true,
                }
            }
            open.over |= self.http.is_over(id);
        }
    }

    /// Whether everything that has come was looked at; what carries no message may be left.
    pub fn nothing_left(&mut self) -> Result<(), String> {
        for (name, open) in &mut self.open {
            if let (Some(head), false) = (&open.head, open.seen) {
                return Err(format!("unexpected on {name}: {}", show(head, &open.body)));
            }
            if !open.is_stream() && !open.body.is_empty() {
                return Err(format!("unexpected on {name}: {}", String::from_utf8_lossy(&open.body)));
            }
            while let Some(event) = open.event()? {
                if let Some(message) = event.message() {
                    return Err(format!("unexpected on {name}: {}", shorten(&message)));
                }
            }
            if !open.body.is_empty() {
                return Err(format!("{name} ends within an event"));
            }
        }
        Ok(())
    }
}

impl Script {
    /// A step that HTTP has of its own, or in a way of its own. None: it is like over any other transport.
    pub(super) fn http_step(&mut self, verb: &str, operand: &Json, step: &Json) -> Option<Result<(), String>> {
        let on = step.get("on").map_or("1".to_owned(), |on| on.as_text().map_or_else(|| on.write(), str::to_owned));
        Some(match verb {
            "send" => self.send(&on, operand),
            "initialize" => self.http_initialize(operand),
            "transmit" => self.http_message(&on).and_then(|message| self.hold(operand, &message)),
            "transmitAll" => self.http_messages(&on, operand.elements()),
            "error" => self.http_error(&on, operand),
            "refused" => self.refused(&on, operand),
            "response" => self.response(&on, operand),
            "sse" => self.sse(&on, operand),
            "comment" => self.next_event(&on, self.now + PATIENCE).and_then(|event| {
                if event.comment && event.fields.is_empty() { Ok(()) } else { Err("it is no comment".into()) }
            }),
            "ended" => self.ended(&on),
            "open" => self.still_open(&on),
            "gone" => self.lose(&on),
            "principal" => {
                self.web().principal = operand.as_text().map(str::to_owned);
                Ok(())
            }
            "receive" | "receiveText" | "receiveBytes" | "end" => Err("HTTP has no such step".into()),
            _ => return None,
        })
    }

    fn web(&mut self) -> &mut Web {
        self.web.as_mut().expect("a vector over HTTP")
    }

    fn at(&mut self, on: &str) -> Result<&mut Open, String> {
        self.web().open.get_mut(on).ok_or_else(|| format!("there is no request {on}"))
    }

    fn send(&mut self, on: &str, request: &Json) -> Result<(), String> {
        const KEYS: [&str; 6] = ["method", "path", "headers", "body", "text", "bytes"];
        if let Some((stranger, _)) = request.members().iter().find(|(key, _)| !KEYS.contains(&key.as_str())) {
            return Err(format!("a request has no {stranger}"));
        }
        let text = |key: &str| request.get(key).and_then(Json::as_text);
        let body = match (request.get("body"), text("text"), text("bytes")) {
            (Some(json), None, None) => Some(json.write().into_bytes()),
            (None, Some(text), None) => Some(text.as_bytes().to_vec()),
            (None, None, Some(digits)) => Some(bytes(digits)?),
            (None, None, None) => None,
            _ => return Err("a request has one body".into()),
        };
        let headers = fields(request, body.is_some())?;
        let (path, query) = text("path").unwrap_or("/mcp").split_once('?').map_or_else(
            || (text("path").unwrap_or("/mcp").to_owned(), None),
            |(path, query)| (path.to_owned(), Some(query.to_owned())),
        );
        let body = body.unwrap_or_default();
        let now = self.now;
        let web = self.web.as_mut().ok_or("a vector over HTTP")?;
        let principal = web.principal.clone();
        let head = Head {
            method: text("method").unwrap_or("POST"),
            path: &path,
            query: query.as_deref(),
            authority: None,
            headers: &headers,
            principal: principal.as_deref(),
        };
        let refused = |mut response: Response| {
            let body = response.body.take().unwrap_or_default();
            Open { head: Some(response), body, over: true, ..Open::default() }
        };
        let open = match web.http.admit(&head) {
            Err(response) => refused(response),
            // The carrier has stopped to read.
            Ok(admission) if admission.body_limit().is_some_and(|limit| body.len() > limit) => {
                refused(admission.too_large())
            }
            Ok(admission) => {
                let id = web.http.serve(&mut self.server, &head, &admission, &body, now);
                Open { id: Some(id), ..Open::default() }
            }
        };
        let field = |name: &str| headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        let session = field("mcp-session-id").filter(|_| field("last-event-id").is_none());
        let session = session.map(|(_, value)| value.clone());
        let before = web.open.insert(on.to_owned(), Open { session, ..open });
        if before.is_some_and(|before| !(before.over && before.seen)) {
            return Err(format!("the request {on} is not over"));
        }
        self.drain()
    }

    fn http_initialize(&mut self, operand: &Json) -> Result<(), String> {
        let version = operand.get("version").unwrap_or(operand);
        let capabilities = operand.get("capabilities").map_or("{}".to_owned(), Json::write);
        let request = format!(
            r#"{{"body":{{"jsonrpc":"2.0","id":"initialize","method":"initialize","params":{{"protocolVersion":{},"capabilities":{capabilities},"clientInfo":{{"name":"vector","version":"1"}}}}}}}}"#,
            version.write()
        );
        self.send("initialize", &Json::parse(&request)?)?;
        let answer = self.http_message("initialize")?;
        let agreed = answer.get("result").and_then(|result| result.get("protocolVersion"));
        if agreed != Some(version) {
            return Err(format!("initialize was answered by {}", shorten(&answer.write())));
        }
        let session = self.at("initialize")?.head.as_ref().and_then(|head| header(head, "mcp-session-id"));
        let mut own = vec![("MCP-Protocol-Version".to_owned(), version.clone())];
        if let Some(session) = &session {
            if session.is_empty() || !session.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(format!("the id of the session is {session:?}"));
            }
            self.names.bind("session", Json::text(session));
            own.push(("Mcp-Session-Id".to_owned(), Json::text(session)));
        }
        self.names.bind("own", Json::Object(own.clone()));
        let body = Json::parse(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)?;
        let request = Json::Object(vec![("headers".to_owned(), Json::Object(own)), ("body".to_owned(), body)]);
        self.send("initialize", &request)?;
        self.events.retain(|(kind, _)| *kind != "initialized");
        self.response("initialize", &Json::parse(r#"{"status":202,"text":""}"#)?)
    }

    /// The head of a response, letting time pass until it is there.
    fn head(&mut self, on: &str) -> Result<Response, String> {
        let end = self.now + PATIENCE;
        loop {
            let open = self.at(on)?;
            if let Some(head) = open.head.clone() {
                open.seen = true;
                return Ok(head);
            }
            self.next_due(end)?;
        }
    }

    /// The next event, letting time pass until it is there.
    fn next_event(&mut self, on: &str, end: u64) -> Result<Event, String> {
        self.head(on)?;
        loop {
            let open = self.at(on)?;
            if !open.is_stream() {
                return Err("it is no stream".into());
            }
            if let Some(event) = open.event()? {
                let session = open.session.clone();
                if let (Some(session), Some(id)) = (session, event.field("id"))
                    && !self.web().ids.insert((session, id))
                {
                    return Err("the id of an event stands twice in one session".into());
                }
                return Ok(event);
            }
            if open.over {
                return Err("the stream has ended".into());
            }
            self.next_due(end)?;
        }
    }

    fn next_due(&mut self, end: u64) -> Result<(), String> {
        let due = self.due().filter(|due| *due <= end).ok_or("nothing is sent")?;
        self.tick(due)
    }

    /// The next message of a response, in whichever form.
    fn http_message(&mut self, on: &str) -> Result<Json, String> {
        let head = self.head(on)?;
        if head.status != 200 {
            return Err(format!("the response is {}", show(&head, &self.at(on)?.body)));
        }
        if self.at(on)?.is_stream() {
            // Comments are no messages, however long they come.
            let end = self.now + PATIENCE;
            loop {
                if let Some(message) = self.next_event(on, end)?.message() {
                    return self.json(&message);
                }
            }
        }
        self.whole(on, &head)
    }

    fn http_messages(&mut self, on: &str, wanted: &[Json]) -> Result<(), String> {
        let messages = wanted.iter().map(|_| self.http_message(on)).collect::<Result<Vec<_>, _>>()?;
        let mut bound = Vec::new();
        pattern::unordered(wanted, &messages, &mut bound)?;
        self.bind(bound);
        Ok(())
    }

    /// The one JSON object of a response.
    fn whole(&mut self, on: &str, head: &Response) -> Result<Json, String> {
        if header(head, "content-type").as_deref() != Some("application/json") {
            return Err(format!("the response is no JSON: {}", show(head, &self.at(on)?.body)));
        }
        let body = std::mem::take(&mut self.at(on)?.body);
        self.json(std::str::from_utf8(&body).map_err(|error| error.to_string())?)
    }

    fn json(&self, text: &str) -> Result<Json, String> {
        let mut message = Json::parse(text)?;
        let all = match &mut message {
            // A batch.
            Json::Array(all) => all.as_mut_slice(),
            one => std::slice::from_mut(one),
        };
        for one in all {
            if let (true, Json::Object(members)) = (self.corrupt, one) {
                members.push(("corrupt".to_owned(), Json::text("")));
            }
        }
        Ok(message)
    }

    fn http_error(&mut self, on: &str, operand: &Json) -> Result<(), String> {
        let Some(status) = operand.get("status") else {
            let message = self.http_message(on)?;
            return self.hold(&error_pattern(operand), &message);
        };
        let head = self.head(on)?;
        self.check_head(&head, Some(status), None)?;
        let message = self.whole(on, &head)?;
        self.hold(&error_pattern(operand), &message)
    }

    /// A status, and in the body nothing or a JSON-RPC error without an id.
    fn refused(&mut self, on: &str, operand: &Json) -> Result<(), String> {
        let head = self.head(on)?;
        let status = operand.get("status").unwrap_or(operand);
        self.check_head(&head, Some(status), operand.get("headers"))?;
        if self.at(on)?.body.is_empty() {
            return self.ended(on);
        }
        let message = self.whole(on, &head)?;
        let none = Json::Object(Vec::new());
        let plain = error_pattern(&none);
        let mut null = error_pattern(&none);
        if let Json::Object(members) = &mut null {
            members.push(("id".to_owned(), Json::Literal("null".to_owned())));
        }
        self.hold(&plain, &message).or_else(|_| self.hold(&null, &message))?;
        self.ended(on)
    }

    fn response(&mut self, on: &str, operand: &Json) -> Result<(), String> {
        const KEYS: [&str; 4] = ["status", "headers", "body", "text"];
        if let Some((stranger, _)) = operand.members().iter().find(|(key, _)| !KEYS.contains(&key.as_str())) {
            return Err(format!("a response has no {stranger}"));
        }
        let head = self.head(on)?;
        self.check_head(&head, operand.get("status"), operand.get("headers"))?;
        if let Some(wanted) = operand.get("body") {
            let message = self.whole(on, &head)?;
            self.hold(wanted, &message)?;
        }
        if let Some(wanted) = operand.get("text") {
            let body = std::mem::take(&mut self.at(on)?.body);
            self.hold(wanted, &Json::text(&String::from_utf8_lossy(&body)))?;
            return self.ended(on);
        }
        Ok(())
    }

    fn check_head(&mut self, head: &Response, status: Option<&Json>, headers: Option<&Json>) -> Result<(), String> {
        if let Some(status) = status {
            self.hold(status, &Json::Number(head.status.to_string())).map_err(|why| format!("status {why}"))?;
        }
        let Some(headers) = headers else { return Ok(()) };
        let all = head.headers.iter().map(|(name, value)| ((*name).to_owned(), Json::text(value)));
        let open = Json::Object(vec![("$open".to_owned(), headers.clone())]);
        self.hold(&open, &Json::Object(all.collect()))
    }

    fn sse(&mut self, on: &str, operand: &Json) -> Result<(), String> {
        let end = self.now + PATIENCE;
        let event = loop {
            let event = self.next_event(on, end)?;
            if !event.fields.is_empty() {
                break event;
            }
        };
        for (key, wanted) in operand.members() {
            let found = match (key.as_str(), event.field(key)) {
                ("data", Some(data)) if data.starts_with(['{', '[']) => Some(self.json(&data)?),
                ("id" | "event" | "data", found) => found.map(|found| Json::text(&found)),
                ("retry", found) => found.map(Json::Number),
                _ => return Err(format!("an event has no {key}")),
            };
            let member = |value| Json::Object(vec![(key.clone(), value)]);
            let found = found.map_or(Json::Object(Vec::new()), member);
            self.hold(&member(wanted.clone()), &found)?;
        }
        Ok(())
    }

    /// The response is complete, and nothing of it was left out.
    fn ended(&mut self, on: &str) -> Result<(), String> {
        let end = self.now + PATIENCE;
        self.head(on)?;
        loop {
            let open = self.at(on)?;
            while let Some(event) = if open.is_stream() { open.event()? } else { None } {
                if let Some(message) = event.message() {
                    return Err(format!("before the end there is {}", shorten(&message)));
                }
            }
            match (open.over, open.body.is_empty()) {
                (true, true) => return Ok(()),
                (true, false) => return Err(format!("there is {}", String::from_utf8_lossy(&open.body))),
                _ => self.next_due(end)?,
            }
        }
    }

    fn still_open(&mut self, on: &str) -> Result<(), String> {
        let open = self.at(on)?;
        if open.over { Err("the response is over".into()) } else { Ok(()) }
    }

    /// The client closes the connection.
    fn lose(&mut self, on: &str) -> Result<(), String> {
        let now = self.now;
        let web = self.web.as_mut().ok_or("a vector over HTTP")?;
        let open = web.open.remove(on).ok_or_else(|| format!("there is no request {on}"))?;
        if open.over {
            return Err("the response is over".into());
        }
        if let Some(id) = open.id {
            web.http.gone(&mut self.server, id, now);
        }
        self.drain()
    }
}
