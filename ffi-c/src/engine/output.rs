//! What an engine wants done, one thing at a time.

use super::Core;
use crate::answers::Answers;
use crate::call::{Call, Line};
use crate::guard;
use crate::handle;
use crate::text::Text;
use ferromcp_engine::{self as engine, CancelReason};
use std::sync::Arc;

/// Something to do. Owned by whoever took it out of the engine; freed with fmcp_output_free().
pub struct Output {
    event: Event,
    stream: u32,
    key: u64,
    /// The call of [`Event::Call`].
    call: Option<Arc<Call>>,
    /// Which questions [`Event::Answers`] answers, and what.
    ask: u64,
    answers: Option<Answers>,
    text: Option<String>,
    params: Option<String>,
    diagnostic: Diagnostic,
}

/// What is to be done or known. Numbers are never reused; ignore those that you don't know.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// No output: the handle was NULL.
    None = 0,
    /// Send fmcp_output_text() to the stream's client: whole lines.
    Transmit = 1,
    /// Answer fmcp_output_call(), now or later.
    Call = 2,
    /// Nobody waits for the answer to the call of fmcp_output_key() any more; fmcp_output_text() is the client's reason, if it
    /// gave one. So also where a call was suspended by fmcp_call_begin_ask().
    Cancelled = 3,
    /// The client sent a notification that the engine has no use for: its method is fmcp_output_text().
    Notification = 4,
    /// A client of revision 2025-11-25 or earlier is ready.
    Initialized = 5,
    /// The stream's first watcher of a resource is there: the URI is fmcp_output_text().
    Subscribed = 6,
    /// The stream's last watcher of a resource is gone: the URI is fmcp_output_text().
    Unsubscribed = 7,
    /// Something that is worth a line in a log and changes nothing: fmcp_output_text() is the line.
    Diagnostic = 8,
    /// After the end of input: everything is answered or given up. The stream can be closed.
    Drained = 9,
    /// The client has answered what the call of fmcp_output_key() asked with fmcp_call_begin_ask(): fmcp_output_ask() tells
    /// which questions, fmcp_output_answers() what.
    Answers = 10,
    /// The call of fmcp_output_key() is a task now, as fmcp_call_begin_task() wanted: its id is fmcp_output_text(). Or it could
    /// not become one, and goes on without: then there is no text.
    TaskBegun = 11,
}

/// Kinds of diagnostics. Numbers are never reused; be ready for new ones.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Diagnostic {
    /// No diagnostic: it is another event.
    None = 0,
    /// A line that is no JSON text, or too long. It was answered with an error, and skipped.
    Noise = 1,
    /// A message that JSON-RPC or MCP does not allow. It was answered with an error where it has an id.
    BadMessage = 2,
    /// A response to nothing that was asked.
    StrayResponse = 3,
    /// A tool's result that does not fit the tool's output schema.
    BadResult = 4,
    /// A definition that works and that the specification advises against.
    Definition = 5,
    /// A kind that this version has no number for.
    Other = 6,
    /// The store of tasks could not do what was asked of it.
    Store = 7,
}

impl Output {
    fn new(event: Event, stream: u32) -> Self {
        Self {
            event,
            stream,
            key: 0,
            call: None,
            ask: 0,
            answers: None,
            text: None,
            params: None,
            diagnostic: Diagnostic::None,
        }
    }

    fn with_text(mut self, text: impl Into<Option<String>>) -> Self {
        self.text = text.into();
        self
    }
}

/// Takes the next output. Answers to questions go to whoever asked.
pub(super) fn next(core: &Arc<Core>) -> Option<Output> {
    loop {
        let output = core.state().next()?;
        let event = match output {
            engine::Output::Transmit { stream, bytes, .. } => {
                let lines = String::from_utf8(bytes).expect("the engine writes UTF-8");
                return Some(Output::new(Event::Transmit, stream.0).with_text(lines));
            }
            // A stream of lines has no lanes.
            engine::Output::Unanswered { .. } => continue,
            engine::Output::Event(event) => event,
        };
        return Some(match event {
            engine::Event::Call(request) => {
                core.remember(request.key);
                let mut event = Output::new(Event::Call, request.stream.0);
                event.key = request.key.0;
                event.call = Some(Arc::new(Call::new(request, Line::Own(Arc::clone(core)))));
                event
            }
            engine::Event::Cancelled { key, reason } => {
                core.cancel(key, reason.clone());
                let words = if let CancelReason::Peer(words) = reason { words } else { None };
                Output { key: key.0, ..Output::new(Event::Cancelled, 0) }.with_text(words)
            }
            engine::Event::Notification { stream, method, params } => {
                Output { params, ..Output::new(Event::Notification, stream.0) }.with_text(method)
            }
            engine::Event::Response { key, outcome } => {
                core.waiting.answered(key, outcome);
                continue;
            }
            engine::Event::Answers { ask, call, answers } => {
                let answers = Some(Answers(answers));
                Output { key: call.0, ask: ask.0, answers, ..Output::new(Event::Answers, 0) }
            }
            engine::Event::TaskBegun { call, id } => {
                Output { key: call.0, ..Output::new(Event::TaskBegun, 0) }.with_text(id)
            }
            engine::Event::Initialized { stream } => Output::new(Event::Initialized, stream.0),
            engine::Event::Subscribed { stream, uri } => Output::new(Event::Subscribed, stream.0).with_text(uri),
            engine::Event::Unsubscribed { stream, uri } => Output::new(Event::Unsubscribed, stream.0).with_text(uri),
            engine::Event::Diagnostic(diagnostic) => diagnosed(diagnostic),
            engine::Event::Drained { stream } => Output::new(Event::Drained, stream.0),
            // What a newer engine may tell has no name here yet.
            _ => continue,
        });
    }
}

