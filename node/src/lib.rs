//! The Node door: the addon behind the TypeScript facade in `ts/`.
//!
//! Decides how the engine's values cross into JavaScript, and nothing of the protocol. JSON crosses as text, which V8
//! parses faster than an object could be built through the addon interface; errors cross as data and become classes in
//! `ts/errors.cts`. The types that JavaScript sees are written to `ts/native.d.cts` by the build and checked in.
//!
//! Reading order: [`message`], [`convert`] and [`error`]; for servers [`server`], then `host.rs` (calls on their way to
//! JavaScript), `bridge.rs` (the batch that it takes), `reply.rs` (the batch that it gives back), `asking.rs` (what it asks of
//! clients) `stand_in.rs` (answers where JavaScript is busy) and `http.rs` (requests of JavaScript's own listener); [`engine`] is the way without any of them, and `output.rs`
//! what it gives.

pub mod apps;
mod asking;
mod bridge;
mod commands;
mod convert;
mod core;
pub mod engine;
pub mod error;
mod host;
pub mod http;
mod integers;
pub mod message;
mod output;
mod reply;
pub mod server;
mod signals;
mod stand_in;

use ferromcp_engine::{Era, Revision};
use napi_derive::napi;

/// The revisions of the legacy era, oldest first.
#[napi]
pub fn legacy_revisions() -> Vec<&'static str> {
    Revision::ALL.into_iter().filter(|revision| revision.era() == Era::Legacy).map(Revision::as_str).collect()
}

/// The version of the addon.
#[napi]
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
