//! Tasks in a SQLite file: they survive the process, and the loss of power.
//!
//! Any number of processes of one machine may use the file. Each opens it under a name of its own as an owner, and holds a lock
//! for as long as it lives (`dead_owners.rs`): tasks whose owner died are failed when the file is opened, and by
//! [`TaskStore::expire`]. A network file system, on which locks and shared memory do not work, is no place for it.

use super::dead_owners::OwnerLock;
use super::{Process, TaskStore, Touched, stored};
use ferromcp_engine::tasks::{Applied, Look, Party, StoreError, TaskChange, TaskCursor, TaskPage, TaskRecord, look};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Row, Transaction, TransactionBehavior, params};
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long to wait for another process's write. 10 s: a write takes milliseconds, so this means that something is stuck.
const BUSY: Duration = Duration::from_secs(10);

/// The version of the tables, in `PRAGMA user_version`.
const TABLES: i64 = 2;

/// `body` is the record; the other columns are what is looked for. `mark` is 0, or says when others last changed the task.
const SCHEMA: &str = "
    CREATE TABLE tasks (
        id TEXT NOT NULL PRIMARY KEY,
        principal TEXT,
        created_ms INTEGER NOT NULL,
        expires_ms INTEGER,
        owner TEXT NOT NULL,
        ended INTEGER NOT NULL,
        mark INTEGER NOT NULL DEFAULT 0,
        body TEXT NOT NULL
    );
    CREATE INDEX tasks_of ON tasks (principal, created_ms, id);
    CREATE INDEX tasks_expiring ON tasks (expires_ms) WHERE expires_ms IS NOT NULL;
    CREATE INDEX tasks_open ON tasks (owner) WHERE ended = 0;
    CREATE INDEX tasks_touched ON tasks (owner, mark) WHERE mark > 0;
    CREATE TABLE marks (last INTEGER NOT NULL);
    INSERT INTO marks VALUES (0);
    CREATE TABLE owners (number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE);
";

/// What version 2 has besides.
const SPENT: &str = "
    CREATE TABLE spent (token TEXT NOT NULL PRIMARY KEY, until_ms INTEGER NOT NULL) WITHOUT ROWID;
    CREATE INDEX spent_ending ON spent (until_ms);
    PRAGMA user_version = 2;
";

/// A store in one file.
pub struct SqliteTaskStore {
    process: Process,
    path: PathBuf,
    /// None in a forked child, and at the very end.
    connection: Mutex<Option<Connection>>,
    _lock: OwnerLock,
}

