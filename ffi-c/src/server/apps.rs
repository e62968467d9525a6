//! Pages of MCP Apps. What is written of one is decided in the runtime; a tool points at it by a field of its definition.

use super::Server;
use super::host::Kind;
use crate::call::Call;
use crate::error::{Error, Status};
use crate::guard;
use crate::handle;
use crate::handler::Handler;
use crate::text::Text;
use ferromcp_engine::Reply;
use runtime::apps::{AppView, EXTENSION};
use std::ffi::c_void;

/// What reading a page gives, as JSON text.
struct Page(String);

/// Adds a page that a host shows beside a tool (extension `io.modelcontextprotocol/ui`), as a resource that needs no handler, and
/// declares the extension. A tool points at it in its definition: `"_meta":{"ui":{"resourceUri":"ui://..."}}`. Clients without the
/// extension don't see the page, so the tool says in its content what it shows. The server must not run yet.
///
/// \param uri  begins with ui://
/// \param name what lists of resources call it
/// \param html the page. Hosts may keep it, so what changes belongs into the tool's result.
/// \param ui   the JSON text of what the page needs of its host (`csp`, `permissions`, ...), or none
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_server_add_app_view(
    server: *mut Server,
    uri: Text,
    name: Text,
    html: Text,
    ui: Text,
    err: *mut *mut Error,
) -> Status {
    let body = || {
        // SAFETY: a live server or null, and readable bytes, by the header's contract.
        let (server, uri, name, html, ui) = unsafe {
            let (uri, name, html) =
                (handle::text(uri, "uri")?, handle::text(name, "name")?, handle::text(html, "html")?);
            (handle::required(server, "server")?, uri, name, html, handle::optional_text(ui, "ui")?)
        };
        let mut view = AppView::new(uri, name, html)?;
        if let Some(ui) = ui {
            view = view.with_ui_meta(ui)?;
        }
        server.declare_extension(EXTENSION)?;
        let mut page = std::ptr::null_mut();
        // SAFETY: a pointer of our own.
        unsafe { handle::give(&raw mut page, Page(view.contents_json())) };
        let handler = Handler::new(Some(show), page.cast(), Some(forget))?;
        server.add(Kind::Resource, &view.definition_json(), handler).inspect_err(|_| {
            // SAFETY: it was given back, and nobody else knows it.
            unsafe { handle::free(page) };
        })
    };
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, body) }
}

/// Answers the read of a page.
unsafe extern "C" fn show(call: *mut Call, page: *mut c_void) {
    // SAFETY: a call that lives until we return, and the page of this handler.
    let (call, page) = unsafe { (handle::borrow(call), handle::borrow(page.cast::<Page>())) };
    if let (Some(call), Some(page)) = (call, page) {
        // Where it fails nobody waits for it.
        let _ = call.respond(Reply::Contents(&page.0));
    }
}

/// Ends the life of a page with that of its handler.
unsafe extern "C" fn forget(page: *mut c_void) {
    // SAFETY: made above, and this is the only call.
    unsafe { handle::free(page.cast::<Page>()) };
}
