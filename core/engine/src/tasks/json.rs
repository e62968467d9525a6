//! JSON text that is kept as it was written.

use crate::error::{LocalError, PeerError};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

/// One JSON text without blanks around it, known to be valid. Big numbers, the order of keys and escapes stay as they were
/// written, also when it is stored inside another JSON text.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JsonText(Box<RawValue>);

impl JsonText {
    /// The text, if it is JSON. `what` names it in the error.
    ///
    /// # Errors
    /// [`LocalError::NotJson`].
    pub fn new(what: &'static str, text: &str) -> Result<Self, LocalError> {
        serde_json::from_str(text).map(Self).map_err(|error| LocalError::NotJson { what, reason: error.to_string() })
    }

    /// The text of a JSON-RPC error object. `data` that is no JSON is left out.
    pub fn error(error: &PeerError) -> Self {
        #[derive(Serialize)]
        struct ErrorObject<'a> {
            code: i64,
            message: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            data: Option<&'a RawValue>,
        }
        let data = error.data.as_deref().and_then(|data| serde_json::from_str(data).ok());
        let object = ErrorObject { code: error.code, message: &error.message, data };
        Self(to_raw_value(&object).expect("a number, a string and JSON text can be written"))
    }

    /// The text as it was written.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for JsonText {
    /// The same text, byte for byte.
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for JsonText {}
