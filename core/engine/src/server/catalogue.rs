//! The static catalogue: definitions, what is compiled from them, and the pages of the lists.
//!
//! A definition is checked and compiled once, when it is added. A page is written once for each revision, when it is
//! first asked for after a change, and then copied.

use super::event::Millis;
use super::tasks::TaskSupport;
use crate::error::{LocalError, PeerError};
use crate::http::mirror::{self, Mirror};
use crate::jsonrpc::check::check;
use crate::jsonrpc::{scan, write};
use crate::model::uri_template::UriTemplate;
use crate::schema::{self, Schema, SchemaLimits};
use crate::wire::Revision;
use crate::wire::entry;
use crate::wire::method::Method;
use ahash::AHashMap;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::collections::HashMap;
use std::sync::Arc;

/// One of the lists whose change peers can be told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListKind {
    /// `tools/list`.
    Tools,
    /// `prompts/list`.
    Prompts,
    /// `resources/list` and `resources/templates/list`.
    Resources,
}

pub(super) struct Tool {
    pub(super) name: String,
    pub(super) tag: u64,
    pub(super) task: TaskSupport,
    pub(super) input: Schema,
    pub(super) output: Option<Schema>,
    /// True where the output schema is no object schema, so that older peers get it, and the value, inside an object.
    pub(super) wrapped: bool,
    /// What its arguments have to say in headers as well.
    pub(super) mirrors: Vec<Mirror>,
}

pub(super) struct Resource {
    pub(super) tag: u64,
}

pub(super) struct Template {
    pub(super) tag: u64,
    pub(super) pattern: UriTemplate,
}

pub(super) struct Prompt {
    pub(super) tag: u64,
    pub(super) arguments: Vec<PromptArgument>,
}

pub(super) struct PromptArgument {
    pub(super) name: String,
    pub(super) required: bool,
}

/// The four lists.
#[derive(Default)]
pub(super) struct Catalogue {
    pub(super) tools: List<Tool>,
    pub(super) resources: List<Resource>,
    pub(super) templates: List<Template>,
    pub(super) prompts: List<Prompt>,
    /// How many tools may run as a task.
    task_tools: usize,
}

/// Definitions in the order in which they were added, found by their key.
pub(super) struct List<T> {
    entries: Vec<Entry<T>>,
    index: AHashMap<String, usize>,
    pages: HashMap<(Revision, usize), Arc<str>>,
}

struct Entry<T> {
    key: String,
    definition: Arc<str>,
    compiled: Arc<T>,
    /// Off: it is here, and for a peer it is not.
    enabled: bool,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), index: AHashMap::new(), pages: HashMap::new() }
    }
}

impl<T> List<T> {
    /// Whether there is nothing, enabled or not.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn get(&self, key: &str) -> Option<&Arc<T>> {
        let entry = &self.entries[*self.index.get(key)?];
        entry.enabled.then_some(&entry.compiled)
    }

    /// What it was added with.
    pub(super) fn definition(&self, key: &str) -> Option<Arc<str>> {
        Some(Arc::clone(&self.entries[*self.index.get(key)?].definition))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Arc<T>)> {
        let enabled = self.entries.iter().filter(|entry| entry.enabled);
        enabled.map(|entry| (entry.key.as_str(), &entry.compiled))
    }

    fn add(&mut self, key: String, definition: &str, compiled: T) -> Result<(), LocalError> {
        if self.index.contains_key(&key) {
            return Err(LocalError::Definition { name: key, reason: "there is one of this name already".into() });
        }
        self.index.insert(key.clone(), self.entries.len());
        self.entries.push(Entry { key, definition: definition.into(), compiled: Arc::new(compiled), enabled: true });
        self.pages.clear();
        Ok(())
    }

    fn remove(&mut self, key: &str) -> bool {
        let Some(at) = self.index.remove(key) else { return false };
        self.entries.remove(at);
        for index in self.index.values_mut().filter(|index| **index > at) {
            *index -= 1;
        }
        self.pages.clear();
        true
    }

    /// Whether anything has changed by it; None when there is none.
    fn enable(&mut self, key: &str, enabled: bool) -> Option<bool> {
        let entry = &mut self.entries[*self.index.get(key)?];
        let changed = entry.enabled != enabled;
        entry.enabled = enabled;
        if changed {
            self.pages.clear();
        }
        Some(changed)
    }

    /// The members of a list result, from `cursor` on: `"tools":[...]` and `"nextCursor"` where there is more.
    fn page(
        &mut self,
        field: &str,
        cursor: Option<&str>,
        size: usize,
        revision: Revision,
        write_entry: fn(&mut String, &str, Revision),
    ) -> Result<Arc<str>, PeerError> {
        let start = match cursor {
            None => 0,
            Some(cursor) => read_cursor(field, cursor)
                .and_then(|key| self.index.get(&key))
                .map(|at| at + 1)
                .ok_or_else(|| PeerError::invalid_params("Invalid cursor"))?,
        };
        if let Some(page) = self.pages.get(&(revision, start)) {
            return Ok(Arc::clone(page));
        }
        let mut out = format!("\"{field}\":[");
        let entries = self.entries.get(start..).unwrap_or_default();
        let mut entries = entries.iter().filter(|entry| entry.enabled);
        let mut last = None;
        for entry in entries.by_ref().take(size) {
            if last.is_some() {
                out.push(',');
            }
            write_entry(&mut out, &entry.definition, revision);
            last = Some(&entry.key);
        }
        out.push(']');
        if let Some(last) = last
            && entries.next().is_some()
        {
            out.push_str(r#","nextCursor":"#);
            write::string(&mut out, &write_cursor(field, last));
        }
        let page: Arc<str> = out.into();
        self.pages.insert((revision, start), Arc::clone(&page));
        Ok(page)
    }
}

