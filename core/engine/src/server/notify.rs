//! Telling peers of changes: legacy connections by plain notifications, modern peers through their subscriptions.

use super::event::{Event, Millis, Sent, StreamId};
use super::inflight::InFlight;
use super::stream::Via;
use super::{CancelReason, ListKind, Server, reply};
use crate::error::LocalError;
use crate::jsonrpc::write;
use crate::wire::meta::SUBSCRIPTION_ID;
use crate::wire::method::Method;
use std::collections::HashSet;
use std::sync::Arc;

impl Server {
    /// A list has changed. Peers that are to be told are told within `limits.coalesce_ms`, once for all changes till then.
    pub fn notify_changed(&mut self, list: ListKind, now: Millis) {
        if self.streams.is_empty() {
            return;
        }
        if !self.changes.kinds.contains(&list) {
            self.changes.kinds.push(list);
        }
        self.changes.due.get_or_insert(now.saturating_add(self.config.limits.coalesce_ms));
    }

    pub(super) fn tell_changes(&mut self) {
        self.changes.due = None;
        for list in std::mem::take(&mut self.changes.kinds) {
            let (name, method) = match list {
                ListKind::Tools => ("tools", "notifications/tools/list_changed"),
                ListKind::Prompts => ("prompts", "notifications/prompts/list_changed"),
                ListKind::Resources => ("resources", "notifications/resources/list_changed"),
            };
            if !self.tells_of(name) {
                continue;
            }
            self.tell(
                method,
                |stream| stream.legacy.as_ref().is_some_and(|legacy| legacy.ready),
                |open| match list {
                    ListKind::Tools => open.tools,
                    ListKind::Prompts => open.prompts,
                    ListKind::Resources => open.resources,
                },
                None,
            );
        }
    }

    /// A resource has changed: `notifications/resources/updated` to everybody who watches it.
    pub fn resource_updated(&mut self, uri: &str) {
        let mut text = String::new();
        write::string(&mut text, uri);
        self.tell(
            "notifications/resources/updated",
            |stream| stream.legacy.as_ref().is_some_and(|legacy| legacy.watched.contains(uri)),
            |open| open.watched.contains(uri),
            Some(&text),
        );
    }

    /// Sends a notification to the legacy connections and the subscriptions that are chosen; `uri` is JSON text.
    fn tell(
        &mut self,
        method: &str,
        connection: impl Fn(&super::Stream) -> bool,
        subscription: impl Fn(&super::stream::Subscription) -> bool,
        uri: Option<&str>,
    ) {
        let mut messages = Vec::new();
        for stream in self.streams.values() {
            if connection(stream) {
                messages.push((stream.id, Via::default(), uri.map(|uri| format!(r#"{{"uri":{uri}}}"#))));
            }
            for open in stream.subscriptions.iter().filter(|open| subscription(open)) {
                let uri = uri.map(|uri| format!(r#","uri":{uri}"#)).unwrap_or_default();
                let params = format!(r#"{{"_meta":{{"{SUBSCRIPTION_ID}":{}}}{uri}}}"#, open.id);
                messages.push((stream.id, open.via, Some(params)));
            }
        }
        for (stream, via, params) in messages {
            self.send_notification(stream, via, method, params.as_deref());
        }
    }

    /// Sends a notification that belongs to no call; only to a legacy connection, since a modern peer gets only what
    /// belongs to one of its requests. `params` is the JSON of an object. False: there is no such connection, or
    /// `notifications/elicitation/complete` does not name a visit that this client was asked for.
    ///
    /// # Errors
    /// [`LocalError::NotJson`] when `params` is no JSON object.
    pub fn notify_stream(&mut self, stream: StreamId, method: &str, params: Option<&str>) -> Result<bool, LocalError> {
        let params = params.map(|params| reply::object("params", params)).transpose()?;
        let legacy = self.streams.get(&stream).is_some_and(|stream| stream.legacy.is_some());
        let sent = legacy && self.may_notify(stream, method, params);
        if sent {
            self.send_notification(stream, Via::default(), method, params);
        }
        Ok(sent)
    }

    /// Ends all subscriptions of a stream: first each one's result (`basic/patterns/subscriptions`, "Graceful Closure":
    /// before the stream is closed), then the notification that closes it (`basic/patterns/cancellation`: MUST).
    pub(super) fn end_subscriptions(&mut self, stream: StreamId) {
        let Some(state) = self.streams.get_mut(&stream) else { return };
        let mut over: Vec<_> = Vec::new();
        for subscription in std::mem::take(&mut state.subscriptions) {
            over.push((subscription.id, subscription.via, subscription.revision));
            self.unwatched(stream, subscription.watched);
        }
        // Those that host code serves would never end by themselves.
        let keys: Vec<_> =
            self.streams.get(&stream).map(|state| state.in_flight.values().copied().collect()).unwrap_or_default();
        for key in keys {
            let listens = |record: &mut InFlight| record.method.known() == Some(Method::Listen);
            if self.requests.get_mut(key).is_some_and(listens)
                && let Some(record) = self.settle(key)
            {
                over.push((record.id, record.via, record.revision));
                self.event(Event::Cancelled { key, reason: CancelReason::Drained });
            }
        }
        for (id, via, revision) in over {
            let meta = format!(r#"{{"{SUBSCRIPTION_ID}":{id}}}"#);
            let stamp = Arc::clone(&self.stamp);
            self.send_answer(stream, via, |out| {
                write::open_result(out, &id);
                out.push_str(r#"{"resultType":"complete""#);
                stamp.close(out, Some(&meta), revision);
                out.push_str("}}");
            });
            // A lane ends with the answer, which says the same.
            if via.lane == 0 {
                let params = format!(r#"{{"_meta":{meta},"requestId":{id}}}"#);
                self.send_notification(stream, via, "notifications/cancelled", Some(&params));
            }
        }
    }

    /// Tells host code of the resources that nothing on this stream watches any more.
    pub(super) fn unwatched(&mut self, stream: StreamId, uris: HashSet<String>) {
        let mut gone: Vec<_> = match self.streams.get(&stream) {
            Some(state) => uris.into_iter().filter(|uri| !state.watches(uri)).collect(),
            None => uris.into_iter().collect(),
        };
        gone.sort_unstable();
        for uri in gone {
            self.event(Event::Unsubscribed { stream, uri });
        }
    }

    pub(super) fn send_notification(&mut self, stream: StreamId, via: Via, method: &str, params: Option<&str>) {
        if !self.streams.get(&stream).is_some_and(|stream| stream.takes(via)) {
            return;
        }
        let out = self.transmit(stream, via.lane, Sent::Message);
        write::open_notification(out, method);
        if let Some(params) = params {
            out.push_str(r#","params":"#);
            write::raw(out, params);
        }
        out.push_str("}\n");
    }
}
