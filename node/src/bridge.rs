//! The way from the server's threads to JavaScript.
//!
//! Threads put items on a list and wake JavaScript once for all that gathers until it looks. It then takes the whole
//! list as one JSON text, which V8 parses in one go; what each entry of that text is, [`Item::write`] says.

use crate::{asking, integers};
use ferromcp::Answers;
use ferromcp::engine::{AskKey, Call, CancelReason, OutgoingError, OutgoingKey, RequestKey, Target};
use napi::Status;
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes from which on a batch is full. 1 MiB: far from the longest string that V8 can hold, and its parser is not
/// made faster by more.
const FULL: usize = 1 << 20;

/// Wakes JavaScript. While a strong one exists the event loop stays alive.
pub(crate) enum Waker {
    Strong(ThreadsafeFunction<(), (), (), Status, false>),
    Weak(ThreadsafeFunction<(), (), (), Status, false, true>),
}

impl Waker {
    fn wake(&self) {
        // JavaScript's thread may be on its way out; then there is nobody to tell.
        let _ = match self {
            Self::Strong(waker) => waker.call((), ThreadsafeFunctionCallMode::NonBlocking),
            Self::Weak(waker) => waker.call((), ThreadsafeFunctionCallMode::NonBlocking),
        };
    }
}

/// Something for JavaScript's thread.
pub(crate) enum Item {
    Call(Box<Call>),
    Cancelled(RequestKey, CancelReason),
    Response(OutgoingKey, Result<String, OutgoingError>),
    /// What a call has asked is answered.
    Answers(AskKey, Answers),
    /// A call that wanted to be a task is one, of this id, or goes on without.
    TaskBegun(RequestKey, Option<String>),
    Notification {
        method: String,
        params: Option<String>,
    },
    Initialized,
    /// A resource is watched from now on, or not any more.
    Watched(String, bool),
    /// There is more of a response that JavaScript carries.
    Ready(u32),
    /// The server is over; with what went wrong, if anything did.
    Ended(Option<String>),
}

#[derive(Default)]
struct Shared {
    items: Vec<Item>,
    /// Calls that JavaScript has taken and not answered, by the number that it knows them under.
    open: HashMap<u64, Box<Call>>,
    next: u64,
    woken: bool,
}

impl Shared {
    /// What JavaScript knows an open call under.
    fn number(&self, key: RequestKey) -> Option<u64> {
        self.open.iter().find(|(_, call)| call.key == key).map(|(number, _)| *number)
    }
}

