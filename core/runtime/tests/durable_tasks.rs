//! A task that was acknowledged is there after the process was killed, and says that nobody works on it any more.
//!
//! This program is run by `cargo test`, and runs itself once more as the process that is killed.

use ferromcp::engine::tasks::{JsonText, Party, StoreError, TaskChange, TaskRecord, TaskStatus, task_id};
use ferromcp::store::{SqliteTaskStore, TaskStore};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

const FILE: &str = "FERROMCP_TEST_FILE";

/// Tasks that the process gets to create at least.
const ENOUGH: usize = 50;

fn main() {
    match std::env::var_os(FILE) {
        Some(file) => worker(&PathBuf::from(file)),
        None => {
            acknowledged_tasks_survive_a_kill();
            say("durable_tasks: acknowledged tasks survive a kill ... ok");
            forked_children_keep_off();
            say("durable_tasks: a forked child keeps off the file and lets go of the lock ... ok");
        }
    }
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970");
    u64::try_from(since.as_millis()).expect("a time in this age")
}

/// Creates tasks until it is killed, and says so of each when the store has said so; every third one it completes.
fn worker(file: &Path) {
    let store = SqliteTaskStore::open(file, "worker", now()).expect("the file opens");
    let mut out = std::io::stdout();
    let mut report = |text: &str| out.write_all(text.as_bytes()).expect("somebody reads");
    for n in 0u128.. {
        let record = TaskRecord::new(task_id(n.to_be_bytes()), "tools/call", "tool", "worker", now());
        store.create(&record).expect("a new id");
        report(&format!("working {}\n", record.id));
        if n % 3 == 0 {
            let result = JsonText::new("result", &format!(r#"{{"n":{n}}}"#)).expect("JSON");
            let done = TaskChange::Complete { result, message: None };
            store.change(&record.id, &Party::Owner, &done, now()).expect("it can be written");
            report(&format!("completed {}\n", record.id));
        }
    }
}

fn acknowledged_tasks_survive_a_kill() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let file = folder.path().join("tasks.db");
    let mut child = Command::new(std::env::current_exe().expect("this program has a path"))
        .env(FILE, &file)
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program runs");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut said: Vec<String> = lines.by_ref().take(ENOUGH).map(|line| line.expect("UTF-8")).collect();
    assert_eq!(said.len(), ENOUGH, "the process ended by itself");

    // While it lives, its tasks are its own.
    let client = Party::Client { principal: None };
    let beside = SqliteTaskStore::open(&file, "beside", now()).expect("the file opens");
    let second = beside.get(&task_id(1u128.to_be_bytes()), &client, now()).expect("it can be read");
    assert_eq!(second.expect("it is there").status(), TaskStatus::Working);
    let taken = SqliteTaskStore::open(&file, "worker", now()).map(drop);
    assert_eq!(taken, Err(StoreError::OwnerTaken("worker".into())));

    child.kill().expect("it lives");
    said.extend(lines.map_while(Result::ok));
    assert!(!child.wait().expect("a child of ours").success());

    let store = SqliteTaskStore::open(&file, "worker", now()).expect("the file opens");
    let mut completed = 0;
    for line in &said {
        let (word, id) = line.split_once(' ').expect("two words");
        let record = store.get(id, &client, now()).expect("it can be read");
        let record = record.unwrap_or_else(|| panic!("{line}: it is not there"));
        match record.status() {
            TaskStatus::Completed => completed += usize::from(word == "completed"),
            TaskStatus::Failed => {
                assert_eq!(word, "working", "{id} was completed");
                let reason = record.status_message.as_deref();
                assert_eq!(reason, Some("the server process that ran this task is gone"));
            }
            other => panic!("{line}: it is {other} after the kill"),
        }
    }
    assert_eq!(completed, said.iter().filter(|line| line.starts_with("completed ")).count());
    assert!(completed > 0);
}

/// A child that was forked while the store was open gets an error, leaves the file in order, and does not stand for a living
/// owner when its parent has gone.
#[allow(unsafe_code, reason = "forking is what is tested")]
fn forked_children_keep_off() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let file = folder.path().join("tasks.db");
    let client = Party::Client { principal: None };
    let store = SqliteTaskStore::open(&file, "parent", now()).expect("the file opens");
    let record = TaskRecord::new(task_id([1; 16]), "tools/call", "tool", "parent", now());
    store.create(&record).expect("a new id");

    let (mut parent_is_done, done) = std::io::pipe().expect("a pipe");
    let (mut verdict, mut tell) = std::io::pipe().expect("a pipe");
    // SAFETY: this program has one thread, so the child finds every lock free.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "a child process");
    if child == 0 {
        drop((done, verdict));
        let refused = store.get(&record.id, &client, now()) == Err(StoreError::Forked);
        let _ = tell.write_all(if refused { b"+" } else { b"-" });
        drop(tell);
        let _ = parent_is_done.read(&mut [0]);
        drop(store);
        // SAFETY: ends the child at once, without running anything of the parent's.
        unsafe { libc::_exit(0) }
    }
    drop((tell, parent_is_done));
    let mut said = String::new();
    verdict.read_to_string(&mut said).expect("the child speaks");
    assert_eq!(said, "+", "the child used its parent's connection");
    assert_eq!(store.get(&record.id, &client, now()), Ok(Some(record.clone())));
    let taken = SqliteTaskStore::open(&file, "parent", now()).map(drop);
    assert_eq!(taken, Err(StoreError::OwnerTaken("parent".into())), "the child let go of the lock");
    // The child still lives.
    drop(store);
    let store = SqliteTaskStore::open(&file, "parent", now()).expect("the lock went with the parent");
    let found = store.get(&record.id, &client, now()).expect("it can be read").expect("it is there");
    assert_eq!(found.status(), TaskStatus::Failed);
    drop(done);
    let mut status = 0;
    // SAFETY: waits for our own child; the status is a valid place.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    assert_eq!(store.get(&record.id, &client, now()), Ok(Some(found)));
    let taken = SqliteTaskStore::open(&file, "parent", now()).map(drop);
    assert_eq!(taken, Err(StoreError::OwnerTaken("parent".into())), "the child let go of the lock");
}
