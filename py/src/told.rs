//! Telling host code of what is no request: notifications, streams, and which resources are watched.

use crate::bridge::{Bridge, Item, lock};
use crate::core::Core;
use crate::delegate::is_awaitable;
use crate::hooks;
use crate::leave::is_exit;
use crate::loop_side::LoopSide;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCFunction, PyTuple};
use std::sync::Arc;

impl Item {
    /// Whether this is told to a function, which needs no loop unless it is async.
    pub(crate) fn is_news(&self) -> bool {
        matches!(self, Self::Subscription(..) | Self::Notification { .. })
    }
}

/// Tells host code; what it gave to be awaited comes back as an item for the loop. Raises only what asks for the end of the
/// program.
pub(crate) fn tell_news(py: Python<'_>, core: &Core, item: &Item) -> PyResult<Option<Item>> {
    let told = match item {
        Item::Subscription(uri, subscribed) => {
            let handler = core.delegates().subscriptions.as_ref().map(|handler| handler.clone_ref(py));
            tell(py, core, handler, (uri, *subscribed))
        }
        Item::Notification { stream, method, params } => {
            let handler = core.delegates().notifications.as_ref().map(|handler| handler.clone_ref(py));
            let params = params.as_ref().map(|params| PyBytes::new(py, params.as_bytes()));
            tell(py, core, handler, (*stream, method, params))
        }
        _ => return Ok(None),
    };
    match told {
        Err(error) if !is_exit(py, &error) => report(py, &error).map(|()| None),
        told => told,
    }
}

/// Calls a handler in a context copy.
pub(crate) fn tell<'py>(
    py: Python<'py>,
    core: &Core,
    handler: Option<Py<PyAny>>,
    arguments: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>,
) -> PyResult<Option<Item>> {
    let Some(handler) = handler else { return Ok(None) };
    let context = core.context(py)?.call_method0(pyo3::intern!(py, "copy"))?;
    let arguments = arguments.into_pyobject(py)?;
    let all = (handler,).into_pyobject(py)?.as_sequence().concat(arguments.as_sequence())?;
    let value = context.getattr(pyo3::intern!(py, "run"))?.call1(all.to_tuple()?)?;
    Ok(is_awaitable(&value)?.then(|| Item::Told(value.unbind(), context.unbind())))
}

impl Bridge {
    /// Makes the task of somebody who was told something.
    pub(crate) fn await_told(
        &self,
        py: Python<'_>,
        core: &Arc<Core>,
        side: &LoopSide,
        context: &Bound<'_, PyAny>,
        awaitable: Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let task = side.task(py, context, awaitable)?;
        lock(&self.told).push(task.clone().unbind());
        let core = Arc::clone(core);
        let done = PyCFunction::new_closure(py, None, None, move |arguments, _| -> PyResult<()> {
            let task = arguments.get_item(0)?;
            // `task` is still held when this lets go of its share: nothing of Python's runs under the lock.
            lock(&core.bridge.told).retain(|known| !known.is(&task));
            match task.call_method0("result") {
                Err(error) if !task.call_method0("cancelled")?.is_truthy()? => report(task.py(), &error),
                _ => Ok(()),
            }
        })?;
        task.call_method1(pyo3::intern!(py, "add_done_callback"), (done,)).map(drop)
    }
}

/// Lets go of delegates that lead back to the server, as bound methods of an adapter do: nobody calls them any more, and
/// neither would be freed.
pub(crate) fn release(core: &Core) {
    let delegates = std::mem::take(&mut *core.delegates());
    // Outside of the lock: this may run Python code.
    drop(delegates);
}

/// What nobody waits for goes to the `ferromcp` logger.
#[cold]
pub(crate) fn report(py: Python<'_>, error: &PyErr) -> PyResult<()> {
    let raised = error.clone_ref(py).into_value(py);
    hooks::get(py)?.report.bind(py).call1(("Error on the event loop", raised)).map(drop)
}
