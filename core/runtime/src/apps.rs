//! MCP Apps: pages that a host shows beside a tool (extension `io.modelcontextprotocol/ui`, SEP-1865).
//!
//! A page is a resource under `ui://`, and the tool's definition points at it. Clients without the extension see a resource
//! and a field of `_meta` that they don't know, so a tool must say in its content what the page shows.
//!
//! ```
//! use ferromcp::apps::AppView;
//! use ferromcp::{Server, ToolOutput};
//!
//! let clock = AppView::new("ui://clock/view.html", "Clock", "<!doctype html><title>Clock</title>")?;
//! let tool = clock.tool(r#"{"name": "time", "inputSchema": {"type": "object"}}"#)?;
//! let server = Server::new("clock", "1.0").tool(tool, |_| Ok(ToolOutput::text("12:00"))).app_view(clock);
//! # Ok::<(), ferromcp::Error>(())
//! ```

use crate::call::ResourceOutput;
use crate::server::Server;
use ferromcp_engine::LocalError;
use serde_json::{Map, Value, json};

/// The extension, as client and server declare it.
pub const EXTENSION: &str = "io.modelcontextprotocol/ui";

/// What a page is.
pub const MIME_TYPE: &str = "text/html;profile=mcp-app";

/// A page.
#[derive(Clone, Debug)]
pub struct AppView {
    uri: String,
    name: String,
    html: String,
    ui: Map<String, Value>,
}

impl AppView {
    /// A page of this HTML. Hosts may load it before the tool is called, and keep it, so what changes belongs into the
    /// tool's result.
    ///
    /// # Errors
    /// [`LocalError::Definition`] for a URI that is not under `ui://`.
    pub fn new(uri: &str, name: &str, html: impl Into<String>) -> Result<Self, LocalError> {
        if uri.strip_prefix("ui://").is_none_or(str::is_empty) {
            return Err(LocalError::Definition {
                name: uri.to_owned(),
                reason: "a page's URI begins with ui://".into(),
            });
        }
        Ok(Self { uri: uri.to_owned(), name: name.to_owned(), html: html.into(), ui: Map::new() })
    }

    /// What the page needs of its host (`csp`, `permissions`, ...): the JSON of an object, which becomes `_meta.ui` of the
    /// resource.
    ///
    /// # Errors
    /// [`LocalError::NotJson`].
    pub fn with_ui_meta(mut self, json: &str) -> Result<Self, LocalError> {
        self.ui = object("ui", json)?;
        Ok(self)
    }

    /// A tool's definition that points at this page; the rest of it stays as it is.
    ///
    /// # Errors
    /// [`LocalError::NotJson`] where `definition`, or `_meta` or `_meta.ui` in it, is no JSON object.
    pub fn tool(&self, definition: &str) -> Result<String, LocalError> {
        let mut tool = object("definition", definition)?;
        self.point(within(&mut tool, "_meta")?)?;
        Ok(Value::Object(tool).to_string())
    }

    /// The `_meta` of a tool that points at this page, as the JSON text of an object: `meta`, and this page in its `ui`.
    ///
    /// # Errors
    /// [`LocalError::NotJson`] where `meta`, or `ui` in it, is no JSON object.
    pub fn tool_meta(&self, meta: &str) -> Result<String, LocalError> {
        let mut meta = object("meta", meta)?;
        self.point(&mut meta)?;
        Ok(Value::Object(meta).to_string())
    }

    fn point(&self, meta: &mut Map<String, Value>) -> Result<(), LocalError> {
        within(meta, "ui")?.insert("resourceUri".into(), self.uri.clone().into());
        Ok(())
    }

    /// Where the page is read.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    fn meta(&self) -> Option<Value> {
        (!self.ui.is_empty()).then(|| json!({ "ui": self.ui }))
    }

    /// The page's `Resource`, as JSON text: for servers that are no [`Server`].
    pub fn definition_json(&self) -> String {
        let mut definition = json!({"uri": self.uri, "name": self.name, "mimeType": MIME_TYPE});
        if let Some(meta) = self.meta() {
            definition["_meta"] = meta;
        }
        definition.to_string()
    }

    /// What reading it gives, as the JSON text of an array of contents.
    pub fn contents_json(&self) -> String {
        let mut contents = json!({"uri": self.uri, "mimeType": MIME_TYPE, "text": self.html});
        if let Some(meta) = self.meta() {
            contents["_meta"] = meta;
        }
        json!([contents]).to_string()
    }
}

impl Server {
    /// Adds a page, and declares the extension.
    #[must_use]
    pub fn app_view(self, view: AppView) -> Self {
        let contents = view.contents_json();
        self.extension(EXTENSION, "{}")
            .resource(view.definition_json(), move |_| Ok(ResourceOutput::contents_json(contents.clone())))
    }
}

/// The object under a key, made where there is none.
fn within<'a>(outer: &'a mut Map<String, Value>, key: &'static str) -> Result<&'a mut Map<String, Value>, LocalError> {
    match outer.entry(key).or_insert_with(|| json!({})) {
        Value::Object(inner) => Ok(inner),
        _ => Err(LocalError::NotJson { what: key, reason: "must be an object".into() }),
    }
}

fn object(what: &'static str, json: &str) -> Result<Map<String, Value>, LocalError> {
    serde_json::from_str(json).map_err(|error| LocalError::NotJson { what, reason: error.to_string() })
}
