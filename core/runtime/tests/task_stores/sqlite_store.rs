//! What is particular to the store in a file. What a killed process leaves is tested in `durable_tasks.rs`.

use crate::conformance::{CLIENT, complete, task};
use crate::{Place, SqliteFile, now};
use ferromcp::engine::tasks::{Party, StoreError, TaskStatus};
use ferromcp::store::SqliteTaskStore;
use std::os::unix::fs::PermissionsExt;
use std::sync::Barrier;

#[test]
fn tasks_outlive_the_store_and_open_ones_fail() {
    let file = SqliteFile::default();
    let now = now();
    let store = file.open("a");
    for n in [1, 2] {
        store.create(&task(n, now)).expect("a new id");
    }
    store.change(&task(1, now).id, &Party::Owner, &complete(), now).expect("it can be written");
    drop(store);
    let store = file.open("a");
    let statuses = [1, 2].map(|n| {
        let record = store.get(&task(n, now).id, &CLIENT, now).expect("it can be read").expect("it is there");
        (record.status(), record.status_message)
    });
    let gone = "the server process that ran this task is gone".to_owned();
    assert_eq!(statuses, [(TaskStatus::Completed, None), (TaskStatus::Failed, Some(gone))]);
}

#[test]
fn living_owners_keep_their_tasks() {
    let file = SqliteFile::default();
    let now = now();
    let first = file.open("a");
    let record = task(1, now);
    first.create(&record).expect("a new id");
    let second = file.open("b");
    assert_eq!(second.get(&record.id, &CLIENT, now), Ok(Some(record.clone())));
    assert_eq!(second.expire(now), Ok(0));
    assert_eq!(second.get(&record.id, &CLIENT, now), Ok(Some(record.clone())));
    drop(first);
    // Nobody has to open the file anew: those who use it look from time to time.
    assert_eq!(second.expire(now), Ok(0));
    let found = second.get(&record.id, &CLIENT, now).expect("it can be read").expect("it is there");
    assert_eq!(found.status(), TaskStatus::Failed);
}

#[test]
fn a_name_has_one_living_owner() {
    let file = SqliteFile::default();
    let first = file.open("a");
    let again = || SqliteTaskStore::open(&file.path(), "a", now()).map(drop);
    assert_eq!(again(), Err(StoreError::OwnerTaken("a".into())));
    drop(first);
    assert_eq!(again(), Ok(()));
}

#[test]
fn all_may_open_a_new_file_at_the_same_time() {
    let file = SqliteFile::default();
    let barrier = std::sync::Barrier::new(8);
    let open = |n: u8| {
        barrier.wait();
        let store = file.open(&n.to_string());
        store.create(&task(n, now())).expect("a new id");
        store
    };
    let open = &open;
    let stores: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|n| scope.spawn(move || open(n))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert_eq!(stores.len(), 8);
    let store = file.open("a");
    assert_eq!(store.list(None, None, 100, now()).expect("it can be read").tasks.len(), 8);
}

#[test]
fn files_are_their_users_alone() {
    let file = SqliteFile::default();
    let store = file.open("a");
    store.create(&task(1, now())).expect("a new id");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(file.0.path()).expect("a folder") {
        let entry = entry.expect("an entry");
        assert_eq!(entry.metadata().expect("a file").permissions().mode() & 0o777, 0o600, "{entry:?}");
        names.push(entry.file_name().into_string().expect("UTF-8"));
    }
    names.sort();
    assert_eq!(names, ["tasks.db", "tasks.db-shm", "tasks.db-wal", "tasks.db.owner-1"]);
}

#[test]
fn the_locks_of_the_dead_are_removed() {
    let file = SqliteFile::default();
    for owner in ["a", "b", "a"] {
        drop(file.open(owner));
    }
    let names = std::fs::read_dir(file.0.path()).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let locks = names.filter(|name| name.to_string_lossy().contains(".owner-"));
    assert_eq!(locks.collect::<Vec<_>>(), ["tasks.db.owner-3"]);
}

#[test]
fn other_files_are_left_alone() {
    let file = SqliteFile::default();
    let open = || SqliteTaskStore::open(&file.path(), "a", now()).map(drop);
    let text = "x".repeat(4096);
    std::fs::write(file.path(), &text).expect("a folder");
    assert!(matches!(open(), Err(StoreError::Damaged(_))));
    assert_eq!(std::fs::read_to_string(file.path()).expect("a file"), text);
    let missing = file.0.path().join("no/such/folder/tasks.db");
    assert!(matches!(SqliteTaskStore::open(&missing, "a", now()), Err(StoreError::Unavailable(_))));
}

#[test]
fn a_file_of_the_first_version_is_brought_up_to_date() {
    let file = SqliteFile::default();
    let now = now();
    let store = file.open("a");
    store.create(&task(1, now)).expect("a new id");
    drop(store);
    let connection = rusqlite::Connection::open(file.path()).expect("a file");
    connection.execute_batch("DROP TABLE spent; PRAGMA user_version = 1").expect("as it was");
    drop(connection);
    let store = file.open("a");
    assert!(store.get(&task(1, now).id, &CLIENT, now).expect("it can be read").is_some());
    assert_eq!(store.spend("t", now + 1_000, now), Ok(true));
    assert_eq!(store.spend("t", now + 1_000, now), Ok(false));
    store.expire(now + 1_000).expect("it can be written");
    assert_eq!(store.spend("t", now + 2_000, now + 1_000), Ok(true), "its time was over");
}

#[test]
fn a_new_file_may_be_opened_by_several_at_once() {
    for _ in 0..20 {
        let file = SqliteFile::default();
        let begin = Barrier::new(4);
        std::thread::scope(|scope| {
            for n in 0..4 {
                let (file, begin) = (&file, &begin);
                scope.spawn(move || {
                    begin.wait();
                    file.open(&n.to_string())
                });
            }
        });
    }
}