pub(crate) struct Bridge {
    shared: Mutex<Shared>,
    waker: Mutex<Option<Waker>>,
    /// What large integers are marked with.
    mark: String,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Bridge {
    pub(crate) fn new(mark: String) -> Self {
        Self { shared: Mutex::default(), waker: Mutex::default(), mark }
    }

    /// What stands in front of marked texts.
    pub(crate) fn mark(&self) -> &str {
        &self.mark
    }

    pub(crate) fn set_waker(&self, waker: Waker) {
        *lock(&self.waker) = Some(waker);
    }

    /// Lets the event loop go.
    pub(crate) fn drop_waker(&self) {
        let waker = lock(&self.waker).take();
        drop(waker);
    }

    /// Hands items over.
    pub(crate) fn push(&self, items: impl IntoIterator<Item = Item>) {
        let first = {
            let mut shared = lock(&self.shared);
            shared.items.extend(items);
            !shared.items.is_empty() && !std::mem::replace(&mut shared.woken, true)
        };
        if first {
            self.wake();
        }
    }

    /// Takes a call back that JavaScript has not seen; false when it has.
    pub(crate) fn withdraw(&self, key: RequestKey) -> bool {
        let mut shared = lock(&self.shared);
        let at = shared.items.iter().position(|item| matches!(item, Item::Call(call) if call.key == key));
        at.map(|at| shared.items.remove(at)).is_some()
    }

    fn wake(&self) {
        if let Some(waker) = &*lock(&self.waker) {
            waker.wake();
        }
    }

    /// What has gathered, as the text of a JSON array; when it is much, the rest comes with another wake-up. Calls in it
    /// are open until they are closed.
    pub(crate) fn drain(&self) -> String {
        let mut shared = lock(&self.shared);
        let mut items = std::mem::take(&mut shared.items).into_iter();
        let mut out = String::with_capacity(2 + items.len().min(128) * 96);
        out.push('[');
        while out.len() < FULL {
            let Some(item) = items.next() else { break };
            let before = out.len();
            if before > 1 {
                out.push(',');
            }
            if !item.write(&mut out, &mut shared, &self.mark) {
                out.truncate(before);
            }
        }
        out.push(']');
        shared.items.extend(items);
        shared.woken = !shared.items.is_empty();
        let again = shared.woken;
        drop(shared);
        if again {
            self.wake();
        }
        out
    }

    /// Looks at an open call.
    pub(crate) fn with_call<R>(&self, number: u64, body: impl FnOnce(&Call) -> R) -> Option<R> {
        lock(&self.shared).open.get(&number).map(|call| body(call))
    }

    /// The engine's key of an open call.
    pub(crate) fn key(&self, number: u64) -> Option<RequestKey> {
        self.with_call(number, |call| call.key)
    }

    /// Takes calls out, because they are answered or given up: each answer with its call, as long as that was open.
    pub(crate) fn close<A>(&self, answers: impl Iterator<Item = A>, number: impl Fn(&A) -> u64) -> Vec<(A, Box<Call>)> {
        let mut shared = lock(&self.shared);
        answers.filter_map(|answer| shared.open.remove(&number(&answer)).map(|call| (answer, call))).collect()
    }
}

impl Item {
    /// Writes the entry for the facade (`ts/bridge.cts` reads it). False: there is nothing to tell.
    fn write(self, out: &mut String, shared: &mut Shared, mark: &str) -> bool {
        // Writing to a string can't fail.
        let mut put = |arguments: std::fmt::Arguments<'_>| out.write_fmt(arguments).is_ok();
        match self {
            Self::Call(call) => {
                let number = shared.next;
                shared.next += 1;
                write_call(out, number, &call, mark);
                shared.open.insert(number, call);
                true
            }
            Self::Cancelled(key, reason) => {
                let Some(number) = shared.number(key) else { return false };
                put(format_args!("[4,{number},{}]", quoted(&reason.to_string())))
            }
            Self::Response(key, Ok(result)) => match integers::marked(&result, mark) {
                None => put(format_args!("[5,{},{result}]", key.0)),
                Some(result) => put(format_args!("[13,{},{result}]", key.0)),
            },
            Self::Response(key, Err(error)) => put(format_args!("[6,{},{}]", key.0, asking::no_result(&error))),
            Self::Answers(ask, answers) => {
                let answers = asking::answers(&answers);
                match integers::marked(&answers, mark) {
                    None => put(format_args!("[14,{},{answers}]", ask.0)),
                    Some(answers) => put(format_args!("[15,{},{answers}]", ask.0)),
                }
            }
            Self::TaskBegun(key, id) => {
                let Some(number) = shared.number(key) else { return false };
                put(format_args!("[16,{number},{}]", id.as_deref().map_or("null".to_owned(), quoted)))
            }
            Self::Notification { method, params } => {
                put(format_args!("[7,{},{}]", quoted(&method), params.as_deref().unwrap_or("null")))
            }
            Self::Initialized => put(format_args!("[8]")),
            Self::Watched(uri, watched) => put(format_args!("[9,{},{watched}]", quoted(&uri))),
            Self::Ready(number) => put(format_args!("[17,{number}]")),
            Self::Ended(None) => put(format_args!("[10]")),
            Self::Ended(Some(error)) => put(format_args!("[10,{}]", quoted(&error))),
        }
    }
}

/// `[0, number, tag, arguments]`; 1 in place of 0 (and 12 of 3) where they hold marked integers; `[2, number, tag, argument,
/// value, parameters]` for a completion, `[3, number, method, parameters, id]` for what no handler was declared for, and
/// `[11, number, tag, variables, uri]` for a resource of a template.
fn write_call(out: &mut String, number: u64, call: &Call, mark: &str) {
    let done = match &call.target {
        Target::Tool(tag) | Target::Prompt(tag) => {
            let arguments = call.arguments_json();
            match integers::marked(arguments, mark) {
                None => write!(out, "[0,{number},{tag},{arguments}]"),
                Some(arguments) => write!(out, "[1,{number},{tag},{arguments}]"),
            }
        }
        Target::Resource(tag) => write!(out, "[0,{number},{tag},{{}}]"),
        Target::Template { tag, variables } => {
            let variables: serde_json::Map<_, _> =
                variables.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
            let variables = serde_json::Value::Object(variables);
            write!(out, "[11,{number},{tag},{variables},{}]", quoted(&uri_of(call)))
        }
        Target::Complete { tag, argument, value, .. } => {
            let params = call.params_json().unwrap_or("{}");
            write!(out, "[2,{number},{tag},{},{},{params}]", quoted(argument), quoted(value))
        }
        _ => {
            let params = call.params_json().unwrap_or("null");
            let (method, id) = (quoted(call.method()), call.id_json());
            match integers::marked(params, mark) {
                None => write!(out, "[3,{number},{method},{params},{id}]"),
                Some(params) => write!(out, "[12,{number},{method},{params},{id}]"),
            }
        }
    };
    debug_assert!(done.is_ok(), "writing to a string");
}

/// The URI that a `resources/read` asks for.
pub(crate) fn uri_of(call: &Call) -> String {
    #[derive(serde::Deserialize)]
    struct Read {
        uri: String,
    }
    let read: Option<Read> = call.params_json().and_then(|params| serde_json::from_str(params).ok());
    read.map(|read| read.uri).unwrap_or_default()
}

/// A JSON string.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
