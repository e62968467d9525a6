//! A limit of calls at once.

use super::config::{ConcurrencyLimit, Scope};
use crate::middleware::{CallFacts, Middleware, Refusal};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, PoisonError};

/// One named limit. A call counts until host code has done with it, also when its client has given it up.
pub(super) struct Concurrency {
    name: String,
    most: u32,
    scope: Scope,
    running: Mutex<HashMap<String, u32>>,
}

impl Concurrency {
    pub(super) fn new(name: String, limit: ConcurrencyLimit) -> Self {
        let scope = Scope { by: limit.by, tools: limit.tools, methods: limit.methods };
        Self { name, most: limit.most, scope, running: Mutex::default() }
    }
}

impl Middleware for Concurrency {
    fn before(&self, call: &CallFacts) -> Result<(), Refusal> {
        let Some(key) = self.scope.key(call) else { return Ok(()) };
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let count = running.entry(key).or_default();
        if *count >= self.most {
            let (name, most) = (&self.name, self.most);
            return Err(Refusal::new(format!(
                "Too many calls at once: the limit {name:?} allows {most}. Try again when one of them has ended."
            )));
        }
        *count += 1;
        Ok(())
    }

    fn leave(&self, call: &CallFacts) {
        let Some(key) = self.scope.key(call) else { return };
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Entry::Occupied(mut count) = running.entry(key) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}
