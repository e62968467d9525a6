//! JSON-RPC 2.0: from one line of bytes to an envelope, and back to text.
//!
//! Decides what a message *is* (request, notification, response, batch, or a fault and its code). What a method means,
//! and in which revision, is decided in `wire` and `server`. A message is read in one pass
//! (`cursor`); everything after that cuts slices out of it, so that ids, parameters and results travel byte for byte.

pub(crate) mod check;
pub(crate) mod cursor;
pub(crate) mod digest;
mod last_meta;
pub(crate) mod marks;
mod message;
pub(crate) mod scan;
pub(crate) mod write;

pub(crate) use last_meta::LastMeta;
pub use message::{Fault, Incoming, Kind, Message, Parsed, canonical_id};
pub(crate) use message::{Fields, Id};