impl SqliteTaskStore {
    /// Opens the file, which is made if it is missing, for the tasks of `owner`. Tasks that a dead process left open are failed.
    ///
    /// # Errors
    /// [`StoreError::OwnerTaken`] when a living process, this one included, has opened it under the same name;
    /// [`StoreError::Damaged`] when the file is something else or of a newer version.
    pub fn open(path: &Path, owner: &str, now_ms: u64) -> Result<Self, StoreError> {
        let process = Process::this();
        let unavailable = |error: io::Error| StoreError::Unavailable(format!("{}: {error}", path.display()));
        // What tools are asked may be confidential, so a new file is its user's alone; SQLite's files beside it follow it. An
        // existing one is not opened here: closing it would give up the locks of other connections of this process.
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(unavailable(error)),
        }
        // Of one form for all processes, since the locks lie beside it.
        let path = path.canonicalize().map_err(unavailable)?;
        // Whoever has the connection has the lock round it, so SQLite needs none.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(&path, flags).map_err(failure)?;
        connection.busy_timeout(BUSY).map_err(failure)?;
        let mode = write_ahead(&connection).map_err(failure)?;
        if mode != "wal" {
            return Err(StoreError::Unavailable(format!("{}: no write-ahead log is possible here", path.display())));
        }
        // FULL: the log is on the disk when a transaction returns, and not only after the next checkpoint.
        connection.execute_batch("PRAGMA synchronous = FULL").map_err(failure)?;
        let transaction = begin(&mut connection)?;
        prepare_tables(&transaction)?;
        bury_the_dead(&transaction, &path, now_ms)?;
        let lock = register(&transaction, &path, owner)?;
        transaction.commit().map_err(failure)?;
        Ok(Self { process, path, connection: Mutex::new(Some(connection)), _lock: lock })
    }

    /// Runs `body` with the connection.
    fn with<T>(&self, body: impl FnOnce(&mut Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.process.check()?;
        // A transaction that a panic left is rolled back by then.
        let mut guard: MutexGuard<'_, _> = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        guard.as_mut().map_or(Err(StoreError::Forked), body)
    }

    /// Runs `body` as one transaction, which nobody else's write can come between.
    fn write<T>(&self, body: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.with(|connection| {
            let transaction = begin(connection)?;
            let done = body(&transaction)?;
            transaction.commit().map_err(failure)?;
            Ok(done)
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
        self.write(|transaction| {
            let Some(mut record) = read(transaction, id)? else { return Ok(None) };
            let Some(seen) = look(&mut record, party, change, now_ms) else { return Ok(None) };
            rewrite(transaction, &record, &seen)?;
            Ok(Some((seen.applied, record)))
        })
    }
}

impl Drop for SqliteTaskStore {
    fn drop(&mut self) {
        if self.process.check().is_err() {
            // SQLite must not even close a connection that was carried over a fork.
            let connection = self.connection.get_mut().unwrap_or_else(PoisonError::into_inner);
            std::mem::forget(connection.take());
        }
    }
}

impl TaskStore for SqliteTaskStore {
    fn create(&self, record: &TaskRecord) -> Result<(), StoreError> {
        self.write(|transaction| {
            let sql = "INSERT INTO tasks (id, principal, created_ms, expires_ms, owner, ended, body)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (id) DO NOTHING";
            let values = params![
                record.id,
                record.principal,
                time(record.created_ms),
                record.expires_ms().map(time),
                record.owner,
                record.outcome.is_some(),
                record.to_json(),
            ];
            match transaction.execute(sql, values).map_err(failure)? {
                0 => Err(StoreError::IdTaken),
                _ => Ok(()),
            }
        })
    }

    fn get(&self, id: &str, party: &Party, now_ms: u64) -> Result<Option<TaskRecord>, StoreError> {
        let Some(mut record) = self.with(|connection| read(connection, id))? else { return Ok(None) };
        match look(&mut record, party, None, now_ms) {
            None => Ok(None),
            Some(seen) if !seen.changed => Ok(Some(record)),
            Some(_) => Ok(self.visit(id, party, None, now_ms)?.map(|(_, record)| record)),
        }
    }

    fn list(
        &self,
        principal: Option<&str>,
        after: Option<&TaskCursor>,
        limit: usize,
        now_ms: u64,
    ) -> Result<TaskPage, StoreError> {
        let limit = limit.max(1);
        let sql = "SELECT body FROM tasks
            WHERE principal IS ?1 AND (created_ms, id) > (?2, ?3) AND (expires_ms IS NULL OR expires_ms > ?4)
            ORDER BY created_ms, id LIMIT ?5";
        let (created, id) = after.map_or((-1, ""), |place| (time(place.created_ms), &place.id));
        let rows = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
        let mut tasks = self.with(|connection| {
            let mut statement = connection.prepare(sql).map_err(failure)?;
            let found = statement.query_map(params![principal, created, id, time(now_ms), rows], body);
            found.map_err(failure)?.map(|text| stored(&text.map_err(failure)?)).collect::<Result<Vec<_>, _>>()
        })?;
        let more = tasks.len() > limit;
        tasks.truncate(limit);
        let next = tasks.last().filter(|_| more).map(TaskCursor::of);
        if tasks.iter().any(|record| record.is_lapsed(now_ms)) {
            let party = Party::Client { principal: principal.map(str::to_owned) };
            let ids: Vec<_> = tasks.into_iter().map(|record| record.id).collect();
            tasks = Vec::with_capacity(ids.len());
            for id in ids {
                tasks.extend(self.get(&id, &party, now_ms)?);
            }
        }
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
        self.write(|transaction| {
            transaction.execute("DELETE FROM tasks WHERE id = ?1", [id]).map(|rows| rows > 0).map_err(failure)
        })
    }

    fn poll(&self, owner: &str, since: u64) -> Result<Touched, StoreError> {
        self.with(|connection| {
            let sql = "SELECT body, mark FROM tasks WHERE owner = ?1 AND mark > 0 AND mark > ?2 ORDER BY mark";
            let mut statement = connection.prepare(sql).map_err(failure)?;
            let mut rows = statement.query(params![owner, time(since)]).map_err(failure)?;
            let mut touched = Touched { tasks: Vec::new(), mark: since };
            while let Some(row) = rows.next().map_err(failure)? {
                touched.tasks.push(stored(&body(row).map_err(failure)?)?);
                // Marks count up from 0.
                touched.mark = row.get::<_, i64>(1).map_err(failure)?.unsigned_abs();
            }
            Ok(touched)
        })
    }

    fn expire(&self, now_ms: u64) -> Result<usize, StoreError> {
        self.write(|transaction| {
            bury_the_dead(transaction, &self.path, now_ms)?;
            transaction.execute("DELETE FROM spent WHERE until_ms <= ?1", [time(now_ms)]).map_err(failure)?;
            transaction.execute("DELETE FROM tasks WHERE expires_ms <= ?1", [time(now_ms)]).map_err(failure)
        })
    }

    fn spend(&self, token: &str, until_ms: u64, now_ms: u64) -> Result<bool, StoreError> {
        self.write(|transaction| {
            // One whose time was over is as good as forgotten.
            let sql = "INSERT INTO spent (token, until_ms) VALUES (?1, ?2)
                ON CONFLICT (token) DO UPDATE SET until_ms = ?2 WHERE until_ms <= ?3";
            let rows = transaction.execute(sql, params![token, time(until_ms), time(now_ms)]).map_err(failure)?;
            Ok(rows > 0)
        })
    }
}

/// Turns the write-ahead log on, and gives the mode that there is now. Of two processes that do so in a new file at the same time
/// SQLite refuses one at once, without waiting as it does elsewhere.
fn write_ahead(connection: &Connection) -> rusqlite::Result<String> {
    let begun = Instant::now();
    loop {
        match connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)) {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && begun.elapsed() < BUSY => {
                std::thread::sleep(Duration::from_millis(2));
            }
            done => return done,
        }
    }
}

