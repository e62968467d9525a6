//! Results in the form of the peer's revision.
//!
//! Modern results carry `resultType`, the server's identity in `_meta`, and caching hints where the method has them;
//! legacy results carry none of these (2026-07-28 `basic/index`, "Responses", "`_meta`"; `server/utilities/caching`).

use super::Revision;
use super::content;
use super::entry::{self, CONTENTS};
use super::meta::SERVER_INFO;
use super::method::Method;
use crate::jsonrpc::{scan, write};

/// What every modern result ends with; rendered once for a server.
#[derive(Clone, Debug)]
pub(crate) struct Stamp {
    /// `"io.modelcontextprotocol/serverInfo":{...}`, or empty when the server is configured not to identify itself.
    server_info: String,
    /// `"ttlMs":..,"cacheScope":..`
    cache: String,
}

impl Stamp {
    /// `server_info` is the JSON of an `Implementation`, or empty.
    pub(crate) fn new(server_info: &str, ttl_ms: u64, scope: &str) -> Self {
        let identity = if server_info.is_empty() { String::new() } else { format!("\"{SERVER_INFO}\":{server_info}") };
        Self { server_info: identity, cache: format!(r#""ttlMs":{ttl_ms},"cacheScope":"{scope}""#) }
    }

    /// Appends the members that a result of `method` begins with, each followed by a comma.
    pub(crate) fn open(&self, out: &mut String, method: Option<Method>, revision: Revision) {
        if !revision.is_modern() {
            return;
        }
        out.push_str(r#""resultType":"complete","#);
        if method.is_some_and(Method::is_cacheable) {
            out.push_str(&self.cache);
            out.push(',');
        }
    }

    /// Appends `,"_meta":{...}` where there is something to say; `meta` is host code's own object.
    pub(crate) fn close(&self, out: &mut String, meta: Option<&str>, revision: Revision) {
        let own = meta.filter(|meta| scan::members(meta).next().is_some());
        let stamped = revision.is_modern() && !self.server_info.is_empty();
        if !stamped {
            if let Some(own) = own {
                out.push_str(r#","_meta":"#);
                self.without_server_info(out, own, revision);
            }
            return;
        }
        out.push_str(r#","_meta":{"#);
        let mut has_info = false;
        for (key, value) in own.into_iter().flat_map(scan::members) {
            has_info |= scan::plain_string(key).is_some_and(|key| key == SERVER_INFO);
            write::raw(out, key);
            out.push(':');
            write::raw(out, value);
            out.push(',');
        }
        if has_info {
            out.pop();
        } else {
            out.push_str(&self.server_info);
        }
        out.push('}');
    }

    fn without_server_info(&self, out: &mut String, meta: &str, revision: Revision) {
        let mut first = true;
        out.push('{');
        for (key, value) in scan::members(meta) {
            if !revision.is_modern() && scan::plain_string(key).is_some_and(|key| key == SERVER_INFO) {
                continue;
            }
            if !first {
                out.push(',');
            }
            first = false;
            write::raw(out, key);
            out.push(':');
            write::raw(out, value);
        }
        out.push('}');
    }

    /// Appends `{}` as `revision` writes an empty result.
    pub(crate) fn empty(&self, out: &mut String, revision: Revision) {
        out.push('{');
        if revision.is_modern() {
            out.push_str(r#""resultType":"complete""#);
            self.close(out, None, revision);
        }
        out.push('}');
    }

    /// Appends a result object that host code wrote whole: fields that the revision requires are added where they are
    /// missing, fields that it does not know are left out.
    pub(crate) fn whole(&self, out: &mut String, result: &str, method: Option<Method>, revision: Revision) {
        let [result_type, ttl, scope, meta] =
            scan::pick(result, ["resultType", "ttlMs", "cacheScope", "_meta"]).unwrap_or_default();
        out.push('{');
        let before = out.len();
        if revision.is_modern() {
            let complete = result_type.is_none_or(|kind| kind == r#""complete""#);
            out.push_str(r#""resultType":"#);
            write::raw(out, result_type.unwrap_or(r#""complete""#));
            out.push(',');
            if method.is_some_and(Method::is_cacheable) && complete {
                match (ttl, scope) {
                    // A whole number of milliseconds, not negative.
                    (Some(ttl), Some(scope)) if scan::is_integer(ttl) && !ttl.starts_with('-') => {
                        out.push_str(r#""ttlMs":"#);
                        write::raw(out, ttl);
                        out.push_str(r#","cacheScope":"#);
                        write::raw(out, scope);
                    }
                    // Half a hint, or a wrong one, is no hint: the server's own applies.
                    _ => out.push_str(&self.cache),
                }
                out.push(',');
            }
        }
        for (key, value) in scan::members(result) {
            match key {
                r#""resultType""# | r#""ttlMs""# | r#""cacheScope""# | r#""_meta""# => continue,
                r#""structuredContent""# if method == Some(Method::ToolsCall) => {
                    if revision.has_structured_content() {
                        out.push_str(r#""structuredContent":"#);
                        structured(out, value, false, revision);
                        out.push(',');
                    }
                    continue;
                }
                _ => {}
            }
            write::raw(out, key);
            out.push(':');
            member(out, key, value, method, revision);
            out.push(',');
        }
        if out.len() > before {
            out.pop();
            self.close(out, meta, revision);
        } else {
            // Nothing but `_meta`, or nothing at all: `close` writes its comma first.
            let mut tail = String::new();
            self.close(&mut tail, meta, revision);
            out.push_str(tail.strip_prefix(',').unwrap_or(&tail));
        }
        out.push('}');
    }
}

/// One member of a whole result, by the method it belongs to.
fn member(out: &mut String, key: &str, value: &str, method: Option<Method>, revision: Revision) {
    match (method, key) {
        (Some(Method::ToolsCall), r#""content""#) if scan::is_array(value) => content::blocks(out, value, revision),
        (Some(Method::PromptsGet), r#""messages""#) if scan::is_array(value) => content::messages(out, value, revision),
        (Some(Method::ResourcesRead), r#""contents""#) => entry::sieve(out, value, CONTENTS, revision),
        (Some(Method::ToolsList), r#""tools""#) if scan::is_array(value) => {
            out.push('[');
            for (at, tool) in scan::elements(value).enumerate() {
                if at > 0 {
                    out.push(',');
                }
                entry::tool(out, tool, revision);
            }
            out.push(']');
        }
        (Some(Method::ResourcesList), r#""resources""#) | (Some(Method::TemplatesList), r#""resourceTemplates""#) => {
            entry::sieve(out, value, entry::RESOURCE, revision);
        }
        (Some(Method::PromptsList), r#""prompts""#) => entry::sieve(out, value, entry::PROMPT, revision),
        _ => write::raw(out, value),
    }
}

/// Appends the value of `structuredContent`: as it is where any JSON value may stand there, in an object
/// `{"result": value}` where the revision wants an object and the value is none, or its schema was `wrapped` so.
pub(crate) fn structured(out: &mut String, value: &str, wrapped: bool, revision: Revision) {
    if revision.structured_content_is_free() || (scan::is_object(value) && !wrapped) {
        return write::raw(out, value);
    }
    out.push_str(r#"{"result":"#);
    write::raw(out, value);
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(result: &str, method: Method, revision: Revision) -> String {
        let mut out = String::new();
        Stamp::new(r#"{"name":"s","version":"1"}"#, 0, "private").whole(&mut out, result, Some(method), revision);
        out
    }

    #[test]
    fn modern_results_are_completed() {
        assert_eq!(
            whole(r#"{"tools":[]}"#, Method::ToolsList, Revision::V2026_07_28),
            r#"{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}"#
        );
        assert_eq!(
            whole(
                r#"{"resultType":"input_required","requestState":"x"}"#,
                Method::ResourcesRead,
                Revision::V2026_07_28
            ),
            r#"{"resultType":"input_required","requestState":"x","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}"#
        );
        assert_eq!(
            whole(r#"{"_meta":{"a":1}}"#, Method::Complete, Revision::V2026_07_28),
            r#"{"resultType":"complete","_meta":{"a":1,"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}"#
        );
    }

    #[test]
    fn legacy_results_lose_modern_fields() {
        let modern = r#"{"resultType":"complete","ttlMs":5,"cacheScope":"public","tools":[],"_meta":{"io.modelcontextprotocol/serverInfo":{},"a":1}}"#;
        assert_eq!(whole(modern, Method::ToolsList, Revision::V2025_11_25), r#"{"tools":[],"_meta":{"a":1}}"#);
        assert_eq!(whole("{}", Method::Complete, Revision::V2025_11_25), "{}");
        assert_eq!(whole(r#"{"_meta":{"a":1}}"#, Method::Complete, Revision::V2025_11_25), r#"{"_meta":{"a":1}}"#);
    }

    #[test]
    fn structured_content_is_an_object_for_legacy_peers() {
        let result = r#"{"content":[],"structuredContent":[1]}"#;
        assert_eq!(
            whole(result, Method::ToolsCall, Revision::V2025_06_18),
            r#"{"content":[],"structuredContent":{"result":[1]}}"#
        );
        assert_eq!(whole(result, Method::ToolsCall, Revision::V2025_03_26), r#"{"content":[]}"#);
    }
}
