//! The messages of a session's streams, for clients that lost their connection (2025-11-25 `basic/transports`, "Resumability
//! and Redelivery").
//!
//! An event's id is `lane-number`: it names its stream, and is unique in the session.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// What was sent on the streams of one session.
#[derive(Debug, Default)]
pub(super) struct EventLog {
    lanes: BTreeMap<u32, Lane>,
    /// Which lanes got events, oldest first.
    order: VecDeque<u32>,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Lane {
    next: u64,
    events: VecDeque<(u64, Arc<str>)>,
    /// Its answer is among the events, or was.
    over: bool,
}

/// What follows after an event.
pub(super) struct Rest {
    pub(super) lane: u32,
    /// Ids and messages.
    pub(super) events: Vec<(String, Arc<str>)>,
    pub(super) over: bool,
}

impl EventLog {
    /// A lane begins to be a stream: the id of its first, empty event.
    pub(super) fn open(&mut self, lane: u32) -> String {
        let lane_log = self.lanes.entry(lane).or_insert_with(|| Lane { next: 1, ..Lane::default() });
        event_id(lane, lane_log.next - 1)
    }

    /// Keeps a message and gives it its id. None: this lane is no stream.
    pub(super) fn add(&mut self, lane: u32, message: &Arc<str>, over: bool, max: (usize, usize)) -> Option<String> {
        let log = self.lanes.get_mut(&lane)?;
        let number = log.next;
        log.next += 1;
        log.over |= over;
        log.events.push_back((number, Arc::clone(message)));
        self.order.push_back(lane);
        self.bytes += message.len();
        while self.order.len() > max.0 || self.bytes > max.1 {
            let Some(oldest) = self.order.pop_front() else { break };
            let Some(log) = self.lanes.get_mut(&oldest) else { continue };
            if let Some((_, message)) = log.events.pop_front() {
                self.bytes -= message.len();
            }
            if log.over && log.events.is_empty() {
                self.lanes.remove(&oldest);
            }
        }
        Some(event_id(lane, number))
    }

    /// What followed after an event. None: the id is none of ours, or what followed is not kept any more.
    pub(super) fn after(&self, id: &str) -> Option<Rest> {
        let (lane, number) = id.split_once('-')?;
        let (lane, number): (u32, u64) = (lane.parse().ok()?, number.parse().ok()?);
        let log = self.lanes.get(&lane)?;
        let first = log.events.front().map_or(log.next, |(first, _)| *first);
        if event_id(lane, number) != id || number >= log.next || number + 1 < first {
            return None;
        }
        let events = log.events.iter().filter(|(at, _)| *at > number);
        let events = events.map(|(at, message)| (event_id(lane, *at), Arc::clone(message))).collect();
        Some(Rest { lane, events, over: log.over })
    }

    /// Whether a lane's stream can be opened again.
    #[cfg(test)]
    fn has(&self, lane: u32) -> bool {
        self.lanes.contains_key(&lane)
    }
}

fn event_id(lane: u32, number: u64) -> String {
    format!("{lane}-{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> Arc<str> {
        text.into()
    }

    #[test]
    fn what_followed_is_found_and_nothing_else() {
        let mut log = EventLog::default();
        assert_eq!(log.add(1, &message("x"), false, (10, 100)), None);
        assert_eq!((log.open(1), log.open(2)), ("1-0".to_owned(), "2-0".to_owned()));
        for (lane, text) in [(1, "a"), (2, "b"), (1, "c")] {
            assert!(log.add(lane, &message(text), text == "c", (10, 100)).is_some());
        }
        let rest = log.after("1-1").expect("it is ours");
        assert_eq!((rest.lane, rest.over), (1, true));
        assert_eq!(rest.events, [("1-2".to_owned(), message("c"))]);
        assert!(log.after("1-2").expect("the last").events.is_empty());
        for id in ["1-3", "3-0", "1", "1-", "x-1", "01-1", "1-01", "+1-0", ""] {
            assert!(log.after(id).is_none(), "{id}");
        }
    }

    #[test]
    fn what_is_not_kept_is_not_left_out_silently() {
        let mut log = EventLog::default();
        log.open(1);
        for text in ["a", "b", "c"] {
            log.add(1, &message(text), false, (2, 100));
        }
        assert!(log.after("1-0").is_none());
        assert_eq!(log.after("1-1").expect("kept").events.len(), 2);
        log.add(1, &message("d"), true, (2, 0));
        // Nothing of it is left, and it is over.
        assert!(log.after("1-3").is_none() && !log.has(1));
    }
}
