//! What a server is told about itself before it starts.

use super::tasks::TasksConfig;
use crate::error::LocalError;
use crate::jsonrpc::check::check;
use crate::jsonrpc::{scan, write};
use crate::limits::Limits;
use crate::wire::Revision;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// Where the lists of tools, resources and prompts come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CatalogueKind {
    /// The engine owns them: it answers the lists and checks names, arguments and results.
    #[default]
    Static,
    /// Host code answers each request itself, as an existing application with middleware or per-user visibility must.
    Delegated,
}

/// What happens to a tool result that does not fit the tool's own output schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputValidation {
    /// The peer gets a tool error in its place (`server/tools`, "Output Schema": servers MUST conform).
    #[default]
    Strict,
    /// The peer gets the result, the diagnostics a line.
    Warn,
    /// Results are not looked at.
    Off,
}

/// Caching hints on results that carry them (2026-07-28 `server/utilities/caching`).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct CacheHints {
    /// Milliseconds for which a result may be considered fresh; 0, the default: not at all.
    pub ttl_ms: u64,
    /// Who may share it. Private by default: only the server's author knows that a list is the same for everybody.
    pub cache_scope: CacheScope,
}

/// Who may share a cached result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheScope {
    /// Anybody.
    Public,
    /// Only the same authorization context.
    #[default]
    Private,
}

impl Default for CacheHints {
    fn default() -> Self {
        Self { ttl_ms: 0, cache_scope: CacheScope::Private }
    }
}

impl CacheScope {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
        }
    }
}

/// The capabilities that a server declares, in the newest revision's form (`ServerCapabilities`).
///
/// With a static catalogue, `tools`, `resources` and `prompts` that are not given here are declared as soon as the
/// catalogue holds one. With a delegated catalogue only what is given here is declared, and served.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapabilityConfig {
    members: Vec<(String, String)>,
}

impl CapabilityConfig {
    /// Reads a `ServerCapabilities` object.
    ///
    /// # Errors
    /// [`LocalError::Config`] when `json` is no JSON object of objects.
    pub fn from_json(json: &str) -> Result<Self, LocalError> {
        let bad = |reason: &str| LocalError::Config(format!("capabilities: {reason}"));
        let json = check(json).map_err(|error| bad(&error.to_string()))?;
        if !scan::is_object(json) {
            return Err(bad("must be an object"));
        }
        let mut members = Vec::new();
        for (key, value) in scan::members(json) {
            let key = scan::plain_string(key).ok_or_else(|| bad("a key is no text"))?.into_owned();
            match value {
                "null" => {}
                value if scan::is_object(value) => members.push((key, value.to_owned())),
                _ => return Err(bad(&format!("{key:?} must be an object"))),
            }
        }
        Ok(Self { members })
    }

    /// Declares `name` with the settings object `json`, in the place of an earlier declaration of it.
    pub fn declare(&mut self, name: &str, json: &str) {
        self.members.retain(|(key, _)| key != name);
        self.members.push((name.to_owned(), json.to_owned()));
    }

    /// Declares `inner` within `name` with the settings object `json`, unless it is there: an extension stands within
    /// `extensions` (2026-07-28 `basic/index`, "Extension negotiation").
    pub fn declare_within(&mut self, name: &str, inner: &str, json: &str) {
        let mut object = String::from("{");
        for (key, value) in scan::members(self.get(name).unwrap_or("{}")) {
            if scan::plain_string(key).as_deref() == Some(inner) {
                return;
            }
            object.push_str(key);
            object.push(':');
            object.push_str(value);
            object.push(',');
        }
        write::string(&mut object, inner);
        object.push(':');
        object.push_str(json);
        object.push('}');
        self.declare(name, &object);
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.members.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Whether `name` is declared with its setting `flag` true.
    pub(crate) fn flag(&self, name: &str, flag: &'static str) -> bool {
        self.get(name).and_then(|value| scan::pick(value, [flag]).ok()).is_some_and(|[value]| value == Some("true"))
    }

    /// An extension whose name is none (2026-07-28 `basic/versioning`, "Extension Negotiation": MUST).
    fn misnamed_extension(&self) -> Option<String> {
        let names = scan::members(self.get("extensions").unwrap_or("{}"));
        let mut names = names.map(|(key, _)| scan::plain_string(key).unwrap_or_default());
        names.find(|name| !is_prefixed_key(name)).map(Cow::into_owned)
    }

    pub(crate) fn to_json(&self) -> String {
        let mut out = String::from("{");
        for (at, (key, value)) in self.members.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            write::string(&mut out, key);
            out.push(':');
            write::raw(&mut out, value);
        }
        out.push('}');
        out
    }
}

