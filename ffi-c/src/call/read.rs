//! What a call says of itself.

use super::Call;
use crate::guard;
use crate::handle;
use crate::text::Text;
use ferromcp_engine::Target;
use std::ffi::c_char;

/// What a call is for. Numbers are never reused.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallTarget {
    /// No call: the handle was NULL.
    None = 0,
    /// A tool.
    Tool = 1,
    /// A resource.
    Resource = 2,
    /// A resource that a template stands for; fmcp_call_variable() has the parts of its URI.
    ResourceTemplate = 3,
    /// A prompt.
    Prompt = 4,
    /// A completion for an argument of a prompt.
    PromptCompletion = 5,
    /// A completion for a variable of a resource template.
    TemplateCompletion = 6,
    /// Anything else; the method decides.
    Delegated = 7,
}

/// What the call is for; FMCP_TARGET_NONE for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_target(call: *const Call) -> CallTarget {
    guard::value(CallTarget::None, || {
        // SAFETY: a live call or null, by the header's contract.
        unsafe { handle::borrow(call) }.map_or(CallTarget::None, |call| match call.request.target {
            Target::Tool(_) => CallTarget::Tool,
            Target::Resource(_) => CallTarget::Resource,
            Target::Template { .. } => CallTarget::ResourceTemplate,
            Target::Prompt(_) => CallTarget::Prompt,
            Target::Complete { prompt: true, .. } => CallTarget::PromptCompletion,
            Target::Complete { prompt: false, .. } => CallTarget::TemplateCompletion,
            _ => CallTarget::Delegated,
        })
    })
}

/// The tag under which its definition was added to an fmcp_engine; 0 for NULL and for what has no definition.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_tag(call: *const Call) -> u64 {
    guard::value(0, || {
        // SAFETY: a live call or null, by the header's contract.
        unsafe { handle::borrow(call) }.map_or(0, |call| match call.request.target {
            Target::Tool(tag) | Target::Resource(tag) | Target::Prompt(tag) => tag,
            Target::Template { tag, .. } | Target::Complete { tag, .. } => tag,
            _ => 0,
        })
    })
}

/// The number that names this call in events; never given twice by one server or engine. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_key(call: *const Call) -> u64 {
    guard::value(0, || {
        // SAFETY: a live call or null, by the header's contract.
        unsafe { handle::borrow(call) }.map_or(0, |call| call.request.key.0)
    })
}

/// The stream that it came on; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_stream(call: *const Call) -> u32 {
    guard::value(0, || {
        // SAFETY: a live call or null, by the header's contract.
        unsafe { handle::borrow(call) }.map_or(0, |call| call.request.stream.0)
    })
}

/// The request's method.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_method(call: *const Call) -> Text {
    // SAFETY: a live call or null, by the header's contract.
    unsafe { part(call, |call| Some(call.request.method())) }
}

/// The request's id as JSON text, as the client wrote it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_id(call: *const Call) -> Text {
    // SAFETY: a live call or null, by the header's contract.
    unsafe { part(call, |call| Some(call.request.id_json())) }
}

/// The revision of MCP that the request falls under, for example "2026-07-28".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_protocol_version(call: *const Call) -> Text {
    // SAFETY: a live call or null, by the header's contract.
    unsafe { part(call, |call| Some(call.request.revision.as_str())) }
}

/// All parameters as JSON text, as the client wrote them; none where it sent none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_params(call: *const Call) -> Text {
    // SAFETY: a live call or null, by the header's contract.
    unsafe { part(call, |call| call.request.params_json()) }
}

/// The `_meta` of the parameters as JSON text; none where the client sent none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_meta(call: *const Call) -> Text {
    // SAFETY: a live call or null, by the header's contract.
    unsafe { part(call, |call| call.request.meta_json()) }
}

/// What the client says it is, as the JSON text of an `Implementation`; none where it said nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_client_info(call: *const Call) -> Text {
    // SAFETY: a live call or null, by the header's contract.
    unsafe { part(call, |call| call.request.client_info_json()) }
}

