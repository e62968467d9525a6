//! What a server is made of: its name, its definitions, its handlers.

use super::Server;
use super::host::Kind;
use crate::call::ask::reentry_of;
use crate::call::read::CallTarget;
use crate::engine::asking::keys_of;
use crate::error::{Error, Status};
use crate::guard;
use crate::handle;
use crate::handler::{CallHandler, Destroy, Handler};
use crate::text::Text;
use ferromcp_engine::ServerConfig;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::ffi::c_void;
use std::sync::Arc;

/// Makes a server of this name and version, without tools, that can log; everything else is as the defaults say.
///
/// \param out where to write the new server; required
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_new(
    name: Text,
    version: Text,
    out: *mut *mut Server,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        handle::wanted(out, "out")?;
        // SAFETY: readable bytes, by the header's contract.
        let (name, version) = unsafe { (handle::text(name, "name")?, handle::text(version, "version")?) };
        let mut config = ServerConfig::new(name, version);
        // Any handler may log; the lists are declared by the engine when they hold something.
        config.capabilities.declare("logging", "{}");
        let server = Server::new(config)?;
        // SAFETY: checked for null above, and writable by the header's contract.
        unsafe { handle::give(out, server) };
        Ok(())
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Makes a server from a configuration: a JSON object with `info` (an `Implementation`: name and version), and, all
/// optional, `instructions`, `capabilities`, `revisions`, `pageSize`, `cache`, `outputValidation`, `identify`, `delegate`,
/// `delegateRefusals`, `extraMethods`, `catalogue`, `stateKeys`, `tasks` and `limits`. Where it has no
/// `capabilities` handlers may log, as with fmcp_server_new(); one that has them says `"logging":{}` in it.
///
/// \param out where to write the new server; required
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_from_config(config: Text, out: *mut *mut Server, err: *mut *mut Error) -> Status {
    let body = || {
        handle::wanted(out, "out")?;
        // SAFETY: readable bytes, by the header's contract.
        let config = unsafe { handle::text(config, "config") }?;
        let mut read = ServerConfig::from_json(config)?;
        if !says_capabilities(config) {
            read.capabilities.declare("logging", "{}");
        }
        let server = Server::new(read)?;
        // SAFETY: checked for null above, and writable by the header's contract.
        unsafe { handle::give(out, server) };
        Ok(())
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Whether a configuration has them: one without is not one that declares nothing.
fn says_capabilities(config: &str) -> bool {
    #[derive(Deserialize)]
    struct Said {
        capabilities: Option<IgnoredAny>,
    }
    serde_json::from_str::<Said>(config).is_ok_and(|said| said.capabilities.is_some())
}

/// Adds a tool. A server that runs tells its clients.
///
/// \param definition the JSON text of a `Tool`, as the newest revision writes it; clients of older ones get it in theirs
/// \param handler    what answers its calls; required
/// \param user_data  passed to the handler; taken over on FMCP_STATUS_OK only
/// \param destroy    called with user_data when the server is freed and no call of the handler runs any more; or NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_add_tool(
    server: *mut Server,
    definition: Text,
    handler: CallHandler,
    user_data: *mut c_void,
    destroy: Destroy,
    err: *mut *mut Error,
) -> Status {
    // SAFETY: passed on from our caller.
    unsafe { add(server, Kind::Tool, definition, handler, user_data, destroy, err) }
}

/// Adds a resource. A server that runs tells its clients.
///
/// \param definition the JSON text of a `Resource`
/// \param handler    what answers its calls; required
/// \param user_data  passed to the handler; taken over on FMCP_STATUS_OK only
/// \param destroy    called with user_data when the server is freed and no call of the handler runs any more; or NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_add_resource(
    server: *mut Server,
    definition: Text,
    handler: CallHandler,
    user_data: *mut c_void,
    destroy: Destroy,
    err: *mut *mut Error,
) -> Status {
    // SAFETY: passed on from our caller.
    unsafe { add(server, Kind::Resource, definition, handler, user_data, destroy, err) }
}

/// Adds a resource template; fmcp_call_variable() has what a URI gives its variables. A server that runs tells its clients.
///
/// \param definition the JSON text of a `ResourceTemplate`
/// \param handler    what answers its calls; required
/// \param user_data  passed to the handler; taken over on FMCP_STATUS_OK only
/// \param destroy    called with user_data when the server is freed and no call of the handler runs any more; or NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_add_resource_template(
    server: *mut Server,
    definition: Text,
    handler: CallHandler,
    user_data: *mut c_void,
    destroy: Destroy,
    err: *mut *mut Error,
) -> Status {
    // SAFETY: passed on from our caller.
    unsafe { add(server, Kind::Template, definition, handler, user_data, destroy, err) }
}

