//! What the parts of one native server share.
//!
//! Who holds what: the engine, the queue and the output are the runtime's ([`Endpoint`]); functions by the engine's
//! tags, the way to the loop, and how the process is to end are here.

use crate::bridge::Bridge;
use crate::call::{Call, taken};
use crate::handler::Handler;
use crate::hooks;
use ferromcp::{Endpoint, Error, Serving};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::collections::HashMap;
use std::sync::atomic::{AtomicI32, AtomicU64};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// A declared function, and the name or URI under which it is listed.
pub(crate) struct Entry {
    pub(crate) handler: Py<Handler>,
    pub(crate) is_async: bool,
    pub(crate) key: String,
}

/// The completion of one argument: prompt name or URI template, and the argument.
pub(crate) type CompletionKey = (String, String);

#[derive(Default)]
pub(crate) struct Catalogue {
    pub(crate) by_tag: HashMap<u64, Arc<Entry>>,
    pub(crate) completions: HashMap<CompletionKey, Arc<Entry>>,
    /// By the names of methods that are none of MCP.
    pub(crate) methods: HashMap<String, Arc<Entry>>,
}

/// What a delegated server gives everything to.
#[derive(Default)]
pub(crate) struct Delegates {
    pub(crate) calls: Option<Py<PyAny>>,
    /// Asked first, on the thread that took the call, for some methods.
    pub(crate) sync: Option<Py<PyAny>>,
    pub(crate) notifications: Option<Py<PyAny>>,
    pub(crate) streams: Option<Py<PyAny>>,
    /// Of any server: told which resources are watched.
    pub(crate) subscriptions: Option<Py<PyAny>>,
}

pub(crate) struct Core {
    pub(crate) catalogue: RwLock<Catalogue>,
    pub(crate) next_tag: AtomicU64,
    /// Of the next request that a carrier brings.
    pub(crate) next_carried: AtomicU64,
    pub(crate) delegates: Mutex<Delegates>,
    sync_methods: OnceLock<Vec<String>>,
    pub(crate) bridge: Bridge,
    pub(crate) serving: OnceLock<Serving>,
    /// The context that each request gets a copy of.
    pub(crate) context: OnceLock<Py<PyAny>>,
    /// What a carrier gave along with requests that are served, by where their header fields lie (`carrier.rs`).
    pub(crate) given: Mutex<HashMap<usize, Py<PyAny>>>,
    pub(crate) exit_code: AtomicI32,
    ending: Mutex<Ending>,
    changed: Condvar,
}

#[derive(Default)]
struct Ending {
    /// Threads of ours that are attached to the interpreter for their life.
    threads: usize,
    /// Python has seen that the server is over.
    acknowledged: bool,
}

impl Core {
    pub(crate) fn new() -> PyResult<Self> {
        Ok(Self {
            catalogue: RwLock::default(),
            next_tag: AtomicU64::new(1),
            next_carried: AtomicU64::new(1),
            delegates: Mutex::default(),
            sync_methods: OnceLock::new(),
            bridge: Bridge::new()?,
            serving: OnceLock::new(),
            context: OnceLock::new(),
            given: Mutex::default(),
            exit_code: AtomicI32::new(0),
            ending: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    pub(crate) fn entry(&self, tag: u64) -> Option<Arc<Entry>> {
        self.catalogue.read().unwrap_or_else(PoisonError::into_inner).by_tag.get(&tag).cloned()
    }

    /// The function of a method that is none of MCP.
    pub(crate) fn method(&self, name: &str) -> Option<Arc<Entry>> {
        self.catalogue.read().unwrap_or_else(PoisonError::into_inner).methods.get(name).cloned()
    }

    pub(crate) fn completion(&self, tag: u64, argument: &str) -> Option<Arc<Entry>> {
        let catalogue = self.catalogue.read().unwrap_or_else(PoisonError::into_inner);
        let key = catalogue.by_tag.get(&tag)?.key.clone();
        catalogue.completions.get(&(key, argument.to_owned())).cloned()
    }

    /// The context that was current when the server started.
    pub(crate) fn context<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        self.context
            .get()
            .map(|context| context.bind(py))
            .ok_or_else(|| PyRuntimeError::new_err("the server was not started"))
    }

    /// A copy of it for one request, in which that request is the current one, and what its carrier gave has been entered.
    pub(crate) fn copied_context<'py>(&self, py: Python<'py>, call: &Py<Call>) -> PyResult<Bound<'py, PyAny>> {
        let context = self.context(py)?.call_method0(pyo3::intern!(py, "copy"))?;
        if let Some(given) = call.get().given(py) {
            let enter = given.bind(py).getattr(pyo3::intern!(py, "enter"))?;
            context.call_method1(pyo3::intern!(py, "run"), (enter,))?;
        }
        context.call_method1(pyo3::intern!(py, "run"), (&hooks::get(py)?.set_current, call))?;
        Ok(context)
    }

    /// The methods that the sync delegate is asked for.
    pub(crate) fn sync_methods(&self) -> &[String] {
        self.sync_methods.get().map_or(&[], Vec::as_slice)
    }

    /// Sets them, once.
    pub(crate) fn set_sync_methods(&self, methods: Vec<String>) -> bool {
        self.sync_methods.set(methods).is_ok()
    }

    pub(crate) fn delegates(&self) -> MutexGuard<'_, Delegates> {
        self.delegates.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn endpoint(&self) -> Option<&Arc<Endpoint>> {
        self.serving.get().map(Serving::endpoint)
    }

    /// Whether this is a forked child of the process that serves.
    pub(crate) fn is_forked(&self) -> bool {
        self.serving.get().is_some_and(Serving::is_forked)
    }

    pub(crate) fn thread_began(&self) {
        self.ending().threads += 1;
    }

    pub(crate) fn thread_ended(&self) {
        self.ending().threads -= 1;
        self.changed.notify_all();
    }

    /// Waits until no thread of ours needs the interpreter; gives the number of those that still do at the deadline.
    pub(crate) fn threads_left(&self, bound: Duration) -> usize {
        let deadline = Instant::now() + bound;
        let mut ending = self.ending();
        while ending.threads > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            ending = self.changed.wait_timeout(ending, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        ending.threads
    }

    pub(crate) fn acknowledge(&self) {
        self.ending().acknowledged = true;
        self.changed.notify_all();
    }

    /// Waits for [`Core::acknowledge`]; false when it did not come in time.
    pub(crate) fn is_acknowledged_within(&self, bound: Duration) -> bool {
        let deadline = Instant::now() + bound;
        let mut ending = self.ending();
        while !ending.acknowledged {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            ending = self.changed.wait_timeout(ending, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    fn ending(&self) -> MutexGuard<'_, Ending> {
        self.ending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A command of the endpoint's, without Python's lock: on a thread that runs calls it may write to a client who is
/// slow.
pub(crate) fn command<R: Send>(py: Python<'_>, body: impl FnOnce() -> Result<R, Error> + Send) -> PyResult<R> {
    taken(py.detach(body))
}
