//! Tasks on a Redis or Valkey server, for several machines.
//!
//! How durable they are is the server's setting: with `appendonly yes` and `appendfsync always` a task that was acknowledged
//! survives the server's end; with the defaults of most installations the last second may be lost. Eviction has to be off
//! (`maxmemory-policy noeviction`), or the server throws tasks away that are still wanted.
//!
//! A record is changed here and written only over the version that was read, by a script, which the server runs as a whole.
//! Of all who try at the same time one is always successful, so nobody waits for a lock that a dead process holds.

use super::redis_link::{Link, Repeat};
use super::{TaskStore, Touched, stored};
use ferromcp_engine::Entropy as _;
use ferromcp_engine::tasks::{Applied, Party, StoreError, TaskChange, TaskCursor, TaskPage, TaskRecord, look, task_id};
use redis::{Script, cmd, pipe};

/// Keeps a task: 1 when it is kept, 0 when the id is taken. The same task once more is no other task.
const CREATE: &str = "
    local held = redis.call('HGET', KEYS[1], 'body')
    if held then return held == ARGV[2] and 1 or 0 end
    redis.call('HSET', KEYS[1], 'version', ARGV[1], 'body', ARGV[2])
    redis.call('ZADD', KEYS[2], 0, ARGV[3])
    if ARGV[4] ~= '' then
        redis.call('ZADD', KEYS[3], ARGV[4], ARGV[5])
        redis.call('PEXPIREAT', KEYS[1], ARGV[6])
    end
    return 1";

/// Writes a record over a version: 1 when it is written, 0 when there is another version by now. With an id in ARGV[4] the
/// owner is told.
const CHANGE: &str = "
    if redis.call('HGET', KEYS[1], 'version') ~= ARGV[1] then return 0 end
    redis.call('HSET', KEYS[1], 'version', ARGV[2], 'body', ARGV[3])
    if ARGV[4] ~= '' then
        redis.call('ZADD', KEYS[3], redis.call('INCR', KEYS[2]), ARGV[4])
    end
    return 1";

/// Forgets a task: 1 when there was one in any of the books.
const REMOVE: &str = "
    local there = redis.call('DEL', KEYS[1])
    there = there + redis.call('ZREM', KEYS[2], ARGV[1])
    there = there + redis.call('ZREM', KEYS[3], ARGV[2])
    redis.call('ZREM', KEYS[4], ARGV[3])
    return there > 0 and 1 or 0";

/// Spends a token: 1 when nobody had. The same mark once more is no other spending.
const SPEND: &str = "
    if redis.call('SET', KEYS[1], ARGV[1], 'NX') then
        redis.call('PEXPIREAT', KEYS[1], ARGV[2])
        return 1
    end
    return redis.call('GET', KEYS[1]) == ARGV[1] and 1 or 0";

/// How much longer than its time the server keeps a record. One minute: clocks differ, and a server whose clock is ahead must
/// not take a task away early. `expire` removes it before, with all that points to it.
const GRACE_MS: u64 = 60_000;

/// The greatest time that the server's numbers (IEEE doubles) hold exactly. What ends later has no end for it.
const MOST_MS: u64 = 1 << 53;

/// Entries that are looked at with one command.
const BATCH: usize = 128;

/// A store on one server. All keys have one hash tag, so that they lie together where a proxy divides keys among servers.
pub struct RedisTaskStore {
    link: Link,
    /// What all keys begin with.
    prefix: String,
    create: Script,
    change: Script,
    remove: Script,
    spend: Script,
}

impl RedisTaskStore {
    /// The store in the part of the server that `namespace` names; others with the same name share the tasks. `url` is
    /// `redis://[user:password@]host[:port][/database]` or `unix:///path`.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the URL is wrong, or the server does not answer.
    pub fn open(url: &str, namespace: &str) -> Result<Self, StoreError> {
        let store = Self {
            link: Link::new(url)?,
            prefix: format!("{{{namespace}}}:tasks:"),
            create: Script::new(CREATE),
            change: Script::new(CHANGE),
            remove: Script::new(REMOVE),
            spend: Script::new(SPEND),
        };
        store.link.run(Repeat::Harmless, |connection| cmd("PING").exec(connection))?;
        Ok(store)
    }

    /// The record and its version, in a hash.
    fn task(&self, id: &str) -> String {
        format!("{}task:{id}", self.prefix)
    }

