//! Framing: where one message ends and the next begins in a stream of bytes.
//!
//! Decides the boundaries and the longest message that is worth keeping, nothing else: whether a line is JSON, and
//! what is answered to one that is not, belongs to `jsonrpc`. HTTP brings its own framing and does not come through
//! here.

mod lines;

pub use lines::{Frame, LineFramer};
