//! What an engine without a loop serves: definitions under tags.

use super::Engine;
use crate::error::{Error, Status};
use crate::guard;
use crate::handle;
use crate::text::Text;
use ferromcp_engine::{LocalError, Millis, Server};

/// Adds a tool.
///
/// \param definition the JSON text of a `Tool`, as the newest revision writes it
/// \param tag        a number of your choice, which fmcp_call_tag() gives back
/// \param now        milliseconds on your clock
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_engine_add_tool(
    engine: *mut Engine,
    definition: Text,
    tag: u64,
    now: u64,
    err: *mut *mut Error,
) -> Status {
    // SAFETY: passed on from our caller.
    unsafe { add(engine, definition, now, err, |server, text, now| server.add_tool(text, tag, now)) }
}

/// Adds a resource.
///
/// \param definition the JSON text of a `Resource`, as the newest revision writes it
/// \param tag        a number of your choice, which fmcp_call_tag() gives back
/// \param now        milliseconds on your clock
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_engine_add_resource(
    engine: *mut Engine,
    definition: Text,
    tag: u64,
    now: u64,
    err: *mut *mut Error,
) -> Status {
    // SAFETY: passed on from our caller.
    unsafe { add(engine, definition, now, err, |server, text, now| server.add_resource(text, tag, now)) }
}

/// Adds a resource template.
///
/// \param definition the JSON text of a `ResourceTemplate`, as the newest revision writes it
/// \param tag        a number of your choice, which fmcp_call_tag() gives back
/// \param now        milliseconds on your clock
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_engine_add_resource_template(
    engine: *mut Engine,
    definition: Text,
    tag: u64,
    now: u64,
    err: *mut *mut Error,
) -> Status {
    // SAFETY: passed on from our caller.
    unsafe { add(engine, definition, now, err, |server, text, now| server.add_resource_template(text, tag, now)) }
}

/// Adds a prompt.
///
/// \param definition the JSON text of a `Prompt`, as the newest revision writes it
/// \param tag        a number of your choice, which fmcp_call_tag() gives back
/// \param now        milliseconds on your clock
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_engine_add_prompt(
    engine: *mut Engine,
    definition: Text,
    tag: u64,
    now: u64,
    err: *mut *mut Error,
) -> Status {
    // SAFETY: passed on from our caller.
    unsafe { add(engine, definition, now, err, |server, text, now| server.add_prompt(text, tag, now)) }
}

/// Removes a tool by its name. Calls of it that run go on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_engine_remove_tool(
    engine: *mut Engine,
    name: Text,
    now: u64,
    err: *mut *mut Error,
) -> Status {
    // SAFETY: passed on from our caller.
    unsafe { find(engine, name, now, err, Server::remove_tool, "to remove") }
}

/// Removes a resource by its URI. Calls of it that run go on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_engine_remove_resource(
    engine: *mut Engine,
    uri: Text,
    now: u64,
    err: *mut *mut Error,
) -> Status {
    // SAFETY: passed on from our caller.
    unsafe { find(engine, uri, now, err, Server::remove_resource, "to remove") }
}

/// Removes a resource template by its text. Calls of it that run go on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_engine_remove_resource_template(
    engine: *mut Engine,
    uri_template: Text,
    now: u64,
    err: *mut *mut Error,
) -> Status {
    // SAFETY: passed on from our caller.
    unsafe { find(engine, uri_template, now, err, Server::remove_resource_template, "to remove") }
}

/// Removes a prompt by its name. Calls of it that run go on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_engine_remove_prompt(
    engine: *mut Engine,
    name: Text,
    now: u64,
    err: *mut *mut Error,
) -> Status {
    // SAFETY: passed on from our caller.
    unsafe { find(engine, name, now, err, Server::remove_prompt, "to remove") }
}

/// Shows a tool to clients, or hides it: a hidden one is in no list, and calling it is calling nothing. Calls that run go on.
///
/// \param name    the tool's name
/// \param enabled whether clients see it; what was added is seen
/// \param now     milliseconds on your clock
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_engine_enable_tool(
    engine: *mut Engine,
    name: Text,
    enabled: bool,
    now: u64,
    err: *mut *mut Error,
) -> Status {
    let enable = |server: &mut Server, key: &str, now| server.enable_tool(key, enabled, now);
    // SAFETY: passed on from our caller.
    unsafe { find(engine, name, now, err, enable, "to enable or disable") }
}

