//! How requests end without an answer of host code: cancelled, out of time, or with their stream.

use super::event::{Event, Millis, RequestKey, StreamId};
use super::inflight::{After, InFlight};
use super::{CancelReason, Server};
use crate::jsonrpc::{self, Message, scan};

impl Server {
    pub(super) fn handle_notification(&mut self, stream: StreamId, message: &Message<'_>) {
        match &*message.method {
            method @ "notifications/cancelled" => {
                self.cancelled(stream, message);
                if self.config.delegate.iter().any(|name| name == method) {
                    let params = message.params.map(str::to_owned);
                    self.event(Event::Notification { stream, method: method.to_owned(), params });
                }
            }
            "notifications/initialized" => {
                let Some(legacy) = self.streams.get_mut(&stream).and_then(|stream| stream.legacy.as_mut()) else {
                    return;
                };
                if !std::mem::replace(&mut legacy.ready, true) {
                    self.event(Event::Initialized { stream });
                }
            }
            method => {
                let params = message.params.map(str::to_owned);
                self.event(Event::Notification { stream, method: method.to_owned(), params });
            }
        }
    }

    /// `notifications/cancelled`: no answer for what it names; unknown, late and malformed ones are ignored
    /// (`basic/patterns/cancellation`, "Error Handling").
    fn cancelled(&mut self, stream: StreamId, message: &Message<'_>) {
        let Some(Ok([Some(id), reason])) = message.params.map(|params| scan::pick(params, ["requestId", "reason"]))
        else {
            return;
        };
        let id = jsonrpc::canonical_id(id);
        let Some(state) = self.streams.get_mut(&stream) else { return };
        if let Some(at) = state.subscriptions.iter().position(|open| jsonrpc::canonical_id(&open.id) == id) {
            let subscription = state.subscriptions.remove(at);
            return self.unwatched(stream, subscription.watched);
        }
        let Some(key) = state.in_flight.get(&*id).copied() else { return };
        // The handshake is not to be cancelled (2025-11-25 `basic/utilities/cancellation`, "Behavior Requirements").
        if self.requests.get_mut(key).is_some_and(|record| matches!(record.after, After::Handshake)) {
            return;
        }
        let Some(record) = self.settle(key) else { return };
        let reason = reason.and_then(scan::plain_string).map(|reason| reason.into_owned());
        self.tell_over(key, &record, CancelReason::Peer(reason));
        match record.via.batch {
            Some(batch) => self.check_batch(stream, batch),
            None => self.leave_unanswered(stream, record.via),
        }
        self.check_drained(stream);
    }

    /// Ends calls that ran too long: the peer gets an error, host code is told.
    pub(super) fn expire_calls(&mut self, now: Millis) {
        while let Some((&(due, _), &key)) = self.deadlines.first_key_value() {
            if due > now {
                break;
            }
            let timeout = self.config.limits.call_timeout_ms;
            let Some(record) = self.settle(key) else {
                self.deadlines.pop_first();
                continue;
            };
            if record.is_held() {
                self.tell_over(key, &record, CancelReason::Unanswered);
                continue;
            }
            if let Some(run) = &record.run {
                // It is kept no longer, so nobody can ask for it.
                self.tell_over(key, &record, CancelReason::Deadline);
                self.forget_followers(&run.id);
                self.check_drained(record.stream);
                continue;
            }
            self.refuse_late(&record, &format!("{} did not end within {timeout} ms", record.method.as_str()));
            self.tell_over(key, &record, CancelReason::Deadline);
            self.check_drained(record.stream);
        }
    }

    /// Ends every call of a stream without an answer.
    pub(super) fn cancel_all(&mut self, stream: StreamId, reason: &CancelReason) {
        let Some(state) = self.streams.get_mut(&stream) else { return };
        let mut keys: Vec<_> = state.in_flight.drain().map(|(_, key)| key).collect();
        state.batches.clear();
        keys.sort_unstable_by_key(|key| key.0);
        for key in keys {
            if let Some(record) = self.requests.remove(key) {
                self.forget_timers(key, &record);
                self.take_back(&record);
                self.tell_over(key, &record, reason.clone());
            }
        }
    }

    /// Ends every call that waits for a client which can't come back.
    pub(super) fn give_up_held(&mut self, stream: StreamId, reason: &CancelReason) {
        self.give_up_where(|record| record.is_held() && record.stream == stream, reason);
    }

    /// Ends the tasks of a stream that run here: they have failed.
    pub(super) fn give_up_tasks(&mut self, stream: StreamId, reason: &CancelReason) {
        self.give_up_where(|record| record.run.is_some() && record.stream == stream, reason);
    }

    /// Ends what goes on though its request is answered: held calls, and tasks.
    pub(super) fn give_up_where(&mut self, which: impl Fn(&InFlight) -> bool, reason: &CancelReason) {
        for key in self.requests.keys(which) {
            let Some(record) = self.settle(key) else { continue };
            self.tell_over(key, &record, reason.clone());
            if let Some(run) = &record.run {
                self.leave_run(record.stream, &run.id);
            }
        }
    }

    /// Tells host code that nobody waits for a call any more; what the engine serves by itself, it forgets. Host code that
    /// has left the call has nothing to end.
    pub(super) fn tell_over(&mut self, key: RequestKey, record: &InFlight, reason: CancelReason) {
        if matches!(record.after, After::Engine) {
            self.tasks.following.give_up(key);
        } else if !record.is_left() {
            self.event(Event::Cancelled { key, reason });
        }
    }

    /// What a call has asked of a legacy client and nobody waits for any more.
    fn take_back(&mut self, record: &InFlight) {
        let Some(rounds) = &record.rounds else { return };
        for open in rounds.waiting.iter().flat_map(|waiting| &waiting.questions) {
            if let Some(key) = open.outgoing {
                let task = record.run.as_ref().map(|run| run.id.as_str());
                self.abandon_of(key, Some("the request that asked is over"), task);
            }
        }
    }

    /// Takes a request out of the books. The batch that waits for it waits one less.
    pub(super) fn settle(&mut self, key: RequestKey) -> Option<InFlight> {
        let record = self.requests.remove(key)?;
        self.forget_timers(key, &record);
        self.take_back(&record);
        // The request of a held call, or of a task, is answered already.
        if record.is_held() {
            self.held -= 1;
        } else if let Some(run) = &record.run {
            self.tasks.running.remove(&run.id);
        } else if let Some(stream) = self.streams.get_mut(&record.stream) {
            stream.in_flight.remove(&*jsonrpc::canonical_id(&record.id));
            if let Some(batch) = record.via.batch.and_then(|batch| stream.batches.get_mut(&batch)) {
                batch.pending -= 1;
            }
        }
        Some(record)
    }

    fn forget_timers(&mut self, key: RequestKey, record: &InFlight) {
        self.forget_deadline(key, record.deadline);
        if let Some(bound) = &record.bound {
            self.forget_bound(key, bound);
        }
    }

    pub(super) fn forget_deadline(&mut self, key: RequestKey, deadline: Option<Millis>) {
        if let Some(deadline) = deadline {
            self.deadlines.remove(&(deadline, key.0));
        }
    }
}
