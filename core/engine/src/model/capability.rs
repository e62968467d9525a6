//! The client capabilities that what a server asks stands under.

use crate::error::{PeerError, code};
use crate::jsonrpc::{scan, write};

/// A capability of a client, without which a server must not ask for what stands under it (2026-07-28
/// `basic/patterns/mrtr`, "Server Requirements"; `client/elicitation`, `client/sampling`, `client/roots`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Questions by a form.
    ElicitationForm,
    /// Questions by a visit to a URL.
    ElicitationUrl,
    /// Messages from a language model.
    Sampling,
    /// The same, with tools for the model.
    SamplingTools,
    /// The user's roots.
    Roots,
}

impl Capability {
    /// Where it stands in `ClientCapabilities`: names with a dot between them.
    pub fn path(self) -> &'static str {
        match self {
            Self::ElicitationForm => "elicitation.form",
            Self::ElicitationUrl => "elicitation.url",
            Self::Sampling => "sampling",
            Self::SamplingTools => "sampling.tools",
            Self::Roots => "roots",
        }
    }

    /// Whether a `ClientCapabilities` object declares it.
    pub fn is_declared_in(self, capabilities: &str) -> bool {
        let within = |name, key| member(capabilities, name).and_then(|value| member(value, key)).is_some();
        match self {
            // An empty object means the form alone (`client/elicitation`, "Capabilities").
            Self::ElicitationForm => {
                within("elicitation", "form")
                    || member(capabilities, "elicitation").is_some() && !within("elicitation", "url")
            }
            Self::ElicitationUrl => within("elicitation", "url"),
            Self::Sampling => member(capabilities, "sampling").is_some(),
            Self::SamplingTools => within("sampling", "tools"),
            Self::Roots => member(capabilities, "roots").is_some(),
        }
    }
}

/// The object that an object has under a key.
fn member<'a>(object: &'a str, key: &'static str) -> Option<&'a str> {
    let [value] = scan::pick(object, [key]).ok()?;
    value.filter(|value| scan::is_object(value))
}

impl PeerError {
    /// [`code::MISSING_REQUIRED_CLIENT_CAPABILITY`], naming what the client would have to declare: `path` as
    /// [`Capability::path`] writes it. What follows the first dot is one name.
    pub fn missing_capability(path: &str) -> Self {
        let mut data = String::from(r#"{"requiredCapabilities":{"#);
        let (outer, inner) = path.split_once('.').map_or((path, None), |(outer, inner)| (outer, Some(inner)));
        write::string(&mut data, outer);
        data.push_str(":{");
        if let Some(inner) = inner {
            write::string(&mut data, inner);
            data.push_str(":{}");
        }
        data.push_str("}}}");
        Self::new(code::MISSING_REQUIRED_CLIENT_CAPABILITY, "Missing required client capability").with_data(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_elicitation_capability_is_the_form_alone() {
        for (capabilities, form, url) in [
            ("{}", false, false),
            (r#"{"elicitation":{}}"#, true, false),
            (r#"{"elicitation":{"form":{}}}"#, true, false),
            (r#"{"elicitation":{"url":{}}}"#, false, true),
            (r#"{"elicitation":{"form":{},"url":{}}}"#, true, true),
            (r#"{"elicitation":null}"#, false, false),
        ] {
            assert_eq!(Capability::ElicitationForm.is_declared_in(capabilities), form, "{capabilities}");
            assert_eq!(Capability::ElicitationUrl.is_declared_in(capabilities), url, "{capabilities}");
        }
    }

    #[test]
    fn the_error_names_what_is_required() {
        let data = |path| PeerError::missing_capability(path).data.unwrap_or_default();
        assert_eq!(data("sampling"), r#"{"requiredCapabilities":{"sampling":{}}}"#);
        assert_eq!(data("elicitation.url"), r#"{"requiredCapabilities":{"elicitation":{"url":{}}}}"#);
        assert_eq!(
            data("extensions.io.modelcontextprotocol/tasks"),
            r#"{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}"#
        );
    }
}