/// Adds a prompt. A server that runs tells its clients.
///
/// \param definition the JSON text of a `Prompt`
/// \param handler    what answers its calls; required
/// \param user_data  passed to the handler; taken over on FMCP_STATUS_OK only
/// \param destroy    called with user_data when the server is freed and no call of the handler runs any more; or NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_add_prompt(
    server: *mut Server,
    definition: Text,
    handler: CallHandler,
    user_data: *mut c_void,
    destroy: Destroy,
    err: *mut *mut Error,
) -> Status {
    // SAFETY: passed on from our caller.
    unsafe { add(server, Kind::Prompt, definition, handler, user_data, destroy, err) }
}

/// Adds what completes an argument of a prompt, or a variable of a resource template, that was added before. The handler
/// answers with fmcp_call_respond_completion(). The server must not run yet.
///
/// \param of        the prompt's name or the resource template's text
/// \param argument  the argument's or variable's name
/// \param handler   what answers; required
/// \param user_data passed to the handler; taken over on FMCP_STATUS_OK only
/// \param destroy   called with user_data when the server is freed and no call of the handler runs any more; or NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_add_completion(
    server: *mut Server,
    of: Text,
    argument: Text,
    handler: CallHandler,
    user_data: *mut c_void,
    destroy: Destroy,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: a live server or null, and readable bytes, by the header's contract.
        let (server, of, argument) = unsafe {
            let of = handle::text(of, "of")?;
            (handle::required(server, "server")?, of, handle::text(argument, "argument")?)
        };
        server.add_completion(of, argument, Handler::new(handler, user_data, destroy)?)
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Sets what answers everything that no other handler does: the methods that the configuration delegates or adds
/// (`delegate`, `extraMethods`, `catalogue`). In the place of an earlier one, which is destroyed.
///
/// \param handler   what answers; required
/// \param user_data passed to the handler; taken over on FMCP_STATUS_OK only
/// \param destroy   called with user_data when the server is freed and no call of the handler runs any more; or NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_set_delegate(
    server: *mut Server,
    handler: CallHandler,
    user_data: *mut c_void,
    destroy: Destroy,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: a live server or null, by the header's contract.
        let server = unsafe { handle::required(server, "server") }?;
        let handler = Arc::new(Handler::new(handler, user_data, destroy)?);
        let before = server.registry.write().delegate.replace(handler);
        drop(before);
        Ok(())
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Says what becomes of a handler while a client of revision 2026-07-28 or later is asked by fmcp_call_ask() and its like: it
/// runs again (FMCP_REENTRY_REPLAY, the default) or waits (FMCP_REENTRY_HELD). Older clients are always waited for. Calls that
/// run already stay as they are.
///
/// \param target  an fmcp_target: what kind of handler it is; FMCP_TARGET_DELEGATED for that of fmcp_server_set_delegate()
/// \param name    the name, URI or URI template of its definition; none for the delegate
/// \param reentry an fmcp_reentry
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_set_reentry(
    server: *mut Server,
    target: i32,
    name: Text,
    reentry: i32,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: a live server or null, and readable bytes, by the header's contract.
        let (server, name) = unsafe { (handle::required(server, "server")?, handle::optional_text(name, "name")?) };
        let reentry = reentry_of(reentry)?;
        let kind = match target {
            _ if target == CallTarget::Tool as i32 => Kind::Tool,
            _ if target == CallTarget::Resource as i32 => Kind::Resource,
            _ if target == CallTarget::ResourceTemplate as i32 => Kind::Template,
            _ if target == CallTarget::Prompt as i32 => Kind::Prompt,
            _ if target == CallTarget::Delegated as i32 => {
                server.registry.write().delegate_reentry = reentry;
                return Ok(());
            }
            _ => return Err(Error::argument("target is no fmcp_target whose handlers can ask")),
        };
        let name = name.ok_or_else(|| Error::argument("name is NULL"))?;
        server.set_reentry(kind, name, reentry)
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Takes new keys in the place of the configuration's `stateKeys`, newest first: the first seals what goes through clients
/// while they are asked, all of them open it. At any time.
///
/// \param keys  texts, each 32 bytes in base64; may be NULL when `count` is 0: then the server seals with a key of its own
/// \param count how many there are
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_set_state_keys(
    server: *mut Server,
    keys: *const Text,
    count: usize,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: a live server or null, and `count` readable texts or null, by the header's contract.
        let (server, keys) = unsafe { (handle::required(server, "server")?, keys_of(keys, count)?) };
        server.set_state_keys(keys)
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Removes a tool by its name. Calls of it that run go on; its user data is destroyed with the server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_remove_tool(server: *mut Server, name: Text, err: *mut *mut Error) -> Status {
    // SAFETY: passed on from our caller.
    unsafe { remove(server, Kind::Tool, name, "name", err) }
}

/// Removes a resource by its URI. Calls of it that run go on; its user data is destroyed with the server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_remove_resource(server: *mut Server, uri: Text, err: *mut *mut Error) -> Status {
    // SAFETY: passed on from our caller.
    unsafe { remove(server, Kind::Resource, uri, "uri", err) }
}

/// Removes a resource template by its text. Calls of it that run go on; its user data is destroyed with the server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_remove_resource_template(
    server: *mut Server,
    uri_template: Text,
    err: *mut *mut Error,
) -> Status {
    // SAFETY: passed on from our caller.
    unsafe { remove(server, Kind::Template, uri_template, "uri_template", err) }
}