/// A secret key for `requestState`.
#[derive(Clone, PartialEq, Eq)]
pub struct StateKey(pub [u8; 32]);

impl StateKey {
    /// Reads 32 bytes in base64.
    ///
    /// # Errors
    /// [`LocalError::Config`].
    pub fn from_base64(text: &str) -> Result<Self, LocalError> {
        let key = STANDARD.decode(text).ok().and_then(|bytes| bytes.try_into().ok());
        key.map(Self).ok_or_else(|| LocalError::Config("stateKeys: each is 32 bytes in base64".into()))
    }
}

impl fmt::Debug for StateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StateKey(..)")
    }
}

/// Everything a [`crate::Server`] is made from.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// JSON of the server's `Implementation`: name and version, and what the newest revision allows besides.
    pub info: String,
    /// For the model: how to use this server.
    pub instructions: Option<String>,
    /// The revisions served; all of them by default.
    pub revisions: Vec<Revision>,
    /// Where the lists come from.
    pub catalogue: CatalogueKind,
    /// What is declared.
    pub capabilities: CapabilityConfig,
    /// Definitions on one page of a list. 1,000: most servers fit on one page, and many clients read only the first.
    pub page_size: usize,
    /// Caching hints of results that carry them.
    pub cache: CacheHints,
    /// What happens to results that do not fit their schema.
    pub output_validation: OutputValidation,
    /// Whether modern results name the server in `_meta` (`basic/index`, "Per-response protocol fields": SHOULD).
    pub identify: bool,
    /// Methods that the engine could serve itself and host code wants to see instead, as `Event::Call`; with
    /// `notifications/cancelled` among them host code sees that too, as `Event::Notification`.
    pub delegate: Vec<String>,
    /// Methods that no revision defines and host code serves (extensions).
    pub extra_methods: Vec<String>,
    /// Whether host code also sees, and refuses itself, requests that the engine could refuse: for methods that are not
    /// there, and with parameters that the schema does not allow. For a delegated catalogue, whose host code has words
    /// and an order of its own for that. What makes it unknown how to serve a request at all is refused all the same.
    pub delegate_refusals: bool,
    /// Keys for `requestState`, newest first: the first seals, all of them open. None by default: this process makes one
    /// of its own, and serves the retries of its own rounds alone.
    pub state_keys: Vec<StateKey>,
    /// How tasks are kept.
    pub tasks: TasksConfig,
    /// The bounds.
    pub limits: Limits,
}

