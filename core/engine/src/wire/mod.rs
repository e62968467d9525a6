//! What the revisions of MCP differ in. Revisions are compared here and nowhere else.
//!
//! [`revision`] orders them, [`method`] says which methods each has, [`meta`] reads the per-request fields of modern
//! messages, [`input`] reads and writes what a client is asked, [`task`] how a task looks; [`entry`] and [`result`] write
//! definitions and results so that a peer of a given revision finds only fields it knows and every field it must find.

pub(crate) mod content;
pub(crate) mod entry;
mod form;
pub(crate) mod input;
pub(crate) mod meta;
pub(crate) mod method;
pub(crate) mod result;
mod revision;
mod sampling;
pub(crate) mod task;

pub use revision::{Era, Revision};
