//! Pages of MCP Apps: what is written of one is decided in the runtime.

use crate::convert::raw::Text;
use crate::error;
use pyo3::prelude::*;

/// A page, and how tools point at it.
#[pyclass(frozen, module = "ferromcp._native")]
pub(crate) struct AppView(ferromcp::apps::AppView);

#[pymethods]
impl AppView {
    #[new]
    #[pyo3(signature = (uri, name, html, ui=None, /))]
    fn new(uri: &str, name: &str, html: String, ui: Option<Text>) -> PyResult<Self> {
        let view = ferromcp::apps::AppView::new(uri, name, html).map_err(|error| error::local(&error))?;
        match ui {
            None => Ok(Self(view)),
            Some(ui) => view.with_ui_meta(&ui.utf8()?).map(Self).map_err(|error| error::local(&error)),
        }
    }

    /// JSON text of the page's `Resource`.
    #[getter]
    fn definition(&self) -> String {
        self.0.definition_json()
    }

    /// JSON text of the array that reading it gives.
    #[getter]
    fn contents(&self) -> String {
        self.0.contents_json()
    }

    /// JSON text of a tool's `_meta` that points at this page.
    #[pyo3(signature = (meta, /))]
    fn tool_meta(&self, meta: Text) -> PyResult<String> {
        self.0.tool_meta(&meta.utf8()?).map_err(|error| error::local(&error))
    }
}

/// The extension that a server with pages declares.
pub(crate) const EXTENSION: &str = ferromcp::apps::EXTENSION;
