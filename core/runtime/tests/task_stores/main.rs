//! One set of rules for every store of tasks, and what is particular to each.

mod conformance;
mod memory_store;
mod redis_server;
mod redis_store;
mod sqlite_store;

use ferromcp::store::{MemoryTaskStore, RedisTaskStore, SqliteTaskStore, TaskStore};
use redis_server::RedisServer;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

/// The time. Servers with a clock of their own keep tasks, so tests have to use the real one.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970");
    u64::try_from(since.as_millis()).expect("a time in this age")
}

/// A place for tasks that several handles can use.
pub(crate) trait Place {
    /// Another handle, for the tasks of this owner.
    fn open(&self, owner: &str) -> Arc<dyn TaskStore>;
}

#[derive(Default)]
struct Memory(MemoryTaskStore);

impl Place for Memory {
    fn open(&self, _owner: &str) -> Arc<dyn TaskStore> {
        Arc::new(self.0.clone())
    }
}

pub(crate) struct SqliteFile(pub(crate) TempDir);

impl Default for SqliteFile {
    fn default() -> Self {
        Self(TempDir::new().expect("a folder"))
    }
}

impl SqliteFile {
    pub(crate) fn path(&self) -> std::path::PathBuf {
        self.0.path().join("tasks.db")
    }
}

impl Place for SqliteFile {
    fn open(&self, owner: &str) -> Arc<dyn TaskStore> {
        Arc::new(SqliteTaskStore::open(&self.path(), owner, now()).expect("the file opens"))
    }
}

impl Place for RedisServer {
    fn open(&self, _owner: &str) -> Arc<dyn TaskStore> {
        Arc::new(RedisTaskStore::open(&self.url(), "test").expect("the server answers"))
    }
}

/// Every rule as a test of every store.
macro_rules! conformance {
    ($($rule:ident),* $(,)?) => {
        mod memory { $( #[test] fn $rule() { crate::conformance::$rule(&crate::Memory::default()); } )* }
        mod sqlite { $( #[test] fn $rule() { crate::conformance::$rule(&crate::SqliteFile::default()); } )* }
        mod redis { $( #[test] fn $rule() { crate::conformance::$rule(&crate::RedisServer::start()); } )* }
    };
}

conformance!(
    a_created_task_is_there_for_all,
    a_task_exists_for_its_principal_only,
    changes_come_to_what_the_engine_says,
    lists_are_read_in_pages,
    who_finds_a_task_without_its_owner_fails_it_for_all,
    a_task_whose_time_is_over_is_gone,
    an_owner_is_told_what_others_did,
    a_removed_task_is_gone,
    one_of_many_ends_a_task,
    no_change_is_lost_between_handles,
    requests_get_their_outcomes,
    what_is_spent_is_spent_for_all,
);
