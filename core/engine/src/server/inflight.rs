//! The requests that are being served: one record each, found by key and, within its stream, by id.

use super::catalogue::Tool;
use super::deadline::Bound;
use super::event::{Millis, RequestKey, StreamId};
use super::rounds::{Owner, Rounds};
use super::stream::Via;
use super::tasks::Run;
use crate::jsonrpc::Id;
use crate::model::LogLevel;
use crate::server::event::MethodName;
use crate::wire::Revision;
use std::ops::Range;
use std::sync::Arc;

/// A request that has no answer yet.
pub(super) struct InFlight {
    pub(super) stream: StreamId,
    pub(super) id: Id,
    pub(super) revision: Revision,
    pub(super) method: MethodName,
    pub(super) tool: Option<Arc<Tool>>,
    pub(super) progress: Option<Progress>,
    pub(super) log_level: Option<LogLevel>,
    /// The way of its answer, and of all else that belongs to it.
    pub(super) via: Via,
    pub(super) deadline: Option<Millis>,
    /// What host code has said of how long it may take.
    pub(super) bound: Option<Box<Bound>>,
    /// The parameters, as the call has them.
    pub(super) params: Option<Arc<str>>,
    /// Where in them a modern client's capabilities are.
    pub(super) capabilities: Option<Range<usize>>,
    /// What the client was asked, if anything.
    pub(super) rounds: Option<Box<Rounds>>,
    /// What makes it a task.
    pub(super) run: Option<Box<Run>>,
    /// What happens when the answer has been sent.
    pub(super) after: After,
}

impl InFlight {
    /// The `ClientCapabilities` of a modern request.
    pub(super) fn capabilities(&self) -> Option<&str> {
        self.params.as_deref()?.get(self.capabilities.clone()?)
    }

    /// Whether host code has left the call, with a round by hand, and is called again when that is answered.
    pub(super) fn is_left(&self) -> bool {
        let mut waiting = self.rounds.iter().flat_map(|rounds| &rounds.waiting).peekable();
        waiting.peek().is_some() && waiting.all(|waiting| matches!(waiting.owner, Owner::Hand(_)))
    }

    /// Whether the request was answered with a question, and the call waits for the client's retry.
    pub(super) fn is_held(&self) -> bool {
        self.rounds.as_ref().is_some_and(|rounds| rounds.hold.is_some())
    }
}

/// Progress that a peer asked for.
pub(super) struct Progress {
    pub(super) token: Box<str>,
    pub(super) last: Option<f64>,
}

/// What an answer of host code brings about.
pub(super) enum After {
    Nothing,
    /// No host code is asked: the engine itself answers.
    Engine,
    /// `initialize` was delegated: the connection is open under what the answer says.
    Handshake,
    /// `logging/setLevel` was delegated.
    SetLevel(LogLevel),
    /// `resources/subscribe` was delegated.
    Subscribe(String),
    /// `resources/unsubscribe` was delegated.
    Unsubscribe(String),
}

/// Records under keys that are never given twice.
#[derive(Default)]
pub(super) struct Table {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

#[derive(Default)]
struct Slot {
    generation: u32,
    record: Option<InFlight>,
}

impl Table {
    pub(super) fn insert(&mut self, record: InFlight) -> RequestKey {
        let at = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            (self.slots.len() - 1) as u32
        });
        let slot = &mut self.slots[at as usize];
        slot.record = Some(record);
        key_of(slot.generation, at)
    }

    pub(super) fn get(&self, key: RequestKey) -> Option<&InFlight> {
        let slot = self.slots.get(key.0 as u32 as usize)?;
        slot.record.as_ref().filter(|_| u64::from(slot.generation) == key.0 >> 32)
    }

    pub(super) fn get_mut(&mut self, key: RequestKey) -> Option<&mut InFlight> {
        self.slot(key)?.record.as_mut()
    }

    /// The keys of the records that are as wanted.
    pub(super) fn keys(&self, wanted: impl Fn(&InFlight) -> bool) -> Vec<RequestKey> {
        let slots = self.slots.iter().enumerate();
        let wanted = slots.filter(|(_, slot)| slot.record.as_ref().is_some_and(&wanted));
        wanted.map(|(at, slot)| key_of(slot.generation, at as u32)).collect()
    }

    pub(super) fn remove(&mut self, key: RequestKey) -> Option<InFlight> {
        let slot = self.slot(key)?;
        let record = slot.record.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(key.0 as u32);
        Some(record)
    }

    fn slot(&mut self, key: RequestKey) -> Option<&mut Slot> {
        let slot = self.slots.get_mut(key.0 as u32 as usize)?;
        (u64::from(slot.generation) == key.0 >> 32).then_some(slot)
    }
}

fn key_of(generation: u32, at: u32) -> RequestKey {
    RequestKey(u64::from(generation) << 32 | u64::from(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_given_twice() {
        let record = || InFlight {
            stream: StreamId(0),
            id: "1".into(),
            revision: Revision::V2026_07_28,
            method: MethodName::Extra("x".into()),
            tool: None,
            progress: None,
            log_level: None,
            via: Via::default(),
            deadline: None,
            bound: None,
            params: None,
            capabilities: None,
            rounds: None,
            run: None,
            after: After::Nothing,
        };
        let mut table = Table::default();
        let first = table.insert(record());
        assert!(table.remove(first).is_some());
        let second = table.insert(record());
        assert_ne!(first, second);
        assert!(table.get_mut(first).is_none() && table.remove(first).is_none());
        assert!(table.get_mut(second).is_some());
    }
}
