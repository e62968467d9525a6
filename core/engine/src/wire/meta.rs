//! The `_meta` object of a request: what the protocol reserves in it (2026-07-28 `basic/index`, "`_meta`").

use crate::error::{PeerError, code, shorten};
use crate::jsonrpc::cursor::PickError;
use crate::jsonrpc::{Fields, scan, write};
use crate::model::LogLevel;
use crate::wire::Revision;

pub(crate) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
pub(crate) const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// The reserved fields, as written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meta<'a> {
    pub(crate) text: Option<&'a str>,
    pub(crate) progress_token: Option<&'a str>,
    pub(crate) protocol_version: Option<&'a str>,
    pub(crate) client_info: Option<&'a str>,
    pub(crate) client_capabilities: Option<&'a str>,
    log_level: Option<&'a str>,
}

/// What a modern request declares of itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Declared<'a> {
    pub(crate) revision: Revision,
    pub(crate) client_capabilities: &'a str,
    pub(crate) client_info: Option<&'a str>,
    pub(crate) log_level: Option<LogLevel>,
}

impl<'a> Meta<'a> {
    /// Reads `params._meta`, whose text is `meta`; an absent or null one has no fields.
    pub(crate) fn read(meta: Option<&'a str>, fields: &Fields<'a>) -> Result<Self, PeerError> {
        let Some(text) = meta.filter(|text| *text != "null") else { return Ok(Self::default()) };
        if !scan::is_object(text) {
            return Err(PeerError::invalid_params("Invalid params: _meta must be an object"));
        }
        let [progress_token, protocol_version, client_info, client_capabilities, log_level] =
            fields.meta.map_err(|error| match error {
                PickError::NotObject => PeerError::invalid_params("Invalid params: _meta must be an object"),
                PickError::Duplicate(key) => {
                    PeerError::invalid_params(format!("Invalid params: duplicate key {key:?} in _meta"))
                }
            })?;
        Ok(Self { text: Some(text), progress_token, protocol_version, client_info, client_capabilities, log_level })
    }

    /// Takes a progress token out that is none, and says what is wrong with it.
    pub(crate) fn take_wrong_token(&mut self) -> Option<PeerError> {
        self.progress_token.take_if(|token| !(token.starts_with('"') || scan::is_integer(token)))?;
        Some(PeerError::invalid_params("Invalid params: progressToken must be a string or an integer"))
    }

    /// Reads the fields by which a modern request stands on its own. The version comes first: what another revision
    /// requires can't be known here.
    pub(crate) fn declared(&self, served: &[Revision]) -> Result<Declared<'a>, PeerError> {
        let missing = |key: &str| {
            PeerError::invalid_params(format!(
                "Invalid params: _meta lacks the required \"io.modelcontextprotocol/{key}\""
            ))
        };
        let version = self.protocol_version.ok_or_else(|| missing("protocolVersion"))?;
        let Some(version) = scan::plain_string(version) else {
            return Err(PeerError::invalid_params("Invalid params: the protocol version in _meta must be a string"));
        };
        let revision = Revision::parse(&version)
            .filter(|revision| revision.is_modern() && served.contains(revision))
            .ok_or_else(|| unsupported_version(&version, served))?;
        let client_capabilities = self.client_capabilities.ok_or_else(|| missing("clientCapabilities"))?;
        if !scan::is_object(client_capabilities) {
            return Err(PeerError::invalid_params("Invalid params: clientCapabilities in _meta must be an object"));
        }
        let log_level = match self.log_level {
            None => None,
            Some(text) => Some(
                scan::plain_string(text)
                    .and_then(|name| LogLevel::parse(&name))
                    .ok_or_else(|| PeerError::invalid_params(format!("Invalid log level: {}", shorten(text))))?,
            ),
        };
        // Client info is for display only: one that is malformed is as good as none.
        let client_info = self.client_info.filter(|info| scan::is_object(info));
        Ok(Declared { revision, client_capabilities, client_info, log_level })
    }
}

/// -32022 with the versions that a retry of the same request may name: the legacy ones are not among them, since a
/// request can't choose them.
pub(crate) fn unsupported_version(requested: &str, served: &[Revision]) -> PeerError {
    let mut data = String::from(r#"{"supported":["#);
    for (at, revision) in served.iter().rev().filter(|revision| revision.is_modern()).enumerate() {
        if at > 0 {
            data.push(',');
        }
        write::string(&mut data, revision.as_str());
    }
    data.push_str(r#"],"requested":"#);
    write::string(&mut data, requested);
    data.push('}');
    PeerError::new(code::UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version").with_data(data)
}
