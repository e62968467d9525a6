//! The messages of a sampling request (2026-07-28 `client/sampling`, "Message Content Constraints").

use super::Revision;
use super::content;
use crate::jsonrpc::{scan, write};
use crate::schema::{Schema, SchemaLimits};
use std::collections::{BTreeMap, BTreeSet};

/// Says what of the messages is not allowed, if anything: tool results stand alone in a user's message, and each use of a
/// tool is followed by its result before anything else.
pub(crate) fn check(messages: &str) -> Result<(), String> {
    if !scan::is_array(messages) {
        return Err("\"messages\" must be an array".into());
    }
    let mut open = BTreeSet::new();
    for (at, message) in scan::elements(messages).enumerate() {
        let bad = |reason: &str| Err(format!("message {at}: {reason}"));
        let Ok([Some(role @ (r#""user""# | r#""assistant""#)), Some(content)]) =
            scan::pick(message, ["role", "content"])
        else {
            return bad("it needs the role \"user\" or \"assistant\", and content");
        };
        let (mut results, mut others, mut uses) = (BTreeSet::new(), false, BTreeSet::new());
        for block in blocks(content) {
            let [kind, id, used] = scan::pick(block, ["type", "id", "toolUseId"]).unwrap_or_default();
            match kind {
                Some(r#""tool_result""#) => drop(results.insert(used.unwrap_or_default())),
                Some(r#""tool_use""#) => drop(uses.insert(id.unwrap_or_default())),
                Some(_) => others = true,
                None => return bad("a content block has no type"),
            }
        }
        let user = role == r#""user""#;
        if !results.is_empty() && (others || !uses.is_empty() || !user) {
            return bad("tool results stand alone, in a message of the user");
        }
        if !uses.is_empty() && user {
            return bad("tools are used by the assistant");
        }
        if results != open {
            return bad("each tool use must be followed by its result, before any other message");
        }
        open = uses;
    }
    if open.is_empty() { Ok(()) } else { Err("the last message uses tools and no results follow".into()) }
}

/// Says which structured content of a tool's result does not fit what the tool says of it, if any (`schema`,
/// "ToolResultContent": SHOULD). `tools` is the request's array; a tool that is not in it, or has no output schema, says nothing.
pub(crate) fn check_results(messages: &str, tools: &str) -> Result<(), String> {
    let mut used = BTreeMap::new();
    for message in scan::elements(messages) {
        let [content] = scan::pick(message, ["content"]).unwrap_or_default();
        for block in blocks(content.unwrap_or("[]")) {
            let [kind, id, name, result_of] =
                scan::pick(block, ["type", "id", "name", "toolUseId"]).unwrap_or_default();
            if let (Some(r#""tool_use""#), Some(id), Some(name)) = (kind, id, name) {
                used.insert(id, name);
            }
            let [structured, failed] = scan::pick(block, ["structuredContent", "isError"]).unwrap_or_default();
            let (Some(name), Some(structured)) = (result_of.and_then(|id| used.get(id)), structured) else { continue };
            let says = |tool: &&str| matches!(scan::pick(tool, ["name"]), Ok([Some(of)]) if of == *name);
            let Some(tool) = scan::elements(tools).find(says).filter(|_| failed != Some("true")) else { continue };
            let Ok([Some(schema)]) = scan::pick(tool, ["outputSchema"]) else { continue };
            let schema = Schema::compile(schema, &SchemaLimits::default())
                .map_err(|error| format!("the output schema of {name}: {error}"))?;
            schema.validate(structured).map_err(|violations| format!("the result of {name}: {violations}"))?;
        }
    }
    Ok(())
}

fn blocks(content: &str) -> impl Iterator<Item = &str> {
    let one = (!scan::is_array(content)).then_some(content);
    one.into_iter().chain(one.is_none().then(|| scan::elements(content)).into_iter().flatten())
}

/// Appends messages that passed [`check`] as `revision` knows them: before 2025-11-25 a message has one content block.
pub(crate) fn adapted(out: &mut String, messages: &str, revision: Revision) -> Result<(), String> {
    if revision.has_content_arrays() {
        write::raw(out, messages);
        return Ok(());
    }
    let mut single = String::from("[");
    for (at, message) in scan::elements(messages).enumerate() {
        if at > 0 {
            single.push(',');
        }
        single.push('{');
        for (at, (key, value)) in scan::members(message).enumerate() {
            if at > 0 {
                single.push(',');
            }
            single.push_str(key);
            single.push(':');
            let mut inner = scan::elements(value);
            match (key == r#""content""# && scan::is_array(value), inner.next(), inner.next()) {
                (false, ..) => single.push_str(value),
                (true, Some(block), None) => single.push_str(block),
                (true, ..) => return Err("the client's revision has one content block in a message".into()),
            }
        }
        single.push('}');
    }
    single.push(']');
    content::messages(out, &single, revision);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASK: &str = r#"{"role":"user","content":{"type":"text","text":"x"}}"#;
    const USE: &str = r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":{}},{"type":"tool_use","id":"b","name":"t","input":{}}]}"#;

    fn result(ids: &[&str], more: &str) -> String {
        let blocks: Vec<_> =
            ids.iter().map(|id| format!(r#"{{"type":"tool_result","toolUseId":"{id}","content":[]}}"#)).collect();
        format!(r#"{{"role":"user","content":[{}{more}]}}"#, blocks.join(","))
    }

    #[test]
    fn uses_and_results_balance() {
        let good = [format!("[{ASK}]"), format!("[{ASK},{USE},{}]", result(&["b", "a"], "")), "[]".to_owned()];
        for messages in good {
            assert_eq!(check(&messages), Ok(()), "{messages}");
        }
        let text = r#",{"type":"text","text":"x"}"#;
        let bad = [
            format!("[{ASK},{USE}]"),
            format!("[{ASK},{USE},{ASK}]"),
            format!("[{ASK},{USE},{}]", result(&["a"], "")),
            format!("[{ASK},{USE},{}]", result(&["a", "b"], text)),
            format!("[{ASK},{}]", result(&["a"], "")),
            r#"[{"role":"system","content":{"type":"text","text":"x"}}]"#.to_owned(),
            "{}".to_owned(),
        ];
        for messages in bad {
            assert!(check(&messages).is_err(), "{messages}");
        }
    }

    #[test]
    fn one_block_for_older_peers() {
        let mut out = String::new();
        let array = r#"[{"role":"user","content":[{"type":"text","text":"x"}]}]"#;
        adapted(&mut out, array, Revision::V2025_06_18).expect("one block fits");
        assert_eq!(out, format!("[{ASK}]"));
        assert!(adapted(&mut out, &format!("[{USE}]"), Revision::V2025_06_18).is_err());
    }
}
