//! Requests that are read once more: a retry that has waited for the store, a call that host code gets again.

use super::Server;
use super::event::{ClientFacts, StreamId};
use super::inflight::InFlight;
use super::request::{Params, Refusal, Request, RequestClient};
use super::stream::Via;
use crate::jsonrpc::{Id, Message};
use crate::wire::Revision;
use crate::wire::meta::Meta;
use crate::wire::method::Method;
use std::sync::Arc;

/// A request that is in the books, or was.
pub(super) struct Original {
    pub(super) stream: StreamId,
    pub(super) id: Id,
    pub(super) via: Via,
    revision: Revision,
    params: Option<Arc<str>>,
}

impl Original {
    pub(super) fn of(record: &InFlight) -> Self {
        let (stream, via, revision) = (record.stream, record.via, record.revision);
        Self { stream, id: record.id.clone(), via, revision, params: record.params.clone() }
    }
}

impl Server {
    /// Reads a request once more that was in the books, for `body`: what it asks for may have changed meanwhile.
    pub(super) fn again<R>(
        &mut self,
        original: &Original,
        method: Method,
        body: impl FnOnce(&mut Self, Request<'_>) -> Result<R, Refusal>,
    ) -> Result<R, Refusal> {
        let Original { stream, id, via, revision, params } = original;
        let (stream, via, revision) = (*stream, *via, *revision);
        let facts = self.streams.get(&stream).and_then(|stream| stream.legacy.as_ref());
        let facts: Arc<ClientFacts> = facts.map(|legacy| Arc::clone(&legacy.client)).unwrap_or_default();
        let mut text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{}""#, method.name());
        if let Some(params) = params {
            text.push_str(r#","params":"#);
            text.push_str(params);
        }
        text.push('}');
        // It was read before.
        let message = Message::from_json(&text, self.config.limits.max_depth).map_err(|fault| fault.error)?;
        let params = Params::read(&message)?;
        let meta = Meta::read(params.meta, &message.fields)?;
        let (log_level, client) = match meta.declared(&self.config.revisions) {
            Ok(declared) if revision.is_modern() => {
                let (info, capabilities) = (declared.client_info, declared.client_capabilities);
                (declared.log_level, RequestClient::Request { info, capabilities })
            }
            _ => (None, RequestClient::Connection(facts)),
        };
        body(self, Request { stream, id, method: method.name(), via, revision, params, meta, log_level, client })
    }
}
