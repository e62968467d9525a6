//! What is particular to the store in memory: it can't grow without end.

use crate::conformance::{CLIENT, complete, task};
use crate::now;
use ferromcp::engine::tasks::{Party, TaskRecord};
use ferromcp::store::{MemoryTaskStore, TaskStore};

fn there(store: &MemoryTaskStore, records: &[TaskRecord], now: u64) -> Vec<bool> {
    records.iter().map(|record| store.get(&record.id, &CLIENT, now).expect("memory").is_some()).collect()
}

fn end(store: &MemoryTaskStore, record: &TaskRecord, now: u64) {
    store.change(&record.id, &Party::Owner, &complete(), now).expect("memory").expect("it is there");
}

#[test]
fn of_too_many_tasks_that_have_ended_those_that_ended_first_are_forgotten() {
    let store = MemoryTaskStore::with_most_ended(2);
    let now = now();
    let records: Vec<_> = (0..5).map(|n| task(n, now)).collect();
    for record in &records {
        store.create(record).expect("a new id");
    }
    assert_eq!(there(&store, &records, now), [true; 5], "as many run as want to");
    for n in [3, 0, 4] {
        end(&store, &records[n], now);
    }
    assert_eq!(there(&store, &records, now), [true, true, true, false, true]);
    // What is refused changes nothing, and a removed one makes room.
    end(&store, &records[0], now);
    assert_eq!(store.remove(&records[0].id), Ok(true));
    end(&store, &records[1], now);
    assert_eq!(there(&store, &records, now), [false, true, true, false, true]);
    let listed = store.list(None, None, 10, now).expect("memory").tasks;
    assert_eq!(listed.len(), 3);
}

#[test]
fn tasks_without_an_owner_end_for_this_bound_too() {
    let store = MemoryTaskStore::with_most_ended(1);
    let now = now();
    let mut records: Vec<_> = (0..3).map(|n| task(n, now)).collect();
    for record in &mut records {
        record.lease_until_ms = Some(now + 1_000);
        store.create(record).expect("a new id");
    }
    // Each is found to have failed when it is looked at.
    store.list(None, None, 10, now + 2_000).expect("memory");
    assert_eq!(there(&store, &records, now + 2_000), [false, false, true]);
}

#[test]
fn what_was_spent_is_forgotten_when_its_time_is_over() {
    let store = MemoryTaskStore::new();
    assert_eq!(store.spend("t", 1_000, 0), Ok(true));
    assert_eq!(store.spend("t", 1_000, 999), Ok(false));
    assert_eq!(store.spend("t", 2_000, 1_000), Ok(true));
}