/// A cursor names the last entry of the page before, not a position: it stays right when other entries come or go,
/// and is invalid once that entry is gone (`server/utilities/pagination`: stable cursors, -32602 for invalid ones).
fn write_cursor(field: &str, key: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{field}:{key}"))
}

fn read_cursor(field: &str, cursor: &str) -> Option<String> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
    text.strip_prefix(field)?.strip_prefix(':').map(str::to_owned)
}

fn resource_entry(out: &mut String, definition: &str, revision: Revision) {
    entry::sieve(out, definition, entry::RESOURCE, revision);
}

fn prompt_entry(out: &mut String, definition: &str, revision: Revision) {
    entry::sieve(out, definition, entry::PROMPT, revision);
}

/// Names and values of a template's variables.
type Variables = Vec<(String, String)>;

/// A definition that was added, and what the specification advises against in it.
pub(super) type Added = Result<Option<String>, LocalError>;

impl Catalogue {
    /// A page of the list that `method` asks for.
    pub(super) fn page(
        &mut self,
        method: Method,
        cursor: Option<&str>,
        size: usize,
        revision: Revision,
    ) -> Result<Arc<str>, PeerError> {
        match method {
            Method::ToolsList => self.tools.page("tools", cursor, size, revision, entry::tool),
            Method::ResourcesList => self.resources.page("resources", cursor, size, revision, resource_entry),
            Method::TemplatesList => self.templates.page("resourceTemplates", cursor, size, revision, resource_entry),
            Method::PromptsList => self.prompts.page("prompts", cursor, size, revision, prompt_entry),
            _ => Err(PeerError::method_not_found(method.name())),
        }
    }

    pub(super) fn add_tool(&mut self, definition: &str, tag: u64) -> Added {
        let definition = Definition::read(definition, "name")?;
        let input = definition.required("inputSchema")?;
        if scan::pick(input, ["type"]).ok().and_then(|[kind]| kind) != Some(r#""object""#) {
            return definition.refuse("inputSchema must be an object schema: {\"type\":\"object\", ...}");
        }
        let limits = SchemaLimits::default();
        let compile = |which: &str, text: &str| {
            Schema::compile(text, &limits).map_err(|error| LocalError::Definition {
                name: definition.key.clone(),
                reason: format!("{which}: {error}"),
            })
        };
        let output = definition.optional("outputSchema");
        let execution = definition.optional("execution").map(|value| scan::pick(value, ["taskSupport"]));
        let support = execution.and_then(Result::ok).and_then(|[support]| support);
        let Some(task) = TaskSupport::parse(support) else {
            return definition.refuse("execution.taskSupport must be forbidden, optional or required");
        };
        let compiled = Tool {
            name: definition.key.clone(),
            tag,
            task,
            input: compile("inputSchema", input)?,
            output: output.map(|text| compile("outputSchema", text)).transpose()?,
            wrapped: output.is_some_and(|text| schema::wrap_in_object(text).is_some()),
            // Clients leave a tool out whose annotations are wrong (2026-07-28 `server/tools`, "x-mcp-header"). Its author
            // should know, and not only once it is reached over HTTP.
            mirrors: mirror::compile(input).or_else(|reason| definition.refuse(&format!("inputSchema: {reason}")))?,
        };
        let advice = tool_name_advice(&definition.key);
        let is_task = compiled.task != TaskSupport::Never;
        self.tools.add(definition.key.clone(), definition.text, compiled)?;
        self.task_tools += usize::from(is_task);
        Ok(advice)
    }

