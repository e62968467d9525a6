//! What every store has to do.

use crate::{Place, now};
use ferromcp::engine::tasks::{
    Applied, JsonText, Party, Refusal, StoreError, StoreOutcome, StoreRequest, TaskChange, TaskCursor, TaskPage,
    TaskRecord, TaskStatus, look, task_id,
};
use ferromcp::store::TaskStore;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::collections::BTreeSet;
use std::sync::{Arc, Barrier};

pub(crate) const CLIENT: Party = Party::Client { principal: None };

/// A task of owner `a` that is being worked on. `n` makes its id.
pub(crate) fn task(n: u8, now_ms: u64) -> TaskRecord {
    let mut record = TaskRecord::new(task_id([n; 16]), "tools/call", "tool", "a", now_ms);
    record.ttl_ms = Some(3_600_000);
    record
}

pub(crate) fn json(text: &str) -> JsonText {
    JsonText::new("test", text).expect("JSON")
}

pub(crate) fn complete() -> TaskChange {
    TaskChange::Complete { result: json(r#"{"content":[]}"#), message: None }
}

fn ask(key: &str) -> TaskChange {
    TaskChange::Ask(vec![(key.into(), json(r#"{"method":"roots/list","params":{}}"#))])
}

fn answer(key: &str) -> TaskChange {
    TaskChange::Answer(vec![(key.into(), json(r#"{"roots":[]}"#))])
}

fn status(store: &dyn TaskStore, id: &str, now_ms: u64) -> Option<TaskStatus> {
    store.get(id, &CLIENT, now_ms).expect("it can be read").map(|record| record.status())
}

fn ids(page: &TaskPage) -> Vec<String> {
    page.tasks.iter().map(|record| record.id.clone()).collect()
}

// requirement: tasks-ext-consistency, tasks-id-unique
pub(crate) fn a_created_task_is_there_for_all(place: &dyn Place) {
    let (one, other) = (place.open("a"), place.open("b"));
    let now = now();
    let mut record = task(1, now);
    record.principal = Some("o'hara \u{1F600}\n".into());
    record.status_message = Some("begun".into());
    record.poll_ms = Some(500);
    record.lease_until_ms = Some(now + 60_000);
    let request = json(r#"{ "z":1, "a":12345678901234567890123.10e1, "s":"\u00e9\ud83d" }"#);
    look(&mut record, &Party::Owner, Some(&TaskChange::Ask(vec![("k".into(), request)])), now);
    one.create(&record).expect("a new id");
    let party = Party::Client { principal: record.principal.clone() };
    for store in [&one, &other] {
        assert_eq!(store.get(&record.id, &party, now), Ok(Some(record.clone())));
        assert_eq!(store.get(&task_id([2; 16]), &party, now), Ok(None));
    }
    let mut second = task(1, now);
    second.tool = "another".into();
    assert_eq!(other.create(&second), Err(StoreError::IdTaken));
    assert_eq!(one.get(&record.id, &party, now), Ok(Some(record)));
}

// requirement: tasks-bound-to-context
pub(crate) fn a_task_exists_for_its_principal_only(place: &dyn Place) {
    let store = place.open("a");
    let now = now();
    let mut record = task(1, now);
    record.principal = Some("alice".into());
    store.create(&record).expect("a new id");
    for party in [CLIENT, Party::Client { principal: Some("bob".into()) }] {
        assert_eq!(store.get(&record.id, &party, now), Ok(None));
        assert_eq!(store.change(&record.id, &party, &TaskChange::RequestCancel, now), Ok(None));
    }
    assert_eq!(store.get(&record.id, &Party::Owner, now), Ok(Some(record.clone())));
    for (principal, there) in [(None, false), (Some("bob"), false), (Some("alice"), true)] {
        let page = store.list(principal, None, 10, now).expect("it can be read");
        assert_eq!(ids(&page).contains(&record.id), there, "{principal:?}");
    }
}

/// A step of a random history: who, what, and how much later.
fn step() -> impl Strategy<Value = (bool, TaskChange, u64)> {
    let key = || proptest::sample::select(vec!["a", "b", "c"]);
    let change = prop_oneof![
        4 => key().prop_map(ask),
        4 => key().prop_map(answer),
        2 => key().prop_map(|key| TaskChange::Take(vec![key.into()])),
        2 => any::<Option<u8>>().prop_map(|text| TaskChange::Message(text.map(|n| n.to_string()))),
        1 => Just(TaskChange::RequestCancel),
        1 => (0..5_000u64).prop_map(|ms| TaskChange::ExtendLease { until_ms: ms }),
        1 => Just(complete()),
        1 => Just(TaskChange::Cancel { message: Some("stopped".into()) }),
    ];
    (any::<bool>(), change, 0..1_000u64)
}

pub(crate) fn changes_come_to_what_the_engine_says(place: &dyn Place) {
    let stores = [place.open("a"), place.open("b")];
    let next = std::cell::Cell::new(0u8);
    // Each step is a write to disk, so these are few cases and the engine's own tests have the many.
    let mut runner = TestRunner::new(Config { cases: 10, failure_persistence: None, ..Config::default() });
    let result = runner.run(&proptest::collection::vec(step(), 1..15), |steps| {
        let mut now = now();
        next.set(next.get() + 1);
        let mut model = task(next.get(), now);
        model.lease_until_ms = Some(now + 5_000);
        let id = model.id.clone();
        stores[0].create(&model).expect("a new id");
        for (at, (owner, mut change, later)) in steps.into_iter().enumerate() {
            now += later;
            if let TaskChange::ExtendLease { until_ms } = &mut change {
                *until_ms += now;
            }
            let party = if owner { Party::Owner } else { CLIENT };
            let expected = look(&mut model, &party, Some(&change), now).map(|seen| (seen.applied, model.clone()));
            prop_assert_eq!(stores[at % 2].change(&id, &party, &change, now), Ok(expected));
            prop_assert_eq!(stores[(at + 1) % 2].get(&id, &Party::Owner, now), Ok(Some(model.clone())));
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

pub(crate) fn lists_are_read_in_pages(place: &dyn Place) {
    let store = place.open("a");
    let now = now();
    assert_eq!(store.list(None, None, 3, now), Ok(TaskPage::default()));
    // Two at a time, so that ids decide too; not in the order in which they are listed.
    let mut records: Vec<_> = (0..9).map(|n| task(100 - n, now + u64::from(n / 2))).collect();
    records[4].ttl_ms = Some(1_000);
    for record in records.iter().rev() {
        store.create(record).expect("a new id");
    }
    let mut foreign = task(200, now);
    foreign.principal = Some("alice".into());
    store.create(&foreign).expect("a new id");
    records.sort_by_key(TaskCursor::of);
    let all: Vec<_> = records.iter().map(|record| record.id.clone()).collect();

    let mut read = Vec::new();
    let mut after = None;
    for expected in [4, 4, 1] {
        let page = store.list(None, after.as_ref(), 4, now + 10).expect("it can be read");
        assert_eq!(page.tasks.len(), expected);
        assert_eq!(page.next, (expected == 4).then(|| TaskCursor::of(page.tasks.last().expect("four"))));
        read.extend(ids(&page));
        after = page.next;
    }
    assert_eq!(read, all);

    assert_eq!(store.list(None, None, 9, now + 10).expect("it can be read").next, None);
    assert_eq!(ids(&store.list(None, None, 0, now + 10).expect("it can be read")), all[..1]);
    // A place stays one when the task is gone; what is expired is not listed.
    let second = TaskCursor::of(&records[1]);
    assert_eq!(store.remove(&records[1].id), Ok(true));
    let expired = records.iter().find(|record| record.ttl_ms == Some(1_000)).expect("made above").id.clone();
    let rest: Vec<_> = all[2..].iter().filter(|id| **id != expired).cloned().collect();
    let page = store.list(None, Some(&second), 100, now + 2_000).expect("it can be read");
    assert_eq!(ids(&page), rest);
    let last = TaskCursor::of(&records[8]);
    assert_eq!(store.list(None, Some(&last), 100, now), Ok(TaskPage::default()));
}

pub(crate) fn who_finds_a_task_without_its_owner_fails_it_for_all(place: &dyn Place) {
    let (one, other) = (place.open("a"), place.open("b"));
    let now = now();
    for n in 1..=3 {
        let mut record = task(n, now);
        record.lease_until_ms = Some(now + 1_000);
        one.create(&record).expect("a new id");
    }
    let id = |n| task_id([n; 16]);
    assert_eq!(status(&*other, &id(1), now + 999), Some(TaskStatus::Working));
    let extended = one.change(&id(3), &Party::Owner, &TaskChange::ExtendLease { until_ms: now + 9_000 }, now);
    assert_eq!(extended.expect("it can be written").expect("it is there").0, Applied::Changed);

    assert_eq!(status(&*other, &id(1), now + 1_000), Some(TaskStatus::Failed));
    let page = other.list(None, None, 10, now + 1_000).expect("it can be read");
    let statuses: Vec<_> = page.tasks.iter().map(TaskRecord::status).collect();
    assert_eq!(statuses, [TaskStatus::Failed, TaskStatus::Failed, TaskStatus::Working]);
    // Whatever the clock says: what was seen stays.
    for n in [1, 2] {
        let late =
            one.change(&id(n), &Party::Owner, &complete(), now).expect("it can be written").expect("it is there");
        assert_eq!(late.0, Applied::Refused(Refusal::Ended(TaskStatus::Failed)));
        assert_eq!(late.1.status_message.as_deref(), Some("the server process that ran this task is gone"));
    }
    let told: BTreeSet<_> = one.poll("a", 0).expect("it can be read").tasks.into_iter().map(|task| task.id).collect();
    assert_eq!(told, BTreeSet::from([id(1), id(2)]));
}

// requirement: tasks-expired-cleaned
pub(crate) fn a_task_whose_time_is_over_is_gone(place: &dyn Place) {
    let store = place.open("a");
    let now = now();
    let mut short = task(1, now);
    short.ttl_ms = Some(5_000);
    let mut endless = task(2, now);
    endless.ttl_ms = None;
    let mut distant = task(3, now);
    distant.ttl_ms = Some(u64::MAX);
    for record in [&short, &endless, &distant] {
        store.create(record).expect("a new id");
        store.change(&record.id, &CLIENT, &TaskChange::RequestCancel, now).expect("it can be written");
    }
    assert_eq!(store.expire(now + 4_999), Ok(0));
    assert!(status(&*store, &short.id, now + 4_999).is_some());
    assert_eq!(status(&*store, &short.id, now + 5_000), None);
    assert_eq!(store.change(&short.id, &Party::Owner, &complete(), now + 5_000), Ok(None));
    assert_eq!(store.expire(now + 5_000), Ok(1));
    assert_eq!(status(&*store, &short.id, now), None, "it came back");
    assert_eq!(store.expire(now + 5_000), Ok(0));
    let kept = vec![endless.id, distant.id];
    assert_eq!(ids(&store.list(None, None, 10, now).expect("it can be read")), kept);
    assert_eq!(store.poll("a", 0).expect("it can be read").tasks.len(), 2);
    for id in &kept {
        assert!(status(&*store, id, now + (1 << 50)).is_some());
    }
}

pub(crate) fn an_owner_is_told_what_others_did(place: &dyn Place) {
    let (one, other) = (place.open("a"), place.open("b"));
    let now = now();
    for n in 1..=3 {
        one.create(&task(n, now)).expect("a new id");
    }
    let mut of_b = task(4, now);
    of_b.owner = "b".into();
    other.create(&of_b).expect("a new id");
    let id = |n| task_id([n; 16]);
    let change = |store: &Arc<dyn TaskStore>, n, party: &Party, change: &TaskChange| {
        let done = store.change(&id(n), party, change, now).expect("it can be written").expect("it is there");
        assert_eq!(done.0, Applied::Changed);
    };
    let told = |since| {
        let touched = one.poll("a", since).expect("it can be read");
        (touched.tasks.iter().map(|record| record.id.clone()).collect::<Vec<_>>(), touched.mark)
    };
    // What the owner does itself is no news to it.
    change(&one, 1, &Party::Owner, &ask("k"));
    change(&one, 2, &Party::Owner, &ask("k"));
    assert_eq!(told(0), (vec![], 0));

    change(&other, 2, &CLIENT, &answer("k"));
    change(&other, 1, &CLIENT, &TaskChange::RequestCancel);
    change(&other, 4, &CLIENT, &TaskChange::RequestCancel);
    let (tasks, first) = told(0);
    assert_eq!(tasks, [id(2), id(1)]);
    assert_eq!(told(first), (vec![], first));
    let answered = one.poll("a", 0).expect("it can be read").tasks.remove(0);
    assert_eq!(answered.answers().map(|(key, _)| key).collect::<Vec<_>>(), ["k"]);

    // Without an effect there is nothing to tell.
    let late = other.change(&id(2), &CLIENT, &answer("k"), now).expect("it can be written").expect("it is there");
    assert_eq!(late.0, Applied::Unchanged);
    assert_eq!(told(first), (vec![], first));
    change(&other, 2, &CLIENT, &TaskChange::Cancel { message: None });
    let (tasks, second) = told(first);
    assert_eq!(tasks, [id(2)]);
    assert!(second > first);
    // A task is told once for all that was done to it, where it was touched last.
    assert_eq!(told(0), (vec![id(1), id(2)], second));
    let of_b: Vec<_> = other.poll("b", 0).expect("it can be read").tasks.into_iter().map(|task| task.id).collect();
    assert_eq!(of_b, [id(4)]);
}

pub(crate) fn a_removed_task_is_gone(place: &dyn Place) {
    let store = place.open("a");
    let now = now();
    let record = task(1, now);
    assert_eq!(store.remove(&record.id), Ok(false));
    store.create(&record).expect("a new id");
    store.change(&record.id, &CLIENT, &TaskChange::RequestCancel, now).expect("it can be written");
    assert_eq!(store.remove(&record.id), Ok(true));
    assert_eq!(store.remove(&record.id), Ok(false));
    assert_eq!(status(&*store, &record.id, now), None);
    assert_eq!(store.change(&record.id, &CLIENT, &TaskChange::RequestCancel, now), Ok(None));
    assert_eq!(store.list(None, None, 10, now), Ok(TaskPage::default()));
    assert_eq!(store.poll("a", 0).expect("it can be read").tasks, []);
    assert_eq!(store.expire(now + 3_600_000), Ok(0));
    store.create(&record).expect("the id is free again");
    assert_eq!(status(&*store, &record.id, now), Some(TaskStatus::Working));
}

const THREADS: usize = 8;

/// Runs `body` on threads that begin together, each with its number and one of two handles.
fn together<T: Send>(stores: &[Arc<dyn TaskStore>; 2], body: impl Fn(usize, &dyn TaskStore) -> T + Sync) -> Vec<T> {
    let barrier = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        let start = |n: usize| {
            let (store, barrier, body) = (&*stores[n % 2], &barrier, &body);
            scope.spawn(move || {
                barrier.wait();
                body(n, store)
            })
        };
        let threads: Vec<_> = (0..THREADS).map(start).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    })
}

pub(crate) fn one_of_many_ends_a_task(place: &dyn Place) {
    let stores = [place.open("a"), place.open("b")];
    let now = now();
    let created = together(&stores, |n, store| {
        let mut record = task(1, now);
        record.tool = n.to_string();
        store.create(&record)
    });
    assert_eq!(created.iter().filter(|done| done.is_ok()).count(), 1, "{created:?}");
    assert_eq!(created.iter().filter(|done| **done == Err(StoreError::IdTaken)).count(), THREADS - 1, "{created:?}");
    let ends = [
        complete(),
        TaskChange::Cancel { message: None },
        TaskChange::Fail { error: json(r#"{"code":1,"message":"x"}"#), message: None },
    ];
    let id = task_id([1; 16]);
    let done = together(&stores, |n, store| {
        let party = if n % 3 == 1 { CLIENT } else { Party::Owner };
        store.change(&id, &party, &ends[n % 3], now).expect("it can be written").expect("it is there")
    });
    let winners: Vec<_> = done.iter().filter(|(applied, _)| *applied == Applied::Changed).collect();
    assert_eq!(winners.len(), 1, "{done:?}");
    for (applied, record) in &done {
        assert_eq!(*record, winners[0].1);
        assert!(*applied == Applied::Changed || *applied == Applied::Refused(Refusal::Ended(record.status())));
    }
}

pub(crate) fn no_change_is_lost_between_handles(place: &dyn Place) {
    const ROUNDS: usize = 8;
    let now = now();
    let id = task_id([1; 16]);
    let stores = [place.open("a"), place.open("b")];
    stores[0].create(&task(1, now)).expect("a new id");
    let marks = together(&stores, |n, store| {
        let mut mark = 0;
        for round in 0..ROUNDS {
            let key = format!("{n}/{round}");
            for (party, change) in [(Party::Owner, ask(&key)), (CLIENT, answer(&key))] {
                let done = store.change(&id, &party, &change, now).expect("it can be written").expect("it is there");
                assert_eq!(done.0, Applied::Changed);
                assert!(done.1.inputs.iter().any(|input| input.key == key));
            }
            let touched = store.poll("a", mark).expect("it can be read");
            assert_eq!(touched.tasks.len(), 1, "this thread's answer is newer than its last look");
            mark = touched.mark;
        }
        mark
    });
    let store = place.open("c");
    let record = store.get(&id, &CLIENT, now).expect("it can be read").expect("it is there");
    let answered: BTreeSet<_> = record.answers().map(|(key, _)| key.to_owned()).collect();
    let wanted: BTreeSet<_> = (0..THREADS).flat_map(|n| (0..ROUNDS).map(move |round| format!("{n}/{round}"))).collect();
    assert_eq!(answered, wanted);
    assert_eq!(record.version, 1 + 2 * (THREADS * ROUNDS) as u64);
    assert_eq!(marks.into_iter().max(), Some(store.poll("a", 0).expect("it can be read").mark));
}

pub(crate) fn requests_get_their_outcomes(place: &dyn Place) {
    let store = place.open("a");
    let now = now();
    let record = Box::new(task(1, now));
    let id = record.id.clone();
    let create = || StoreRequest::Create(record.clone());
    assert_eq!(store.execute(create(), now), StoreOutcome::Created);
    let mut other = record.clone();
    other.tool = "another".into();
    assert_eq!(store.execute(StoreRequest::Create(other), now), StoreOutcome::Failed(StoreError::IdTaken));
    let get = |id: &str| StoreRequest::Get { id: id.into(), party: CLIENT };
    assert_eq!(store.execute(get(&id), now), StoreOutcome::Task(Some(record.clone())));
    assert_eq!(store.execute(get("x"), now), StoreOutcome::Task(None));
    let list = StoreRequest::List { principal: None, after: None, limit: 5 };
    assert_eq!(store.execute(list, now), StoreOutcome::Page(TaskPage { tasks: vec![*record.clone()], next: None }));
    let change = StoreRequest::Change { id: id.clone(), party: Party::Owner, change: complete() };
    let StoreOutcome::Changed(Some((Applied::Changed, ended))) = store.execute(change, now) else {
        panic!("the change is allowed")
    };
    assert_eq!(ended.status(), TaskStatus::Completed);
    let change = StoreRequest::Change { id: "x".into(), party: Party::Owner, change: complete() };
    assert_eq!(store.execute(change, now), StoreOutcome::Changed(None));
    assert_eq!(store.execute(StoreRequest::Remove { id: id.clone() }, now), StoreOutcome::Removed(true));
    assert_eq!(store.execute(StoreRequest::Remove { id }, now), StoreOutcome::Removed(false));
    let spend = || StoreRequest::Spend { token: "t-_1".into(), until_ms: now + 60_000 };
    assert_eq!(store.execute(spend(), now), StoreOutcome::Spent { first: true });
    assert_eq!(store.execute(spend(), now), StoreOutcome::Spent { first: false });
}

// requirement: mrtr-state-single-use
pub(crate) fn what_is_spent_is_spent_for_all(place: &dyn Place) {
    const HANDLES: usize = 4;
    let now = now();
    let until = now + 60_000;
    let begin = Barrier::new(HANDLES);
    let firsts: usize = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..HANDLES)
            .map(|n| {
                let (store, begin) = (place.open(&n.to_string()), &begin);
                scope.spawn(move || {
                    begin.wait();
                    usize::from(store.spend("contended", until, now).expect("it can be written"))
                })
            })
            .collect();
        handles.into_iter().map(|handle| handle.join().expect("no panic")).sum()
    });
    assert_eq!(firsts, 1);
    let (one, other) = (place.open("a"), place.open("b"));
    assert_eq!(one.spend("contended", until, now), Ok(false));
    assert_eq!(one.spend("second", until, now), Ok(true));
    for store in [&one, &other] {
        store.expire(until - 1).expect("it can be written");
        assert_eq!(store.spend("second", until, until - 1), Ok(false), "it is not forgotten too early");
    }
}
