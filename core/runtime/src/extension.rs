//! Methods of extensions in the Rust door (2026-07-28 `basic/versioning`, "Extension Negotiation").

use crate::context::Context;
use ferromcp_engine::PeerError;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::ops::Deref;

/// A request for a method that is no method of MCP.
pub struct MethodCall<'a>(pub(crate) Context<'a>);

impl<'a> Deref for MethodCall<'a> {
    type Target = Context<'a>;
    fn deref(&self) -> &Context<'a> {
        &self.0
    }
}

impl MethodCall<'_> {
    /// The parameters as JSON text, as the client wrote them.
    pub fn params_json(&self) -> Option<&str> {
        self.0.call.params_json()
    }

    /// The parameters as a type of yours; it gets to see `_meta` too.
    ///
    /// # Errors
    /// Invalid parameters, naming what does not fit.
    pub fn params<T: DeserializeOwned>(&self) -> Result<T, PeerError> {
        serde_json::from_str(self.params_json().unwrap_or("{}"))
            .map_err(|error| PeerError::invalid_params(format!("Invalid params: {error}")))
    }
}

/// What clients declare of their extensions.
#[derive(Deserialize)]
struct Declared {
    #[serde(default)]
    extensions: HashMap<String, Box<RawValue>>,
}

/// The settings of an extension in a `ClientCapabilities` object.
pub(crate) fn declared(capabilities: &str, name: &str) -> Option<String> {
    let mut declared: Declared = serde_json::from_str(capabilities).ok()?;
    declared.extensions.remove(name).map(|settings| settings.get().to_owned())
}
