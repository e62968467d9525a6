//! Errors on their way into Python and out of it.
//!
//! The exception classes are Python's (`ferromcp/errors.py`); here stands which of the engine's errors becomes which.

use ferromcp_engine::{LocalError, OutgoingError, PeerError};
use pyo3::prelude::*;

pyo3::import_exception!(ferromcp.errors, CallOver);
pyo3::import_exception!(ferromcp.errors, CapabilityNotDeclared);
pyo3::import_exception!(ferromcp.errors, ConfigurationError);
pyo3::import_exception!(ferromcp.errors, ForkedError);
pyo3::import_exception!(ferromcp.errors, InvalidAnswer);
pyo3::import_exception!(ferromcp.errors, MCPError);
pyo3::import_exception!(ferromcp.errors, NoBackChannel);
pyo3::import_exception!(ferromcp.errors, SerializationError);
pyo3::import_exception!(ferromcp.errors, TaskStoreError);

/// The exception for a broken contract of the engine's.
pub(crate) fn local(error: &LocalError) -> PyErr {
    let text = error.to_string();
    match error {
        LocalError::NoBackChannel | LocalError::UnknownStream => NoBackChannel::new_err(text),
        LocalError::CapabilityNotDeclared(capability) => CapabilityNotDeclared::new_err(*capability),
        LocalError::NotJson { .. } | LocalError::NotANumber => SerializationError::new_err(text),
        _ => ConfigurationError::new_err(text),
    }
}

/// The exception for an error that the peer answered with.
pub(crate) fn peer(py: Python<'_>, error: &PeerError) -> PyErr {
    let data = crate::convert::read::optional(py, error.data.as_deref());
    match data {
        Ok(data) => MCPError::new_err((error.code, error.message.clone(), data.map(Bound::unbind))),
        Err(error) => error,
    }
}

/// The exception for a request of ours that has no result.
pub(crate) fn outgoing(py: Python<'_>, error: &OutgoingError) -> PyErr {
    match error {
        OutgoingError::Peer(error) => {
            let raised = peer(py, error);
            // Python's own attributes: this can fail for want of memory alone.
            let _ = raised.value(py).setattr(pyo3::intern!(py, "from_peer"), true);
            raised
        }
        OutgoingError::Invalid(reason) => InvalidAnswer::new_err(reason.clone()),
        OutgoingError::TimedOut => pyo3::exceptions::PyTimeoutError::new_err("the peer did not answer in time"),
        OutgoingError::Closed => NoBackChannel::new_err("the peer is gone"),
    }
}

/// An exception's own text, or its type's name where it has none.
pub(crate) fn text(py: Python<'_>, error: &PyErr) -> String {
    let text = error.value(py).str().map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
    if text.is_empty() {
        return error.get_type(py).name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    }
    text
}
