//! Between a server and its store of tasks: what the engine asks for is done, and the outcome told.
//!
//! The server's own tasks in memory are served where they are asked for, under the server's lock. Any other store may
//! block, or be used by others: it has a thread of its own, which does one thing after another, and looks now and then for
//! what others did.

use super::{MemoryTaskStore, TaskStore};
use crate::endpoint::Endpoint;
use crate::options::Error;
use ferromcp_engine::StoreKey;
use ferromcp_engine::tasks::{StoreError, StoreOutcome, StoreRequest};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, PoisonError};
use std::time::{Duration, Instant};

/// How often the store is asked what others did to tasks of this process. 200 ms: a cancellation feels prompt, and a file
/// or a server on the network hardly notices.
const LOOK: Duration = Duration::from_millis(200);

/// How often the store forgets what has expired.
const TIDY: Duration = Duration::from_secs(10);

/// The store of one server, and what is to be done in it.
pub(crate) struct Link {
    store: Arc<dyn TaskStore>,
    owner: String,
    /// Whether a thread does it.
    threaded: bool,
    queue: VecDeque<(StoreKey, StoreRequest)>,
    /// The thread is at it.
    busy: bool,
    work: Arc<Condvar>,
}

impl Link {
    /// Tasks in memory, for this server alone; `most_ended` is [`ferromcp_engine::TasksConfig::max_ended`].
    pub(crate) fn own(most_ended: usize) -> Self {
        Self::new(Arc::new(MemoryTaskStore::with_most_ended(most_ended)), String::new(), false)
    }

    /// Tasks in `store`, which knows this process as `owner`.
    pub(crate) fn shared(store: Arc<dyn TaskStore>, owner: String) -> Self {
        Self::new(store, owner, true)
    }

    fn new(store: Arc<dyn TaskStore>, owner: String, threaded: bool) -> Self {
        Self { store, owner, threaded, queue: VecDeque::new(), busy: false, work: Arc::new(Condvar::new()) }
    }

    /// Takes what the engine asks for. Gives the outcome, if it is there at once.
    pub(crate) fn take(&mut self, op: StoreKey, request: StoreRequest, unix_ms: u64) -> Option<StoreOutcome> {
        if self.threaded {
            self.queue.push_back((op, request));
            self.work.notify_one();
            return None;
        }
        if matches!(request, StoreRequest::Create(_)) {
            // In memory this can't fail.
            let _ = self.store.expire(unix_ms);
        }
        Some(self.store.execute(request, unix_ms))
    }

    /// Whether all that was asked for is done.
    pub(crate) fn is_idle(&self) -> bool {
        self.queue.is_empty() && !self.busy
    }

    /// Lets the thread see that the server has ended.
    pub(crate) fn wake(&self) {
        self.work.notify_all();
    }
}

impl Endpoint {
    /// Starts the store's thread, if it needs one. It ends with the server.
    pub(crate) fn start_store(self: &Arc<Self>, thread_name: &str) -> Result<(), Error> {
        if !self.lock().tasks.threaded {
            return Ok(());
        }
        let endpoint = Arc::clone(self);
        std::thread::Builder::new().name(format!("{thread_name}-tasks")).spawn(move || endpoint.serve_store())?;
        Ok(())
    }

    fn serve_store(&self) {
        let mut state = self.lock();
        let (store, work) = (Arc::clone(&state.tasks.store), Arc::clone(&state.tasks.work));
        let owner = state.tasks.owner.clone();
        let mut mark = 0;
        let (mut looked, mut tidied) = (Instant::now(), Instant::now());
        loop {
            // Others hold what is kept against the clock of the wall, which ours does not follow while a machine sleeps.
            let epoch_ms = self.unix().saturating_sub(self.now());
            state.server.set_epoch(epoch_ms);
            // The server has ended, and may have left something to be stored.
            if state.outcome.is_some() && state.tasks.queue.is_empty() {
                return;
            }
            let runs = state.server.running_tasks() > 0;
            if runs && looked.elapsed() >= LOOK {
                drop(state);
                self.look_for_news(&*store, &owner, &mut mark);
                looked = Instant::now();
                state = self.lock();
            } else if let Some((op, request)) = state.tasks.queue.pop_front() {
                state.tasks.busy = true;
                drop(state);
                let outcome = execute(&*store, request, self.unix());
                // The server may be gone by now; then nobody wants to know.
                let _ = self.command(|server, now| {
                    server.stored(op, outcome, now);
                    Ok(())
                });
                state = self.lock();
                state.tasks.busy = false;
                self.wake_leader(&mut state);
            } else if tidied.elapsed() >= TIDY {
                drop(state);
                // What it could not do now, it does next time.
                let _ = store.expire(self.unix());
                tidied = Instant::now();
                state = self.lock();
            } else {
                let until = if runs { LOOK } else { TIDY };
                state = work.wait_timeout(state, until).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }

    /// Tells the engine what others did to tasks of this process. A store that is away is asked again next time.
    fn look_for_news(&self, store: &dyn TaskStore, owner: &str, mark: &mut u64) {
        let Ok(touched) = store.poll(owner, *mark) else { return };
        *mark = touched.mark;
        for record in touched.tasks {
            let _ = self.command(|server, now| {
                server.task_touched(&record, now);
                Ok(())
            });
        }
    }
}

/// Does what the engine asks for. A store that panics has not done it, and does not take the others' tasks with it.
fn execute(store: &dyn TaskStore, request: StoreRequest, unix_ms: u64) -> StoreOutcome {
    catch_unwind(AssertUnwindSafe(|| store.execute(request, unix_ms)))
        .unwrap_or_else(|_| StoreOutcome::Failed(StoreError::Unavailable("it panicked".into())))
}