    pub(super) fn add_resource(&mut self, definition: &str, tag: u64) -> Added {
        let definition = Definition::read(definition, "uri")?;
        definition.required("name")?;
        if !has_scheme(&definition.key) {
            return definition.refuse("uri must have a scheme (RFC 3986)");
        }
        self.resources.add(definition.key.clone(), definition.text, Resource { tag })?;
        Ok(None)
    }

    pub(super) fn add_template(&mut self, definition: &str, tag: u64) -> Added {
        let definition = Definition::read(definition, "uriTemplate")?;
        definition.required("name")?;
        let pattern = match UriTemplate::parse(&definition.key) {
            Ok(pattern) => pattern,
            Err(error) => return definition.refuse(&error.to_string()),
        };
        self.templates.add(definition.key.clone(), definition.text, Template { tag, pattern })?;
        Ok(None)
    }

    pub(super) fn add_prompt(&mut self, definition: &str, tag: u64) -> Added {
        let definition = Definition::read(definition, "name")?;
        let mut arguments = Vec::new();
        if let Some(list) = definition.optional("arguments") {
            if !scan::is_array(list) {
                return definition.refuse("arguments must be an array");
            }
            for argument in scan::elements(list) {
                let Ok([Some(name), required]) = scan::pick(argument, ["name", "required"]) else {
                    return definition.refuse("an argument must be an object with a name");
                };
                let Some(name) = scan::plain_string(name) else {
                    return definition.refuse("an argument's name must be a string");
                };
                arguments.push(PromptArgument { name: name.into_owned(), required: required == Some("true") });
            }
        }
        self.prompts.add(definition.key.clone(), definition.text, Prompt { tag, arguments })?;
        Ok(None)
    }

    /// Whether a tool may run as a task.
    pub(super) fn has_tasks(&self) -> bool {
        self.task_tools > 0
    }

    pub(super) fn remove_tool(&mut self, name: &str) -> bool {
        let at = self.tools.index.get(name).copied();
        let is_task = at.is_some_and(|at| self.tools.entries[at].compiled.task != TaskSupport::Never);
        self.task_tools -= usize::from(is_task);
        self.tools.remove(name)
    }

    pub(super) fn remove_resource(&mut self, uri: &str) -> bool {
        self.resources.remove(uri)
    }

    pub(super) fn remove_template(&mut self, uri_template: &str) -> bool {
        self.templates.remove(uri_template)
    }

    pub(super) fn remove_prompt(&mut self, name: &str) -> bool {
        self.prompts.remove(name)
    }

    pub(super) fn enable_tool(&mut self, name: &str, enabled: bool) -> Option<bool> {
        self.tools.enable(name, enabled)
    }

    pub(super) fn enable_resource(&mut self, uri: &str, enabled: bool) -> Option<bool> {
        self.resources.enable(uri, enabled)
    }

    pub(super) fn enable_template(&mut self, uri_template: &str, enabled: bool) -> Option<bool> {
        self.templates.enable(uri_template, enabled)
    }

    pub(super) fn enable_prompt(&mut self, name: &str, enabled: bool) -> Option<bool> {
        self.prompts.enable(name, enabled)
    }

    /// The template that a URI belongs to: the first that matches, in the order in which they were added.
    pub(super) fn match_template(&self, uri: &str) -> Option<(&Arc<Template>, Variables)> {
        self.templates.iter().find_map(|(_, template)| Some((template, template.pattern.matches(uri)?)))
    }

    /// The definition of that template.
    pub(super) fn template_definition(&self, uri: &str) -> Option<Arc<str>> {
        let (key, _) = self.templates.iter().find(|(_, template)| template.pattern.matches(uri).is_some())?;
        self.templates.definition(key)
    }
}

/// A definition whose text is a JSON object with a key.
struct Definition<'a> {
    text: &'a str,
    key: String,
}

impl<'a> Definition<'a> {
    fn read(text: &'a str, key: &'static str) -> Result<Self, LocalError> {
        let refuse = |reason: String| LocalError::Definition { name: String::new(), reason };
        let text = check(text).map_err(|error| refuse(error.to_string()))?;
        let [value] = scan::pick(text, [key]).map_err(|error| refuse(format!("{error:?}")))?;
        match value.and_then(scan::plain_string) {
            Some(name) if !name.is_empty() => Ok(Self { text, key: name.into_owned() }),
            _ => Err(refuse(format!("{key:?} must be a string that is not empty"))),
        }
    }

