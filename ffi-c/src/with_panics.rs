//! The library with one export more, which panics: the C tests see by it that no panic leaves an export.
//!
//! The modules are those of lib.rs, compiled once again; what is built from here is never installed.

#![allow(clippy::missing_safety_doc, clippy::too_many_arguments, reason = "as in lib.rs")]
#![allow(dead_code, reason = "unit tests belong to the library itself")]

pub mod answers;
pub mod call;
pub mod engine;
pub mod error;
mod guard;
mod handle;
pub mod handler;
pub mod message;
pub mod server;
pub mod text;
pub mod version;

use error::{Error, Status};

/// Panics inside the guard, with a text that says so.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmcp_test_panic(err: *mut *mut Error) -> Status {
    // SAFETY: null or writable, by the header's contract.
    unsafe { guard::status(err, || panic!("on purpose")) }
}
