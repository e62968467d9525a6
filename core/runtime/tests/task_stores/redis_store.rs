//! What is particular to the store on a server.

use crate::conformance::{CLIENT, json, task};
use crate::redis_server::RedisServer;
use crate::{Place, now};
use ferromcp::engine::tasks::{Applied, Party, StoreError, TaskChange, TaskOutcome};
use ferromcp::store::{RedisTaskStore, TaskStore};

fn open(server: &RedisServer, namespace: &str) -> RedisTaskStore {
    RedisTaskStore::open(&server.url(), namespace).expect("the server answers")
}

#[test]
fn what_was_acknowledged_survives_the_server() {
    let mut server = RedisServer::start();
    let store = open(&server, "one");
    let now = now();
    let record = task(1, now);
    store.create(&record).expect("a new id");
    let result = json("{}");
    let done = TaskChange::Complete { result: result.clone(), message: None };
    store.change(&record.id, &Party::Owner, &done, now).expect("it can be written");
    // The store's connection breaks, and so do the scripts that the server knew.
    server.kill_and_start_again();
    let found = store.get(&record.id, &CLIENT, now).expect("a new connection").expect("it is there");
    assert_eq!(found.outcome, Some(TaskOutcome::Completed(result)));
    let second = task(2, now);
    store.create(&second).expect("a new id");
    let changed = store.change(&second.id, &CLIENT, &TaskChange::RequestCancel, now);
    assert_eq!(changed.expect("it can be written").expect("it is there").0, Applied::Changed);
}

#[test]
fn creating_the_same_task_again_is_no_other_task() {
    let server = RedisServer::start();
    let store = open(&server, "one");
    let record = task(1, now());
    // As after an answer that was lost on its way.
    assert_eq!(store.create(&record), Ok(()));
    assert_eq!(store.create(&record), Ok(()));
}

#[test]
fn names_keep_stores_apart() {
    let server = RedisServer::start();
    let (one, other) = (open(&server, "one"), open(&server, "other"));
    let now = now();
    let record = task(1, now);
    one.create(&record).expect("a new id");
    assert_eq!(other.get(&record.id, &CLIENT, now), Ok(None));
    assert_eq!(other.expire(now + 3_600_000), Ok(0));
    assert_eq!(one.get(&record.id, &CLIENT, now), Ok(Some(record)));
}

/// The server forgets records by itself, later than a store would; what points to them goes with the next `expire`.
#[test]
fn nothing_is_left_of_expired_tasks() {
    let server = RedisServer::start();
    let store = server.open("a");
    let now = now();
    for n in 1..=3 {
        let mut record = task(n, now);
        record.principal = (n == 1).then(|| "alice".to_owned());
        store.create(&record).expect("a new id");
        let party = Party::Client { principal: record.principal };
        store.change(&record.id, &party, &TaskChange::RequestCancel, now).expect("it can be written");
    }
    let key = format!("{{test}}:tasks:task:{}", task(2, now).id);
    let left: u64 =
        server.ask(&format!("PTTL {key}")).strip_prefix(':').and_then(|ms| ms.parse().ok()).expect("a time");
    assert!((3_600_000..=3_660_000).contains(&left), "{left} ms left");
    assert_eq!(server.ask(&format!("DEL {key}")), ":1");
    assert_eq!(store.list(None, None, 10, now).expect("it can be read").tasks.len(), 1);
    assert_eq!(store.poll("a", 0).expect("it can be read").tasks.len(), 2);
    assert_eq!(store.expire(now + 3_600_000), Ok(3));
    assert_eq!(server.ask("DBSIZE"), ":1", "only the last mark is left");
}

#[test]
fn a_server_that_is_not_there_is_an_error() {
    let server = RedisServer::start();
    let store = open(&server, "one");
    let url = server.url();
    drop(server);
    assert!(matches!(store.create(&task(1, now())), Err(StoreError::Unavailable(_))));
    assert!(matches!(RedisTaskStore::open(&url, "one"), Err(StoreError::Unavailable(_))));
    assert!(matches!(RedisTaskStore::open("no url", "one"), Err(StoreError::Unavailable(_))));
}

#[test]
fn what_others_wrote_is_an_error_of_its_own() {
    let server = RedisServer::start();
    let store = server.open("a");
    let now = now();
    let record = task(1, now);
    store.create(&record).expect("a new id");
    assert_eq!(server.ask(&format!("HSET {{test}}:tasks:task:{} body x", record.id)), ":0");
    assert!(matches!(store.get(&record.id, &CLIENT, now), Err(StoreError::Damaged(_))));
}
