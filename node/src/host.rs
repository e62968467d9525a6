//! JavaScript as the runtime's host: every call goes to its thread, all that one run of the queue found with one
//! wake-up.

use crate::bridge::Item;
use crate::core::Core;
use ferromcp::engine::{Event, Reply};
use ferromcp::{CallQueue, Endpoint, Host};
use std::sync::Arc;

pub(crate) struct NodeHost {
    pub(crate) core: Arc<Core>,
}

impl Host for NodeHost {
    fn run(&self, endpoint: &Arc<Endpoint>, queue: &CallQueue) {
        let (mut items, mut expected) = (Vec::new(), Vec::new());
        while let Some(call) = queue.next() {
            expected.extend(self.core.stand_ins.expect(&call));
            items.push(Item::Call(Box::new(call)));
        }
        self.core.bridge.push(items);
        if expected.is_empty() {
            return;
        }
        // This thread may be held up for a while: another one takes the lead.
        for (key, result) in self.core.stand_ins.wait(expected) {
            // A text that the engine does not take is JavaScript's to answer.
            let _ = endpoint.respond(key, Reply::Result(&result));
        }
    }

    fn notice(&self, endpoint: &Arc<Endpoint>, event: Event) {
        let item = match event {
            // JavaScript's thread is busy, and will never hear of this call.
            Event::Cancelled { key, .. } if self.core.bridge.withdraw(key) => return endpoint.release(key),
            Event::Cancelled { key, reason } => Item::Cancelled(key, reason),
            Event::Response { key, outcome } => Item::Response(key, outcome),
            Event::Answers { ask, answers, .. } => Item::Answers(ask, answers),
            Event::TaskBegun { call, id } => Item::TaskBegun(call, id),
            Event::Notification { method, params, .. } => Item::Notification { method, params },
            Event::Initialized { .. } => Item::Initialized,
            Event::Subscribed { uri, .. } => Item::Watched(uri, true),
            Event::Unsubscribed { uri, .. } => Item::Watched(uri, false),
            _ => return,
        };
        self.core.bridge.push([item]);
    }
}