    /// The mark of who has spent a token.
    fn spent(&self, token: &str) -> String {
        format!("{}spent:{token}", self.prefix)
    }

    /// The places of a principal's tasks, in their order.
    fn places(&self, principal: Option<&str>) -> String {
        match principal {
            Some(principal) => format!("{}of:{principal}", self.prefix),
            None => format!("{}of-nobody", self.prefix),
        }
    }

    /// What has an end, by when.
    fn ends(&self) -> String {
        format!("{}ends", self.prefix)
    }

    /// The last mark that was given.
    fn last_mark(&self) -> String {
        format!("{}mark", self.prefix)
    }

    /// The ids of an owner's tasks that others have changed, by mark.
    fn touched(&self, owner: &str) -> String {
        format!("{}touched:{owner}", self.prefix)
    }

    /// The texts of records, None where there is none.
    fn bodies(&self, ids: &[String]) -> Result<Vec<Option<String>>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        self.link.run(Repeat::Harmless, |connection| {
            let mut commands = pipe();
            for id in ids {
                commands.hget(self.task(id), "body");
            }
            commands.query(connection)
        })
    }

    /// Lets `party` look at a task, and change it.
    fn visit(
        &self,
        id: &str,
        party: &Party,
        change: Option<&TaskChange>,
        now_ms: u64,
    ) -> Result<Option<(Applied, TaskRecord)>, StoreError> {
        let key = self.task(id);
        loop {
            let read: (Option<u64>, Option<String>) = self.link.run(Repeat::Harmless, |connection| {
                cmd("HMGET").arg(&key).arg("version").arg("body").query(connection)
            })?;
            let (Some(version), Some(body)) = read else { return Ok(None) };
            let mut record = stored(&body)?;
            if let Some(until) = &mut record.lease_until_ms
                && self.link.is_settling()
            {
                // Its owner could not extend the lease either.
                *until = now_ms.saturating_add(1).max(*until);
            }
            let Some(seen) = look(&mut record, party, change, now_ms) else { return Ok(None) };
            if !seen.changed {
                return Ok(Some((seen.applied, record)));
            }
            let mut script = self.change.prepare_invoke();
            script.key(&key).key(self.last_mark()).key(self.touched(&record.owner));
            script.arg(version).arg(record.version).arg(record.to_json()).arg(if seen.foreign { id } else { "" });
            if self.link.run(Repeat::Never, |connection| script.invoke(connection))? {
                return Ok(Some((seen.applied, record)));
            }
        }
    }

    /// Forgets a task; `ending` is the text of `gone`, as it was stored.
    fn forget(&self, gone: &Ending, ending: &str) -> Result<bool, StoreError> {
        let mut script = self.remove.prepare_invoke();
        script.key(self.task(&gone.id)).key(self.places(gone.principal.as_deref()));
        script.key(self.ends()).key(self.touched(&gone.owner));
        script.arg(gone.place()).arg(ending).arg(&gone.id);
        self.link.run(Repeat::Never, |connection| script.invoke(connection))
    }
}

/// What has to be known of a task to forget it, when its record is gone already. It is the member of the set of ends.
#[derive(serde::Serialize, serde::Deserialize)]
struct Ending {
    id: String,
    created_ms: u64,
    principal: Option<String>,
    owner: String,
}

impl Ending {
    fn of(record: &TaskRecord) -> Self {
        Self {
            id: record.id.clone(),
            created_ms: record.created_ms,
            principal: record.principal.clone(),
            owner: record.owner.clone(),
        }
    }

    fn place(&self) -> String {
        TaskCursor { created_ms: self.created_ms, id: self.id.clone() }.to_string()
    }

    fn to_text(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers can be written")
    }
}

impl TaskStore for RedisTaskStore {
    fn create(&self, record: &TaskRecord) -> Result<(), StoreError> {
        let ending = Ending::of(record);
        let end = record.expires_ms().filter(|at| *at < MOST_MS - GRACE_MS);
        let mut script = self.create.prepare_invoke();
        script.key(self.task(&record.id)).key(self.places(record.principal.as_deref())).key(self.ends());
        script.arg(record.version).arg(record.to_json()).arg(ending.place());
        script.arg(end.map_or(String::new(), |at| at.to_string())).arg(ending.to_text());
        script.arg(end.map_or(0, |at| at + GRACE_MS));
        let kept: bool = self.link.run(Repeat::Harmless, |connection| script.invoke(connection))?;
        if kept { Ok(()) } else { Err(StoreError::IdTaken) }
    }