/// Removes a prompt by its name. Calls of it that run go on; its user data is destroyed with the server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_remove_prompt(server: *mut Server, name: Text, err: *mut *mut Error) -> Status {
    // SAFETY: passed on from our caller.
    unsafe { remove(server, Kind::Prompt, name, "name", err) }
}

/// Says that a resource has changed: clients that watch it are told.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_resource_updated(server: *mut Server, uri: Text, err: *mut *mut Error) -> Status {
    let body = || {
        // SAFETY: a live server or null, and readable bytes, by the header's contract.
        let (server, uri) = unsafe { (handle::required(server, "server")?, handle::text(uri, "uri")?) };
        server.tell(|endpoint| endpoint.resource_updated(uri))
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Says that a visit to a URL is complete: the client that was asked for it under this elicitationId is told, once; where none
/// was, nobody is (2025-11-25 client/elicitation, "Completion Notifications for URL Mode Elicitation"). The call that asked may be
/// over.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_complete_elicitation(
    server: *mut Server,
    elicitation_id: Text,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: a live server or null, and readable bytes, by the header's contract.
        let (server, id) =
            unsafe { (handle::required(server, "server")?, handle::text(elicitation_id, "elicitation_id")?) };
        server.tell(|endpoint| endpoint.complete_elicitation(id).map(drop))
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Frees a server. One that runs is stopped first, as by fmcp_server_stop(). User data of handlers is destroyed before this
/// returns, but for handlers that are still inside a call. NULL does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_free(server: *mut Server) {
    // SAFETY: the caller gives up its handle, by the header's contract.
    guard::value((), || unsafe { handle::free(server) });
}

/// The body of the exports that add a definition.
///
/// # Safety
/// `server` is live or null, `definition` readable, `err` null or writable.
unsafe fn add(
    server: *mut Server,
    kind: Kind,
    definition: Text,
    handler: CallHandler,
    user_data: *mut c_void,
    destroy: Destroy,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: passed on from our caller.
        let (server, definition) =
            unsafe { (handle::required(server, "server")?, handle::text(definition, "definition")?) };
        server.add(kind, definition, Handler::new(handler, user_data, destroy)?)
    };
    // SAFETY: passed on from our caller.
    unsafe { guard::status(err, body) }
}

/// The body of the exports that remove a definition; `what` is the parameter's name.
///
/// # Safety
/// `server` is live or null, `key` readable, `err` null or writable.
unsafe fn remove(server: *mut Server, kind: Kind, key: Text, what: &str, err: *mut *mut Error) -> Status {
    let body = || {
        // SAFETY: passed on from our caller.
        let (server, key) = unsafe { (handle::required(server, "server")?, handle::text(key, what)?) };
        server.remove(kind, key)
    };
    // SAFETY: passed on from our caller.
    unsafe { guard::status(err, body) }
}
