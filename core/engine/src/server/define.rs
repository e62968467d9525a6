//! What the static catalogue holds: definitions come and go while the server runs, and peers are told of it.

use super::Server;
use super::catalogue::{Added, ListKind};
use super::event::{DiagnosticKind, Millis};
use crate::error::LocalError;
use crate::jsonrpc::scan;
use std::borrow::Cow;

impl Server {
    /// Adds a tool: the JSON of a `Tool` as the newest revision writes it. `tag` comes back in [`Target::Tool`](crate::Target::Tool).
    ///
    /// # Errors
    /// [`LocalError::Definition`] naming the tool and what is wrong: no name, no input schema, a schema that is not
    /// valid by its dialect or refers to another document, a name that is taken.
    pub fn add_tool(&mut self, definition: &str, tag: u64, now: Millis) -> Result<(), LocalError> {
        let added = self.catalogue.add_tool(definition, tag);
        self.added(added, ListKind::Tools, now)
    }

    /// Adds a resource: the JSON of a `Resource`. `tag` comes back in [`Target::Resource`](crate::Target::Resource).
    ///
    /// # Errors
    /// [`LocalError::Definition`].
    pub fn add_resource(&mut self, definition: &str, tag: u64, now: Millis) -> Result<(), LocalError> {
        let added = self.catalogue.add_resource(definition, tag);
        self.added(added, ListKind::Resources, now)
    }

    /// Adds a resource template: the JSON of a `ResourceTemplate`. `tag` comes back in [`Target::Template`](crate::Target::Template).
    ///
    /// # Errors
    /// [`LocalError::Definition`], also for a template that RFC 6570 does not allow.
    pub fn add_resource_template(&mut self, definition: &str, tag: u64, now: Millis) -> Result<(), LocalError> {
        let added = self.catalogue.add_template(definition, tag);
        self.added(added, ListKind::Resources, now)
    }

    /// Adds a prompt: the JSON of a `Prompt`. `tag` comes back in [`Target::Prompt`](crate::Target::Prompt).
    ///
    /// # Errors
    /// [`LocalError::Definition`].
    pub fn add_prompt(&mut self, definition: &str, tag: u64, now: Millis) -> Result<(), LocalError> {
        let added = self.catalogue.add_prompt(definition, tag);
        self.added(added, ListKind::Prompts, now)
    }

    /// Removes a tool by its name; false when there is none. Calls of it that run go on.
    pub fn remove_tool(&mut self, name: &str, now: Millis) -> bool {
        let removed = self.catalogue.remove_tool(name);
        self.removed(removed, ListKind::Tools, now)
    }

    /// Removes a resource by its URI; false when there is none.
    pub fn remove_resource(&mut self, uri: &str, now: Millis) -> bool {
        let removed = self.catalogue.remove_resource(uri);
        self.removed(removed, ListKind::Resources, now)
    }

    /// Removes a resource template by its text; false when there is none.
    pub fn remove_resource_template(&mut self, uri_template: &str, now: Millis) -> bool {
        let removed = self.catalogue.remove_template(uri_template);
        self.removed(removed, ListKind::Resources, now)
    }

    /// Removes a prompt by its name; false when there is none.
    pub fn remove_prompt(&mut self, name: &str, now: Millis) -> bool {
        let removed = self.catalogue.remove_prompt(name);
        self.removed(removed, ListKind::Prompts, now)
    }

    /// Shows a tool to peers, or hides it: a hidden one is in no list, and calling it is calling nothing. Calls that run
    /// go on. False: there is none of this name.
    pub fn enable_tool(&mut self, name: &str, enabled: bool, now: Millis) -> bool {
        let changed = self.catalogue.enable_tool(name, enabled);
        self.enabled(changed, ListKind::Tools, now)
    }

    /// Shows a resource to peers, or hides it; false when there is none of this URI.
    pub fn enable_resource(&mut self, uri: &str, enabled: bool, now: Millis) -> bool {
        let changed = self.catalogue.enable_resource(uri, enabled);
        self.enabled(changed, ListKind::Resources, now)
    }

    /// Shows a resource template to peers, or hides it; false when there is none of this text.
    pub fn enable_resource_template(&mut self, uri_template: &str, enabled: bool, now: Millis) -> bool {
        let changed = self.catalogue.enable_template(uri_template, enabled);
        self.enabled(changed, ListKind::Resources, now)
    }

    /// Shows a prompt to peers, or hides it; false when there is none of this name.
    pub fn enable_prompt(&mut self, name: &str, enabled: bool, now: Millis) -> bool {
        let changed = self.catalogue.enable_prompt(name, enabled);
        self.enabled(changed, ListKind::Prompts, now)
    }

    /// The `mimeType` that the definition of the resource or template under a URI has, for contents that say none.
    pub fn resource_mime_type(&self, uri: &str) -> Option<String> {
        let template = || self.catalogue.template_definition(uri);
        let definition = self.catalogue.resources.definition(uri).or_else(template)?;
        let [mime_type] = scan::pick(&definition, ["mimeType"]).ok()?;
        scan::plain_string(mime_type?).map(Cow::into_owned)
    }

    fn enabled(&mut self, changed: Option<bool>, list: ListKind, now: Millis) -> bool {
        if changed == Some(true) {
            self.notify_changed(list, now);
        }
        changed.is_some()
    }

    fn added(&mut self, added: Added, list: ListKind, now: Millis) -> Result<(), LocalError> {
        if let Some(advice) = added? {
            self.diagnose(None, DiagnosticKind::Definition, advice);
        }
        self.notify_changed(list, now);
        Ok(())
    }

    fn removed(&mut self, removed: bool, list: ListKind, now: Millis) -> bool {
        if removed {
            self.notify_changed(list, now);
        }
        removed
    }
}
