//! What the parts of one native server share, and how it ends.

use crate::bridge::{Bridge, Item};
use crate::stand_in::StandIns;
use ferromcp::{Endpoint, Serving};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

pub(crate) struct Core {
    pub(crate) bridge: Bridge,
    pub(crate) stand_ins: StandIns,
    pub(crate) stdio: OnceLock<Serving>,
    /// What the process ends with, unless JavaScript says otherwise.
    pub(crate) exit_code: AtomicI32,
    /// JavaScript has seen that the server is over.
    acknowledged: Mutex<bool>,
    changed: Condvar,
}

impl Core {
    pub(crate) fn new(mark: String) -> Self {
        Self {
            bridge: Bridge::new(mark),
            stand_ins: StandIns::default(),
            stdio: OnceLock::new(),
            exit_code: AtomicI32::new(0),
            acknowledged: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    pub(crate) fn endpoint(&self) -> Option<&Arc<Endpoint>> {
        self.stdio.get().map(Serving::endpoint)
    }

    /// Ends the server in good order; then the process ends with `code`. Waits for the server's end.
    pub(crate) fn end_with(&self, code: i32) {
        self.exit_code.store(code, Ordering::Release);
        if let Some(stdio) = self.stdio.get() {
            // Whoever waits for the end is told of what goes wrong.
            let _ = stdio.stop();
        }
    }

    /// JavaScript is on its way out.
    pub(crate) fn leave(&self) {
        self.bridge.drop_waker();
        self.acknowledge();
        if let Some(stdio) = self.stdio.get() {
            // There is nobody to tell.
            let _ = stdio.stop();
        }
    }

    pub(crate) fn acknowledge(&self) {
        *self.acknowledged.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Waits for the end of the server and tells JavaScript. When that does not answer within `grace`, a function holds
    /// its thread for ever, and the process is ended without it.
    pub(crate) fn watch_end(&self, grace: Option<Duration>) {
        let Some(stdio) = self.stdio.get() else { return };
        let failure = stdio.wait().err().map(|error| error.to_string());
        if failure.is_some() {
            let _ = self.exit_code.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Acquire);
        }
        self.bridge.push([Item::Ended(failure)]);
        let Some(grace) = grace else { return };
        let seen = self.acknowledged.lock().unwrap_or_else(PoisonError::into_inner);
        let (seen, _) =
            self.changed.wait_timeout_while(seen, grace, |seen| !*seen).unwrap_or_else(PoisonError::into_inner);
        if !*seen {
            end_now(self.exit_code.load(Ordering::Acquire));
        }
    }
}

/// Ends the process at once.
fn end_now(code: i32) -> ! {
    // SAFETY: takes a number and does not return.
    unsafe { libc::_exit(code) }
}