/// Shows a resource to clients, or hides it. As fmcp_engine_enable_tool().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_engine_enable_resource(
    engine: *mut Engine,
    uri: Text,
    enabled: bool,
    now: u64,
    err: *mut *mut Error,
) -> Status {
    let enable = |server: &mut Server, key: &str, now| server.enable_resource(key, enabled, now);
    // SAFETY: passed on from our caller.
    unsafe { find(engine, uri, now, err, enable, "to enable or disable") }
}

/// Shows a resource template to clients, or hides it. As fmcp_engine_enable_tool().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_engine_enable_resource_template(
    engine: *mut Engine,
    uri_template: Text,
    enabled: bool,
    now: u64,
    err: *mut *mut Error,
) -> Status {
    let enable = |server: &mut Server, key: &str, now| server.enable_resource_template(key, enabled, now);
    // SAFETY: passed on from our caller.
    unsafe { find(engine, uri_template, now, err, enable, "to enable or disable") }
}

/// Shows a prompt to clients, or hides it. As fmcp_engine_enable_tool().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_engine_enable_prompt(
    engine: *mut Engine,
    name: Text,
    enabled: bool,
    now: u64,
    err: *mut *mut Error,
) -> Status {
    let enable = |server: &mut Server, key: &str, now| server.enable_prompt(key, enabled, now);
    // SAFETY: passed on from our caller.
    unsafe { find(engine, name, now, err, enable, "to enable or disable") }
}

/// Says that a resource has changed: clients that watch it are told.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_engine_resource_updated(engine: *mut Engine, uri: Text, err: *mut *mut Error) -> Status {
    let body = || {
        // SAFETY: a live engine or null, and readable bytes, by the header's contract.
        let (engine, uri) = unsafe { (handle::required(engine, "engine")?, handle::text(uri, "uri")?) };
        engine.0.command(|server, _| {
            server.resource_updated(uri);
            Ok(())
        })
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// The body of the exports that add a definition.
///
/// # Safety
/// `engine` is live or null, `definition` readable, `err` null or writable.
unsafe fn add(
    engine: *mut Engine,
    definition: Text,
    now: Millis,
    err: *mut *mut Error,
    add: impl FnOnce(&mut Server, &str, Millis) -> Result<(), LocalError>,
) -> Status {
    let body = || {
        // SAFETY: passed on from our caller.
        let (engine, definition) =
            unsafe { (handle::required(engine, "engine")?, handle::text(definition, "definition")?) };
        Ok(engine.0.at(now, |server, now| add(server, definition, now))?)
    };
    // SAFETY: passed on from our caller.
    unsafe { guard::status(err, body) }
}

/// The body of the exports that do something to a definition that is there; `what` is that.
///
/// # Safety
/// `engine` is live or null, `key` readable, `err` null or writable.
unsafe fn find(
    engine: *mut Engine,
    key: Text,
    now: Millis,
    err: *mut *mut Error,
    command: impl FnOnce(&mut Server, &str, Millis) -> bool,
    what: &str,
) -> Status {
    let body = || {
        // SAFETY: passed on from our caller.
        let (engine, key) = unsafe { (handle::required(engine, "engine")?, handle::text(key, "the name")?) };
        let found = engine.0.at(now, |server, now| command(server, key, now));
        if found { Ok(()) } else { Err(Error::argument(format!("there is no {key:?} {what}"))) }
    };
    // SAFETY: passed on from our caller.
    unsafe { guard::status(err, body) }
}

/// Says that a visit to a URL is complete: the client that was asked for it under this elicitationId is told, once; where none
/// was, nobody is (2025-11-25 client/elicitation, "Completion Notifications for URL Mode Elicitation"). The call that asked may be
/// over.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_engine_complete_elicitation(
    engine: *mut Engine,
    elicitation_id: Text,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: a live engine or null, and readable bytes, by the header's contract.
        let (engine, id) =
            unsafe { (handle::required(engine, "engine")?, handle::text(elicitation_id, "elicitation_id")?) };
        engine.0.command(|server, _| {
            server.complete_elicitation(id);
            Ok(())
        })
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}
