//! Leaving: exceptions that end the program, the end of the process by force, and forked children that come back.
//!
//! What is said and which code the process ends with is decided in Python (`ferromcp/_leave.py`). Here stands what has
//! to work without its lock, or has to be noticed on the server's threads.

use crate::core::Core;
use pyo3::exceptions::{PyKeyboardInterrupt, PySystemExit};
use pyo3::prelude::*;
use std::time::Duration;

/// Whether host code has asked for the end of the program, as `sys.exit()` does. asyncio knows the same two: it lets
/// them out of the loop.
pub(crate) fn is_exit(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PySystemExit>(py) || error.is_instance_of::<PyKeyboardInterrupt>(py)
}

/// Ends the process with `code` when `seconds` have passed, whatever runs then and whoever holds Python's lock.
#[pyfunction]
#[pyo3(signature = (seconds, code, /))]
pub(crate) fn end_within(seconds: f64, code: i32) {
    let bound = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    // Where the system has no thread for this, whoever called us ends the process by itself, unless it is held up.
    let _ = std::thread::Builder::new().name("ferromcp-exit".into()).spawn(move || {
        std::thread::sleep(bound);
        end_now(code);
    });
}

/// Ends the process at once.
pub(crate) fn end_now(code: i32) -> ! {
    // SAFETY: takes a number and does not return.
    unsafe { libc::_exit(code) }
}

/// Lets Python say goodbye, on a thread of its own because its lock may never come free, and ends the process after
/// `grace` in any case.
pub(crate) fn leave_without_main(grace: Duration, code: i32) {
    let goodbye = move || {
        Python::attach(|py| {
            let leave = py.import("ferromcp._leave").and_then(|module| module.getattr("leave_now"));
            if let Err(error) = leave.and_then(|leave| leave.call1((code,))) {
                error.print(py);
            }
        });
    };
    if std::thread::Builder::new().name("ferromcp-goodbye".into()).spawn(goodbye).is_ok() {
        std::thread::sleep(grace);
    }
    end_now(code);
}

/// Ends a forked child whose function has come back to us: the child has none of the server's threads, its loop is
/// shared with the parent, and the client's answer is the parent's to give. Does nothing in the process that serves.
pub(crate) fn end_fork(py: Python<'_>, core: &Core, error: Option<&PyErr>) {
    if !core.is_forked() {
        return;
    }
    let leave = py.import("ferromcp._leave").and_then(|module| module.getattr("leave_fork"));
    if let Err(error) = leave.and_then(|leave| leave.call1((error.map(|error| error.value(py)),))) {
        error.print(py);
    }
    end_now(1);
}
