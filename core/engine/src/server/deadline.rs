//! How long one call may take, where host code says more than `limits.call_timeout_ms`, which is for all.
//!
//! What a call does meanwhile moves no timer: a timer that goes off looks whether its time has really come, and is set
//! again if not. So progress costs nothing here.

use super::Server;
use super::event::{CancelReason, Event, Millis, Reply, RequestKey};
use super::inflight::InFlight;
use crate::error::PeerError;
use crate::wire::method::Method;

/// How long one call may take; zero counts as no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallLimits {
    /// Milliseconds in all, whatever it does meanwhile, in the place of [`crate::Limits::call_timeout_ms`].
    pub total_ms: Option<u64>,
    /// Milliseconds without any progress. What its client is asked does not count: a person may take their time.
    pub idle_ms: Option<u64>,
}

impl CallLimits {
    fn total(self) -> Option<u64> {
        self.total_ms.filter(|ms| *ms > 0)
    }

    fn idle(self) -> Option<u64> {
        self.idle_ms.filter(|ms| *ms > 0)
    }
}

/// The bound of a call that runs.
#[derive(Debug)]
pub(super) struct Bound {
    limits: CallLimits,
    since: Millis,
    /// When it was heard of last.
    active: Millis,
    /// When to look at it.
    due: Millis,
}

/// What a timer that went off finds.
enum Look {
    Later(Millis),
    Over(String),
}

impl Bound {
    pub(super) fn has_total(&self) -> bool {
        self.limits.total().is_some()
    }

    /// Something was heard of the call.
    pub(super) fn heard(&mut self, now: Millis) {
        self.active = now;
    }

    fn look(&self, method: &str, now: Millis) -> Look {
        let total = self.limits.total().map(|ms| (self.since.saturating_add(ms), ms));
        let idle = self.limits.idle().map(|ms| (self.active.saturating_add(ms), ms));
        match (total, idle) {
            (Some((at, ms)), _) if at <= now => Look::Over(format!("{method} did not end within {ms} ms")),
            (_, Some((at, ms))) if at <= now => Look::Over(format!("{method} has told of no progress for {ms} ms")),
            (total, idle) => {
                Look::Later([total, idle].into_iter().flatten().map(|(at, _)| at).min().unwrap_or(Millis::MAX))
            }
        }
    }
}

impl Server {
    /// Bounds one call from now on, in the place of an earlier bound of it. A call that takes longer ends as one that went
    /// past `limits.call_timeout_ms`: its client gets an error (a tool error for `tools/call`, also as the result of a
    /// task), host code [`CancelReason::Deadline`]. False: the call is over.
    pub fn set_deadline(&mut self, call: RequestKey, limits: CallLimits, now: Millis) -> bool {
        let Some(record) = self.requests.get_mut(call) else { return false };
        let before = record.bound.take();
        // The time that a task is kept, or a held call may be away, is another matter.
        let replaces = limits.total().is_some() && record.run.is_none() && !record.is_held();
        let general = if replaces { record.deadline.take() } else { None };
        let mut bound = Bound { limits, since: now, active: now, due: 0 };
        if let Look::Later(due) = bound.look("", now)
            && due < Millis::MAX
        {
            bound.due = due;
            record.bound = Some(Box::new(bound));
            self.bounds.insert((due, call.0), call);
        }
        if let Some(before) = before {
            self.forget_bound(call, &before);
        }
        self.forget_deadline(call, general);
        true
    }

    /// Ends calls that went past their own bound.
    pub(super) fn expire_bounds(&mut self, now: Millis) {
        while let Some((&(due, _), &key)) = self.bounds.first_key_value()
            && due <= now
        {
            self.bounds.pop_first();
            let Some(record) = self.requests.get_mut(key) else { continue };
            let waits = record.is_held() || record.rounds.as_ref().is_some_and(|rounds| !rounds.waiting.is_empty());
            let Some(bound) = record.bound.as_mut() else { continue };
            if waits {
                bound.heard(now);
            }
            match bound.look(record.method.as_str(), now) {
                Look::Later(at) => {
                    bound.due = at;
                    self.bounds.insert((at, key.0), key);
                }
                Look::Over(text) => self.end_late(key, &text),
            }
        }
    }

    fn end_late(&mut self, key: RequestKey, text: &str) {
        let Some(record) = self.requests.get(key) else { return };
        if record.run.is_some() {
            let (stream, is_left) = (record.stream, record.is_left());
            self.end_run(key, &Reply::Text { text, is_error: true });
            if !is_left {
                self.event(Event::Cancelled { key, reason: CancelReason::Deadline });
            }
            return self.check_drained(stream);
        }
        let is_held = record.is_held();
        let Some(record) = self.settle(key) else { return };
        if !is_held {
            self.refuse_late(&record, text);
        }
        self.tell_over(key, &record, CancelReason::Deadline);
        self.check_drained(record.stream);
    }

    /// Tells a client that a request of it took too long.
    pub(super) fn refuse_late(&mut self, record: &InFlight, text: &str) {
        self.disagree(record);
        if record.method.known() == Some(Method::ToolsCall) {
            return self.send_tool_error(record.stream, record.via, &record.id, record.revision, text);
        }
        let error = PeerError::internal(text);
        self.send_error(record.stream, record.via, Some(&record.id), &error);
    }

    pub(super) fn forget_bound(&mut self, key: RequestKey, bound: &Bound) {
        self.bounds.remove(&(bound.due, key.0));
    }
}
