use super::*;
use crate::error::{LocalError, PeerError, code};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const CREATED: u64 = 1_000;

fn record() -> TaskRecord {
    TaskRecord::new(task_id([7; 16]), "tools/call", "tool", "node", CREATED)
}

fn json(text: &str) -> JsonText {
    JsonText::new("test", text).expect("JSON")
}

fn keyed(keys: &[&str]) -> Vec<(String, JsonText)> {
    keys.iter().map(|key| ((*key).to_owned(), json(&format!(r#"{{"of":"{key}"}}"#)))).collect()
}

fn client() -> Party {
    Party::Client { principal: None }
}

// requirement: tasks-id-entropy
#[test]
fn ids_are_uuids_of_all_bytes() {
    let bytes = [0x78, 0x65, 0x12, 0xe2, 0x9e, 0x0d, 0x44, 0xbd, 0x8f, 0x29, 0x78, 0x9f, 0x32, 0x0f, 0xe8, 0x40];
    assert_eq!(task_id(bytes), "786512e2-9e0d-44bd-8f29-789f320fe840");
    assert_eq!(task_id([0; 16]), "00000000-0000-0000-0000-000000000000");
}

// requirement: tasks-transitions, tasks-terminal-final
#[test]
fn terminal_statuses_lead_nowhere() {
    use TaskStatus::{InputRequired, Working};
    for from in TaskStatus::ALL {
        for to in TaskStatus::ALL {
            let allowed = matches!(from, Working | InputRequired) && from != to;
            assert_eq!(from.may_become(to), allowed, "{from} to {to}");
        }
    }
}

#[test]
fn answers_move_the_task_on_when_all_are_there() {
    let mut record = record();
    assert_eq!(apply(&mut record, &TaskChange::Ask(keyed(&["a", "b"])), CREATED + 1), Applied::Changed);
    assert_eq!(record.status(), TaskStatus::InputRequired);
    // Never asked.
    assert_eq!(apply(&mut record, &TaskChange::Answer(keyed(&["x"])), CREATED + 2), Applied::Unchanged);
    assert_eq!(record.updated_ms, CREATED + 1);
    assert_eq!(apply(&mut record, &TaskChange::Answer(keyed(&["x", "b"])), CREATED + 3), Applied::Changed);
    assert_eq!(record.status(), TaskStatus::InputRequired);
    assert_eq!(record.outstanding().map(|(key, _)| key).collect::<Vec<_>>(), ["a"]);
    // Answered before: the first answer stays.
    let late =
        vec![("b".to_owned(), json("{}")), ("a".to_owned(), json(r#"{"first":1}"#)), ("a".to_owned(), json("{}"))];
    assert_eq!(apply(&mut record, &TaskChange::Answer(late), CREATED + 4), Applied::Changed);
    assert_eq!(record.status(), TaskStatus::Working);
    let answers: Vec<_> = record.answers().map(|(key, answer)| (key, answer.as_str())).collect();
    assert_eq!(answers, [("a", r#"{"first":1}"#), ("b", r#"{"of":"b"}"#)]);
    assert_eq!(apply(&mut record, &TaskChange::Take(vec!["b".into(), "x".into()]), CREATED + 5), Applied::Changed);
    assert_eq!(record.answers().map(|(key, _)| key).collect::<Vec<_>>(), ["a"]);
    // What only the owner sees is no update.
    assert_eq!(record.updated_ms, CREATED + 4);
    assert_eq!(apply(&mut record, &TaskChange::Take(vec!["b".into()]), CREATED + 6), Applied::Unchanged);
}

// requirement: tasks-ext-keys-unique, tasks-ext-keys-not-reused
#[test]
fn a_key_is_used_once_in_a_task() {
    let mut record = record();
    let used = |key: &str| Applied::Refused(Refusal::KeyUsed(key.into()));
    assert_eq!(apply(&mut record, &TaskChange::Ask(keyed(&["a", "a"])), 0), used("a"));
    assert_eq!(record.status(), TaskStatus::Working);
    assert_eq!(apply(&mut record, &TaskChange::Ask(keyed(&[])), 0), Applied::Unchanged);
    apply(&mut record, &TaskChange::Ask(keyed(&["a"])), 0);
    let before = record.clone();
    assert_eq!(apply(&mut record, &TaskChange::Ask(keyed(&["b", "a"])), 0), used("a"));
    assert_eq!(record, before);
    apply(&mut record, &TaskChange::Answer(keyed(&["a"])), 0);
    apply(&mut record, &TaskChange::Take(vec!["a".into()]), 0);
    assert_eq!(apply(&mut record, &TaskChange::Ask(keyed(&["a"])), 0), used("a"));
}

#[test]
fn an_end_keeps_no_questions_and_no_answers() {
    let mut record = record();
    apply(&mut record, &TaskChange::Ask(keyed(&["a", "b"])), CREATED);
    apply(&mut record, &TaskChange::Answer(keyed(&["a"])), CREATED);
    let cancel = TaskChange::Cancel { message: Some("stopped".into()) };
    assert_eq!(apply(&mut record, &cancel, CREATED + 1), Applied::Changed);
    assert_eq!((record.outstanding().count(), record.answers().count()), (0, 0));
    assert_eq!(record.status_message.as_deref(), Some("stopped"));
    let ended = Applied::Refused(Refusal::Ended(TaskStatus::Cancelled));
    let before = record.clone();
    for change in [
        TaskChange::Answer(keyed(&["b"])),
        TaskChange::Complete { result: json("{}"), message: None },
        TaskChange::Message(None),
        TaskChange::RequestCancel,
    ] {
        assert_eq!(apply(&mut record, &change, CREATED + 2), ended);
    }
    assert_eq!(record, before);
}

#[test]
fn leases_and_cancel_requests() {
    let mut record = record();
    assert_eq!(apply(&mut record, &TaskChange::ExtendLease { until_ms: 9_000 }, CREATED), Applied::Unchanged);
    record.lease_until_ms = Some(5_000);
    assert_eq!(apply(&mut record, &TaskChange::ExtendLease { until_ms: 4_000 }, CREATED), Applied::Unchanged);
    assert_eq!(apply(&mut record, &TaskChange::ExtendLease { until_ms: 6_000 }, CREATED), Applied::Changed);
    assert_eq!((record.lease_until_ms, record.updated_ms), (Some(6_000), CREATED));
    assert_eq!(apply(&mut record, &TaskChange::RequestCancel, 7_000), Applied::Changed);
    assert_eq!((record.cancel_requested, record.status()), (true, TaskStatus::Working));
    assert_eq!(apply(&mut record, &TaskChange::RequestCancel, 7_000), Applied::Unchanged);
}

#[test]
fn who_finds_a_task_without_its_owner_fails_it() {
    let mut fresh = record();
    fresh.lease_until_ms = Some(5_000);
    let mut record = fresh.clone();
    assert_eq!(
        look(&mut record, &client(), None, 4_999),
        Some(Look { applied: Applied::Unchanged, changed: false, foreign: false })
    );
    let answer = TaskChange::RequestCancel;
    let seen = look(&mut record, &client(), Some(&answer), 5_000).expect("it is there");
    let refused = Applied::Refused(Refusal::Ended(TaskStatus::Failed));
    assert_eq!(seen, Look { applied: refused, changed: true, foreign: true });
    let Some(TaskOutcome::Failed(error)) = &record.outcome else { panic!("{record:?}") };
    let error: serde_json::Value = serde_json::from_str(error.as_str()).expect("JSON");
    assert_eq!(error["code"], code::INTERNAL_ERROR);
    assert_eq!(error["message"], "the server process that ran this task is gone");
    assert_eq!(record.status_message.as_deref(), error["message"].as_str());
    // An owner that is only late may end what nobody has found.
    let done = TaskChange::Complete { result: json("{}"), message: None };
    let seen = look(&mut fresh, &Party::Owner, Some(&done), 6_000).expect("it is there");
    assert_eq!(seen, Look { applied: Applied::Changed, changed: true, foreign: false });
    assert_eq!(fresh.status(), TaskStatus::Completed);
}

#[test]
fn a_task_exists_for_its_principal_and_for_its_time() {
    let mut record = record();
    record.principal = Some("alice".into());
    record.ttl_ms = Some(500);
    let alice = Party::Client { principal: Some("alice".into()) };
    let bob = Party::Client { principal: Some("bob".into()) };
    for (party, now, there) in [
        (&alice, 1_499, true),
        (&alice, 1_500, false),
        (&Party::Owner, 1_499, true),
        (&Party::Owner, 1_500, false),
        (&bob, 1_000, false),
        (&client(), 1_000, false),
    ] {
        assert_eq!(look(&mut record, party, None, now).is_some(), there, "{party:?} at {now}");
    }
    record.principal = None;
    assert_eq!(look(&mut record, &bob, None, 1_000), None);
    record.ttl_ms = None;
    assert!(look(&mut record, &client(), None, u64::MAX).is_some());
    record.ttl_ms = Some(u64::MAX);
    assert!(!record.is_expired(u64::MAX - 1));
}

#[test]
fn what_is_stored_keeps_every_byte() {
    let mut record = record();
    apply(
        &mut record,
        &TaskChange::Ask(vec![("k".into(), json(r#"{ "n": 12345678901234567890123, "s":"\u00e9\ud83d" }"#))]),
        0,
    );
    let text = record.to_json();
    assert!(text.contains(r#"{ "n": 12345678901234567890123, "s":"\u00e9\ud83d" }"#), "{text}");
    assert_eq!(TaskRecord::from_json(&text), Ok(record));
    for text in ["", "{}", "null", &text[1..], &text.replace("version", "edition")] {
        assert!(matches!(TaskRecord::from_json(text), Err(LocalError::NotJson { what: "task", .. })), "{text}");
    }
}

#[test]
fn only_json_becomes_json_text() {
    assert_eq!(json(" [1, 2]\n").as_str(), "[1, 2]");
    for text in ["", "{", "1 2", "nul"] {
        assert!(matches!(JsonText::new("result", text), Err(LocalError::NotJson { what: "result", .. })), "{text}");
    }
    let error = PeerError::new(-5, "a \"b\"").with_data("[1.0]");
    assert_eq!(JsonText::error(&error).as_str(), r#"{"code":-5,"message":"a \"b\"","data":[1.0]}"#);
    assert_eq!(JsonText::error(&error.with_data("[")).as_str(), r#"{"code":-5,"message":"a \"b\""}"#);
}

#[test]
fn cursors_read_back_and_sort() {
    let cursor = TaskCursor::of(&record());
    assert_eq!(cursor.to_string(), format!("00000000000000001000:{}", task_id([7; 16])));
    for text in ["", ":", "1:a", "0000000000000000100x:a", "99999999999999999999:a", "00000000000000001000:"] {
        assert_eq!(TaskCursor::parse(text), None, "{text}");
    }
}

const KEYS: [&str; 4] = ["a", "b", "c", "d"];

/// Any change. Keys come from a few, so that they meet.
fn any_change() -> impl Strategy<Value = TaskChange> {
    let keys = || proptest::sample::subsequence(&KEYS[..], 0..=3);
    prop_oneof![
        3 => keys().prop_map(|keys| TaskChange::Ask(keyed(&keys))),
        6 => (keys(), any::<u32>()).prop_map(|(keys, n)| {
            TaskChange::Answer(keys.into_iter().map(|key| (key.into(), json(&format!("[{n}]")))).collect())
        }),
        2 => keys().prop_map(|keys| TaskChange::Take(keys.into_iter().map(str::to_owned).collect())),
        1 => any::<Option<u8>>().prop_map(|message| TaskChange::Message(message.map(|n| n.to_string()))),
        1 => Just(TaskChange::RequestCancel),
        1 => (0..20_000u64).prop_map(|until_ms| TaskChange::ExtendLease { until_ms }),
        1 => prop_oneof![
            Just(TaskChange::Complete { result: json("{}"), message: None }),
            Just(TaskChange::Fail { error: json("{}"), message: None }),
            Just(TaskChange::Cancel { message: None }),
        ],
    ]
}

fn any_party() -> impl Strategy<Value = Party> {
    prop_oneof![3 => Just(Party::Owner), 1 => Just(client())]
}

proptest! {
    #[test]
    // requirement: tasks-transitions, tasks-terminal-final
fn no_sequence_breaks_the_rules(
        steps in vec((any_party(), any_change(), 0..10_000u64), 0..40),
        lease in proptest::option::of(0..10_000u64),
    ) {
        let mut record = record();
        record.lease_until_ms = lease;
        let mut asked = BTreeSet::new();
        let mut kept: BTreeMap<String, JsonText> = BTreeMap::new();
        for (party, change, now) in steps {
            let before = record.clone();
            let seen = look(&mut record, &party, Some(&change), now).expect("it has no end");
            let (from, to) = (before.status(), record.status());
            prop_assert!(from == to || from.may_become(to), "{} to {}", from, to);
            prop_assert_eq!(seen.changed, before != record);
            prop_assert_eq!(seen.changed, before.version < record.version);
            prop_assert!(before.updated_ms <= record.updated_ms);
            if from.is_terminal() {
                prop_assert_eq!(&before, &record);
                prop_assert_eq!(seen.applied, Applied::Refused(Refusal::Ended(from)));
                continue;
            }
            if to.is_terminal() {
                continue;
            }
            match (seen.applied, change) {
                (Applied::Changed, TaskChange::Ask(requests)) => {
                    for (key, _) in requests {
                        prop_assert!(asked.insert(key), "a key came twice");
                    }
                }
                (_, TaskChange::Answer(responses)) => {
                    for (key, response) in responses {
                        if before.outstanding().any(|(open, _)| open == key) {
                            kept.insert(key, response);
                        }
                    }
                }
                (_, TaskChange::Take(keys)) => kept.retain(|key, _| !keys.contains(key)),
                _ => {}
            }
            let answers: BTreeMap<_, _> =
                record.answers().map(|(key, answer)| (key.to_owned(), answer.clone())).collect();
            prop_assert_eq!(&answers, &kept, "an accepted answer is there until it is taken");
            prop_assert_eq!(to == TaskStatus::InputRequired, record.outstanding().count() > 0);
            prop_assert_eq!(TaskRecord::from_json(&record.to_json()), Ok(record.clone()));
        }
    }

    #[test]
    fn cursors_sort_as_their_texts(one in any::<(u64, [u8; 16])>(), other in any::<(u64, [u8; 16])>()) {
        let cursor = |(created_ms, id)| TaskCursor { created_ms, id: task_id(id) };
        let (one, other) = (cursor(one), cursor(other));
        prop_assert_eq!(one.cmp(&other), one.to_string().cmp(&other.to_string()));
        prop_assert_eq!(TaskCursor::parse(&one.to_string()), Some(one));
    }
}