/// Begins a transaction that may write, and waits until nobody else does.
fn begin(connection: &mut Connection) -> Result<Transaction<'_>, StoreError> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failure)
}

/// Makes the tables, if the file is empty.
fn prepare_tables(transaction: &Transaction<'_>) -> Result<(), StoreError> {
    let number = |sql| transaction.query_row(sql, [], |row| row.get::<_, i64>(0)).map_err(failure);
    match (number("PRAGMA user_version")?, number("SELECT count(*) FROM sqlite_schema")?) {
        (TABLES, _) => Ok(()),
        (0, 0) => transaction.execute_batch(SCHEMA).and_then(|()| transaction.execute_batch(SPENT)).map_err(failure),
        (1, _) => transaction.execute_batch(SPENT).map_err(failure),
        (version, _) => Err(StoreError::Damaged(format!("no file of tasks, or of another version ({version})"))),
    }
}

/// Fails the open tasks of owners that are not alive, and forgets the owners.
fn bury_the_dead(transaction: &Transaction<'_>, path: &Path, now_ms: u64) -> Result<(), StoreError> {
    let owners = {
        let mut statement = transaction.prepare("SELECT number, name FROM owners").map_err(failure)?;
        let rows = statement.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)));
        rows.and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(failure)?
    };
    for (number, name) in owners {
        let Some(lock) = OwnerLock::take(path, number)? else { continue };
        abandon_all(transaction, &name, now_ms)?;
        transaction.execute("DELETE FROM owners WHERE number = ?1", [number]).map_err(failure)?;
        lock.remove();
    }
    Ok(())
}

fn abandon_all(transaction: &Transaction<'_>, owner: &str, now_ms: u64) -> Result<(), StoreError> {
    let bodies = {
        let sql = "SELECT body FROM tasks WHERE owner = ?1 AND ended = 0";
        let mut statement = transaction.prepare(sql).map_err(failure)?;
        let rows = statement.query_map([owner], body);
        rows.and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(failure)?
    };
    for text in bodies {
        let mut record = stored(&text)?;
        let changed = record.abandon(now_ms);
        rewrite(transaction, &record, &Look { applied: Applied::Changed, changed, foreign: false })?;
    }
    Ok(())
}

/// Enters a living owner, and takes its lock. The dead are out of the way by now.
fn register(transaction: &Transaction<'_>, path: &Path, owner: &str) -> Result<OwnerLock, StoreError> {
    let taken = || StoreError::OwnerTaken(owner.to_owned());
    let sql = "INSERT INTO owners (name) VALUES (?1) ON CONFLICT (name) DO NOTHING";
    if transaction.execute(sql, [owner]).map_err(failure)? == 0 {
        return Err(taken());
    }
    OwnerLock::take(path, transaction.last_insert_rowid())?.ok_or_else(taken)
}

fn read(connection: &Connection, id: &str) -> Result<Option<TaskRecord>, StoreError> {
    let found = connection.query_row("SELECT body FROM tasks WHERE id = ?1", [id], body).optional().map_err(failure)?;
    found.map(|text| stored(&text)).transpose()
}

/// Writes a record back, if it is another one now.
fn rewrite(transaction: &Transaction<'_>, record: &TaskRecord, seen: &Look) -> Result<(), StoreError> {
    if !seen.changed {
        return Ok(());
    }
    let sql = "UPDATE tasks SET body = ?2, ended = ?3 WHERE id = ?1";
    let values = params![record.id, record.to_json(), record.outcome.is_some()];
    transaction.execute(sql, values).map_err(failure)?;
    if seen.foreign {
        transaction.execute("UPDATE marks SET last = last + 1", []).map_err(failure)?;
        let sql = "UPDATE tasks SET mark = (SELECT last FROM marks) WHERE id = ?1";
        transaction.execute(sql, [&record.id]).map_err(failure)?;
    }
    Ok(())
}

fn body(row: &Row<'_>) -> rusqlite::Result<String> {
    row.get(0)
}

/// A time or a mark as SQLite keeps it. Beyond its greatest number everything is equally far away.
fn time(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}

fn failure(error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Damaged(error.to_string()),
        _ => StoreError::Unavailable(error.to_string()),
    }
}
