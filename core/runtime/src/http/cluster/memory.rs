//! Several servers in one process.

use super::bus::{Bus, Inbox, Seat};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A bus within one process. Clones are the same bus.
#[derive(Clone, Default)]
pub struct MemoryBus {
    inboxes: Arc<Mutex<HashMap<String, Inbox>>>,
}

impl MemoryBus {
    fn inboxes(&self) -> MutexGuard<'_, HashMap<String, Inbox>> {
        self.inboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Bus for MemoryBus {
    fn join(&self, node: &str, inbox: Inbox) -> Result<Box<dyn Seat>, String> {
        inbox.up();
        self.inboxes().insert(node.to_owned(), inbox);
        Ok(Box::new(Place { bus: self.clone(), node: node.to_owned() }))
    }
}

struct Place {
    bus: MemoryBus,
    node: String,
}

impl Seat for Place {
    fn send(&mut self, node: &str, frame: &[u8]) -> Result<bool, String> {
        let inbox = self.bus.inboxes().get(node).cloned();
        Ok(inbox.is_some_and(|inbox| inbox.put(frame.to_vec())))
    }

    fn send_all(&mut self, frame: &[u8]) -> Result<(), String> {
        let all: Vec<_> = self.bus.inboxes().values().cloned().collect();
        for inbox in all {
            inbox.put(frame.to_vec());
        }
        Ok(())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.bus.inboxes().remove(&self.node);
    }
}