    fn optional(&self, field: &'static str) -> Option<&'a str> {
        scan::pick(self.text, [field]).ok().and_then(|[value]| value).filter(|value| *value != "null")
    }

    fn required(&self, field: &'static str) -> Result<&'a str, LocalError> {
        self.optional(field)
            .ok_or_else(|| LocalError::Definition { name: self.key.clone(), reason: format!("{field:?} is missing") })
    }

    fn refuse<T>(&self, reason: &str) -> Result<T, LocalError> {
        Err(LocalError::Definition { name: self.key.clone(), reason: reason.to_owned() })
    }
}

/// A scheme of RFC 3986, section 3.1: a letter, then letters, digits, `+`, `-` and `.`, up to a colon.
fn has_scheme(uri: &str) -> bool {
    let Some((scheme, _)) = uri.split_once(':') else { return false };
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
}

/// What `server/tools`, "Tool Names" says a name SHOULD be, where it is not.
fn tool_name_advice(name: &str) -> Option<String> {
    let usual = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    if name.len() <= 128 && name.bytes().all(usual) {
        return None;
    }
    Some(format!("tool name {name:?} should have at most 128 characters out of A-Z, a-z, 0-9, _, - and ."))
}

/// When the change of a list is to be told.
#[derive(Default)]
pub(super) struct Changes {
    pub(super) kinds: Vec<ListKind>,
    pub(super) due: Option<Millis>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalogue(names: &[&str]) -> Catalogue {
        let mut catalogue = Catalogue::default();
        for name in names {
            let definition = format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#);
            catalogue.add_tool(&definition, 0).expect("valid");
        }
        catalogue
    }

    fn names(page: &str) -> (Vec<String>, Option<String>) {
        let page: serde_json::Value = serde_json::from_str(&format!("{{{page}}}")).expect("members of an object");
        let tools = page["tools"].as_array().expect("a list");
        let names = tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect();
        (names, page["nextCursor"].as_str().map(str::to_owned))
    }

    #[test]
    fn a_walk_meets_every_entry_once_though_the_list_changes() {
        let mut catalogue = catalogue(&["a", "b", "c", "d", "e"]);
        let walk = |catalogue: &mut Catalogue, cursor: Option<&str>| {
            names(&catalogue.page(Method::ToolsList, cursor, 2, Revision::V2026_07_28).expect("a page"))
        };
        let (first, cursor) = walk(&mut catalogue, None);
        assert_eq!(first, ["a", "b"]);
        catalogue.remove_tool("a");
        let (second, cursor) = walk(&mut catalogue, cursor.as_deref());
        assert_eq!(second, ["c", "d"]);
        let (third, cursor) = walk(&mut catalogue, cursor.as_deref());
        assert_eq!((third, cursor), (vec!["e".to_owned()], None));
    }

    #[test]
    fn foreign_cursors_are_refused() {
        let mut catalogue = catalogue(&["a", "b"]);
        for cursor in ["", "x", "!!", &write_cursor("prompts", "a"), &write_cursor("tools", "gone")] {
            let error = catalogue.page(Method::ToolsList, Some(cursor), 1, Revision::V2025_11_25).expect_err(cursor);
            assert_eq!(error.code, crate::error::code::INVALID_PARAMS);
        }
    }

    #[test]
    fn bad_definitions_name_the_tool_and_the_reason() {
        let mut catalogue = Catalogue::default();
        for definition in [
            r#"{"name":"t"}"#,
            r#"{"name":"t","inputSchema":null}"#,
            r#"{"name":"t","inputSchema":{"type":"string"}}"#,
            r#"{"name":"t","inputSchema":{"type":"object","required":null}}"#,
            r#"{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"nope"}}"#,
            r#"{"name":"t","inputSchema":{"type":"object","properties":{"a":{"type":"number","x-mcp-header":"A"}}}}"#,
        ] {
            match catalogue.add_tool(definition, 0) {
                Err(LocalError::Definition { name, .. }) => assert_eq!(name, "t", "{definition}"),
                other => panic!("{definition}: {other:?}"),
            }
        }
        assert!(catalogue.add_tool(r#"{"name":"a b","inputSchema":{"type":"object"}}"#, 0).expect("allowed").is_some());
    }
}