impl ServerConfig {
    /// A server of this name and version, everything else as the defaults say.
    pub fn new(name: &str, version: &str) -> Self {
        let mut info = String::from(r#"{"name":"#);
        write::string(&mut info, name);
        info.push_str(r#","version":"#);
        write::string(&mut info, version);
        info.push('}');
        Self {
            info,
            instructions: None,
            revisions: Revision::ALL.to_vec(),
            catalogue: CatalogueKind::Static,
            capabilities: CapabilityConfig::default(),
            page_size: 1_000,
            cache: CacheHints::default(),
            output_validation: OutputValidation::Strict,
            identify: true,
            delegate: Vec::new(),
            extra_methods: Vec::new(),
            delegate_refusals: false,
            state_keys: Vec::new(),
            tasks: TasksConfig::default(),
            limits: Limits::default(),
        }
    }

    /// Reads the JSON form that the other languages pass: an object with the fields of this struct in camelCase,
    /// `info` required, `info` and `capabilities` as MCP objects.
    ///
    /// # Errors
    /// [`LocalError::Config`] naming what is wrong.
    pub fn from_json(json: &str) -> Result<Self, LocalError> {
        let form: Form<'_> = serde_json::from_str(json).map_err(|error| LocalError::Config(error.to_string()))?;
        let mut config = Self::new("", "");
        config.info = form.info.get().to_owned();
        config.instructions = form.instructions;
        if let Some(names) = form.revisions {
            config.revisions.clear();
            for name in names {
                let revision = Revision::parse(&name)
                    .ok_or_else(|| LocalError::Config(format!("revisions: {name:?} is not a revision of MCP")))?;
                config.revisions.push(revision);
            }
        }
        config.catalogue = form.catalogue;
        if let Some(capabilities) = form.capabilities {
            config.capabilities = CapabilityConfig::from_json(capabilities.get())?;
        }
        config.page_size = form.page_size.unwrap_or(config.page_size);
        config.cache = form.cache;
        config.output_validation = form.output_validation;
        config.identify = form.identify.unwrap_or(true);
        config.delegate = form.delegate;
        config.extra_methods = form.extra_methods;
        config.delegate_refusals = form.delegate_refusals;
        for key in form.state_keys {
            config.state_keys.push(StateKey::from_base64(&key)?);
        }
        config.tasks = form.tasks;
        config.limits = form.limits;
        Ok(config)
    }

    /// Checks what the types can't say and brings the revisions into order.
    pub(crate) fn checked(mut self) -> Result<Self, LocalError> {
        let bad = |reason: &str| Err(LocalError::Config(reason.to_owned()));
        let Ok(info) = check(&self.info) else { return bad("info must be JSON") };
        match scan::pick(info, ["name", "version"]) {
            Ok([Some(name), Some(version)]) if name.starts_with('"') && version.starts_with('"') => {}
            _ => return bad("info must be an object with the strings \"name\" and \"version\""),
        }
        self.info = info.to_owned();
        self.revisions.sort_unstable();
        self.revisions.dedup();
        if self.revisions.is_empty() {
            return bad("revisions must name at least one");
        }
        if self.page_size == 0 {
            return bad("pageSize must be at least 1");
        }
        if self.delegate_refusals && self.catalogue != CatalogueKind::Delegated {
            return bad("delegateRefusals wants a delegated catalogue");
        }
        self.tasks.check()?;
        // What an existing application declares is its own business.
        if self.catalogue == CatalogueKind::Static
            && let Some(name) = self.capabilities.misnamed_extension()
        {
            let reason = "must be named as a _meta key with a prefix is, like \"com.example/name\"";
            return bad(&format!("capabilities: the extension {name:?} {reason}"));
        }
        if self.limits.max_depth > Limits::default().max_depth {
            return bad("limits.maxDepth can't be above 128, which is what the schema validator can walk");
        }
        Ok(self)
    }
}

/// Whether a text is a `_meta` key with a prefix (2026-07-28 `basic/index`, "`_meta`").
fn is_prefixed_key(key: &str) -> bool {
    let Some((prefix, name)) = key.split_once('/') else { return false };
    let is_label = |label: &str| {
        label.starts_with(|c: char| c.is_ascii_alphabetic())
            && label.ends_with(|c: char| c.is_ascii_alphanumeric())
            && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    let is_name = name.is_empty()
        || name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.ends_with(|c: char| c.is_ascii_alphanumeric())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    prefix.split('.').all(is_label) && is_name
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Form<'a> {
    #[serde(borrow)]
    info: &'a RawValue,
    #[serde(default)]
    instructions: Option<String>,
    #[serde(default)]
    revisions: Option<Vec<String>>,
    #[serde(default)]
    catalogue: CatalogueKind,
    #[serde(borrow, default)]
    capabilities: Option<&'a RawValue>,
    #[serde(default)]
    page_size: Option<usize>,
    #[serde(default)]
    cache: CacheHints,
    #[serde(default)]
    output_validation: OutputValidation,
    #[serde(default)]
    identify: Option<bool>,
    #[serde(default)]
    delegate: Vec<String>,
    #[serde(default)]
    extra_methods: Vec<String>,
    #[serde(default)]
    delegate_refusals: bool,
    #[serde(default)]
    state_keys: Vec<String>,
    #[serde(default)]
    tasks: TasksConfig,
    #[serde(default)]
    limits: Limits,
}
