//! A task as a peer of a given revision is told of it.
//!
//! Two specifications: the experimental one of 2025-11-25 (`basic/utilities/tasks`, "Data Types"), and for modern peers the
//! extension `io.modelcontextprotocol/tasks` ("Tasks", "Task Status"). They name some fields differently, and a tool's error
//! (`isError`) is `failed` in the first and `completed` in the second. Records hold results in the newest revision's form.

use super::Revision;
use crate::error::shorten;
use crate::jsonrpc::{scan, write};
use crate::tasks::{JsonText, TaskOutcome, TaskRecord, TaskStatus};
use std::borrow::Cow;
use std::fmt::Write;

impl TaskRecord {
    /// Appends the members of `Task`, without braces: `"taskId":...` to `"pollIntervalMs":...`. Older revisions than
    /// 2025-11-25 have no tasks; they would get that one's form.
    pub fn write_task(&self, out: &mut String, revision: Revision) {
        out.push_str(r#""taskId":"#);
        write::string(out, &self.id);
        out.push_str(r#","status":""#);
        out.push_str(self.status_for(revision).as_str());
        out.push('"');
        if let Some(message) = self.message_for(revision) {
            out.push_str(r#","statusMessage":"#);
            write::string(out, &message);
        }
        out.push_str(r#","createdAt":""#);
        timestamp(out, self.created_ms);
        out.push_str(r#"","lastUpdatedAt":""#);
        timestamp(out, self.updated_ms);
        out.push('"');
        let (ttl, poll) = if revision.is_modern() { ("ttlMs", "pollIntervalMs") } else { ("ttl", "pollInterval") };
        let ttl_ms = self.ttl_ms.map_or(Cow::Borrowed("null"), |ms| Cow::Owned(ms.to_string()));
        // Writing into a String can't fail.
        let _ = write!(out, r#","{ttl}":{ttl_ms}"#);
        if let Some(ms) = self.poll_ms {
            let _ = write!(out, r#","{poll}":{ms}"#);
        }
    }

    /// Appends the members of `DetailedTask`, without braces: those of [`TaskRecord::write_task`], and for modern peers the
    /// outstanding requests, the result or the error. 2025-11-25 has other ways for these.
    pub fn write_detailed_task(&self, out: &mut String, revision: Revision) {
        self.write_task(out, revision);
        if !revision.is_modern() {
            return;
        }
        match &self.outcome {
            Some(TaskOutcome::Completed(result)) => {
                out.push_str(r#","result":"#);
                write::raw(out, result.as_str());
            }
            Some(TaskOutcome::Failed(error)) => {
                out.push_str(r#","error":"#);
                write::raw(out, error.as_str());
            }
            Some(TaskOutcome::Cancelled) => {}
            None => self.write_input_requests(out),
        }
    }

    fn write_input_requests(&self, out: &mut String) {
        let mut before = r#","inputRequests":{"#;
        for (key, request) in self.outstanding() {
            out.push_str(before);
            write::string(out, key);
            out.push(':');
            write::raw(out, request.as_str());
            before = ",";
        }
        if before == "," {
            out.push('}');
        }
    }

    /// The status under which a peer knows it.
    pub fn status_for(&self, revision: Revision) -> TaskStatus {
        match &self.outcome {
            Some(TaskOutcome::Completed(result)) if !revision.is_modern() && is_tool_error(result) => {
                TaskStatus::Failed
            }
            _ => self.status(),
        }
    }

    /// What the peer is told of the status: what the owner says, else what went wrong (SHOULD in both specifications, "Task
    /// Execution Errors").
    fn message_for(&self, revision: Revision) -> Option<Cow<'_, str>> {
        let said = self.status_message.as_deref().map(Cow::Borrowed);
        match &self.outcome {
            Some(TaskOutcome::Failed(error)) => said.or_else(|| member_text(error.as_str(), "message")),
            Some(TaskOutcome::Completed(result)) if self.status_for(revision) == TaskStatus::Failed => {
                said.or_else(|| tool_error_text(result.as_str()))
            }
            _ => said,
        }
    }
}

fn is_tool_error(result: &JsonText) -> bool {
    matches!(scan::pick(result.as_str(), ["isError"]), Ok([Some("true")]))
}

/// The text of the first block that has one, cut to the length of a message.
fn tool_error_text(result: &str) -> Option<Cow<'_, str>> {
    let Ok([Some(content)]) = scan::pick(result, ["content"]) else { return None };
    if !scan::is_array(content) {
        return None;
    }
    let text = scan::elements(content).find_map(|block| member_text(block, "text"))?;
    Some(match text {
        Cow::Borrowed(text) => Cow::Borrowed(shorten(text)),
        Cow::Owned(text) => Cow::Owned(shorten(&text).to_owned()),
    })
}

fn member_text<'a>(object: &'a str, key: &'static str) -> Option<Cow<'a, str>> {
    let Ok([Some(value)]) = scan::pick(object, [key]) else { return None };
    scan::plain_string(value)
}

/// The last moment that RFC 3339 can write: its years have four digits.
const LAST_MS: u64 = 253_402_300_799_999;

/// UNIX milliseconds as ISO 8601 in UTC: `2025-11-25T10:30:00.000Z`.
pub fn iso_8601(unix_ms: u64) -> String {
    let mut out = String::new();
    timestamp(&mut out, unix_ms);
    out
}

/// Appends UNIX milliseconds as ISO 8601 in UTC: `2025-11-25T10:30:00.000Z`.
fn timestamp(out: &mut String, unix_ms: u64) {
    let unix_ms = unix_ms.min(LAST_MS);
    let (days, ms) = (unix_ms / 86_400_000, unix_ms % 86_400_000);
    // Days since 1 March of the year 0, in eras of 400 years, whose calendar repeats. A year that begins in March has its
    // leap day at its end, so months can be counted without a table.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = (400 * era + year + month / 10, (month + 2) % 12 + 1);
    let (hour, minute, second, ms) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60, ms % 1_000);
    // Writing into a String can't fail.
    let _ = write!(out, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::{TaskChange, apply};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    const CREATED: u64 = 1_764_066_600_000;

    fn record() -> TaskRecord {
        let mut record = TaskRecord::new("t".into(), "tools/call", "tool", "node", CREATED);
        record.ttl_ms = Some(60_000);
        record.poll_ms = Some(5_000);
        record
    }

    fn text(json: &Value) -> JsonText {
        JsonText::new("test", &json.to_string()).expect("JSON")
    }

    fn detailed(record: &TaskRecord, revision: Revision) -> Value {
        let mut out = String::from("{");
        record.write_detailed_task(&mut out, revision);
        out.push('}');
        serde_json::from_str(&out).expect("JSON")
    }

    fn changed(change: TaskChange) -> TaskRecord {
        let mut record = record();
        apply(&mut record, &change, CREATED + 1_500);
        record
    }

    #[test]
    fn each_specification_has_its_names() {
        let mut record = changed(TaskChange::Message(Some("half\ndone".into())));
        assert_eq!(
            detailed(&record, Revision::V2026_07_28),
            json!({"taskId": "t", "status": "working", "statusMessage": "half\ndone",
                "createdAt": "2025-11-25T10:30:00.000Z", "lastUpdatedAt": "2025-11-25T10:30:01.500Z",
                "ttlMs": 60_000, "pollIntervalMs": 5_000})
        );
        assert_eq!(
            detailed(&record, Revision::V2025_11_25),
            json!({"taskId": "t", "status": "working", "statusMessage": "half\ndone",
                "createdAt": "2025-11-25T10:30:00.000Z", "lastUpdatedAt": "2025-11-25T10:30:01.500Z",
                "ttl": 60_000, "pollInterval": 5_000})
        );
        (record.ttl_ms, record.poll_ms, record.status_message) = (None, None, None);
        let modern = detailed(&record, Revision::V2026_07_28);
        assert_eq!(modern["ttlMs"], Value::Null);
        assert_eq!(modern.as_object().expect("an object").len(), 5, "{modern}");
        assert_eq!(detailed(&record, Revision::V2025_11_25).get("ttl"), Some(&Value::Null));
    }

    #[test]
    fn a_tool_error_is_completed_or_failed() {
        let result =
            json!({"content": [{"type": "image"}, {"type": "text", "text": "no such \"city\""}], "isError": true});
        let record = changed(TaskChange::Complete { result: text(&result), message: None });
        let modern = detailed(&record, Revision::V2026_07_28);
        assert_eq!((&modern["status"], &modern["result"]), (&json!("completed"), &result));
        assert_eq!(modern.get("statusMessage"), None);
        let legacy = detailed(&record, Revision::V2025_11_25);
        assert_eq!((&legacy["status"], &legacy["statusMessage"]), (&json!("failed"), &json!("no such \"city\"")));
        assert_eq!(legacy.get("result"), None);

        let result = json!({"content": [], "isError": false});
        let record = changed(TaskChange::Complete { result: text(&result), message: Some("3 found".into()) });
        for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
            let task = detailed(&record, revision);
            assert_eq!((&task["status"], &task["statusMessage"]), (&json!("completed"), &json!("3 found")));
        }
    }

    #[test]
    fn a_failed_task_says_why() {
        let error = json!({"code": -32603, "message": "limit \u{1}", "data": {"a": 1}});
        let record = changed(TaskChange::Fail { error: text(&error), message: None });
        let modern = detailed(&record, Revision::V2026_07_28);
        assert_eq!((&modern["status"], &modern["error"]), (&json!("failed"), &error));
        assert_eq!(modern["statusMessage"], "limit \u{1}");
        let legacy = detailed(&record, Revision::V2025_11_25);
        assert_eq!((&legacy["status"], &legacy["statusMessage"]), (&json!("failed"), &json!("limit \u{1}")));
        assert_eq!(legacy.get("error"), None);
        let record = changed(TaskChange::Fail { error: text(&error), message: Some("why".into()) });
        assert_eq!(detailed(&record, Revision::V2026_07_28)["statusMessage"], "why");
    }

    #[test]
    fn only_outstanding_requests_are_shown() {
        let asked = |key: &str| json!({"method": "elicitation/create", "params": {"message": key}});
        let mut record = record();
        let requests = ["a", "b\"", "c"].map(|key| (key.to_owned(), text(&asked(key))));
        apply(&mut record, &TaskChange::Ask(requests.to_vec()), CREATED);
        apply(&mut record, &TaskChange::Answer(vec![("a".into(), text(&json!({"action": "decline"})))]), CREATED);
        let modern = detailed(&record, Revision::V2026_07_28);
        assert_eq!(modern["status"], "input_required");
        assert_eq!(modern["inputRequests"], json!({"b\"": asked("b\""), "c": asked("c")}));
        let legacy = detailed(&record, Revision::V2025_11_25);
        assert_eq!((&legacy["status"], legacy.get("inputRequests")), (&json!("input_required"), None));
        apply(&mut record, &TaskChange::Cancel { message: None }, CREATED);
        let modern = detailed(&record, Revision::V2026_07_28);
        assert_eq!((&modern["status"], modern.get("inputRequests")), (&json!("cancelled"), None));
    }

    #[test]
    fn texts_stay_as_written_but_for_line_breaks() {
        let result = JsonText::new("test", "{\"a\":1.10e+400,\n\"b\":\"\\u0061\"}").expect("JSON");
        let mut out = String::new();
        changed(TaskChange::Complete { result, message: None }).write_detailed_task(&mut out, Revision::V2026_07_28);
        assert!(out.ends_with(r#""result":{"a":1.10e+400, "b":"\u0061"}"#), "{out}");
    }

    fn written(unix_ms: u64) -> String {
        let mut out = String::new();
        timestamp(&mut out, unix_ms);
        out
    }

    #[test]
    fn times_are_iso_8601() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199_000, "2024-02-29T23:59:59.000Z"),
            (1_709_251_200_000, "2024-03-01T00:00:00.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (LAST_MS, "9999-12-31T23:59:59.999Z"),
            (u64::MAX, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(written(ms), text);
        }
    }

    /// Days are counted up from the first by the rule of the calendar.
    #[test]
    fn every_day_follows_the_one_before() {
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..=LAST_MS / 86_400_000 {
            assert_eq!(written(days * 86_400_000), format!("{year:04}-{month:02}-{day:02}T00:00:00.000Z"));
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = match month {
                2 => 28 + u64::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > length {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
    }

    proptest! {
        #[test]
        fn later_times_have_greater_texts(one in 0..LAST_MS, other in 0..LAST_MS) {
            prop_assert_eq!(one.cmp(&other), written(one).cmp(&written(other)));
        }
    }
}
