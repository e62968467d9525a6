//! Tasks in memory: they end with the process.

use super::{TaskStore, Touched};
use ferromcp_engine::TasksConfig;
use ferromcp_engine::tasks::{Applied, Party, StoreError, TaskChange, TaskCursor, TaskPage, TaskRecord, look};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A store for one process. Clones share the tasks.
#[derive(Clone)]
pub struct MemoryTaskStore {
    kept: Arc<Mutex<Kept>>,
}

struct Kept {
    /// How many tasks that have ended are kept.
    most_ended: usize,
    tasks: HashMap<String, Entry>,
    /// By whom they belong to, in the order of lists.
    places: BTreeSet<(Option<String>, TaskCursor)>,
    /// By the end of their time, where they have one.
    ends: BTreeSet<(u64, String)>,
    /// By owner and mark: the ids of tasks that others have changed.
    touched: BTreeMap<(String, u64), String>,
    /// The last mark that was given.
    mark: u64,
    /// The tasks that have ended, in the order in which they did.
    ended: BTreeMap<u64, String>,
    /// The last place in `ended` that was given.
    place: u64,
    /// The tokens that were spent.
    spent: HashSet<String>,
    /// The same by the end of their time.
    spent_ends: BTreeSet<(u64, String)>,
}

struct Entry {
    record: TaskRecord,
    /// The task's mark in `touched`; 0 for none.
    mark: u64,
    /// Its place in `ended`; 0 where it goes on.
    place: u64,
}

impl Default for MemoryTaskStore {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryTaskStore {
    /// An empty store, with the default of [`TasksConfig::max_ended`].
    pub fn new() -> Self {
        Self::with_most_ended(TasksConfig::default().max_ended)
    }

    /// An empty store that keeps `most` tasks which have ended: one more, and the one that ended first is forgotten. Tasks
    /// that run are always kept.
    pub fn with_most_ended(most: usize) -> Self {
        let kept = Kept {
            most_ended: most,
            tasks: HashMap::new(),
            places: BTreeSet::new(),
            ends: BTreeSet::new(),
            touched: BTreeMap::new(),
            mark: 0,
            ended: BTreeMap::new(),
            place: 0,
            spent: HashSet::new(),
            spent_ends: BTreeSet::new(),
        };
        Self { kept: Arc::new(Mutex::new(kept)) }
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
        let record = entry.record.clone();
        self.note_end(id);
        Some((seen.applied, record))
    }

    /// Enters a task among those that have ended, if it has and is not there. What is one too many goes.
    fn note_end(&mut self, id: &str) {
        let Some(entry) = self.tasks.get_mut(id).filter(|entry| entry.place == 0) else { return };
        if !entry.record.status().is_terminal() {
            return;
        }
        self.place += 1;
        entry.place = self.place;
        self.ended.insert(self.place, id.to_owned());
        while self.ended.len() > self.most_ended
            && let Some((_, id)) = self.ended.pop_first()
        {
            self.remove(&id);
        }
    }

    fn remove(&mut self, id: &str) -> bool {
        let Some(Entry { record, mark, place }) = self.tasks.remove(id) else { return false };
        self.ended.remove(&place);
        self.places.remove(&(record.principal.clone(), TaskCursor::of(&record)));
        if let Some(at) = record.expires_ms() {
            self.ends.remove(&(at, record.id));
        }
        self.touched.remove(&(record.owner, mark));
        true
    }

    fn forget_spent(&mut self, now_ms: u64) {
        while self.spent_ends.first().is_some_and(|(until, _)| *until <= now_ms)
            && let Some((_, token)) = self.spent_ends.pop_first()
        {
            self.spent.remove(&token);
        }
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
        kept.tasks.insert(record.id.clone(), Entry { record: record.clone(), mark: 0, place: 0 });
        kept.note_end(&record.id);
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
        kept.forget_spent(now_ms);
        Ok(count)
    }

    fn spend(&self, token: &str, until_ms: u64, now_ms: u64) -> Result<bool, StoreError> {
        let mut kept = self.kept();
        kept.forget_spent(now_ms);
        let first = kept.spent.insert(token.to_owned());
        if first {
            kept.spent_ends.insert((until_ms, token.to_owned()));
        }
        Ok(first)
    }
}
