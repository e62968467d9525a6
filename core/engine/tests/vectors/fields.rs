//! The fields of a request as a step gives them, and those of a response.

use super::super::Json;
use super::shorten;
use ferromcp_engine::http::Response;

/// The fields of a request: what every client sends, and what the step says besides and instead.
pub fn fields(request: &Json, has_body: bool) -> Result<Vec<(String, String)>, String> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    let mut set = |name: &str, values: Vec<String>| {
        all.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        all.push((name.to_owned(), values));
    };
    set("Host", vec!["localhost".to_owned()]);
    set("Accept", vec!["application/json, text/event-stream".to_owned()]);
    if has_body {
        set("Content-Type", vec!["application/json".to_owned()]);
    }
    let params = request.get("body").and_then(|body| body.get("params"));
    let meta = params.and_then(|params| params.get("_meta"));
    let version = meta.and_then(|meta| meta.get("io.modelcontextprotocol/protocolVersion")).and_then(Json::as_text);
    let method = request.get("body").and_then(|body| body.get("method")).and_then(Json::as_text);
    if let (Some(version), Some(method)) = (version, method) {
        set("MCP-Protocol-Version", vec![version.to_owned()]);
        set("Mcp-Method", vec![method.to_owned()]);
        let source = match method {
            "tools/call" | "prompts/get" => Some("name"),
            "resources/read" => Some("uri"),
            "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
            _ => None,
        };
        let name = source.and_then(|key| params?.get(key)).and_then(Json::as_text);
        if let Some(name) = name {
            set("Mcp-Name", vec![name.to_owned()]);
        }
    }
    let given = request.get("headers");
    let layers = match given {
        Some(Json::Array(layers)) => layers.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    for (name, value) in layers.iter().flat_map(Json::members) {
        let values: Option<Vec<String>> = match value {
            _ if value.is_null() => Some(Vec::new()),
            Json::Array(values) => values.iter().map(|value| value.as_text().map(str::to_owned)).collect(),
            one => one.as_text().map(|text| vec![text.to_owned()]),
        };
        set(name, values.ok_or("a header is a string, a list of strings, or null")?);
    }
    let single = |(name, values): (String, Vec<String>)| values.into_iter().map(move |value| (name.clone(), value));
    Ok(all.into_iter().flat_map(single).collect())
}

pub fn header(head: &Response, name: &str) -> Option<String> {
    head.headers.iter().find(|(key, _)| *key == name).map(|(_, value)| value.clone().into_owned())
}

pub fn show(head: &Response, body: &[u8]) -> String {
    shorten(&format!("{} {:?} {}", head.status, head.headers, String::from_utf8_lossy(body)))
}
