//! How a call is answered: once, by one of these.
//!
//! Whether the kind of answer fits the request, and how it looks in the client's revision, the engine decides.

use super::{Call, arguments, json_string};
use crate::error::{Error, Status};
use crate::guard;
use crate::handle;
use crate::text::Text;
use ferromcp_engine::{PeerError, Reply, Target};

/// Answers with a text: a tool gives the model one block of it, a resource has it as its contents, with the `mimeType` of its
/// definition, a prompt says it as the user.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_respond_text(call: *mut Call, text: Text, err: *mut *mut Error) -> Status {
    let body = || {
        // SAFETY: a live call or null, and readable bytes, by the header's contract.
        let (call, text) = unsafe { (handle::required(call, "call")?, handle::text(text, "text")?) };
        match call.request.target {
            Target::Resource(_) | Target::Template { .. } => {
                let uri = arguments::uri(call);
                let mime_type = match call.line.resource_mime_type(&uri)? {
                    Some(name) => format!(r#""mimeType":{},"#, json_string(&name)?),
                    None => String::new(),
                };
                let (uri, text) = (json_string(&uri)?, json_string(text)?);
                call.respond(Reply::Contents(&format!(r#"[{{"uri":{uri},{mime_type}"text":{text}}}]"#)))
            }
            Target::Prompt(_) => {
                let text = json_string(text)?;
                let messages = format!(r#"[{{"role":"user","content":{{"type":"text","text":{text}}}}}]"#);
                call.respond(Reply::Prompt { description: None, messages: &messages })
            }
            _ => call.respond(Reply::Text { text, is_error: false }),
        }
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Says that a tool failed, in a text that the model reads (a result with `isError`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_tool_error(call: *mut Call, text: Text, err: *mut *mut Error) -> Status {
    let body = || {
        // SAFETY: a live call or null, and readable bytes, by the header's contract.
        let (call, text) = unsafe { (handle::required(call, "call")?, handle::text(text, "text")?) };
        call.respond(Reply::Text { text, is_error: true })
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Answers a tool's call, all of it as JSON text in the newest revision's form.
///
/// \param content    an array of content blocks; none stands for an empty one
/// \param structured the value of `structuredContent`, or none. Without blocks it goes out as text too.
/// \param is_error   whether the tool failed
/// \param meta       the result's own `_meta` object, or none
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_respond_tool(
    call: *mut Call,
    content: Text,
    structured: Text,
    is_error: bool,
    meta: Text,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: a live call or null, and readable bytes, by the header's contract.
        let (call, reply) = unsafe {
            let content = handle::optional_text(content, "content")?.unwrap_or("[]");
            let structured = handle::optional_text(structured, "structured")?;
            let meta = handle::optional_text(meta, "meta")?;
            (handle::required(call, "call")?, Reply::Tool { content, structured, is_error, meta })
        };
        call.respond(reply)
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Answers the read of a resource.
///
/// \param contents the JSON text of an array of resource contents, in the newest revision's form
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_respond_contents(call: *mut Call, contents: Text, err: *mut *mut Error) -> Status {
    let body = || {
        // SAFETY: a live call or null, and readable bytes, by the header's contract.
        let (call, contents) = unsafe { (handle::required(call, "call")?, handle::text(contents, "contents")?) };
        call.respond(Reply::Contents(contents))
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Answers the request for a prompt.
///
/// \param description what the prompt is for, or none
/// \param messages    the JSON text of an array of prompt messages, in the newest revision's form
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_respond_prompt(
    call: *mut Call,
    description: Text,
    messages: Text,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: a live call or null, and readable bytes, by the header's contract.
        let (call, reply) = unsafe {
            let description = handle::optional_text(description, "description")?;
            let messages = handle::text(messages, "messages")?;
            (handle::required(call, "call")?, Reply::Prompt { description, messages })
        };
        call.respond(reply)
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Answers a completion.
///
/// \param values   the JSON text of an array of strings
/// \param total    how many there are in all, or a negative number where that is not known
/// \param has_more 1: there are more than these, 0: there are not, a negative number: not known
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_respond_completion(
    call: *mut Call,
    values: Text,
    total: i64,
    has_more: i32,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: a live call or null, and readable bytes, by the header's contract.
        let (call, values) = unsafe { (handle::required(call, "call")?, handle::text(values, "values")?) };
        let has_more = (has_more >= 0).then_some(has_more > 0);
        call.respond(Reply::Completion { values, total: u64::try_from(total).ok(), has_more })
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Answers any call with a whole result.
///
/// \param result the JSON text of the result object, in the newest revision's form
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_respond_result(call: *mut Call, result: Text, err: *mut *mut Error) -> Status {
    let body = || {
        // SAFETY: a live call or null, and readable bytes, by the header's contract.
        let (call, result) = unsafe { (handle::required(call, "call")?, handle::text(result, "result")?) };
        call.respond(Reply::Result(result))
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Answers a tool's call, the read of a resource or the request for a prompt with questions, by hand: for code that keeps
/// its own account of where it is; fmcp_call_ask() and its like do this for all other code. The call is over; when its client
/// has answered there is a new one, with fmcp_call_input_responses() and fmcp_call_request_state(). That holds for clients of
/// every revision. FMCP_STATUS_CAPABILITY_NOT_DECLARED leaves the call open.
///
/// \param requests the JSON text of an object, with an object of `method` and `params` under each key; or none
/// \param state    any text that comes back with the answers, or none. It goes through the client, and nobody else can read
///                 or change it. A round needs requests, a state, or both.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_input_required(
    call: *mut Call,
    requests: Text,
    state: Text,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: a live call or null, and readable bytes, by the header's contract.
        let (call, reply) = unsafe {
            let requests = handle::optional_text(requests, "requests")?;
            let state = handle::optional_text(state, "state")?;
            (handle::required(call, "call")?, Reply::InputRequired { requests, state })
        };
        call.respond(reply)
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Answers any call with a JSON-RPC error. What a model could mend belongs into fmcp_call_tool_error() instead.
///
/// \param code    one of FMCP_CODE_*, or one of your own
/// \param message one plain sentence
/// \param data    the JSON text of the error's `data`, or none
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_fail(
    call: *mut Call,
    code: i64,
    message: Text,
    data: Text,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: a live call or null, and readable bytes, by the header's contract.
        let (call, message, data) = unsafe {
            let message = handle::text(message, "message")?;
            (handle::required(call, "call")?, message, handle::optional_text(data, "data")?)
        };
        call.fail(&PeerError { code, message: message.to_owned(), data: data.map(str::to_owned) })
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Answers the read of a resource that does not exist, for example of a template with a number that nothing has, in the
/// code that the client's revision has for that.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_fail_not_found(call: *mut Call, err: *mut *mut Error) -> Status {
    let body = || {
        // SAFETY: a live call or null, by the header's contract.
        let call = unsafe { handle::required(call, "call") }?;
        let uri = arguments::uri(call);
        call.answer(|line, request| line.fail_unknown_resource(request.key, &uri))
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Answers a call whose client lacks a capability, in the way that its revision has for that. A call that could not ask for
/// want of one, and that is let go without an answer, is answered so by itself.
///
/// \param capability what the client would have to declare, as fmcp_error_capability() writes it
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_call_fail_capability(call: *mut Call, capability: Text, err: *mut *mut Error) -> Status {
    let body = || {
        // SAFETY: a live call or null, and readable bytes, by the header's contract.
        let (call, path) = unsafe { (handle::required(call, "call")?, handle::text(capability, "capability")?) };
        call.answer(|line, request| line.fail_capability(request.key, path))
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}