fn diagnosed(diagnostic: engine::Diagnostic) -> Output {
    let kind = match diagnostic.kind {
        engine::DiagnosticKind::Noise => Diagnostic::Noise,
        engine::DiagnosticKind::BadMessage => Diagnostic::BadMessage,
        engine::DiagnosticKind::StrayResponse => Diagnostic::StrayResponse,
        engine::DiagnosticKind::BadResult => Diagnostic::BadResult,
        engine::DiagnosticKind::Definition => Diagnostic::Definition,
        engine::DiagnosticKind::Store => Diagnostic::Store,
        _ => Diagnostic::Other,
    };
    let stream = diagnostic.stream.map_or(0, |stream| stream.0);
    Output { diagnostic: kind, ..Output::new(Event::Diagnostic, stream) }.with_text(diagnostic.detail)
}

/// What is to be done or known; FMCP_EVENT_NONE for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_output_event(output: *const Output) -> Event {
    // SAFETY: a live output or null, by the header's contract.
    guard::value(Event::None, || unsafe { handle::borrow(output) }.map_or(Event::None, |output| output.event))
}

/// The stream that it is about; 0 where it is about none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_output_stream(output: *const Output) -> u32 {
    // SAFETY: a live output or null, by the header's contract.
    guard::value(0, || unsafe { handle::borrow(output) }.map_or(0, |output| output.stream))
}

/// The key of the call that it is about; 0 where it is about none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_output_key(output: *const Output) -> u64 {
    // SAFETY: a live output or null, by the header's contract.
    guard::value(0, || unsafe { handle::borrow(output) }.map_or(0, |output| output.key))
}

/// The text that the event speaks of; none where there is none. Lives as long as the output.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_output_text(output: *const Output) -> Text {
    guard::value(Text::NONE, || {
        // SAFETY: a live output or null, by the header's contract.
        Text::of_option(unsafe { handle::borrow(output) }.and_then(|output| output.text.as_deref()))
    })
}

/// The parameters of a notification as JSON text; none where there are none. Lives as long as the output.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_output_params(output: *const Output) -> Text {
    guard::value(Text::NONE, || {
        // SAFETY: a live output or null, by the header's contract.
        Text::of_option(unsafe { handle::borrow(output) }.and_then(|output| output.params.as_deref()))
    })
}

/// What kind of diagnostic it is; FMCP_DIAGNOSTIC_NONE for other outputs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_output_diagnostic(output: *const Output) -> Diagnostic {
    guard::value(Diagnostic::None, || {
        // SAFETY: a live output or null, by the header's contract.
        unsafe { handle::borrow(output) }.map_or(Diagnostic::None, |output| output.diagnostic)
    })
}

/// The call that is to be answered; NULL for other outputs. It is the output's, and goes with it: fmcp_call_retain() makes it
/// yours too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_output_call(output: *const Output) -> *mut Call {
    guard::value(std::ptr::null_mut(), || {
        // SAFETY: a live output or null, by the header's contract.
        let output = unsafe { handle::borrow(output) };
        output.and_then(|output| output.call.iter().next()).map_or(std::ptr::null_mut(), handle::peek)
    })
}

/// With FMCP_EVENT_ANSWERS the number that fmcp_call_begin_ask() gave to the questions; 0 for other outputs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_output_ask(output: *const Output) -> u64 {
    // SAFETY: a live output or null, by the header's contract.
    guard::value(0, || unsafe { handle::borrow(output) }.map_or(0, |output| output.ask))
}

/// With FMCP_EVENT_ANSWERS what the client has answered; NULL for other outputs. It is the output's, and goes with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_output_answers(output: *const Output) -> *const Answers {
    guard::value(std::ptr::null(), || {
        // SAFETY: a live output or null, by the header's contract.
        let output = unsafe { handle::borrow(output) };
        output.and_then(|output| output.answers.iter().next()).map_or(std::ptr::null(), std::ptr::from_ref)
    })
}

/// Frees an output, and with it every text that was asked from it. A call that nobody retained is over then: when it was
/// not answered, the client gets an error. NULL does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_output_free(output: *mut Output) {
    // SAFETY: the caller gives up its handle, by the header's contract.
    guard::value((), || unsafe { handle::free(output) });
}
