//! The calls that are being served, so that a cancellation finds them.
//!
//! The engine forgets a call that was cancelled and says so once. That word may come before the thread that took the call has
//! entered it here; it is kept until then.

use crate::call::Call;
use ferromcp_engine::RequestKey;
use pyo3::prelude::*;
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Cancellations kept for calls that are not entered. Some are for calls that were answered at the same moment and never come:
/// 4,096 is far more than can wait between the queue and a function, and a few kilobytes.
const EARLY: usize = 4_096;

#[derive(Default)]
pub(crate) struct Live {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    calls: HashMap<RequestKey, Py<Call>>,
    early: HashSet<RequestKey>,
}

impl Live {
    /// A call is about to be served; false when it was cancelled already.
    pub(crate) fn enter(&self, py: Python<'_>, call: &Py<Call>) -> bool {
        let key = call.get().request.key;
        let mut inner = self.inner();
        if !inner.early.is_empty() && inner.early.remove(&key) {
            call.get().cancel();
            return false;
        }
        inner.calls.insert(key, call.clone_ref(py));
        true
    }

    /// A call is over, one way or the other.
    pub(crate) fn leave(&self, _py: Python<'_>, key: RequestKey) {
        // Dropped outside of the lock.
        let _call = self.inner().calls.remove(&key);
    }

    /// Nobody waits for this call's answer any more. Needs no lock of Python's.
    pub(crate) fn cancel(&self, key: RequestKey) {
        let mut inner = self.inner();
        if let Some(call) = inner.calls.get(&key) {
            return call.get().cancel();
        }
        if inner.early.len() >= EARLY {
            inner.early.clear();
        }
        inner.early.insert(key);
    }

    /// The task that serves a call, if one does.
    pub(crate) fn task(&self, py: Python<'_>, key: RequestKey) -> Option<Py<PyAny>> {
        self.inner().calls.get(&key).and_then(|call| call.get().task(py))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
