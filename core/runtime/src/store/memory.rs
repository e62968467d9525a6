//! Tasks in memory: they end with the process.

use super::{TaskStore, Touched};
use ferromcp_engine::tasks::{Applied, Party, StoreError, TaskChange, TaskCursor, TaskPage, TaskRecord, look};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A store for one process. Clones share the tasks.
#[derive(Clone, Default)]
pub struct MemoryTaskStore {
    kept: Arc<Mutex<Kept>>,
}

#[derive(Default)]
struct Kept {
    tasks: HashMap<String, Entry>,
    /// By whom they belong to, in the order of lists.
    places: BTreeSet<(Option<String>, TaskCursor)>,
    /// By the end of their time, where they have one.
    ends: BTreeSet<(u64, String)>,
    /// By owner and mark: the ids of tasks that others have changed.
    touched: BTreeMap<(String, u64), String>,
    /// The last mark that was given.
    mark: u64,
}

struct Entry {
    record: TaskRecord,
    /// The task's mark in `touched`; 0 for none.
    mark: u64,
}

impl MemoryTaskStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // Each method leaves the books in order before it calls anything that could panic.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Lets `party` look at a task, and change it.
    fn visit(
        &mut self,
        id: &str,
        party: &Party,
        change: Option<&TaskChange>,
        now_ms: u64,
    ) -> Option<(Applied, TaskRecord)> {
        let entry = self.tasks.get_mut(id)?;
        let seen = look(&mut entry.record, party, change, now_ms)?;
        if seen.foreign {
            self.mark += 1;
            let owner = entry.record.owner.clone();
            self.touched.remove(&(owner.clone(), entry.mark));
            self.touched.insert((owner, self.mark), id.to_owned());
            entry.mark = self.mark;
        }
        Some((seen.applied, entry.record.clone()))
    }

    fn remove(&mut self, id: &str) -> bool {
        let Some(Entry { record, mark }) = self.tasks.remove(id) else { return false };
        self.places.remove(&(record.principal.clone(), TaskCursor::of(&record)));
        if let Some(at) = record.expires_ms() {
            self.ends.remove(&(at, record.id));
        }
        self.touched.remove(&(record.owner, mark));
        true
    }
}

impl TaskStore for MemoryTaskStore {
    fn create(&self, record: &TaskRecord) -> Result<(), StoreError> {
        let mut kept = self.kept();
        if kept.tasks.contains_key(&record.id) {
            return Err(StoreError::IdTaken);
        }
        kept.places.insert((record.principal.clone(), TaskCursor::of(record)));
        if let Some(at) = record.expires_ms() {
            kept.ends.insert((at, record.id.clone()));
        }
        kept.tasks.insert(record.id.clone(), Entry { record: record.clone(), mark: 0 });
        Ok(())
    }

    fn get(&self, id: &str, party: &Party, now_ms: u64) -> Result<Option<TaskRecord>, StoreError> {
        Ok(self.kept().visit(id, party, None, now_ms).map(|(_, record)| record))
    }

    fn list(
        &self,
        principal: Option<&str>,
        after: Option<&TaskCursor>,
        limit: usize,
        now_ms: u64,
    ) -> Result<TaskPage, StoreError> {
        let limit = limit.max(1);
        let mut kept = self.kept();
        let principal = principal.map(str::to_owned);
        let first = TaskCursor { created_ms: 0, id: String::new() };
        let start = (principal.clone(), after.unwrap_or(&first).clone());
        let ids: Vec<String> = kept
            .places
            .range((Excluded(start), Unbounded))
            .take_while(|(of, _)| *of == principal)
            .filter(|(_, place)| kept.tasks.get(&place.id).is_some_and(|entry| !entry.record.is_expired(now_ms)))
            .take(limit + 1)
            .map(|(_, place)| place.id.clone())
            .collect();
        let party = Party::Client { principal };
        let mut tasks: Vec<_> =
            ids.iter().filter_map(|id| kept.visit(id, &party, None, now_ms)).map(|seen| seen.1).collect();
        let more = tasks.len() > limit;
        tasks.truncate(limit);
        let next = tasks.last().filter(|_| more).map(TaskCursor::of);
        Ok(TaskPage { tasks, next })
    }

    fn change(
        &self,
        id: &str,
        party: &Party,
        change: &TaskChange,
        now_ms: u64,
    ) -> Result<Option<(Applied, TaskRecord)>, StoreError> {
        Ok(self.kept().visit(id, party, Some(change), now_ms))
    }

    fn remove(&self, id: &str) -> Result<bool, StoreError> {
        Ok(self.kept().remove(id))
    }

    fn poll(&self, owner: &str, since: u64) -> Result<Touched, StoreError> {
        let kept = self.kept();
        let start = Excluded((owner.to_owned(), since));
        let touched = kept.touched.range((start, Unbounded)).take_while(|((of, _), _)| of == owner);
        let mut found = Touched { tasks: Vec::new(), mark: since };
        for ((_, mark), id) in touched {
            found.mark = *mark;
            found.tasks.extend(kept.tasks.get(id).map(|entry| entry.record.clone()));
        }
        Ok(found)
    }

    fn expire(&self, now_ms: u64) -> Result<usize, StoreError> {
        let mut kept = self.kept();
        let mut count = 0;
        while let Some((_, id)) = kept.ends.first().filter(|(at, _)| *at <= now_ms) {
            let id = id.clone();
            count += usize::from(kept.remove(&id));
        }
        Ok(count)
    }
}