/// What the client can do, as the JSON text of a `ClientCapabilities`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_client_capabilities(call: *const Call) -> Text {
    // SAFETY: a live call or null, by the header's contract.
    unsafe { part(call, |call| Some(call.request.client_capabilities_json())) }
}

/// What the URI gave a variable of the resource template, percent-decoded; none where the template has no such variable
/// or the URI leaves it out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_variable(call: *const Call, name: *const c_char) -> Text {
    // SAFETY: a live call or null, and a zero-terminated name or null, by the header's contract.
    unsafe {
        part(call, |call| {
            let Target::Template { variables, .. } = &call.request.target else { return None };
            let name = handle::text(handle::text_of(name), "name").ok()?;
            variables.iter().find(|(variable, _)| variable == name).map(|(_, value)| value.as_str())
        })
    }
}

/// The argument or variable that is to be completed; none for other calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_completion_argument(call: *const Call) -> Text {
    // SAFETY: a live call or null, by the header's contract.
    unsafe {
        part(call, |call| match &call.request.target {
            Target::Complete { argument, .. } => Some(argument.as_str()),
            _ => None,
        })
    }
}

/// What was typed so far of the argument that is to be completed; none for other calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_completion_value(call: *const Call) -> Text {
    // SAFETY: a live call or null, by the header's contract.
    unsafe {
        part(call, |call| match &call.request.target {
            Target::Complete { value, .. } => Some(value.as_str()),
            _ => None,
        })
    }
}

/// What the client has answered to fmcp_call_input_required(): the JSON text of an object, key and result of what was asked.
/// None where there was no such round before. That a key is there, and that what it has is good, is for the handler to see.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_input_responses(call: *const Call) -> Text {
    // SAFETY: a live call or null, by the header's contract.
    unsafe { part(call, |call| call.request.input_responses_json()) }
}

/// The state that was given with fmcp_call_input_required(), as it was; none where none was given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_request_state(call: *const Call) -> Text {
    // SAFETY: a live call or null, by the header's contract.
    unsafe { part(call, |call| call.request.request_state()) }
}

/// Who has called, as far as that was verified: what fmcp_http_admit() or fmcp_engine_set_principal() was told. None over standard
/// input and output, over the library's own listener, and when the client is gone. Lives as long as the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_principal(call: *const Call) -> Text {
    // SAFETY: a live call or null, by the header's contract.
    unsafe {
        part(call, |call| {
            if let (None, Some(principal)) = (call.principal.get(), call.line.principal(call.request.stream)) {
                // Another thread may have been quicker, with the same.
                let _ = call.principal.set(principal);
            }
            call.principal.get().map(String::as_str)
        })
    }
}

/// True as soon as nobody waits for the answer: the client cancelled the request or is gone, or it ran too long. Work
/// that takes its time should look now and then, and stop.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_is_cancelled(call: *const Call) -> bool {
    guard::value(false, || {
        // SAFETY: a live call or null, by the header's contract.
        unsafe { handle::borrow(call) }.is_some_and(|call| call.line.is_cancelled(call.request.key))
    })
}

/// Why nobody waits for the answer, for a person: the client's own words where it gave some (`reason` of
/// `notifications/cancelled`). None as long as fmcp_call_is_cancelled() is false. Lives as long as the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_cancel_reason(call: *const Call) -> Text {
    // SAFETY: a live call or null, by the header's contract.
    unsafe {
        part(call, |call| {
            let reason = call.line.cancel_reason(call.request.key)?;
            Some(call.cancel_reason.get_or_init(|| reason.to_string()))
        })
    }
}

/// One part of a call as a view, or none.
///
/// # Safety
/// As [`handle::borrow`]; the view is used only while the call lives.
unsafe fn part(call: *const Call, get: impl FnOnce(&Call) -> Option<&str>) -> Text {
    guard::value(Text::NONE, || {
        // SAFETY: passed on from our caller.
        Text::of_option(unsafe { handle::borrow(call) }.and_then(get))
    })
}
