//! Where tasks are kept: in memory, in a file, or on a server that several machines share.
//!
//! What a task is and which changes it allows is the engine's to say ([`ferromcp_engine::tasks`]); a store reads a record, lets
//! the engine look at it and writes it back, so that nobody else's change is lost in between. Nothing here knows a revision
//! or a connection.

#[cfg(feature = "sqlite")]
mod dead_owners;
pub(crate) mod link;
mod memory;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "redis")]
mod redis_link;
#[cfg(feature = "sqlite")]
mod sqlite;

pub use self::memory::MemoryTaskStore;
#[cfg(feature = "redis")]
pub use self::redis::RedisTaskStore;
#[cfg(feature = "sqlite")]
pub use self::sqlite::SqliteTaskStore;

use crate::options::Error;
#[cfg(any(feature = "sqlite", feature = "redis"))]
use crate::sys;
use ferromcp_engine::Entropy as _;
use ferromcp_engine::tasks::{
    Applied, Party, StoreError, StoreOutcome, StoreRequest, TaskChange, TaskCursor, TaskPage, TaskRecord,
};
use std::sync::Arc;

/// A store of tasks. Calls may block, and may come from any thread; each takes effect as a whole and in one order for all who
/// use the store.
///
/// When `create` or `change` has returned, what it did is **durable**: it survives what the store survives, and every later
/// `get`, on whichever handle or machine, finds it (extension, "Task Creation").
///
/// `now_ms` is the time in UNIX milliseconds. Machines that share a store should agree on it within seconds; leases have to be
/// longer than they differ.
pub trait TaskStore: Send + Sync {
    /// Keeps a new task.
    ///
    /// # Errors
    /// [`StoreError::IdTaken`], or why the store could not do it.
    fn create(&self, record: &TaskRecord) -> Result<(), StoreError>;

    /// The task; None when there is none that `party` may see. A client that finds a task without its owner finds it failed, and
    /// from then on everybody does.
    ///
    /// # Errors
    /// Why the store could not do it.
    fn get(&self, id: &str, party: &Party, now_ms: u64) -> Result<Option<TaskRecord>, StoreError>;

    /// The tasks of a principal, oldest first, from behind `after`: `limit` of them at most, and at least one if there is one.
    ///
    /// # Errors
    /// Why the store could not do it.
    fn list(
        &self,
        principal: Option<&str>,
        after: Option<&TaskCursor>,
        limit: usize,
        now_ms: u64,
    ) -> Result<TaskPage, StoreError>;

    /// Changes a task as [`ferromcp_engine::tasks::look`] has it. Gives what became of the change and the task as it is now;
    /// None when there is none that `party` may see.
    ///
    /// # Errors
    /// Why the store could not do it. After [`StoreError::Unavailable`] the change may have been made.
    fn change(
        &self,
        id: &str,
        party: &Party,
        change: &TaskChange,
        now_ms: u64,
    ) -> Result<Option<(Applied, TaskRecord)>, StoreError>;

    /// Forgets a task, whatever its status. False: there was none.
    ///
    /// # Errors
    /// Why the store could not do it.
    fn remove(&self, id: &str) -> Result<bool, StoreError>;

    /// The tasks of `owner` that others have changed since `since`: answers, cancellations. Begin with 0 and go on with the mark
    /// that was returned. No change is missed; one may be told twice.
    ///
    /// # Errors
    /// Why the store could not do it.
    fn poll(&self, owner: &str, since: u64) -> Result<Touched, StoreError>;

    /// Spends what can be spent once. True: nobody had; of several at the same time one is told so. It is forgotten after
    /// `until_ms`, not before.
    ///
    /// # Errors
    /// Why the store could not do it. After [`StoreError::Unavailable`] it may be spent.
    fn spend(&self, token: &str, until_ms: u64, now_ms: u64) -> Result<bool, StoreError>;

    /// Forgets the tasks whose time is over, and does what else the store has to do from time to time. Gives how many it forgot.
    ///
    /// # Errors
    /// Why the store could not do it.
    fn expire(&self, now_ms: u64) -> Result<usize, StoreError>;

