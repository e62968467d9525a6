//! The C door: what `include/ferromcp.h` declares.
//!
//! Decides how the engine's values cross the C ABI: who owns what, what a null pointer means, what becomes of an error
//! and of a panic. No protocol rule lives here. The header is generated from these files, and its opening prose
//! (`cbindgen.toml`) states the conventions once for every function, so the functions say only what is special to them.
//!
//! Reading order: [`guard`] (every export runs inside it), [`handle`] (the only place where a raw pointer becomes a
//! reference), [`error`], [`text`], then one file or folder for each kind of object: [`call`] (what both styles have in
//! common), [`answers`] (what a client that was asked has said), [`server`] (handlers and the ready-made loop), [`http`]
//! (requests that the caller's own HTTP server brings), [`engine`] (a loop of the caller's own), [`message`].

// The contract for pointers is the same for every export and stands in the header's prose; a "# Safety" heading in each
// comment would be copied into the header, where the word means nothing.
#![allow(clippy::missing_safety_doc)]
// An export has as many parameters as C needs: texts, and for every function that can fail a place for the error.
#![allow(clippy::too_many_arguments)]

pub mod answers;
pub mod call;
pub mod engine;
pub mod error;
mod guard;
mod handle;
pub mod handler;
pub mod http;
#[cfg(test)]
mod layout;
pub mod message;
pub mod server;
pub mod text;
pub mod version;
