//! Pages of MCP Apps: what is written of one is decided in the runtime.

use crate::error::NativeFailure;
use ferromcp::apps::{self, AppView};
use napi::bindgen_prelude::Either;
use napi_derive::napi;

/// A page, as the text of a JSON array of two: its `Resource`, and the contents that reading it gives. `ui` is the JSON text of an
/// object.
#[napi(catch_unwind)]
pub fn app_view(uri: String, name: String, html: String, ui: Option<String>) -> Either<String, NativeFailure> {
    let view = AppView::new(&uri, &name, html).and_then(|view| match ui {
        None => Ok(view),
        Some(ui) => view.with_ui_meta(&ui),
    });
    match view {
        Ok(view) => Either::A(format!("[{},{}]", view.definition_json(), view.contents_json())),
        Err(error) => Either::B(error.into()),
    }
}

/// A tool's `_meta` that points at a page, made of another one: JSON text of objects.
#[napi(catch_unwind)]
pub fn app_tool_meta(uri: String, meta: String) -> Either<String, NativeFailure> {
    match AppView::new(&uri, "", "").and_then(|view| view.tool_meta(&meta)) {
        Ok(meta) => Either::A(meta),
        Err(error) => Either::B(error.into()),
    }
}

/// The extension that a server with pages declares.
#[napi]
pub fn app_extension() -> &'static str {
    apps::EXTENSION
}
