//! Answers for requests that JavaScript's thread would give the same answer to, if it came to it.
//!
//! The facade knows of some requests to an existing server what the answer will be (`ts/standin.cts` says of which), and
//! leaves the text here. JavaScript is asked all the same; only when it has not answered within [`PATIENCE`], because a
//! function holds its thread, the text is sent in its place. What JavaScript says later reaches nobody.

use ferromcp::engine::{Call, RequestKey, Revision, Target};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long JavaScript has. 20 ms: more than a turn of its loop takes in most programs, and less than anybody notices.
const PATIENCE: Duration = Duration::from_millis(20);

/// Texts of results: for one revision, or for all.
type Texts = Vec<(Option<String>, Arc<str>)>;

#[derive(Default)]
pub(crate) struct StandIns {
    /// By method.
    texts: Mutex<HashMap<String, Texts>>,
    /// Calls that somebody waits for here and that JavaScript has not answered.
    unanswered: Mutex<HashSet<RequestKey>>,
    answered: Condvar,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StandIns {
    /// Keeps the text of a result object, or forgets it.
    pub(crate) fn put(&self, method: String, revision: Option<String>, text: Option<String>) {
        let mut texts = lock(&self.texts);
        let known = texts.entry(method).or_default();
        known.retain(|(of, _)| *of != revision);
        if let Some(text) = text {
            known.push((revision, text.into()));
        }
    }

    /// What to [`wait`](Self::wait) for, if the call's answer is known.
    pub(crate) fn expect(&self, call: &Call) -> Option<Expected> {
        let known = matches!(call.target, Target::Delegated) && self.text(call.method(), call.revision).is_some();
        known.then(|| {
            lock(&self.unanswered).insert(call.key);
            Expected { key: call.key, method: call.method().to_owned(), revision: call.revision }
        })
    }

    fn text(&self, method: &str, revision: Revision) -> Option<Arc<str>> {
        let texts = lock(&self.texts);
        let fits = |of: &Option<String>| of.as_ref().is_none_or(|of| of == revision.as_str());
        texts.get(method)?.iter().find(|(of, _)| fits(of)).map(|(_, text)| Arc::clone(text))
    }

    /// JavaScript has answered these calls.
    pub(crate) fn answered(&self, keys: impl Iterator<Item = RequestKey>) {
        let mut unanswered = lock(&self.unanswered);
        if unanswered.is_empty() {
            return;
        }
        for key in keys {
            unanswered.remove(&key);
        }
        self.answered.notify_all();
    }

    /// Gives JavaScript its time; then the answer of each call that it did not come to. A text that was forgotten in the
    /// meantime is none.
    pub(crate) fn wait(&self, calls: Vec<Expected>) -> Vec<(RequestKey, Arc<str>)> {
        let waits = |left: &HashSet<RequestKey>| calls.iter().any(|call| left.contains(&call.key));
        let unanswered = lock(&self.unanswered);
        let (mut unanswered, _) = self
            .answered
            .wait_timeout_while(unanswered, PATIENCE, |left| waits(left))
            .unwrap_or_else(PoisonError::into_inner);
        let late: Vec<_> = calls.into_iter().filter(|call| unanswered.remove(&call.key)).collect();
        drop(unanswered);
        let answer = |call: Expected| Some((call.key, self.text(&call.method, call.revision)?));
        late.into_iter().filter_map(answer).collect()
    }
}

/// A call that JavaScript is handed, and whose answer is known.
pub(crate) struct Expected {
    key: RequestKey,
    method: String,
    revision: Revision,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_by_method_and_revision() {
        let known = StandIns::default();
        let of = |revision: Revision| Some(revision.as_str().to_owned());
        known.put("initialize".into(), of(Revision::V2025_06_18), Some("old".into()));
        known.put("initialize".into(), of(Revision::V2025_11_25), Some("new".into()));
        known.put("tools/list".into(), None, Some("first".into()));
        known.put("tools/list".into(), None, Some("second".into()));
        let text = |method, revision| known.text(method, revision).map(|text| text.to_string());
        assert_eq!(text("initialize", Revision::V2025_06_18).as_deref(), Some("old"));
        assert_eq!(text("initialize", Revision::V2025_11_25).as_deref(), Some("new"));
        assert_eq!(text("initialize", Revision::V2024_11_05), None);
        assert_eq!(text("tools/list", Revision::V2026_07_28).as_deref(), Some("second"));
        known.put("tools/list".into(), None, None);
        assert_eq!(text("tools/list", Revision::V2026_07_28), None);
    }
}