    fn get(&self, id: &str, party: &Party, now_ms: u64) -> Result<Option<TaskRecord>, StoreError> {
        Ok(self.visit(id, party, None, now_ms)?.map(|(_, record)| record))
    }

    fn list(
        &self,
        principal: Option<&str>,
        after: Option<&TaskCursor>,
        limit: usize,
        now_ms: u64,
    ) -> Result<TaskPage, StoreError> {
        let limit = limit.max(1);
        let party = Party::Client { principal: principal.map(str::to_owned) };
        let key = self.places(principal);
        let mut start = after.map_or("-".to_owned(), |place| format!("({place}"));
        let mut tasks: Vec<TaskRecord> = Vec::new();
        // Places outlive the records for a while, so there may be fewer tasks than places.
        while tasks.len() <= limit {
            let places: Vec<String> = self.link.run(Repeat::Harmless, |connection| {
                let mut command = cmd("ZRANGEBYLEX");
                let wanted = (limit - tasks.len()).saturating_add(1).min(BATCH);
                command.arg(&key).arg(&start).arg("+").arg("LIMIT").arg(0).arg(wanted).query(connection)
            })?;
            let Some(last) = places.last() else { break };
            start = format!("({last}");
            let ids: Vec<String> = places.iter().filter_map(|text| Some(TaskCursor::parse(text)?.id)).collect();
            for body in self.bodies(&ids)?.into_iter().flatten() {
                let record = stored(&body)?;
                if record.is_lapsed(now_ms) {
                    tasks.extend(self.get(&record.id, &party, now_ms)?);
                } else if !record.is_expired(now_ms) {
                    tasks.push(record);
                }
            }
        }
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
        self.visit(id, party, Some(change), now_ms)
    }

    fn remove(&self, id: &str) -> Result<bool, StoreError> {
        match self.bodies(&[id.to_owned()])?.pop().flatten() {
            Some(body) => {
                let gone = Ending::of(&stored(&body)?);
                self.forget(&gone, &gone.to_text())
            }
            None => Ok(false),
        }
    }

    fn poll(&self, owner: &str, since: u64) -> Result<Touched, StoreError> {
        let found: Vec<(String, u64)> = self.link.run(Repeat::Harmless, |connection| {
            let mut command = cmd("ZRANGEBYSCORE");
            command.arg(self.touched(owner)).arg(format!("({since}")).arg("+inf").arg("WITHSCORES").query(connection)
        })?;
        let mark = found.last().map_or(since, |(_, mark)| *mark);
        let ids: Vec<String> = found.into_iter().map(|(id, _)| id).collect();
        let bodies = self.bodies(&ids)?.into_iter().flatten();
        Ok(Touched { tasks: bodies.map(|body| stored(&body)).collect::<Result<_, _>>()?, mark })
    }

    fn spend(&self, token: &str, until_ms: u64, _now_ms: u64) -> Result<bool, StoreError> {
        let mut random = [0; 16];
        crate::entropy::system().fill(&mut random);
        let mut script = self.spend.prepare_invoke();
        // The server forgets it by itself.
        script.key(self.spent(token)).arg(task_id(random)).arg(until_ms.min(MOST_MS - GRACE_MS) + GRACE_MS);
        self.link.run(Repeat::Harmless, |connection| script.invoke(connection))
    }

    fn expire(&self, now_ms: u64) -> Result<usize, StoreError> {
        let mut count = 0;
        loop {
            let ends: Vec<String> = self.link.run(Repeat::Harmless, |connection| {
                let mut command = cmd("ZRANGEBYSCORE");
                let command = command.arg(self.ends()).arg("-inf").arg(now_ms).arg("LIMIT").arg(0).arg(BATCH);
                command.query(connection)
            })?;
            if ends.is_empty() {
                return Ok(count);
            }
            for text in ends {
                let gone: Ending = serde_json::from_str(&text)
                    .map_err(|error| StoreError::Damaged(format!("the end of a task: {error}")))?;
                count += usize::from(self.forget(&gone, &text)?);
            }
        }
    }
}
