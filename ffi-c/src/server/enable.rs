//! Definitions that clients see or do not see.

use super::Server;
use super::host::Kind;
use crate::error::{Error, Status};
use crate::guard;
use crate::handle;
use crate::text::Text;

/// Shows a tool to clients, or hides it: a hidden one is in no list, and calling it is calling nothing. A server that runs tells
/// its clients. Calls that run go on.
///
/// \param name    the tool's name
/// \param enabled whether clients see it; what was added is seen
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_enable_tool(
    server: *mut Server,
    name: Text,
    enabled: bool,
    err: *mut *mut Error,
) -> Status {
    // SAFETY: passed on from our caller.
    unsafe { enable(server, Kind::Tool, name, "name", enabled, err) }
}

/// Shows a resource to clients, or hides it. As fmcp_server_enable_tool().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_enable_resource(
    server: *mut Server,
    uri: Text,
    enabled: bool,
    err: *mut *mut Error,
) -> Status {
    // SAFETY: passed on from our caller.
    unsafe { enable(server, Kind::Resource, uri, "uri", enabled, err) }
}

/// Shows a resource template to clients, or hides it. As fmcp_server_enable_tool().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_enable_resource_template(
    server: *mut Server,
    uri_template: Text,
    enabled: bool,
    err: *mut *mut Error,
) -> Status {
    // SAFETY: passed on from our caller.
    unsafe { enable(server, Kind::Template, uri_template, "uri_template", enabled, err) }
}

/// Shows a prompt to clients, or hides it. As fmcp_server_enable_tool().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_enable_prompt(
    server: *mut Server,
    name: Text,
    enabled: bool,
    err: *mut *mut Error,
) -> Status {
    // SAFETY: passed on from our caller.
    unsafe { enable(server, Kind::Prompt, name, "name", enabled, err) }
}

/// The body of these exports; `what` is the parameter's name.
///
/// # Safety
/// `server` is live or null, `key` readable, `err` null or writable.
unsafe fn enable(
    server: *mut Server,
    kind: Kind,
    key: Text,
    what: &str,
    enabled: bool,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: passed on from our caller.
        let (server, key) = unsafe { (handle::required(server, "server")?, handle::text(key, what)?) };
        server.enable(kind, key, enabled)
    };
    // SAFETY: passed on from our caller.
    unsafe { guard::status(err, body) }
}