    /// Does what the engine asks for.
    fn execute(&self, request: StoreRequest, now_ms: u64) -> StoreOutcome {
        let outcome = match request {
            StoreRequest::Create(record) => self.create(&record).map(|()| StoreOutcome::Created),
            StoreRequest::Get { id, party } => {
                self.get(&id, &party, now_ms).map(|task| StoreOutcome::Task(task.map(Box::new)))
            }
            StoreRequest::List { principal, after, limit } => {
                self.list(principal.as_deref(), after.as_ref(), limit, now_ms).map(StoreOutcome::Page)
            }
            StoreRequest::Change { id, party, change } => {
                let changed = self.change(&id, &party, &change, now_ms);
                changed.map(|found| StoreOutcome::Changed(found.map(|(applied, task)| (applied, Box::new(task)))))
            }
            StoreRequest::Remove { id } => self.remove(&id).map(StoreOutcome::Removed),
            StoreRequest::Spend { token, until_ms } => {
                self.spend(&token, until_ms, now_ms).map(|first| StoreOutcome::Spent { first })
            }
        };
        outcome.unwrap_or_else(StoreOutcome::Failed)
    }
}

/// Where the tasks of a server are kept.
#[derive(Clone, Default)]
pub enum TaskStoreOption {
    /// In memory, for this server alone: they end with it.
    #[default]
    Memory,
    /// By a URL: `sqlite:PATH`, a file that processes of one machine may share, or `redis://HOST:PORT/DATABASE`, a server for
    /// many machines. Each needs the feature of its name.
    Url(String),
    /// In a store of one's own, which knows this process by this name.
    Custom(Arc<dyn TaskStore>, String),
}

impl TaskStoreOption {
    /// Opens it. The store, the name of this process in it, and whether it needs leases to know which processes live.
    pub(crate) fn open(&self, unix_ms: u64) -> Result<Option<Opened>, Error> {
        let url = match self {
            Self::Memory => return Ok(None),
            Self::Custom(store, owner) => {
                return Ok(Some(Opened { store: Arc::clone(store), owner: owner.clone(), leases: true }));
            }
            Self::Url(url) => url,
        };
        let mut random = [0; 16];
        crate::entropy::system().fill(&mut random);
        let owner = ferromcp_engine::tasks::task_id(random);
        let opened = open_url(url, &owner, unix_ms).map_err(|error| Error::TaskStore(error.to_string()))?;
        let (store, leases) = opened.ok_or_else(|| {
            Error::TaskStore(format!(
                "{url:?} is no store of tasks: sqlite:PATH and redis://HOST:PORT are, where they are built in"
            ))
        })?;
        Ok(Some(Opened { store, owner, leases }))
    }
}

/// A store, and how this process is known to it.
pub(crate) struct Opened {
    pub(crate) store: Arc<dyn TaskStore>,
    pub(crate) owner: String,
    pub(crate) leases: bool,
}

type Found = Option<(Arc<dyn TaskStore>, bool)>;

#[allow(unused_variables, reason = "without the features there is nothing to open")]
fn open_url(url: &str, owner: &str, unix_ms: u64) -> Result<Found, StoreError> {
    #[cfg(feature = "sqlite")]
    if let Some(path) = url.strip_prefix("sqlite:") {
        let path = path.strip_prefix("//").unwrap_or(path);
        let store = SqliteTaskStore::open(std::path::Path::new(path), owner, unix_ms)?;
        return Ok(Some((Arc::new(store), false)));
    }
    #[cfg(feature = "redis")]
    if url.starts_with("redis:") || url.starts_with("redis+unix:") || url.starts_with("unix:") {
        return Ok(Some((Arc::new(RedisTaskStore::open(url, "ferromcp")?), true)));
    }
    Ok(None)
}

impl std::fmt::Debug for TaskStoreOption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Memory => write!(f, "Memory"),
            // A URL may hold a password.
            Self::Url(url) => write!(f, "Url({}...)", url.split(':').next().unwrap_or_default()),
            Self::Custom(_, owner) => write!(f, "Custom(.., {owner:?})"),
        }
    }
}

/// What others did to an owner's tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// The tasks as they are now, in the order in which they were last touched.
    pub tasks: Vec<TaskRecord>,
    /// Where to go on.
    pub mark: u64,
}

/// The process that opened a store. A forked child has copies of its sockets and files, and would spoil them.
#[cfg(any(feature = "sqlite", feature = "redis"))]
struct Process {
    forks: u32,
}

#[cfg(any(feature = "sqlite", feature = "redis"))]
impl Process {
    fn this() -> Self {
        sys::count_forks();
        Self { forks: sys::forks() }
    }

    /// Fails in a forked child.
    fn check(&self) -> Result<(), StoreError> {
        if sys::forks() == self.forks { Ok(()) } else { Err(StoreError::Forked) }
    }
}

/// Reads a record that was stored.
#[cfg(any(feature = "sqlite", feature = "redis"))]
fn stored(text: &str) -> Result<TaskRecord, StoreError> {
    TaskRecord::from_json(text).map_err(|error| StoreError::Damaged(error.to_string()))
}
